"""A web process that is told to end says so to its sockets first, so that they come back at once.

The server tells its application nothing before it drops them, so its own signal handler is put off until they are told.
"""

import asyncio
import signal
from typing import Any

import structlog

from leaderboards.live.hub import Hub

log = structlog.get_logger(__name__)


def farewell_on_stop(hub: Hub) -> None:
    """To be called in the loop. Where that is not as expected nothing is changed, and sockets see a connection end."""
    loop = asyncio.get_running_loop()
    handler = getattr(loop, "_signal_handlers", {}).get(signal.SIGTERM)
    if handler is None:
        return
    stopping = _Stopping(hub, handler)
    loop.add_signal_handler(signal.SIGTERM, stopping.begin)


class _Stopping:
    def __init__(self, hub: Hub, handler: Any) -> None:
        self._hub, self._handler = hub, handler
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._stop())
        else:
            self._end()  # asked twice: at once

    async def _stop(self) -> None:
        try:
            await self._hub.farewell()
        except Exception:
            log.exception("sockets_not_told")
        finally:
            self._end()

    def _end(self) -> None:
        self._handler._run()  # noqa: SLF001 - as the loop would have
