"""The admin of modes."""

from typing import Any

from django.contrib import admin, messages
from django.http import HttpRequest

from leaderboards.models import RULES, Mode
from leaderboards.rules.mode import LOCKED, examine


@admin.register(Mode)
class ModeAdmin(admin.ModelAdmin):
    list_display = ["slug", "game", "title", "active", "aggregation", "order", "ranking", "timezone"]
    list_filter = ["game", "active"]
    list_select_related = ["game"]
    search_fields = ["slug", "title"]
    fieldsets = [
        (None, {"fields": ["game", "slug", "title", "description", "active"]}),
        ("Rules", {"fields": list(RULES)}),
    ]

    def get_readonly_fields(self, request: HttpRequest, obj: Mode | None = None) -> list[str]:
        if obj is None:
            return []
        return ["game", "slug", *(LOCKED if obj.first_score_at else ())]

    def save_model(self, request: HttpRequest, obj: Mode, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        for warning in examine(obj.rules).warnings:
            messages.warning(request, warning)
