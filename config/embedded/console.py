"""The one terminal that many programs write to: whole lines, each with the name of who said it."""

import os
import sys
import threading
from typing import TextIO

COLOURS = {"web": 32, "worker": 34, "beat": 36, "postgres": 35, "valkey": 33, "prepare": 37}
NAME_WIDTH = 9


class Console:
    def __init__(self, stream: TextIO = sys.stdout) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._coloured = stream.isatty() and "NO_COLOR" not in os.environ

    def say(self, text: str) -> None:
        """Rung's own voice, without a name before it."""
        with self._lock:
            try:
                self._stream.write(f"{text}\n")
                self._stream.flush()
            except (OSError, ValueError):
                pass  # nobody reads any more (a closed terminal, `| head`): the servers go on

    def relay(self, name: str, line: str) -> None:
        label = f"{name:<{NAME_WIDTH}}|"
        if self._coloured:
            label = f"\033[{COLOURS.get(name, 37)}m{label}\033[0m"
        self.say(f"{label} {line}")
