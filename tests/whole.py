"""One whole Rung, started as the Makefile starts it, for tests of the whole."""

import http.client
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psycopg

from config.embedded.home import PROJECT_ROOT, Home
from tests.embedded.processes_of import wait_until

SERVERS_OF_OTHERS = ("DATABASE_URL", "VALKEY_URL", "BROKER_URL", "CHANNELS_URL", "CACHE_URL", "RUNG_ENV", "SECRET_KEY")


class Rung:
    """One whole Rung, started as the Makefile starts it."""

    def __init__(self, folder: Path, port: int, *, demo: bool = False) -> None:
        self.folder, self.port = folder, port
        self.log = folder.with_suffix(".log")
        env = {name: value for name, value in os.environ.items() if name not in SERVERS_OF_OTHERS}
        env |= {"PORT": str(port), "RUNG_HOME": str(folder), "RUNG_STARTED_AT": str(time.time())}
        env["RUNG_DEMO"] = str(int(demo))
        with self.log.open("wb") as log:
            self.popen = subprocess.Popen(
                [sys.executable, "-m", "config.embedded"],
                cwd=PROJECT_ROOT,
                env=env,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until_ready(self) -> "Rung":
        line = f"\nRung is ready at http://127.0.0.1:{self.port}\n"
        wait_until(lambda: line in self.said() or self.popen.poll() is not None, seconds=120)
        assert line in self.said(), self.said()
        return self

    def get(self, path: str) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read())
        except OSError:
            return 0, {}
        finally:
            connection.close()

    def is_ready(self) -> bool:
        status, body = self.get("/readyz")
        return status == 200 and body["status"] == "ok"

    def pid_of(self, name: str) -> int:
        pid: int = json.loads((self.folder / "run" / f"{name}.pid.json").read_text())["pid"]
        return pid

    def manage(self, *arguments: str) -> str:
        """What a `manage.py` command prints, run beside it."""
        env = {name: value for name, value in os.environ.items() if name not in SERVERS_OF_OTHERS}
        done = subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT_ROOT,
            env=env | {"RUNG_HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        return done.stdout

    def database(self) -> "psycopg.Connection[tuple[Any, ...]]":
        return psycopg.connect(Home(self.folder).server_url("database_url") or "")

    def end(self, number: signal.Signals) -> int:
        self.popen.send_signal(number)
        return self.popen.wait(timeout=60)
