"""What trust shows on pages that belong to others: the admin's index, and a player's."""

from typing import Any

from django import template
from django.utils import timezone

from anticheat import dossiers
from anticheat.admin.access import ROLL_BACK, RULE
from anticheat.admin.act_forms import ActForm
from anticheat.admin.screens import player_form
from anticheat.glance import glance
from anticheat.queue import is_own
from leaderboards.models import Mode
from players.models import Player

register = template.Library()
_MOST_ATTEMPTS = 30


@register.inclusion_tag("admin/anticheat/_glance.html", takes_context=True)
def trust_glance(context: dict[str, Any]) -> dict[str, Any]:
    """Nothing, for who may not see cases."""
    user = context["request"].user
    if not user.has_perm("anticheat.view_case"):
        return {}
    return {"glance": glance(now=timezone.now()), "may_rule": user.has_perm(RULE), "request": context["request"]}


@register.inclusion_tag("admin/anticheat/_player.html", takes_context=True)
def trust_player(context: dict[str, Any], player: Player) -> dict[str, Any]:
    user, now = context["request"].user, timezone.now()
    if not user.has_perm("anticheat.view_case") or is_own(user, player.pk):
        return {}
    modes = dossiers.modes_of(player)
    named: dict[int, Mode] = {mode.pk: mode for mode in modes}
    attempts = dossiers.attempts_of(player.pk, modes, most=_MOST_ATTEMPTS)
    form: ActForm | None = None
    if user.has_perm(RULE) and player.erased_at is None:
        form = player_form(player, modes, may_roll_back=user.has_perm(ROLL_BACK))
    return {
        "player": player,
        "cases": dossiers.cases_of(player)[:20],
        "rulings": dossiers.rulings_of(player),
        "bans": dossiers.bans_of(player),
        "places": dossiers.places_of(player, modes, now=now),
        "attempts": [(one, named[one.mode_id]) for one in attempts],
        "form": form,
        "now": now,
    }
