"""What a request body may cost: how long it may be, how much memory all of them may take, and who may send much.

A small body is just taken. For a large one a caller has to show who it is first: the rest of it is read only once its
API key was found valid. Large bodies of all other callers share a small room, and each address has a part of that.
How long a body may take is the server's business (`config/serving/connections.py`).
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from asgiref.typing import ASGIReceiveCallable

from config import errors
from config.address import address_of, network_of

MEBIBYTE: Final = 1024 * 1024
SMALL: Final = 16 * 1024  # bytes that anybody may send
_OTHERS_MOST: Final = 2 * MEBIBYTE  # of a request that sends neither scores nor a replay
_LARGE: Final = ("/scores", "/replay")
Prove = Callable[[str, str], Awaitable[str | None]]


class Room:
    """Memory for bodies that are not answered yet: so much for all, of that so much for each."""

    def __init__(self, most: int, each: int) -> None:
        self.most, self.each = most, each
        self.taken = 0
        self._of: dict[str, int] = {}

    def has(self, who: str) -> bool:
        return self.taken <= self.most and self._of.get(who, 0) <= self.each

    def take(self, who: str, size: int) -> None:
        self.taken += size
        self._of[who] = self._of.get(who, 0) + size

    def give_back(self, who: str, size: int) -> None:
        self.taken -= size
        self._of[who] = self._of.get(who, 0) - size
        if self._of[who] <= 0:
            del self._of[who]


class Bodies:
    """Of one web process.

    `prove` takes an Authorization header and the caller's address. It answers the game whose API key that is, or None
    for any other caller, and raises for a wrong credential.
    """

    def __init__(self, *, most: int, prove: Prove) -> None:
        self.most = most
        self.prove = prove
        self.games = Room(192 * MEBIBYTE, 96 * MEBIBYTE)
        self.strangers = Room(32 * MEBIBYTE, 4 * MEBIBYTE)

    def longest(self, path: str) -> int:
        return self.most if path.endswith(_LARGE) else min(self.most, _OTHERS_MOST)


class Body:
    """`receive` of one request, within these bounds."""

    def __init__(self, bodies: Bodies, receive: ASGIReceiveCallable, scope: Any) -> None:
        self._bodies, self._receive, self._scope = bodies, receive, scope
        self._room, self._who = bodies.strangers, ""  # found out once there is something to hold
        self._longest = bodies.longest(scope["path"])
        self._asked_for_credential = False
        self.declared = declared_length(scope)
        self.came = 0  # bytes
        self.whole = False

    async def begin(self) -> None:
        """Refuses by the declared length, before anything is asked for."""
        self._check_length(self.declared)
        if self.declared > SMALL:
            await self._admit()

    async def __call__(self) -> Any:
        message: Any = await self._receive()
        if message["type"] != "http.request":
            return message
        if size := len(message.get("body", b"")):
            self._take(size)
        if self.came == self.declared > 0:  # the server may tell of the end by one message more
            message = {**message, "more_body": False}
        self.whole = not message.get("more_body", False)
        self._check_length(self.came)
        if not self.whole and self.came > SMALL:
            await self._admit()
        return message

    def end(self) -> None:
        if self.came:
            self._room.give_back(self._who, self.came)

    def _take(self, size: int) -> None:
        self._who = self._who or self._address()
        self.came += size
        self._room.take(self._who, size)

    def _address(self) -> str:
        return network_of(address_of(self._scope)) or "nowhere"

    def _check_length(self, size: int) -> None:
        if size > self._longest:
            raise errors.PayloadTooLarge(f"A body may have {self._longest:,} bytes at most.")

    async def _admit(self) -> None:
        """Whoever sends more than a little is asked for a credential once, and for room each time."""
        if not self._asked_for_credential:
            self._asked_for_credential = True
            authorization = header(self._scope, b"authorization")
            game = await self._bodies.prove(authorization, self._address()) if authorization else None
            if game is not None:
                self.end()
                self._room, self._who = self._bodies.games, game
                self._room.take(game, self.came)
        if not self._room.has(self._who):
            raise errors.Unavailable("Too many large bodies are on their way already.", retry_after=1)


def declared_length(scope: Any) -> int:
    """0 where it is not said, or where chunks say it better."""
    declared = "0" if header(scope, b"transfer-encoding") else header(scope, b"content-length") or "0"
    if not (declared.isascii() and declared.isdigit()):
        return 0
    return int(declared[:19])  # longer ones are too long all the same, and some are no numbers of a machine


def header(scope: Any, name: bytes) -> str | None:
    for key, value in scope["headers"]:
        if key == name:
            return str(value, "latin-1")
    return None
