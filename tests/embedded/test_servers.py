"""The real PostgreSQL and the real Valkey, from nothing, through crashes, back to the same data."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
import redis

from config.embedded import postgres
from config.embedded.errors import CannotStart
from config.embedded.home import PROJECT_ROOT, Home
from config.embedded.ports import free_port
from config.embedded.postgres import Postgres, clear_the_way
from config.embedded.programs import Program, spawn
from config.embedded.records import record_write
from config.embedded.servers import ServerUrls, embedded_servers
from config.embedded.stopping import Stopping
from tests.embedded.processes_of import processes_of, wait_until

HOLD = """
import sys, time
from pathlib import Path
from config.embedded.servers import embedded_servers
with embedded_servers(Path(sys.argv[1]), durable=True) as servers:
    print(servers.database_url, servers.valkey_url, flush=True)
    time.sleep(600)
"""

BUSY = """
import sys, psycopg
with psycopg.connect(sys.argv[1], options="-c statement_timeout=60s") as connection:
    # busy in the processor alone: what a long query keeps on disk would outlive the test
    enough = "EXIT WHEN clock_timestamp() > now() + interval '60 s'"
    connection.execute(f"DO $busy$ BEGIN LOOP {enough}; END LOOP; END $busy$")
"""


@contextmanager
def held_by_another_process(folder: Path) -> Iterator[tuple[ServerUrls, subprocess.Popen[str]]]:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(folder)], cwd=PROJECT_ROOT, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout
    try:
        yield ServerUrls(*holder.stdout.readline().split()), holder
    finally:
        holder.kill()
        holder.wait(timeout=60)
        holder.stdout.close()


@contextmanager
def valkey(servers: ServerUrls) -> Iterator["redis.Redis"]:
    with redis.Redis.from_url(servers.valkey_url.replace("valkey://", "redis://"), decode_responses=True) as client:
        yield client


def make_home(folder: Path) -> Home:
    home = Home(folder)
    home.make()
    home.make_secrets()
    return home


def test_both_answer_while_the_block_lasts_and_nothing_is_left_after_it(tmp_path: Path) -> None:
    folder = tmp_path / "with a space" / 'and "quotes"'
    with embedded_servers(folder) as servers:
        with psycopg.connect(servers.database_url) as connection:
            name, encoding = connection.execute(
                "SELECT current_database(), current_setting('server_encoding')"
            ).fetchone()
        with valkey(servers) as client:
            policy = client.config_get("maxmemory-policy")
        assert (name, encoding, policy) == ("rung", "UTF8", {"maxmemory-policy": "noeviction"})
        assert processes_of(folder)
    assert processes_of(folder) == []


def test_nobody_gets_in_without_the_password(tmp_path: Path) -> None:
    with embedded_servers(tmp_path) as servers:
        password = Home(tmp_path).secret("postgres_password") or ""
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(servers.database_url.replace(password, "guess"))
        stranger = ServerUrls("", f"valkey://{servers.valkey_url.partition('@')[2]}")
        with valkey(stranger) as client, pytest.raises(redis.AuthenticationError):
            client.ping()
        assert all(
            password.encode() not in (Path("/proc") / str(pid) / "cmdline").read_bytes()
            for pid in processes_of(tmp_path)
        )
        assert stat.S_IMODE((tmp_path / "valkey" / "valkey.conf").stat().st_mode) == 0o600


def test_a_killed_holder_leaves_no_server_and_the_next_has_the_same_data(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as (servers, holder):
        with psycopg.connect(servers.database_url) as connection:
            connection.execute("CREATE TABLE kept (word text)")
            connection.execute("INSERT INTO kept VALUES ('still here')")
        with valkey(servers) as client:
            client.set("kept", "still here")
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        wait_until(lambda: processes_of(tmp_path) == [])

    with embedded_servers(tmp_path, durable=True) as again:
        assert again == servers, "the ports are remembered"
        with psycopg.connect(again.database_url) as connection:
            assert connection.execute("SELECT word FROM kept").fetchone() == ("still here",)
        with valkey(again) as client:
            assert client.get("kept") == "still here"


def test_a_start_right_after_the_kill_waits_for_the_old_servers_to_end(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as (_, holder):
        holder.send_signal(signal.SIGKILL)
        holder.wait(timeout=60)
        with embedded_servers(tmp_path, durable=True) as again, psycopg.connect(again.database_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_what_an_earlier_holder_left_running_is_ended_first(tmp_path: Path) -> None:
    sleeper = Program("valkey", ("/bin/sleep", "600"), folder=tmp_path)
    left_behind = spawn(sleeper, output=subprocess.DEVNULL)
    record_write(make_home(tmp_path), left_behind)
    with embedded_servers(tmp_path):
        assert left_behind.popen.wait(timeout=60) == -signal.SIGTERM


def test_a_crash_of_everything_at_once_keeps_what_was_committed(tmp_path: Path) -> None:
    with held_by_another_process(tmp_path) as (servers, holder):
        with psycopg.connect(servers.database_url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        for pid in [holder.pid, *processes_of(tmp_path)]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
        wait_until(lambda: processes_of(tmp_path) == [])
        holder.wait(timeout=60)
    with embedded_servers(tmp_path, durable=True) as again, psycopg.connect(again.database_url) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)


def test_setting_postgres_up_leaves_nothing_when_it_is_interrupted(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    seen_at_work = False

    def interrupted(_seconds: float) -> None:
        nonlocal seen_at_work
        if any(tmp_path.glob("postgres.unfinished.*/data/PG_VERSION")):
            seen_at_work = True
            raise Stopping
        time.sleep(0.005)

    with pytest.raises(Stopping):
        Postgres(home, durable=False).prepare(pause=interrupted)
    assert seen_at_work
    assert list(tmp_path.glob("postgres*")) == []
    wait_until(lambda: processes_of(tmp_path) == [])


def test_what_a_killed_set_up_left_is_swept_away(tmp_path: Path) -> None:
    (tmp_path / "postgres.unfinished.0001" / "data").mkdir(parents=True)
    with embedded_servers(tmp_path):
        assert [path.name for path in tmp_path.glob("postgres*") if path.is_dir()] == ["postgres"]


def test_a_lock_file_whose_pid_went_to_another_program_is_removed(tmp_path: Path) -> None:
    lock = tmp_path / "postmaster.pid"
    lock.write_text(f"{os.getpid()}\n{tmp_path}\n")
    clear_the_way(tmp_path)
    assert not lock.exists()


def test_a_living_server_is_respected(tmp_path: Path) -> None:
    with embedded_servers(tmp_path) as servers:
        with pytest.raises(CannotStart, match=r"Another PostgreSQL \(pid \d+\) runs on"):
            clear_the_way(tmp_path / "postgres")
        with psycopg.connect(servers.database_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


def test_a_backend_at_work_does_not_keep_a_new_server_out(tmp_path: Path) -> None:
    """It only notices that its server was killed when its query ends."""
    with held_by_another_process(tmp_path) as (servers, holder), busy_client(servers.database_url):
        for pid in (int((tmp_path / "postgres" / "postmaster.pid").read_text().split()[0]), holder.pid):
            os.kill(pid, signal.SIGKILL)
        holder.wait(timeout=60)
        with embedded_servers(tmp_path, durable=True) as again, psycopg.connect(again.database_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


@contextmanager
def busy_client(url: str) -> Iterator[None]:
    client = subprocess.Popen([sys.executable, "-c", BUSY, url], stderr=subprocess.DEVNULL)
    try:
        with psycopg.connect(url, autocommit=True) as watcher:
            busy = "SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE 'DO $busy$%'"
            wait_until(lambda: watcher.execute(busy).fetchone() == (True,))
        yield
    finally:
        client.kill()
        client.wait(timeout=60)


def test_a_remembered_port_that_is_taken_by_now_gives_way_to_another(tmp_path: Path) -> None:
    home = make_home(tmp_path)
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        home.remember_servers({"postgres_port": port, "valkey_port": port})
        with embedded_servers(tmp_path) as servers, valkey(servers) as client:
            assert client.ping()
            assert home.remembered_port("postgres") != port
            assert home.server_url("valkey_url") == servers.valkey_url


def test_a_port_taken_between_the_look_and_the_start_gives_way_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.socket() as squatter:
        squatter.bind(("127.0.0.1", 0))
        squatter.listen()
        port = squatter.getsockname()[1]
        looks = iter([port, port])
        for module in ("postgres", "valkey"):
            monkeypatch.setattr(
                f"config.embedded.{module}.free_port", lambda *known: next(looks, None) or free_port(*known)
            )
        with embedded_servers(tmp_path) as servers, psycopg.connect(servers.database_url) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            assert str(port) not in servers.database_url + servers.valkey_url


@pytest.mark.parametrize(
    ("machine", "container", "megabytes"),
    [(24 << 30, "max", 3072), (24 << 30, str(8 << 30), 1024), (1 << 29, None, 128), (1 << 40, "max", 4096)],
)
def test_postgres_keeps_as_much_in_memory_as_there_is_room_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, machine: int, container: str | None, megabytes: int
) -> None:
    limit = tmp_path / "memory.max"
    if container:
        limit.write_text(f"{container}\n")
    monkeypatch.setattr(postgres, "_MEMORY_LIMIT", limit)
    known = {"SC_PHYS_PAGES": machine // 4096, "SC_PAGE_SIZE": 4096}
    monkeypatch.setattr(postgres.os, "sysconf", known.__getitem__)
    home = make_home(tmp_path)
    assert f"shared_buffers={megabytes}MB" in Postgres(home, durable=True).program().argv
    assert "shared_buffers=128MB" in Postgres(home, durable=False).program().argv  # tests start many


def test_two_folders_run_side_by_side(tmp_path: Path) -> None:
    with embedded_servers(tmp_path / "one") as one, embedded_servers(tmp_path / "two") as two:
        assert len({one.database_url, two.database_url, one.valkey_url, two.valkey_url}) == 4


def test_one_folder_is_one_pair_of_servers(tmp_path: Path) -> None:
    with embedded_servers(tmp_path), pytest.raises(CannotStart, match="already running"), embedded_servers(tmp_path):
        pass
