"""The five kinds of cheaters. Each begins as a person like the others, and leaves traces as its kind does."""

from collections.abc import Callable
from random import Random

from anticheat.season.people import DAY, DAYS, POINTS_A_SECOND, Person, device_of, network_of
from anticheat.season.play import END, MAX_SCORE, Play, address_of, honest, score_of, sessions

_Cheat = Callable[[Random, Person], list[Play]]


def edit(chance: Random, person: Person) -> list[Play]:
    """Writes a number into memory, once or a few times: far more than it could ever reach."""
    plays = _busy(chance, person)
    first = chance.randrange(len(plays))
    count = min(chance.randint(1, 4), len(plays) - first)
    for index in range(first, first + count):
        absurd = chance.choice((999_999, 900_000, round(person.skill * chance.uniform(8, 40))))
        plays[index] = plays[index]._replace(score=min(MAX_SCORE, absurd))
    return plays


def inflate(chance: Random, person: Person) -> list[Play]:
    """Honest at first; from some day on every score is multiplied, by so little that each alone may pass."""
    plays = _busy(chance, person, least=16)
    factor, first = chance.uniform(1.6, 2.4), chance.randint(len(plays) // 4, len(plays) // 2)
    inflated = (play._replace(score=min(MAX_SCORE, round(play.score * factor))) for play in plays[first:])
    return [*plays[:first], *inflated]


def bot(chance: Random, person: Person) -> list[Play]:
    """A program plays: like a clock, for hours on end, and always about as well. Careful ones sleep and stumble."""
    careful = chance.random() < 0.3
    every, jitter = chance.uniform(50, 120), chance.uniform(0.05, 0.1) if careful else chance.uniform(0.001, 0.03)
    hours = chance.uniform(6, 10) if careful else chance.uniform(16, 24)
    score = every * 0.8 * POINTS_A_SECOND * chance.uniform(0.8, 1.3)
    plays, first = honest(chance, person), chance.randint(0, DAYS - 5)
    for day in range(first, first + chance.randint(1, 3)):
        moment = day * DAY + chance.uniform(0, (24 - hours) * 3600)
        address, ends = address_of(chance, person), moment + hours * 3600
        while moment < ends:
            moment += every * chance.gauss(1, jitter)
            got = round(score * chance.gauss(1, 0.05))
            plays.append(Play(moment + chance.uniform(0.1, 0.4), moment, got, 1000 + day, person.devices[0], address))
    return _in_time(plays)


def speed(chance: Random, person: Person) -> list[Play]:
    """The game's clock runs faster: the same points, and a little more, in a fraction of the time."""
    plays, factor = _busy(chance, person), chance.uniform(2.5, 5)
    first = chance.randrange(0, max(1, len(plays) - 5))
    faster = plays[:first]
    begun: dict[int, float] = {}
    for play in plays[first:]:
        begins = begun.setdefault(play.session, play.achieved_at - play.score / POINTS_A_SECOND)
        moment = begins + (play.achieved_at - begins) / factor
        score = min(MAX_SCORE, round(play.score * chance.uniform(1, 1.3)))
        faster.append(play._replace(achieved_at=moment, received_at=moment + chance.uniform(0.1, 1.5), score=score))
    return _in_time(faster)


def share(chance: Random, person: Person) -> list[Play]:
    """Somebody better plays on the same account: at the same time, or from some day on instead of its owner."""
    plays = _busy(chance, person, least=12)
    other = _busy_other(chance, person)
    if chance.random() < 0.5:  # sold
        day = chance.uniform(plays[len(plays) // 3].achieved_at, plays[len(plays) // 2].achieved_at)
        bought = [play for play in _busy(chance, other, least=12) if play.achieved_at >= day]
        last = [play for play in plays if play.achieved_at < day]
        return _in_time([*last, *(bought or _meanwhile(chance, other, plays))])
    return _in_time([*plays, *_meanwhile(chance, other, plays)])


KINDS: dict[str, _Cheat] = {"edit": edit, "inflate": inflate, "bot": bot, "speed": speed, "share": share}


def _busy(chance: Random, person: Person, *, least: int = 6) -> list[Play]:
    """Who cheats wants something of the game, and plays: at least so often."""
    person.sessions = max(person.sessions, 4)
    person.joined = min(person.joined, 20 * DAY)
    plays = honest(chance, person)
    while len(plays) < least:
        person.sessions += 2
        plays = honest(chance, person)
    return plays


def _busy_other(chance: Random, person: Person) -> Person:
    return Person(
        number=person.number,
        country=chance.choice(("US", "DE", "KR", "BR")),
        skill=person.skill * chance.uniform(1.8, 3),
        spread=chance.uniform(0.2, 0.4),
        growth=0.1,
        rate=POINTS_A_SECOND * chance.uniform(1, 1.3),
        joined=0.0,
        sessions=max(8, person.sessions),
        runs=4.0,
        night=person.night + 6,
        devices=[device_of(chance)],
        upgraded=None,
        platform="android",
        network=network_of(chance),
    )


def _meanwhile(chance: Random, other: Person, plays: list[Play]) -> list[Play]:
    """The other one's runs, in sessions that fall into those of the first."""
    found = []
    times = [play.achieved_at for play in plays]
    for session in sessions(chance, other):
        if session.number >= max(3, len(times) // 8):
            break
        moment = chance.choice(times) - chance.uniform(0, 300)
        for _ in range(session.runs + 2):
            score = score_of(chance, other, 50)
            moment += 10 + score / other.rate
            number = 500 + session.number
            found.append(Play(moment + 0.5, moment, score, number, session.device, session.address))
    return found


def _in_time(plays: list[Play]) -> list[Play]:
    return sorted(play for play in plays if 0 < play.received_at < END)
