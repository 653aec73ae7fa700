"""A mode as the hot paths know it is forgotten once it is another one, not before."""

import pytest
from django.utils import timezone

from config import recall
from leaderboards.known import mode_known
from leaderboards.models import Mode
from tests.factories import make_game, make_mode, record_of
from tests.hearing import all_heard


@pytest.mark.django_db(transaction=True)
def test_who_reads_a_mode_as_soon_as_it_is_told_to_have_changed_reads_the_new_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    game, tell, read = make_game(), recall._tell, list[int]()  # noqa: SLF001
    make_mode(game)
    Mode.objects.update(first_score_at=timezone.now())
    all_heard()

    def shards() -> int:
        return mode_known(game=record_of(game), mode="solo").shards

    def told(news: str) -> None:
        tell(news)
        read.append(shards())

    assert shards() == 1
    monkeypatch.setattr(recall, "_tell", told)
    Mode.objects.update(shards=3)
    assert read == [3], "else it keeps the old one for as long as it remembers"
    assert shards() == 3
