"""A process in which one act of the product runs, and dies or stands still at a chosen moment of it.

The product knows nothing of this: a tracer looks on. As a program this is a small parent that has everything imported
and nothing opened, and forks for each act: a fork of pytest's own process would share its connections and threads.
"""

import gc
import json
import os
import signal
import subprocess
import sys
import threading
import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NAME = "mortal"  # of its connections to PostgreSQL, while it acts
_NO_MORE = 3
_STORES = {
    "_exec_command": "psycopg/_connection_base.py",
    "execute": "psycopg/cursor.py",
    "send_packed_command": "redis/connection.py",
    "read_response": "redis/connection.py",
}
Moment = tuple[str, int]  # where (file:line:event), and for the how many-th time
Seen = list[tuple[str, int, int]]  # moments in their order, each with the number of its stretch


class Mortal:
    """The test's side of it."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = os.environ | {"DJANGO_SETTINGS_MODULE": "config.settings"} | environment
        self._popen: subprocess.Popen[str] | None = None
        self._acts = False

    def moments(self, act: str, files: Sequence[str], **arguments: Any) -> Seen:
        """Lives on, and tells."""
        seen: Seen = self._ask(act=act, files=files, arguments=arguments)["seen"]
        assert seen
        assert self._ended() == 0
        return seen

    def dies(self, act: str, files: Sequence[str], moment: Moment, **arguments: Any) -> bool:
        """Whether it came so far; else it has done all it was to do."""
        answer = self._ask(act=act, files=files, at=moment, then="die", arguments=arguments)
        ended = self._ended(None if "seen" in answer else answer)
        assert ended in (0, -signal.SIGKILL), answer
        return bool(ended)

    def stands(
        self, act: str, files: Sequence[str], moment: Moment, meanwhile: Callable[[], None], **arguments: Any
    ) -> bool:
        """Does something else while the act stands still, and lets it go on to its end."""
        answer = self._ask(act=act, files=files, at=moment, then="stand", arguments=arguments)
        stood = "standing" in answer
        if stood:
            try:
                meanwhile()
            finally:
                answer = self._ask()  # in any case: what it holds, nobody else gets
        assert "seen" in answer, answer
        assert self._ended() == 0
        return stood

    def leave(self) -> None:
        """Ends whoever is still at an act, in whose way the next would be."""
        if self._popen and self._acts:
            self.end()

    def end(self) -> None:
        """And all it has forked. It may be asked again: that is another."""
        if self._popen:
            with self._popen:
                os.killpg(self._popen.pid, signal.SIGKILL)
        self._popen, self._acts = None, False

    def _ask(self, **asked: Any) -> dict[str, Any]:
        self._popen = self._popen or self._begin()
        self._acts = True
        assert self._popen.stdin
        self._popen.stdin.write(json.dumps(asked) + "\n")
        self._popen.stdin.flush()
        return self._heard()

    def _begin(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", "tests.mortal"],
            cwd=ROOT,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def _ended(self, answer: dict[str, Any] | None = None) -> int:
        ended: int = (answer or self._heard())["ended"]
        self._acts = False
        return ended

    def _heard(self) -> dict[str, Any]:
        assert self._popen
        assert self._popen.stdout
        line = self._popen.stdout.readline()
        assert line, "see what it wrote to standard error"
        heard: dict[str, Any] = json.loads(line)
        return heard


class _Tracer:
    """Sees every line and every return in these files, and everything that goes to a store or comes back.

    Between two of the latter the stores stay as they are: a stretch. Whoever dies in it leaves the same behind.
    """

    def __init__(self, files: Sequence[str], at: Sequence[Any] | None, then: str) -> None:
        self.files = {str(ROOT / name): name for name in files}
        self.at, self.then = tuple(at) if at else None, then
        self.counting = threading.Lock()
        self.visits: Counter[str] = Counter()
        self.stretch = 0
        self.seen: list[tuple[str, int, int]] = []

    def __call__(self, frame: FrameType, event: str, argument: object) -> Any:
        if threading.current_thread().daemon:
            return None  # what goes on beside the act: nobody waits for it, so it may end while that stands still
        code = frame.f_code
        if code.co_filename in self.files:
            return self._line
        if code.co_name in _STORES and code.co_filename.endswith(_STORES[code.co_name]):
            return None if code.co_name == "_exec_command" and frame.f_locals["command"] != b"COMMIT" else self._store
        return None

    def _line(self, frame: FrameType, event: str, argument: object) -> Any:
        if event in {"line", "return"}:
            self._at(f"{self.files[frame.f_code.co_filename]}:{frame.f_lineno}:{event}")
        return self._line

    def _store(self, frame: FrameType, event: str, argument: object) -> Any:
        """A generator returns when it waits, too: a COMMIT has two returns, sent and answered."""
        if event == "return":
            self.stretch += 1
            self._at(f"store:{frame.f_code.co_name}")
        return self._store

    def _at(self, where: str) -> None:
        with self.counting:  # a moment is one thread's
            self.visits[where] += 1
            moment = where, self.visits[where]
            self.seen.append((*moment, self.stretch))
        if self.at == moment:
            self._stop()

    def _stop(self) -> None:
        if self.then == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        _tell(standing=True)
        _wait_for_a_line()


def _tell(**what: object) -> None:
    os.write(1, json.dumps(what).encode() + b"\n")


def _wait_for_a_line() -> str:
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(0, 1)):
        line += byte
    return line.decode()


def _live_and_die() -> None:
    """In the child, whose end this is. What it needs is open before it is asked for anything."""
    status = 1
    try:
        from tests import mortal_acts  # noqa: PLC0415 - needs Django set up

        mortal_acts.open_stores()
        line = _wait_for_a_line()
        if line:
            asked = json.loads(line)
            mortal_acts.take_the_name(NAME)
            tracer = _Tracer(asked["files"], asked.get("at"), asked.get("then", ""))
            sys.settrace(tracer)
            threading.settrace(tracer)  # a rebuild sends in a thread of its own
            try:
                getattr(mortal_acts, asked["act"])(**asked["arguments"])
            finally:
                sys.settrace(None)
            _tell(seen=tracer.seen)
        status = 0 if line else _NO_MORE
    except BaseException:  # noqa: BLE001 - told, and nothing of the parent's may run here
        traceback.print_exc()
    finally:
        os._exit(status)


def main() -> None:
    import django  # noqa: PLC0415 - the test's side has it set up already

    django.setup()
    from tests import mortal_acts  # noqa: F401, PLC0415 - once, for all children

    gc.freeze()
    while True:
        pid = os.fork()  # the next one gets ready while the test looks at what the last one left
        if not pid:
            _live_and_die()
        _, status = os.waitpid(pid, 0)
        ended = os.waitstatus_to_exitcode(status)
        if ended == _NO_MORE:
            return
        _tell(ended=ended)


if __name__ == "__main__":
    main()
