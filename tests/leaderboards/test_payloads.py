"""What is kept between two acts is columns; what the version before has written is read as well."""

import msgspec
import pytest

from leaderboards import effects, outbox
from leaderboards.effects import BoardChange
from leaderboards.effects import effects as split
from leaderboards.outbox import ScoreRow, decode_scores

ROWS = [ScoreRow(7, -5, 1_000_001, 70, 15, {"level": "3"}), ScoreRow(2**40, 2**53, 1_000_000, 71, 8)]
pack = msgspec.msgpack.encode


def test_a_commit_comes_back_as_it_was() -> None:
    told = decode_scores(outbox.encode(outbox.columns(ROWS, arrived=9)))
    assert (told.rows, told.arrived, told.version) == (ROWS, 9, 2)


def test_a_commit_of_the_version_before_is_read() -> None:
    before = [1, [[7, -5, 1_000_001, 70, 15, {"level": "3"}], [2**40, 2**53, 1_000_000, 71, 8]], 9]
    assert decode_scores(pack(before)) == outbox.columns(ROWS, arrived=9)


@pytest.mark.parametrize("payload", [b"", b"not a payload", pack([2, 9, b"", b"", b"", b"", b"\x0f"]), pack([1, 2, 3])])
def test_what_is_no_commit_is_said_to_be_none(payload: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever it says
        decode_scores(payload)


def test_an_effect_of_the_version_before_is_read() -> None:
    (change,) = effects.decode(pack([2, [["alltime", "global", [7], [5], [1], [8]]]])).boards
    assert change == BoardChange("alltime", "global", [7], [5], [1], [8])


def test_all_of_a_player_is_in_one_effect() -> None:
    many = BoardChange("alltime", ["global", "country:DE"], [1, 2, 4, 6], [10, 20, 40, 60], [1, 2, 4, 6], [])
    leave = BoardChange("daily:2026-04-05", ["global"], [], [], [], [2, 3])
    first, second, third = split([many, leave], 2)
    assert first.boards == [
        BoardChange("alltime", ["global", "country:DE"], [1, 2], [10, 20], [1, 2], []),
        BoardChange("daily:2026-04-05", ["global"], [], [], [], [2]),
    ]
    assert second.boards == [
        BoardChange("alltime", ["global", "country:DE"], [4], [40], [4], []),
        BoardChange("daily:2026-04-05", ["global"], [], [], [], [3]),
    ]
    assert third.boards == [BoardChange("alltime", ["global", "country:DE"], [6], [60], [6], [])]
    assert list(split([], 2)) == []


def test_players_with_very_many_entries_come_in_smaller_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that no call to Valkey is long, whatever there is of a player."""
    monkeypatch.setattr(effects, "MOST_ENTRIES", 10)
    players = list(range(1, 11))
    change = BoardChange("alltime", ["global", "region:eu"], players, players, players, [])
    batches = list(split([change], 1000))
    assert [[part.players for part in batch.boards] for batch in batches] == [[players[:5]], [players[5:]]]
