"""Scores to thousands of sockets: how long until the last has seen one, what a socket weighs, what pushing costs.

A few batches a second, each with a probe that leads the board from then on and is better than the one before. When a
socket is told of a leader that is as good, it has been told of the probe. All of it in one process that does nothing
else, so that what it is late itself counts as well.
"""

import gc
import select
import socket
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import mix, writes
from bench.connections import children, resident
from bench.fill import PROBES, Filled
from bench.sockets import Socket, Sockets, dropped, stalled

RATES = (100, 1000)  # scores a second
BATCHES = 20  # a second, whatever the rate
FEW = 10  # sockets, so that what the first of all costs is not counted
_TICKS = 100  # of /proc, a second
_SETTLES = 1.0  # seconds
_SEEN_WITHIN = 10.0  # seconds, for what was sent last


@dataclass(frozen=True, slots=True)
class Fanout:
    """For so many seconds each. `pids` of web and worker."""

    port: int
    filled: Filled
    start: int  # serial of the first score
    sockets: int
    stalled: int
    seconds: float
    slow_seconds: float  # after which a socket that does not read is dropped
    pids: tuple[int, ...]

    @property
    def serials(self) -> int:
        """That are enough."""
        return int((2 * sum(RATES) * self.seconds) + RATES[-1] * (2 * self.seconds + 3 * self.slow_seconds)) + 10_000


@dataclass(frozen=True, slots=True)
class Fanned:
    p50_ms: float
    p99_ms: float
    stalled_p99_ms: float
    bytes_per_socket: float
    cpu: dict[int, float]  # seconds a second, by rate: more than without sockets
    dropped: int
    failures: int


def fanout(job: Fanout) -> Fanned:
    """In the calling process."""
    gc.disable()
    sockets, posting = Sockets(job.port), _Posting(job)
    try:
        _phase(job, sockets, posting, RATES[-1])  # whatever comes first costs more
        alone = {rate: _phase(job, sockets, posting, rate).cpu for rate in RATES}
        sockets.add(FEW)
        weighed = resident(job.pids[0])
        sockets.add(job.sockets - FEW)
        each = max(0, resident(job.pids[0]) - weighed) / max(1, job.sockets - FEW)
        watched = {rate: _phase(job, sockets, posting, rate) for rate in RATES}
        slow = stalled(job.port, job.stalled)
        _rest(sockets, job)  # that they came is not what they cost
        beside = _phase(job, sockets, posting, RATES[-1], least=2 * job.slow_seconds)
        gone = dropped(slow, within=5.0)
    finally:
        sockets.close()
        gc.enable()
    last = sorted(watched[RATES[-1]].delays)
    return Fanned(
        p50_ms=_at(last, 0.5),
        p99_ms=_at(last, 0.99),
        stalled_p99_ms=_at(sorted(beside.delays), 0.99),
        bytes_per_socket=each,
        cpu={rate: max(0.0, watched[rate].cpu - alone[rate]) for rate in RATES},
        dropped=gone,
        failures=sockets.lost + posting.failures + sum(one.unseen for one in (*watched.values(), beside)),
    )


@dataclass(frozen=True, slots=True)
class _Phase:
    cpu: float
    delays: list[float]  # of each probe, until the last socket has seen it
    unseen: int


def _phase(job: Fanout, sockets: Sockets, posting: "_Posting", rate: int, *, least: float = 0.0) -> _Phase:
    posting.probes.clear()
    began, used = time.monotonic(), _cpu(job.pids)
    until = began + max(job.seconds, least)
    posting.run(sockets, rate, until)
    cpu = (_cpu(job.pids) - used) / (time.monotonic() - began)
    there = list(sockets.open.values())
    last, deadline = max(posting.probes, default=0), time.monotonic() + _SEEN_WITHIN
    while any(one.saw_at(last) is None for one in there) and time.monotonic() < deadline:
        sockets.hear(0.05)
    seen = {probe: _last(there, probe) for probe in posting.probes} if there else {}
    _rest(sockets, job)
    delays = [max(0.0, at - posting.probes[probe]) for probe, at in seen.items() if at is not None]
    return _Phase(cpu, delays, len(seen) - len(delays))


def _rest(sockets: Sockets, job: Fanout) -> None:
    until = time.monotonic() + min(_SETTLES, job.seconds)
    while (left := until - time.monotonic()) > 0:
        sockets.hear(left)


def _last(sockets: Sequence[Socket], probe: int) -> float | None:
    latest = 0.0
    for one in sockets:
        at = one.saw_at(probe)
        if at is None:
            return None
        latest = max(latest, at)
    return latest


class _Posting:
    """One connection that sends a batch every so often, and hears the sockets meanwhile."""

    def __init__(self, job: Fanout) -> None:
        self.job, self.failures = job, 0
        self.probes: dict[int, float] = {}  # when each was acknowledged
        self._serial = job.start
        self._own = socket.create_connection(("127.0.0.1", job.port), timeout=10)
        self._own.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def run(self, sockets: Sockets, rate: int, until: float) -> None:
        sockets.poller.register(self._own, select.EPOLLIN)
        due, answered = time.monotonic(), True
        bodies, probe = self._bodies(rate // BATCHES), 0
        try:
            while (now := time.monotonic()) < until or not answered:
                if now > until + _SEEN_WITHIN:
                    raise TimeoutError("a batch was not answered")
                if answered and now >= due and now < until:
                    probe, body = next(bodies)
                    self._own.sendall(body)
                    due, answered = max(due + 1 / BATCHES, now), False
                wait = max(0.0, due - now) if answered else 0.5
                if self._own.fileno() in sockets.hear(min(wait, 0.5)):
                    answered = self._answered(probe)
        finally:
            sockets.poller.unregister(self._own)

    def _answered(self, probe: int) -> bool:
        answer = self._own.recv(65536)
        if not answer.startswith(b"HTTP/1.1 202") or b'"rejected":0' not in answer:
            self.failures += 1
        self.probes[probe] = time.monotonic()
        return True

    def _bodies(self, scores: int) -> Iterator[tuple[int, bytes]]:
        filled = self.job.filled
        while True:
            some = list(mix.draws(self._serial, scores - 1, filled.players))
            self._serial += scores
            probe = 3 * mix.SPREAD + 2 + 2 * self._serial  # more than anybody's record by now
            items = [writes.item(one.number, one.serial, one.score) for one in some]
            items.append(writes.item(filled.players + PROBES, self._serial - 1, probe))
            body = b'{"scores":[' + b",".join(items) + b"]}"
            yield probe, writes.post(f"/v1/games/{mix.GAME}/scores", body, key=filled.key)


def _at(delays: list[float], share: float) -> float:
    return 1000 * delays[min(len(delays) - 1, int(len(delays) * share))] if delays else 0.0


def _cpu(pids: Sequence[int]) -> float:
    """Seconds that they and those they started have used."""
    used = 0
    for pid in pids:
        for one in (pid, *children(pid)):
            fields = Path(f"/proc/{one}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
            used += int(fields[11]) + int(fields[12])
    return used / _TICKS
