"""`make up` refuses what is configured wrongly in the settings' own words, with nothing started."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from tests.live import ROOT


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"RUNG_WEB_PROCESSES": "0"}, "RUNG_WEB_PROCESSES must be a whole number from 1 to 64, not '0'."),
        ({"RUNG_DEMO": "maybe"}, "RUNG_DEMO must be 0 or 1"),
        ({"RUNG_ENV": "prod"}, "RUNG_ENV must be one of development, production"),
        ({"RUNG_ENV": "production"}, "In production SECRET_KEY and ALLOWED_HOSTS must be set"),
        (
            {"RUNG_ENV": "production", "SECRET_KEY": "x", "ALLOWED_HOSTS": "rung.example"},
            "In production SECRET_KEY must be hard to guess",
        ),
        (
            {"RUNG_ENV": "production", "SECRET_KEY": secrets.token_urlsafe(48), "ALLOWED_HOSTS": "*"},
            "In production ALLOWED_HOSTS must name hosts",
        ),
        ({"DATABASE_URL": "mysql://127.0.0.1/x"}, "DATABASE_URL must begin with postgresql://"),
        ({"BROKER_URL": "valkey+cluster://127.0.0.1:1"}, "BROKER_URL"),
        ({"PORT": "٣"}, "PORT must be a number"),
    ],
)
def test_one_sentence_and_nothing_started(tmp_path: Path, wrong: dict[str, str], sentence: str) -> None:
    home = tmp_path / "home"
    left_out = {"DATABASE_URL", "VALKEY_URL", "SECRET_KEY"}
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    said = subprocess.run(
        [sys.executable, "-m", "config.embedded"],
        cwd=ROOT,
        env=environment | {"RUNG_HOME": str(home)} | wrong,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert said.returncode == 1
    assert said.stderr.startswith("rung: ")
    assert sentence in said.stderr
    assert len(said.stderr.splitlines()) == 1, said.stderr
    assert not (home / "postgres").exists()
