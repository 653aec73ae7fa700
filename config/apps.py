"""The house as Django apps: our admin site, and a home for commands and tasks that belong to no room."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ConfigApp(AppConfig):
    name = "config"
    label = "house"

    def ready(self) -> None:
        import config.celery  # noqa: F401, PLC0415 - a process that only sends tasks needs the app they belong to
        from config import schedule_admin  # noqa: PLC0415 - models are there now

        schedule_admin.register()


class RungAdminConfig(AdminConfig):
    default_site = "config.admin.RungAdmin"
