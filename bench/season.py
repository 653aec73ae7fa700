"""The checks held against a season in which it is known who cheats, on servers of their own gone afterwards."""

import os
import sys
import tempfile
from contextlib import ExitStack
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from bench.apart import apart
from bench.house import OF_OTHERS
from config.embedded.servers import embedded_servers

if TYPE_CHECKING:
    from anticheat.evaluation.evaluating import Evaluated


def evaluated(seed: int, players: int) -> "Evaluated":
    with ExitStack() as running:
        folder = running.enter_context(tempfile.TemporaryDirectory(prefix="rung-season-", ignore_cleanup_errors=True))
        for name in OF_OTHERS:
            os.environ.pop(name, None)
        servers = running.enter_context(embedded_servers(Path(folder)))
        os.environ |= {"DATABASE_URL": servers.database_url, "VALKEY_URL": servers.valkey_url}
        os.environ |= {"RUNG_HOME": folder, "SECRET_KEY": "of a house that stands for minutes, on loopback"}
        os.environ |= {"RUNG_LOG_LEVEL": "WARNING", "RUNG_DEMO": "0", "RUNG_SHARDS": "1"}
        return running.enter_context(apart())(_evaluated, seed, players)


def _evaluated(seed: int, players: int) -> "Evaluated":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    import django  # noqa: PLC0415 - the servers are known by now

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415 - after the settings

    from anticheat.evaluation.evaluating import checks_evaluate  # noqa: PLC0415

    call_command("migrate", interactive=False, verbosity=0)
    return checks_evaluate(seed=seed, players=players, progress=_show)


def _show(day: date, attempts: int, found: int) -> None:
    if sys.stderr.isatty():
        print(f"\r{day}: {attempts:,} attempts, {found:,} findings", end="", file=sys.stderr, flush=True)
