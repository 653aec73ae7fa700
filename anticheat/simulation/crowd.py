"""The crowd: who is at it, and whose run ends next. Time here is the season's, and passes as fast as it has to."""

import heapq
from collections.abc import Callable, Sequence
from itertools import accumulate, count
from random import Random
from typing import NamedTuple

from anticheat.season.play import Play
from anticheat.simulation.actors import Actor

_NEWCOMERS = 0.02  # of sittings, each of somebody who was never there before
_TRIES = 20  # to find somebody who is not at it already
_PAUSE = 60.0  # seconds, on average, until another sits down


class Turn(NamedTuple):
    """A run that has just ended."""

    at: float  # seconds of the crowd's own time
    actor: Actor
    play: Play


class Crowd:
    """`at_once` play at the same time; the more there are, the less anybody has to hurry."""

    def __init__(
        self, people: Sequence[Actor], *, at_once: int, chance: Random, newcomer: Callable[[], Actor | None]
    ) -> None:
        self._people, self._chance, self._newcomer = list(people), chance, newcomer
        self._order, self._busy = count(), set[str]()
        self._due: list[tuple[float, int, Actor, list[Play]]] = []
        self._hour, self._weights, self._at = -1, list[float](), 0.0
        self._at_once = min(at_once, max(1, len(people) // 2))

    def turns(self, most: int, *, hour: int) -> list[Turn]:
        """The next so many. `hour` of the day in UTC: who is asleep then hardly plays."""
        if hour != self._hour:
            self._hour = hour
            self._weigh()
        while len(self._due) < self._at_once:
            self._sit_down(self._at + self._chance.uniform(0, 4 * _PAUSE))
        return [self._turn() for _ in range(most)]

    def _turn(self) -> Turn:
        self._at, _, actor, plays = heapq.heappop(self._due)
        play, *rest = plays
        if rest:
            self._expect(self._at + rest[0].achieved_at - play.achieved_at, actor, rest)
        else:
            self._busy.discard(actor.player.player_id)
            self._sit_down(self._at + self._chance.expovariate(1 / _PAUSE))
        return Turn(self._at, actor, play)

    def _sit_down(self, at: float) -> None:
        actor = self._picked()
        self._busy.add(actor.player.player_id)
        self._expect(at, actor, actor.sitting())

    def _picked(self) -> Actor:
        if self._chance.random() < _NEWCOMERS and (new := self._newcomer()) is not None:
            self._people.append(new)
            self._weights.append(self._weights[-1] + self._weight(new))
            return new
        for _ in range(_TRIES):
            actor = self._chance.choices(self._people, cum_weights=self._weights)[0]
            if actor.player.player_id not in self._busy:
                break
        return actor

    def _expect(self, at: float, actor: Actor, plays: list[Play]) -> None:
        heapq.heappush(self._due, (at, next(self._order), actor, plays))

    def _weigh(self) -> None:
        self._weights = list(accumulate(map(self._weight, self._people)))

    def _weight(self, one: Actor) -> float:
        """Who cheats is at it more than others."""
        return (3 if one.kind else 1) * one.person.is_awake(self._hour) * one.person.sessions
