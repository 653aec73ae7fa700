"""Finding rows of the audit by whatever an operator has at hand."""

from collections.abc import Sequence

from django.contrib.auth import get_user_model
from django.db import connection
from django.db.models import Q

from anticheat.models import AuditEntry
from players.models import ApiKey

HELP = (
    "A verb or how it begins (key.), an object (players.ban:17), a player's, user's or row's number, a user's name, "
    "a key (rung_…), a request id or an address."
)
_MOST = 9_223_372_036_854_775_807


def matching(term: str) -> Q:
    """Every part of it by an index."""
    begun = [verb for verb in verbs() if verb.startswith(term)]
    found = Q(verb__in=begun) | Q(about=term) | Q(request_id=term) | Q(address=term)
    if term.isascii() and term.isdigit() and int(term) <= _MOST:
        found |= Q(player=int(term)) | Q(user=int(term)) | Q(seq=int(term))
    model = get_user_model()
    users = model.objects.filter(**{model.USERNAME_FIELD: term}).values_list("pk", flat=True)
    keys = ApiKey.objects.filter(prefix=term.removeprefix("rung_")[:8]).values_list("pk", flat=True)
    return found | Q(user__in=list(users)) | Q(key__in=list(keys))


def verbs() -> Sequence[str]:
    """Those that there are, from one to the next by the index: not by reading every row."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"WITH RECURSIVE found AS ((SELECT verb FROM {AuditEntry._meta.db_table} ORDER BY verb LIMIT 1)"  # noqa: S608, SLF001
            f" UNION ALL SELECT (SELECT e.verb FROM {AuditEntry._meta.db_table} e WHERE e.verb > found.verb"  # noqa: SLF001
            " ORDER BY e.verb LIMIT 1) FROM found WHERE found.verb IS NOT NULL)"
            " SELECT verb FROM found WHERE verb IS NOT NULL"
        )
        return [verb for (verb,) in cursor.fetchall()]
