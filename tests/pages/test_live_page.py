"""What static/live.js does with what it hears, told by a server that plays every part the contract has."""

from collections.abc import Callable

import pytest
from django.utils import timezone

from leaderboards.models import Mode
from leaderboards.noticing import mode_look
from players.models import Game
from tests.factories import make_game, make_mode, make_token
from tests.pages.browser import Visitor, wait_for
from tests.pages.people import ban
from tests.pages.scenes import play
from tests.pages.script import NAMES, PULSE, Script, entry

pytestmark = pytest.mark.django_db(transaction=True)
HOSTILE = "<img src=x onerror=alert(1)>"


FEED = "[...document.querySelectorAll('.feed li bdi')].map(one => one.textContent).join()"
ENDS = "[...document.querySelectorAll('time[data-left]')]"


def test_rows_go_where_the_newest_state_has_them(new_visitor: Callable[..., Visitor]) -> None:
    game = make_game("arena")
    make_mode(game)
    play(game, "solo", {"a": 300, "b": 200, "c": 100})
    visitor = new_visitor()
    script = Script(visitor)
    visitor.visit("/g/arena/solo/alltime")
    script.wait_for_ops("subscribe")
    asked = script.heard[0]
    assert (asked["game"], asked["mode"], asked["window"], asked["scope"], asked["limit"]) == (
        "arena",
        "solo",
        "alltime",
        "global",
        50,
    )
    script.tell("snapshot", 1, [entry(1, "a", 300), entry(2, "b", 200), entry(3, "c", 100)])
    script.wait(f"{PULSE} === 'Live'")
    height = visitor.page.evaluate("document.querySelector('.ladder').offsetHeight")
    script.tell("update", 2, [entry(1, "c", 1234), entry(2, "a", 300), entry(3, HOSTILE, 250, country="DE")])
    script.wait(f"{NAMES} === 'c,a,{HOSTILE}'")
    first, second, third = (visitor.page.locator("[data-rows] .entry").nth(index) for index in range(3))
    assert first.locator(".score").inner_text() == "1,234"
    assert first.locator(".move").inner_text().split() == ["2", "Up", "2", "since", "you", "opened", "this", "page"]
    assert "Down 1" in second.locator(".move").inner_text()
    assert third.get_by_role("img", name="Germany").inner_text() == "🇩🇪"
    assert third.locator("a").get_attribute("href") == "/g/arena/players/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E"
    assert visitor.page.locator("[data-say]").inner_text() == "c leads with 1,234"
    assert visitor.page.evaluate("document.querySelector('.ladder').offsetHeight") == height

    script.tell("update", 4, [entry(1, "b", 9999)])  # one was missed: what came counts, and all is asked for again
    script.wait_for_ops("subscribe", "unsubscribe", "subscribe")
    script.tell("snapshot", 1, [entry(1, "b", 10_000)])
    script.wait(f"{NAMES} === 'b'")

    script.heard.clear()
    script.hang_up()
    script.wait(f"{PULSE}.startsWith('Reconnecting')")
    script.wait_for_ops("subscribe")
    assert len(script.sockets) == 2
    script.tell("snapshot", 1, [entry(1, "a", 1)])
    script.wait(f"{PULSE} === 'Live' && {NAMES} === 'a'")


MOVES = "[...document.querySelectorAll('[data-rows] .move')].map(one => one.innerText.trim().replace(/\\s+/g, ' '))"


def test_why_a_row_has_not_moved_is_told_as_the_page_knows_it(new_visitor: Callable[..., Visitor]) -> None:
    game = make_game("arena")
    make_mode(game)
    play(game, "solo", {"a": 300, "b": 200})
    no_earlier = "No movement to show: there is no earlier board to compare with."
    script = Script(new_visitor())
    script.visitor.visit("/g/arena/solo/alltime")
    script.wait_for_ops("subscribe")
    script.tell("snapshot", 1, [entry(1, "a", 300), entry(2, "c", 250), entry(3, "b", 200)])
    script.wait(f"{NAMES} === 'a,c,b'")
    came, down = "Came into view since you opened this page.", "1 Down 1 since you opened this page"
    assert script.visitor.page.evaluate(MOVES)[:3] == [no_earlier, came, down]
    script.tell("update", 2, [entry(1, "a", 300), entry(2, "b", 260)])
    script.wait(f"{NAMES} === 'a,b'")
    assert script.visitor.page.evaluate(MOVES)[:2] == [no_earlier, no_earlier]


def test_what_has_ended_is_asked_for_once_more_and_what_is_refused_is_not_called_live(
    new_visitor: Callable[..., Visitor],
) -> None:
    game = make_game("arena")
    make_mode(game)
    visitor = new_visitor()
    script = Script(visitor)
    visitor.visit("/g/arena/solo/daily")
    script.wait_for_ops("subscribe")
    script.tell("snapshot", 1, [entry(1, "a", 300)])
    script.wait(f"{PULSE} === 'Live'")
    script.tell("error", 0, [], code="game_not_found")
    script.wait_for_ops("subscribe", "unsubscribe", "subscribe")
    script.tell("error", 0, [], code="game_not_found")
    script.wait(f"{PULSE}.startsWith('Offline')")
    assert visitor.page.locator("[data-rows] .name").all_inner_texts() == ["a"], "what was seen stays"


@pytest.mark.parametrize("code", ["unavailable", "internal_error", "rate_limited"])
def test_what_cannot_be_answered_for_a_moment_is_asked_for_later(
    new_visitor: Callable[..., Visitor], code: str
) -> None:
    make_mode(make_game("arena"))
    script = Script(new_visitor())
    page = script.visitor.page
    page.clock.install()
    script.visitor.visit("/g/arena/solo/daily")
    script.wait_for_ops("subscribe")
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 2)
    script.tell("error", 0, [], code=code)
    script.wait(f"{PULSE}.startsWith('Reconnecting')")
    page.clock.run_for(6000)
    script.wait_for_ops("subscribe", "unsubscribe", "subscribe")
    script.tell("snapshot", 1, [])
    script.wait(f"{PULSE} === 'Live'")


def test_who_is_known_as_somebody_else_by_now_asks_on_a_new_socket(new_visitor: Callable[..., Visitor]) -> None:
    """A socket keeps the cookie it was opened with: asked on the same one, it would be told as nobody."""
    game = make_game("arena")
    make_mode(game)
    visitor = new_visitor()
    script = Script(visitor)
    visitor.visit(f"/g/arena/enter?token={make_token(game, 'a')}&next=/g/arena/solo/daily")
    script.wait_for_ops("subscribe", "follow")
    script.tell("snapshot", 1, [entry(1, "a", 300)])
    script.wait(f"{PULSE} === 'Live'")
    script.heard.clear()
    script.tell("error", 0, [], code="unauthenticated")
    script.wait_for_ops("subscribe", "follow")
    assert len(script.sockets) == 2
    script.tell("snapshot", 1, [entry(1, "a", 400)])
    script.wait(f"{PULSE} === 'Live'")
    script.tell("error", 0, [], code="unauthenticated", id="me")
    script.tell("update", 2, [entry(1, "a", 500)])
    script.wait("document.querySelector('[data-rows] .score').textContent === '500'")
    assert len(script.sockets) == 2, "refused from the start, it leaves the socket to the board"


@pytest.mark.parametrize(("code", "sockets"), [("game_not_found", 1), ("unauthenticated", 2)])
def test_what_is_refused_is_asked_for_again_slowly(
    new_visitor: Callable[..., Visitor], code: str, sockets: int
) -> None:
    """Who was a stranger may be known by now, though not to a socket that keeps its cookie."""
    make_mode(make_game("arena"))
    script = Script(new_visitor())
    page = script.visitor.page
    page.clock.install()
    script.visitor.visit("/g/arena/solo/daily")
    script.wait_for_ops("subscribe")
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 2)
    script.tell("error", 0, [], code=code)
    script.wait(f"{PULSE}.startsWith('Offline')")
    script.heard.clear()
    page.clock.run_for(20_000)
    script.tell("heartbeat", 0, [])
    page.evaluate("0")
    assert script.heard == []
    page.clock.run_for(20_000)
    script.tell("heartbeat", 0, [])
    page.clock.run_for(25_000)
    script.wait_for_ops(*(["unsubscribe", "subscribe"] if sockets == 1 else ["subscribe"]))
    assert len(script.sockets) == sockets
    script.tell("snapshot", 1, [])
    script.wait(f"{PULSE} === 'Live'")


def test_at_the_reset_the_board_empties_by_itself(new_visitor: Callable[..., Visitor]) -> None:
    game = make_game("arena")
    make_mode(game)
    play(game, "solo", {"a": 300})
    visitor = new_visitor()
    script = Script(visitor)
    visitor.visit("/g/arena/solo/daily")
    script.wait_for_ops("subscribe")
    script.tell("snapshot", 1, [entry(1, "a", 300)], window_id="daily:2026-04-05")
    script.tell("update", 2, [], window_id="daily:2026-04-06")
    visitor.page.get_by_role("heading", name="No score yet").wait_for()
    assert visitor.page.locator("[data-rows] .entry").count() == 0
    assert visitor.page.locator("#total").inner_text() == "0"


def test_a_countdown_that_has_run_out_begins_anew_on_every_page_that_has_one(visitor: Visitor) -> None:
    game = make_game("arena")
    make_mode(game)
    for path, other in (("/", "added"), ("/g/arena", "beside"), ("/embed/arena/solo/daily", None)):
        visitor.visit(path)
        visitor.page.evaluate(f"{ENDS}.forEach(one => one.dateTime = '2026-01-01T00:00:00Z')")
        if other:
            make_mode(game, other, windows=["alltime"])  # now first on the page, and without an end
        wait_for(visitor.page, f"{ENDS}.every(one => new Date(one.dateTime) > Date.now())", seconds=60)
        assert visitor.page.evaluate(f"{ENDS}.length") == 1, path


def _takes_the_lead(game: Game, player: str) -> Mode:
    play(game, "solo", {player: 300})
    mode = Mode.objects.select_related("game").get(game=game)
    mode_look(mode=mode, best=None, now=timezone.now())
    return mode


@pytest.mark.parametrize("path", ["/", "/g/arena", "/g/arena/solo/alltime"])
def test_who_is_banned_leaves_what_just_happened(new_visitor: Callable[..., Visitor], path: str) -> None:
    game = make_game("arena")
    make_mode(game, windows=["alltime"])
    mode = _takes_the_lead(game, "cheat")
    script = Script(new_visitor())
    script.visitor.visit(path)
    script.wait_for_ops("subscribe")
    assert script.visitor.page.evaluate(FEED) == "cheat"
    ban(mode, "cheat")
    script.tell("snapshot", 1, [entry(1, "cheat", 300)])
    script.tell("update", 2, [])
    wait_for(script.visitor.page, f"{FEED} === ''", seconds=60)
    if path != "/":
        assert script.visitor.page.get_by_text("Quiet so far.").is_visible()


AWAY = "Object.defineProperty(document, 'hidden', {get: () => window.away === true})"
BACK = "window.away = false; document.dispatchEvent(new Event('visibilitychange'))"


def test_a_page_that_nobody_looks_at_asks_for_news_once_somebody_does(new_visitor: Callable[..., Visitor]) -> None:
    game = make_game("arena")
    make_mode(game, windows=["alltime"])
    mode = _takes_the_lead(game, "cheat")
    script = Script(new_visitor())
    page, asked = script.visitor.page, list[str]()
    page.add_init_script(AWAY)
    page.clock.install()
    script.visitor.visit("/g/arena/solo/alltime")
    script.wait_for_ops("subscribe")
    script.tell("snapshot", 1, [entry(1, "cheat", 300)])
    script.wait(f"{PULSE} === 'Live'")
    ban(mode, "cheat")
    script.tell("update", 2, [])
    script.wait(f"{NAMES} === ''")
    page.evaluate("window.away = true")
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(15_000)
    assert asked == []
    page.evaluate(BACK)
    wait_for(page, f"{FEED} === ''", seconds=60)


def test_what_is_said_of_ones_own_place_follows_the_neighbours(new_visitor: Callable[..., Visitor]) -> None:
    """Rank and score stay, so nothing is told of them; yet how far it is to the next one has changed."""
    game = make_game("arena")
    make_mode(game, windows=["alltime"])
    play(game, "solo", {"me": 100, "ahead": 300})
    script = Script(new_visitor())
    page, asked = script.visitor.page, list[str]()
    page.add_init_script(AWAY)
    page.clock.install()
    script.visitor.visit(f"/g/arena/enter?token={make_token(game, 'me')}&next=/g/arena/solo/alltime")
    script.wait_for_ops("subscribe", "follow")
    script.tell("snapshot", 1, [entry(1, "ahead", 300), entry(2, "me", 100)])
    assert page.locator(".goal strong").inner_text() == "200"
    play(game, "solo", {"ahead": 500})
    script.tell("update", 2, [entry(1, "ahead", 500), entry(2, "me", 100)])
    page.locator(".goal strong", has_text="400").wait_for()
    play(game, "solo", {"ahead": 900})
    script.tell("update", 3, [entry(1, "ahead", 900), entry(2, "me", 100)])
    script.wait("document.querySelector('[data-rows] .score').textContent === '900'")
    page.evaluate("window.away = true")
    page.on("request", lambda request: asked.append(request.url))
    page.clock.run_for(30_000)
    assert asked == [], "nobody looks"
    page.evaluate(BACK)
    wait_for(page, "document.querySelector('.goal strong').textContent === '800'", seconds=60)


def test_on_a_phone_that_wants_no_motion_nothing_moves(new_visitor: Callable[..., Visitor]) -> None:
    game = make_game("arena")
    make_mode(game)
    play(game, "solo", {"a": 300, "b": 200})
    visitor = new_visitor(reduced_motion="reduce", viewport={"width": 390, "height": 800})
    script = Script(visitor)
    visitor.visit("/g/arena/solo/alltime")
    script.wait_for_ops("subscribe")
    script.tell("snapshot", 1, [entry(1, "b", 400), entry(2, "a", 300)])
    script.wait(f"{NAMES} === 'b,a'")
    assert visitor.page.evaluate("document.getAnimations().length") == 0


def test_who_leaves_before_the_socket_is_open_makes_nobody_complain(visitor: Visitor) -> None:
    make_mode(make_game("arena"))
    visitor.visit("/g/arena/solo/daily")
    closed = visitor.page.evaluate("""async () => {
        const { Socket } = await import("/static/live/socket.js");
        const opened = [], real = WebSocket;
        window.WebSocket = class extends real { constructor(...args) { super(...args); opened.push(this); } };
        const socket = new Socket(location.origin.replace("http", "ws") + "/ws", () => {});
        socket.open();
        socket.close();
        await new Promise(done => opened[0].addEventListener("close", done));
        return opened.length;
    }""")
    assert closed == 1, "it was let go, and no other was opened"
    # that nothing was complained of is what every visitor is asked in the end
