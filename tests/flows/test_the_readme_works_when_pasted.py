"""The five-minute tour of the README, run as it stands."""

import os
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
import time_machine
from django.core.management import call_command
from django.utils import timezone

from config import heartbeat
from leaderboards.demo.key import demo_key
from leaderboards.drain import streams_sweep
from leaderboards.models import Mode
from players.models import Game
from tests.leaderboards.spine import drained
from tests.live import ROOT, Web, database_url

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl to paste into"),
]


def test_the_tour_of_the_readme_works_as_pasted(web: Web, tmp_path: Path) -> None:
    call_command("load_demo")
    demo_key(Game.objects.get(slug="demo"))
    with time_machine.travel(timezone.now() + timedelta(hours=1)):  # however long the tour takes
        for process in ("worker", "beat"):
            heartbeat.note(process)  # no worker runs beside a test; the doctor would rightly say so
    streams_sweep(now=timezone.now())
    (tmp_path / "manage.py").symlink_to(ROOT / "manage.py")
    with drained(Mode.objects.get(slug="arcade")), drained(Mode.objects.get(slug="lap")):
        said = subprocess.run(
            ["sh", "-eu"],
            input=_tour().replace("http://127.0.0.1:8000", web.origin).replace(".venv/bin/python", sys.executable),
            cwd=tmp_path,
            env=os.environ | {"DATABASE_URL": database_url()},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    assert said.returncode == 0, said.stderr + said.stdout
    for expected in (
        '"status":"committed"',
        '"display_name":"Nova"',
        '"kind":"ban","state":"done"',
        '"kind":"ban","state":"undone"',
        '"activity":[',
        '"ranks":[{',
        '"code":"invalid_request"',
        "created   mode arena/solo",
        '"timezone":"Europe/Berlin"',
        '"display_name":"Comet"',
        '"status":"ok"',
        "All is well.",
    ):
        assert expected in said.stdout, said.stdout


def _tour() -> str:
    tour = (ROOT / "README.md").read_text(encoding="utf-8").partition("## Five minutes")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"```sh\n(.*?)```", tour, flags=re.DOTALL))
