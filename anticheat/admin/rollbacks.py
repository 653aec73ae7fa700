"""Taking back in bulk: said, looked at, done, watched, undone."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from anticheat.admin.access import ROLL_BACK, RULE, need, need_to_rule, user_of
from anticheat.admin.rollback_forms import RollbackForm
from anticheat.admin.words import what_was_done
from anticheat.models import Rollback, Ruling
from anticheat.outlooks import Outlook, outlook_of_rollback
from anticheat.services.rulings import ruling_make
from config import clock
from config.admin import BoundedPaginator
from config.audit import by_request
from config.errors import DomainError

State = Rollback.State
MOVING = {State.WAITING, State.RUNNING, State.UNDOING}


@admin.register(Rollback)
class RollbackAdmin(admin.ModelAdmin):
    list_display = ["__str__", "what", "progress", "since", "until", "made_at"]
    list_filter = ["state", "game"]
    list_select_related = ["game", "mode__game", "player", "key"]
    show_full_result_count = False
    paginator = BoundedPaginator
    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        return user_of(request).has_perms([RULE, ROLL_BACK])

    def has_change_permission(self, request: HttpRequest, obj: Rollback | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Rollback | None = None) -> bool:
        return False

    def add_view(
        self, request: HttpRequest, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Asked for by an address, so that looking changes nothing; done by a form."""
        need(request, RULE, ROLL_BACK)
        now = clock.now()
        asked = request.POST if request.method == "POST" else request.GET
        form = RollbackForm(asked, now=now) if asked else RollbackForm(now=now)
        outlook = None
        if asked and form.is_valid():
            one = form.rollback()
            need_to_rule(request, Ruling.Kind.ROLLBACK, one.player_id)
            if request.method == "POST":
                return self._begin(request, form, one)
            outlook = outlook_of_rollback(one, now=now)
        return self._page(request, form, outlook)

    def _begin(self, request: HttpRequest, form: RollbackForm, one: Rollback) -> HttpResponse:
        found = form.cleaned_data
        ruling = Ruling(
            kind=Ruling.Kind.ROLLBACK,
            game=one.game,
            mode=one.mode,
            player=one.player,
            reason=found["reason"],
            note=found["note"],
            rollback=one,
        )
        try:
            made = ruling_make(ruling=ruling, by=by_request(request), now=form.now)
        except DomainError as error:
            form.add_error(None, error.detail)
            return self._page(request, form, None)
        messages.success(request, what_was_done(made))
        return redirect(reverse("admin:anticheat_rollback_change", args=[one.pk]))

    def _page(self, request: HttpRequest, form: RollbackForm, outlook: Outlook | None) -> HttpResponse:
        context = self.admin_site.each_context(request) | {
            "title": "Take attempts back",
            "opts": self.opts,
            "form": form,
            "outlook": outlook,
        }
        status = 400 if form.is_bound and form.errors else 200
        return TemplateResponse(request, "admin/anticheat/rollback_form.html", context, status=status)

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        one = self.get_object(request, object_id)
        if one is None or not self.has_view_permission(request, one):
            raise Http404
        if request.method != "GET":
            raise PermissionDenied
        ruling = one.rulings.select_related("by", "by_key", "undone_by").first()
        may = user_of(request).has_perms([RULE, ROLL_BACK])
        context = self.admin_site.each_context(request) | {
            "title": str(one).capitalize(),
            "subtitle": self.what(one),
            "opts": self.opts,
            "rollback": one,
            "ruling": ruling,
            "is_moving": one.state in MOVING,
            "percentage": percentage(one),
            "may_undo": may and ruling is not None and ruling.state == Ruling.State.DONE,
        }
        return TemplateResponse(request, "admin/anticheat/rollback.html", context)

    @admin.display(description="what")
    def what(self, one: Rollback) -> str:
        of = [f"player {one.player}" if one.player else "", f"key {one.key}" if one.key else ""]
        of += [f"{name} {value}" for name, value in one.predicate.items()]
        of += [f"attempt {one.attempt_id}" if one.attempt_id else ""]
        return f"{one.mode or one.game}: {', '.join(filter(None, of)) or 'everything'}"

    @admin.display(description="progress")
    def progress(self, one: Rollback) -> SafeString:
        return format_html(
            '<progress value="{}" max="100"></progress> {} %, {}',
            percentage(one),
            percentage(one),
            one.get_state_display(),
        )


def percentage(one: Rollback) -> int:
    """Of its attempts, taken back."""
    if one.state == State.DONE:
        return 100
    return 0 if one.state == State.UNDONE or not one.total else min(99, 100 * one.done // one.total)
