"""A score waits for its replay, which is played again: it counts if the replay reaches it, else it is rejected."""

import hashlib
import io
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import httpx
import pytest
from django.conf import settings as django_settings
from django.core.files.storage import storages
from django.core.management import call_command
from django.db import OperationalError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from anticheat import sandbox
from anticheat.models import Case, Finding, Ruling
from anticheat.replays import Replay
from anticheat.sandbox import Bounds
from anticheat.services.replay_verdicts import replay_settle, replays_release
from anticheat.services.replays import replays_forget
from anticheat.services.rulings import ruling_make, ruling_undo
from anticheat.services.verifying import replays_verify
from anticheat.verifying import Claim, Outcome
from config.audit import HOUSE
from leaderboards.errors import BoardsUnavailable
from leaderboards.history import LogHistory
from leaderboards.models import Mode
from players.models import Game
from tests.at_once import at_once
from tests.client import ApiClient, told
from tests.factories import make_game, make_key, make_mode, make_token
from tests.leaderboards.spine import drain
from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)
SOLO = "/v1/games/arena/modes/solo"
STORAGES = django_settings.STORAGES
BYTES = {"Content-Type": "application/octet-stream"}


@pytest.fixture(autouse=True)
def _own_folder(settings: Settings, tmp_path: Path) -> None:
    names = ("length", "hanging", "hungry", "crashing", "forking")
    misbehaving = {name: f"tests.anticheat.verifiers.{name}" for name in names}
    settings.REPLAY_VERIFIERS = misbehaving | {"dodge": "anticheat.demo.dodge.verify"}
    _keep_in(tmp_path, settings)


def _keep_in(folder: Path, settings: Settings) -> None:
    options = STORAGES["replays"]["OPTIONS"] | {"location": folder}
    settings.STORAGES = STORAGES | {"replays": STORAGES["replays"] | {"OPTIONS": options}}


@pytest.fixture
def solo() -> Mode:
    return _mode(make_game("arena"), want="always", verifier="length")


def _mode(game: Game, slug: str = "solo", **replay: Any) -> Mode:
    return make_mode(game, slug, min_score=0, max_score=100_000, submit="open", checks={"replay": replay})


class Player:
    """Plays in a mode, by its own token."""

    def __init__(self, api: ApiClient, mode: Mode, player_id: str = "p-1") -> None:
        self.api, self.mode, self.player_id = api, mode, player_id
        self.token = make_token(mode.game, player_id)

    def submits(self, score: int) -> str:
        path = f"/v1/games/{self.mode.game.slug}/modes/{self.mode.slug}/scores"
        answer = self.api("POST", path, credential=self.token, json={"score": score})
        assert answer.status_code == 202
        return str(answer.json()["attempt_id"])

    def path(self, attempt: str) -> str:
        return f"/v1/games/{self.mode.game.slug}/players/{self.player_id}/attempts/{attempt}"

    def sends(self, attempt: str, replay: bytes, **request: Any) -> httpx.Response:
        sent = {"credential": self.token, "content": replay, "headers": BYTES} | request
        return self.api("PUT", f"{self.path(attempt)}/replay", **sent)

    def state(self, attempt: str) -> tuple[str, str]:
        attempted = self.api.get(self.path(attempt), credential=self.token).json()
        replay = self.api.get(f"{self.path(attempt)}/replay", credential=self.token).json()
        return attempted["state"], replay["state"]

    def board(self) -> list[tuple[str, int]]:
        drain(self.mode)
        path = f"/v1/games/{self.mode.game.slug}/modes/{self.mode.slug}/leaderboards/alltime"
        entries = self.api.get(path).json()["entries"]
        return [(one["player_id"], one["score"]) for one in entries]


def _verify() -> int:
    return replays_verify(clock=timezone.now)


def test_a_score_waits_for_its_replay_and_counts_once_it_was_verified(api: ApiClient, solo: Mode) -> None:
    player = Player(api, solo)
    attempt = player.submits(4)
    assert player.state(attempt) == ("quarantined", "none")
    assert player.board() == []
    sent = player.sends(attempt, b"1234")
    assert (sent.status_code, sent.json()["state"], sent.json()["size"]) == (201, "waiting", 4)
    assert sent.json()["sha256"] == hashlib.sha256(b"1234").hexdigest()
    assert _verify() == 1
    assert player.state(attempt) == ("accepted", "verified")
    assert player.board() == [("p-1", 4)]
    assert not Case.objects.exists(), "nothing is held against who played"


@pytest.mark.parametrize("replay", [b"12345", b"123"])
def test_a_replay_that_does_not_reach_the_score_rejects_it_and_opens_a_case(
    api: ApiClient, solo: Mode, replay: bytes
) -> None:
    player = Player(api, solo)
    attempt = player.submits(4)
    player.sends(attempt, replay)
    _verify()
    assert player.state(attempt) == ("rejected", "wrong")
    assert player.board() == []
    finding = Finding.objects.get()
    assert (finding.check_name, finding.verdict, str(finding.attempt_id)) == ("replay", "reject", attempt)
    assert finding.reason == f"Its replay reaches {len(replay)}, not 4."
    reasons = api.get(player.path(attempt), credential=player.token).json()["reasons"]
    assert reasons[-1] == "Its replay does not reach this score.", "and nothing that tells a cheater more"


@pytest.mark.parametrize("verifier", ["hanging", "hungry", "crashing", "forking"])
def test_a_verifier_that_fails_leaves_the_score_waiting_for_people_and_others_go_on(
    api: ApiClient, solo: Mode, settings: Settings, monkeypatch: pytest.MonkeyPatch, verifier: str
) -> None:
    def run(path: str, replay: bytes, claim: Claim, *, bounds: Bounds) -> Outcome:
        """The good one has as much time as a busy machine needs."""
        return real(path, replay, claim, bounds=bounds if claim.mode == "bad" else Bounds(60, 60))

    real = sandbox.run
    monkeypatch.setattr(sandbox, "run", run)
    settings.REPLAY_BOUNDS = {"seconds": 2, "cpu_seconds": 2, "mebibytes": 256}
    bad = Player(api, _mode(solo.game, "bad", want="always", verifier=verifier))
    good = Player(api, solo)
    held, fine = bad.submits(4), good.submits(4)
    bad.sends(held, b"1234")
    good.sends(fine, b"1234")
    while _verify():
        pass
    assert bad.state(held) == ("quarantined", "unverified")
    assert good.state(fine) == ("accepted", "verified")
    finding = Finding.objects.get()
    assert (finding.check_name, finding.verdict) == ("replay", "quarantine")
    assert finding.reason.startswith("It could not be verified.")
    assert Replay.objects.get(attempt_id=held).tries == 2, "a busy machine is not the replay's fault"


def test_what_dies_while_verifying_is_tried_again_and_given_up_in_the_end(
    api: ApiClient, solo: Mode, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.REPLAYS_AT_ONCE = 2
    player = Player(api, solo)
    attempt = player.submits(4)
    player.sends(attempt, b"1234")

    def die(**_: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("anticheat.services.verifying.replay_settle", die)
        with pytest.raises(KeyboardInterrupt):
            _verify()
    assert _verify() == 0, "somebody is at it, for all that is known"
    later = timezone.now() + timedelta(minutes=5)
    assert replays_verify(clock=lambda: later) == 1
    assert player.state(attempt) == ("accepted", "verified")
    Replay.objects.update(state="waiting", tries=2)
    _verify()
    assert player.state(attempt)[1] == "unverified"


def test_a_replay_is_verified_once_by_however_many_workers(api: ApiClient, solo: Mode) -> None:
    player = Player(api, solo)
    attempts = [player.submits(score) for score in range(1, 4)]
    for score, attempt in enumerate(attempts, 1):
        player.sends(attempt, b"x" * score)
    found = at_once(lambda _: _verify(), threads=4)
    while more := _verify():
        found.append(more)
    assert sum(found) == 3
    assert {one.tries for one in Replay.objects.all()} == {1}
    assert player.board() == [("p-1", 3)]


def test_the_same_bytes_again_change_nothing_and_others_only_while_nobody_has_looked(
    api: ApiClient, solo: Mode, tmp_path: Path
) -> None:
    player = Player(api, solo)
    attempt = player.submits(4)
    assert [player.sends(attempt, one).status_code for one in (b"1", b"1", b"1234", b"1234")] == [201, 200, 200, 200]
    assert len([one for one in tmp_path.rglob("*") if one.is_file()]) == 1, "what was replaced is gone"
    _verify()
    assert player.sends(attempt, b"1234").json()["state"] == "verified"
    assert told(player.sends(attempt, b"12345")) == (409, "attempt_conflict")
    assert player.state(attempt) == ("accepted", "verified")
    assert len([one for one in tmp_path.rglob("*") if one.is_file()]) == 1


def test_many_who_send_at_once_leave_one_replay(api: ApiClient, solo: Mode, tmp_path: Path) -> None:
    from anticheat.services.replays import Sent, attempt_find, replay_take  # noqa: PLC0415 - models

    player = Player(api, solo)
    attempt = player.submits(4)
    row = solo.game.players.get()
    logged = attempt_find(player=row, attempt_id=attempt)
    sent = Sent(b"1234", "application/octet-stream", None)
    made = at_once(lambda _: replay_take(player=row, attempt=logged, sent=sent, now=timezone.now())[1])
    assert sum(made) == 1
    assert len([one for one in tmp_path.rglob("*") if one.is_file()]) == 1


def test_a_replay_is_bounded_in_size_and_kind(api: ApiClient, solo: Mode, settings: Settings, tmp_path: Path) -> None:
    settings.REPLAY_BYTES = 1000
    player = Player(api, solo)
    attempt = player.submits(4)
    assert told(player.sends(attempt, b"x" * 1001)) == (413, "payload_too_large")
    assert told(player.sends(attempt, b"")) == (400, "invalid_request")
    for kind in ("text/html", "image/svg+xml", "multipart/form-data", ""):
        assert told(player.sends(attempt, b"1234", headers={"Content-Type": kind})) == (415, "unsupported_media_type")
    packed = BYTES | {"Content-Encoding": "gzip"}
    assert told(player.sends(attempt, b"1234", headers=packed)) == (415, "unsupported_media_type")
    assert not list(tmp_path.iterdir())
    assert player.sends(attempt, b"x" * 1000).status_code == 201


def test_only_its_player_and_the_games_servers_may_send_it(api: ApiClient, solo: Mode) -> None:
    player, other = Player(api, solo), make_game("other")
    attempt = player.submits(4)
    mine = make_token(solo.game, "p-2")
    assert told(player.sends(attempt, b"1234", credential=mine)) == (403, "forbidden")
    assert told(player.sends(attempt, b"1234", credential=make_key(other))) == (404, "game_not_found")
    assert told(player.sends(attempt, b"1234", credential=make_token(other, "p-1"))) == (404, "game_not_found")
    assert told(player.sends(attempt, b"1234", credential="")) == (401, "unauthenticated")
    for unknown in (str(uuid4()), "x", "0" * 32):
        assert told(player.sends(unknown, b"1234")) == (404, "attempt_not_found")
        assert told(api.get(f"{player.path(unknown)}/replay", credential=player.token)) == (404, "attempt_not_found")
    assert player.sends(attempt, b"1234", credential=make_key(solo.game)).status_code == 201


def test_who_has_a_signed_address_may_send_it_for_a_while_without_more(
    api: ApiClient, solo: Mode, settings: Settings
) -> None:
    player, other = Player(api, solo), Player(api, solo, "p-2")
    attempt, others = player.submits(4), other.submits(4)
    found = api.get(f"{player.path(attempt)}/replay", credential=player.token).json()
    assert datetime.fromisoformat(found["upload_expires_at"]) > datetime.now(UTC)
    signature = found["upload"].partition("?")[2]
    sent: dict[str, Any] = {"content": b"1234", "headers": BYTES}
    elsewhere = f"{other.path(others)}/replay?{signature}"
    assert told(api("PUT", elsewhere, **sent)) == (401, "unauthenticated"), "it is good for its own attempt"
    assert told(api("PUT", found["upload"] + "x", **sent)) == (401, "unauthenticated")
    assert told(api("PUT", f"{player.path(attempt)}/replay?signature=", **sent)) == (401, "unauthenticated")
    settings.REPLAY_ADDRESS_SECONDS = -1
    assert told(api("PUT", found["upload"], **sent)) == (401, "unauthenticated")
    settings.REPLAY_ADDRESS_SECONDS = 600
    assert api("PUT", found["upload"], **sent).status_code == 201


def test_a_mode_that_wants_no_replays_takes_none(api: ApiClient, solo: Mode) -> None:
    Mode.objects.update(checks={})
    player = Player(api, solo)
    attempt = player.submits(4)
    assert player.state(attempt) == ("accepted", "none")
    assert told(player.sends(attempt, b"1234")) == (400, "invalid_request")


def test_where_replays_are_optional_a_score_counts_at_once_and_is_rejected_if_its_replay_is_wrong(
    api: ApiClient, solo: Mode
) -> None:
    Mode.objects.update(checks={"replay": {"want": "optional", "verifier": "length"}})
    player, other = Player(api, solo), Player(api, solo, "p-2")
    good, bad = player.submits(4), other.submits(5)
    assert player.board() == [("p-2", 5), ("p-1", 4)]
    player.sends(good, b"1234")
    other.sends(bad, b"1")
    _verify()
    assert (player.state(good), other.state(bad)) == (("accepted", "verified"), ("rejected", "wrong"))
    assert player.board() == [("p-1", 4)]


def test_where_nobody_verifies_them_replays_are_kept_for_people(api: ApiClient, solo: Mode) -> None:
    Mode.objects.update(checks={"replay": {"want": "optional"}})
    player = Player(api, solo)
    attempt = player.submits(4)
    assert player.sends(attempt, b"1").json()["state"] == "kept"
    assert _verify() == 0


def test_where_the_best_want_replays_only_a_score_that_enters_the_top_waits(api: ApiClient, solo: Mode) -> None:
    mode = _mode(solo.game, "tops", want="top", k=2, verifier="length")
    for number in (1, 2):
        first = Player(api, mode, f"p-{number}")
        attempt = first.submits(10 * number)
        first.board()
        assert first.state(attempt)[0] == "quarantined"
        first.sends(attempt, b"x" * 10 * number)
        _verify()
    assert first.board() == [("p-2", 20), ("p-1", 10)]
    third, fourth = Player(api, mode, "p-3"), Player(api, mode, "p-4")
    low, high = third.submits(5), fourth.submits(15)
    assert third.board() == [("p-2", 20), ("p-1", 10), ("p-3", 5)]
    assert (third.state(low)[0], fourth.state(high)[0]) == ("accepted", "quarantined")
    fourth.sends(high, b"x" * 15)
    _verify()
    assert fourth.board() == [("p-2", 20), ("p-4", 15), ("p-1", 10), ("p-3", 5)]


def test_while_boards_do_not_answer_all_that_improves_waits_for_its_replay(
    api: ApiClient, solo: Mode, monkeypatch: pytest.MonkeyPatch
) -> None:
    mode = _mode(solo.game, "tops", want="top", k=1, verifier="length")
    player = Player(api, mode)
    verified, bare = player.submits(4), player.submits(5)
    player.sends(verified, b"1234")
    _verify()

    def down(*_: object) -> int:
        raise BoardsUnavailable

    with monkeypatch.context() as patched:
        patched.setattr(LogHistory, "place", down)
        drain(mode)
    assert (player.state(verified)[0], player.state(bare)[0]) == ("accepted", "quarantined")
    player.sends(bare, b"12345")
    _verify()
    assert player.board() == [("p-1", 5)]


def test_a_replay_that_was_verified_before_its_score_began_to_wait_lets_it_through(api: ApiClient, solo: Mode) -> None:
    mode = _mode(solo.game, "tops", want="top", k=2, verifier="length")
    player = Player(api, mode)
    early = player.submits(4)
    player.sends(early, b"1234")
    _verify()
    assert player.board() == [("p-1", 4)]
    late = player.submits(5)
    player.board()
    player.sends(late, b"12345")
    Replay.objects.filter(attempt_id=late).update(state="verified", settled_at=timezone.now())
    assert player.state(late)[0] == "quarantined"
    assert replays_release(now=timezone.now()) == 1
    assert player.board() == [("p-1", 5)]


def test_a_replay_releases_nothing_that_another_check_holds(api: ApiClient, solo: Mode, settings: Settings) -> None:
    settings.SCORE_CHECKS = [*settings.SCORE_CHECKS, "tests.flows.test_scores_are_judged_at_the_door.Judge"]
    player = Player(api, solo)
    attempt = player.submits(8)
    player.sends(attempt, b"12345678")
    _verify()
    assert player.state(attempt) == ("quarantined", "verified")


def _rule(mode: Mode, kind: str, attempt: str) -> Ruling:
    whom = mode.game.players.get(player_id="p-1")
    ruling = Ruling(kind=kind, game=mode.game, mode=mode, player=whom, reason="speed")
    return ruling_make(ruling=ruling, by=HOUSE, now=timezone.now(), attempts=[UUID(attempt)])


def test_a_wrong_replay_of_a_score_that_a_person_released_is_a_finding_and_no_more(api: ApiClient, solo: Mode) -> None:
    player = Player(api, solo)
    attempt, other = player.submits(4), player.submits(5)
    _rule(solo, "release", attempt)
    _undo(_rule(solo, "release", other))
    player.sends(attempt, b"1")
    player.sends(other, b"1")
    while _verify():
        pass
    assert player.state(attempt) == ("accepted", "wrong")
    assert player.state(other) == ("rejected", "wrong"), "what was undone was not said"
    assert player.board() == [("p-1", 4)]
    finding = Finding.objects.get(attempt_id=attempt)
    assert (finding.verdict, finding.reason) == ("flag", "Its replay reaches 1, not 4.")


def _undo(ruling: Ruling) -> None:
    ruling_undo(ruling=ruling, by=HOUSE, now=timezone.now(), why="a mistake")


def test_where_wrong_replays_are_only_flagged_what_counts_goes_on_counting_and_what_waits_waits(
    api: ApiClient, solo: Mode
) -> None:
    player = Player(api, solo)
    waits = player.submits(5)
    Mode.objects.update(checks={"replay": {"want": "optional", "verifier": "length", "act": "flag"}})
    counts = player.submits(4)
    for attempt in (waits, counts):
        player.sends(attempt, b"1")
    while _verify():
        pass
    assert (player.state(waits), player.state(counts)) == (("quarantined", "wrong"), ("accepted", "wrong"))
    assert player.board() == [("p-1", 4)]
    verdicts = dict(Finding.objects.values_list("score", "verdict"))
    assert verdicts == {5: "quarantine", 4: "flag"}


def test_a_disqualification_that_was_undone_is_not_told_and_keeps_no_replay_from_releasing_its_score(
    api: ApiClient, solo: Mode
) -> None:
    player = Player(api, solo)
    attempt = player.submits(4)
    _undo(_rule(solo, "reject", attempt))
    player.sends(attempt, b"1234")
    _verify()
    assert player.state(attempt) == ("accepted", "verified")
    assert api.get(player.path(attempt), credential=player.token).json()["reasons"] == []


def test_a_replay_is_settled_after_whoever_rules_on_its_case(api: ApiClient, solo: Mode) -> None:
    """Each takes the case first, so that neither ever waits for the other."""
    player = Player(api, solo)
    player.sends(player.submits(4), b"1")
    case = Case.objects.create(game=solo.game, mode=solo, player=solo.game.players.get())
    with transaction.atomic():
        Case.objects.select_for_update().get(pk=case.pk)
        with pytest.raises(OperationalError, match="lock timeout"):
            at_once(lambda _: _settle_soon(), threads=1)


def _settle_soon() -> None:
    """Waits for the case, and has not touched the attempt by then."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '200ms'")
    replay = Replay.objects.select_related("mode", "player").get()
    with CaptureQueriesContext(connection) as asked:
        try:
            replay_settle(replay=replay, outcome=Outcome(1), now=timezone.now())
        finally:
            assert not any("score_attempts" in one["sql"] for one in asked)


def test_a_mode_may_name_only_a_verifier_that_the_operator_knows(api: ApiClient, solo: Mode) -> None:
    for tuning in (
        {"want": "always", "verifier": "os.system"},
        {"want": "always"},
        {"want": "top"},
        {"want": "sometimes"},
        {"verifier": "anticheat.demo.dodge.verify"},
    ):
        body = {"checks": {"replay": tuning}}
        assert told(api.put(SOLO, credential=make_key(solo.game), json=body)) == (400, "invalid_request")


def test_an_erased_players_replays_are_gone(api: ApiClient, solo: Mode, tmp_path: Path) -> None:
    player = Player(api, solo)
    player.sends(player.submits(4), b"1234")
    assert api.delete("/v1/games/arena/players/p-1", credential=player.token).status_code == 204
    assert not Replay.objects.exists()
    assert not [one for one in tmp_path.rglob("*") if one.is_file()]


def test_replays_are_for_the_eyes_of_their_owner_only(
    api: ApiClient, solo: Mode, settings: Settings, tmp_path: Path
) -> None:
    _keep_in(tmp_path / "by" / "rung", settings)
    player = Player(api, solo)
    assert player.sends(player.submits(4), b"1234").status_code == 201
    made = {path.relative_to(tmp_path): path.stat().st_mode & 0o777 for path in tmp_path.rglob("*")}
    assert set(made.values()) == {0o600, 0o700}, made
    assert [mode for path, mode in made.items() if (tmp_path / path).is_file()] == [0o600]


def test_old_replays_are_forgotten_unless_somebody_needs_them(api: ApiClient, solo: Mode, tmp_path: Path) -> None:
    players = [Player(api, solo, f"p-{n}") for n in range(4)]
    for score, player in enumerate(players, 1):
        player.sends(player.submits(score), b"x" * score)
    waiting = Player(api, solo, "p-4")
    while _verify():
        pass
    waiting.sends(waiting.submits(9), b"1")
    Case.objects.create(game=solo.game, mode=solo, player=solo.game.players.get(player_id="p-1"))
    Case.objects.create(game=solo.game, mode=solo, player=solo.game.players.get(player_id="p-2"), state="cleared")
    Replay.objects.filter(player__player_id="p-3").update(uploaded_at=timezone.now() + timedelta(days=1))
    assert replays_forget(before=timezone.now()) == 2
    assert sorted(Replay.objects.values_list("player__player_id", flat=True)) == ["p-1", "p-3", "p-4"]
    assert len([one for one in tmp_path.rglob("*") if one.is_file()]) == 3


def test_bytes_that_are_gone_are_not_verified_and_stop_nobody(api: ApiClient, solo: Mode) -> None:
    player = Player(api, solo)
    attempt = player.submits(4)
    player.sends(attempt, b"1234")
    storages["replays"].delete(Replay.objects.get().name)
    while _verify():
        pass
    assert player.state(attempt) == ("quarantined", "unverified")


def test_the_demos_game_is_played_and_a_forged_score_refused(web: Web, settings: Settings, tmp_path: Path) -> None:
    call_command("load_demo", stdout=io.StringIO())
    settings.HOME = type(settings.HOME)(tmp_path)
    (tmp_path / "demo_key").write_text(make_key(Game.objects.get(slug="demo")), encoding="utf-8")
    settings.STORAGES = STORAGES  # where the web process keeps them
    ended = threading.Event()

    def work() -> None:
        try:
            while not ended.wait(0.1):
                _verify()
        finally:
            connection.close()

    worker = threading.Thread(target=work)
    worker.start()
    try:
        told_ = []
        for options in ([], ["--forge"]):
            out = io.StringIO()
            call_command("play_dodge", "--url", web.origin, *options, stdout=out)
            told_.append(out.getvalue().splitlines()[-1])
    finally:
        ended.set()
        worker.join()
    assert told_[0].startswith("It is accepted")
    assert told_[1].startswith("It is rejected")
