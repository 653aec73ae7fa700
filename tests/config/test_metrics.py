"""/metrics: what was answered, by routes that there are, added up over all processes of one port."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from config import metrics
from tests import live
from tests.client import ApiClient, told
from tests.embedded.processes_of import wait_until


def _samples(text: str, name: str) -> dict[tuple[tuple[str, str], ...], float]:
    return {
        tuple(sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name
    }


def _requests(text: str, **labels: str) -> float:
    found = _samples(text, "rung_http_requests_total")
    return sum(value for at, value in found.items() if labels.items() <= dict(at).items())


def test_a_request_is_counted_by_method_route_and_status_and_timed(api: ApiClient) -> None:
    before = api.get("/metrics").text
    assert api.get("/v1/games/nowhere").status_code == 404
    assert api.get("/v1/games/elsewhere").status_code == 404
    after = api.get("/metrics").text
    labels = {"method": "GET", "route": "/v1/games/<str:game>", "status": "404"}
    assert _requests(after, **labels) - _requests(before, **labels) == 2
    timed = (("method", "GET"), ("route", "/v1/games/<str:game>"))
    name = "rung_http_request_seconds_count"
    assert _samples(after, name)[timed] - _samples(before, name).get(timed, 0) == 2


def test_addresses_that_do_not_exist_and_odd_methods_make_no_labels(api: ApiClient) -> None:
    def known() -> set[tuple[tuple[str, str], ...]]:
        return set(_samples(api.get("/metrics").text, "rung_http_requests_total"))

    api.get("/nowhere")
    api("BREW", "/nowhere")
    api.get("/metrics")
    before, text = known(), api.get("/metrics").text
    for number in range(20):
        api.get(f"/wp-admin/{number}")
        api(f"BREW{number}", f"/tea/{number}")
    assert known() == before
    grown = _requests(api.get("/metrics").text, route="unmatched") - _requests(text, route="unmatched")
    assert grown == 40


@pytest.mark.django_db(transaction=True)
def test_several_web_processes_add_up_whichever_answers(tmp_path: Path) -> None:
    folder = tmp_path / "metrics"
    folder.mkdir()
    with (
        live.web(tmp_path, RUNG_WEB_PROCESSES="2", PROMETHEUS_MULTIPROC_DIR=str(folder)) as web,
        httpx.Client(base_url=web.origin, headers={"Connection": "close"}, timeout=60) as caller,
    ):
        for _ in range(40):
            assert caller.get("/v1/games").status_code == 200
        # each tells once a second, by itself: to ask would have it tell at once
        wait_until(lambda: len(list(folder.glob("counter_*.db"))) >= 2 and _told(folder) == 40, seconds=30)
        for _ in range(6):
            assert _requests(caller.get("/metrics").text, route="/v1/games", status="200") == 40


def _told(folder: Path) -> float:
    registry = CollectorRegistry()
    MultiProcessCollector(registry, path=str(folder))  # type: ignore[no-untyped-call]
    return _requests(generate_latest(registry).decode(), route="/v1/games", status="200")


@hypothesis_settings(max_examples=30)  # each is told with all that others have measured
@given(st.lists(st.floats(0, 20) | st.sampled_from(metrics.BOUNDS), max_size=20))
def test_what_is_added_up_is_told_as_if_each_had_been_observed(took: list[float]) -> None:
    """The library's own way, one at a time, is what it is held against."""
    registry = CollectorRegistry()
    alone = Histogram("alone", "", registry=registry, buckets=metrics.BOUNDS)
    before = _buckets(metrics.exposition().decode())
    for seconds in took:
        alone.observe(seconds)
        metrics.answered("GET", "/told", 200, seconds)
    shown = _buckets(metrics.exposition().decode())
    expected = {labels["le"]: value for labels, value in _of(generate_latest(registry).decode(), "alone_bucket")}
    assert {bound: shown.get(bound, 0) - before.get(bound, 0) for bound in expected} == expected


def _of(text: str, name: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(labels), value) for labels, value in _samples(text, name).items()]


def _buckets(text: str) -> dict[str, float]:
    found = _of(text, "rung_http_request_seconds_bucket")
    return {labels["le"]: value for labels, value in found if labels["route"] == "/told"}


TOKEN = "5d0a2a0a1b0d9bb2c7e3a4f6190c8e7b"
HERE, PROXY, STRANGER = "127.0.0.1", "10.0.0.2", "203.0.113.9"


@pytest.fixture
def production(api: ApiClient, settings: Settings) -> ApiClient:
    settings.PRODUCTION, settings.METRICS_TOKEN = True, TOKEN
    return api


def _asked(api: ApiClient, address: str, **headers: Any) -> httpx.Response:
    api.transport.client = (address, 50_000)
    return api.get("/metrics", headers={name.replace("_", "-"): value for name, value in headers.items()})


@pytest.mark.parametrize(
    ("proxies", "way", "shown"),
    [
        (0, (HERE, ""), True),
        (0, ("::1", ""), True),
        (0, ("::ffff:127.0.0.1", ""), True),
        (0, (STRANGER, ""), False),
        (0, ("::ffff:203.0.113.9", ""), False),
        (0, (STRANGER, HERE), False),  # anybody may write that
        (0, (HERE, STRANGER), False),  # through a proxy that nobody has told of
        (0, (HERE, HERE), False),
        (1, (HERE, ""), True),
        (1, (HERE, STRANGER), False),
        (1, (HERE, f"{HERE}, {STRANGER}"), False),
        (1, (PROXY, HERE), True),
        (1, (PROXY, ""), False),
        (1, (HERE, "unknown"), False),
        (2, (HERE, STRANGER), False),  # past one of two
        (2, (HERE, HERE), False),
        (2, (HERE, f"{HERE}, {STRANGER}, {PROXY}"), False),
    ],
)
def test_in_production_strangers_do_not_see_how_much_is_played(
    production: ApiClient, settings: Settings, proxies: int, way: tuple[str, str], shown: bool
) -> None:
    settings.PROXIES = proxies
    address, forwarded = way
    answer = _asked(production, address, **({"X_Forwarded_For": forwarded} if forwarded else {}))
    if shown:
        assert (answer.status_code, "rung_http_requests_total" in answer.text) == (200, True)
    else:
        assert told(answer) == (401, "unauthenticated")
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}", f"bearer  {TOKEN}"])
def test_whoever_has_the_token_sees_them_from_anywhere(production: ApiClient, given: str) -> None:
    assert _asked(production, STRANGER, Authorization=given).status_code == 200


@pytest.mark.parametrize(
    "given", ["", "Bearer", "Bearer ", f"Basic {TOKEN}", TOKEN, f"Bearer {TOKEN}x", "Bearer \u00fc"]
)
@pytest.mark.parametrize("known", [TOKEN, ""])
def test_whoever_has_another_does_not(production: ApiClient, settings: Settings, given: str, known: str) -> None:
    settings.METRICS_TOKEN = known
    assert told(_asked(production, STRANGER, Authorization=given.encode("latin-1"))) == (401, "unauthenticated")


def test_in_development_everybody_sees_them(api: ApiClient) -> None:
    assert _asked(api, STRANGER).status_code == 200


def test_several_processes_are_added_up_once_a_second_however_often_that_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMETHEUS_MULTIPROC_DIR", str(tmp_path))
    merged, now = list[CollectorRegistry](), [1000.0]

    def merge(registry: CollectorRegistry) -> None:
        merged.append(registry)
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(metrics, "MultiProcessCollector", merge)
    monkeypatch.setattr(metrics, "monotonic", lambda: now[0])
    monkeypatch.setattr(metrics, "_merged", (0.0, b""))
    for _ in range(20):
        metrics.exposition()
    assert len(merged) == 1
    now[0] += 1.01
    metrics.exposition()
    assert len(merged) == 2
