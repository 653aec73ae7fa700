"""Fixtures for all tests. Stores are real; each test finds them empty."""

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import hypothesis
import pytest
from django.conf import settings as django_settings
from django.contrib.auth.models import User
from django.db import connection
from django.test import TransactionTestCase
from pytest_django import DjangoDbBlocker, Settings

from config import clock, hashing, recall, valkey
from config.buckets import buckets
from leaderboards.histograms import histograms
from leaderboards.history import cohorts
from leaderboards.waiting import names
from tests import cluster, emptying, live
from tests.client import ApiClient
from tests.silence import Silent, silent_server

_DAY = 86_400.0  # seconds
_MORNING, _EVENING = 30.0, _DAY - 90
hypothesis.settings.register_profile(
    "rung",
    deadline=None,  # no test fails on a time
    derandomize="RUNG_RANDOM" not in os.environ,  # the same examples every time; RUNG_RANDOM=1 takes new ones
    database=None,
)
hypothesis.settings.load_profile("rung")


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
    untrained = [one for one in terminalreporter.stats.get("skipped", []) if "scikit-learn" in str(one.longrepr)]
    if untrained:
        terminalreporter.section("NO MODEL WAS TRAINED", sep="!", red=True, bold=True)
        terminalreporter.line(
            f"NO MODEL WAS TRAINED: scikit-learn is not installed, so {len(untrained)} tests were skipped.", red=True
        )


def pytest_runtest_setup(item: pytest.Item) -> None:
    """No test begins where a day ends or has just begun: what it calls today would be two days. Those about midnight
    bring a clock of their own.
    """
    now = datetime.now(UTC)
    since = (now - now.replace(hour=0, minute=0, second=0, microsecond=0)).total_seconds()
    if since < _MORNING:
        time.sleep(_MORNING - since)
    elif since > _EVENING:
        time.sleep(_DAY - since + _MORNING)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> None:
    """The audit cannot be emptied, not even between tests; that once, in a database of tests, it may."""
    with django_db_blocker.unblock(), connection.cursor() as cursor:
        cursor.execute("ALTER TABLE anticheat_auditentry DISABLE TRIGGER audit_no_truncate")
        cursor.execute("ALTER TABLE anticheat_audithead DISABLE TRIGGER audit_head_no_truncate")
        emptying.prepare()


@pytest.fixture(autouse=True, scope="session")
def _emptied_quickly() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _test: emptying.empty())
        yield


@pytest.fixture(autouse=True, scope="session")
def _turns_without_rest() -> Iterator[None]:
    """Many tests try one password after another."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(hashing, "_RESTS", 0)
        yield


@pytest.fixture
def admin_user(db: None) -> User:
    """Without a password: to make one takes a third of a second, on purpose."""
    return User.objects.create(username="admin", is_staff=True, is_superuser=True)


@pytest.fixture(autouse=True)
def _one_clock(request: pytest.FixtureRequest) -> Iterator[None]:
    """A test that travels takes the database along: whatever the clocks say, they agree. But for `two_clocks`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "_ahead", timedelta(0))
        if "two_clocks" not in request.keywords:
            patch.setattr(clock, "MOST", timedelta.max)
        yield


@pytest.fixture(autouse=True)
def _empty_valkey() -> Iterator[None]:
    """The worker's own four databases, not the server."""
    own = django_settings
    yield
    for url in {own.VALKEY_URL, own.BROKER_URL, own.CHANNELS_URL, own.CACHE_URL}:
        valkey.client(url).flushdb()
    histograms.forget()
    cohorts.forget()
    names.forget()
    buckets.forget()
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
def silent() -> Iterator[Silent]:
    with silent_server() as server:
        yield server


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
def web(_web_process: live.Web, transactional_db: None) -> Iterator[live.Web]:
    """A real web process on a port of its own, on the worker's database. What it said is shown where a test fails."""
    before = len(_web_process.said())
    yield _web_process
    print(_web_process.said()[before:][-10_000:])  # noqa: T201 - see above
