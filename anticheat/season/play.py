"""Honest play: sessions over the month, runs in a session, and what happens to people who do nothing wrong."""

from collections.abc import Iterator
from math import exp, sqrt
from random import Random
from typing import NamedTuple

from anticheat.season.people import DAY, DAYS, MOST_POINTS_A_SECOND, Person, device_of, moment_awake, network_of

MAX_SCORE = 1_000_000
END = DAYS * DAY
_BUILDS = ("1.40.2", "1.41.0", "1.42.0")


class Play(NamedTuple):
    """One attempt. Times are seconds of the season."""

    received_at: float
    achieved_at: float
    score: int
    session: int
    device: str
    address: str


class Session(NamedTuple):
    number: int
    begins: float
    runs: int
    device: str
    address: str


def honest(chance: Random, person: Person) -> list[Play]:
    """In one place at a time: a session begins when the one before it has ended."""
    done, free = 0, 0.0
    plays: list[Play] = []
    for session in sessions(chance, person):
        plays += played(chance, person, session._replace(begins=max(session.begins, free)), done=done)
        done += session.runs
        free = plays[-1].received_at + 300 if plays else 0.0
    if plays and chance.random() < 0.0005:  # a brother takes the tablet, once, meanwhile
        plays = sorted([*plays, *_brother(chance, person, plays)])
    return plays


def sessions(chance: Random, person: Person) -> Iterator[Session]:
    first = int(person.joined // DAY)
    days = range(first, DAYS)
    weights = [1.3 if day % 7 in (5, 6) else 1.0 for day in days]
    picked = sorted(moment_awake(chance, person, day) for day in chance.choices(days, weights, k=person.sessions))
    for number, begins in enumerate(picked):
        runs = 1 + min(30, int(chance.expovariate(1 / person.runs)))
        yield Session(number, begins, runs, _device(chance, person, begins), address_of(chance, person))


def _device(chance: Random, person: Person, at: float) -> str:
    if len(person.devices) == 1:
        return person.devices[0]
    if person.upgraded is not None:
        return person.devices[at >= person.upgraded]
    return person.devices[chance.random() < 0.3]  # the second one is used less


def address_of(chance: Random, person: Person) -> str:
    """Mostly from home; sometimes on the road, or through a tunnel."""
    network = person.network if chance.random() < 0.9 else network_of(chance)
    return f"{network}.{chance.randint(0, 255)}.{chance.randint(1, 254)}"


def expected(person: Person, done: int) -> float:
    """An ordinary run's score, once it has played so many."""
    return person.skill * (1 + person.growth * (1 - exp(-done / 25)))


def played(chance: Random, person: Person, session: Session, *, done: int) -> list[Play]:
    """One run after the other. Some sessions are played without a net, and all that was achieved arrives at once."""
    moment, address, plays = session.begins, session.address, []
    for run in range(session.runs):
        score = score_of(chance, person, done + run)
        moment += pause(chance) + seconds_of(chance, person, score, done + run)
        if chance.random() < 0.02:  # from the house into the street
            address = address_of(chance, person)
        plays.append(Play(moment + chance.uniform(0.1, 1.5), moment, score, session.number, session.device, address))
    if chance.random() < 0.01:
        back = moment + chance.uniform(60, 3600)
        plays = [play._replace(received_at=back + 0.05 * run) for run, play in enumerate(plays)]
    return [play for play in plays if play.received_at < END]


def score_of(chance: Random, person: Person, done: int) -> int:
    luck = chance.uniform(1.5, 2.6) if chance.random() < 0.007 else 1.0
    return min(MAX_SCORE, round(expected(person, done) * luck * chance.lognormvariate(0, person.spread)))


def seconds_of(chance: Random, person: Person, score: int, done: int) -> float:
    """Who has become better is also faster, not only longer at it."""
    rate = person.rate * sqrt(expected(person, done) / person.skill)
    return score / min(MOST_POINTS_A_SECOND, rate * chance.lognormvariate(0, 0.1))


def pause(chance: Random) -> float:
    return 4 + chance.expovariate(1 / 20)


def _brother(chance: Random, person: Person, plays: list[Play]) -> list[Play]:
    around, device = chance.choice(plays), device_of(chance)
    moment, found = around.achieved_at - chance.uniform(0, 300), []
    for _ in range(chance.randint(1, 3)):
        score = score_of(chance, person, 0) // 2
        moment += pause(chance) + seconds_of(chance, person, score, 0)
        found.append(around._replace(received_at=moment + 0.5, achieved_at=moment, score=score, device=device))
    return [play for play in found if 0 < play.achieved_at < END - 1]


def build_of(at: float) -> str:
    return _BUILDS[min(int(at / DAY / 10), 2)]
