"""Which avatars our pages show. Players choose the address of theirs, so a page that showed any would tell whoever
keeps that host who looks at it, and when. Where none is shown, the name's initial is.
"""

from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest


def shown(url: str | None) -> str:
    """Nothing, where its host is none that the operator has named (RUNG_AVATAR_HOSTS)."""
    try:
        parts = urlsplit(url or "")
        host = parts.hostname or ""
    except ValueError:
        return ""
    return url or "" if parts.scheme == "https" and any(_is_of(host, named) for named in settings.AVATAR_HOSTS) else ""


def _is_of(host: str, named: str) -> bool:
    return host == named or (named.startswith(".") and f".{host}".endswith(named))


def sources(hosts: list[str]) -> list[str]:
    """The same for the content security policy, which holds whatever a page says."""
    return [f"https://{host}" for name in hosts for host in ([f"*{name}", name[1:]] if name[0] == "." else [name])]


def for_pages(request: HttpRequest) -> dict[str, str]:
    """A context processor: live rows are made by our script, which is to know them too."""
    return {"avatar_hosts": " ".join(settings.AVATAR_HOSTS)}
