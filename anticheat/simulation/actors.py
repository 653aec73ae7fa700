"""Who plays: a person of the season behind each player, with the month of play that it has in front of it."""

from collections import deque
from random import Random
from typing import NamedTuple

from anticheat.season.cheating import KINDS
from anticheat.season.people import COUNTRIES, Person, person_of
from anticheat.season.play import Play, expected, honest

CHEATERS = 100  # one of so many cheats, and of each kind somebody does
_BREAK = 1800.0  # seconds without a run end a sitting
# whose hours the season does not know keeps those of a neighbour
_NEIGHBOURS = {"na": "US", "sa": "BR", "eu": "DE", "ap": "ID", "oc": "AU", "af": "GB", "me": "TR"}


class Known(NamedTuple):
    """A player of the game."""

    player_id: str
    country: str
    region: str


class Actor:
    """One player's play, sitting by sitting: it learns while it lasts, and goes on as good as it has become."""

    def __init__(self, player: Known, *, seed: int, number: int, kind: str = "") -> None:
        self.player, self.kind = player, kind
        self._chance = Random(f"{seed} {player.player_id}")
        self.person = person_of(self._chance, number)
        self.person.country = _country(player, self.person)
        self._plays: deque[Play] = deque()
        self._runs = 0
        self._home: Play | None = None

    def sitting(self) -> list[Play]:
        """One run at least; runs that follow each other closely."""
        while not self._plays:
            self._plan()
        found = [self._plays.popleft()]
        while self._plays and self._plays[0].achieved_at - found[-1].achieved_at < _BREAK:
            found.append(self._plays.popleft())
        self._runs += len(found)
        return [self._at_home(play) for play in found]

    def _at_home(self, play: Play) -> Play:
        """A month passes in minutes, and who moves about in it would seem to be in two places at once. Who shares an
        account is.
        """
        self._home = self._home or play
        return play if self.kind == "share" else play._replace(device=self._home.device, address=self._home.address)

    def _plan(self) -> None:
        person = self.person
        person.skill, person.growth = expected(person, self._runs), person.growth / (2 if self._runs else 1)
        person.joined, self._runs = 0.0, 0
        play = KINDS.get(self.kind, honest)
        self._plays.extend(sorted(play(self._chance, person)))


def _country(player: Known, person: Person) -> str:
    if player.country in COUNTRIES:
        return player.country
    return _NEIGHBOURS.get(player.region, person.country)


def actors(players: list[Known], *, seed: int) -> list[Actor]:
    """Of these, the same cheat in the same way for the same seed."""
    chance, kinds = Random(f"{seed} cheaters"), list(KINDS)
    many = max(min(len(kinds), len(players) // 2), len(players) // CHEATERS)
    cheats = {number: kinds[n % len(kinds)] for n, number in enumerate(chance.sample(range(len(players)), many))}
    kinds_of = [cheats.get(number, "") for number in range(len(players))]
    return [Actor(player, seed=seed, number=n + 1, kind=kinds_of[n]) for n, player in enumerate(players)]
