"""What is played, the same for the floors and for the product: who submits which score, and what that changes.

Players are numbered from 1. Each has a best, by its number; today's best of everybody is 30,000,000 below it. Every
twentieth has not played yet. Of the scores a tenth are records (best in all four windows), three tenths are the best of
the day only, the others improve nothing, or are somebody's first. The former rise with their serial number, the others
fall, so that each is what it should be whenever it is sent.
"""

import random
from collections.abc import Iterator
from typing import NamedTuple

GAME = "bench"
SPREAD = 30_000_000
LEAST_BEST, MOST_SCORE = 2 * SPREAD + 1, 4 * SPREAD + 1
MOST_SERIALS = SPREAD  # of one house: beyond, today's best would be a record
COUNTRIES = ("BR", "CA", "DE", "ES", "FR", "GB", "JP", "KR", "SE", "US")
WINDOWS = ("daily", "weekly", "monthly", "alltime")
NEWCOMERS = 20  # every so-manieth
RECORDS, TODAYS = 0.1, 0.3  # shares
WHOLE_WINDOWS_UPTO = 100_000  # players; beyond, only the all-time board is filled before
BATCH = 1000
CONFIG = f"""
[games.{GAME}]
title = "Bench"
[games.{GAME}.modes.main]
title = "Main"
min_score = 0
max_score = {MOST_SCORE}
dimensions = ["country"]
[games.{GAME}.modes.floor]
title = "Floor"
min_score = 0
max_score = {MOST_SCORE}
dimensions = ["country"]
[games.{GAME}.modes.one]
title = "One board"
min_score = 0
max_score = {MOST_SCORE}
dimensions = []
windows = ["alltime"]
"""


class Draw(NamedTuple):
    serial: int
    number: int  # of the player
    score: int
    improves: tuple[str, ...]  # of a player who has played in all windows


def best(number: int) -> int:
    return LEAST_BEST + number * 7919 % SPREAD


BEST_SQL = f"({LEAST_BEST} + mod(n * 7919::bigint, {SPREAD}))"


def country(number: int) -> str:
    return COUNTRIES[number // NEWCOMERS % len(COUNTRIES)]  # of each, players of all kinds


def is_newcomer(number: int) -> bool:
    return number % NEWCOMERS == 0


def filled(players: int) -> tuple[str, ...]:
    """The windows in which everybody but newcomers has a score at the start."""
    return WINDOWS if players <= WHOLE_WINDOWS_UPTO else ("alltime",)


def draws(start: int, count: int, players: int) -> Iterator[Draw]:
    """Records by players 1, 5, 9 …, bests of the day by 3, 7, 11 …: so the shares stay as they are."""
    if start + count > MOST_SERIALS:
        raise ValueError(f"One run takes {MOST_SERIALS:,} scores at most.")
    chance = random.Random(start)
    fours = players // 4
    for serial in range(start, start + count):
        luck, drawn = chance.random(), chance.random()
        if luck < RECORDS:
            number = int(drawn * fours) * 4 + 1
            yield Draw(serial, number, best(number) + serial, WINDOWS)
        elif luck < RECORDS + TODAYS:
            number = int(drawn * fours) * 4 + 3
            yield Draw(serial, number, best(number) - SPREAD + serial, WINDOWS[:1])
        else:
            yield Draw(serial, int(drawn * players) + 1, SPREAD - serial, ())


def attempt_id(serial: int) -> str:
    return f"0bec0000-0000-4000-8000-{serial:012x}"


def changes(some: list[Draw], *, players: int, seen: dict[tuple[int, str], int]) -> dict[tuple[int, str], Draw]:
    """By (player, window), what a batch changes. `seen`: the bests, so far, where nothing was filled before."""
    found: dict[tuple[int, str], Draw] = {}
    full = filled(players)
    for one in some:
        newcomer = is_newcomer(one.number)
        for window in WINDOWS:
            place = one.number, window
            if not newcomer and window in full:
                if window in one.improves:
                    found[place] = one
            elif one.score > seen.get(place, -1):
                found[place], seen[place] = one, one.score
    return found
