"""Thousands of calls made up from our own OpenAPI document, good and bad: no failure of ours, no answer that the
document does not allow, and every answer told the way the contract says.
"""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from random import Random
from typing import Any
from urllib.parse import quote, urlencode
from uuid import UUID

import httpx
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, engine
from schemathesis.checks import CHECKS
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import events

from anticheat.models import Case, Ruling
from anticheat.services.rulings import ruling_make
from config.audit import HOUSE
from leaderboards.services.scores import Item, Outcome, scores_submit
from leaderboards.wire import ValueBounds
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from players.models import Game
from players.scopes import Scope
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of
from tests.live import Web

CODES = {
    400: {"invalid_request"},
    401: {"unauthenticated"},
    403: {"forbidden"},
    404: {"not_found", "game_not_found", "mode_not_found", "player_not_found", "window_not_found", "scope_not_found"}
    | {"attempt_not_found"},
    405: {"method_not_allowed"},
    409: {"attempt_conflict", "rule_locked", "ruling_refused"},
    413: {"payload_too_large"},
    415: {"unsupported_media_type"},
    422: {"score_out_of_bounds", "time_out_of_range", "window_closed", "token_invalid", "token_expired"}
    | {"token_cap_exceeded", "player_banned", "mode_inactive"},
    429: {"rate_limited"},
    503: {"unavailable"},
}
CHECKED = [
    "not_a_server_error",
    "status_code_conformance",
    "content_type_conformance",
    "response_schema_conformance",
    "response_headers_conformance",
    "negative_data_rejection",
    "unsupported_method",
    "allow_header_conformance",
    "told_as_promised",
]
DRAWN = {"get": 20, "delete": 20, "put": 50, "post": 50}  # cases for each operation; each is sent by two callers
FUZZ = settings(
    phases=[Phase.explicit, Phase.generate, Phase.shrink],
    suppress_health_check=list(HealthCheck),
)


def assert_told_as_promised(status: int, headers: Any, content: bytes) -> None:
    assert headers["x-request-id"], "an answer without X-Request-Id"
    if status < 400:
        return
    assert headers["content-type"] == "application/problem+json", f"{status} as {headers['content-type']}"
    told = json.loads(content)
    assert told["status"] == status
    assert told["request_id"] == headers["x-request-id"]
    assert told["code"] in CODES[status], f"{status} {told['code']}"


def told_as_promised(ctx: Any, response: Any, case: Any) -> None:
    first = {name: values[0] for name, values in response.headers.items()}
    assert_told_as_promised(response.status_code, first, response.content)


class People:
    """Who calls, and about what: mostly with a good key and of what exists, and a share of everyone and all else."""

    def __init__(self) -> None:
        self.answers: Counter[int] = Counter()
        arena, other = make_game("arena"), make_game("other", public=False)
        for game in (arena, other):
            make_mode(game)
            # one that nobody changes, with all that a mode can say
            bounds = {"level:7": ValueBounds(max_score=Decimal("59.9"))}
            dimensions = ("country", "level")
            make_mode(game, "lap", decimals=3, min_score=0, max_score=60, dimensions=dimensions, bounds=bounds)
            make_player(game, "p-17", country="DE")
        self._attempt = str(self._play(arena))
        self._case, self._ruling = self._judge(arena)
        self._called = ""
        self._key = make_key(arena)
        self._others = [
            self._key,
            make_token(arena, "p-17"),
            make_token(arena, "p-18"),
            make_key(arena, Scope.READ, Scope.SUBMIT),
            make_key(other),
            make_token(other, "p-17"),
            make_token(arena, "p-17", ttl=-1),
            "rung_00000000_" + "0" * 48,
            "garbage",
            None,
        ]

    def _play(self, game: Game) -> UUID:
        sent = Submission(score=Decimal(7), player_id="p-17")
        item = Item(game.modes.get(slug="lap"), sent)
        (outcome,) = scores_submit(game=record_of(game), caller=Caller(Kind.KEY, game.slug), items=[item])
        assert isinstance(outcome, Outcome)
        return outcome.attempt_id

    def _judge(self, game: Game) -> tuple[int, int]:
        player = game.players.get(player_id="p-17")
        case = Case.objects.create(game=game, mode=game.modes.get(slug="lap"), player=player, risk=0.5, rank=1)
        ruling = Ruling(kind=Ruling.Kind.SHADOW, game=game, player=player, reason="Too fast.")
        return case.pk, ruling_make(ruling=ruling, by=HOUSE, now=datetime.now(UTC)).pk

    def cast(self, case: Any) -> None:
        """Chosen by the call's own content: the same call is made the same way when a failure is narrowed down."""
        content = (case.method, case.path, case.path_parameters, case.body)
        chosen = Random(repr(content))  # noqa: S311 - not a secret
        if case.id == self._called:  # the second time, somebody else calls
            self._authorize(case, chosen.choice(self._others))
            return
        self._called = case.id
        self._authorize(case, self._key if chosen.random() < 0.8 else chosen.choice(self._others))
        existing = {"game": "arena", "mode": "solo", "player_id": chosen.choice(["p-17", "p-1", "p-2"])}
        existing |= {"attempt_id": self._attempt, "case": self._case, "ruling": self._ruling}
        existing["window"] = chosen.choice(["daily", "weekly", "alltime"])
        declared = {parameter.name for parameter in case.operation.query}
        for name in set(case.query or {}) - declared:  # is ignored; and the path may be made good here
            del case.query[name]
        for name in case.path_parameters or {}:
            # a game that is not there hides all else; its mode or player may well be new
            if chosen.random() < (0.9 if name == "game" else 0.6):
                case.path_parameters[name] = existing[name]
        if isinstance(case.body, dict) and isinstance(case.body.get("timezone"), str) and chosen.random() < 0.8:
            case.body["timezone"] = "Europe/Berlin"  # few texts are one

    def _authorize(self, case: Any, credential: str | None) -> None:
        case.headers.pop("Authorization", None)
        if credential:
            case.headers["Authorization"] = f"Bearer {credential}"


@pytest.fixture
def people(web: Web) -> Iterator[People]:
    playing = People()
    schemathesis.check(told_as_promised)

    @schemathesis.hook
    def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
        playing.cast(case)

    @schemathesis.hook
    def after_call(context: Any, case: Any, response: Any) -> None:
        playing.answers[response.status_code] += 1

    yield playing
    schemathesis.hooks.unregister_all()
    CHECKS.unregister("told_as_promised")


@pytest.fixture
def schema(web: Web) -> Any:
    config = {
        "continue-on-failure": True,
        "generation": {"mode": "all", "deterministic": True, "database": "none"},
        "phases": {"fuzzing": {"enabled": False}, "stateful": {"enabled": False}},
        "checks": {"enabled": False, **{name: {"enabled": True} for name in CHECKED}},
    }
    return schemathesis.openapi.from_url(f"{web.origin}/v1/openapi.json", config=SchemathesisConfig.from_dict(config))


def test_the_openapi_document_is_one(schema: Any) -> None:
    schema.validate()


@pytest.mark.slow
def test_every_edge_that_the_schema_names_is_answered_as_the_schema_allows(people: People, schema: Any) -> None:
    """Examples, and systematically each bound, type, enum, pattern and method, on it and beyond it."""
    failures = list(_failures(schema))
    assert not failures, "\n\n".join([*failures[:10], f"{len(failures)} in all"])
    assert people.answers.total() > 300
    assert {200, 400, 401, 404, 405, 415} <= set(people.answers), people.answers


@pytest.mark.slow
def test_whatever_is_made_up_from_the_schema_is_answered_as_the_schema_allows(people: People, schema: Any) -> None:
    checks = CHECKS.get_by_names(CHECKED)
    with requests.Session() as session:
        for operation in (found.ok() for found in schema.get_all_operations()):
            # where there is nothing to fill in there is nothing to get wrong
            modes = list(GenerationMode) if operation.path_parameters else [GenerationMode.POSITIVE]

            @settings(FUZZ, max_examples=DRAWN[operation.method])
            @given(case=st.one_of([operation.as_strategy(generation_mode=mode) for mode in modes]))
            def each(case: Any) -> None:
                for _ in range(2):
                    case.validate_response(case.call(session=session), checks=checks)

            each()
    assert people.answers.total() >= 1500, people.answers
    # it all came past the doors: each thing was read, written and refused
    assert {200, 201, 204, 400, 401, 403, 404} <= set(people.answers), people.answers


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/metrics", "/v1/openapi.json", "/v1/docs"])
def test_what_is_not_in_the_schema_bears_any_method_query_and_body(web: Web, path: str) -> None:
    with httpx.Client(timeout=60) as client:

        @settings(FUZZ, max_examples=60)
        @given(
            method=st.sampled_from(["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "BREW"]),
            tail=st.one_of(st.just(""), st.text("/", max_size=3), st.text(max_size=20).map(quote)),
            query=st.dictionaries(st.text(max_size=10), st.text(max_size=20), max_size=5),
            accept=st.sampled_from(["*/*", "text/html", "application/xml", "", ";;;"]),
            body=st.binary(max_size=200),
        )
        def each(method: str, tail: str, query: dict[str, str], accept: str, body: bytes) -> None:
            address = f"{web.origin}{path}{tail}?{urlencode(query)}"
            answer = client.request(method, address, content=body, headers={"Accept": accept})
            assert answer.status_code in {200, 400, 404, 405}
            if method == "HEAD":
                assert answer.headers["x-request-id"]
            else:
                assert_told_as_promised(answer.status_code, answer.headers, answer.content)

        each()


def _failures(schema: Any) -> Iterator[str]:
    for event in engine.from_schema(schema).execute():
        if isinstance(event, events.NonFatalError | events.FatalError):
            yield f"the fuzzer itself failed: {event}"
        if isinstance(event, events.ScenarioFinished):
            for nodes in event.recorder.checks.values():
                for failed in (node.failure_info for node in nodes if node.failure_info is not None):
                    yield f"{event.recorder.label}: {failed.failure}\n{failed.code_sample}"
