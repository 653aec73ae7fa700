"""What anybody may have kept by asking for it is bounded, in whatever words it is asked for."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from leaderboards.fastlane import calls, pages
from tests.client import ApiClient
from tests.factories import make_game, make_mode
from tests.hearing import all_heard, guarded
from tests.leaderboards.spine import drain
from tests.leaderboards.test_spine import submit

BOARD = "/v1/games/arena/modes/solo/leaderboards/alltime"
START = datetime.now(UTC) - timedelta(minutes=1)


@pytest.fixture
def caller(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiClient]:
    """Of a process that hears everything, so that what may be kept is."""
    mode = make_mode(make_game("arena"), min_score=0, max_score=1000)
    submit(mode, "p-1", 5, START, 1)
    drain(mode)
    all_heard()
    with guarded(monkeypatch, "leaderboards.fastlane.pages"):
        pages.forget()
        yield ApiClient()
        pages.forget()


def _held() -> int:
    """Bytes that lie in what is kept, whatever it says of itself."""
    texts = [part for key in pages._kept for part in key if isinstance(part, bytes)]  # noqa: SLF001
    return sum(map(len, texts)) + sum(len(one.shown.body) for one in pages._kept.values())  # noqa: SLF001


def test_pages_asked_for_in_many_words_weigh_no_more_than_pages_may(
    caller: ApiClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages, "MOST_BYTES", 50_000)
    monkeypatch.setattr(pages, "_OVERHEAD", 0)  # which would hide what is forgotten to be weighed
    most = 0
    for number in range(200):
        assert caller.get(f"{BOARD}?offset={number}&max_score={number + 1000}").status_code == 200
        most = max(most, _held())
    assert 25_000 < most <= 50_000


def test_of_an_address_without_end_nothing_is_kept(caller: ApiClient) -> None:
    assert caller.get(BOARD).status_code == 200
    before = _held(), calls._query.cache_info(), calls._is_served.cache_info().currsize  # noqa: SLF001
    assert before[0] > 0
    for number in range(5):
        assert caller.get(f"{BOARD}?x={number}{'a' * 60_000}").status_code == 400
        assert caller.get(f"{BOARD}?x={'&' * 500}{number}{'a' * 2000}").status_code == 400
        assert caller.get(f"{BOARD}?{'&' * 2100}offset={number}").status_code == 400
        assert caller.get(f"{BOARD}/players/{number}{'a' * 60_000}").status_code == 404
        assert caller.get(BOARD, headers={"Host": f"{number}.{'a' * 60_000}"}).status_code == 400
    after = _held(), calls._query.cache_info(), calls._is_served.cache_info().currsize  # noqa: SLF001
    assert after == before


def test_the_same_asked_in_other_words_is_kept_once(caller: ApiClient) -> None:
    """And what a board does not know is refused, so it passes by no page that is kept."""
    assert caller.get(BOARD).status_code == 200
    kept = set(pages._kept)  # noqa: SLF001
    assert kept
    same = ("limit=50", "offset=0&limit=50", "limit=50&offset=0", "scope=global", "limit=%35%30", "&&limit=50")
    for query in same:
        assert caller.get(f"{BOARD}?{query}").status_code == 200
    for number in range(50):
        assert caller.get(f"{BOARD}?x={number}").status_code == 400
    assert set(pages._kept) == kept  # noqa: SLF001
