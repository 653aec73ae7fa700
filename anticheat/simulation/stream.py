"""The stream: batches a few times a second, through the same service as the API, as a game's own server sends them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random
from uuid import uuid4

from django.utils import timezone

from anticheat.season.play import build_of
from anticheat.simulation.crowd import Crowd, Turn
from anticheat.simulation.scale import Scale
from config.errors import DomainError
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import ClientInfo, Submission
from players.access import Caller, Kind
from players.lookups import GameRecord
from players.scopes import Scope

Pause = Callable[[float], object]  # so many seconds

EVERY = 0.25  # seconds
_DEBT = 1.0  # seconds of scores that are made up for; what a machine is further behind it will not catch up with
_PATIENCE = 4  # batches of which nothing at all was taken


class Refused(Exception):
    """Nothing is taken any more."""


@dataclass(slots=True)
class Tally:
    """What was sent so far."""

    began: float
    seconds: float = 0.0
    sent: int = 0
    players: set[str] = field(default_factory=set)
    cheaters: dict[str, str] = field(default_factory=dict)
    refused: Counter[str] = field(default_factory=Counter)

    @property
    def rate(self) -> float:
        return self.sent / self.seconds if self.seconds else 0.0


class Stream:
    def __init__(self, *, game: GameRecord, mode: Mode, crowd: Crowd, scale: Scale, chance: Random) -> None:
        self.game, self.mode, self._crowd, self._scale, self._chance = game, mode, crowd, scale, chance
        self._caller = Caller(Kind.KEY, game=game.slug, scopes=frozenset({Scope.SUBMIT}))
        self.tally = Tally(time.monotonic())
        self._deaf = 0

    def run(self, *, rate: int, seconds: float, before: Callable[[], None], pause: Pause) -> Iterator[Tally]:
        """A tally after each batch. `before`: what is done before each is sent."""
        tally, asked = self.tally, 0
        while tally.seconds < seconds:
            asked = max(asked, int(rate * (tally.seconds - _DEBT)))
            due = int(rate * min(tally.seconds + EVERY, seconds)) - asked
            turns = self._crowd.turns(due, hour=timezone.now().hour)
            before()
            self._send(turns, timezone.now())
            asked += due
            yield tally
            pause(max(0.0, min(seconds, tally.seconds + EVERY) - (time.monotonic() - tally.began)))
            tally.seconds = time.monotonic() - tally.began

    def _send(self, turns: Sequence[Turn], now: datetime) -> None:
        if not turns:
            return
        first, last = turns[0].at, turns[-1].at
        hurry = EVERY / max(EVERY, last - first)  # the last of them ended just now
        ended = [now - timedelta(seconds=(last - turn.at) * hurry) for turn in turns]
        items = [Item(self.mode, self._submission(turn, at)) for turn, at in zip(turns, ended, strict=True)]
        outcomes = scores_submit(game=self.game, caller=self._caller, items=items)
        for turn, outcome in zip(turns, outcomes, strict=True):
            self._note(turn, outcome if isinstance(outcome, DomainError) else None)
        self._deaf = self._deaf + 1 if all(isinstance(one, DomainError) for one in outcomes) else 0
        if self._deaf >= _PATIENCE:
            raise Refused(f"Nothing that is sent is taken: {', '.join(self.tally.refused)}.")

    def _note(self, turn: Turn, refusal: DomainError | None) -> None:
        player = turn.actor.player.player_id
        if refusal is not None:
            self.tally.refused[refusal.code] += 1
            return
        self.tally.sent += 1
        self.tally.players.add(player)
        if turn.actor.kind:
            self.tally.cheaters[player] = turn.actor.kind

    def _submission(self, turn: Turn, achieved: datetime) -> Submission:
        play, person = turn.play, turn.actor.person
        dimensions = self._scale.dimensions(self._chance)
        return Submission(
            player_id=turn.actor.player.player_id,
            attempt_id=uuid4(),
            score=self._scale.score(play.score, dimensions),
            achieved_at=achieved,
            dimensions=dimensions,
            client=ClientInfo(
                address=play.address,
                device=play.device,
                session_id=f"{turn.actor.player.player_id}-{play.session}",
                platform=person.platform,
                build=build_of(play.achieved_at),
            ),
        )
