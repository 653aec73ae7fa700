"""The chain of the audit: what a row's digest and hash are made of, and whether all of them still fit.

The database makes the hash when a row's transaction commits (migration 0002); here it is made again and compared.
"""

import hashlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC

from anticheat.models import AuditEntry, AuditHead

START = bytes(32)  # what the first row follows
_FIELDS = ("verb", "by", "user", "key", "command", "address", "request_id", "game", "mode", "player", "about")
_JSON = ("before", "after", "why")
_EVERY = 1000  # rows between two words of progress


class Broken(Exception):
    """A sentence that names the first row at fault."""


@dataclass(frozen=True, slots=True)
class Head:
    seq: int
    hash: bytes

    def __str__(self) -> str:
        return f"{self.seq}:{self.hash.hex()}"


def digest_of(entry: AuditEntry) -> bytes:
    told = {name: getattr(entry, name) for name in (*_FIELDS, *_JSON)}
    told["at"] = entry.at.astimezone(UTC).isoformat(timespec="microseconds")
    return hashlib.sha256(json.dumps(told, sort_keys=True, separators=(",", ":")).encode()).digest()


def link(*, seq: int, prev: bytes, digest: bytes) -> bytes:
    return hashlib.sha256(seq.to_bytes(8, "big", signed=True) + prev + digest).digest()


def verify(*, known: Head | None = None, progress: Callable[[int], None] = lambda _: None) -> Head:
    """The chain's end. `known` is an end that was noted elsewhere: the chain must still pass through it."""
    head = _head()
    last = Head(0, START)
    for entry in _rows(head.seq):
        last = _follows(entry, last)
        if known is not None and last.seq == known.seq and last != known:
            raise Broken(f"Row {known.seq} is not the one that was noted: the chain was written anew.")
        if last.seq % _EVERY == 0:
            progress(last.seq)
    _ends(last, head, known)
    return last


def _head() -> Head:
    """Read after the last row and before the others: what comes meanwhile is the next look's."""
    top = AuditEntry.objects.filter(seq__isnull=False).order_by("-seq").values_list("seq", flat=True).first() or 0
    found = AuditHead.objects.first()
    head = Head(found.seq, bytes(found.hash)) if found is not None else Head(0, START)
    if head.seq < top:
        raise Broken(f"Row {head.seq + 1} comes after the chain's noted end: the note was set back, or is gone.")
    return head


def _rows(until: int) -> Iterator[AuditEntry]:
    stray = AuditEntry.objects.filter(seq__isnull=True).order_by("pk").first()
    if stray is not None:
        raise Broken(f"The row with id {stray.pk} is in no chain: it was put in past the database's guard.")
    return AuditEntry.objects.filter(seq__lte=until).order_by("seq").iterator(chunk_size=_EVERY)


def _follows(entry: AuditEntry, last: Head) -> Head:
    seq = entry.seq or 0
    if seq != last.seq + 1:
        raise Broken(f"Row {last.seq + 1} is missing: after row {last.seq} comes row {seq}.")
    digest = digest_of(entry)
    if digest != bytes(entry.digest):
        raise Broken(f"Row {seq} was changed: it does not say what it said when it was written.")
    found = bytes(entry.hash or b"")
    if bytes(entry.prev or b"") != last.hash or found != link(seq=seq, prev=last.hash, digest=digest):
        raise Broken(
            f"Row {seq} does not follow row {last.seq}: rows were changed, removed, put in or reordered there."
        )
    return Head(seq, found)


def _ends(last: Head, head: Head, known: Head | None) -> None:
    if last.seq < head.seq:
        raise Broken(f"Row {last.seq + 1} is missing: rows {last.seq + 1} to {head.seq} were removed.")
    if last != head:
        raise Broken(f"Row {last.seq} is not the one that the chain's end was noted with.")
    if known is not None and known.seq > last.seq:
        raise Broken(f"Row {last.seq + 1} is missing: row {known.seq} was noted, and the chain ends at {last.seq}.")
