"""The admin site of Rung: what operators look for first stands first, and what they change is in the audit."""

from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.core.exceptions import SuspiciousOperation
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest
from django.utils.functional import cached_property

from config import audit
from config.audited import AuditedAdmin

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
        """PostgreSQL has no U+0000, and Django's searches fail on it instead of finding nothing."""
        inner = super().admin_view(view, cacheable)

        @wraps(inner)
        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            if "%00" in request.META.get("QUERY_STRING", ""):
                raise SuspiciousOperation("U+0000 in an address")
            return inner(request, *args, **kwargs)

        return checked

    def register(self, model_or_iterable: Any, admin_class: type[ModelAdmin] | None = None, **options: Any) -> None:
        """Here and not in each class, so that none can be forgotten."""
        own = admin_class or ModelAdmin
        audited = own if issubclass(own, AuditedAdmin) else type(own.__name__, (AuditedAdmin, own), {})
        super().register(model_or_iterable, audited, **options)

    def password_change(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> Any:
        with transaction.atomic():
            response = super().password_change(request, extra_context)
            if response.status_code == 302:  # noqa: PLR2004 - it was changed
                audit.record(verb="user.password", who=audit.by_request(request), about=request.user)  # type: ignore[arg-type]
        return response

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        return sorted(
            apps, key=lambda app: _ORDER.index(app["app_label"]) if app["app_label"] in _ORDER else len(_ORDER)
        )
