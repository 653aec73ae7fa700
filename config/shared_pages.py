"""Pages that were made several times within a second are answered from memory for the rest of it.

Only for strangers, to whom such a page is one and the same: no cookie, no credential. At rest every page is made anew.
Example: six hundred ask for a board within a second; three times it is made, and the others get what they were given.
"""

import time
from collections.abc import Iterable
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl, urlencode

from django.conf import settings
from django.http import HttpRequest
from django.utils.encoding import escape_uri_path
from django.utils.translation import get_language_from_request

SHARE = b"rung-share"  # the header by which a view says that strangers may share its answer; it goes no further
_SECOND = 1.0
_MADE_ANEW = 3  # times a second
_MOST = 64  # pages
_LARGEST = 256 * 1024  # bytes of one
_LONGEST = 300  # bytes of an address that is worth it
_GOOD = 200
_NEVER = ("/v1", "/admin", "/metrics", "/readyz")
_PERSONAL = {b"cookie", b"authorization", b"range", b"if-none-match", b"if-modified-since"}
Key = tuple[Any, ...]


class Page(NamedTuple):
    begin: dict[str, Any]
    body: bytes
    route: str


class _Kept(NamedTuple):
    """`times`: how often it was made since `since`."""

    page: Page
    since: float
    times: int


class SharedPages:
    """Of one process. What one thread puts there another may read at any time."""

    def __init__(self) -> None:
        self._pages: dict[Key, _Kept] = {}

    def get(self, key: Key) -> Page | None:
        kept = self._pages.get(key)
        if kept is None or kept.times < _MADE_ANEW or time.monotonic() - kept.since > _SECOND:
            return None
        return kept.page

    def put(self, key: Key, page: Page) -> None:
        if len(page.body) > _LARGEST:
            return
        now, before = time.monotonic(), self._pages.pop(key, None)
        if before is not None and now - before.since <= _SECOND:
            self._pages[key] = _Kept(page, before.since, before.times + 1)
            return
        if len(self._pages) >= _MOST:
            self._pages.clear()
        self._pages[key] = _Kept(page, now, 1)


def key_of(scope: Any) -> Key | None:
    """The same for all strangers who ask for the same; None for whoever is somebody, or asks for something else."""
    if scope["method"] != "GET" or len(scope["path"]) + len(scope["query_string"]) > _LONGEST:
        return None
    if scope["path"].startswith(_NEVER):
        return None
    headers: dict[bytes, bytes] = dict(scope["headers"])
    if not _PERSONAL.isdisjoint(headers) or len(headers) != len(scope["headers"]):
        return None
    query = _known(scope["query_string"])
    gzip = b"gzip" in headers.get(b"accept-encoding", b"")
    language = _language(headers.get(b"accept-language", b"").decode("latin-1")[:_LONGEST])
    where = headers.get(b"host"), headers.get(b"x-forwarded-proto"), scope.get("scheme")
    return scope["path"], query, *where, language, gzip


def _known(query: bytes) -> tuple[tuple[str, str], ...]:
    """The parameters that pages know; what they ignore makes no other page."""
    pairs = dict(parse_qsl(query.decode("latin-1"), keep_blank_values=True))  # of two the last one counts, as in a page
    return tuple(sorted(pair for pair in pairs.items() if pair[0] in settings.PAGE_PARAMETERS))


def here(request: HttpRequest) -> dict[str, str]:
    """For every page: its own address, without what pages ignore. Else a stranger would read in a shared page what
    another one had in its address.
    """
    known = {name: request.GET[name] for name in sorted(request.GET.keys() & settings.PAGE_PARAMETERS)}
    address = escape_uri_path(request.path)
    return {"here": f"{address}?{urlencode(known)}" if known else address}


@lru_cache(maxsize=256)
def _language(asked: str) -> str:
    """As the pages choose it (config/middleware.py), for who brings no cookie."""
    stranger = SimpleNamespace(COOKIES={}, META={"HTTP_ACCEPT_LANGUAGE": asked})
    return get_language_from_request(cast("HttpRequest", stranger))


def is_shared(status: int, headers: Iterable[tuple[bytes, bytes]]) -> bool:
    """Whether an answer is the same for all strangers, as its view says."""
    names = {name for name, _ in headers}
    return status == _GOOD and SHARE in names and b"set-cookie" not in names
