"""Which attempts a rollback is about, as an operator says it."""

from datetime import datetime
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from anticheat.admin.fields import moment_input, reason_choices
from anticheat.models import Rollback
from anticheat.selections import CLIENT, selection_check
from config.errors import DomainError
from leaderboards.models import Mode
from players.models import ApiKey, Game, Player

_LONGEST = 200


class RollbackForm(forms.Form):
    game = forms.ModelChoiceField(Game.objects.order_by("slug"), to_field_name="slug")
    mode = forms.CharField(required=False, max_length=50, help_text="Its name in addresses. Empty: every mode.")
    player_id = forms.CharField(required=False, max_length=64, help_text="Empty: every player.")
    key = forms.CharField(required=False, max_length=16, help_text="How it begins, after rung_: of a key that leaked.")
    attempt_id = forms.UUIDField(required=False, help_text="One attempt of the player alone.")
    since = forms.DateTimeField(widget=moment_input(), help_text="By when attempts arrived, UTC.")
    until = forms.DateTimeField(required=False, widget=moment_input(), help_text="UTC. Empty: now.")
    predicate = forms.CharField(
        required=False,
        max_length=1000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text=f"One a line, all have to hold: build=1.42.0. {', '.join(CLIENT)}, or a dimension such as level.",
    )
    preset = forms.ChoiceField(choices=reason_choices, required=False, label="Reason, which players are not told")
    reason = forms.CharField(required=False, max_length=500, label="or in your own words")
    note = forms.CharField(
        required=False, max_length=4000, widget=forms.Textarea(attrs={"rows": 2}), label="Note, for operators only"
    )

    def __init__(self, *args: Any, now: datetime, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.now = now

    def clean_predicate(self) -> dict[str, str]:
        found = {}
        for line in filter(None, map(str.strip, self.cleaned_data["predicate"].splitlines())):
            name, equals, value = (part.strip() for part in line.partition("="))
            if not equals:
                raise ValidationError(f"{line[:_LONGEST]}: a name, = and a value.")
            found[name] = value
        return found

    def clean(self) -> dict[str, Any]:
        found: dict[str, Any] = super().clean() or {}
        found["reason"] = found.get("reason") or found.get("preset") or ""
        if not found["reason"]:
            self.add_error("preset", "Say why: it is kept.")
        if (game := found.get("game")) is not None:
            of_game = {
                "mode": Mode.objects.filter(game=game, slug=found.get("mode")),
                "player_id": Player.objects.filter(game=game, player_id=found.get("player_id")),
                "key": ApiKey.objects.filter(game=game, prefix=found.get("key")),
            }
            for name, those in of_game.items():
                found[f"{name}_found"] = those.first() if found.get(name) else None
                if found.get(name) and found[f"{name}_found"] is None:
                    self.add_error(name, f"There is none in {game}.")
        if not self.errors:
            self._check()
        return found

    def _check(self) -> None:
        try:
            selection_check(self.rollback())
        except DomainError as error:
            raise ValidationError(error.detail) from None

    def rollback(self) -> Rollback:
        found = self.cleaned_data
        return Rollback(
            game=found["game"],
            mode=found["mode_found"],
            player=found["player_id_found"],
            key=found["key_found"],
            attempt_id=found["attempt_id"],
            since=found["since"],
            until=min(found["until"] or self.now, self.now),
            predicate=found["predicate"],
        )
