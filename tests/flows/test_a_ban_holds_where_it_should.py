"""A ban is of the whole game or of one mode: there the player is on no board and may not submit, and only there."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from leaderboards.models import Mode
from leaderboards.services.corrections import bans_follow
from leaderboards.services.reconciling import reconcile_all
from players.models import Ban, Player
from players.services import player_erase
from tests.client import ApiClient
from tests.factories import make_game, make_key, make_mode, make_player, record_of
from tests.leaderboards.spine import drain
from tests.twins import midday

pytestmark = pytest.mark.django_db(transaction=True)
BOTH = {"solo": ["p-2", "p-1"], "duel": ["p-2", "p-1"]}
NOT_IN_SOLO = {"solo": ["p-1"], "duel": ["p-2", "p-1"]}


class House:
    """p-1 and p-2 on the boards of two modes of `arena`."""

    def __init__(self, api: ApiClient) -> None:
        self.api, self.game = api, make_game("arena")
        self.modes = {slug: make_mode(self.game, slug) for slug in ("solo", "duel")}
        self.key = make_key(self.game)
        self.players = {name: make_player(self.game, name) for name in ("p-1", "p-2")}
        for number, name in enumerate(self.players, 1):
            assert self.send(name, number) == {"solo": 202, "duel": 202}

    def send(self, player: str, score: int) -> dict[str, int]:
        answers = {slug: self.submit(slug, player, score) for slug in self.modes}
        return {slug: answer.status_code for slug, answer in answers.items()}

    def submit(self, mode: str, player: str, score: int) -> Any:
        body = {"player_id": player, "score": score}
        return self.api("POST", f"/v1/games/arena/modes/{mode}/scores", credential=self.key, json=body)

    def ban(self, kind: Ban.Kind = Ban.Kind.BAN, *, mode: str | None = "solo", **fields: Any) -> Ban:
        where = self.modes[mode] if mode else None
        return Ban.objects.create(player=self.players["p-2"], kind=kind, mode=where, reason="cheated", **fields)

    def listed(self) -> dict[str, list[str]]:
        found = {}
        for slug, mode in self.modes.items():
            drain(mode)
            board = self.api.get(f"/v1/games/arena/modes/{slug}/leaderboards/alltime").json()
            found[slug] = [entry["player_id"] for entry in board["entries"]]
        return found


@pytest.fixture
def house(api: ApiClient) -> House:
    return House(api)


@pytest.mark.parametrize("kind", [Ban.Kind.BAN, Ban.Kind.SHADOW, Ban.Kind.HIDDEN])
def test_a_ban_of_one_mode_takes_off_its_boards_only(house: House, kind: Ban.Kind) -> None:
    ban = house.ban(kind)
    assert house.listed() == NOT_IN_SOLO
    house.send("p-2", 9)
    assert house.listed() == NOT_IN_SOLO
    ban.delete()
    assert house.listed() == BOTH


def test_a_ban_of_one_mode_bars_from_that_mode_only(house: House) -> None:
    house.ban()
    assert house.send("p-2", 9) == {"solo": 422, "duel": 202}
    items = [{"mode": slug, "player_id": "p-2", "score": 10} for slug in ("solo", "duel")]
    batch = house.api("POST", "/v1/games/arena/scores", credential=house.key, json={"scores": items}).json()
    assert (batch["accepted"], [error["index"] for error in batch["errors"]]) == (1, [0])
    assert house.send("p-1", 9) == {"solo": 202, "duel": 202}


def test_a_ban_of_the_game_bars_from_every_mode(house: House) -> None:
    house.ban(mode=None)
    assert house.send("p-2", 9) == {"solo": 422, "duel": 422}
    assert house.listed() == {"solo": ["p-1"], "duel": ["p-1"]}


def test_who_is_hidden_may_submit_and_is_on_no_board(house: House) -> None:
    ban = house.ban(Ban.Kind.HIDDEN, mode=None)
    assert house.send("p-2", 9) == {"solo": 202, "duel": 202}
    assert house.listed() == {"solo": ["p-1"], "duel": ["p-1"]}
    ban.delete()
    assert house.listed() == BOTH


def test_a_ban_moved_to_another_mode_holds_there(house: House) -> None:
    ban = house.ban()
    assert house.listed() == NOT_IN_SOLO
    ban.mode = house.modes["duel"]
    ban.save()
    assert house.listed() == {"solo": ["p-2", "p-1"], "duel": ["p-1"]}
    assert house.send("p-2", 9) == {"solo": 202, "duel": 422}


def test_a_ban_of_one_mode_begins_and_ends_by_itself(api: ApiClient) -> None:
    noon, hour = midday(), timedelta(hours=1)
    with time_machine.travel(noon, tick=False) as clock:
        house = House(api)
        house.ban(starts_at=noon + hour, ends_at=noon + 2 * hour)
        told = []
        for _ in range(3):
            moved = bans_follow(now=timezone.now())
            told.append((moved, house.listed(), house.send("p-2", 1)["solo"]))
            clock.shift(hour)
    assert told == [(0, BOTH, 202), (1, NOT_IN_SOLO, 422), (1, BOTH, 202)]


def test_what_the_boards_missed_of_a_ban_of_one_mode_is_found(house: House) -> None:
    house.listed()
    Ban.objects.bulk_create([Ban(player=house.players["p-2"], mode=house.modes["solo"], reason="cheated")])
    assert house.listed() == BOTH, "nobody was told"
    assert reconcile_all(now=timezone.now()).misplaced == 1
    assert house.listed() == NOT_IN_SOLO
    assert reconcile_all(now=timezone.now()).misplaced == 0


def test_erasing_oneself_is_no_way_out_of_a_ban_of_one_mode(house: House) -> None:
    house.ban()
    player_erase(game=record_of(house.game), player_id="p-2", at=timezone.now())
    assert house.send("p-2", 9) == {"solo": 422, "duel": 202}
    assert house.listed() == NOT_IN_SOLO


def test_an_operator_who_adds_an_erased_id_again_brings_its_ban_back(house: House, client: Client) -> None:
    house.ban()
    player_erase(game=record_of(house.game), player_id="p-2", at=timezone.now())
    client.force_login(User.objects.create_superuser("operator"))
    form = {"game": house.game.pk, "player_id": "p-2", "display_name": "Two"}
    bans = {"bans-TOTAL_FORMS": "0", "bans-INITIAL_FORMS": "0"}
    assert client.post("/admin/players/player/add/", form | bans).status_code == 302
    added = Player.objects.get(player_id="p-2")
    assert [(ban.player, ban.mode) for ban in Ban.objects.all()] == [(added, house.modes["solo"])]
    assert house.send("p-2", 9) == {"solo": 422, "duel": 202}


def test_an_export_says_which_mode_a_ban_is_of(house: House) -> None:
    house.ban()
    house.ban(Ban.Kind.HIDDEN, mode=None)
    export = house.api.get("/v1/games/arena/players/p-2/export", credential=house.key).json()
    assert {(ban["kind"], ban["mode"]) for ban in export["bans"]} == {("ban", "solo"), ("hidden", None)}


def _form(player: Player, mode: Mode) -> dict[str, Any]:
    when = timezone.now()
    moment = {"starts_at_0": when.date().isoformat(), "starts_at_1": when.time().isoformat("seconds")}
    return {"player": player.pk, "kind": "ban", "mode": mode.pk, "reason": "cheated", **moment}


def test_a_ban_of_a_mode_of_another_game_is_refused_with_a_sentence(house: House, client: Client) -> None:
    client.force_login(User.objects.create_superuser("operator"))
    player, elsewhere = house.players["p-2"], make_mode(make_game("other"))
    form = _form(player, elsewhere)
    answer = client.post("/admin/players/ban/add/", form)
    assert "That is a mode of another game." in answer.content.decode()
    inline = {f"bans-0-{name}": value for name, value in form.items()}
    page = {"display_name": "Two", "bans-TOTAL_FORMS": "1", "bans-INITIAL_FORMS": "0"}
    answer = client.post(f"/admin/players/player/{player.pk}/change/", page | inline)
    assert answer.status_code == 200, "the form comes back"
    assert not Ban.objects.exists()
    assert client.post("/admin/players/ban/add/", _form(player, house.modes["solo"])).status_code == 302
    assert str(Ban.objects.get()) == "ban of p-2 in solo for ever"


def test_only_modes_of_the_players_game_are_offered(house: House, client: Client) -> None:
    client.force_login(User.objects.create_superuser("operator"))
    make_mode(make_game("other"), "elsewhere")
    ban = house.ban()
    for page in (f"/admin/players/player/{ban.player_id}/change/", f"/admin/players/ban/{ban.pk}/change/"):
        shown = client.get(page).content.decode()
        assert "arena/duel" in shown
        assert "other/elsewhere" not in shown
    assert client.get("/admin/players/ban/").status_code == 200
    assert client.get("/admin/players/player/add/").status_code == 200
