"""The season as a whole: so many players, one in a hundred a cheater, each the same for the same seed."""

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from anticheat.season.cheating import KINDS
from anticheat.season.people import Person, person_of
from anticheat.season.play import Play, honest

SEED = 20261118
PLAYERS = 100_000
CHEATERS = 100  # one of so many cheats


class Played(NamedTuple):
    person: Person
    plays: list[Play]  # in order of arrival


def labels(seed: int, players: int) -> dict[int, str]:
    """Who cheats, by number (from 1), and how: as many of each kind."""
    chance = Random(f"{seed} labels")
    kinds = list(KINDS)
    picked = sorted(chance.sample(range(1, players + 1), players // CHEATERS))
    chance.shuffle(picked)
    return {number: kinds[index % len(kinds)] for index, number in enumerate(picked)}


def season(seed: int, players: int) -> Iterator[Played]:
    """Player by player: whoever is asked for, or left out, changes nothing for the others."""
    cheats = labels(seed, players)
    for number in range(1, players + 1):
        chance = Random(f"{seed} {number}")
        person = person_of(chance, number)
        play = KINDS[cheats[number]] if number in cheats else honest
        yield Played(person, sorted(play(chance, person)))
