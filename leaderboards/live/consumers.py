"""`/ws`: one socket, messages with an `op`, each with an id of its own in the logs. Boards are subscribed to here once
there are boards; until then a subscription is checked like any read and answered honestly.
"""

from typing import Annotated, Any, Literal

import structlog
from channels.db import database_sync_to_async
from channels.generic.websocket import AsyncWebsocketConsumer
from django.utils import timezone
from msgspec import Meta

from config import errors, wire
from config.request_context import begin, new_request_id
from leaderboards.selectors import mode_get
from players import access
from players.authentication import caller_from_credential

log = structlog.get_logger(__name__)

LARGEST_MESSAGE = 16 * 1024  # bytes; granian itself would take 64 MiB
TOO_BIG = 1009  # the WebSocket close code
UNAUTHENTICATED = 4401

Word = Annotated[str, Meta(max_length=128)]


class Message(wire.Incoming):
    op: Literal["subscribe", "follow", "unsubscribe"]
    id: Word
    game: Word = ""
    mode: Word = ""
    window: Word = "alltime"
    scope: Word = "global"
    limit: Annotated[int, Meta(ge=1, le=100)] = 10
    token: Annotated[str, Meta(max_length=4096)] = ""


class LiveConsumer(AsyncWebsocketConsumer):
    async def connect(self) -> None:
        await self.accept()
        if isinstance(self.scope["caller"], errors.Unauthenticated):
            await self._refuse("", self.scope["caller"])
            await self.close(UNAUTHENTICATED)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        begin(new_request_id())
        body = text_data.encode() if text_data is not None else bytes_data or b""
        if len(body) > LARGEST_MESSAGE:
            await self.close(TOO_BIG)
            return
        message_id = ""
        try:
            message = wire.decode(body, Message)
            message_id = message.id
            await self._obey(message)
        except errors.DomainError as error:
            await self._refuse(message_id, error)
        except Exception:
            log.exception("message_failed")
            await self._refuse(message_id, errors.InternalError("This is our fault."))

    async def _obey(self, message: Message) -> None:
        log.info("message", op=message.op)
        if message.op == "unsubscribe":
            await self._say({"type": "unsubscribed", "id": message.id})
            return
        await self._check_readable(message)
        raise errors.Unavailable("This version keeps no live boards yet.")

    @database_sync_to_async
    def _check_readable(self, message: Message) -> None:
        caller = self.scope["caller"]
        if message.token:
            caller = caller_from_credential(message.token, now=timezone.now())
        mode_get(game=access.may_read(caller, message.game), mode=message.mode)

    async def _refuse(self, message_id: str, error: errors.DomainError) -> None:
        await self._say({"type": "error", "id": message_id, "code": error.code, "detail": error.detail})

    async def _say(self, message: dict[str, Any]) -> None:
        await self.send(text_data=wire.encode(message).decode())


class NoSuchSocket(AsyncWebsocketConsumer):
    """Every other address: refused before it is opened, where Channels would raise for whoever tries doors."""

    async def connect(self) -> None:
        await self.close()
