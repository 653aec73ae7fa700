"""Verifiers that misbehave, each in its own way."""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

from anticheat.verifying import Claim, Outcome


def length(replay: bytes, claim: Claim) -> Outcome:
    """The score is as long as the replay."""
    return Outcome(len(replay)) if replay else Outcome(refusal="It is empty.")


def hanging(replay: bytes, claim: Claim) -> Outcome:
    while True:
        time.sleep(1)


def busy(replay: bytes, claim: Claim) -> Outcome:
    while True:
        pass


def hungry(replay: bytes, claim: Claim) -> Outcome:
    eaten = []
    while True:
        eaten.append(bytearray(16 * 1024 * 1024))


def crashing(replay: bytes, claim: Claim) -> Outcome:
    raise RuntimeError("no idea")


def dying(replay: bytes, claim: Claim) -> Outcome:
    os._exit(0)


def leaving(replay: bytes, claim: Claim) -> Outcome:
    sys.exit(0)


def falling(replay: bytes, claim: Claim) -> Outcome:
    def deeper(n: int) -> int:
        return deeper(n + 1)

    return Outcome(deeper(0))


def forking(replay: bytes, claim: Claim) -> Outcome:
    """Once: what forbids it may be missing."""
    if os.fork() == 0:
        os._exit(0)
    return Outcome(1)


def threading_(replay: bytes, claim: Claim) -> Outcome:
    threads = [threading.Thread(target=time.sleep, args=(1,)) for _ in range(10)]
    for thread in threads:
        thread.start()
    return Outcome(1)


def starting(replay: bytes, claim: Claim) -> Outcome:
    return Outcome(os.spawnv(os.P_WAIT, sys.executable, [sys.executable, "-c", "pass"]))  # noqa: S606


def calling(replay: bytes, claim: Claim) -> Outcome:
    socket.socket().connect(("127.0.0.1", int(replay)))
    return Outcome(1)


def writing(replay: bytes, claim: Claim) -> Outcome:
    Path(replay.decode()).write_text("gotcha", encoding="utf-8")
    return Outcome(1)


def removing(replay: bytes, claim: Claim) -> Outcome:
    Path(replay.decode()).unlink()
    return Outcome(1)


def opening(replay: bytes, claim: Claim) -> Outcome:
    return Outcome(len([os.open(os.devnull, os.O_RDONLY) for _ in range(1000)]))


def killing(replay: bytes, claim: Claim) -> Outcome:
    os.kill(os.getppid(), 9)
    return Outcome(1)


def printing(replay: bytes, claim: Claim) -> Outcome:
    print("x" * 1_000_000)  # noqa: T201 - that is the point
    sys.stderr.write("y" * 1_000_000)
    return Outcome(7)


def flooding(replay: bytes, claim: Claim) -> Outcome:
    """Writes wherever it can."""
    for number in range(3, 64):
        try:
            while True:
                os.write(number, b"x" * 4096)
        except OSError:
            continue
    return Outcome(7)


def talkative(replay: bytes, claim: Claim) -> Outcome:
    return Outcome(refusal="no " * 100_000)


def neither(replay: bytes, claim: Claim) -> Outcome:
    return Outcome()


def both(replay: bytes, claim: Claim) -> Outcome:
    return Outcome(1, "and yet")


def wordless(replay: bytes, claim: Claim) -> Any:
    return 7


def secretive(replay: bytes, claim: Claim) -> Outcome:
    """How many of our secrets it finds in its environment."""
    return Outcome(len({"SECRET_KEY", "DATABASE_URL", "VALKEY_URL"} & os.environ.keys()))


def claimed(replay: bytes, claim: Claim) -> Outcome:
    return Outcome(claim.score)


def aiming(replay: bytes, claim: Claim) -> Outcome:
    """At a process by its folder, which is a handle, too."""
    signal.pidfd_send_signal(os.open(f"/proc/{int(replay)}", os.O_RDONLY | os.O_DIRECTORY), signal.SIGTERM)
    return Outcome(1)


def grasping(replay: bytes, claim: Claim) -> Outcome:
    return Outcome(os.pidfd_open(int(replay)))


def whispering(replay: bytes, claim: Claim) -> Outcome:
    """Has the kernel tell a process that there is something to read."""
    reads, writes = os.pipe()
    fcntl.fcntl(reads, fcntl.F_SETOWN, int(replay))
    fcntl.fcntl(reads, fcntl.F_SETFL, os.O_ASYNC)
    return Outcome(os.write(writes, b"psst"))


def limiting(replay: bytes, claim: Claim) -> Outcome:
    resource.prlimit(int(replay), resource.RLIMIT_NOFILE, (10, 10))
    return Outcome(1)


def slowing(replay: bytes, claim: Claim) -> Outcome:
    os.setpriority(os.PRIO_PROCESS, int(replay), 19)
    return Outcome(1)


def marking(replay: bytes, claim: Claim) -> Outcome:
    os.setxattr(replay, "user.mark", b"gotcha")
    return Outcome(1)


def locking(replay: bytes, claim: Claim) -> Outcome:
    fcntl.flock(os.open(os.devnull, os.O_RDONLY), fcntl.LOCK_SH)
    return Outcome(1)


def naming(replay: bytes, claim: Claim) -> Outcome:
    return _asked("name_to_handle_at", -100, b"/", _no_handle(), ctypes.byref(ctypes.c_int()), 0)


def handling(replay: bytes, claim: Claim) -> Outcome:
    """A file by its number, past the folders it is in: there is none of this one."""
    return _asked("open_by_handle_at", -100, _no_handle(), os.O_RDONLY)


def mounting(replay: bytes, claim: Claim) -> Outcome:
    return _asked("mount", b"none", b"/no/such/folder", b"tmpfs", 0, None)


def secluding(replay: bytes, claim: Claim) -> Outcome:
    return _asked("unshare", 0x10000000)  # users of its own, among whom it is root


def sharing(replay: bytes, claim: Claim) -> Outcome:
    return _asked("shmget", 0x7E57, 4096, 0)  # there is none


def prying(replay: bytes, claim: Claim) -> Outcome:
    return Outcome(len(Path(f"/proc/{os.getppid()}/environ").read_bytes()))


def rising(replay: bytes, claim: Claim) -> Outcome:
    os.setuid(0)
    return Outcome(1)


def reading(replay: bytes, claim: Claim) -> Outcome:
    """What a game may well do: read its levels, import late, ask for memory and the time."""
    import colorsys  # noqa: PLC0415 - late is the point

    with Path(replay.decode()).open(encoding="utf-8") as levels:
        return Outcome(len(levels.read()) + int(colorsys.ONE_THIRD) + int(time.monotonic() < 0))


def _no_handle() -> ctypes.Array[ctypes.c_char]:
    return ctypes.create_string_buffer(b"\x08\0\0\0\x01\0\0\0", 136)


def _asked(call: str, *given: Any) -> Outcome:
    if getattr(ctypes.CDLL(None, use_errno=True), call)(*given) < 0:
        raise OSError(ctypes.get_errno(), call)
    return Outcome(1)
