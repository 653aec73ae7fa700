"""The queue of cases, and a case on one screen."""

from typing import Any

from django.contrib import admin, messages
from django.contrib.postgres.expressions import ArraySubquery
from django.core.exceptions import PermissionDenied
from django.db.models import OuterRef, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.timesince import timesince, timeuntil
from django.views.decorators.http import require_POST

from anticheat.admin.access import RULE, need, user_of
from anticheat.admin.act_forms import SPANS
from anticheat.admin.filters import CheckFilter, ModeFilter, StateFilter
from anticheat.admin.screens import case_screen
from anticheat.models import Case, Finding
from anticheat.queue import cases_shown, holder
from anticheat.services.cases import case_hold, case_next, case_note, case_snooze
from config import clock
from config.admin import BoundedPaginator
from config.audit import by_request
from config.errors import DomainError

_LONGEST_NOTE = 4000


@admin.register(Case)
class CaseAdmin(admin.ModelAdmin):
    """What happens to cases happens by rulings; the forms of Django's own would pass them by."""

    list_display = ["who", "place", "urgency", "checks", "standing", "last_found"]
    list_display_links = ["who"]
    list_filter = [StateFilter, "game", ModeFilter, CheckFilter]
    list_select_related = ["player", "mode__game", "held_by"]
    search_fields = ["player__player_id__startswith", "player__display_name__istartswith"]
    search_help_text = "How the player's id or name begins."
    list_per_page = 50
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # they count everything
    paginator = BoundedPaginator
    actions = None

    def get_queryset(self, request: HttpRequest) -> QuerySet[Case]:
        names = Finding.objects.filter(case=OuterRef("pk")).order_by("check_name").values("check_name").distinct()
        return cases_shown(user_of(request)).annotate(check_names=ArraySubquery(names))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Case | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Case | None = None) -> bool:
        return False

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> HttpResponse:
        own = {"title": "Cases that wait", "may_rule": user_of(request).has_perm(RULE)}
        return super().changelist_view(request, own | (extra_context or {}))

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        case = self._case(request, object_id)
        if request.method != "GET":
            raise PermissionDenied
        context = self.admin_site.each_context(request) | case_screen(case, user_of(request), now=clock.now())
        return TemplateResponse(request, "admin/anticheat/case.html", context | {"opts": self.opts})

    def get_urls(self) -> list[URLPattern]:
        own = [
            path("next/", self._posted(self.next_view), name="anticheat_case_next"),
            path("<path:object_id>/hold/", self._posted(self.hold_view), name="anticheat_case_hold"),
            path("<path:object_id>/snooze/", self._posted(self.snooze_view), name="anticheat_case_snooze"),
            path("<path:object_id>/note/", self._posted(self.note_view), name="anticheat_case_note"),
        ]
        return [*own, *super().get_urls()]

    def _posted(self, view: Any) -> Any:
        return self.admin_site.admin_view(require_POST(view))

    def next_view(self, request: HttpRequest) -> HttpResponse:
        user = need(request, RULE)
        after = request.POST.get("after", "")
        case = self._case(request, after) if after else None
        return self._open(request, case_next(user=user, now=clock.now(), after=case))

    def hold_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user, case = need(request, RULE), self._case(request, object_id)
        try:
            case_hold(case=case, user=user, now=clock.now())
        except DomainError as error:
            messages.error(request, error.detail)
        return self._open(request, case)

    def snooze_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user, case, now = need(request, RULE), self._case(request, object_id), clock.now()
        span = SPANS.get(request.POST.get("for", ""), SPANS["1d"])
        try:
            case_snooze(case=case, user=user, until=now + span, now=now, who=by_request(request))
        except DomainError as error:
            messages.error(request, error.detail)
            return self._open(request, case)
        messages.success(request, f"Put off until {now + span:%Y-%m-%d %H:%M} UTC: {case.player.display_name}.")
        return self._open(request, case_next(user=user, now=now, after=case))

    def note_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        user, case = need(request, RULE), self._case(request, object_id)
        note = request.POST.get("note", "").replace("\0", "")[:_LONGEST_NOTE]
        try:
            case_note(case=case, user=user, note=note, now=clock.now(), who=by_request(request))
        except DomainError as error:
            messages.error(request, error.detail)
        return self._open(request, case)

    def _case(self, request: HttpRequest, object_id: str) -> Case:
        """Not the operator's own: there is none, for it."""
        case: Case | None = self.get_object(request, object_id)
        if case is None or not self.has_view_permission(request, case):
            raise Http404
        return case

    def _open(self, request: HttpRequest, case: Case | None) -> HttpResponse:
        if case is None:
            messages.info(request, "No case waits. Well done.")
            return redirect(reverse("admin:anticheat_case_changelist"))
        return redirect(reverse("admin:anticheat_case_change", args=[case.pk]))

    @admin.display(description="player")
    def who(self, case: Case) -> str:
        return case.player.display_name or str(case.player)

    @admin.display(description="mode")
    def place(self, case: Case) -> str:
        return str(case.mode)

    @admin.display(description="risk × rank", ordering="priority")
    def urgency(self, case: Case) -> SafeString:
        rank = f"rank {case.rank:,}" if case.rank else "no rank"
        return format_html('<meter value="{}" max="1">{}</meter> {}', f"{case.risk:.3f}", f"{case.risk:.0%}", rank)

    @admin.display(description="found by")
    def checks(self, case: Case) -> str:
        return ", ".join(case.check_names)  # type: ignore[attr-defined]

    @admin.display(description="state")
    def standing(self, case: Case) -> SafeString:
        now = clock.now()
        if by := holder(case, now=now):
            return format_html('<span class="tag held">{} looks at it</span>', by.get_username())
        if case.snoozed_until and case.snoozed_until > now:
            return format_html('<span class="tag snoozed">back in {}</span>', timeuntil(case.snoozed_until, now))
        return format_html('<span class="tag {}">{}</span>', case.state, case.get_state_display())

    @admin.display(description="last found", ordering="updated_at")
    def last_found(self, case: Case) -> str:
        return f"{timesince(case.updated_at, depth=1)} ago"
