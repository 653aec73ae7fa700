"""Says in words what is configured, reachable, lagging or wrong. Exits with 1 where something is wrong."""

from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connection
from django.db.migrations.executor import MigrationExecutor
from django.utils.module_loading import import_string

from config import health, logs
from config.health import Seen


class Command(BaseCommand):
    help = __doc__

    def handle(self, *args: Any, **options: Any) -> None:
        self._configured()
        state = health.readiness()
        for name, check in state.checks.items():
            self._say(name, check)
        wrong = [name for name, check in state.checks.items() if not check.ok]
        if state.checks["database"].ok:
            wrong += self._database()
            wrong += self._others()
        if wrong:
            raise CommandError(f"Not well: {', '.join(wrong)}.")
        self.stdout.write("All is well.")

    def _configured(self) -> None:
        self.stdout.write(f"environment  {settings.RUNG_ENV}; home {settings.HOME.path}")
        for name in ("VALKEY_URL", "BROKER_URL", "CHANNELS_URL", "CACHE_URL"):
            self.stdout.write(f"configured   {name} {logs.without_secrets(getattr(settings, name))}")

    def _say(self, name: str, check: Seen) -> None:
        mark = "ok   " if check.ok else "WRONG"
        self.stdout.write(f"{mark} {name:<12} {check.detail} ({check.ms} ms)")

    def _database(self) -> list[str]:
        executor = MigrationExecutor(connection)
        waiting = executor.migration_plan(executor.loader.graph.leaf_nodes())
        if waiting:
            self.stdout.write(f"WRONG migrations   {len(waiting)} not applied: run `python manage.py prepare`.")
            return ["migrations", *self._connections()]
        self.stdout.write("ok    migrations   all applied")
        return self._connections()

    def _others(self) -> list[str]:
        """What the rooms above know of themselves."""
        checks = {name: health.run(import_string(path)) for name, path in settings.DOCTOR_CHECKS.items()}
        for name, check in checks.items():
            self._say(name, check)
        return [name for name, check in checks.items() if not check.ok]

    def _connections(self) -> list[str]:
        """Threads × processes must stay below what the server takes; behind a pooler, below what that takes."""
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('max_connections')::int, count(*) FROM pg_stat_activity")
            most, used = cursor.fetchone()
        wanted = (settings.WEB_THREADS + settings.LANE_THREADS + settings.LIVE_THREADS) * settings.WEB_PROCESSES
        where = "; a pooler is between" if settings.DATABASE_POOLER else ""
        self.stdout.write(f"      connections  {used} of {most} used; web may take {wanted}{where}")
        if wanted > most * 0.8 and not settings.DATABASE_POOLER:
            self.stdout.write("WRONG connections  lower RUNG_WEB_THREADS, or raise max_connections.")
            return ["connections"]
        return []
