"""The top of a board as a picture, for wherever a link to it is shown (Open Graph)."""

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple

from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.utils.translation import get_language, ngettext
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe
from PIL import Image, ImageDraw, ImageFont
from PIL.ImageDraw import ImageDraw as Drawing
from PIL.ImageFont import FreeTypeFont

from config import clock
from leaderboards.board_states import board_state
from leaderboards.boards.board import Board
from leaderboards.known import board_known
from leaderboards.pages import numbers, visitors, words
from leaderboards.wire_scores import BoardQuery, EntryState
from players.access import NOBODY

SECONDS = 60  # that scores on it may be old
ELSEWHERE = 10  # that others may keep it
SIZE = WIDTH, HEIGHT = 1200, 630
TOP = 5
_EDGE, _LEFT, _RIGHT = 72, 88, 72
_ROWS, _STEP = 262, 63  # where the first row is, and how far the next
_PAGE, _CARD, _INK, _QUIET, _ACCENT = "#101019", "#191926", "#ececf6", "#a5a5c0", "#a5b4fc"
_MEDALS = {1: "#f2c14e", 2: "#c3c9d6", 3: "#d4935b"}
_SPELT = str.maketrans({"ß": "ss", "æ": "ae", "Æ": "Ae", "ø": "o", "Ø": "O", "œ": "oe", "ł": "l", "Ł": "L", "đ": "d"})
_NOWHERE = "\U0010ffff"  # in no font


class Shown(NamedTuple):
    """All that is written on it."""

    game: str
    mode: str
    line: str
    entries: list[tuple[int, str, str]]  # rank, name, score
    empty: str


@require_safe
def card(request: HttpRequest, game: str, mode: str, window: str) -> HttpResponse:
    record, now = visitors.readable(NOBODY, game), clock.now()
    board = board_known(game=record, mode=mode, window=window, at=now, scope=lambda: "global")
    board = visitors.own_view(request, board, now=now)
    key, shown = f"card:{board.mode.pk}:{board.window.id}:{get_language()}:{board.viewer or ''}", _shown(board, now)
    who = [one[1] for one in shown.entries]
    kept: tuple[list[str], bytes] | None = cache.get(key)
    if kept is None or kept[0] != who:  # nobody stays on it who was taken off the board
        kept = who, drawn(shown)
        cache.set(key, kept, SECONDS)
    response = HttpResponse(kept[1], content_type="image/png")
    return visitors.shown_to(request, board, response, public=f"public, max-age={ELSEWHERE}")


def _shown(board: Board, now: datetime) -> Shown:
    state = board_state(board, asked=BoardQuery(limit=TOP))
    title = words.window_title(board.window, zone=board.mode.timezone, now=now)
    players = ngettext("%(count)s player", "%(count)s players", state.total) % {"count": numbers.whole(state.total)}
    return Shown(
        board.mode.game.title,
        board.mode.title,
        f"{title} · {players}",
        [_entry(one, board.rules.decimals) for one in state.entries],
        _("No score yet. The first rung is free."),
    )


def _entry(one: EntryState, decimals: int) -> tuple[int, str, str]:
    score = "" if one.score is None else numbers.score_text(one.score, decimals)
    return one.rank or 0, writable(one.display_name) or writable(one.player_id) or _("Player"), score


def drawn(shown: Shown) -> bytes:
    image = Image.new("RGB", SIZE, _PAGE)
    draw = ImageDraw.Draw(image)
    _draw_ladder(draw)
    _write(draw, (_LEFT, 64), shown.game, 34, _ACCENT, room=900)
    _write(draw, (_LEFT, 108), shown.mode, 76, _INK, room=900, weight=1)
    _write(draw, (_LEFT, 200), shown.line, 30, _QUIET, room=900)
    if shown.entries:
        _draw_entries(draw, shown.entries)
    else:
        _write(draw, (_LEFT, _ROWS + 2 * _STEP), shown.empty, 38, _QUIET, room=900)
    _write(draw, (WIDTH - _RIGHT, 66), "Rung", 34, _INK, end=True, weight=1)
    kept = BytesIO()
    image.quantize(128).save(kept, "PNG", optimize=True)
    return kept.getvalue()


def _draw_ladder(draw: Drawing) -> None:
    """On the left edge: two rails and rungs, the mark of the house."""
    for x in (20, 46):
        draw.rounded_rectangle((x, -20, x + 6, HEIGHT + 20), 3, fill=_ACCENT)
    for y in range(24, HEIGHT, 60):
        draw.rounded_rectangle((20, y, 52, y + 6), 3, fill=_ACCENT)


def _draw_entries(draw: Drawing, entries: Sequence[tuple[int, str, str]]) -> None:
    for place, (rank, name, score) in enumerate(entries):
        y = _ROWS + place * _STEP
        draw.rounded_rectangle((_LEFT, y, WIDTH - _RIGHT, y + _STEP - 8), 14, fill=_CARD)
        medal = _MEDALS.get(rank)
        if medal:
            draw.ellipse((_LEFT + 14, y + 8, _LEFT + 50, y + 44), fill=medal)
        _write(draw, (_LEFT + 32, y + 26), numbers.whole(rank), 24, _PAGE if medal else _QUIET, middle=True)
        taken = _write(draw, (WIDTH - _RIGHT - 24, y + 26), score, 34, _INK, end=True, level=True, weight=1)
        _write(draw, (_LEFT + 76, y + 26), name, 34, _INK, room=WIDTH - _LEFT - _RIGHT - 130 - taken, level=True)


def _write(  # noqa: PLR0913 - a text has that many sides
    draw: Drawing,
    at: tuple[int, int],
    text: str,
    size: int,
    colour: str,
    *,
    room: int = WIDTH,
    weight: int = 0,
    end: bool = False,
    level: bool = False,
    middle: bool = False,
) -> int:
    """How wide it came out; what has no room ends in dots. `level`: in line with its height's middle."""
    font = _font(size)
    text = fitted(_written(text), font, room)
    anchor = "mm" if middle else ("r" if end else "l") + ("m" if level else "a")
    draw.text(at, text, fill=colour, font=font, anchor=anchor, stroke_width=weight, stroke_fill=colour)
    return int(font.getlength(text))


def fitted(text: str, font: FreeTypeFont, room: int) -> str:
    if font.getlength(text) <= room:
        return text
    while text and font.getlength(f"{text}…") > room:
        text = text[:-1]
    return f"{text.rstrip()}…"


def writable(text: str) -> str:
    """The text as the font has it, its accents left out where it has none; nothing where letters would be missing."""
    plain = _without_accents(text)
    return text if _all_there(text) else plain if _all_there(plain) else ""


def _written(text: str) -> str:
    """The same for what is shown in any case: letters that the font does not have are left out."""
    return writable(text) or "".join(one for one in _without_accents(text) if _has(one)).strip()


def _without_accents(text: str) -> str:
    spelt = unicodedata.normalize("NFKD", text.translate(_SPELT))
    return "".join(one for one in spelt if not unicodedata.combining(one))


def _all_there(text: str) -> bool:
    return all(_has(character) for character in text)


@lru_cache(maxsize=4096)
def _has(character: str) -> bool:
    """A font draws what it does not have as the same empty box."""
    return character.isspace() or _drawn(character) != _drawn(_NOWHERE)


def _drawn(character: str) -> tuple[tuple[int, int], bytes]:
    mask = _font(24).getmask(character)
    return mask.size, bytes(mask)


@lru_cache(maxsize=16)
def _font(size: int) -> FreeTypeFont:
    font = ImageFont.load_default(size)
    assert isinstance(font, FreeTypeFont)  # noqa: S101 - with a size it is
    return font
