"""Who plays in the season: how well, how often, when, on what and from where. What is unusual among the honest too."""

from dataclasses import dataclass
from random import Random

DAYS = 30
DAY = 86_400.0
POINTS_A_SECOND = 60.0  # that the game gives to most; the best are given less than twice as much
MOST_POINTS_A_SECOND = 110.0  # more is impossible, by the game's own rules
_SHARES = {"US": (16, -6), "BR": (8, -3), "GB": (5, 0), "DE": (7, 1), "FR": (5, 1), "PL": (4, 1), "TR": (4, 3),
           "IN": (8, 5), "ID": (6, 7), "CN": (9, 8), "KR": (6, 9), "JP": (8, 9), "AU": (3, 10)}  # fmt: skip
COUNTRIES = list(_SHARES)
_WEIGHTS = [share for share, _ in _SHARES.values()]
_AWAKE = [2, 1, 1, 1, 1, 1, 2, 4, 5, 5, 5, 6, 8, 8, 7, 7, 8, 10, 12, 14, 15, 14, 10, 5]  # by hour, at home
_HOURS = list(range(24))
_PLATFORMS = ("android", "ios", "web")


@dataclass(slots=True)
class Person:
    """One player, as it is before any cheating."""

    number: int
    country: str
    skill: float  # the score of an ordinary run at first
    spread: float  # of the runs around it, as a share
    growth: float  # how much better it becomes, as a share
    rate: float  # points a second
    joined: float  # seconds after the season began
    sessions: int  # in the whole month
    runs: float  # in a session, on average
    night: int  # hours by which its day is shifted from that of its neighbours
    devices: list[str]
    upgraded: float | None  # from then on the first device is no longer used
    platform: str
    network: str  # the first half of its addresses

    def is_awake(self, hour: int) -> int:
        """How likely it plays in this hour (UTC)."""
        return _AWAKE[int(hour + _SHARES[self.country][1] + self.night) % 24]


def person_of(chance: Random, number: int) -> Person:
    country = chance.choices(COUNTRIES, _WEIGHTS)[0]
    devices = [device_of(chance)]
    upgraded = None
    fate = chance.random()
    if fate < 0.15:  # plays on a second one too
        devices.append(device_of(chance))
    elif fate < 0.19:  # has bought a new one
        devices.append(device_of(chance))
        upgraded = chance.uniform(2, DAYS - 2) * DAY
    is_new = chance.random() < 0.3
    return Person(
        number=number,
        country=country,
        skill=_skill(chance),
        spread=chance.uniform(0.2, 0.4),
        growth=_growth(chance),
        rate=min(POINTS_A_SECOND * chance.lognormvariate(0, 0.15), MOST_POINTS_A_SECOND * 0.85),
        joined=chance.uniform(0, DAYS - 2) * DAY if is_new else 0.0,
        sessions=max(1, min(120, round(chance.lognormvariate(1.1, 0.9)))),
        runs=chance.uniform(1.5, 5.5),
        night=round(chance.gauss(0, 2)),
        devices=devices,
        upgraded=upgraded,
        platform=chance.choices(_PLATFORMS, (6, 3, 1))[0],
        network=network_of(chance),
    )


def _skill(chance: Random) -> float:
    """A few have played elsewhere before and are masters from their first run on."""
    skill = 12_000 * chance.lognormvariate(0, 0.55)
    return skill * chance.uniform(2.5, 4.5) if chance.random() < 0.003 else skill


def _growth(chance: Random) -> float:
    """Most learn a little; one in a hundred becomes another player within a week."""
    return chance.uniform(1.0, 2.0) if chance.random() < 0.01 else min(0.9, chance.expovariate(4))


def device_of(chance: Random) -> str:
    return f"d-{chance.getrandbits(48):012x}"


def network_of(chance: Random) -> str:
    return f"{chance.randint(11, 223)}.{chance.randint(0, 255)}"


def moment_awake(chance: Random, person: Person, day: int) -> float:
    """Some moment of that day (seconds of the season), when it is likely to play."""
    hour = chance.choices(_HOURS, [person.is_awake(hour) for hour in _HOURS])[0]
    return day * DAY + hour * 3600 + chance.uniform(0, 3600)
