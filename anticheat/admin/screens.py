"""A case on one screen: all that its page shows, gathered with a bounded number of queries."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import forms
from django.contrib.auth.models import User

from anticheat import dossiers, pictures
from anticheat.admin.access import ROLL_BACK, RULE
from anticheat.admin.act_forms import ActForm
from anticheat.admin.acts import last_ruling
from anticheat.distributions import rank_of, spread
from anticheat.dossiers import Attempt
from anticheat.models import Case, Finding, Ruling
from anticheat.queue import holder
from anticheat.services.ruling_acts import attempts_concerned
from config.errors import Unavailable
from leaderboards.boards.board import longest_board
from leaderboards.log import State
from leaderboards.models import Mode
from players.models import Player

_KINDS = {State.ACCEPTED: "counts", State.QUARANTINED: "waits", State.REJECTED: "out", State.TAKEN_BACK: "out"}
_BIGGER = ("ban", "suspend", "shadow", "hide", "rollback")
_MOST_SHOWN = 50  # attempts, in the table


def case_screen(case: Case, user: User, *, now: datetime) -> dict[str, Any]:
    player, mode = case.player, case.mode
    findings = dossiers.findings_of(case)
    attempts = dossiers.attempts_of(player.pk, [mode])
    concerned = dossiers.attempts_found(player.pk, mode, findings)
    shown = _shown(attempts, concerned)
    replays = dossiers.replays_of(shown)
    by_attempt: dict[int, list[Finding]] = {}
    for finding in findings:
        by_attempt.setdefault(finding.attempt, []).append(finding)
    held = holder(case, now=now)
    return {
        "title": player.display_name or str(player),
        "subtitle": str(mode),
        "case": case,
        "player": player,
        "mode": mode,
        "findings": [(finding, concerned.get(finding.attempt)) for finding in findings],
        "attempts": [(one, by_attempt.get(one.id, []), replays.get(one.id)) for one in shown],
        "history": _history(mode, [*attempts, *_missing(attempts, concerned)], by_attempt),
        "spread": _spread(mode, attempts, concerned, now),
        "places": dossiers.places_of(player, [mode], now=now),
        "bans": dossiers.bans_of(player),
        "rulings": dossiers.rulings_of(player),
        "other_cases": [other for other in dossiers.cases_of(player)[:20] if other.pk != case.pk],
        "holder": held,
        "is_others": held is not None and held != user,
        "is_asleep": case.snoozed_until is not None and case.snoozed_until > now,
        "waits": bool(attempts_concerned(Ruling(kind="release", case=case, mode=mode, player=player), asked=())),
        "form": act_form(case, user),
        "may_rule": user.has_perm(RULE),
    }


def act_form(case: Case, user: User) -> ActForm:
    """For the bigger acts, which are looked at first."""
    known = {"case": case.pk, "mode": case.mode_id, "seen": last_ruling(case)}
    return _bigger(case.player, known, may_roll_back=user.has_perm(ROLL_BACK))


def player_form(player: Player, modes: Sequence[Mode], *, may_roll_back: bool) -> ActForm:
    """The same without a case: which mode is chosen."""
    form = _bigger(player, {"mode": modes[0].pk if modes else None}, may_roll_back=may_roll_back)
    form.fields["mode"].widget = forms.Select(choices=[(mode.pk, mode.title) for mode in modes])
    return form


def _bigger(player: Player, known: dict[str, Any], *, may_roll_back: bool) -> ActForm:
    kinds = [kind for kind in _BIGGER if kind != "rollback" or may_roll_back]
    usual = {"player": player.pk, "kind": "ban", "until": "7d", "where": "game", "since": "1d"}
    form = ActForm(initial={**usual, **known})
    form.fields["kind"].choices = [(kind, Ruling.Kind(kind).label) for kind in kinds]  # type: ignore[attr-defined]
    return form


def _shown(attempts: Sequence[Attempt], concerned: dict[int, Attempt]) -> list[Attempt]:
    """Those that checks spoke of first, then the newest."""
    rest = [one for one in attempts if one.id not in concerned]
    found = sorted(concerned.values(), key=lambda one: one.received_at, reverse=True)
    return [*found, *rest][: max(_MOST_SHOWN, len(found))]


def _missing(attempts: Sequence[Attempt], concerned: dict[int, Attempt]) -> list[Attempt]:
    known = {one.id for one in attempts}
    return [one for one in concerned.values() if one.id not in known]


def _history(mode: Mode, attempts: Sequence[Attempt], found: dict[int, list[Finding]]) -> Any:
    dots = [
        pictures.Dot(
            one.achieved_at,
            float(one.score),
            _KINDS[one.state],
            one.id in found,
            f"{one.score}, {one.achieved_at:%Y-%m-%d %H:%M:%S} UTC, {one.state_word}"
            + "".join(f"; {finding.check_name}: {finding.reason}" for finding in found.get(one.id, [])),
        )
        for one in attempts
    ]
    return pictures.history(dots, label=f"{len(dots)} attempts over time, of which {len(found)} were found suspicious")


def _spread(mode: Mode, attempts: Sequence[Attempt], concerned: dict[int, Attempt], now: datetime) -> Any:
    """Where the player's suspicious scores, and its best that counts, lie among all others."""
    board = longest_board(mode, at=now)
    counting = [one.raw for one in attempts if one.state is State.ACCEPTED]
    turn = max if mode.order == "desc" else min
    marked = {one.raw: ("found", f"{one.score}, suspicious") for one in concerned.values()}
    if counting:
        best = turn(counting)
        marked.setdefault(best, ("own", "the player's best that counts"))
    try:
        found = spread(board, [(raw, *words) for raw, words in marked.items()])
        worst = [rank_of(board, turn(one.raw for one in concerned.values()))] if concerned else []
    except Unavailable:
        return None
    label = f"How {found.total} players' scores are spread, and where this player's lie"
    picture = pictures.distribution(found.bars, found.marks, ends=found.ends, label=label)
    return {"picture": picture, "total": found.total, "rank": worst[0] if worst else None, "window": board.window.kind}
