"""What the lists of trust are narrowed by."""

from typing import Any

from django.contrib import admin
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest

from anticheat.models import Case, Finding
from leaderboards.models import Mode

_LATEST = 5000  # findings, among which checks are looked for: all of them would be a long look
_MOST_MODES = 100


class StateFilter(admin.SimpleListFilter):
    """Open ones, unless others are asked for."""

    title = "state"
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        others = [(state.value, state.label) for state in Case.State if state is not Case.State.OPEN]
        return [*others, ("all", "all")]

    def choices(self, changelist: Any) -> Any:
        own = self.value() or Case.State.OPEN
        for value, words in [(Case.State.OPEN.value, "open"), *self.lookup_choices]:
            query = changelist.get_query_string(remove=["p"], new_params={self.parameter_name: value})
            yield {"selected": own == value, "query_string": query, "display": words}

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        asked = self.value() or Case.State.OPEN
        return queryset if asked == "all" else queryset.filter(state=asked)


class ModeFilter(admin.SimpleListFilter):
    title = "mode"
    parameter_name = "mode"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        modes = Mode.objects.select_related("game").order_by("game__slug", "slug")
        if (game := request.GET.get("game__id__exact", "")).isdecimal():
            modes = modes.filter(game=int(game[:18]))
        return [(str(mode.pk), str(mode)) for mode in modes[:_MOST_MODES]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        asked = self.value() or ""
        return queryset.filter(mode=int(asked[:18])) if asked.isascii() and asked.isdecimal() else queryset


class CheckFilter(admin.SimpleListFilter):
    title = "check"
    parameter_name = "check"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        latest = Finding.objects.order_by("-pk").values("pk")[:_LATEST]
        names = Finding.objects.filter(pk__in=latest).order_by("check_name").values_list("check_name", flat=True)
        return [(name, name) for name in names.distinct()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Case]) -> QuerySet[Case]:
        if not (asked := self.value()):
            return queryset
        return queryset.filter(Exists(Finding.objects.filter(case=OuterRef("pk"), check_name=asked)))
