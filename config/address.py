"""Where a request comes from, as far as that can be believed."""

from collections.abc import Mapping
from ipaddress import IPv6Address, ip_address
from typing import Any

from django.conf import settings


def client_address(meta: Mapping[str, Any]) -> str:
    """As many steps back as there are proxies of ours: what stands further left in the header anybody may write."""
    return _forwarded(meta) or _address(meta.get("REMOTE_ADDR", ""))


def is_loopback(meta: Mapping[str, Any]) -> bool:
    """Whether it comes from this machine. What was forwarded does not, unless proxies of ours say so: else everybody
    who comes through a proxy on this machine would.
    """
    address = _forwarded(meta) if meta.get("HTTP_X_FORWARDED_FOR") else client_address(meta)
    if not address:
        return False
    known = ip_address(address)
    return (getattr(known, "ipv4_mapped", None) or known).is_loopback


def address_of(scope: Any) -> str:
    """The same of an ASGI request or socket."""
    forwarded = [value.decode("latin-1") for name, value in scope["headers"] if name == b"x-forwarded-for"]
    return client_address(
        {"REMOTE_ADDR": (scope.get("client") or ("",))[0], "HTTP_X_FORWARDED_FOR": ",".join(forwarded)}
    )


def _forwarded(meta: Mapping[str, Any]) -> str:
    steps = [step.strip() for step in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    return _address(steps[-settings.PROXIES]) if 0 < settings.PROXIES <= len(steps) else ""


def _address(text: str) -> str:
    try:
        return str(ip_address(text.partition("%")[0]))  # the zone of a link-local one is ours to know
    except ValueError:
        return ""


def network_of(address: str) -> str:
    """Who counts as one caller: an IPv4 address, or the /64 that a household of IPv6 has."""
    try:
        known = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if not isinstance(known, IPv6Address):
        return address
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return known.exploded[:19]
