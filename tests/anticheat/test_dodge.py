"""The demo's game: the same seed and the same moves are the same run, everywhere and for ever."""

from decimal import Decimal

import pytest

from anticheat.demo import dodge
from anticheat.verifying import Claim, Outcome

SEED = "7c9e6679-7425-40de-944b-e07fc1f90ae7"
CLAIM = Claim(game="demo", mode="dodge", player_id="p-1", attempt_id=SEED, score=Decimal(0))
WAVES = [([3, 4], 2), ([2, 4], 0), ([0, 1], 2), ([0], 4)]
MOVES = ".lr..rllr...lrl..rll"
RUN = dodge.Run(score=600, waves=20, crashed=False)


def test_a_run_is_the_same_for_ever() -> None:
    """Worked out once: whoever changes the rules breaks all replays that are stored."""
    assert [(sorted(wave.rocks), wave.coin) for wave, _ in zip(dodge.waves(SEED), range(4), strict=False)] == WAVES
    moves = dodge.moves_of_a_player(SEED)
    assert (moves, dodge.play(SEED, moves)) == (MOVES, RUN)


def test_another_seed_is_another_run() -> None:
    assert list(dodge.waves(SEED)) != list(dodge.waves(SEED.upper()))


def test_a_replay_reaches_what_it_plays() -> None:
    assert dodge.verify(MOVES.encode(), CLAIM) == Outcome(RUN.score)
    assert dodge.verify(MOVES[:5].encode(), CLAIM) == Outcome(dodge.play(SEED, MOVES[:5]).score)


def test_a_crash_ends_the_run_and_its_replay() -> None:
    rock = next(move for move, lane in (("l", 1), (".", 2), ("r", 3)) if lane in next(dodge.waves(SEED)).rocks)
    assert dodge.verify(rock.encode(), CLAIM) == Outcome(0)
    assert dodge.verify(f"{rock}...".encode(), CLAIM).refusal == "It goes on after the crash."


@pytest.mark.parametrize("replay", [b"", b"x", b"l l", b"\xff", b"." * 1001, "lrл".encode()])
def test_what_is_no_replay_is_refused(replay: bytes) -> None:
    found = dodge.verify(replay, CLAIM)
    assert (found.score, bool(found.refusal)) == (None, True)


def test_the_walls_are_where_the_lanes_end() -> None:
    """Steps into a wall go nowhere: a player may lean on it."""
    for moves in ("l" * 9, "r" * 9):
        assert dodge.play(SEED, moves).waves <= 9
