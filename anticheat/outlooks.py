"""What an act would do, as operators are shown it: how many attempts, which boards, who moves into the first ten."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from typing import NamedTuple

from anticheat import selections
from anticheat.models import Rollback
from anticheat.selections import TooMuch
from anticheat.whatif import DEPTHS, Compared, tops_after
from config.errors import Unavailable
from leaderboards import partitions, ranking, standings
from leaderboards.boards.board import Board, Entry, board_named
from leaderboards.models import Mode, Standing
from leaderboards.rules import encoding
from players.models import Player

MOST_MODES = 5  # whose boards are shown
_MOST = 100_000  # attempts of those


class Line(NamedTuple):
    rank: int
    name: str
    player: int
    score: Decimal | int
    is_new: bool
    is_concerned: bool


class Top(NamedTuple):
    """The first of one board, side by side."""

    mode: str
    window: str
    before: list[Line]
    after: list[Line]

    @property
    def newcomers(self) -> list[str]:
        return [line.name for line in self.after if line.is_new]

    @property
    def is_changed(self) -> bool:
        return [line[:4] for line in self.before] != [line[:4] for line in self.after]


@dataclass(frozen=True, slots=True)
class Outlook:
    """`attempts` and `players`: that it is about, None where they are too many; `boards`: where one stands now."""

    attempts: int | None = None
    counting: int | None = None
    players: int | None = None
    boards: int | None = None
    log_since: date | None = None
    tops: list[Top] = field(default_factory=list)

    @property
    def newcomers(self) -> list[str]:
        return list(dict.fromkeys(name for top in self.tops for name in top.newcomers))


def outlook_of_ban(player: Player, modes: Sequence[Mode], *, now: datetime) -> Outlook:
    """Of any kind: the player leaves the boards of these modes, and the ranks close up."""
    tops = []
    for mode in modes[:MOST_MODES]:
        tops += _compared(mode, {player.pk}, {}, now)
    return Outlook(players=1, boards=_boards_of(player, modes), tops=_named(tops, {player.pk}))


def outlook_of_attempts(player: Player, mode: Mode, ids: Collection[int], *, now: datetime) -> Outlook:
    """These attempts of a player count no more."""
    tops = _compared(mode, set(), {player.pk: set(ids)}, now) if ids else []
    return Outlook(
        attempts=len(ids),
        players=1,
        boards=_boards_of(player, [mode]),
        log_since=partitions.first_day(),
        tops=_named(tops, {player.pk}),
    )


def outlook_of_rollback(one: Rollback, *, now: datetime) -> Outlook:
    try:
        with selections.patience():
            extent = selections.extent(one)
    except TooMuch:
        return Outlook()
    modes = [one.mode] if one.mode else list(Mode.objects.filter(game=one.game_id).order_by("slug")[:MOST_MODES])
    tops, concerned = list[Compared](), set[int]()
    for mode in modes:
        found, leaving = _after(one, mode, now)
        tops += found
        concerned |= leaving
    boards = _boards_of(one.player, modes) if one.player else None
    return Outlook(extent.attempts, extent.counting, extent.players, boards, extent.log_since, _named(tops, concerned))


def _after(one: Rollback, mode: Mode, now: datetime) -> tuple[list[Compared], set[int]]:
    """The tops of a mode's boards, and who leaves: further down than it takes to fill the first ten nobody is asked."""
    for deep in DEPTHS:
        seen = {one.player_id} if one.player_id else _seen(mode, deep, now)
        try:
            with selections.patience():
                found = selections.covered(one, most=_MOST, players=seen)
        except TooMuch:
            break
        leaving = {player: ids for (of, player), ids in found.items() if of == mode.pk}
        tops = _compared(mode, set(), leaving, now, depths=[deep]) if leaving else []
        if all(top.whole for top in tops):
            return tops, set(leaving)
    return [], set()


def _compared(
    mode: Mode, without: set[int], leaving: dict[int, set[int]], now: datetime, *, depths: Sequence[int] = ()
) -> list[Compared]:
    """`leaving`: of whom which attempts count no more."""
    gone = set().union(*leaving.values()) if leaving else set()
    try:
        with selections.patience():
            instead = standings.counted(mode, leaving, without=gone) if leaving else {}
        return tops_after(mode=mode, without=without | leaving.keys(), instead=instead, depths=depths, now=now)
    except (Unavailable, TooMuch):  # as while boards are made again; what is decided does not depend on it
        return []


def _seen(mode: Mode, deep: int, now: datetime) -> set[int]:
    seen: set[int] = set()
    for kind in mode.windows:
        board = board_named(mode=mode, window=kind, scope="global", at=now)
        try:
            seen |= {entry.player for entry in ranking.page(board, offset=0, limit=deep).entries}
        except Unavailable:
            continue
    return seen


def _boards_of(player: Player, modes: Iterable[Mode]) -> int:
    """A standing for all that come from the player is one on the global board and on those of its places."""
    found = Standing.objects.filter(player=player, mode__in=[mode.pk for mode in modes]).values_list("mode", "scope")
    own = {
        mode.pk: 1 + sum(bool(name in mode.dimensions and getattr(player, name)) for name in ("region", "country"))
        for mode in modes
    }
    return sum(1 if scope else own[mode] for mode, scope in found)


def _named(tops: Iterable[Compared], concerned: Collection[int]) -> list[Top]:
    tops = list(tops)
    players = {entry.player for top in tops for entry in (*top.before, *top.after)}
    names = dict(Player.objects.filter(pk__in=players).values_list("pk", "display_name"))
    return [
        Top(
            top.board.mode.title,
            top.board.window.kind,
            _lines(top.board, top.before, names, set(), concerned),
            _lines(top.board, top.after, names, {entry.player for entry in top.newcomers}, concerned),
        )
        for top in tops
    ]


def _lines(
    board: Board, entries: Iterable[Entry], names: dict[int, str], new: Collection[int], concerned: Collection[int]
) -> list[Line]:
    return [
        Line(
            one.rank,
            names.get(one.player) or f"player {one.player}",
            one.player,
            encoding.unscale(one.score, board.mode.decimals),
            one.player in new,
            one.player in concerned,
        )
        for one in entries
    ]
