"""Histograms as all processes share them: one value a board in the cache server, and which of them were read lately."""

from array import array
from collections.abc import Iterable
from datetime import datetime, timedelta

import msgspec
import structlog

from config import valkey
from leaderboards import keys
from leaderboards.boards.board import Board
from leaderboards.boards.histogram import Made
from leaderboards.rules.histogram import Histogram, histogram_of_keys
from leaderboards.rules.instants import instant_of, micros

log = structlog.get_logger(__name__)
KEPT = 60  # seconds without being renewed; then whoever reads makes it
LATELY = timedelta(seconds=60)
_FORMAT = 1
_Noted = tuple[int, str, str]  # mode, window, scope


class _Value(msgspec.Struct, array_like=True, frozen=True):
    format: int
    generation: int
    window: str
    version: int
    made: int  # microseconds since 1970
    keys: list[int]
    above: list[int]
    upto: list[int]
    distinct: list[int] = []  # keys greater than each, where ranks are dense


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Value).decode


def publish(board: Board, made: Made, *, at: datetime) -> None:
    found, distinct = made.histogram, made.histogram.distinct
    value = _Value(
        _FORMAT,
        board.mode.generation,
        board.window.id,
        made.version,
        micros(at),
        list(found.keys),
        list(found.above),
        list(found.upto),
        list(distinct.above) if distinct else [],
    )
    valkey.cache_set(_key(board), _encode(value), seconds=KEPT)


def renew(board: Board) -> None:
    """It is as good as new."""
    valkey.cache_keep(_key(board), seconds=KEPT)


def published(board: Board) -> tuple[Made, datetime] | None:
    """What there is of this very generation and window, and when it was made."""
    body = valkey.cache_bytes(_key(board))
    if body is None:
        return None
    try:
        value = _decode(body)
    except msgspec.DecodeError:
        log.warning("histogram_unreadable", key=_key(board))
        return None
    if (value.format, value.generation, value.window) != (_FORMAT, board.mode.generation, board.window.id):
        return None
    return Made(value.version, _histogram(value), whole=False), instant_of(value.made)


def _histogram(value: _Value) -> Histogram:
    distinct = histogram_of_keys(dict(zip(value.keys, value.distinct, strict=True))) if value.distinct else None
    own, above, upto = (array("q", column) for column in (value.keys, value.above, value.upto))
    return Histogram(upto[-1] if upto else 0, own, above, upto, distinct)


def note_read(board: Board, *, at: datetime) -> None:
    valkey.cache_note(keys.histograms_read(), f"{board.mode.pk}|{board.window.id}|{board.scope}", at=at.timestamp())


def read_lately(*, at: datetime) -> Iterable[_Noted]:
    for noted in valkey.cache_noted(keys.histograms_read(), since=(at - LATELY).timestamp()):
        mode, window, scope = noted.split("|")
        yield int(mode), window, scope


def _key(board: Board) -> str:
    return keys.histogram(board.mode.pk, board.mode.generation, board.window.id, board.scope)
