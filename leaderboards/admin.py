"""The admin of modes."""

import json
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import QuerySet
from django.forms.fields import InvalidJSONInput
from django.http import HttpRequest

from config import audit
from config.errors import DomainError
from leaderboards.models import RULES, Mode, Outbox, SetAside
from leaderboards.rules.mode import LOCKED, NEW_VALUES_A_DAY, examine
from leaderboards.rules.windows import Kind
from leaderboards.services.set_aside import batch_retry, retry_due_at


class RulesField(forms.JSONField):
    """JSON can be wrong in more ways than JSONField knows of: numbers of thousands of digits, brackets without end,
    halves of characters that no page can show.
    """

    def prepare_value(self, value: Any) -> Any:
        """Nothing is shown as nothing: the form of a new mode would begin with "null"."""
        return "" if value is None or value == {} else super().prepare_value(value)

    def to_python(self, value: Any) -> Any:
        if not value:
            return {}
        try:
            return _showable(super().to_python(value))
        except (ValueError, RecursionError):
            raise forms.ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        try:
            return _showable(super().bound_data(data, initial))
        except (ValueError, RecursionError):
            return InvalidJSONInput(data)


def _showable(parsed: Any) -> Any:
    json.dumps(parsed, ensure_ascii=False).encode()
    return parsed


class ModeForm(forms.ModelForm):
    """Choices in words, for people who have not read the contract."""

    aggregation = forms.ChoiceField(
        choices=[("best", "best: the best score counts"), ("sum", "sum: scores add up"), ("latest", "latest: the last")]
    )
    order = forms.ChoiceField(choices=[("desc", "higher is better"), ("asc", "lower is better (lap times)")])
    windows = forms.MultipleChoiceField(
        choices=[(kind.value, kind.value) for kind in Kind], widget=forms.CheckboxSelectMultiple
    )
    tie_break = forms.ChoiceField(
        choices=[
            ("earliest", "who was there first"),
            ("latest", "who was there last"),
            ("none", "nothing but the player"),
        ],
        help_text="What decides between equal scores.",
    )
    ranking = forms.ChoiceField(
        choices=[("unique", "unique: 1, 2, 3"), ("competition", "competition: 1, 1, 3"), ("dense", "dense: 1, 1, 2")]
    )
    submit = forms.ChoiceField(
        choices=[
            ("trusted", "trusted: game servers, with an API key"),
            ("token", "token: players, with an attempt token"),
            ("open", "open: players, with a player token alone"),
        ],
        help_text="Who sends scores.",
    )
    bounds = RulesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        help_text='Tighter, scaled bounds: {"level:7": {"low": null, "high": 5000}}. Empty: none.',
    )
    values = RulesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        help_text='Declared values: {"level": ["1", "2"]}. Scores with another value are refused. Empty: none.',
    )
    new_values = forms.ChoiceField(
        choices=[
            ("keys", "keys: only game servers, with an API key"),
            ("anyone", f"anyone: players too, each up to {NEW_VALUES_A_DAY} a day"),
        ],
        help_text="Who may bring values that are not declared. Of others a score counts without that scope.",
    )
    checks = RulesField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 3, "cols": 60}),
        help_text='How checks are tuned: {"jump": {"max": 5000}, "outlier": {"on": false}}. Empty: as by default.',
    )

    class Meta:
        model = Mode
        fields = ["game", "slug", "title", "description", "active", *RULES, "checks"]
        help_texts = {
            "dimensions": "Names with commas between. region and country come from the player, others with each score.",
            "dimension_values": "The most values that a submitted dimension may take.",
            "grace_seconds": "How late a score may still count in the window it was achieved in.",
        }


@admin.register(Mode)
class ModeAdmin(admin.ModelAdmin):
    form = ModeForm
    list_display = ["slug", "game", "title", "active", "aggregation", "order", "ranking", "timezone"]
    list_filter = ["game", "active"]
    list_select_related = ["game"]
    search_fields = ["slug", "title"]
    fieldsets = [
        (None, {"fields": ["game", "slug", "title", "description", "active", "submit"]}),
        ("Scores", {"fields": ["aggregation", "order", "decimals", "min_score", "max_score", "max_total", "bounds"]}),
        ("Windows", {"fields": ["windows", "timezone", "grace_seconds"]}),
        ("Ranks", {"fields": ["ranking", "tie_break", "dimensions", "dimension_values", "values", "new_values"]}),
        ("Checks", {"fields": ["checks"]}),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Mode | None = None) -> list[str]:
        if obj is None:
            return []
        return ["game", "slug", *(LOCKED if obj.first_score_at else ())]

    def has_delete_permission(self, request: HttpRequest, obj: Mode | None = None) -> bool:
        """Once scores exist, deleting would take them along; a mode is closed instead, by `active`."""
        return super().has_delete_permission(request, obj) and not (obj and obj.first_score_at)

    def save_model(self, request: HttpRequest, obj: Mode, form: Any, change: bool) -> None:
        obj.save(update_fields=form.changed_data if change else None)  # what scores set meanwhile stays
        for warning in examine(obj.rules).warnings:
            messages.warning(request, warning)


SET_ASIDE = (
    "Rung could not bring this to the boards: a defect, which the error below names. Nothing is lost: the scores are in"
    " the log, and are counted from there when it is tried again. Until then the players concerned stand on the boards"
    " as they did before. If it comes back again and again, report the error with the lines batch_set_aside of the log."
)
KINDS = {
    Outbox.Kind.SCORES: "scores that arrived",
    Outbox.Kind.PLACED: "where players are listed",
    Outbox.Kind.RETOLD: "players counted anew from the log",
}


@admin.register(SetAside)
class SetAsideAdmin(admin.ModelAdmin):
    """Batches that could not be applied. Nothing here is lost: the scores are in the log."""

    list_display = ["__str__", "what", "mode", "shard", "tries", "set_aside_at", "next_try", "error"]
    list_filter = ["mode", "kind"]
    list_select_related = ["mode", "mode__game"]
    readonly_fields = ["what", "mode", "shard", "tries", "created_at", "set_aside_at", "next_try", "error"]
    fieldsets = [(None, {"fields": (*readonly_fields,), "description": SET_ASIDE})]
    actions = ["try_again"]

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: SetAside | None = None) -> bool:
        """What is set aside is missing from the boards until it is tried again: it is not to be thrown away."""
        return False

    @admin.display(description="what")
    def what(self, batch: SetAside) -> str:
        return KINDS[Outbox.Kind(batch.kind)]

    @admin.display(description="next try")
    def next_try(self, batch: SetAside) -> str:
        due = retry_due_at(batch)
        return f"by itself, {due:%H:%M:%S} UTC" if due else "yours: select it and “Try again”"

    @admin.action(description="Try again", permissions=["change"])
    def try_again(self, request: HttpRequest, batches: QuerySet[SetAside]) -> None:
        tried = 0
        for batch in batches:
            try:
                with transaction.atomic():
                    batch_retry(batch=batch)
                    audit.record(verb="batch.retry", who=audit.by_request(request), about=batch)
                tried += 1
            except DomainError as error:
                messages.error(request, f"{batch}: {error.detail}")
        if tried:
            messages.success(request, f"{tried} being tried again. What fails once more comes back here.")
