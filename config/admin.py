"""The admin site of Rung: what operators look for first stands first, and what they change is in the audit."""

from contextlib import nullcontext
from functools import wraps
from typing import Any

import structlog
from django.contrib.admin import AdminSite, ModelAdmin
from django.core.exceptions import BadRequest
from django.core.paginator import Paginator
from django.db import IntegrityError, transaction
from django.http import HttpRequest
from django.utils.functional import cached_property

from config import audit, hashing, pages, sign_in
from config.audited import AuditedAdmin
from config.metrics import SIGN_INS

log = structlog.get_logger(__name__)
_FOUND = 302  # somewhere else: it was done
_ORDER = ("players", "leaderboards", "social", "anticheat", "django_celery_beat", "auth")


class BoundedPaginator(Paginator):
    """Counts so far and no further: who wants what lies beyond searches for it."""

    most = 10_000

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return int(rows.values("pk").order_by()[: self.most].count())


class RungAdmin(AdminSite):
    site_header = "Rung"
    site_title = "Rung"
    index_title = "What there is"
    enable_nav_sidebar = True

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """PostgreSQL has no U+0000, and Django's searches fail on it instead of finding nothing. What a form names may
        be gone, or there already, by the time it is saved: the database says so at the last moment.
        """
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if "%00" in request.META.get("QUERY_STRING", ""):
                raise BadRequest("U+0000 in an address")
            try:
                return inner(request, *args, **kwargs)
            except IntegrityError as error:
                log.warning("admin_conflict", error=str(error))
                return pages.changed_meanwhile(request)

        return checked

    def register(self, model_or_iterable: Any, admin_class: type[ModelAdmin] | None = None, **options: Any) -> None:
        """Here and not in each class, so that none can be forgotten."""
        own = admin_class or ModelAdmin
        audited = own if issubclass(own, AuditedAdmin) else type(own.__name__, (AuditedAdmin, own), {})
        super().register(model_or_iterable, audited, **options)

    def login(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        """Refused before a password is hashed: that is the dearest thing that anybody may ask of us."""
        if request.method != "POST":
            return super().login(request, extra_context)
        attempt = sign_in.Try(request)
        try:
            attempt.admit()
            with nullcontext() if attempt.is_known else hashing.for_strangers():
                response = super().login(request, extra_context)
        except sign_in.TooManyTries as refusal:
            SIGN_INS.labels("refused").inc()
            return pages.sign_in_refused(request, refusal)
        except hashing.HashingBusy as refusal:
            SIGN_INS.labels("busy").inc()
            attempt.give_back()
            return pages.sign_in_refused(request, refusal)
        if response.status_code == _FOUND:
            SIGN_INS.labels("done").inc()
            attempt.succeed(response)
        else:
            SIGN_INS.labels("failed").inc()
            attempt.fail()
        return response

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        if request.method != "POST":
            return super().password_change(request, extra_context)
        attempt = sign_in.PasswordChange(request)
        try:
            attempt.admit()
            response = self._change_password(request, extra_context)
        except sign_in.TooManyTries as refusal:
            return pages.sign_in_refused(request, refusal)
        except hashing.HashingBusy as refusal:
            attempt.give_back()
            return pages.sign_in_refused(request, refusal)
        if response.status_code == _FOUND:
            attempt.give_back()
        return response

    def _change_password(self, request: HttpRequest, extra_context: dict[str, Any] | None) -> Any:
        with transaction.atomic():
            response = super().password_change(request, extra_context)
            if response.status_code == _FOUND:
                audit.record(verb="user.password", who=audit.by_request(request), about=request.user)  # type: ignore[arg-type]
        return response

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        return sorted(
            apps, key=lambda app: _ORDER.index(app["app_label"]) if app["app_label"] in _ORDER else len(_ORDER)
        )
