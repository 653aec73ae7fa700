"""Runs a verifier in a process of its own, within bounds. What it does there harms nobody; what it says is an Outcome,
or that nothing could be found out.
"""

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from signal import SIGKILL
from typing import IO

import msgspec

from anticheat.verifying import LONGEST_REFUSAL, Claim, Outcome

_CELL = Path(__file__).with_name("cell.py")
_HOME = Path(__file__).parents[1]
_LONGEST_ANSWER = 16 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    seconds: int = 10  # by the clock
    cpu_seconds: int = 5
    mebibytes: int = 512
    files: int = 64  # open at once


class NotVerified(Exception):
    """Nothing was found out about the replay: the verifier crashed, hung, took too much or made no sense."""


def run(path: str, replay: bytes, claim: Claim, *, bounds: Bounds) -> Outcome:
    """`path`: the dotted path of a Verifier, from settings and nowhere else."""
    orders = {"path": path, "claim": claim, "answer": _LONGEST_ANSWER, "parent": os.getpid(), **asdict(bounds)}
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as answer:
        given.write(msgspec.msgpack.encode([orders, replay]))
        given.seek(0)
        code = _ended(given, answer, bounds)
        answer.seek(0)
        return _outcome(answer.read(_LONGEST_ANSWER + 1), code)


def _ended(given: IO[bytes], answer: IO[bytes], bounds: Bounds) -> int:
    """The exit code. Files, not pipes: nobody waits for a reader, and a limit on their size holds."""
    cell = subprocess.Popen(  # noqa: S603 - our own interpreter and file
        [sys.executable, "-B", "-P", "-s", str(_CELL)],
        stdin=given,
        stdout=answer,
        stderr=subprocess.DEVNULL,
        env=_environment(),
        cwd="/",
        start_new_session=True,
    )
    try:
        return cell.wait(timeout=bounds.seconds)
    except subprocess.TimeoutExpired:
        raise NotVerified(f"The verifier took more than {bounds.seconds} s.") from None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(cell.pid, SIGKILL)  # with all that it started
        cell.wait()


def _environment() -> dict[str, str]:
    """No secrets, no addresses of stores; the same hashes every time; libraries that like threads are told of none."""
    alone = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    places = [str(_HOME), *(path for path in sys.path if path)]
    return {"PYTHONPATH": os.pathsep.join(places), "PYTHONHASHSEED": "0", **alone}


def _outcome(answer: bytes, code: int) -> Outcome:
    if code < 0:
        raise NotVerified(f"The verifier was ended by signal {-code}: it took too much, or crashed.")
    try:
        word, told = msgspec.json.decode(answer, type=tuple[str, Outcome | str])
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise NotVerified("What the verifier answered makes no sense.") from None
    if word != "outcome" or not isinstance(told, Outcome):
        raise NotVerified(f"The verifier failed: {str(told)[:LONGEST_REFUSAL]}")
    if (told.score is None) is not bool(told.refusal):
        raise NotVerified("The verifier gave neither a score nor a refusal, or both.")
    return Outcome(told.score, told.refusal[:LONGEST_REFUSAL])
