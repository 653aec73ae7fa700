"""The admin site of Rung: what operators look for first stands first."""

from functools import wraps
from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest

_ORDER = ("players", "leaderboards", "social", "anticheat", "django_celery_beat", "auth")


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

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        return sorted(
            apps, key=lambda app: _ORDER.index(app["app_label"]) if app["app_label"] in _ORDER else len(_ORDER)
        )
