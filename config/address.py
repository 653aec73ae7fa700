"""Where a request comes from, as far as that can be believed."""

from collections.abc import Mapping
from ipaddress import ip_address
from typing import Any

from django.conf import settings


def client_address(meta: Mapping[str, Any]) -> str:
    """As many steps back as there are proxies of ours: what stands further left in the header anybody may write."""
    steps = [step.strip() for step in meta.get("HTTP_X_FORWARDED_FOR", "").split(",")]
    told = steps[-settings.PROXIES] if 0 < settings.PROXIES <= len(steps) else ""
    return _address(told) or _address(meta.get("REMOTE_ADDR", ""))


def _address(text: str) -> str:
    try:
        return str(ip_address(text.partition("%")[0]))  # the zone of a link-local one is ours to know
    except ValueError:
        return ""
