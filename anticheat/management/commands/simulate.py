"""Plays: a believable stream of scores into a running Rung, with people who learn, have their hours, come and go, and a
few who cheat. Ctrl-C ends it.
"""

import secrets
import sys
from contextlib import suppress
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from anticheat.models import Case
from anticheat.simulation.leaders import Leaders
from anticheat.simulation.making import obstacle, simulation_make
from anticheat.simulation.stream import Refused, Tally
from config.embedded.stopping import Stopping, StopSwitch
from leaderboards.models import Mode
from players import lookups
from players.lookups import GameRecord
from players.models import Game, Player

MOST_RATE, MOST_SECONDS, MOST_PLAYERS = 5000, 86_400, 100_000
_FEWEST, _USUAL = 1000, 10_000  # players, where nobody says how many


class Command(BaseCommand):
    help = __doc__

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("game")
        parser.add_argument("mode")
        parser.add_argument("--rate", type=int, required=True, help=f"scores a second, 1 to {MOST_RATE:,}")
        parser.add_argument("--seconds", type=int, required=True, help=f"how long, 1 to {MOST_SECONDS:,}")
        parser.add_argument(
            "--players", type=int, help=f"how many, 10 to {MOST_PLAYERS:,} (the game's own, 1,000 at least)"
        )
        parser.add_argument("--seed", type=int, help="the same people, sittings and cheaters for the same one")

    def handle(self, *args: Any, **options: Any) -> None:
        _within(options)
        game, mode = _game(options["game"]), _mode(options["game"], options["mode"])
        if why := obstacle(mode):
            raise CommandError(why)
        seed = secrets.randbelow(10**6) if options["seed"] is None else options["seed"]
        players = options["players"] or _usual(game)
        stream, newcomers = simulation_make(game=game, mode=mode, players=players, rate=options["rate"], seed=seed)
        leaders, began, stop = Leaders(mode), timezone.now(), StopSwitch()
        rate, seconds = options["rate"], options["seconds"]
        try:
            with stop.installed(), suppress(Stopping):
                for tally in stream.run(rate=rate, seconds=seconds, before=newcomers.register, pause=stop.pause):
                    leaders.look()
                    self._show(tally, leaders, seconds)
        except Refused as error:
            raise CommandError(str(error)) from None
        self._show(None)
        cases = Case.objects.filter(mode=mode, updated_at__gte=began).count()
        self.stdout.write(_summary(stream.tally, leaders, cases, seed))

    def _show(self, tally: Tally | None, leaders: Leaders | None = None, seconds: int = 0) -> None:
        """One line that is written over, where somebody looks."""
        if not sys.stderr.isatty():
            return
        if tally is None or leaders is None:
            self.stderr.write("\r\x1b[K", ending="")
            return
        line = f"{tally.seconds:,.0f} of {seconds:,} s   {tally.sent:,} scores, {tally.rate:,.0f} a second"
        line += f"   {len(tally.players):,} players   {leaders.changes} new leaders   first: {leaders.now}"
        self.stderr.write(f"\r{line[:150]}\x1b[K", ending="")


def _within(options: dict[str, Any]) -> None:
    bounds = {"rate": (1, MOST_RATE), "seconds": (1, MOST_SECONDS), "players": (10, MOST_PLAYERS)}
    for name, (least, most) in bounds.items():
        if options[name] is not None and not least <= options[name] <= most:
            raise CommandError(f"--{name} is {least:,} to {most:,}.")


def _game(slug: str) -> GameRecord:
    found = lookups.game(slug)
    if found is None:
        there = ", ".join(Game.objects.order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(f"There is no game {slug!r} here. There are: {there or 'none yet: see apply_config'}.")
    return found


def _mode(game: str, slug: str) -> Mode:
    found = Mode.objects.filter(game__slug=game, slug=slug).select_related("game").first()
    if found is None:
        there = ", ".join(Mode.objects.filter(game__slug=game).order_by("slug").values_list("slug", flat=True)[:20])
        raise CommandError(f"{game} has no mode {slug!r}. There are: {there or 'none yet: see apply_config'}.")
    return found


def _usual(game: GameRecord) -> int:
    there = Player.objects.filter(game_id=game.pk, erased_at__isnull=True)[:_USUAL].count()
    return max(_FEWEST, there)


def _summary(tally: Tally, leaders: Leaders, cases: int, seed: int) -> str:
    told = f"Sent {tally.sent:,} scores of {len(tally.players):,} players in {tally.seconds:,.0f} s"
    told += f" ({tally.rate:,.1f} a second)."
    if tally.refused:
        told += f" Refused: {', '.join(f'{many:,} {code}' for code, many in tally.refused.most_common())}."
    if tally.cheaters:
        kinds = ", ".join(sorted(set(tally.cheaters.values())))
        told += f" {len(tally.cheaters):,} of them cheat ({kinds}); {cases:,} cases were opened or grew."
    if leaders.now:
        told += f" {leaders.changes:,} new leaders of {leaders.window}; now {leaders.now}."
    return f"{told} The same people again: --seed {seed}."
