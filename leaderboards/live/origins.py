"""Under which of our names, and from whose pages, a socket may be opened: a browser sends our cookies along, whoever
made the page.
"""

from typing import Any
from urllib.parse import SplitResult, urlsplit

from django.conf import settings
from django.http.request import split_domain_port, validate_host
from django.utils.http import is_same_domain

_PORTS = {"http": ":80", "https": ":443"}


def is_served(scope: dict[str, Any]) -> bool:
    """Whether it asks for a host that is ours, once; as Django asks of every other request."""
    hosts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"host"]
    if len(hosts) != 1:
        return False
    domain, _ = split_domain_port(hosts[0])
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


def may_connect(scope: dict[str, Any]) -> bool:
    """Of a host that is served. Who names no origin is no browser."""
    if not is_served(scope):
        return False
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
    return page.netloc.removesuffix(port) == host.removesuffix(port)


def _matches(page: SplitResult, pattern: str) -> bool:
    """`https://game.example`, or `https://*.game.example` for all below it, as Django has them."""
    named = urlsplit(pattern.lower())
    if named.scheme != page.scheme:
        return False
    port = _PORTS[page.scheme]
    ours, theirs = named.netloc.removesuffix(port), page.netloc.removesuffix(port)
    return ours == theirs if not ours.startswith("*.") else is_same_domain(theirs, ours[1:])
