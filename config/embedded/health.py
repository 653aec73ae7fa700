"""How the running Rung feels, asked over HTTP as anybody would, and which part to restart when it is not well."""

import http.client
import json
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from config.embedded.preflight import host

ANSWER_SECONDS = 10.0
LOOK_EVERY_SECONDS = 10.0
DEAF_WORKERS_SECONDS = 60.0
SILENT_WEB_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Health:
    """`failing` names the checks that are not ok, each with its own words."""

    live: bool = False
    ready: bool = False
    failing: Mapping[str, str] = field(default_factory=dict)

    def in_words(self) -> str:
        if not self.live:
            return "the web process does not answer"
        return "; ".join(f"{name}: {detail}" for name, detail in self.failing.items()) or "it gives no reason"


def look(port: int, *, within: float = ANSWER_SECONDS) -> Health:
    if _get(port, "/livez", within) is None:
        return Health()
    body = _get(port, "/readyz", within)
    try:
        answer = json.loads(body or "")
        checks = answer.get("checks", {}).items()
        failing = {name: str(check.get("detail", "")) for name, check in checks if not check.get("ok")}
        return Health(live=True, ready=answer.get("status") == "ok", failing=failing)
    except (ValueError, AttributeError):
        return Health(live=True, failing={"readyz": "its answer is not to be understood"})


class Pulse:
    """Looks every ten seconds, in a thread of its own: a web process that hangs must not hang its supervisor."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._latest: Health | None = None

    def start(self) -> None:
        threading.Thread(target=self._beat, daemon=True).start()

    def take(self) -> Health | None:
        """What was seen since the last call, if anything."""
        latest, self._latest = self._latest, None
        return latest

    def _beat(self) -> None:
        while True:
            time.sleep(LOOK_EVERY_SECONDS)
            self._latest = look(self._port)


class Doctor:
    """Turns what was seen into what to restart, with patience: one bad look means nothing."""

    def __init__(self) -> None:
        self._deaf = _Lasting()
        self._silent = _Lasting()

    def prescribe(self, health: Health, now: float) -> dict[str, str]:
        """The names to restart, with the reason. After a restart the waiting begins again."""
        if self._deaf.for_seconds(DEAF_WORKERS_SECONDS, health.live and "workers" in health.failing, now):
            return dict.fromkeys(("worker", "beat"), "no worker has been heard of for a minute")
        if self._silent.for_seconds(SILENT_WEB_SECONDS, not health.live, now):
            return {"web": "it has not answered for half a minute"}
        return {}


class _Lasting:
    """Whether something has been true without a break for so long. Having said so, it counts anew."""

    def __init__(self) -> None:
        self._since: float | None = None

    def for_seconds(self, seconds: float, is_true: bool, now: float) -> bool:
        if not is_true:
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since >= seconds:
            self._since = None
            return True
        return False


def _get(port: int, path: str, within: float) -> bytes | None:
    """No proxy, no redirect: http.client asks this machine and nobody else."""
    connection = http.client.HTTPConnection(host(os.environ), port, timeout=within)
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        return connection.getresponse().read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
