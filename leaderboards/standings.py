"""Standings in PostgreSQL: what the boards show. Kept by stamping, in stamping's own snapshot."""

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from zoneinfo import ZoneInfo

from django.db import connection
from django.utils.translation import gettext_noop

from config.sql import numbers, texts
from leaderboards import holding, log, outbox, placements
from leaderboards.effects import BoardChange
from leaderboards.folding import Standing
from leaderboards.holding import Held
from leaderboards.hot import is_hot
from leaderboards.models import Mode
from leaderboards.outbox import ScoreRow, Scores
from leaderboards.placements import NOWHERE, Listing, Placing
from leaderboards.rules import windows
from leaderboards.rules.aggregation import Told, fold
from leaderboards.rules.instants import instant_of
from leaderboards.rules.mode import PLAYERS_OWN

TOO_FAR = gettext_noop("The total would leave the range that the mode allows.")
_ROWS = 5000  # of the log, in memory at a time: of some players it has millions


class Row(NamedTuple):
    player: int
    window: str
    scope: str  # a submitted one, or "" for all that come from the player


@dataclass(frozen=True, slots=True)
class Pending:
    """What a stream has waiting. Scores of players who are told anew are in the log too: they are counted once."""

    scores: Sequence[Scores]
    placed: set[int]
    retold: set[int]


Fold = Callable[[Mode, Sequence[Scores], datetime], list[Standing]]
Review = Callable[[Mode, Sequence[Scores], datetime], None]


def tell(*, mode: Mode, waiting: Pending, now: datetime, fold: Fold, review: Review) -> list[BoardChange]:
    """Folds what is pending into the standings, and says what that does to the boards.

    `review` is shown what does not count any more, though nobody has judged it yet: it may count again.
    """
    retold, gone, scores = list[Standing](), list[Row](), waiting.scores
    if waiting.retold:  # without what has just come, which is judged and folded like all else, where it still counts
        fresh = {row.attempt for some in scores for row in some.rows if row.player in waiting.retold}
        retold, gone, counting = _retell(mode, waiting.retold, fresh)
        if lost := fresh - counting:
            review(mode, [outbox.only(lost, some) for some in scores], now)
            scores = [outbox.without(lost, some) for some in scores]
    changed = fold(mode, scores, now)
    corrected = waiting.placed | waiting.retold
    # whose standings stay as they are, stays where it is: what moves a player is a correction
    found = placements.placings(mode, {row[0] for row in changed} | corrected, now=now)
    placements.save(mode, {player: one.wanted for player, one in found.items() if one.is_off})
    moved = {player for player, one in found.items() if one.is_off and one.had is not None} | corrected
    if moved:
        changed = sorted({row[:3]: row for row in [*_load(mode, moved), *retold, *changed]}.values())
    there = {row[:3] for row in changed} if gone else ()
    return _gathered(mode, told=changed, gone=[row for row in gone if row not in there], found=found, now=now)


def too_far(mode: Mode, commits: Sequence[Scores]) -> list[tuple[ScoreRow, int]]:
    """The attempts that would take a total out of its range, told one by one, and when they arrived."""
    scores = [(row, some.arrived) for some in commits for row in some.rows]
    telling = _Telling(mode, _told(mode, {row.player for row, _ in scores}))
    return [(row, arrived) for row, arrived in scores if not telling.add(row, arrived)]


def _retell(mode: Mode, players: Collection[int], fresh: set[int]) -> tuple[list[Standing], list[Row], set[int]]:
    """What these players have now that the log is counted anew, without `fresh`, and what they have no more.

    And which of `fresh` the log would have counted.
    """
    before, (telling, counting) = _told(mode, players), _from_log(mode, players, fresh)
    gone = sorted(before.keys() - telling.changed.keys())
    _delete(mode, gone)
    return telling.save(), gone, counting


class _Telling:
    """Attempts folded one by one: the rows that change, and the attempts that would take a total too far."""

    def __init__(self, mode: Mode, before: Mapping[Row, Told]) -> None:
        self.mode, self.rules, self.zone = mode, mode.rules, windows.timezone_named(mode.timezone)
        self.before = before
        self.changed: dict[Row, Told] = {}
        self.beyond: list[tuple[int, int]] = []  # player, id in the log
        self.most = self.rules.most_total()

    def add(self, score: ScoreRow, arrived: int) -> bool:
        """Whether it counts."""
        told = Told(score.score, score.at, score.attempt, arrived)
        after: dict[Row, Told] = {}
        for row in _rows(score, self.zone):
            standing = self.changed.get(row) or self.before.get(row)
            folded = fold(self.rules, standing, told)
            if folded != standing:
                after[row] = folded
        if self.most is not None and any(abs(folded.score) > self.most for folded in after.values()):
            self.beyond.append((score.player, score.attempt))
            return False
        self.changed |= after
        return True

    def save(self) -> list[Standing]:
        holding.hold_back([Held(player, id_, log.State.QUARANTINED, [TOO_FAR]) for player, id_ in self.beyond])
        _save(self.mode, self.changed)
        return [(*row, told.score, told.at) for row, told in sorted(self.changed.items())]


def _rows(score: ScoreRow, zone: ZoneInfo) -> list[Row]:
    instant = instant_of(score.at)
    ids = [
        windows.window_at(kind, instant, zone).id for bit, kind in enumerate(windows.KINDS) if score.windows >> bit & 1
    ]
    scopes = ["", *(f"{name}:{value}" for name, value in score.dimensions.items())]
    return [Row(score.player, window, scope) for window in ids for scope in scopes]


def _gathered(
    mode: Mode, *, told: Iterable[Standing], gone: Iterable[Row], found: Mapping[int, Placing], now: datetime
) -> list[BoardChange]:
    """Those who are listed alike, together: what one does in a scope all do. In the order of players, as they come."""
    groups: dict[tuple[str, str, Placing], tuple[list[int], list[int], list[int]]] = {}
    for player, window, scope, score, at in told:
        alike = window, scope, found[player]
        group = groups.get(alike)
        if group is None:
            group = groups[alike] = [], [], []
        group[0].append(player)
        group[1].append(score)
        group[2].append(at)
    changes, scopes = list[BoardChange](), _Scopes(mode)
    for (window, scope, placing), (players, scores, ats) in groups.items():
        if is_hot(window, mode.timezone, now):
            listed, before = scopes.of(scope, placing.wanted), scopes.of(scope, placing.had or NOWHERE)
            changes.append(BoardChange(window, listed, players, scores, ats, []))
            changes.append(BoardChange(window, [left for left in before if left not in listed], [], [], [], players))
            changes.append(BoardChange(window, scopes.unseen(scope, placing.wanted), [], [], [], []))
    for player, window, scope in gone:
        changes.append(BoardChange(window, scopes.of(scope, found[player].had or NOWHERE), [], [], [], [player]))
        changes.append(BoardChange(window, scopes.unseen(scope, found[player].wanted), [], [], [], []))
    return [change for change in changes if change.scopes]


class _Scopes:
    """The scopes in which a standing is shown, by where its player is listed."""

    def __init__(self, mode: Mode) -> None:
        self.own = [name for name in PLAYERS_OWN if name in mode.dimensions]

    def of(self, scope: str, listing: Listing) -> list[str]:
        if scope or not listing.listed:
            return [scope] if listing.listed else []
        return ["global", *(f"{name}:{getattr(listing, name)}" for name in self.own if getattr(listing, name))]

    def unseen(self, scope: str, listing: Listing) -> list[str]:
        """Those in which it would be, were it not for what hides its player: there it may be shown to itself."""
        return [] if listing.listed else self.of(scope, listing._replace(listed=True))


def _load(mode: Mode, players: Collection[int]) -> list[Standing]:
    if not players:
        return []
    return [(*row, told.score, told.at) for row, told in _told(mode, players).items()]


def _told(mode: Mode, players: Iterable[int]) -> dict[Row, Told]:
    """All rows of these players."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            SELECT player_id, "window", scope, score, (extract(epoch FROM achieved_at) * 1000000)::bigint, attempt,
                (extract(epoch FROM received_at) * 1000000)::bigint
            FROM leaderboards_standing WHERE mode_id = %s AND player_id = ANY(%s::bigint[])
            """,
            [mode.pk, numbers(players)],
        )
        return {Row(*row[:3]): Told(*row[3:]) for row in cursor.fetchall()}


def _save(mode: Mode, rows: Mapping[Row, Told]) -> None:
    if not rows:
        return
    ordered = sorted(rows)
    columns = [numbers(row.player for row in ordered), texts(row.window for row in ordered)]
    columns += [texts(row.scope for row in ordered)]
    columns += [numbers(rows[row][index] for row in ordered) for index in range(4)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO leaderboards_standing
                (mode_id, player_id, "window", scope, score, achieved_at, attempt, received_at)
            SELECT %s, player, win, scope, score, to_timestamp(0) + at * interval '1 microsecond', attempt,
                to_timestamp(0) + received * interval '1 microsecond'
            FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
                AS i (player, win, scope, score, at, attempt, received)
            ON CONFLICT (mode_id, player_id, "window", scope) DO UPDATE
            SET score = EXCLUDED.score, achieved_at = EXCLUDED.achieved_at, attempt = EXCLUDED.attempt,
                received_at = EXCLUDED.received_at
            """,
            [mode.pk, *columns],
        )


def _delete(mode: Mode, rows: Iterable[Row]) -> None:
    ordered = sorted(rows)
    with connection.cursor() as cursor:
        cursor.execute(
            """
            DELETE FROM leaderboards_standing s
            USING unnest(%s::bigint[], %s::text[], %s::text[]) AS i (player, win, scope)
            WHERE s.mode_id = %s AND s.player_id = i.player AND s."window" = i.win AND s.scope = i.scope
            """,
            [*([row[index] for row in ordered] for index in range(3)), mode.pk],
        )


def counted(mode: Mode, players: Iterable[int], *, without: Collection[int] = ()) -> dict[Row, Told]:
    """What players would have, were these attempts of theirs not in the log. Nothing is changed.

    Part of the caller's transaction, which may bound how long that takes.
    """
    return _from_log(mode, players, set(without))[0].changed


def _from_log(mode: Mode, players: Iterable[int], fresh: set[int]) -> tuple[_Telling, set[int]]:
    """What these players' attempts amount to, as far back as the log goes; and which of `fresh` are among them."""
    telling, counting = _Telling(mode, {}), set[int]()
    with connection.chunked_cursor() as cursor:
        cursor.execute(
            """
            SELECT player_id, score, (extract(epoch FROM achieved_at) * 1000000)::bigint, id, windows, dimensions,
                (extract(epoch FROM received_at) * 1000000)::bigint
            FROM score_attempts WHERE player_id = ANY(%s) AND mode_id = %s AND state = %s ORDER BY received_at, id
            """,
            [list(players), mode.pk, log.State.ACCEPTED],
        )
        while rows := cursor.fetchmany(_ROWS):
            for player, score, at, attempt, mask, dimensions, received in rows:
                if attempt in fresh:
                    counting.add(attempt)
                else:
                    telling.add(ScoreRow(player, score, at, attempt, mask, json.loads(dimensions or "{}")), received)
    return telling, counting
