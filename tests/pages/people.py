"""People who look at pages without a browser: Django's own client, with cookies, through every middleware."""

from contextlib import AbstractContextManager
from typing import Any, cast

from django.http import HttpResponse
from django.test import Client, TestCase
from django.utils.html import strip_tags

from config.wire import Exact
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Ban, Game
from tests.client import connections_kept
from tests.factories import make_token, record_of
from tests.leaderboards.spine import drain


def committed() -> AbstractContextManager[Any]:
    """What is told after a commit is told after this: the test's transaction never commits."""
    return TestCase.captureOnCommitCallbacks(execute=True)


class Person:
    """Somebody on the machine that Rung runs on, unless it is said otherwise."""

    def __init__(self, **environment: Any) -> None:
        self.client = Client(
            enforce_csrf_checks=True, headers={"host": "127.0.0.1"}, raise_request_exception=True, **environment
        )

    def get(self, path: str, **request: Any) -> HttpResponse:
        with committed(), connections_kept():
            return cast("HttpResponse", self.client.get(path, **request))

    def post(self, path: str, fields: dict[str, str], **request: Any) -> HttpResponse:
        with committed(), connections_kept():
            return cast("HttpResponse", self.client.post(path, fields, **request))

    def enter(self, game: Game, player_id: str) -> HttpResponse:
        answer = self.get(f"/g/{game.slug}/enter?token={make_token(game, player_id)}")
        assert answer.status_code == 302, text_of(answer)
        return answer

    def text(self, path: str) -> str:
        answer = self.get(path)
        assert answer.status_code == 200, answer.content.decode()
        return text_of(answer)

    def csrf(self, path: str) -> str:
        """As a form on that page would send it."""
        self.get(path)
        return str(self.client.cookies["csrftoken"].value)


def text_of(answer: HttpResponse) -> str:
    """What one reads, with single spaces."""
    return " ".join(strip_tags(answer.content.decode().replace("<", " <")).split())


def play(mode: Mode, *plays: tuple[str, int | str], **fields: Any) -> None:
    """Scores in their order, from the game's own server, to the boards."""
    caller = Caller(Kind.KEY, game=mode.game.slug)
    with committed():
        for player_id, score in plays:
            item = Item(Mode.objects.get(pk=mode.pk), Submission(player_id=player_id, score=Exact(score), **fields))
            (told,) = scores_submit(game=record_of(mode.game), caller=caller, items=[item])
            assert not isinstance(told, Exception), told
        drain(Mode.objects.get(pk=mode.pk))


def ban(board: Mode, player_id: str, kind: Ban.Kind = Ban.Kind.BAN, **fields: Any) -> None:
    """Heard of by every process, and gone from the boards."""
    with committed():
        Ban.objects.create(player=board.game.players.get(player_id=player_id), kind=kind, **{"reason": "x", **fields})
        drain(Mode.objects.get(pk=board.pk))
