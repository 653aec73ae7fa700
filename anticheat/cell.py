"""The inside of the sandbox: binds itself, then verifies one replay. Run as a script; started by sandbox.py.

Reads [orders, replay] from standard input and writes ["outcome", Outcome] or ["failed", why] where standard output was.
"""

import ctypes
import importlib
import os
import resource
import signal
import sys
from typing import Any

import msgspec

from anticheat import privileges, seccomp
from anticheat.verifying import LONGEST_REFUSAL, Claim, Outcome, Verifier

_PR_SET_PDEATHSIG = 1
_MEBIBYTE = 1024 * 1024


class _Orders(msgspec.Struct):
    path: str
    claim: Claim
    answer: int  # bytes at most
    parent: int
    seconds: int
    cpu_seconds: int
    mebibytes: int
    files: int


def main() -> None:
    raw, replay = msgspec.msgpack.decode(sys.stdin.buffer.read(), type=tuple[Any, bytes])
    orders = msgspec.convert(raw, _Orders)
    answer = _own_answer()
    os.write(answer, msgspec.json.encode(_verified(orders, replay)))


def _own_answer() -> int:
    """Where the answer goes, out of the way of whatever a verifier prints."""
    answer, nothing = os.dup(1), os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nothing, stream)
    os.close(nothing)
    return answer


def _bind(orders: _Orders) -> None:
    """Each limit is also the hard one: nobody in here can lift it. Without root, NPROC alone would forbid to fork."""
    limits = {
        resource.RLIMIT_CPU: orders.cpu_seconds,
        resource.RLIMIT_AS: orders.mebibytes * _MEBIBYTE,
        resource.RLIMIT_NOFILE: orders.files,
        resource.RLIMIT_FSIZE: orders.answer,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NPROC: 0,
    }
    for limit, most in limits.items():
        resource.setrlimit(limit, (most, most))
    signal.alarm(orders.seconds + 1)  # should the parent not be there any more to end this
    if sys.platform == "linux":
        _end_with(orders.parent)
        seccomp.forbid()


def _loaded(path: str) -> Verifier:
    """Before rights are given up: the game's code, and Python's own, may lie where only their owner reads."""
    module, _, name = path.rpartition(".")
    verify: Verifier = getattr(importlib.import_module(module), name)
    return verify


def _give_up(orders: _Orders) -> None:
    if sys.platform == "linux":
        privileges.give_up()
        _end_with(orders.parent)  # who becomes somebody else is not told any more


def _end_with(parent: int) -> None:
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("whoever asked is gone")


def _verified(orders: _Orders, replay: bytes) -> tuple[str, Outcome | str]:
    """Nothing is verified unless all that binds is in force."""
    try:
        _bind(orders)
        verify = _loaded(orders.path)
        _give_up(orders)
        found = verify(replay, orders.claim)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is told
        return "failed", f"{type(error).__name__}: {error}"[:LONGEST_REFUSAL]
    if not isinstance(found, Outcome):
        return "failed", f"answered a {type(found).__name__}"
    return "outcome", Outcome(found.score, found.refusal[:LONGEST_REFUSAL])


if __name__ == "__main__":
    main()
