"""The call that `make up` prints for a newcomer to try, run as it stands."""

import io
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from django.core.management import call_command
from pytest_django import Settings

from config.embedded.home import Home
from tests.live import Web

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(shutil.which("curl") is None, reason="this machine has no curl to paste into"),
]


def test_the_curl_that_make_up_prints_works_as_pasted_and_pasted_again(
    web: Web, settings: Settings, tmp_path: Path
) -> None:
    settings.PORT = web.port
    settings.HOME = Home(tmp_path)  # a key of its own, beside other tests
    (tmp_path / ".curlrc").write_text("fail-with-body\n")  # curl itself is content with any answer
    call_command("load_demo")
    printed = _printed()
    for _ in range(2):
        told = json.loads(_pasted(printed, tmp_path))
        assert (told["status"], told["player_id"], told["score"]) == ("accepted", "you", 123456)
    assert _printed() == printed, "the next start prints the same"


def _printed() -> str:
    out = io.StringIO()
    call_command("welcome", stdout=out)
    return out.getvalue().partition("Try it:\n")[2]


def _pasted(text: str, home: Path) -> str:
    assert text.startswith("curl "), text
    environment = os.environ | {"CURL_HOME": str(home)}
    said = subprocess.run(
        ["sh", "-eu"], input=text, env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert said.returncode == 0, said.stderr + said.stdout
    return said.stdout
