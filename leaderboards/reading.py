"""Questions to one board whose answers belong together: of the same marks, over one shard or many."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TypeVar

from leaderboards import ghosts
from leaderboards.boards import store
from leaderboards.boards.board import Board, Entry, Page, Position, Replaced
from leaderboards.errors import BoardsUnavailable
from leaderboards.ghosts import Ghost
from leaderboards.rules.instants import instant_of

T = TypeVar("T")
EMPTY = Page(0, 0, None, [])
Question = tuple[object, ...]  # a function and its arguments
_TRIES = 25


class _Moved(Exception):
    """The boards changed between two questions."""


def steady(board: Board, act: Callable[["Reading"], T]) -> T:
    """Again when the boards changed in between, so that ranks and version are of one moment."""
    for _ in range(_TRIES):
        try:
            reading = Reading(board)
            found = act(reading)
            reading.confirm()
        except _Moved:
            board = replace(board, fresh=True)
            continue
        except Replaced as replaced:
            board = replaced.board
            continue
        return found
    raise BoardsUnavailable("The board changes faster than it can be read.", retry_after=1)


class Reading:
    def __init__(self, board: Board) -> None:
        self.board = board
        self.answers: list[store.Answer] = []
        self.questions = 0
        self.ghost: Ghost | None = None
        if board.viewer is not None:
            self.ghost = self._ghost(ghosts.position(board))

    def _ghost(self, here: Position | None) -> Ghost | None:
        """None where the viewer has no score, or stands there for all: the boards are a moment behind bans."""
        if here is None:
            return None
        place, player = here
        key = place >> self.board.placing.bits
        questions: list[Question] = [("places", store.member(player))]
        if self.board.mode.ranking == "dense":
            questions.append(("keys_above", key - 1, key))
        places, *keys = self.ask_each(questions)
        if any(answer.rest[0][0] for answer in places):
            return None
        return Ghost(place, player, key, alone=all(one.rest[0][0] == one.rest[0][1] for some in keys for one in some))

    def confirm(self) -> None:
        """One question to several nodes may have been answered at several moments. A second, of the same marks, tells
        that it was not, unless replicas answered, each as late as it likes.
        """
        if (self.questions == 1 or self.board.by_replicas) and not self.board.is_still(self.answers):
            raise _Moved

    def ask(self, function: str, *args: object) -> list[store.Answer]:
        """Of each shard, and of the ghost as of one more."""
        return self.ask_each([(function, *args)])[0]

    def ask_each(self, questions: Sequence[Question]) -> list[list[store.Answer]]:
        """All of them in one trip."""
        found = self.board.read_each(questions) if questions else []
        for answers in found:
            if self.answers and [one.mark for one in answers] != [one.mark for one in self.answers]:
                raise _Moved
            self.answers = answers
        self.questions += bool(questions)
        if self.ghost is None:
            return found
        return [[*answers, self.ghost.answer(asked)] for asked, answers in zip(questions, found, strict=True)]

    def counts(self, *questions: Question) -> list[list[int]]:
        """For each question how many in all shards, for each that was asked for."""
        return [
            [sum(counts) for counts in zip(*(answer.rest[0] for answer in answers), strict=True)]
            for answers in self.ask_each(questions)
        ]

    def page(self, entries: list[Entry], *, total: int | None = None) -> Page:
        changed = max(answer.at for answer in self.answers)
        return Page(
            version=sum(answer.mark for answer in self.answers),
            total=sum(answer.members for answer in self.answers) + bool(self.ghost) if total is None else total,
            updated_at=instant_of(changed) if changed else None,
            entries=entries,
        )

    def entries(self, runs: Sequence[Sequence[Position]], before: Sequence[int] | None = None) -> list[list[Entry]]:
        """Runs of the board, ranked. `before`: how many stand before each, where that is known."""
        firsts = [run[0] for run in runs if run]
        before, greater = self._standing_before(firsts, before) if firsts else ([], [])
        bits, ranking = self.board.placing.bits, self.board.mode.ranking
        known = iter(zip(before, greater, strict=True))
        return [
            self.board.entries(run, ranks_of_run(ranking, [place >> bits for place, _ in run], *next(known)))
            if run
            else []
            for run in runs
        ]

    def _standing_before(
        self, firsts: Sequence[Position], before: Sequence[int] | None
    ) -> tuple[Sequence[int], Sequence[int]]:
        """How many stand before each, and how many of those are better and not only earlier."""
        bits, ranking = self.board.placing.bits, self.board.mode.ranking
        questions: list[Question] = []
        if before is None:
            questions.append(("before", *(one for at, who in firsts for one in (at, store.member(who)))))
        if ranking == "competition":
            questions.append(("above", *(place | (1 << bits) - 1 for place, _ in firsts)))
        elif ranking == "dense":
            questions.append(("keys_above", *(place >> bits for place, _ in firsts)))
        counts = self.counts(*questions)
        before = counts[0] if before is None else before
        return before, before if ranking == "unique" else counts[-1]


def ranks_of_run(ranking: str, keys: Sequence[int], before: int, greater: int) -> list[int]:
    """Of a run with these keys, before whose first entry so many stand, and so many that are greater."""
    if ranking == "unique":
        return list(range(before + 1, before + 1 + len(keys)))
    ranks, rank, last = list[int](), greater + 1, keys[0]
    for index, key in enumerate(keys):
        if key != last:  # all that stand before it are greater
            rank, last = (rank + 1 if ranking == "dense" else before + index + 1), key
        ranks.append(rank)
    return ranks


def merged(flat: Iterable[Sequence[bytes]]) -> list[Position]:
    """What shards answered with, in the board's order."""
    flat = list(flat)
    if len(flat) == 1:
        return [(place, player) for player, place in store.entries(flat[0])]  # it is in order
    found = sorted((-place, player) for some in flat for player, place in store.entries(some))
    return [(-negative, player) for negative, player in found]
