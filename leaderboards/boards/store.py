"""Boards in Valkey, in ids and integers only. Each answer carries the mark; a board that is not whole is an error."""

import re
import struct
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgpack
import msgspec
import structlog
from django.conf import settings

from config import valkey
from leaderboards import keys
from leaderboards.errors import BoardsUnavailable

log = structlog.get_logger(__name__)
BOARDS_A_LOOK = 500  # that a sweep counts in each slot
_TOP = 2**64 - 1
_BESIDE = re.compile(r"(global|[^:]*:[^:]*):[kn]")  # what a dense board has beside it; "level:k" is a board


class NotBuilt(BoardsUnavailable):
    """The slot is empty, lost or broken: only the log can fill it."""


# what a server says of keys that are not what we made of them, or of a batch that makes no sense to it
_NOT_OURS = ("WRONGTYPE", "MALFORMED", "user_function")


@contextmanager
def _ours() -> Iterator[None]:
    """Keys that somebody has put something else into are lost, and a rebuild makes them again."""
    try:
        yield
    except valkey.ValkeyRefused as error:
        if not any(word in error.said for word in _NOT_OURS):
            raise
        log.exception("boards_not_ours", said=error.said)
        raise NotBuilt("The board is being made again.", retry_after=2) from error


class Gap(BoardsUnavailable):
    """The boards show less than was sent before; resend from the mark."""

    def __init__(self, mark: int) -> None:
        super().__init__()
        self.mark = mark


@dataclass(frozen=True, slots=True)
class Slot:
    """All boards of a mode's shard, in one generation."""

    mode: int
    shard: int
    generation: int

    @property
    def own_keys(self) -> list[str]:
        return [keys.state(self.mode, self.shard, self.generation), keys.sizes(self.mode, self.shard, self.generation)]

    def board_keys(self, window: str, scope: str) -> list[str]:
        return [*self.own_keys, keys.board(self.mode, self.shard, self.generation, window, scope)]


@dataclass(frozen=True, slots=True)
class Change:
    """Of one board: places of members from now on, and members that leave."""

    window: str
    scope: str
    expires: int  # seconds since 1970; 0: never
    put: list[tuple[int, int]]  # place, player
    drop: list[int]
    unseen: bool = False  # nothing on it changes but where somebody would stand whom nobody else is shown; never sent


class Answer(msgspec.Struct, frozen=True):
    mark: int
    at: int  # when the boards last changed, microseconds since 1970
    members: int
    rest: list[Any]


def member(player: int) -> bytes:
    """Older players first among equals: a reverse range gives the greater member first, so the pk is inverted."""
    return (_TOP - player).to_bytes(8, "big")


def entries(flat: Sequence[bytes]) -> Iterator[tuple[int, int]]:
    """(player, place) from what a range answers."""
    for index in range(0, len(flat), 2):
        yield _TOP - int.from_bytes(flat[index], "big"), int(float(flat[index + 1]))


def apply(slot: Slot, number: int, changes: Sequence[Change], *, at: int, width: int) -> int:
    """One stamped batch; the mark after it. Sent again it changes nothing."""
    answer = _call("apply", *_keys_of(slot, changes), number, at, width, packed(changes))
    if answer[0] == b"gap":
        raise Gap(int(answer[1]))
    return int(answer[1])


def begin(slot: Slot) -> str:
    """Empties a slot to fill it; the token without which nothing more is taken. Lost meanwhile, `NotBuilt` says so."""
    clear(slot)
    token = uuid4().hex
    _call("begin", slot.own_keys, token)
    return token


def fill(slot: Slot, token: str, changes: Sequence[Change], body: bytes | None = None, *, width: int) -> None:
    """`body`: the changes, packed, where that was done before."""
    _call("fill", *_keys_of(slot, changes), token, width, body or packed(changes))


def built(slot: Slot, token: str, number: int, *, at: int) -> None:
    _call("built", slot.own_keys, token, number, at)


def distrust(slot: Slot) -> None:
    """Nobody reads these boards until they are filled anew: not all that is on them is ours."""
    with suppress(NotBuilt):
        _call("distrust", slot.own_keys[:1])


def check(slot: Slot) -> int:
    """The mark of a slot all of whose boards have as many members as they should; else `NotBuilt`. Some hundred boards
    a call: there may be very many.
    """
    cursor = b"0"
    while True:
        with _ours():
            asked = ("rung_4_whole", slot.own_keys, (BOARDS_A_LOOK, cursor))
            answer: list[Any] = _checked(valkey.ask(_loaded(), [asked]))[0]
        cursor = answer[2]
        if cursor == b"0":
            return int(answer[1])


def boards(slot: Slot) -> set[tuple[str, str]]:
    """(window, scope) of each board that is there."""
    first = keys.board(slot.mode, slot.shard, slot.generation, "", "").removesuffix("|")
    names = (name.removeprefix(first).partition("|") for name in _found(slot) if name.startswith(first))
    return {(window, scope) for window, _, scope in names if not _BESIDE.fullmatch(scope)}


def mark(slot: Slot) -> int | None:
    """None where there is none, or something else in its place."""
    return marks([slot])[0]


def marks(slots: Sequence[Slot]) -> list[int | None]:
    """Of each, in one trip to each server."""
    return [_mark(found) for found in valkey.hash_fields([slot.own_keys[0] for slot in slots], "mark")]


def _mark(found: Any) -> int | None:
    if isinstance(found, Exception) and "WRONGTYPE" not in str(found):
        with valkey.answering("boards"):
            raise found
    return int(found) if isinstance(found, bytes) and found.isdigit() else None


def sound(slots: Sequence[Slot]) -> list[int | None]:
    """The marks of those whose boards, or some hundred of them, have as many members as they should; else None."""
    asked = [("rung_4_whole", slot.own_keys, (BOARDS_A_LOOK,)) for slot in slots]
    answers = valkey.ask(_loaded(), asked, strict=False)
    return [int(answer[1]) if isinstance(answer, list) and answer[0] == b"ok" else None for answer in answers]


def read(function: str, slots: Sequence[Slot], window: str, scope: str, *args: object) -> list[Answer]:
    """The same question to each shard, in one trip to each server."""
    return read_each([(function, *args)], slots, window, scope)[0]


def read_each(
    questions: Sequence[tuple[object, ...]], slots: Sequence[Slot], window: str, scope: str, *, replicas: bool = False
) -> list[list[Answer]]:
    """Questions (a function and its arguments) to the same board of each shard, in one trip to each server; the answers
    are of one moment where those are one.
    """
    names = [slot.board_keys(window, scope) for slot in slots]
    asked = [(f"rung_4_{question[0]}", own, question[1:]) for question in questions for own in names]
    with _ours():
        answers = _checked(valkey.ask(_loaded(), asked, replicas=replicas))
    found = [Answer(answer[1], int(answer[2]), answer[3], answer[4:]) for answer in answers]
    return [found[first : first + len(names)] for first in range(0, len(found), len(names))]


def clear(slot: Slot) -> None:
    """Removes a generation, a piece at a time."""
    for found in _found(slot):
        with valkey.answering("boards"):
            valkey.client(settings.VALKEY_URL).unlink(found)


def _found(slot: Slot) -> Iterator[str]:
    """The names of all keys of a generation."""
    return valkey.keys_like(keys.every(slot.mode, slot.shard, slot.generation), beside=slot.own_keys[0])


def _keys_of(slot: Slot, changes: Sequence[Change]) -> tuple[list[str]]:
    boards = [keys.board(slot.mode, slot.shard, slot.generation, change.window, change.scope) for change in changes]
    return ([*slot.own_keys, *boards],)


def packed(changes: Sequence[Change]) -> bytes:
    """As the functions take them."""
    body = [
        [
            index,
            change.expires,
            _flat(change.put),
            [member(player) for player in change.drop],
        ]
        for index, change in enumerate(changes, 1)
    ]
    found: bytes = msgpack.packb(body, use_bin_type=False)  # Lua's msgpack knows strings, not bytes
    return found


def _flat(put: Sequence[tuple[int, int]]) -> list[int | bytes]:
    """Place, member, place, member …: what is done for millions is done for many at once."""
    members = struct.pack(f">{len(put)}Q", *[_TOP - player for _, player in put])
    flat: list[int | bytes] = [0] * (2 * len(put))
    flat[::2] = [place for place, _ in put]
    flat[1::2] = [members[first : first + 8] for first in range(0, len(members), 8)]
    return flat


def _call(function: str, names: list[str], *args: object) -> list[Any]:
    with _ours():
        answer: list[Any] = _checked(valkey.ask(_loaded(), [(f"rung_4_{function}", names, args)], read_only=False))[0]
    return answer


def _checked(answers: list[Any]) -> list[Any]:
    for answer in answers:
        if answer[0] in (b"missing", b"broken"):
            raise NotBuilt("The board is being made again.", retry_after=2)
    return answers


@cache
def _loaded() -> str:
    return (Path(__file__).parent / "functions" / "rung.lua").read_text(encoding="utf-8")
