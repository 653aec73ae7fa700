"""Which moments can be kept: PostgreSQL takes years that Python cannot read back, and others that it cannot add to."""

from datetime import UTC, datetime

from config.errors import InvalidRequest

FIRST = datetime(1970, 1, 1, tzinfo=UTC)
LAST = datetime(9000, 1, 1, tzinfo=UTC)
RULE = f"a moment from {FIRST:%Y} to {LAST.year - 1}"


def can_be_kept(at: datetime) -> bool:
    return FIRST <= at < LAST


def moments_check(**named: datetime | None) -> None:
    """Each by the name that the caller gave it."""
    wrong = [name for name, at in named.items() if at is not None and not can_be_kept(at)]
    if wrong:
        raise InvalidRequest(f"{wrong[0]}: {RULE}.", errors={name: [f"not {RULE}"] for name in wrong})
