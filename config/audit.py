"""What operators, keys and commands do, handed to whoever keeps the audit (settings.AUDIT_RECORDER).

Recorded in the transaction of the act itself, and last in it: what is rolled back leaves no row (docs/adr/0022).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.db.models import Model
from django.http import HttpRequest
from django.utils.module_loading import import_string

from config.address import client_address
from config.request_context import current_id


@dataclass(frozen=True, slots=True)
class Who:
    """Who acts, and from where."""

    by: str  # operator, key, player, command, nobody, house
    user: int | None = None  # pk of the operator
    key: int | None = None  # pk of the API key
    command: str = ""
    address: str = ""
    request_id: str = ""


HOUSE = Who("house")  # nobody asked for it


def by_request(request: HttpRequest) -> Who:
    """The operator who is signed in; nobody, where none is."""
    user = getattr(request, "user", None)
    pk = user.pk if user is not None and user.is_authenticated else None
    return Who(
        "nobody" if pk is None else "operator",
        user=pk,
        address=client_address(request.META),
        request_id=current_id() or "",
    )


def by_command(name: str) -> Who:
    """Whoever has a shell on the server."""
    return Who("command", command=name, request_id=current_id() or "")


def record(  # noqa: PLR0913 - who, what, about what, before, after, why: that is what an audit is
    *,
    verb: str,
    who: Who,
    about: Model | None = None,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
    why: str = "",
) -> None:
    """One act. `about` says of which game, mode and player it is."""
    import_string(settings.AUDIT_RECORDER)(verb=verb, who=who, about=about, before=before, after=after, why=why)
