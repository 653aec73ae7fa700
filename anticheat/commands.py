"""What the management commands of this floor share."""

from argparse import ArgumentTypeError
from datetime import UTC, datetime

from django.core.management.base import CommandError

from leaderboards.models import Mode


def mode_named(slug: str, game: str | None) -> Mode:
    found = Mode.objects.select_related("game").filter(slug=slug, **({"game__slug": game} if game else {}))
    if len(found) != 1:
        raise CommandError("There is no such mode." if not found else "Several games have such a mode: name one.")
    return found[0]


def moment(text: str) -> datetime:
    """A day begins at midnight, UTC; and a moment without an offset is UTC too."""
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError("a time looks like 2026-04-05 or 2026-04-05T09:12:33+00:00") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
