"""Strangers try passwords: they are held up before anything is hashed, and no operator is locked out by it."""

import fcntl
import os
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings as django_settings
from django.contrib.auth.hashers import PBKDF2PasswordHasher, make_password
from django.contrib.auth.models import User
from django.core import signing
from django.test import Client
from django.utils.html import strip_tags
from pytest_django import DjangoAssertNumQueries, Settings

from anticheat.models import AuditEntry
from config import counting, hashing, sign_in, valkey
from config.hashing import BoundedHasher, HashingBusy
from tests import live

PASSWORD, WRONG = "correct horse battery", "wrong"
HOME, ELSEWHERE = "192.0.2.7", "192.0.2.8"


@pytest.fixture(autouse=True)
def _cheap(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(BoundedHasher, "iterations", 1)
    yield
    counting.forget()


@pytest.fixture
def ops(db: None) -> User:
    return User.objects.create_superuser("ops", password=PASSWORD)


@pytest.fixture
def hashed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was hashed."""
    seen, encode = list[str](), PBKDF2PasswordHasher.encode

    def counted(hasher: Any, password: str, salt: str, iterations: int | None = None) -> str:
        seen.append(password)
        return encode(hasher, password, salt, iterations)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", counted)
    return seen


def _try(name: str = "ops", password: str = WRONG, *, at: str = HOME, client: Client | None = None, **more: Any) -> Any:
    fields = {"username": name, "password": password}
    return (client or Client()).post("/admin/login/", fields, REMOTE_ADDR=at, **more)


def _statuses(times: int, **who: Any) -> list[int]:
    return [_try(**who).status_code for _ in range(times)]


def _attack(name: str = "ops", *, addresses: int = 30, times: int = 6) -> set[int]:
    return {status for n in range(addresses) for status in _statuses(times, name=name, at=f"203.0.113.{n}")}


def test_an_address_that_names_ever_other_accounts_is_held_up_before_anything_is_hashed_or_asked(
    ops: User, hashed: list[str], django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    assert [_try(f"user-{n}").status_code for n in range(sign_in.FROM_AN_ADDRESS)] == [200] * sign_in.FROM_AN_ADDRESS
    assert len(hashed) == sign_in.FROM_AN_ADDRESS, "as much for a name that nobody has: no clock tells them apart"
    with django_assert_num_queries(0):
        refused = _try("user-x")
    assert refused.status_code == 429
    assert 0 < int(refused["Retry-After"]) <= sign_in.WINDOW
    assert "Too many tries" in strip_tags(refused.content.decode())
    assert len(hashed) == sign_in.FROM_AN_ADDRESS
    assert _try(at=ELSEWHERE).status_code == 200


def test_the_refusal_speaks_german_too(ops: User) -> None:
    _statuses(6)
    refused = _try(headers={"Accept-Language": "de"})
    assert (refused.status_code, refused["Content-Language"]) == (429, "de")
    assert "Zu viele Versuche" in refused.content.decode()


def test_one_account_is_tried_five_times_from_one_address_whatever_is_written_into_headers(
    ops: User, hashed: list[str]
) -> None:
    spellings = ["ops", "OPS", "ops", "ｏｐｓ", "ops", "ops", "ops"]
    forged = [{"headers": {"X-Forwarded-For": f"198.51.100.{n}"}} for n in range(7)]
    statuses = [_try(name, **more).status_code for name, more in zip(spellings, forged, strict=True)]
    assert statuses == [200] * 5 + [429] * 2
    assert len(hashed) == 5


@pytest.mark.parametrize("name", ["ops", "nobody"])
def test_while_an_account_is_attacked_from_everywhere_each_address_has_fewer_tries(ops: User, name: str) -> None:
    assert _attack(name) == {200, 429}
    assert _statuses(3, name=name, at=ELSEWHERE) == [200, 200, 429]
    assert _statuses(6, name="other", at=ELSEWHERE) == [200] * 5 + [429], "others are as they were"


def test_no_attack_locks_its_operator_out(ops: User) -> None:
    known = Client()
    assert _try(password=PASSWORD, client=known).status_code == 302
    known.post("/admin/logout/")
    _attack()
    _attack(addresses=3)
    assert _try(password=PASSWORD, at=ELSEWHERE).status_code == 302, "in a browser that nobody knows"
    for at in (HOME, "203.0.113.1"):  # also behind the same address as the attacker
        assert _try(password=PASSWORD, at=at, client=known).status_code == 302
        known.post("/admin/logout/")


def test_a_right_password_takes_no_tries_away(ops: User) -> None:
    for _ in range(sign_in.FROM_AN_ADDRESS + 1):
        assert _try(password=PASSWORD).status_code == 302


def test_a_known_browser_has_tries_of_its_own_and_not_for_ever(ops: User) -> None:
    known = Client()
    _try(password=PASSWORD, client=known)
    cookie = known.cookies["rung_browser"]
    assert (cookie["httponly"], cookie["path"], cookie["samesite"]) == (True, "/admin/", "Lax")
    assert "ops" not in cookie.value
    statuses = _statuses(20, client=known)
    assert statuses == [200] * (sign_in.IN_A_KNOWN_BROWSER + sign_in.FROM_AN_ADDRESS_FOR_AN_ACCOUNT) + [429] * 5


def test_a_browser_is_known_only_for_who_signed_in_with_it(ops: User) -> None:
    User.objects.create_superuser("other", password=PASSWORD)
    known = Client()
    _try("other", PASSWORD, client=known)
    assert _statuses(6, client=known) == [200] * 5 + [429]


@pytest.mark.parametrize(
    "forged",
    [
        "",
        "x",
        "a:b:c",
        signing.dumps({"nonce": "n", "accounts": ["ops"]}, key="another", salt="config.sign_in"),
        signing.dumps(["ops"], salt="config.sign_in"),
        signing.dumps({"nonce": "n"}, salt="config.sign_in"),
        signing.dumps({"nonce": "n", "accounts": 7}, salt="config.sign_in"),
    ],
    ids=range(7),
)
def test_a_cookie_that_makes_no_sense_opens_nothing(ops: User, forged: str) -> None:
    client = Client()
    client.cookies["rung_browser"] = forged
    assert _statuses(6, client=client) == [200] * 5 + [429]


@pytest.mark.django_db
@pytest.mark.parametrize("name", ["", "x" * 1000, "a\0b", "\U0001f600", "٣", "' OR 1=1", "[]"])
def test_an_odd_name_is_a_wrong_one(name: str) -> None:
    assert _try(name).status_code == 200
    assert Client().post("/admin/login/", {"username": [name, "ops"], "password": ["x", "y"]}).status_code == 200
    assert Client().post("/admin/login/", {}).status_code == 200
    assert Client().post("/admin/login/", b"{", content_type="application/json").status_code == 200


def test_what_is_counted_is_bounded_by_address_and_ends_by_itself(ops: User) -> None:
    for n in range(150):
        _try(f"user-{n}")
    server = valkey.client(django_settings.CACHE_URL)
    counts = list(server.scan_iter("rung:sign_in:*"))
    assert len(counts) <= 1 + 2 * sign_in.FROM_AN_ADDRESS
    assert all(0 < server.ttl(name) <= 3600 for name in counts)
    assert not any(b"user" in name or HOME.encode() in name for name in counts)


def test_without_the_cache_each_process_counts_alone(ops: User, settings: Settings, hashed: list[str]) -> None:
    settings.CACHE_URL = "redis://127.0.0.1:9/0"
    assert _statuses(7) == [200] * 5 + [429] * 2
    assert len(hashed) == 5
    for n in range(counting.MOST + 100):
        counting.count(counting.Step(f"n-{n}", 60))
    assert counting.held() == counting.MOST


def test_the_audit_holds_some_failures_an_hour_of_an_account_however_many_attack(ops: User) -> None:
    _attack(addresses=30, times=1)
    assert AuditEntry.objects.filter(verb="user.sign_in_failed").count() == 10


def test_a_password_cannot_be_guessed_at_an_open_browser_either(ops: User, hashed: list[str]) -> None:
    client = Client()
    client.force_login(ops)
    fields = {"old_password": "wrong", "new_password1": PASSWORD * 2, "new_password2": PASSWORD * 2}
    statuses = [client.post("/admin/password_change/", fields).status_code for _ in range(12)]
    assert statuses == [200] * 10 + [429] * 2
    assert hashed.count("wrong") == 10
    other = User.objects.create_superuser("other", password=PASSWORD)
    client.force_login(other)
    assert client.post("/admin/password_change/", fields | {"old_password": PASSWORD}).status_code == 302


def test_one_password_of_a_stranger_is_hashed_at_a_time_and_operators_have_a_turn_of_their_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    begun, go_on, encode = threading.Event(), threading.Event(), PBKDF2PasswordHasher.encode

    def slow(hasher: Any, password: str, salt: str, iterations: int | None = None) -> str:
        if password == "slow":
            begun.set()
            assert go_on.wait(60)
        return encode(hasher, password, salt, iterations)

    def as_stranger(password: str) -> str:
        with hashing.for_strangers():
            return make_password(password)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", slow)
    with ThreadPoolExecutor() as pool:
        first = pool.submit(as_stranger, "slow")
        assert begun.wait(60)
        with pytest.raises(HashingBusy):
            as_stranger("another")
        assert make_password("an operator's").startswith("pbkdf2_sha256$")
        go_on.set()
        assert first.result(60)
    while hashing.strangers_must_wait():
        time.sleep(0.01)
    assert as_stranger("another").startswith("pbkdf2_sha256$")


@pytest.mark.django_db(transaction=True)
def test_the_turn_is_one_for_all_processes_and_whoever_does_not_get_it_is_told_at_once(tmp_path: Path) -> None:
    """The admin goes on meanwhile, and the try that nobody looked at is not held against anybody."""
    User.objects.create_superuser("ops", password=PASSWORD)
    folder = tmp_path / "metrics"
    folder.mkdir()
    with (
        live.web(tmp_path, RUNG_WEB_PROCESSES="2", PROMETHEUS_MULTIPROC_DIR=str(folder)) as web,
        httpx.Client(base_url=web.origin, timeout=60) as caller,
    ):

        def tried() -> httpx.Response:
            token = caller.get("/admin/login/").cookies.get("csrftoken") or caller.cookies["csrftoken"]
            fields = {"username": "ops", "password": PASSWORD, "csrfmiddlewaretoken": token}
            return caller.post("/admin/login/", data=fields, headers={"Connection": "close"})

        with (folder / "hashing-strangers.lock").open("ab") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)  # as another process that hashes
            for _ in range(8):
                refused = tried()
                assert (refused.status_code, refused.headers["Retry-After"]) == (503, "3")
                assert "Try again in a moment" in refused.text
                assert "content-security-policy" not in refused.headers, "Django has had no work with it"
            german = caller.post("/admin/login/", headers={"Accept-Language": "de"})
            assert "noch einmal" in german.text
            forged = caller.post("/admin/login/", headers={"Cookie": "rung_browser=a:b:c"})
            assert forged.headers["Content-Type"].startswith("text/plain"), "a browser is known by our own signature"
        assert tried().status_code == 302
        with (folder / "hashing-strangers.lock").open("ab") as file:
            fcntl.flock(file.fileno(), fcntl.LOCK_EX)
            assert tried().status_code == 302, "in a browser that is known"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a thread has no niceness of its own")
def test_what_strangers_have_hashed_gets_only_what_nobody_else_needs_of_the_cores(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen, encode = dict[str, int](), PBKDF2PasswordHasher.encode

    def watched(hasher: Any, password: str, salt: str, iterations: int | None = None) -> str:
        seen[password] = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
        return encode(hasher, password, salt, iterations)

    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", watched)
    make_password("an operator's")
    with hashing.for_strangers():
        make_password("a stranger's")
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert seen == {"an operator's": own, "a stranger's": 15}


def _work(*_: Any) -> str:
    """A fifth of a second of a core."""
    begun = time.thread_time()
    while time.thread_time() - begun < 0.2:
        pass
    return "hashed"


def test_after_a_strangers_password_the_turn_rests(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that strangers, however many, have a tenth of a core at most."""
    pauses = list[float]()
    monkeypatch.setattr(PBKDF2PasswordHasher, "encode", _work)
    asleep, go_on, sleep = threading.Event(), threading.Event(), time.sleep

    def pause(seconds: float) -> None:
        if seconds < 0.1:  # of who waits for a turn
            sleep(seconds)
            return
        pauses.append(seconds)
        asleep.set()
        assert go_on.wait(60)

    monkeypatch.setattr("config.hashing.time.sleep", pause)
    monkeypatch.setattr(hashing, "_RESTS", 9)
    with hashing.for_strangers():
        assert [make_password(f"a stranger's {number}") for number in range(2)] == ["hashed"] * 2
    assert asleep.wait(60)
    assert hashing.strangers_must_wait()
    with hashing.for_strangers(), pytest.raises(HashingBusy):
        make_password("another")
    assert make_password("an operator's") == "hashed"
    go_on.set()
    assert pauses[0] >= 3.0
