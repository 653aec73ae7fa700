"""Driving the spine in tests: from the log to the boards, in this process."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from django.db import connection

from leaderboards.drain import stream_drain
from leaderboards.histograms import histograms
from leaderboards.models import Mode, Outbox


def drain(mode: Mode, *, now: datetime | None = None) -> None:
    for shard in range(mode.shards):
        stream_drain(mode_id=mode.pk, shard=shard, now=now or datetime.now(UTC))
    histograms.forget()  # what checks looked at on the way is held by the drainer, which is another process


@contextmanager
def drained(mode: Mode) -> Iterator[None]:
    """A consumer beside the caller, as in the product."""
    ended = threading.Event()

    def consume() -> None:
        try:
            while not ended.wait(0.02):
                if Outbox.objects.filter(mode=mode).exists():
                    drain(mode)
        finally:
            connection.close()

    consumer = threading.Thread(target=consume)
    consumer.start()
    try:
        yield
    finally:
        ended.set()
        consumer.join()
