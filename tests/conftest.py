"""Fixtures for all tests. Stores are real; each test finds them empty."""

from collections.abc import Iterator

import pytest
from django.conf import settings

from config import recall, valkey
from leaderboards.histograms import histograms
from tests import live
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
    yield
    for url in {settings.VALKEY_URL, settings.BROKER_URL, settings.CHANNELS_URL, settings.CACHE_URL}:
        valkey.client(url).flushdb()
    histograms.forget()
    recall.forget()  # what the database has rolled back must not be remembered either


@pytest.fixture
def api(db: None) -> ApiClient:
    """The whole ASGI application, from the door on, in the test's own transaction."""
    return ApiClient()


@pytest.fixture(scope="session")
def _web_process(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[live.Web]:
    with live.web(tmp_path_factory.mktemp("web")) as running:
        yield running


@pytest.fixture
def web(_web_process: live.Web, transactional_db: None) -> live.Web:
    """A real web process on a port of its own, on the worker's database."""
    return _web_process
