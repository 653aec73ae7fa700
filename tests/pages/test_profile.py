"""A player's page: where it stands, how it got there; and that others see what boards show, and no more."""

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from leaderboards import careers
from leaderboards.models import Mode
from players.models import Ban, Game
from players.services import player_erase
from tests.factories import make_game, make_mode, make_player, make_token, record_of
from tests.pages.browser import Visitor
from tests.pages.people import Person, ban, committed, play, text_of

pytestmark = pytest.mark.django_db(transaction=True)  # who drains streams begins transactions of its own
NOVA = "/g/arena/players/nova"
_RANKS_CUT_OFF = """() => {
    const end = element => element.getBoundingClientRect().right;
    return [...document.querySelectorAll(".places td.number")]
        .filter(cell => end(cell) > end(cell.closest(".card"))).map(cell => cell.innerText);
}"""


@pytest.fixture
def arena() -> Game:
    game = make_game("arena")
    make_player(game, "nova", display_name="Nova", country="DE", region="eu")
    make_player(game, "otto", display_name="Otto", country="DE", region="na")
    return game


@pytest.fixture
def solo(arena: Game) -> Mode:
    mode = make_mode(arena, min_score=0, max_score=1_000_000, dimensions=["country", "level"])
    play(mode, ("nova", 1234), ("otto", 5000), ("nova", 98765), ("nova", 4321), dimensions={"level": "7"})
    return mode


@pytest.fixture
def nova(arena: Game) -> Person:
    person = Person()
    person.enter(arena, "nova")
    return person


def test_anybody_sees_name_ranks_and_progress(solo: Mode) -> None:
    text = Person().text(NOVA)
    assert "Nova" in text
    assert "🇩🇪" in text
    assert "Solo" in text
    assert "All time This month This week Today" in text
    for scope in ("Everyone", "Country 🇩🇪 DE", "Level 7"):
        assert scope + " #1 98,765" * 4 in text
    assert "Solo: best score" in text
    assert "1,234" in text
    assert "Last attempts" not in text
    shown = Person().get(NOVA).content.decode()
    assert f'href="/g/{solo.game.slug}/solo/daily?scope=country%3ADE"' in shown


def test_scores_are_written_as_the_mode_and_the_language_write_them(arena: Game) -> None:
    lap = make_mode(arena, "lap", order="asc", decimals=3, min_score=Decimal(20), max_score=Decimal(600))
    play(lap, ("nova", "61.500"), ("nova", "59.25"))
    assert "59.250" in Person().text(NOVA)
    assert "59,250" in text_of(Person().get(NOVA, headers={"accept-language": "de"}))


def test_only_the_player_and_the_games_operators_see_what_became_of_attempts(
    solo: Mode, nova: Person, admin_user: object
) -> None:
    text = nova.text(NOVA)
    assert "Your last attempts" in text
    assert "4,321 Counts" in text, "which is on no board"
    otto = Person()
    otto.enter(solo.game, "otto")
    operator = Person()
    operator.client.force_login(admin_user)  # type: ignore[arg-type]
    assert "4,321 Counts" in operator.text(NOVA)
    for person in (otto, Person()):
        assert "4,321" not in person.text(NOVA)
        assert "Counts" not in person.text(NOVA)


def _set_state(player: str, score: int, state: int, reason: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE score_attempts a SET state = %s, reasons = jsonb_build_array(%s::text) FROM players_player p"
            " WHERE p.id = a.player_id AND p.player_id = %s AND a.score = %s",
            [state, reason, player, score],
        )


def test_what_is_held_back_or_refused_is_told_to_nobody_else(solo: Mode, nova: Person) -> None:
    play(solo, ("nova", 777_777), ("nova", 888_888))
    before = Person().text(NOVA)
    assert "888,888" in before
    _set_state("nova", 777_777, 1, "A replay is waited for.")
    _set_state("nova", 888_888, 2, "This score cannot be reached.")
    own = nova.text(NOVA)
    assert "888,888 Does not count This score cannot be reached." in own
    assert "777,777 Is being looked at A replay is waited for." in own
    charts = Person().text(NOVA).partition("Over time")[2]
    assert charts
    for told in ("777,777", "888,888", "replay", "looked at", "cannot be reached"):
        assert told not in charts
    assert "3 attempts in 30 days" in charts, "not even how many there were: five"
    assert "5 attempts in 30 days" in own


@pytest.mark.parametrize("kind", [Ban.Kind.BAN, Ban.Kind.SHADOW, Ban.Kind.HIDDEN])
def test_who_is_off_the_boards_is_off_its_page_for_others(solo: Mode, nova: Person, kind: Ban.Kind) -> None:
    mine = nova.text(NOVA)
    ban(solo, "nova", kind, reason="speed hack")
    others = Person().text(NOVA)
    assert "On no board at the moment." in others
    for told in ("98,765", "1,234", "#1", "speed hack", "attempts in"):
        assert told not in others
    if kind is Ban.Kind.SHADOW:
        assert nova.text(NOVA) == mine, "who is shadow banned is not to notice"
    else:
        assert "speed hack" in nova.text(NOVA), "told why"
        assert "98,765 Counts" in nova.text(NOVA)


def test_a_ban_in_one_mode_takes_away_that_mode_alone(solo: Mode, arena: Game) -> None:
    duel = make_mode(arena, "duel")
    play(duel, ("nova", 42))
    ban(solo, "nova", mode=solo)
    text = Person().text(NOVA)
    assert "Duel" in text
    assert "42" in text
    assert "98,765" not in text


def test_the_unknown_and_the_erased_have_no_page(arena: Game, solo: Mode) -> None:
    other = make_game("other")
    make_player(other, "stranger")
    with committed():
        player_erase(game=record_of(arena), player_id="otto", at=timezone.now())
    for path in ("nobody", "otto", "stranger", "a%00b", "%F0%9F%AA%9C", "x" * 80):
        answer = Person().get(f"/g/arena/players/{path}")
        assert answer.status_code == 404, path
        assert "Nothing on this rung" in text_of(answer)
        assert "Otto" not in text_of(answer)


def test_a_private_games_players_are_nobodys_business(arena: Game, solo: Mode, nova: Person) -> None:
    arena.public = False
    with committed():
        arena.save()
    for path in (NOVA, "/g/arena/players/nobody"):
        answer = Person().get(path)
        assert answer.status_code == 401
        assert "Nova" not in answer.content.decode()
    assert "98,765" in nova.text(NOVA)


def test_without_scores_the_page_says_what_to_do(arena: Game, nova: Person) -> None:
    make_mode(arena)
    assert "You are on no board yet." in nova.text(NOVA)
    assert "No attempts yet." in nova.text(NOVA)
    assert "On no board at the moment." in Person().text(NOVA)


def test_a_new_player_without_any_mode_has_a_page(arena: Game) -> None:
    assert "On no board at the moment." in Person().text(NOVA)


def test_what_players_and_operators_write_is_text_and_never_markup(arena: Game) -> None:
    """In the SVG too."""
    arena.players.filter(player_id="nova").update(display_name='"><script>alert(1)</script>')
    mode = make_mode(arena, title='"><img src=x onerror=alert(2)>')
    play(mode, ("nova", 5))
    person = Person()
    person.enter(arena, "nova")
    shown = person.get(NOVA).content.decode()
    assert shown.count("&lt;script&gt;alert(1)") >= 2
    assert shown.count("&lt;img src=x onerror") >= 3
    assert "<script>alert" not in shown
    assert "<img src=x" not in shown


def test_a_page_costs_the_same_however_many_attempts_there_are(
    solo: Mode, nova: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cost() -> int:
        nova.get(NOVA)  # what is remembered is remembered
        with CaptureQueriesContext(connection) as asked:
            nova.get(NOVA)
        return len(asked)

    few = cost()
    play(solo, *(("nova", score) for score in range(100, 140)))
    assert cost() == few <= 16
    monkeypatch.setattr(careers, "MOST", 10)
    player = solo.game.players.get(player_id="nova")
    done = careers.career(player.pk, now=timezone.now(), whole=True).done
    assert [one.score for one in done] == list(range(130, 140)), "the newest, oldest first"


def test_where_not_all_attempts_are_looked_at_the_page_says_so(
    arena: Game, nova: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    solo, gather = make_mode(arena), make_mode(arena, "gather", aggregation="sum")
    play(solo, ("nova", 900))
    play(gather, ("nova", 1000), ("nova", 5), ("nova", 7))
    play(solo, ("nova", 500), ("nova", 400))
    shown = nova.get(NOVA).content.decode()
    assert "Solo: best score in 90 days, now 900" in shown
    assert "Gather: points gathered in 90 days, now 1,012" in shown
    assert "6 attempts in 30 days" in shown
    monkeypatch.setattr(careers, "MOST", 4)
    for person, told in ((nova, 4), (Person(), 3)):
        shown = person.get(NOVA).content.decode()
        assert "Solo: best score in the last 2 attempts, now 500" in shown
        assert f"The last {told} attempts" in shown, "others are not told of what does not count"
        assert "in 90 days" not in shown
        assert "in 30 days" not in shown
        _set_state("nova", 5, 2, "This score cannot be reached.")
    german = text_of(Person().get(NOVA, headers={"accept-language": "de"}))
    assert "Solo: Bestleistung aus den letzten 2 Versuchen" in german
    assert "Die letzten 3 Versuche" in german


def test_a_total_and_a_latest_score_have_their_own_lines(arena: Game) -> None:
    play(make_mode(arena, "gather", aggregation="sum"), ("nova", 5), ("nova", 7))
    play(make_mode(arena, "last", aggregation="latest"), ("nova", 50), ("nova", 20))
    shown = Person().get(NOVA).content.decode()
    assert "Gather: points gathered in 90 days, now 12" in shown
    assert "Last: latest score, now 20" in shown


def test_the_page_can_be_read_and_used_in_a_browser(
    solo: Mode, arena: Game, new_visitor: Callable[..., Visitor], web: object
) -> None:
    before = timezone.now() - timedelta(days=3)
    play(solo, ("nova", 500), achieved_at=before)
    play(make_mode(arena, "gold", decimals=2), ("nova", "123456789.25"))  # wide figures, in four windows
    visitor = new_visitor()
    link = f"/g/arena/enter?token={make_token(arena, 'nova')}&next={NOVA}"
    assert visitor.visit(link) == 200
    assert visitor.page.url.endswith(NOVA)
    assert visitor.page.get_by_role("heading", name="Nova").is_visible()
    assert visitor.page.get_by_role("img", name="Solo: best score").is_visible()
    visitor.page.get_by_text("As a table").nth(1).click()
    assert visitor.page.get_by_role("cell", name="98,765").first.is_visible()
    for width, scheme in ((1440, "light"), (390, "dark")):
        visitor.look(width=width, scheme=scheme)
        assert visitor.width() <= width
        assert visitor.too_faint() == []
        assert visitor.page.evaluate(_RANKS_CUT_OFF) == []
    assert visitor.submit("Sign out") == 200
    assert "Your last attempts" not in visitor.text()
