"""The page that shows what an act would do, and does it: with a case, or with a player alone."""

from datetime import datetime
from typing import Any

from django.contrib import admin, messages
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.html import format_html

from anticheat import dossiers
from anticheat.admin.access import RULE, need, need_to_rule, user_of
from anticheat.admin.act_forms import ActForm
from anticheat.admin.words import BUTTONS, what_happens, what_was_done
from anticheat.errors import RulingRefused
from anticheat.models import Case, Ruling
from anticheat.outlooks import Outlook, outlook_of_attempts, outlook_of_ban, outlook_of_rollback
from anticheat.services.cases import case_claim, case_next
from anticheat.services.ruling_acts import BANS, attempts_concerned
from anticheat.services.rulings import again_after_deadlock, ruling_make
from config import clock
from config.audit import by_request
from config.errors import DomainError

Kind = Ruling.Kind
CLOSING = {Kind.RELEASE, Kind.CLEAR, Kind.WATCH, Kind.CONFIRM, *BANS}


def act(request: HttpRequest) -> HttpResponse:
    need(request, RULE)
    now = clock.now()
    form = ActForm(request.POST if request.method == "POST" else request.GET)
    if not form.is_valid():
        return _page(request, form, None, Outlook())
    ruling = form.ruling(now=now)
    user = need_to_rule(request, ruling.kind, ruling.player_id)
    if request.method == "POST":
        try:
            made = _make(form, ruling, request, now)
        except DomainError as error:
            form.add_error(None, error.detail)
        else:
            _tell(request, made)
            return redirect(_where_next(made, user, now))
    try:
        return _page(request, form, ruling, outlook_of(form, ruling, now=now))
    except DomainError as error:
        form.add_error(None, error.detail)
        return _page(request, form, None, Outlook())


def _make(form: ActForm, ruling: Ruling, request: HttpRequest, now: datetime) -> Ruling:
    """Not where somebody else is looking, or has ruled since the operator looked."""
    asked = [one] if (one := form.cleaned_data["attempt"]) else []

    def make() -> Ruling:
        if ruling.case is not None:
            ruling.case = case_claim(case=ruling.case, user=user_of(request), now=now)
            seen = form.cleaned_data["seen"]
            if seen is not None and seen != last_ruling(ruling.case):
                raise RulingRefused("Somebody has ruled on it meanwhile. Look at the case again.")
        return ruling_make(ruling=ruling, by=by_request(request), now=now, attempts=asked)

    return again_after_deadlock(make)


def last_ruling(case: Case) -> int:
    return Ruling.objects.filter(case=case).order_by("-pk").values_list("pk", flat=True).first() or 0


def outlook_of(form: ActForm, ruling: Ruling, *, now: datetime) -> Outlook:
    player, asked = form.cleaned_data["player"], form.cleaned_data["attempt"]
    if ruling.rollback is not None:
        return outlook_of_rollback(ruling.rollback, now=now)
    if ruling.kind in BANS:
        return outlook_of_ban(player, [ruling.mode] if ruling.mode else dossiers.modes_of(player), now=now)
    if ruling.mode is None or ruling.kind in (Kind.CLEAR, Kind.WATCH):
        return Outlook()
    ids = attempts_concerned(ruling, asked=[asked] if asked else [])
    if ruling.kind == Kind.RELEASE:
        return Outlook(attempts=len(ids), players=1)
    return outlook_of_attempts(player, ruling.mode, ids, now=now)


def _page(request: HttpRequest, form: ActForm, ruling: Ruling | None, outlook: Outlook) -> HttpResponse:
    found: dict[str, Any] = getattr(form, "cleaned_data", {})
    context = admin.site.each_context(request) | {
        "title": BUTTONS[Kind(ruling.kind)] if ruling else "Decide",
        "subtitle": str(found.get("player") or ""),
        "form": form,
        "ruling": ruling,
        "player": found.get("player"),
        "case": found.get("case"),
        "outlook": outlook,
        "sentence": what_happens(ruling, outlook) if ruling else "",
        "button": BUTTONS[Kind(ruling.kind)] if ruling else "",
    }
    refused = request.method == "POST" or not ruling
    return TemplateResponse(request, "admin/anticheat/act.html", context, status=400 if refused else 200)


def _tell(request: HttpRequest, ruling: Ruling) -> None:
    address = reverse("admin:anticheat_ruling_change", args=[ruling.pk])
    messages.success(request, format_html('{} <a href="{}">See it, or undo it</a>', what_was_done(ruling), address))


def _where_next(ruling: Ruling, user: User, now: datetime) -> str:
    """What closes a case opens the next."""
    if ruling.case is None:
        return reverse("admin:players_player_change", args=[ruling.player_id])
    if ruling.kind not in CLOSING:
        return reverse("admin:anticheat_case_change", args=[ruling.case.pk])
    found = case_next(user=user, now=now, after=ruling.case)
    if found is None or found.pk == ruling.case.pk:
        return reverse("admin:anticheat_case_changelist")
    return reverse("admin:anticheat_case_change", args=[found.pk])
