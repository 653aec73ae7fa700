"""`python -m bench.connections`: thousands of connections that only stand there, and others that read a byte a second,
beside ordinary rank reads: what those take before and meanwhile, and what the web processes weigh.
"""

import argparse
import asyncio
import json
import resource
import socket
import sys
import time
from collections.abc import Coroutine, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from bench import reads
from bench.house import house

READERS = 8  # who ask for ranks, one after the other each
SLOW = reads.get(f"{reads.BOARD}?limit=1000")
_AT_ONCE = 200  # connections being opened
_ROOM = 4096  # bytes that a slow reader's side takes by itself


@dataclass(frozen=True, slots=True)
class Reads:
    requests: int
    failed: int
    p50_ms: float
    p99_ms: float


@dataclass(frozen=True, slots=True)
class Held:
    """How many stood there to the end, and what others were answered with."""

    idle: int
    slow: int
    opened_in_s: float
    before: Reads
    during: Reads


async def hold(port: int, *, idle: int, slow: int, measure: float) -> Held:
    """Asks while they stand there; closes all of them, whatever happens."""
    room = asyncio.Semaphore(_AT_ONCE)
    with ExitStack() as held:
        before = await _ranks(port, measure)
        began = time.monotonic()
        stood = await asyncio.gather(*(_idle(port, room, held) for _ in range(idle)))
        reading = await asyncio.gather(*(_slow(port, room, held) for _ in range(slow)))
        took = time.monotonic() - began
        tasks = [asyncio.create_task(_sip(one)) for one in reading if one is not None]
        try:
            during = await _ranks(port, measure)
        finally:
            for task in tasks:
                task.cancel()
            sipped = await asyncio.gather(*tasks, return_exceptions=True)
        gone = sum(isinstance(one, OSError) for one in sipped)
        return Held(sum(map(_is_open, stood)), len(tasks) - gone, round(took, 1), before, during)


async def _open(port: int, room: asyncio.Semaphore, held: ExitStack, request: bytes) -> socket.socket | None:
    own = held.enter_context(socket.socket())
    own.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _ROOM)
    own.settimeout(0)
    loop = asyncio.get_running_loop()
    async with room:
        try:
            async with asyncio.timeout(30):
                await loop.sock_connect(own, ("127.0.0.1", port))
                await loop.sock_sendall(own, request)
                if not (await loop.sock_recv(own, 12)).endswith(b" 200"):
                    return None
        except OSError:  # a timeout is one
            return None
    return own


async def _idle(port: int, room: asyncio.Semaphore, held: ExitStack) -> socket.socket | None:
    """One that was answered once and asks for nothing more."""
    own = await _open(port, room, held, reads.get("/livez"))
    if own is not None:
        await asyncio.get_running_loop().sock_recv(own, _ROOM)
    return own


async def _slow(port: int, room: asyncio.Semaphore, held: ExitStack) -> socket.socket | None:
    return await _open(port, room, held, SLOW)


async def _sip(own: socket.socket) -> None:
    loop = asyncio.get_running_loop()
    while True:
        if not await loop.sock_recv(own, 1):
            raise ConnectionResetError
        await asyncio.sleep(1)


def _is_open(own: socket.socket | None) -> bool:
    if own is None:
        return False
    try:
        return own.recv(1, socket.MSG_PEEK) != b""
    except BlockingIOError:
        return True
    except OSError:
        return False


async def _ranks(port: int, seconds: float) -> Reads:
    deadline = time.monotonic() + seconds
    taken = await asyncio.gather(*(_ask(port, reads.ranks(1000, "", client), deadline) for client in range(READERS)))
    times = sorted(one for some, _ in taken for one in some)
    failed = sum(failed for _, failed in taken)
    p50, p99 = (round(1000 * times[int(len(times) * part)], 2) for part in (0.5, 0.99))
    return Reads(len(times), failed, p50, p99)


async def _ask(port: int, requests: Iterator[bytes], deadline: float) -> tuple[list[float], int]:
    """On connections that come anew, as others do."""
    times, failed = list[float](), 0
    while time.monotonic() < deadline:
        began = time.monotonic()
        try:
            async with asyncio.timeout(10):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(next(requests))
                failed += not (await reader.readline()).startswith(b"HTTP/1.1 200")
                writer.close()
        except OSError:
            failed += 1
        times.append(time.monotonic() - began)
    return times, failed


def weight(pid: int) -> int:
    """MiB of a process and those it started."""
    return resident(pid) // 1024 // 1024


def resident(pid: int) -> int:
    """The same in bytes."""
    kib = 0
    for one in [pid, *children(pid)]:
        lines = Path(f"/proc/{one}/status").read_text(encoding="ascii").splitlines()
        kib += sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
    return kib * 1024


def children(pid: int) -> Iterable[int]:
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text(encoding="ascii").split():
            yield int(child)
            yield from children(int(child))


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.connections", description=__doc__)
    parser.add_argument("--idle", type=int, default=10_000)
    parser.add_argument("--slow", type=int, default=1_000)
    parser.add_argument("--seconds", type=float, default=8, dest="measure", help="of rank reads, before and meanwhile")
    asked = vars(parser.parse_args())
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with house(2000) as running:
        running.start("web")
        pid = running.pid("web")
        asyncio.run(_ranks(running.web_port, 2))  # so that it is warm
        lightest = weight(pid)
        told, heaviest = asyncio.run(_weighed(pid, hold(running.web_port, **asked)))
    print(json.dumps(asdict(told) | {"web_mib_before": lightest, "web_mib_most": heaviest}, indent=2))
    return 1 if told.during.failed else 0


async def _weighed(pid: int, held: Coroutine[None, None, Held]) -> tuple[Held, int]:
    task, heaviest = asyncio.create_task(held), 0
    while not task.done():
        await asyncio.wait([task], timeout=0.5)
        heaviest = max(heaviest, weight(pid))
    return await task, heaviest


if __name__ == "__main__":
    sys.exit(main())
