"""A name may be in any script, with any emoji, and holds nothing that a reader cannot see."""

import logging
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from players.names import NameRefused, check_player_id, check_region, clean_name, moderate

SHOWN_AS_CHOSEN = {
    "Latin": "Nova",
    "punctuation": "-=[x_X]=- o'Neil #1 <3 & co.",
    "markup, which pages escape": "<b>Nova</b>",
    "German": "Jürgen Weiß",
    "Vietnamese": "Nguyễn Thị Phượng",
    "Yoruba, accent over underdot": "Ọlọ́runtóbi",
    "Navajo": "Diné bąądi ą́ą́",
    "Cyrillic": "Алексей Ёж",
    "Greek": "Ἀχιλλεύς",
    "Hindi": "श्रीकृष्ण ज़िंदगी",
    "Hindi with a joined half form": "क्\u200dष",
    "Bengali with ra and ya-phala": "র\u200d্যাম",
    "Malayalam with an older chillu": "അവന്\u200d",
    "Sinhala": "ශ්\u200dරී ලංකා",
    "Tamil": "தமிழ்ச்செல்வன்",
    "Thai": "สมชาย กี้ น้ำผึ้ง",
    "Khmer": "ស្ត្រី",
    "Burmese with four marks": "ရွှံ့ မျှော်",
    "Tibetan": "བསྒྲུབས་",
    "Arabic with vowels": "مُحَمَّدٌ اللّٰه",
    "Persian with ZWNJ": "می\u200cخواهم کتاب\u200cها",
    "Hebrew with points": "שָּׁלוֹם",
    "Korean": "김철수",
    "Japanese": "龍が如く・ガンダム",
    "Chinese": "王小明",
    "astral letters": "𠮷野家 𝕹𝖔𝖛𝖆",
    "emoji": "🔥Nova🔥",
    "emoji with presentation": "I ❤️ ☕︎",
    "family": "👨\u200d👩\u200d👧\u200d👦",
    "skin tone and profession": "👩🏽\u200d🚀 👍🏿",
    "heart on fire": "❤️\u200d🔥",
    "rainbow and pirate flags": "🏳️\u200d🌈🏴\u200d☠️",
    "country flags": "🇩🇪🇯🇵",
    "flag of Scotland": "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f",
    "keycap": "#️⃣1️⃣",
    "emoji newer than Python": "\U0001fae8\U0001fac6",
    "64 characters": "n" * 64,
}

FOLDED = {
    "  Nova \t\n": "Nova",
    "\u3000Nova\u00a0": "Nova",
    "Nova\u2028": "Nova",
    "Nova \u2003\u00a0 Prime": "Nova Prime",
    "Nova\u00a0Prime": "Nova Prime",
    "Ju\u0308rgen": "Jürgen",
    "\u1100\u1161\u11a8": "각",
    "\u212b": "Å",
    " " * 500 + "n" * 64 + " " * 400: "n" * 64,
}

REFUSED = {
    "nothing": ("", "empty"),
    "spaces": (" \u3000\t", "empty"),
    "65 characters": ("n" * 65, "at most 64"),
    "a megabyte": (" " * 1_000_000, "at most 64"),
    "NUL": ("No\0va", "control"),
    "escape": ("No\x1b[31mva", "control"),
    "information separator at the end": ("Nova\x1f", "control"),
    "line feed inside": ("No\nva", "control"),
    "line separator": ("No\u2028va", "line break"),
    "surrogate": ("No\ud83dva", "half of a character"),
    "private use": ("\ue000", "private"),
    "unassigned": ("\u0378", "Unicode does not have"),
    "noncharacter": ("No\uffffva", "Unicode does not have"),
    "right-to-left override": ("Nova\u202egpj", r"invisible character \(U\+202E\)"),
    "bidi isolate": ("\u2066Nova\u2069", "invisible"),
    "right-to-left mark": ("Nova\u200f", "invisible"),
    "zero width space": ("No\u200bva", "invisible"),
    "byte order mark": ("\ufeffNova", "invisible"),
    "ZWJ between letters": ("No\u200dva", "invisible"),
    "ZWNJ between letters": ("No\u200cva", "invisible"),
    "ZWJ after an emoji": ("🔥\u200d", "invisible"),
    "ZWJ before an emoji": ("Nova\u200d🔥", "invisible"),
    "two ZWJ": ("👨\u200d\u200d👩", "invisible"),
    "ZWNJ after a letter that never joins": ("د\u200cا", "invisible"),
    "ZWNJ at the end of a Persian word": ("می\u200c", "invisible"),
    "ZWNJ after a virama, at the end": ("क्\u200c", "invisible"),
    "variation selector on a letter": ("N\ufe0fova", "invisible"),
    "variation selector on a digit": ("1\ufe0f", "invisible"),
    "ideographic variation": ("葛\U000e0100", "invisible"),
    "tag characters": ("Nova\U000e0041\U000e007f", "invisible"),
    "hidden text in a flag": ("🏴\U000e0068\U000e0069\U000e007f", "invisible"),
    "grapheme joiner": ("No\u034fva", "invisible"),
    "Hangul filler": ("\u3164", "invisible"),
    "Jamo filler": ("\u115f\u1160", "invisible"),
    "Braille blank": ("\u2800", "invisible"),
    "Mongolian vowel separator": ("No\u180eva", "invisible"),
    "replacement character": ("No\ufffdva", "invisible"),
    "enclosing circle": ("N\u20dd", "mark around"),
    "zalgo": ("N\u0300\u0301\u0302\u0303ova", "pile up"),
    "the same Thai mark again": ("ก็็", "pile up"),
    "five marks of a script": ("ရ\u103d\u103e\u1036\u1037\u102d", "pile up"),
    "zalgo between spacing marks": ("क\u0300\u093e\u0301\u093e\u0302", "pile up"),
    "an accent alone": ("\u0301", "no letter under it"),
    "an accent on a space": ("No \u0301va", "no letter under it"),
}


@pytest.mark.parametrize("name", SHOWN_AS_CHOSEN.values(), ids=SHOWN_AS_CHOSEN.keys())
def test_a_name_people_really_have_is_kept_as_chosen(name: str) -> None:
    assert clean_name(name) == unicodedata.normalize("NFC", name)


@pytest.mark.parametrize(("raw", "name"), FOLDED.items())
def test_a_name_is_trimmed_folded_and_normalised(raw: str, name: str) -> None:
    assert clean_name(raw) == name


@pytest.mark.parametrize(("raw", "reason"), REFUSED.values(), ids=REFUSED.keys())
def test_a_name_that_hides_something_is_refused_with_a_reason(raw: str, reason: str) -> None:
    with pytest.raises(NameRefused, match=reason):
        clean_name(raw)


PIECES = st.sampled_from([*SHOWN_AS_CHOSEN.values(), *FOLDED, "\u200d", "\u200c", "\ufe0f", "\u0301", " ", "🔥"])


@given(st.text() | st.lists(PIECES | st.characters(), max_size=6).map("".join))
def test_a_cleaned_name_stays_as_it_is(raw: str) -> None:
    try:
        name = clean_name(raw)
    except NameRefused as refusal:
        assert str(refusal).endswith(".")  # noqa: PT017 - some are refused, some are not
        return
    assert clean_name(name) == name
    assert 1 <= len(name) <= 64
    assert name == unicodedata.normalize("NFC", name) == " ".join(name.split())
    assert name.encode()


@pytest.mark.parametrize(
    "raw", ["p-17", "7", "a" * 64, "user@example.com", "two words", "Ju\u0308rgen", "日本", "a:b?c#d%e", "..."]
)
def test_a_player_id_is_kept_exactly_as_given(raw: str) -> None:
    assert check_player_id(raw) is raw


UNFIT_IDS = ["", "a" * 65, ".", "..", "a/b", "a\\b", " a", "a ", "a\n", "\u3000a", "a\0b", "a\x7fb", "a\x85b"]
UNFIT_IDS += ["a\u200bb", "a\u202eb", "a\ud800b", "a\u2028b", "a\u2029b", "a\u00a0b"]


@pytest.mark.parametrize("raw", UNFIT_IDS)
def test_a_player_id_that_would_break_a_path_or_a_log_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="A player_id "):
        check_player_id(raw)


@pytest.mark.parametrize("raw", ["eu", "na-east", "eu_west_1", "0", "a" * 32])
def test_a_region_is_a_slug(raw: str) -> None:
    assert check_region(raw) == raw


@pytest.mark.parametrize("raw", ["", "EU", "-eu", "_eu", "eu ", "eu\n", "eu:west", "é", "a" * 33, "\0"])
def test_a_region_that_is_no_slug_is_refused(raw: str) -> None:
    with pytest.raises(ValueError, match="A region is"):
        check_region(raw)


def test_a_studios_check_may_refuse_a_name() -> None:
    asked: list[tuple[str, str]] = []

    def fine(name: str, game: str) -> str | None:
        asked.append((name, game))
        return None

    def rude(name: str, _game: str) -> str | None:
        return "That word is not welcome here." if "darn" in name else None

    moderate("Nova", game="arena", checks=[fine, rude])
    with pytest.raises(NameRefused, match="not welcome"):
        moderate("darn", game="arena", checks=[rude, fine])
    assert asked == [("Nova", "arena")]
    moderate("darn", game="arena", checks=[])


def test_a_studios_check_that_fails_keeps_nobody_out(caplog: pytest.LogCaptureFixture) -> None:
    def broken(_name: str, _game: str) -> str | None:
        raise TimeoutError("the word list does not answer")

    with caplog.at_level(logging.ERROR):
        moderate("Nova", game="arena", checks=[broken])
        with pytest.raises(NameRefused, match="taken"):
            moderate("Nova", game="arena", checks=[broken, lambda _name, _game: "That name is taken."])
    assert [record.levelname for record in caplog.records] == ["ERROR", "ERROR"]
    assert "Nova" not in caplog.text
