"""Pages speak the visitor's language: all of it, whatever it is written from."""

import re
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from itertools import chain

import pytest
from django.conf import settings
from django.template.loader import render_to_string
from django.test import RequestFactory
from django.utils import translation

from config.management.commands.translations import Words
from tests.factories import make_game, make_mode, make_player
from tests.pages.people import Person, ban, play

GERMAN = settings.LOCALE_PATHS[0] / "de" / "LC_MESSAGES" / "django.po"
CODE = {"code", "pre", "script", "style", "q", "bdi"}  # what is pasted, and what people wrote, is as it is
SAID = re.compile(r"aria-label|title|placeholder|alt|label|data-.*")
BETWEEN = re.compile(r"%\(\w+\)[sd]|\{\w+\}|<[^>]*>|%%")
ENGLISH = re.compile(
    r"\b(?:the|you|your|of|with|and|yet|since|here|this|are|ago|score is|players?|boards?|seen)\b", re.IGNORECASE
)
PAGES = {
    "/": 200,
    "/g/arena": 200,
    "/g/arena/solo/daily": 200,
    "/g/arena/solo/alltime?q=no": 200,
    "/g/arena/solo/weekly?q=nobody&scope=country:DE": 200,
    "/g/arena/lap/daily": 200,
    "/g/arena/solo/integrate": 200,
    "/g/arena/lap/integrate": 200,
    "/g/arena/open/integrate": 200,
    "/g/arena/players/otto": 200,
    "/embed/arena/solo/daily": 200,
    "/g/arena/enter?token=stale": 403,
    "/g/underground/solo/daily": 401,
    "/g/arena/nothing/daily": 404,
    "/nothing": 404,
}
OWN = ["/g/arena/solo/daily", "/g/arena/open/alltime", "/g/arena/lap/weekly", "/g/arena/players/nova"]


class Reader(HTMLParser):
    """Every piece of a page that somebody may see or hear."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.inside: list[str] = []
        self.pieces: list[str] = []
        self.root: dict[str, str | None] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "html":
            self.root = dict(attrs)
        if tag in CODE:
            self.inside.append(tag)
        self.pieces += [value for name, value in attrs if value and SAID.fullmatch(name) and value[0] != "/"]

    def handle_endtag(self, tag: str) -> None:
        if tag in CODE:
            self.inside.remove(tag)

    def handle_data(self, data: str) -> None:
        if not self.inside and data.strip():
            self.pieces.append(" ".join(data.split()))


def _each(text: str | Sequence[str]) -> Sequence[str]:
    """Of one with plurals every form."""
    return [text] if isinstance(text, str) else text


def _sentences() -> set[str]:
    """What the catalogue has in English, of three words or more."""
    texts = chain.from_iterable(_each(one.id) for one in Words.read(GERMAN))
    parts = chain.from_iterable(BETWEEN.split(text) for text in texts)
    return {part.strip(" ,.:;") for part in parts if len(part.split()) > 2}


def _english(page: str, sentences: set[str]) -> Iterator[str]:
    for piece in Reader(page).pieces:
        if ENGLISH.search(BETWEEN.sub("", piece)) or any(sentence in piece for sentence in sentences):
            yield piece


@pytest.mark.django_db(transaction=True)  # who drains streams begins transactions of its own
def test_every_page_speaks_german_to_whoever_asks_for_it() -> None:
    arena, underground = make_game("arena"), make_game("underground", public=False)
    make_mode(underground)
    make_player(arena, "nova", display_name="Nova", country="DE")
    make_player(arena, "otto", display_name="Otto", country="AT")
    solo = make_mode(arena, dimensions=["country", "level"])
    lap = make_mode(arena, "lap", order="asc", decimals=3, ranking="competition", submit="token", active=False)
    banned = make_mode(arena, "open", aggregation="sum", submit="open")
    play(solo, ("otto", 5000), ("nova", 1234), ("nova", 98765), dimensions={"level": "7"})
    play(banned, ("otto", 3), ("nova", 4))
    ban(banned, "nova")
    stranger, nova = Person(HTTP_ACCEPT_LANGUAGE="de-AT,de;q=0.9,en;q=0.5"), Person(HTTP_ACCEPT_LANGUAGE="de")
    nova.enter(arena, "nova")
    sentences, left = _sentences(), []
    for person, path, status in [(stranger, *page) for page in PAGES.items()] + [(nova, path, 200) for path in OWN]:
        answer = person.get(path)
        page = answer.content.decode()
        assert (answer.status_code, Reader(page).root.get("lang"), answer["Content-Language"]) == (status, "de", "de")
        left += [f"{path}: {piece}" for piece in _english(page, sentences)]
    assert left == [], "\n".join(left)
    assert "98.765" in nova.text(OWN[0])
    assert lap.title in stranger.text("/")


def test_the_catalogue_is_whole_and_what_is_read_is_what_was_written() -> None:
    words = Words.read(GERMAN)
    unsaid = [one.id for one in words if one.id and (one.fuzzy or not all(_each(one.string)))]
    assert unsaid == []
    assert GERMAN.with_suffix(".mo").read_bytes() == words.compiled(), "run `make translations`"
    assert GERMAN.read_bytes() == words.tidied()


def test_a_page_may_be_read_from_right_to_left() -> None:
    with translation.override("ar"):
        page = render_to_string("base.html", request=RequestFactory().get("/"))
    assert Reader(page).root == {"lang": "ar", "dir": "rtl"}
