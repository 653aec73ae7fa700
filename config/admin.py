"""The admin site of Rung: what operators look for first stands first."""

from typing import Any

from django.contrib.admin import AdminSite
from django.http import HttpRequest

_ORDER = ("players", "leaderboards", "social", "anticheat", "django_celery_beat", "auth")


class RungAdmin(AdminSite):
    site_header = "Rung"
    site_title = "Rung"
    index_title = "What there is"
    enable_nav_sidebar = True

    def get_app_list(self, request: HttpRequest, app_label: str | None = None) -> list[Any]:
        apps = super().get_app_list(request, app_label)
        return sorted(
            apps, key=lambda app: _ORDER.index(app["app_label"]) if app["app_label"] in _ORDER else len(_ORDER)
        )
