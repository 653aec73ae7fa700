"""/metrics: what was answered, by routes that there are, added up over all processes of one port."""

from pathlib import Path

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.parser import text_string_to_metric_families

from config import metrics
from tests import live
from tests.client import ApiClient
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


@settings(max_examples=30)  # each is told with all that others have measured
@given(st.lists(st.floats(0, 20) | st.sampled_from(metrics.BOUNDS), max_size=20))
def test_what_is_added_up_is_told_as_if_each_had_been_observed(took: list[float]) -> None:
    """The library's own way, one at a time, is what it is held against."""
    registry = CollectorRegistry()
    alone = Histogram("alone", "", registry=registry, buckets=metrics.BOUNDS)
    before = _buckets(metrics.exposition().decode())
    for seconds in took:
        alone.observe(seconds)
        metrics.answered("GET", "/told", 200, seconds)
    told = _buckets(metrics.exposition().decode())
    expected = {labels["le"]: value for labels, value in _of(generate_latest(registry).decode(), "alone_bucket")}
    assert {bound: told.get(bound, 0) - before.get(bound, 0) for bound in expected} == expected


def _of(text: str, name: str) -> list[tuple[dict[str, str], float]]:
    return [(dict(labels), value) for labels, value in _samples(text, name).items()]


def _buckets(text: str) -> dict[str, float]:
    found = _of(text, "rung_http_request_seconds_bucket")
    return {labels["le"]: value for labels, value in found if labels["route"] == "/told"}
