"""What checks found, gathered into cases: one for each player and mode. In the transaction that logs or stamps it."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from django.db import connection

from anticheat.checks.risk import innocence
from anticheat.models import Case
from config import clock
from config.errors import Unavailable
from config.sql import numbers, texts
from leaderboards.boards.board import Board, longest_board
from leaderboards.histograms import histograms
from leaderboards.models import Mode, Standing
from leaderboards.verdicts import Found, Weight

MOST = 200  # findings of a case each time that it opens: what more would say nobody reads
_LONGEST_REASON, _LONGEST_NAME = 500, 32
_Subject = tuple[int, int]  # mode, player


def findings_record(found: Sequence[Found]) -> None:
    """Each finding once, however often it is found; what is new opens its case, or opens it again.

    Also what is not kept: a full case hears of it all the same, and one that opens again has room again. A few
    statements, however many there are. Cases are locked in order: two that record at once take turns.
    """
    by_subject: dict[_Subject, list[Found]] = {}
    for one in found:
        by_subject.setdefault((one.mode.pk, one.player), []).append(one)
    cases = _cases({subject: by_subject[subject] for subject in sorted(by_subject)})
    new = _inserted([(cases[one.mode.pk, one.player], one) for one in found])
    if new:
        ranks = _ranks({one.mode.pk: one.mode for one in found}, by_subject)
        _update({case: (new[case], ranks[subject]) for subject, case in cases.items() if case in new})
        _trim(new)


def _cases(by_subject: Mapping[_Subject, Sequence[Found]]) -> dict[_Subject, int]:
    """The ids of their cases, made where there were none, and locked."""
    columns = [numbers(some[0].mode.game_id for some in by_subject.values())]
    columns += [numbers(column) for column in zip(*by_subject, strict=True)]
    with connection.cursor() as cursor:
        cursor.execute(
            """
            INSERT INTO anticheat_case
                (game_id, mode_id, player_id, state, risk, priority, note, opened_at, updated_at)
            SELECT game, mode, player, %s, 0, 0, '', now(), now()
            FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[]) WITH ORDINALITY AS i (game, mode, player, number)
            ORDER BY number
            ON CONFLICT (mode_id, player_id) DO UPDATE SET game_id = EXCLUDED.game_id
            RETURNING mode_id, player_id, id
            """,
            [Case.State.OPEN, *columns],
        )
        return {(mode, player): case for mode, player, case in cursor.fetchall()}


class _New(NamedTuple):
    since: str  # when the first was found
    risks: list[float]


def _inserted(found: Sequence[tuple[int, Found]]) -> dict[int, _New]:
    """Those that are new, by case: the heaviest, as many as a case can keep."""
    columns = [
        numbers(case for case, _ in found),
        numbers(one.attempt for _, one in found),
        texts(str(one.attempt_id) for _, one in found),
        texts(one.received_at.isoformat() for _, one in found),
        numbers(one.score for _, one in found),
        texts(one.verdict.check[:_LONGEST_NAME] for _, one in found),
        texts(one.verdict.weight.name.lower() for _, one in found),
        numbers(one.verdict.weight.value for _, one in found),
        numbers(str(float(one.verdict.risk)) for _, one in found),
        texts(one.verdict.reason[:_LONGEST_REASON] for _, one in found),
        texts(json.dumps(dict(one.verdict.details)) for _, one in found),
    ]
    new: dict[int, _New] = {}
    with connection.cursor() as cursor:
        cursor.execute(_INSERT, [*columns, MOST])
        for case, risk, at in cursor.fetchall():
            new.setdefault(case, _New(at.isoformat(), [])).risks.append(risk)
    return new


_INSERT = """
INSERT INTO anticheat_finding
    (case_id, attempt, attempt_id, received_at, score, check_name, verdict, risk, reason, details, found_at)
SELECT case_id, attempt, attempt_id, received, score, check_name, verdict, risk, reason, details, statement_timestamp()
FROM (
    SELECT *, row_number() OVER (PARTITION BY case_id ORDER BY weight DESC, risk DESC, attempt DESC) AS number
    FROM unnest(%s::bigint[], %s::bigint[], %s::uuid[], %s::timestamptz[], %s::bigint[], %s::text[], %s::text[],
        %s::int[], %s::float8[], %s::text[], %s::jsonb[])
        AS i (case_id, attempt, attempt_id, received, score, check_name, verdict, weight, risk, reason, details)
    WHERE NOT EXISTS (SELECT FROM anticheat_finding f WHERE f.attempt = i.attempt AND f.check_name = i.check_name)
) i
WHERE number <= %s
ORDER BY attempt, check_name
ON CONFLICT (attempt, check_name) DO NOTHING
RETURNING case_id, risk, found_at
"""


def _ranks(modes: Mapping[int, Mode], by_subject: Mapping[_Subject, Sequence[Found]]) -> dict[_Subject, int | None]:
    """About the best rank that scores of theirs have, or would have; None where the boards do not answer."""
    found: dict[_Subject, int | None] = dict.fromkeys(by_subject)
    for pk, mode in modes.items():
        board = longest_board(mode, at=clock.now())
        try:
            histogram = histograms.of(board)
        except Unavailable:
            continue
        own = {subject: some for subject, some in by_subject.items() if subject[0] == pk}
        before = _totals(board, [player for _, player in own]) if mode.aggregation == "sum" else {}
        for subject, some in own.items():
            stands = before.get(subject[1])
            found[subject] = histogram.rank(max(board.placing.key(_reached(one, stands)) for one in some))
    return found


class _Total(NamedTuple):
    score: int
    last: int  # of the attempts in it


def _totals(board: Board, players: Sequence[int]) -> dict[int, _Total]:
    found = Standing.objects.filter(mode=board.mode, player__in=players, window=board.window.id, scope="")
    return {player: _Total(*row) for player, *row in found.values_list("player_id", "score", "attempt")}


def _reached(one: Found, before: _Total | None) -> int:
    """What its player has with it. What is only flagged may be in the total already."""
    if before is None:
        return one.score
    counted = one.verdict.weight is Weight.FLAG and one.attempt <= before.last
    return before.score + (0 if counted else one.score)


def _update(changes: Mapping[int, tuple[_New, int | None]]) -> None:
    """Open, with all risks together, and the better rank. What was cleared counts no more."""
    columns = [
        numbers(changes),
        numbers(str(innocence(new.risks)) for new, _ in changes.values()),
        texts(new.since for new, _ in changes.values()),
        numbers("NULL" if rank is None else rank for _, rank in changes.values()),
    ]
    with connection.cursor() as cursor:
        cursor.execute(_UPDATE, [*columns])


# a rank ten times as far down weighs by one part less: half at 10, a third at 100, a seventh at a million
_UPDATE = """
UPDATE anticheat_case c SET risk = r.risk, rank = r.rank, updated_at = clock_timestamp(),
    priority = r.risk / (1 + log(greatest(coalesce(r.rank, 1000000), 1))),
    state = 'open', opened_at = CASE WHEN c.state = 'open' THEN c.opened_at ELSE r.since END,
    snoozed_until = CASE WHEN c.state = 'open' THEN c.snoozed_until END
FROM (
    SELECT c.id, i.since, 1 - (1 - CASE WHEN c.state = 'cleared' THEN 0 ELSE c.risk END) * i.innocent AS risk,
        least(c.rank, i.rank) AS rank
    FROM unnest(%s::bigint[], %s::float8[], %s::timestamptz[], %s::int[]) AS i (id, innocent, since, rank)
    JOIN anticheat_case c ON c.id = i.id
) r WHERE c.id = r.id
"""


def _trim(cases: Iterable[int]) -> None:
    """Of what was found since they opened the lightest go, and of those the oldest."""
    with connection.cursor() as cursor:
        cursor.execute(_TRIM, [numbers(cases), MOST])


_TRIM = """
DELETE FROM anticheat_finding WHERE id IN (
    SELECT id FROM (
        SELECT f.id, row_number() OVER (
            PARTITION BY f.case_id
            ORDER BY array_position(ARRAY['reject', 'quarantine', 'flag'], f.verdict::text), f.risk DESC, f.id DESC
        ) AS number
        FROM anticheat_finding f JOIN anticheat_case c ON c.id = f.case_id AND f.found_at >= c.opened_at
        WHERE f.case_id = ANY(%s::bigint[])
    ) f WHERE number > %s
)
"""
