"""What an operator fills in to rule: an act, on whom, for how long, why; and the ruling that it makes."""

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings

from anticheat.admin.fields import moment_input, reason_choices
from anticheat.models import Case, Rollback, Ruling
from anticheat.services.ruling_acts import BANS
from leaderboards.models import Mode
from players.models import Player

Kind = Ruling.Kind
SPANS = {"1d": timedelta(days=1), "7d": timedelta(days=7), "30d": timedelta(days=30)}
FAIR = "Looked at, and found fair."
_WATCHED = "Being watched."
UNTIL = [("1d", "1 day"), ("7d", "7 days"), ("30d", "30 days"), ("ever", "for ever"), ("at", "until the time below")]
SINCE = [("1d", "the last day"), ("7d", "the last 7 days"), ("30d", "the last 30 days"), ("at", "since the time below")]
WHERE = [("game", "every mode of the game"), ("mode", "this mode alone")]


def usual_reason(kind: str) -> str:
    """For what is ruled with one keystroke."""
    usual = {Kind.RELEASE: FAIR, Kind.CLEAR: FAIR, Kind.WATCH: _WATCHED, Kind.CONFIRM: settings.RULING_REASONS[0]}
    return usual.get(Kind(kind), "")


class ActForm(forms.Form):
    kind = forms.ChoiceField(choices=Kind.choices)
    player = forms.ModelChoiceField(Player.objects.select_related("game"), widget=forms.HiddenInput)
    case = forms.ModelChoiceField(
        Case.objects.select_related("mode__game", "player"), required=False, widget=forms.HiddenInput
    )
    mode = forms.ModelChoiceField(Mode.objects.select_related("game"), required=False, widget=forms.HiddenInput)
    seen = forms.IntegerField(required=False, widget=forms.HiddenInput)  # the last ruling that the operator knew of
    attempt = forms.UUIDField(required=False, widget=forms.HiddenInput)
    where = forms.ChoiceField(choices=WHERE, required=False)
    until = forms.ChoiceField(choices=UNTIL, required=False)
    until_at = forms.DateTimeField(required=False, widget=moment_input(), label="Until, UTC")
    since = forms.ChoiceField(choices=SINCE, required=False)
    since_at = forms.DateTimeField(required=False, widget=moment_input(), label="Since, UTC")
    preset = forms.ChoiceField(choices=reason_choices, required=False, label="Reason, which the player is told")
    reason = forms.CharField(required=False, max_length=500, label="or in your own words")
    note = forms.CharField(
        required=False, max_length=4000, widget=forms.Textarea(attrs={"rows": 2}), label="Note, for operators only"
    )

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        kind, player = found.get("kind"), found.get("player")
        if kind is None or player is None:
            return found
        found["reason"] = found.get("reason") or found.get("preset") or usual_reason(kind)
        if not found["reason"]:
            self.add_error("preset", "Say why: the player is told.")
        for name in ("until", "since"):
            if found.get(name) == "at" and not found.get(f"{name}_at"):
                self.add_error(f"{name}_at", "Which time?")
        self._place(found, player)
        return found

    def _place(self, found: dict[str, Any], player: Player) -> None:
        """The mode is the case's, or one of the player's own game."""
        case, mode = found.get("case"), found.get("mode")
        if case is not None:
            if case.player_id != player.pk:
                self.add_error("case", "It is about another player.")
            found["mode"] = mode = case.mode
        if mode is not None and mode.game_id != player.game_id:
            self.add_error("mode", "It is one of another game.")
        if mode is None and (found["kind"] == Kind.REJECT or found.get("where") == "mode"):
            self.add_error("mode", "Which mode?")
        if found["kind"] == Kind.REJECT and not found.get("attempt"):
            self.add_error("attempt", "Which score?")

    def ruling(self, *, now: datetime) -> Ruling:
        found = self.cleaned_data
        kind = found["kind"]
        in_game = kind in (*BANS, Kind.ROLLBACK) and found["where"] != "mode"
        return Ruling(
            kind=kind,
            game=found["player"].game,
            case=found["case"],
            mode=None if in_game else found["mode"],
            player=found["player"],
            reason=found["reason"],
            note=found["note"],
            ends_at=_ends_at(found, now) if kind in BANS else None,
            rollback=_rollback(found, now) if kind == Kind.ROLLBACK else None,
        )


def _ends_at(found: dict[str, Any], now: datetime) -> datetime | None:
    if found["until"] == "at":
        at: datetime = found["until_at"]
        return at
    return now + SPANS[found["until"]] if found["until"] in SPANS else None


def _rollback(found: dict[str, Any], now: datetime) -> Rollback:
    since = found["since_at"] if found["since"] == "at" else now - SPANS.get(found["since"], SPANS["1d"])
    only = found["mode"] if found["where"] == "mode" else None
    return Rollback(game=found["player"].game, mode=only, player=found["player"], since=since, until=now)
