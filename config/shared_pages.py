"""Pages that are asked for more than three times a second are made every few seconds, and shared.

Only among strangers, to whom such a page is one and the same: no cookie, no credential. At rest every page is made.
Example: six hundred ask for a board in a second. It is made three times; the others get what those were given.
"""

import time
from collections.abc import Iterable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.utils.encoding import escape_uri_path
from django.utils.translation import get_language_from_request

SHARE = b"rung-share"  # the header by which a view says that strangers may share its answer; it goes no further
_SECOND = 1.0
_LONGEST_SECONDS = 5.0
_TIMES = 40  # as long as it took to make, a page is good: so making it takes little of our time, however busy we are
_OFTEN = 3  # times a second
_MOST = 64  # pages
_LARGEST = 256 * 1024  # bytes of one
_LONGEST = 300  # bytes of an address that is worth it
_GOOD = 200
_NEVER = ("/v1", "/admin", "/metrics", "/readyz")
# whoever brings one of these gets an answer of its own
_PERSONAL = {b"cookie", b"authorization", b"range", b"if-none-match", b"if-modified-since", b"content-type"}
_IN_THE_KEY = {b"host", b"x-forwarded-proto", b"accept-encoding", b"accept-language"}
Key = tuple[Any, ...]


class Page(NamedTuple):
    begin: dict[str, Any]
    body: bytes
    route: str


class _Kept:
    """`asked`: how often it was asked for since `since`; `often`: whether the one before it was."""

    __slots__ = ("asked", "being_made", "good_for", "often", "page", "since")

    def __init__(self, page: Page, since: float, took: float, *, often: bool) -> None:
        self.page, self.since, self.often = page, since, often
        self.good_for = max(_SECOND, min(_TIMES * took, _LONGEST_SECONDS))
        self.asked, self.being_made = 1, False

    @property
    def shared(self) -> Page | None:
        return self.page if self.often or self.is_asked_often else None

    @property
    def is_asked_often(self) -> bool:
        return self.asked > _OFTEN * self.good_for


class SharedPages:
    """Of one process. What one thread puts there another may read at any time."""

    def __init__(self) -> None:
        self._pages: dict[Key, _Kept] = {}

    def get(self, key: Key) -> Page | None:
        """None: whoever asks makes it."""
        kept = self._pages.get(key)
        if kept is None:
            return None
        age = time.monotonic() - kept.since
        if age <= kept.good_for:
            kept.asked += 1
            return kept.shared
        return kept.page if kept.is_asked_often and age <= kept.good_for + _SECOND else None

    def is_due(self, key: Key) -> bool:
        """Whether somebody is to make it anew, while the others have the old one. It is said once."""
        kept = self._pages.get(key)
        if kept is None or kept.being_made or time.monotonic() - kept.since <= kept.good_for:
            return False
        kept.being_made = True
        return True

    def made_meanwhile(self, key: Key) -> Page | None:
        """For who was to make it, when its turn comes."""
        kept = self._pages.get(key)
        return kept.shared if kept is not None and time.monotonic() - kept.since <= kept.good_for else None

    def put(self, key: Key, page: Page, *, begun: float) -> None:
        """`begun`: when somebody set out to make it. What took longer than a page is good shows what was long ago."""
        now, before = time.monotonic(), self._pages.get(key)
        if len(page.body) > _LARGEST or now - begun > _LONGEST_SECONDS or (before is not None and begun < before.since):
            return
        late = now - before.since - before.good_for if before is not None else 0.0
        if before is not None and late <= 0:
            before.page = page
            return
        if before is None and len(self._pages) >= _MOST:
            self._drop_one()
        often = before is not None and before.is_asked_often and late <= _SECOND
        self._pages[key] = _Kept(page, begun, now - begun, often=often)

    def _drop_one(self) -> None:
        """The one that is missed least."""
        asked = {key: (kept.often, kept.asked, kept.since) for key, kept in list(self._pages.items())}
        self._pages.pop(min(asked, key=asked.__getitem__), None)


def key_of(scope: Any) -> Key | None:
    """The same for all strangers who ask for the same; None for whoever is somebody, or asks for something else."""
    if scope["method"] != "GET" or len(scope["path"]) + len(scope["query_string"]) > _LONGEST:
        return None
    if scope["path"].startswith(_NEVER):
        return None
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if not _PERSONAL.isdisjoint(headers) or len(headers) != len(scope["headers"]):
        return None
    accepted = headers.get(b"accept-language", b"")
    if len(accepted) > _LONGEST or not scope["query_string"].isascii():
        return None  # Django may read more of it than we do, or otherwise
    gzip = b"gzip" in headers.get(b"accept-encoding", b"")
    where = headers.get(b"host"), headers.get(b"x-forwarded-proto") if settings.PROXIES else None, scope.get("scheme")
    return scope["path"], _known(scope["query_string"]), *where, language_of(accepted), gzip


def without_others(scope: Any) -> Any:
    """The request with no other headers than those that the key tells apart: to make a page for everybody."""
    return {**scope, "headers": [header for header in scope["headers"] if header[0] in _IN_THE_KEY]}


def _known(query: bytes) -> tuple[tuple[str, str], ...]:
    """The parameters that pages know; what they ignore makes no other page."""
    pairs = dict(parse_qsl(query.decode("ascii"), keep_blank_values=True))  # of two the last one counts, as in a page
    return tuple(sorted(pair for pair in pairs.items() if pair[0] in settings.PAGE_PARAMETERS))


def here(request: HttpRequest) -> dict[str, str]:
    """For every page: its own address, without what pages ignore. Else a stranger would read in a shared page what
    another one had in its address.
    """
    try:
        known = {name: request.GET[name] for name in sorted(request.GET.keys() & settings.PAGE_PARAMETERS)}
    except SuspiciousOperation:  # thousands of them; the page that says so has an address, too
        known = {}
    address = escape_uri_path(request.path)
    return {"here": f"{address}?{urlencode(known)}" if known else address}


@lru_cache(maxsize=256)
def language_of(accepted: bytes) -> str:
    """As the pages choose it (config/middleware.py), for who brings no cookie."""
    stranger = SimpleNamespace(COOKIES={}, META={"HTTP_ACCEPT_LANGUAGE": accepted.decode("latin-1")})
    return get_language_from_request(cast("HttpRequest", stranger))


def is_shared(status: int, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether an answer is the same for all strangers, as its view says."""
    names = {name for name, _ in headers}
    return status == _GOOD and SHARE in names and b"set-cookie" not in names
