"""From whose pages a browser may open a socket: it sends our cookies along, whoever made the page."""

from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.http.request import validate_host
from django.utils.http import is_same_domain

_PORTS = {"http": ":80", "https": ":443"}


def may_connect(scope: dict[str, Any]) -> bool:
    """Who names no origin is no browser."""
    headers = {name: value.decode("latin-1") for name, value in scope["headers"] if name in (b"origin", b"host")}
    origin = headers.get(b"origin")
    if origin is None:
        return True
    try:
        page = urlsplit(origin.lower())
        host = page.hostname or ""
    except ValueError:
        return False
    if page.scheme not in _PORTS or not host:
        return False
    return _is_own(page, headers.get(b"host", "").lower()) or any(
        _matches(page, one) for one in (*settings.CSRF_TRUSTED_ORIGINS, *settings.ORIGINS)
    )


def _is_own(page: SplitResult, host: str) -> bool:
    port = _PORTS[page.scheme]
    bare = host.rpartition(":")[0] if ":" in host.rpartition("]")[2] else host
    return page.netloc.removesuffix(port) == host.removesuffix(port) and validate_host(bare, settings.ALLOWED_HOSTS)


def _matches(page: SplitResult, pattern: str) -> bool:
    """`https://game.example`, or `https://*.game.example` for all below it, as Django has them."""
    named = urlsplit(pattern.lower())
    if named.scheme != page.scheme:
        return False
    port = _PORTS[page.scheme]
    ours, theirs = named.netloc.removesuffix(port), page.netloc.removesuffix(port)
    return ours == theirs if not ours.startswith("*.") else is_same_domain(theirs, ours[1:])
