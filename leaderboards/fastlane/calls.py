"""A call to a hot route, and its answer, as plain values. What is in any way out of the ordinary is left to Django."""

from functools import lru_cache
from typing import Any, NamedTuple, TypeVar

import msgspec
from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils import timezone

from config import wire
from config.address import client_address
from config.bridge import is_text
from config.errors import UnsupportedMediaType
from config.request_context import new_request_id
from players.access import Caller
from players.authentication import caller_from_header
from players.limits import Quota

T = TypeVar("T")
S = TypeVar("S", bound=msgspec.Struct)
Headers = list[tuple[bytes, bytes]]
# of these more than one is nobody's ordinary request
_ONCE = {
    b"authorization", b"content-type", b"host", b"idempotency-key", b"if-none-match", b"accept-encoding",
    b"x-forwarded-proto", b"x-forwarded-for",
}  # fmt: skip
# bytes of what is kept as it came: bounded by how many there are of it, and by this. No address of ours is as long
_LONGEST, _LONGEST_HOST = 2048, 300
# conditions, preferences and encodings that are asked for now and then
_UNUSUAL = {
    b"prefer", b"content-encoding", b"if-match", b"if-unmodified-since", b"if-modified-since", b"expect", b"range",
}  # fmt: skip


# of any other Django knows best what it is, and in which letters the query is then written
_KINDS = {
    f"{kind}{letters}".encode(): kind
    for kind in ("application/json", "application/x-ndjson")
    for letters in ("", "; charset=utf-8", ";charset=utf-8", "; charset=UTF-8", ";charset=UTF-8")
}


class Route(NamedTuple):
    """`name` as Django knows it: one metric whichever door answers."""

    lane: str
    method: str
    name: str
    allow: bytes


_MODE = "/v1/games/<str:game>/modes/<str:mode>"
_BOARD = f"{_MODE}/leaderboards/<str:window>"
SCORE = Route("score", "POST", f"{_MODE}/scores", b"POST")
SCORES = Route("scores", "POST", "/v1/games/<str:game>/scores", b"POST")
BOARD = Route("board", "GET", _BOARD, b"GET, HEAD")
STANDING = Route("standing", "GET", f"{_BOARD}/players/<str:player_id>", b"GET, HEAD")
ME = Route("standing", "GET", f"{_BOARD}/me", b"GET, HEAD")
LOOKUP = Route("lookup", "POST", f"{_BOARD}/lookup", b"POST")
_NAMELESS = ("", "", "", "")
_BY_SHAPE: dict[tuple[int, str], Route] = {
    (7, "scores"): SCORE,
    (5, "scores"): SCORES,
    (8, ""): BOARD,
    (9, "me"): ME,
    (9, "lookup"): LOOKUP,
    (10, "players"): STANDING,
}


class Answer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


class Call(msgspec.Struct):
    """What questions.Request asks for, from the scope of a request."""

    route: Route
    game: str
    mode: str
    window: str
    player_id: str
    query_string: bytes
    headers: dict[bytes, bytes]
    request_id: str
    peer: str  # at the other end of the connection: the caller, or a proxy
    content: bytes = b""
    known: Caller | None = None
    quota: Quota | None = None  # of its reads, where they are limited
    asked: Any = None  # once it is read: done again, it is the same

    @property
    def caller(self) -> Caller:
        if self.known is None:
            header = self.headers.get(b"authorization", b"").decode("latin-1")
            self.known = caller_from_header(header, now=timezone.now())
        return self.known

    @property
    def route_name(self) -> str:
        return self.route.name

    @property
    def has_key(self) -> bool:
        """It names an API key; whether that is good is known once the call is answered."""
        return self.headers.get(b"authorization", b"")[7:].lstrip().startswith(b"rung_")

    @property
    def address(self) -> str:
        told = self.headers.get(b"x-forwarded-for", b"").decode("latin-1")
        return client_address({"HTTP_X_FORWARDED_FOR": told, "REMOTE_ADDR": self.peer})

    def header(self, name: str) -> str | None:
        found = self.headers.get(name.lower().encode())
        return None if found is None else found.decode("latin-1")

    @property
    def media_type(self) -> str:
        return _KINDS[self.headers[b"content-type"]]

    def query(self, to: type[S]) -> S:
        found: S = _query(self.query_string, to)
        return found

    def body(self, to: type[T], *, in_parts: bool = False) -> T:
        if self.media_type != "application/json":
            raise UnsupportedMediaType(f"Send application/json, not {self.media_type}.")
        return wire.decode(self.content, to, in_parts=in_parts)


@lru_cache(maxsize=4096)
def canonical(text: bytes, to: type[Any]) -> bytes:
    """The same for all queries that ask for the same: in any order, spelling, or with defaults said."""
    return repr(wire.query(text, to)).encode()


@lru_cache(maxsize=4096)
def _query(text: bytes, to: type[Any]) -> Any:
    return wire.query(text, to)


def call_of(scope: Any, request_id: str | None = None) -> Call | None:
    """None: not a hot route, or not asked for in an ordinary way. Without `request_id` the caller chooses the id."""
    if len(scope["path"]) > _LONGEST or len(scope["query_string"]) > _LONGEST:
        return None
    parts = scope["path"].split("/")
    if len(parts) < 5 or parts[1] != "v1" or parts[2] != "games":  # noqa: PLR2004 - "", v1, games, game, what
        return None
    route, names = _route(parts)
    if route is None or scope["method"] != route.method or not all(names):
        return None
    headers = _headers(scope["headers"])
    if headers is None or not _is_plain(scope, headers) or not _is_ours(headers, scope):
        return None
    game, mode, window, player_id = names
    peer = (scope.get("client") or ("",))[0]
    request_id = request_id or new_request_id(headers.get(b"x-request-id", b"").decode("latin-1"))
    return Call(route, game, mode, window, player_id, scope["query_string"], headers, request_id, peer)


def _route(parts: list[str]) -> tuple[Route | None, tuple[str, str, str, str]]:
    length = len(parts)
    if length == 5:  # noqa: PLR2004
        return _BY_SHAPE.get((5, parts[4])), (parts[3], "-", "-", "-")
    if parts[4] != "modes":
        return None, _NAMELESS
    if length == 7:  # noqa: PLR2004
        return _BY_SHAPE.get((7, parts[6])), (parts[3], parts[5], "-", "-")
    if length < 8 or parts[6] != "leaderboards":  # noqa: PLR2004
        return None, _NAMELESS
    shape = parts[8] if length > 8 else ""  # noqa: PLR2004
    return _BY_SHAPE.get((length, shape)), (parts[3], parts[5], parts[7], parts[9] if length > 9 else "-")  # noqa: PLR2004


def _headers(given: Headers) -> dict[bytes, bytes] | None:
    headers: dict[bytes, bytes] = {}
    for name, value in given:
        if name in _UNUSUAL or (name in _ONCE and name in headers):
            return None
        if name == b"cookie" and _is_of_the_house(value):
            return None
        headers[name] = value
    return headers


def _is_of_the_house(cookie: bytes) -> bool:
    """An operator's session, or what its forms need: looked at and renewed by Django."""
    return settings.SESSION_COOKIE_NAME.encode() in cookie or settings.CSRF_COOKIE_NAME.encode() in cookie


def _is_plain(scope: Any, headers: dict[bytes, bytes]) -> bool:
    if not is_text(scope["path"]):
        return False
    if scope["method"] == "GET" and (b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"):
        return False  # with a body, which is bounded like any other
    return headers.get(b"content-type", b"application/json" if scope["method"] == "GET" else b"") in _KINDS


def _is_ours(headers: dict[bytes, bytes], scope: Any) -> bool:
    """By a name that Rung serves under, and not to be sent to HTTPS first."""
    if settings.SECURE_SSL_REDIRECT:
        told = headers.get(b"x-forwarded-proto") if settings.PROXIES else scope.get("scheme", "").encode()
        if told != b"https":
            return False
    host = headers.get(b"host", b"")
    return len(host) <= _LONGEST_HOST and _is_served(host.decode("latin-1"), tuple(settings.ALLOWED_HOSTS))


@lru_cache(maxsize=1024)
def _is_served(host: str, allowed: tuple[str, ...]) -> bool:
    domain, _ = split_domain_port(host)
    return bool(domain) and validate_host(domain, allowed)
