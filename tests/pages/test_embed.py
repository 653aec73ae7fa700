"""A board in a frame on somebody else's site, and as a picture where a link is shown."""

import io
import re
from collections.abc import Callable

import pytest
from PIL import Image

from leaderboards.models import Mode
from leaderboards.pages import picture
from players.models import Ban
from tests import live
from tests.factories import make_game, make_mode, make_player
from tests.pages.browser import Visitor
from tests.pages.people import Person, ban, committed, play, text_of

pytestmark = pytest.mark.django_db(transaction=True)  # who drains streams begins transactions of its own
EMBED, CARD = "/embed/arena/solo/daily", "/g/arena/solo/daily/card.png"


@pytest.fixture
def solo() -> Mode:
    game = make_game("arena")
    make_player(game, "nova", display_name="Nova", country="DE")
    mode = make_mode(game)
    play(mode, ("nova", 98765), *((f"p-{n}", n) for n in range(1, 16)))
    return mode


def test_only_this_page_may_be_framed_and_it_knows_nobody(solo: Mode) -> None:
    person = Person()
    person.enter(solo.game, "nova")
    framed = person.get(EMBED)
    assert framed.status_code == 200
    assert "X-Frame-Options" not in framed
    assert "frame-ancestors *" in framed["Content-Security-Policy"]
    assert "script-src 'self'" in framed["Content-Security-Policy"]
    assert not framed.cookies
    assert "Nova" in text_of(framed)
    assert "Signed in" not in text_of(framed)
    assert "mine" not in framed.content.decode().replace("you-tag", "")
    for path in (
        "/",
        "/g/arena",
        "/g/arena/solo/daily",
        "/g/arena/players/nova",
        "/g/arena/solo/integrate",
        "/embed/x/y/z",
    ):
        answer = Person().get(path)
        assert answer["X-Frame-Options"] == "DENY", path
        assert "frame-ancestors 'none'" in answer["Content-Security-Policy"], path


def test_how_many_and_in_which_light_can_be_asked_for(solo: Mode) -> None:
    def rows(query: str) -> int:
        return len(re.findall(r'data-rank="[0-9]', Person().get(f"{EMBED}?{query}").content.decode()))

    assert (rows(""), rows("limit=3"), rows("limit=50"), rows("limit=0")) == (10, 3, 16, 1)
    assert rows("limit=-1") == rows("limit=many") == rows("limit=99999999999") == 10
    assert rows("scope=country:DE") == 1
    assert 'class="embed dark"' in Person().get(f"{EMBED}?theme=dark").content.decode()
    assert 'class="embed"' in Person().get(f"{EMBED}?theme=<script>").content.decode()


@pytest.mark.parametrize("path", [EMBED, CARD])
def test_what_is_not_there_or_not_public_is_not_shown(solo: Mode, path: str) -> None:
    assert Person().get(path.replace("solo", "duel")).status_code == 404
    assert Person().get(path.replace("daily", "hourly")).status_code == 404
    person = Person()
    person.enter(solo.game, "nova")
    solo.game.public = False
    with committed():
        solo.game.save()
    for who in (Person(), person):
        answer = who.get(path)
        assert answer.status_code == 401
        assert "Nova" not in answer.content.decode(errors="replace")
    assert Person().get(f"{EMBED}?scope=guild:x").status_code in {401, 404}


def test_who_is_shadow_banned_is_in_no_frame_but_its_own(solo: Mode) -> None:
    person = Person()
    person.enter(solo.game, "nova")
    ban(solo, "nova", Ban.Kind.SHADOW)
    assert "Nova" in text_of(person.get(EMBED))
    assert "Nova" not in text_of(Person().get(EMBED))


def test_names_are_text_and_never_markup(solo: Mode) -> None:
    solo.game.players.filter(player_id="nova").update(display_name="<script>alert(1)</script>")
    Mode.objects.update(title="<img src=x onerror=alert(2)>")
    shown = Person().get(EMBED).content.decode()
    assert "&lt;script&gt;alert(1)" in shown
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown
    assert Person().get(CARD).status_code == 200


def test_a_board_as_a_picture_has_the_size_that_is_asked_for_and_is_kept_while_the_same_are_on_it(solo: Mode) -> None:
    answer = Person().get(CARD)
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/png")
    assert answer["Cache-Control"] == "public, max-age=10"
    image = Image.open(io.BytesIO(answer.content))
    assert image.size == (1200, 630)
    assert len(answer.content) < 100_000
    play(solo, ("nova", 500_000))
    assert Person().get(CARD).content == answer.content
    ban(solo, "nova", Ban.Kind.BAN)
    assert Person().get(CARD).content != answer.content
    page = Person().get("/g/arena/solo/daily").content.decode()
    assert f'property="og:image" content="http://127.0.0.1{CARD}"' in page
    assert 'name="twitter:card" content="summary_large_image"' in page


def test_a_picture_writes_what_its_font_can_write(solo: Mode) -> None:
    assert picture.writable("Nova 17_x") == "Nova 17_x"
    assert picture.writable("Zoë Łódź") == "Zoe Lodz"
    assert picture.writable("さくら") == picture.writable("🎉 party") == picture.writable("نجم") == ""
    short = picture.fitted("W" * 64, picture._font(34), 300)  # noqa: SLF001 - there is no other way to ask
    assert short.endswith("…")
    assert picture._font(34).getlength(short) <= 300  # noqa: SLF001 - as above
    solo.game.players.filter(player_id="nova").update(display_name="さくら")
    Mode.objects.update(title="さくら" * 30)
    assert Person().get(CARD).status_code == 200


def test_an_empty_board_is_a_picture_too(solo: Mode) -> None:
    make_mode(solo.game, "duel")
    assert Person().get("/g/arena/duel/daily/card.png").status_code == 200
    assert "No score yet" in text_of(Person().get("/embed/arena/duel/daily"))


def test_a_frame_on_another_site_shows_the_board_and_links_open_beside_it(
    solo: Mode, new_visitor: Callable[..., Visitor], web: live.Web
) -> None:
    visitor = new_visitor()
    visitor.visit(f"http://localhost:{web.port}/livez")  # another site, on the same machine, with a page of its own:
    visitor.page.set_content(f'<title>Games</title><iframe src="{web.origin}{EMBED}" width="400"></iframe>')
    frame = visitor.page.frame_locator("iframe")
    frame.get_by_text("Nova").wait_for()
    assert frame.get_by_role("row").count() >= 10
    assert frame.locator("base").get_attribute("target") == "_blank"
    assert visitor.context.cookies(web.origin) == []
    alone = new_visitor()
    assert alone.visit(f"{EMBED}?theme=dark&limit=5") == 200
    for width, scheme in ((600, "light"), (320, "dark")):
        alone.look(width=width, scheme=scheme)
        assert alone.width() <= width
        assert alone.too_faint() == []
