"""What was decided: found again, undone, and approved where two persons are asked for."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.views.decorators.http import require_POST

from anticheat.admin.access import may_rule, need_to_rule, user_of
from anticheat.models import Ruling
from anticheat.queue import is_own
from anticheat.services.rulings import ruling_approve, ruling_undo, ruling_withdraw
from config import clock
from config.admin import BoundedPaginator
from config.audit import by_request
from config.errors import DomainError

_LONGEST_WHY = 500


@admin.register(Ruling)
class RulingAdmin(admin.ModelAdmin):
    list_display = ["act", "condition", "whom", "place", "reason", "who", "at"]
    list_display_links = ["act"]
    list_filter = ["state", "kind", "game"]
    list_select_related = ["player", "mode__game", "game", "by", "by_key"]
    search_fields = ["player__player_id__startswith", "player__display_name__istartswith", "by__username"]
    search_help_text = "How the player's id or name begins, or who ruled."
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Ruling | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Ruling | None = None) -> bool:
        return False

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        ruling, user = self._ruling(request, object_id), user_of(request)
        if request.method != "GET":
            raise PermissionDenied
        may = may_rule(user, ruling.kind) and not is_own(user, ruling.player_id)
        context = self.admin_site.each_context(request) | {
            "title": ruling.get_kind_display().partition(":")[0].capitalize(),
            "subtitle": str(ruling.player or ruling.game),
            "opts": self.opts,
            "ruling": ruling,
            "attempts": ruling.before.get("attempts", []),
            "may_undo": may and ruling.state == Ruling.State.DONE,
            "may_withdraw": may and ruling.state == Ruling.State.PROPOSED,
            "may_approve": may and ruling.state == Ruling.State.PROPOSED and ruling.by_id != user.pk,
        }
        return TemplateResponse(request, "admin/anticheat/ruling.html", context)

    def get_urls(self) -> list[URLPattern]:
        acts = {"undo": self.undo_view, "approve": self.approve_view, "withdraw": self.withdraw_view}
        own = [
            path(
                f"<path:object_id>/{name}/",
                self.admin_site.admin_view(require_POST(view)),
                name=f"anticheat_ruling_{name}",
            )
            for name, view in acts.items()
        ]
        return [*own, *super().get_urls()]

    def undo_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._changed(request, object_id, "Undone: as if it had not been ruled.", ruling_undo, reasoned=True)

    def withdraw_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._changed(request, object_id, "Withdrawn. Nothing was done.", ruling_withdraw, reasoned=True)

    def approve_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        return self._changed(request, object_id, "Approved, and done.", ruling_approve, reasoned=False)

    def _changed(
        self, request: HttpRequest, object_id: str, said: str, change: Callable[..., Ruling], *, reasoned: bool
    ) -> HttpResponse:
        ruling = self._ruling(request, object_id)
        need_to_rule(request, ruling.kind, ruling.player_id)
        why = request.POST.get("why", "").replace("\0", "").strip()[:_LONGEST_WHY]
        if reasoned and not why:
            messages.error(request, "Say why.")
        else:
            try:
                change(ruling=ruling, by=by_request(request), now=clock.now(), **({"why": why} if reasoned else {}))
                messages.success(request, said)
            except DomainError as error:
                messages.error(request, error.detail)
        return redirect(reverse("admin:anticheat_ruling_change", args=[ruling.pk]))

    def _ruling(self, request: HttpRequest, object_id: str) -> Ruling:
        found: Ruling | None = self.get_object(request, object_id)
        if found is None or not self.has_view_permission(request, found):
            raise Http404
        return found

    @admin.display(description="act", ordering="kind")
    def act(self, ruling: Ruling) -> str:
        return ruling.get_kind_display().partition(":")[0]

    @admin.display(description="state", ordering="state")
    def condition(self, ruling: Ruling) -> SafeString:
        return format_html('<span class="tag {}">{}</span>', ruling.state, ruling.get_state_display())

    @admin.display(description="player")
    def whom(self, ruling: Ruling) -> str:
        return (ruling.player.display_name or str(ruling.player)) if ruling.player else "–"

    @admin.display(description="where")
    def place(self, ruling: Ruling) -> str:
        return str(ruling.mode or ruling.game)

    @admin.display(description="by")
    def who(self, ruling: Ruling) -> str:
        return str(ruling.by or ruling.by_key or "–")
