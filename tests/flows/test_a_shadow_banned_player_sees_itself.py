"""A shadow-banned player sees itself ranked where it would be, over every read and door; nobody else sees it."""

from typing import Any

import pytest
import time_machine
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from tests.doors import Doors
from tests.shadowed import GHOST, OWN, PLAYERS, Play, Reader, World
from tests.twins import midday

pytestmark = pytest.mark.django_db(transaction=True)
KINDS = [("unique", 1), ("unique", 3), ("competition", 1), ("competition", 3), ("dense", 1)]
PLAYS = st.lists(
    st.builds(Play, st.integers(0, PLAYERS - 1), st.integers(0, 4), st.integers(0, 2), st.sampled_from(["", "1"])),
    min_size=12,
    max_size=30,
)
RULES = st.fixed_dictionaries(
    {
        "order": st.sampled_from(["desc", "asc"]),
        "tie_break": st.sampled_from(["earliest", "latest", "none"]),
        "aggregation": st.sampled_from(["best", "best", "latest", "sum"]),
    }
)


@pytest.fixture
def doors(monkeypatch: pytest.MonkeyPatch) -> Doors:
    return Doors(monkeypatch)


@pytest.mark.parametrize(("ranking", "shards"), KINDS)
def test_as_if_free_for_itself_and_as_if_never_there_for_others(doors: Doors, ranking: str, shards: int) -> None:
    @settings(
        max_examples=2,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(rules=RULES, plays=PLAYS, before=st.booleans(), score=st.integers(0, 4))
    def alike(rules: dict[str, Any], plays: list[Play], before: bool, score: int) -> None:
        total = {"max_total": 10_000} if rules["aggregation"] == "sum" else {}
        with time_machine.travel(midday(), tick=False):
            worlds = [World(rules | total | {"ranking": ranking}, shards, midday()) for _ in range(3)]
            _compare(doors, worlds, plays, before=before, score=score)

    alike()


def _compare(doors: Doors, worlds: list[World], plays: list[Play], *, before: bool, score: int) -> None:
    shadowed, free, without = worlds
    if before:
        shadowed.ban()
    shadowed.play([Play(GHOST, 2, 1, "1"), *plays])
    free.play([Play(GHOST, 2, 1, "1"), *plays])
    without.play([one for one in plays if one.player != GHOST])
    if not before:
        shadowed.ban()
    assert _differing(*(_own(Reader(doors, world, "ghost"), at_length=True) for world in (shadowed, free))) == {}
    _look(doors, *worlds)
    assert _differing(*(_sent(doors, world, score) for world in (shadowed, free))) == {}
    _look(doors, *worlds)


def _look(doors: Doors, shadowed: World, free: World, without: World) -> None:
    expected = _own(Reader(doors, free, "ghost"))
    for fast in (True, False):
        assert _differing(_own(Reader(doors, shadowed, "ghost", fast=fast)), expected) == {}
    for who in ("other", "key"):
        assert _differing(*(Reader(doors, world, who).briefly() for world in (shadowed, without))) == {}
    assert (
        _differing(*({"all": Reader(doors, world, "nobody").walked("limit=5")} for world in (shadowed, without))) == {}
    )


def _own(reader: Reader, *, at_length: bool = False) -> dict[str, Any]:
    told = reader.at_length() if at_length else reader.briefly()
    return told | {path: reader.told(path) for path in OWN}


def _sent(doors: Doors, world: World, score: int) -> dict[str, Any]:
    """By the game's server; what is answered before the boards show it, and after."""
    body = {"player_id": f"p-{GHOST}", "score": score, "attempt_id": "7c9e6679-7425-40de-944b-e07fc1f90ae7"}
    reader = Reader(doors, world, "key")
    first = reader.told("/scores", method="POST", body=body)
    world.rest()
    return {"first": first, "again": reader.told("/scores", method="POST", body=body)}


def _differing(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    return {name: (said, other[name]) for name, said in one.items() if said != other[name]}
