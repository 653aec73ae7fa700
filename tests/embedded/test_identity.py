"""Who PostgreSQL is when root starts it: never root, and never a wider permission than it takes."""

import os
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from config.embedded import identity
from config.embedded.errors import CannotStart
from config.embedded.servers import embedded_servers


@pytest.fixture
def as_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 0)


@pytest.fixture
def without_namespaces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(identity, "_can_run", lambda *_: False)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:  # unlike tmp_path, whose parents are for its owner alone
        Path(folder).chmod(0o755)
        yield Path(folder)


def test_an_ordinary_user_is_who_it_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    assert identity.identity_for(home=tmp_path, probe=Path("/bin/true")) is None


@pytest.mark.usefixtures("as_root")
def test_root_takes_a_namespace_where_there_is_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(identity, "_can_run", lambda *_: True)
    who = identity.identity_for(home=tmp_path, probe=Path("/bin/true"))
    assert who
    assert who.namespace
    assert who.uid != 0


@pytest.mark.usefixtures("as_root", "without_namespaces")
def test_root_becomes_nobody_where_there_is_none(open_folder: Path) -> None:
    who = identity.identity_for(home=open_folder / "home", probe=Path("/bin/true"))
    assert who
    assert not who.namespace
    assert who.uid != 0


@pytest.mark.usefixtures("as_root", "without_namespaces")
def test_a_home_that_nobody_may_walk_to_is_refused_with_three_ways_out(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    with pytest.raises(CannotStart, match=r"ordinary user, or set RUNG_HOME .* or set DATABASE_URL"):
        identity.identity_for(home=tmp_path / "home", probe=Path("/bin/true"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a user to step down from")
@pytest.mark.usefixtures("without_namespaces")
@pytest.mark.parametrize("wheel_is_reachable", [True, False])
def test_stepping_down_and_back_up_keeps_the_data_and_the_secrets(
    open_folder: Path, monkeypatch: pytest.MonkeyPatch, wheel_is_reachable: bool
) -> None:
    home = open_folder / "home"
    may_enter = identity.others_may_enter
    blocked = "nothing" if wheel_is_reachable else "site-packages"
    monkeypatch.setattr(identity, "others_may_enter", lambda path: blocked not in str(path) and may_enter(path))
    with embedded_servers(home) as servers, psycopg.connect(servers.database_url) as connection:
        connection.execute("CREATE TABLE kept AS SELECT 7 AS number")
        connection.commit()
        assert (home / "postgres").stat().st_uid != 0
        assert stat.S_IMODE((home / "secrets.json").stat().st_mode) == 0o600
        assert (home / "programs").exists() is not wheel_is_reachable
    monkeypatch.setattr(identity, "_can_run", lambda *_: True)
    with embedded_servers(home) as servers, psycopg.connect(servers.database_url) as connection:
        assert connection.execute("SELECT number FROM kept").fetchone() == (7,)
        assert (home / "postgres").stat().st_uid == 0
