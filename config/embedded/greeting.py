"""What is shown under the ready line: the words of `manage.py welcome`, fetched while the house is still opening."""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO

from config.embedded.programs import Pause, Program, Running, spawn, wait_for_end


@contextmanager
def greeting(program: Program, *, pause: Pause) -> Iterator[Callable[[], str]]:
    """Begins to fetch it; the text is there when asked for, and nothing is left of the program afterwards."""
    with tempfile.TemporaryFile() as words, tempfile.TemporaryFile() as complaints:
        running = spawn(program, output=words, errors=complaints)
        try:
            yield lambda: _text(running, words, complaints, pause=pause)
        finally:
            running.kill()


def _text(running: Running, words: IO[bytes], complaints: IO[bytes], *, pause: Pause) -> str:
    """A greeting that failed is no reason not to be up: its last word takes its place."""
    if wait_for_end(running, pause=pause) == 0:
        return _read(words)
    return f"There is no greeting: {_read(complaints).rpartition(chr(10))[2]}"


def _read(stream: IO[bytes]) -> str:
    stream.seek(0)
    return stream.read().decode(errors="replace").rstrip()
