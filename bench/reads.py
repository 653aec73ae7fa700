"""What is read: one player's rank, a player with neighbours, the first hundred."""

import random
from collections.abc import Iterator
from functools import cache
from itertools import cycle

from bench import mix

BOARD = f"/v1/games/{mix.GAME}/modes/main/leaderboards/alltime"
TOP = f"{BOARD}?limit=100"
NEIGHBORS = 5
WARM_PLAYERS = 2000  # among whom `around_reads` draws: their neighbours' profiles are known soon
MANY = 20_000
EXACT_UPTO = 200_000
# the header line with which a request goes past the fast lane, to Django: for `drf_rank_reads`
THROUGH_DJANGO = "Prefer: handling=lenient\r\n"


def get(path: str, headers: str = "") -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{headers}\r\n".encode()


def same(path: str, client: int) -> Iterator[bytes]:
    return cycle([get(path)])


def ranks(players: int, headers: str, client: int) -> Iterator[bytes]:
    chance = random.Random(client)
    some = min(MANY // 64, players)
    return cycle([get(f"{BOARD}/players/p-{_played(chance.randint(1, players))}", headers) for _ in range(some)])


def around(players: int, client: int) -> Iterator[bytes]:
    """Of players drawn at random among some thousands."""
    chance, step = random.Random(client), max(1, players // WARM_PLAYERS)
    numbers = (_played(chance.randrange(1, players + 1, step)) for _ in range(MANY // 64))
    return cycle([_around(number) for number in numbers])


def around_cold(players: int, clients: int, client: int) -> Iterator[bytes]:
    """Nobody twice, nor anybody's neighbour: each at most once, so where players are few it ends early."""
    return iter([_around(number) for number in _far_apart(players)[client::clients]])


@cache
def _far_apart(players: int) -> list[int]:
    """Players who have no neighbours in common; of very many, some at random, of whom hardly any two have."""
    if players > EXACT_UPTO:
        return [_played(number) for number in random.Random(players).sample(range(2, players), MANY)]
    order = sorted((number for number in range(1, players + 1) if not mix.is_newcomer(number)), key=mix.best)
    return order[:: 2 * NEIGHBORS + 1]


def _around(number: int) -> bytes:
    return get(f"{BOARD}/players/p-{number}?neighbors={NEIGHBORS}")


def _played(number: int) -> int:
    return number - 1 if mix.is_newcomer(number) else number
