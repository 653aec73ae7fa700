"""Dodge: five lanes, rocks and coins come down them, and you step left or right. A replay is what you pressed.

All that comes follows from a seed, which is the attempt's id: who has the replay can play it again, here or in any
language, and reach the same score. That is all a verifier does.
"""

from collections.abc import Iterator
from hashlib import sha256
from typing import NamedTuple

from anticheat.verifying import Claim, Outcome

LANES = 5
ROCKS = 2  # in each wave, in lanes of their own or not
LONGEST = 1000  # waves
WAVE_POINTS, COIN_POINTS = 10, 50
MOST = LONGEST * (WAVE_POINTS + COIN_POINTS)  # points
STEPS = {"l": -1, ".": 0, "r": 1}
_WORD = (1 << 64) - 1


class Wave(NamedTuple):
    rocks: frozenset[int]
    coin: int


class Run(NamedTuple):
    score: int
    waves: int  # that were got through
    crashed: bool


def waves(seed: str) -> Iterator[Wave]:
    chance = _numbers(seed)
    for _ in range(LONGEST):
        rocks = frozenset(next(chance) % LANES for _ in range(ROCKS))
        yield Wave(rocks, next(chance) % LANES)


def play(seed: str, moves: str) -> Run:
    """As far as the moves go, or until a rock is met."""
    lane, score, through = LANES // 2, 0, 0
    for move, wave in zip(moves, waves(seed), strict=False):
        lane = min(LANES - 1, max(0, lane + STEPS[move]))
        if lane in wave.rocks:
            return Run(score, through, crashed=True)
        through += 1
        score += WAVE_POINTS + (COIN_POINTS if lane == wave.coin else 0)
    return Run(score, through, crashed=False)


def moves_of_a_player(seed: str, *, most: int = LONGEST) -> str:
    """Somebody who sees one wave ahead, likes coins, and plays until there is no way out."""
    lane, moves = LANES // 2, ""
    for wave in waves(seed):
        ways = {move: min(LANES - 1, max(0, lane + step)) for move, step in STEPS.items()}
        open_ways = {move: there for move, there in ways.items() if there not in wave.rocks}
        if not open_ways or len(moves) >= most:
            break
        move = min(open_ways, key=lambda one: (open_ways[one] != wave.coin, abs(open_ways[one] - LANES // 2)))
        lane, moves = open_ways[move], moves + move
    return moves


def verify(replay: bytes, claim: Claim) -> Outcome:
    """See anticheat/verifying.py."""
    try:
        moves = replay.decode("ascii")
    except UnicodeDecodeError:
        return Outcome(refusal="A replay is made of l, r and dots.")
    if not 1 <= len(moves) <= LONGEST or not STEPS.keys() >= set(moves):
        return Outcome(refusal=f"A replay is made of 1 to {LONGEST} of l, r and dots.")
    run = play(claim.attempt_id, moves)
    if run.crashed and run.waves + 1 < len(moves):
        return Outcome(refusal="It goes on after the crash.")
    return Outcome(run.score)


def _numbers(seed: str) -> Iterator[int]:
    """splitmix64: a few lines in any language."""
    state = int.from_bytes(sha256(seed.encode()).digest()[:8], "big")
    while True:
        state = (state + 0x9E3779B97F4A7C15) & _WORD
        mixed = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _WORD
        mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _WORD
        yield mixed ^ (mixed >> 31)
