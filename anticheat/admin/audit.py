"""The admin of the audit: to read, to search, to take along; nothing here can be changed."""

import json
from typing import Any

from django.contrib import admin
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth import get_user_model
from django.core.exceptions import BadRequest, PermissionDenied
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.urls import path
from django.utils.html import format_html

from anticheat import audit, audit_export, audit_search
from anticheat.models import AuditEntry
from config.admin import BoundedPaginator
from config.audit import by_request
from players.models import ApiKey, Game


class VerbFilter(admin.SimpleListFilter):
    title = "what"
    parameter_name = "verb"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(verb, verb) for verb in audit_search.verbs()]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        return queryset.filter(verb=self.value()) if self.value() else queryset


class GameFilter(admin.SimpleListFilter):
    title = "game"
    parameter_name = "game"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(slug, slug) for slug in Game.objects.values_list("slug", flat=True)[:100]]

    def queryset(self, request: HttpRequest, queryset: QuerySet) -> QuerySet:
        if not self.value():
            return queryset
        return queryset.filter(game__in=list(Game.objects.filter(slug=self.value()).values_list("pk", flat=True)))


@admin.register(AuditEntry)
class AuditEntryAdmin(admin.ModelAdmin):
    list_display = ["seq", "at", "verb", "who", "address", "about", "player", "why"]
    list_filter = [VerbFilter, GameFilter, "at", "by"]
    search_fields = ["verb"]  # how is said by get_search_results
    search_help_text = audit_search.HELP
    fields = [
        *("seq", "at", "verb", "who", "address", "request_id", "game", "mode", "player", "about", "why"),
        *("was", "became", "chained"),
    ]
    paginator = BoundedPaginator
    show_full_result_count = False
    list_per_page = 50
    sortable_by = ["seq"]
    show_facets = admin.ShowFacets.NEVER  # they count
    actions = None
    change_form_template = "admin/anticheat/auditentry/change_form.html"
    change_list_template = "admin/anticheat/auditentry/change_list.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: AuditEntry | None = None) -> bool:
        return False

    def get_queryset(self, request: HttpRequest) -> QuerySet:
        """With the names of who acted, as far as they are still here."""
        users = get_user_model().objects.filter(pk=OuterRef("user")).values("username")
        keys = ApiKey.objects.filter(pk=OuterRef("key")).values("prefix")
        found: QuerySet = super().get_queryset(request).annotate(username=Subquery(users), prefix=Subquery(keys))
        return found

    def get_search_results(self, request: HttpRequest, queryset: QuerySet, search_term: str) -> tuple[QuerySet, bool]:
        term = search_term.strip()
        return (queryset.filter(audit_search.matching(term)) if term else queryset), False

    def get_urls(self) -> list[Any]:
        export = path("export/", self.admin_site.admin_view(self.export), name="anticheat_auditentry_export")
        return [export, *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        may = request.user.has_perm("anticheat.export_auditentry")
        found = request.GET.copy()
        found.pop("p", None)
        return super().changelist_view(
            request, {"may_export": may, "found": found.urlencode(), **(extra_context or {})}
        )

    def export(self, request: HttpRequest) -> HttpResponseBase:
        """What the list shows, all of it. That it was taken along is an act as well."""
        if not request.user.has_perms(["anticheat.view_auditentry", "anticheat.export_auditentry"]):
            raise PermissionDenied
        try:
            found = self.get_changelist_instance(request).get_queryset(request)
        except IncorrectLookupParameters:
            raise BadRequest("No list can be narrowed by this.") from None
        audit.record(verb="audit.export", who=by_request(request), after=request.GET.dict())
        answer = StreamingHttpResponse(audit_export.lines(found, "jsonl"), content_type="application/x-ndjson")
        answer["Content-Disposition"] = 'attachment; filename="audit.jsonl"'
        return answer

    @admin.display(description="who")
    def who(self, entry: Any) -> str:
        if entry.by == AuditEntry.By.OPERATOR:
            return entry.username or f"user {entry.user}"
        if entry.by == AuditEntry.By.KEY:
            return f"rung_{entry.prefix}_…" if entry.prefix else f"key {entry.key}"
        return str(entry.command or entry.get_by_display())

    @admin.display(description="before")
    def was(self, entry: AuditEntry) -> str:
        return _readable(entry.before)

    @admin.display(description="after")
    def became(self, entry: AuditEntry) -> str:
        return _readable(entry.after)

    @admin.display(description="hash")
    def chained(self, entry: AuditEntry) -> str:
        return format_html("<code>{}</code>", bytes(entry.hash or b"").hex())


def _readable(values: dict[str, Any]) -> str:
    if not values:
        return "–"
    return format_html("<pre>{}</pre>", json.dumps(values, indent=2, ensure_ascii=False, sort_keys=True))
