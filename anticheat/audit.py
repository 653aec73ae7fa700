"""Keeps the audit: one row an act, in the transaction of the act. Lower floors come here by config/audit.py."""

from collections.abc import Mapping
from typing import Any

from django.db.models import ForeignKey, Model

from anticheat import chain
from anticheat.kept import kept, text
from anticheat.models import AuditEntry
from config import clock
from config.audit import Who

_SUBJECTS = {"players.game": "game", "leaderboards.mode": "mode", "players.player": "player"}
_LONGEST = 4000  # characters of a reason


def record(  # noqa: PLR0913 - who, what, about what, before, after, why: that is what an audit is
    *,
    verb: str,
    who: Who,
    about: Model | None = None,
    before: Mapping[str, object] | None = None,
    after: Mapping[str, object] | None = None,
    why: str = "",
) -> AuditEntry:
    """Call it last in a transaction: from the commit on, others that record wait for it."""
    entry = AuditEntry(
        at=clock.now(),
        verb=verb,
        by=who.by,
        user=who.user,
        key=who.key,
        command=who.command,
        address=who.address,
        request_id=who.request_id,
        about=f"{about._meta.label_lower}:{about.pk}" if about is not None else "",  # noqa: SLF001
        before=kept(before or {}),
        after=kept(after or {}),
        why=text(why)[:_LONGEST],
        **(subjects(about) if about is not None else {}),
    )
    entry.digest = chain.digest_of(entry)
    entry.save(force_insert=True)
    return entry


def subjects(about: Model) -> dict[str, int]:
    """The game, the mode and the player that it is, or belongs to."""
    found: dict[str, int] = {}
    belonging = None
    for field in about._meta.concrete_fields:  # noqa: SLF001 - Django's own way to ask
        name = _subject(field.related_model) if isinstance(field, ForeignKey) else None
        if name is not None and getattr(about, field.attname) is not None:
            found[name] = getattr(about, field.attname)
            belonging = field.name
    if belonging is not None and "game" not in found:
        found["game"] = getattr(about, belonging).game_id
    own = _subject(about)
    return found | ({own: about.pk} if own else {})


def _subject(model: Any) -> str | None:
    return _SUBJECTS.get(model._meta.label_lower)  # noqa: SLF001 - as above
