"""A simulation made ready: the game's own players, as many more as are wanted, and newcomers on the way."""

from random import Random

from django.utils import timezone

from anticheat.checks.replay import wanted
from anticheat.simulation.actors import Actor, Known, actors
from anticheat.simulation.crowd import Crowd
from anticheat.simulation.scale import scale_of
from anticheat.simulation.stream import Stream
from leaderboards import partitions
from leaderboards.demo.people import demo_player
from leaderboards.models import Mode
from players.lookups import GameRecord
from players.models import Player

RUN = 220.0  # seconds of an ordinary run, with the pause before it: nobody hurries where so many play for each a second
NEWCOMERS = 5  # at most one for so many that were there
_PREFIX = "sim-"


def obstacle(mode: Mode) -> str:
    """Why nothing can be simulated there, and what to do; empty where nothing is in the way."""
    if not mode.active:
        return f"{mode} is not active: it takes no scores. Switch it on in the admin, or with apply_config."
    if wanted(mode).want == "always":
        return (
            f"Scores of {mode} wait for their replays, which have to be played."
            " For the demo's: manage.py play_dodge. Or simulate another mode."
        )
    return ""


class Newcomers:
    """Those who join meanwhile: named when they sit down, registered before their first score is sent."""

    def __init__(self, *, game: int, first: int, most: int, seed: int) -> None:
        self._game, self._number, self._last, self._seed = game, first, first + most, seed
        self._chance, self._new = Random(f"{seed} newcomers"), list[Player]()

    def next(self) -> Actor | None:
        if self._number >= self._last:
            return None
        self._number += 1
        return Actor(self.known(), seed=self._seed, number=self._number)

    def known(self) -> Known:
        player_id = f"{_PREFIX}{self._number}"
        player = demo_player(self._chance, game=self._game, player_id=player_id, now=timezone.now())
        self._new.append(player)
        return Known(player_id, player.country, player.region)

    def register(self) -> None:
        new, self._new = self._new, []
        Player.objects.bulk_create(new, batch_size=1000, ignore_conflicts=True)

    def many(self, count: int) -> list[Known]:
        found = []
        for _ in range(count):
            self._number += 1
            found.append(self.known())
        self._last += count
        return found


def simulation_make(*, game: GameRecord, mode: Mode, players: int, rate: int, seed: int) -> tuple[Stream, Newcomers]:
    rows = Player.objects.filter(game_id=game.pk, erased_at__isnull=True).order_by("pk")[:players]
    there = [Known(str(one.player_id), one.country, one.region) for one in rows]
    before = Player.objects.filter(game_id=game.pk, player_id__startswith=_PREFIX).count()
    newcomers = Newcomers(game=game.pk, first=before, most=max(1, players // NEWCOMERS), seed=seed)
    there += newcomers.many(players - len(there))
    newcomers.register()
    partitions.make_ahead(partitions.today())
    chance = Random(f"{seed} {mode.slug}")
    crowd = Crowd(actors(there, seed=seed), at_once=int(rate * RUN), chance=chance, newcomer=newcomers.next)
    return Stream(game=game, mode=mode, crowd=crowd, scale=scale_of(mode), chance=chance), newcomers
