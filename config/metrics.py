"""Prometheus metrics of this process, and of its siblings where several processes serve one port."""

import atexit
import os
import threading
from bisect import bisect_left
from time import monotonic

from prometheus_client import REGISTRY as PROCESS_REGISTRY
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SECOND = 1.0

REQUESTS = Counter("rung_http_requests", "Requests answered", ["method", "route", "status"])
SECONDS = Histogram(
    "rung_http_request_seconds",
    "Time from the first byte of a request to the end of its answer",
    ["method", "route"],
    buckets=BOUNDS,
)
CONNECTIONS_OPEN = Gauge("rung_connections_open", "Connections to the web port", multiprocess_mode="livesum")
CONNECTIONS_CLOSED = Counter("rung_connections_closed", "Connections that we closed by force, and why", ["why"])
SHED = Counter("rung_requests_shed", "Requests refused because too many were waiting", ["queue"])
ABANDONED = Counter("rung_requests_abandoned", "Requests whose caller left before their turn", ["queue"])
SIGN_INS = Counter("rung_sign_ins", "Tries to sign in to the admin, and what came of them", ["outcome"])
SOCKETS = Counter("rung_ws_connections", "WebSockets opened")
SOCKETS_OPEN = Gauge("rung_ws_open", "WebSockets that are open", multiprocess_mode="livesum")
SOCKETS_CLOSED = Counter("rung_ws_closed", "WebSockets that we closed, and why", ["why"])
SOCKET_MESSAGES = Counter("rung_ws_messages", "Messages sent to WebSockets")
SUBSCRIPTIONS = Gauge("rung_ws_subscriptions", "Boards and ranks that WebSockets watch", multiprocess_mode="livesum")
ANNOUNCEMENTS = Counter("rung_announcements", "States of watched boards that workers sent to web processes")
ANNOUNCEMENTS_LOST = Counter("rung_announcements_lost", "Of those, what the channel layer lost on the way")
STORE_FAILURES = Counter("rung_store_failures", "Calls to a store that failed and were survived", ["store"])
REPLICA_PASSED_OVER = Counter(
    "rung_replica_passed_over", "Reads for PostgreSQL's replica that its primary did", ["why"]
)
CHECKS_FAILED = Counter("rung_score_checks_failed", "Checks that raised; what they should have judged waits", ["check"])
VERDICTS = Counter("rung_verdicts", "Attempts that a check had something to say of", ["check", "verdict"])
PACE_UNKNOWN = Counter("rung_pace_unknown", "Scores let through without their pace: the cache server did not answer")
BUCKETS_ALONE = Counter(
    "rung_limits_alone", "Calls counted by their process alone: the cache server did not answer for their limits"
)
BATCHES_SET_ASIDE = Counter("rung_batches_set_aside", "Batches that could not be applied and were set aside", ["kind"])
BOARD_LAG = Gauge(
    "rung_board_lag_seconds", "Age of the oldest score that no board shows yet", multiprocess_mode="mostrecent"
)
BOARDS_ALTERED = Counter("rung_boards_altered", "Boards that somebody else has written to, which were made again")
BOARD_DIFFERENCES = Counter("rung_board_differences", "What reconcile found other than PostgreSQL says", ["what"])
CLOCK_AHEAD = Gauge(
    "rung_clock_ahead_seconds",
    "How far this machine's clock is ahead of the database's",
    multiprocess_mode="mostrecent",
)
DELETIONS_REFUSED = Counter("rung_deletions_refused", "Times that nothing was deleted because the clocks differed")
HISTOGRAM_AGE = Gauge(
    "rung_histogram_age_seconds",
    "Age that the oldest histogram of a board had reached when it was made again",
    multiprocess_mode="mostrecent",
)
HISTOGRAM_ERROR = Histogram(
    "rung_histogram_error_share",
    "How far estimated ranks were from exact ones, as a share of the board",
    buckets=(0.0001, 0.00025, 0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5),
)


class _Answered:
    """Requests of one kind, added up here: to tell of each at once, where several processes serve, takes as long as
    a third of an answer.
    """

    __slots__ = ("buckets", "count", "seconds")

    def __init__(self) -> None:
        self.count, self.seconds, self.buckets = 0, 0.0, [0] * (len(BOUNDS) + 1)


_answered: dict[tuple[str, str, int], _Answered] = {}
_adding = threading.Lock()
_merged = (-_SECOND, b"")  # when, and what several processes came to
_merging = threading.Lock()


def answered(method: str, route: str, status: int, seconds: float) -> None:
    """Shown within a second."""
    with _adding:
        kind = _answered.get((method, route, status))
        if kind is None:
            kind = _answered[method, route, status] = _Answered()
        kind.count += 1
        kind.seconds += seconds
        kind.buckets[bisect_left(BOUNDS, seconds)] += 1


def tell() -> None:
    """What has been added up. The library has no way to observe many at once but this."""
    with _adding:
        told = dict(_answered)
        _answered.clear()
    for (method, route, status), kind in told.items():
        REQUESTS.labels(method, route, status).inc(kind.count)
        histogram = SECONDS.labels(method, route)
        histogram._sum.inc(kind.seconds)  # noqa: SLF001
        for bucket, count in zip(histogram._buckets, kind.buckets, strict=True):  # noqa: SLF001
            if count:
                bucket.inc(count)


def tell_meanwhile() -> None:
    """For as long as this process lives."""

    def telling() -> None:
        pause = threading.Event()
        while not pause.wait(_SECOND):
            tell()

    threading.Thread(target=telling, name="metrics", daemon=True).start()
    atexit.register(tell)


def exposition() -> bytes:
    """Of several processes at most a second old: to add them up takes a tenth of one."""
    global _merged  # noqa: PLW0603 - one for the process
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        tell()
        return generate_latest(PROCESS_REGISTRY)
    with _merging:
        if monotonic() - _merged[0] > _SECOND:
            tell()
            registry = CollectorRegistry()
            MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
            ProcessCollector(registry=registry)
            _merged = monotonic(), generate_latest(registry)
        return _merged[1]
