"""Brings the database up to this version, and on the first start loads the demo. What `make up` runs before serving."""

from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand

from config import heartbeat


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        self.stdout.write("Migrating the database …")
        call_command("migrate", interactive=False, verbosity=0, stdout=self.stdout)
        if settings.PRODUCTION:
            self.stdout.write("Collecting static files …")
            call_command("collectstatic", interactive=False, verbosity=0, stdout=self.stdout)
        if settings.DEMO:
            call_command("load_demo", stdout=self.stdout)
        heartbeat.forget()
