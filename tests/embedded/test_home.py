import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from config.embedded.errors import CannotStart
from config.embedded.home import PROJECT_ROOT, SECRET_NAMES, Home


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_secrets_are_made_once_and_only_the_owner_may_read_them(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.make()
    home.make_secrets()
    first = [home.secret(name) for name in SECRET_NAMES]
    home.make_secrets()

    assert [home.secret(name) for name in SECRET_NAMES] == first
    assert all(first)
    assert len(set(first)) == len(first)
    assert mode_of(home.path / "secrets.json") == 0o600
    assert mode_of(home.path) == 0o700


def test_a_secret_that_a_newer_version_needs_is_added_to_those_there_are(tmp_path: Path) -> None:
    home = Home(tmp_path)
    (tmp_path / "secrets.json").write_text(json.dumps({"secret_key": "kept"}))
    home.make_secrets()

    assert home.secret("secret_key") == "kept"
    assert home.secret("valkey_password")


def test_reading_a_home_that_is_not_there_creates_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")

    assert home.secret("secret_key") is None
    assert home.server_url("database_url") is None
    assert not home.path.exists()


def test_servers_are_remembered_for_the_owner_alone(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.remember_servers({"database_url": "postgresql://…", "postgres_port": 15_432})
    home.remember_servers({"valkey_url": "valkey://…"})

    assert home.server_url("database_url") == "postgresql://…"
    assert home.server_url("valkey_url") == "valkey://…"
    assert home.remembered_port("postgres") == 15_432
    assert mode_of(tmp_path / "servers.json") == 0o600


def test_a_second_runner_hears_who_is_running(tmp_path: Path) -> None:
    home = Home(tmp_path)
    sentence = rf"already running from this folder \(pid {os.getpid()}, http://127.0.0.1:8123\)"
    with home.lock(port=8123), pytest.raises(CannotStart, match=sentence), home.lock(port=8124):
        pass
    with home.lock(port=8124):
        pass


def test_the_lock_of_a_killed_runner_is_free(tmp_path: Path) -> None:
    die = "import os, sys; from pathlib import Path; from config.embedded.home import Home\n"
    die += "with Home(Path(sys.argv[1])).lock(port=1): os.kill(os.getpid(), 9)"
    subprocess.run([sys.executable, "-c", die, str(tmp_path)], cwd=PROJECT_ROOT, check=False, timeout=30)

    with Home(tmp_path).lock(port=8000):
        pass


def test_the_folder_is_the_same_from_everywhere(tmp_path: Path) -> None:
    assert Home.from_environment({}).path == PROJECT_ROOT / ".rung"
    assert Home.from_environment({"RUNG_HOME": ""}).path == PROJECT_ROOT / ".rung"
    assert Home.from_environment({"RUNG_HOME": "elsewhere"}).path == PROJECT_ROOT / "elsewhere"
    assert Home.from_environment({"RUNG_HOME": str(tmp_path)}).path == tmp_path


def test_a_folder_that_cannot_be_made_is_said_in_a_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(CannotStart, match=r"cannot be written: Not a directory"):
        Home(tmp_path / "file" / "home").make()
