"""The log of the web process, read while it grows: tracebacks and errors, and of which case each is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_BEGINS = re.compile(r"^\d{4}-\d\d-\d\d[T ]", re.MULTILINE)
_CASE = re.compile(r"request_id=.?case-(\d+)\b")
_BAD = ("Traceback (most recent call last)", "[error", "[critical", "Segmentation fault")
_PLACE = re.compile(r'File "[^"]*?((?:config|players|leaderboards|anticheat|social|templates)/[^"]+)", line (\d+)')
_LONGEST = 6000


@dataclass(frozen=True)
class Block:
    """Lines that belong together. `exception`: what they are known by, the same for the same fault."""

    text: str
    number: int | None
    exception: str


class Log:
    """`start`: lines before it are not looked at."""

    def __init__(self, path: Path, *, start: int = 0) -> None:
        self._path, self._read = path, start

    def news(self) -> Iterator[Block]:
        with self._path.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text.rfind(b"\n") + 1
        self._read += whole
        yield from blocks(text[:whole].decode("utf-8", "replace"))


def blocks(text: str) -> Iterator[Block]:
    begins = [found.start() for found in _BEGINS.finditer(text)] or [0]
    if begins[0] != 0:
        begins.insert(0, 0)
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        block = text[begin:end].strip()
        if any(mark in block for mark in _BAD):
            number = _CASE.search(block)
            yield Block(block[-_LONGEST:], int(number[1]) if number else None, _exception(block))


def _exception(block: str) -> str:
    """The last line of a traceback and the last of our own lines in it."""
    lines = block.splitlines()
    if "Traceback" not in block:
        return re.sub(r"request_id=\S+|0x[0-9a-f]+|\d+", "…", lines[0][28:])[:200]
    last = next(
        (line for line in reversed(lines) if re.match(r"^[\s|]*[\w.]+(?:Error|Exception|\w*)\b(?::|$)", line)), ""
    )
    places = _PLACE.findall(block)
    where = f" in {places[-1][0]}:{places[-1][1]}" if places else ""
    return re.sub(r"'[^']*'|\d+", "…", last.strip(" |"))[:150] + where
