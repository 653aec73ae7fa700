"""Prometheus metrics of this process, and of its siblings where several processes serve one port."""

import os

from prometheus_client import REGISTRY as PROCESS_REGISTRY
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.multiprocess import MultiProcessCollector

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

REQUESTS = Counter("rung_http_requests", "Requests answered", ["method", "route", "status"])
SECONDS = Histogram(
    "rung_http_request_seconds",
    "Time from the first byte of a request to the end of its answer",
    ["method", "route"],
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
SOCKETS = Counter("rung_ws_connections", "WebSockets opened")
STORE_FAILURES = Counter("rung_store_failures", "Calls to a store that failed and were survived", ["store"])
CHECKS_FAILED = Counter("rung_score_checks_failed", "Checks that raised; what they should have judged waits", ["check"])
BATCHES_SET_ASIDE = Counter("rung_batches_set_aside", "Batches that could not be applied and were set aside", ["kind"])
BOARD_LAG = Gauge(
    "rung_board_lag_seconds", "Age of the oldest score that no board shows yet", multiprocess_mode="mostrecent"
)
BOARDS_ALTERED = Counter("rung_boards_altered", "Boards that somebody else has written to, which were made again")
BOARD_DIFFERENCES = Counter("rung_board_differences", "What reconcile found other than PostgreSQL says", ["what"])
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


def exposition() -> bytes:
    if "PROMETHEUS_MULTIPROC_DIR" not in os.environ:
        return generate_latest(PROCESS_REGISTRY)
    registry = CollectorRegistry()
    MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    ProcessCollector(registry=registry)
    return generate_latest(registry)
