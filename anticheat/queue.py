"""Which cases wait for somebody: by risk and the rank affected, for one operator, who never sees its own."""

from datetime import datetime

from django.conf import settings
from django.contrib.auth.models import User
from django.db.models import Q, QuerySet

from anticheat.models import Case, OwnPlayer


def cases_shown(user: User) -> QuerySet[Case]:
    """All but those of players that the operator plays as."""
    return Case.objects.exclude(player__in=OwnPlayer.objects.filter(user=user).values("player"))


def cases_free(user: User, *, now: datetime) -> QuerySet[Case]:
    """Open, not put off, and held by nobody else; the most urgent first."""
    held = Q(held_by__isnull=True) | Q(held_by=user) | Q(held_until__isnull=True) | Q(held_until__lte=now)
    awake = Q(snoozed_until__isnull=True) | Q(snoozed_until__lte=now)
    return cases_shown(user).filter(held, awake, state=Case.State.OPEN).order_by("-priority", "pk")


def is_own(user: User, player: int | None) -> bool:
    return player is not None and OwnPlayer.objects.filter(user=user, player=player).exists()


def bans_by_hand(user: User, player: int | None) -> bool:
    """Whether the operator may ban or free the player outside of rulings: not where those need a second person."""
    return not {"ban", "suspend", "shadow", "hide"} & set(settings.TWO_PERSONS) and not is_own(user, player)


def holder(case: Case, *, now: datetime) -> User | None:
    """Who looks at it at the moment."""
    return case.held_by if case.held_until is not None and case.held_until > now else None
