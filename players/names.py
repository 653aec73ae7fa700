"""What a player may be called: names that people read, ids that machines pass around, regions.

A name may be in any script and hold any emoji. What it may not hold is anything a reader cannot see, or that changes
how the text around it reads: it would let one player pass for another, or break the page for everyone.
"""

import logging
import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Final

logger = logging.getLogger(__name__)

MAX_LENGTH: Final = 64
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_:.@+-]+", re.ASCII)  # most are; no need to look at each character
_MAX_RAW_LENGTH: Final = 1024  # more than any 64 characters take before they are normalised and folded

_SPACES: Final = " \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
_WHITE_SPACE: Final = _SPACES + "\t\n\v\f\r\x85\u2028\u2029"  # trimmed, but refused inside: a name is one line
_RUN_OF_SPACES: Final = re.compile(f"[{_SPACES}]+")

_PICTOGRAPHS: Final = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
)
_VIRAMAS: Final = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u103a\u17d2"
# Arabic letters and vowel signs after which the next letter would join, so that a ZWNJ is seen to keep the two apart.
_ARABIC_JOINING: Final = (
    "\u0620\u0626\u0628\u062a-\u062e\u0633-\u0647\u0649\u064a-\u0652\u066e\u066f\u0678-\u0687\u069a-\u06bf\u06c1\u06c2"
    "\u06cc\u06ce\u06d0\u06d1\u06fa-\u06fc\u06ff"
)
_ARABIC_LETTERS: Final = "\u0620\u0622-\u063f\u0641-\u064a\u066e\u066f\u0671-\u0673\u0675-\u06d3\u06d5\u06fa-\u06ff"
_SUBDIVISION_FLAGS: Final = "|".join(
    "".join(chr(0xE0000 + ord(letter)) for letter in region) for region in ("gbeng", "gbsct", "gbwls")
)
# Invisible characters where they mean something: there they are left alone, everywhere else they are refused.
_MEANINGFUL: Final = re.compile(
    "|".join(
        (
            rf"(?<=[{_PICTOGRAPHS}])[\ufe0e\ufe0f]",  # this emoji in colour, or as text
            r"(?<=[0-9#*])\ufe0f?\u20e3",  # keycaps
            rf"(?<=[{_PICTOGRAPHS}\ufe0f])\u200d(?=[{_PICTOGRAPHS}])",  # emoji made of several
            rf"(?<=\U0001f3f4)(?:{_SUBDIVISION_FLAGS})\U000e007f",  # England, Scotland, Wales
            rf"(?<=[{_VIRAMAS}])(?:\u200d|\u200c(?=[^\W\d_]))",  # conjuncts and half forms
            r"(?<=\u09b0)\u200d(?=\u09cd)",  # Bengali ra that keeps its shape
            rf"(?<=[{_ARABIC_JOINING}])\u200c(?=[{_ARABIC_LETTERS}])",  # Persian suffixes
        )
    )
)
# Seen by Unicode as letters, marks or symbols, by people as nothing; and the character that stands for lost text.
_BLANK: Final = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\ufffc\ufffd"
    "\U00016fe4\U0001d159\U000e0100-\U000e01ef]"
)
_REFUSED_CATEGORIES: Final = {
    "Cc": "a control character",
    "Cf": "an invisible character",
    "Cn": "a character that Unicode does not have",
    "Co": "a private character",
    "Cs": "half of a character",
    "Me": "a mark around other characters",
    "Zl": "a line break",
    "Zp": "a line break",
}
# Python's tables are years behind players' phones: what is new among the emoji is not unassigned.
_NEW_EMOJI: Final = re.compile("[\U0001f300-\U0001faff]")
# Marks for any letter, which stack without end. No alphabet needs three; a script's own marks can be four (Burmese).
_STACKING: Final = re.compile("[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]")
_MAX_STACKING: Final = 2
_MAX_MARKS: Final = 4

REGION: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,31}", re.ASCII)
SLUG: Final = re.compile(r"[a-z0-9][a-z0-9_-]{0,49}", re.ASCII)  # of games and modes
SLUG_RULE: Final = "1 to 50 of a–z, 0–9, - and _, beginning with a letter or a digit."


class NameRefused(ValueError):
    """The name cannot be shown; the sentence says why, to whoever chose it."""


def clean_name(raw: str) -> str:
    if len(raw) > _MAX_RAW_LENGTH:
        raise NameRefused(f"A name has at most {MAX_LENGTH} characters.")
    name = _RUN_OF_SPACES.sub(" ", unicodedata.normalize("NFC", raw).strip(_WHITE_SPACE))
    if not name:
        raise NameRefused("A name cannot be empty.")
    if len(name) > MAX_LENGTH:
        raise NameRefused(f"A name has at most {MAX_LENGTH} characters.")
    visible = _MEANINGFUL.sub("", name)
    for character in visible:
        if reason := _invisible(character):
            raise NameRefused(f"A name cannot hold {reason} (U+{ord(character):04X}).")
    for base, marks in _stacks(visible):
        _check_marks(base, marks)
    return name


def _invisible(character: str) -> str | None:
    if _BLANK.match(character):
        return "an invisible character"
    reason = _REFUSED_CATEGORIES.get(unicodedata.category(character))
    return None if _NEW_EMOJI.match(character) else reason


def _stacks(text: str) -> Iterator[tuple[str, str]]:
    """Each character with the non-spacing marks on it; spacing ones stand beside it and may be many."""
    base, marks = "", ""
    for character in text:
        category = unicodedata.category(character)
        if category == "Mn":
            marks += character
        elif category != "Mc":
            yield base, marks
            base, marks = character, ""
    yield base, marks


def _check_marks(base: str, marks: str) -> None:
    if marks and base in {"", " "}:
        raise NameRefused("A name cannot hold an accent with no letter under it.")
    twice = any(mark == following for mark, following in pairwise(marks))
    if twice or len(marks) > _MAX_MARKS or len(_STACKING.findall(marks)) > _MAX_STACKING:
        raise NameRefused("A name cannot pile up accents on one letter.")


def moderate(name: str, *, game: str, checks: Sequence[Callable[[str, str], str | None]]) -> None:
    """Asks the studio's own checks, each with the name and the game's slug; the first sentence refuses the name."""
    for check in checks:
        try:
            reason = check(name, game)
        except Exception:  # the studio's code: its faults must not keep players out
            logger.exception("a name check failed and was skipped: %r", check, extra={"game": game})
            continue
        if reason:
            raise NameRefused(reason)


def is_plain(raw: str) -> bool:
    """Nothing in it needs a closer look, and it is its own name."""
    return _PLAIN_ID.fullmatch(raw) is not None


def check_player_id(raw: str) -> str:
    """The game's own id for a player, exactly as given: it is compared, put into paths and logged, never read."""
    if not 1 <= len(raw) <= MAX_LENGTH:
        raise ValueError(f"A player_id has 1 to {MAX_LENGTH} characters.")
    if raw in {".", ".."} or "/" in raw or "\\" in raw:
        raise ValueError("A player_id is one segment of a path: it cannot hold / or \\, nor be . or ..")
    if is_plain(raw):
        return raw
    if raw != raw.strip():
        raise ValueError("A player_id cannot begin or end with white space.")
    for character in raw:
        if unicodedata.category(character) in {"Cc", "Cf", "Cs", "Zl", "Zp", "Zs"} and character != " ":
            raise ValueError(f"A player_id cannot hold U+{ord(character):04X}, which nobody can see.")
    return raw


def check_region(raw: str) -> str:
    if not REGION.fullmatch(raw):
        raise ValueError("A region is 1 to 32 of a-z, 0-9, _ and -, and begins with a letter or digit.")
    return raw
