"""Whoever raises it, an error is told in the contract's words; a defect of ours is not taken for a caller's mistake."""

import json

import pytest
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from django.test import RequestFactory
from rest_framework import exceptions as drf

from config import errors, problem
from config.request_context import begin
from leaderboards.errors import RuleLocked
from players.errors import GameNotFound, PlayerBanned

TOLD = [
    (GameNotFound("There is no game."), 404, "game_not_found"),
    (PlayerBanned(), 422, "player_banned"),
    (RuleLocked(), 409, "rule_locked"),
    (Http404("secret pattern"), 404, "not_found"),
    (drf.NotFound(), 404, "not_found"),
    (PermissionDenied(), 403, "forbidden"),
    (drf.PermissionDenied(), 403, "forbidden"),
    (drf.NotAuthenticated(), 401, "unauthenticated"),
    (drf.AuthenticationFailed(), 401, "unauthenticated"),
    (drf.MethodNotAllowed("BREW"), 405, "method_not_allowed"),
    (drf.UnsupportedMediaType("text/plain"), 415, "unsupported_media_type"),
    (RequestDataTooBig(), 413, "payload_too_large"),
    (SuspiciousOperation(), 400, "invalid_request"),
    (drf.ParseError(), 400, "invalid_request"),
    (drf.ValidationError({"name": ["wrong"]}), 400, "invalid_request"),
]


@pytest.mark.parametrize(("raised", "status", "code"), TOLD, ids=[type(row[0]).__name__ for row in TOLD])
def test_what_a_framework_raises_is_told_with_a_code_of_the_contract(raised: Exception, status: int, code: str) -> None:
    begin("the-request")
    response = problem.drf_handler(raised, {})
    assert response is not None
    told = json.loads(response.content)
    assert (response.status_code, told["status"], told["code"]) == (status, status, code)
    assert (response["Content-Type"], response["Cache-Control"]) == ("application/problem+json", "no-store")
    assert told["request_id"] == "the-request"
    assert told["detail"].endswith((".", "}"))
    assert "secret" not in told["detail"]


@pytest.mark.parametrize(
    "raised", [ValueError("x"), KeyError("x"), RecursionError(), UnicodeDecodeError("u", b"", 0, 1, "")]
)
def test_a_defect_of_ours_is_not_told_as_a_callers_mistake(raised: Exception) -> None:
    assert problem.drf_handler(raised, {}) is None


def test_when_to_try_again_is_in_the_body_and_in_the_header() -> None:
    response = problem.response_to(errors.RateLimited(retry_after=7))
    assert (response["Retry-After"], json.loads(response.content)["retry_after"]) == ("7", 7)


def test_what_does_not_apply_is_left_out() -> None:
    response = problem.response_to(errors.NotFound())
    assert set(json.loads(response.content)) == {"type", "title", "status", "detail", "code", "request_id"}
    assert "Retry-After" not in response
    assert "WWW-Authenticate" not in response


def test_who_is_not_known_is_told_how_to_be() -> None:
    assert problem.response_to(errors.Unauthenticated())["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/v1", True),
        ("/v1/", True),
        ("/v1/games", True),
        ("/livez", True),
        ("/v10", False),
        ("/", False),
        ("/g/v1/", False),
    ],
)
def test_api_calls_get_problems_and_people_get_pages(path: str, wanted: bool) -> None:
    assert problem.wants_problem(RequestFactory().get(path)) is wanted
