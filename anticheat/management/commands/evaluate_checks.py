"""How good the checks are: a month of invented play in which it is known who cheats, judged on servers of its own."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from anticheat.season.season import PLAYERS, SEED
from bench.season import evaluated


class Command(BaseCommand):
    help = __doc__
    requires_system_checks = ()

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--players", type=int, default=PLAYERS, metavar="N", help="how many play (%(default)s)")
        parser.add_argument("--seed", type=int, default=SEED, help="another season with another one (%(default)s)")

    def handle(self, *args: Any, **options: Any) -> None:
        from anticheat.evaluation.scoring import CAUGHT, table  # noqa: PLC0415 - beside what starts the servers

        found = evaluated(options["seed"], options["players"])
        self.stdout.write(
            f"{found.players:,} players, {found.attempts:,} attempts, seed {found.seed}; caught: a case with a risk of"
            f" {CAUGHT} or more. Loaded in {found.load_seconds:.0f} s, judged in {found.judge_seconds:.0f} s."
        )
        self.stdout.write(table(found.scores))
