"""Driving the spine in tests: from the log to the boards, in this process."""

from datetime import UTC, datetime

from leaderboards.drain import stream_drain
from leaderboards.models import Mode


def drain(mode: Mode, *, now: datetime | None = None) -> None:
    for shard in range(mode.shards):
        stream_drain(mode_id=mode.pk, shard=shard, now=now or datetime.now(UTC))
