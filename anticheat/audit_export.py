"""The audit as text, a row at a time: for a file, a pipe, an answer."""

import csv
import json
from collections.abc import Iterator
from typing import Any, Literal

from django.db.models import QuerySet

from anticheat.models import AuditEntry

Format = Literal["jsonl", "csv"]
FORMATS: tuple[Format, ...] = ("jsonl", "csv")
_ROWS = 1000  # read at a time
_COLUMNS = (
    *("seq", "at", "verb", "by", "user", "key", "command", "address", "request_id"),
    *("game", "mode", "player", "about", "before", "after", "why", "digest", "prev", "hash"),
)


def lines(entries: QuerySet[AuditEntry], form: Format) -> Iterator[str]:
    """Oldest first."""
    found = entries.order_by("seq").iterator(chunk_size=_ROWS)
    if form == "jsonl":
        for entry in found:
            yield json.dumps(_told(entry), ensure_ascii=False) + "\n"
        return
    writer = csv.writer(_Echo())
    yield writer.writerow(_COLUMNS)
    for entry in found:
        yield writer.writerow([_cell(value) for value in _told(entry).values()])


class _Echo:
    """What csv writes to, and gets back as it is."""

    def write(self, line: str) -> str:
        return line


def _told(entry: AuditEntry) -> dict[str, Any]:
    told = {name: getattr(entry, name) for name in _COLUMNS}
    told["at"] = entry.at.isoformat()
    for name in ("digest", "prev", "hash"):
        told[name] = bytes(told[name] or b"").hex()
    return told


def _cell(value: Any) -> Any:
    """A spreadsheet takes what begins like this for a formula, and would run it."""
    text = json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else value
    return f"'{text}" if isinstance(text, str) and text[:1] in {"=", "+", "-", "@", "\t", "\r"} else text
