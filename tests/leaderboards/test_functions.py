"""The functions that boards are kept with, at the ends of what they are given."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings as django_settings
from django.utils import timezone
from pytest_django import Settings

from config import valkey
from config.embedded.home import Home
from config.embedded.programs import Program, spawn
from config.embedded.valkey import Valkey
from leaderboards import ranking, whereabouts
from leaderboards.boards import store
from leaderboards.boards.board import Board, Stop, board_named
from leaderboards.boards.store import Change, Slot
from leaderboards.models import Mode
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire_scores import Submission
from players.access import Caller, Kind
from tests.embedded.processes_of import wait_until
from tests.factories import make_game, make_mode, record_of
from tests.leaderboards.spine import drain

LANGUAGE = "en_US.UTF-8"
EQUALS = 60
SLOT = Slot(990, 0, 1)


def _sizes() -> int:
    return int(valkey.client(django_settings.VALKEY_URL).hlen(SLOT.own_keys[1]))


@pytest.fixture
def built() -> None:
    store.built(SLOT, store.begin(SLOT), 0, at=1)


@pytest.fixture
def english(tmp_path: Path, settings: Settings) -> Iterator[None]:
    """A server that was started where people speak English, as servers of one's own are."""
    made = ["localedef", "-i", "en_US", "-f", "UTF-8", str(tmp_path / LANGUAGE)]
    if shutil.which(made[0]) is None or subprocess.run(made, capture_output=True, check=False).returncode:
        pytest.skip("NO SERVER IN ANOTHER LOCALE: localedef makes none here")
    server = Valkey(_home(tmp_path), durable=False)
    server.prepare(pause=time.sleep)
    program = server.program()
    local = {**program.env, "LC_ALL": LANGUAGE, "LOCPATH": str(tmp_path)}
    with (tmp_path / "valkey.log").open("ab") as log:
        running = spawn(Program(program.name, program.argv, program.folder, local), output=log)
    try:
        wait_until(lambda: server.answers(running.pid))
        settings.VALKEY_URL = server.url.replace("valkey://", "redis://")
        yield
    finally:
        running.stop()


def _home(folder: Path) -> Home:
    home = Home(folder)
    home.make()
    home.make_secrets()
    return home


@pytest.mark.parametrize("shards", [1, 4])
@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("english")
def test_equals_have_one_order_whatever_language_the_server_speaks(shards: int) -> None:
    mode = make_mode(make_game("arena"))  # without a range, equal scores go by player
    Mode.objects.update(shards=shards)
    mode.refresh_from_db()
    items = [Item(mode, Submission(player_id=f"p-{number}", score=7)) for number in range(EQUALS)]
    scores_submit(game=record_of(mode.game), caller=Caller(Kind.KEY, game="arena"), items=items)
    drain(mode)
    board = board_named(
        mode=Mode.objects.select_related("game").get(), window="alltime", scope="global", at=timezone.now()
    )
    listed = [(entry.rank, entry.player) for entry in ranking.page(board, offset=0, limit=EQUALS).entries]
    assert listed == sorted(listed)
    _, found = whereabouts.around(board, [(player, 0) for _, player in listed])
    assert [(one.own.rank, one.own.player) for one in found if one] == listed
    assert _paged(board, listed[0][1]) == listed[1:]


def _paged(board: Board, player: int) -> list[tuple[int, int]]:
    """From one on to the end, page by page."""
    found: list[tuple[int, int]] = []
    for _ in range(EQUALS):
        page = ranking.page_from(board, stop=Stop(7, None, player, after=True), limit=10)
        if not page.entries:
            break
        found += [(entry.rank, entry.player) for entry in page.entries]
        player = found[-1][1]
    return found


@pytest.mark.usefixtures("built")
def test_what_boards_should_be_is_forgotten_as_fast_as_they_expire() -> None:
    for day in range(6):
        past = int(time.time()) - 1
        changes = [Change(f"daily:{day}", f"level:{value}", past, [(value, 1)], []) for value in range(300)]
        store.apply(SLOT, day + 1, changes, at=1, width=0)
    assert _sizes() <= 2 * 300


@pytest.mark.parametrize("width", [0, 1])
@pytest.mark.usefixtures("built")
def test_a_board_that_everybody_has_left_leaves_nothing_behind(width: int) -> None:
    for number in range(40):  # a player who moves from region to region
        left = [Change("alltime", f"region:{number - 1}", 0, [], [1])] if number else []
        store.apply(
            SLOT, number + 1, [*left, Change("alltime", f"region:{number}", 0, [(5, 1)], [])], at=1, width=width
        )
    assert _sizes() == 1
    assert store.check(SLOT) == 40
    assert store.boards(SLOT) == {("alltime", "region:39")}


def test_nobody_stands_above_the_greatest_number_there_is() -> None:
    token, most = store.begin(SLOT), 2**53
    put = [(most, 1), (most - 1, 2), (5, 3), (-most, 4)]
    store.fill(SLOT, token, [Change("alltime", "global", 0, put, [])], width=0)
    store.built(SLOT, token, 1, at=1)
    (picked,) = store.read("picks", [SLOT], "alltime", "global", 1, 0, 1, 2, 3)
    assert picked.rest[0] == [most, 0, 1, most - 1, 1, 2, 5, 2, 3, -most, 3, 4]
