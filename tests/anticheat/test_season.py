"""The labelled season: the same for the same seed, with as many cheaters as it says, and believable in between."""

from collections import Counter
from itertools import pairwise
from statistics import median

from anticheat.season.cheating import KINDS
from anticheat.season.people import DAY, DAYS, MOST_POINTS_A_SECOND
from anticheat.season.play import MAX_SCORE
from anticheat.season.season import PLAYERS, Played, labels, season

SOME = 1000


def test_a_season_is_the_same_for_the_same_seed_and_another_for_another() -> None:
    first = [one.plays for one in season(1, 50)]
    assert first == [one.plays for one in season(1, 50)]
    assert first != [one.plays for one in season(2, 50)]


def test_how_many_play_changes_nothing_for_an_honest_player() -> None:
    honest = next(number for number in range(1, 100) if number not in labels(1, 100) | labels(1, 200))
    assert _of(season(1, 100), honest) == _of(season(1, 200), honest)


def test_one_in_a_hundred_cheats_and_as_many_in_each_of_five_ways() -> None:
    found = labels(7, PLAYERS)
    assert len(found) == PLAYERS // 100
    assert set(Counter(found.values()).values()) == {PLAYERS // 500}
    assert set(found.values()) == set(KINDS)
    assert len(KINDS) == 5


def test_a_month_is_played_by_day_and_night_and_nothing_is_out_of_it() -> None:
    plays = [play for one in season(3, SOME) for play in one.plays]
    assert 8 * SOME < len(plays) < 40 * SOME
    assert all(0 <= play.received_at < DAYS * DAY for play in plays)
    assert all(0 <= play.score <= MAX_SCORE and play.achieved_at <= play.received_at for play in plays)
    by_day = Counter(int(play.received_at // DAY) for play in plays)
    assert len(by_day) == DAYS


def test_who_is_honest_is_in_one_place_and_never_faster_than_the_game() -> None:
    cheats, brothers = labels(3, SOME), 0
    for one in season(3, SOME):
        if one.person.number in cheats:
            continue
        for before, play in pairwise(sorted(one.plays, key=lambda play: play.achieved_at)):
            fast = play.score > (play.achieved_at - before.achieved_at) * MOST_POINTS_A_SECOND * 1.001
            assert not fast or before.device != play.device
            brothers += fast
    assert brothers < 10


def test_every_kind_of_cheater_leaves_its_trace() -> None:
    cheats = labels(3, 3000)
    by_kind: dict[str, list[Played]] = {}
    for one in season(3, 3000):
        by_kind.setdefault(cheats.get(one.person.number, "honest"), []).append(one)
    assert all(max(play.score for play in one.plays) > 7 * one.person.skill for one in by_kind["edit"])
    assert min(len(one.plays) for one in by_kind["bot"]) > 150
    assert all(len({play.device for play in one.plays}) > 1 for one in by_kind["share"])
    fast = [_fastest(one) for one in by_kind["speed"]]
    assert median(fast) > MOST_POINTS_A_SECOND
    assert median(_rise(one) for one in by_kind["inflate"]) > 1.3
    assert median(_rise(one) for one in by_kind["honest"] if len(one.plays) > 10) < 1.3


def _of(played: object, number: int) -> Played:
    return next(one for one in played if one.person.number == number)  # type: ignore[attr-defined]


def _fastest(one: Played) -> float:
    together = ((a, b) for a, b in pairwise(one.plays) if a.session == b.session and a.achieved_at < b.achieved_at)
    return max((b.score / (b.achieved_at - a.achieved_at) for a, b in together), default=0.0)


def _rise(one: Played) -> float:
    scores = [play.score for play in one.plays]
    third = max(1, len(scores) // 4)
    return median(scores[-third:]) / median(scores[:third])
