"""Fixtures for all tests. Stores are real; each test finds them empty."""

from collections.abc import Iterator

import pytest
from django.conf import settings as django_settings
from pytest_django import Settings

from config import recall, valkey
from leaderboards.histograms import histograms
from tests import cluster, live
from tests.client import ApiClient


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A skipped test is easily overlooked; that no page was looked at must not be."""
    skipped = [one for one in terminalreporter.stats.get("skipped", []) if "no Chromium" in str(one.longrepr)]
    if skipped:
        terminalreporter.section("PAGES WERE NOT TESTED", sep="!", red=True, bold=True)
        terminalreporter.line(
            f"PAGES WERE NOT TESTED: no Chromium on PATH, so {len(skipped)} tests were skipped. Install it, run again.",
            red=True,
            bold=True,
        )


@pytest.fixture(autouse=True)
def _empty_valkey() -> Iterator[None]:
    """The worker's own four databases, not the server."""
    own = django_settings
    yield
    for url in {own.VALKEY_URL, own.BROKER_URL, own.CHANNELS_URL, own.CACHE_URL}:
        valkey.client(url).flushdb()
    histograms.forget()
    recall.forget()  # what the database has rolled back must not be remembered either


@pytest.fixture(scope="session")
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[cluster.Cluster]:
    with cluster.cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


@pytest.fixture
def on_a_cluster(_cluster: cluster.Cluster, settings: Settings) -> Iterator[cluster.Cluster]:
    """The boards are there; all else stays on the plain server."""
    settings.VALKEY_URL = _cluster.url
    valkey.client.cache_clear()  # a replica that came back is not known to who has seen it go
    yield _cluster
    _cluster.empty()


@pytest.fixture(params=["one server", "a cluster"])
def wherever_boards_are(request: pytest.FixtureRequest) -> None:
    if request.param == "a cluster":
        request.getfixturevalue("on_a_cluster")


@pytest.fixture
def api(db: None) -> ApiClient:
    """The whole ASGI application, from the door on, in the test's own transaction."""
    return ApiClient()


@pytest.fixture(scope="session")
def _web_process(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[live.Web]:
    # which tests write to boards by hand, and is not to mend what they do
    with live.web(tmp_path_factory.mktemp("web"), RUNG_WATCH_BOARDS="0") as running:
        yield running


@pytest.fixture
def web(_web_process: live.Web, transactional_db: None) -> live.Web:
    """A real web process on a port of its own, on the worker's database."""
    return _web_process
