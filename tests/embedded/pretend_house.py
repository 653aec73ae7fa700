"""A house of tiny programs under the real supervisor: `python -m tests.embedded.pretend_house FOLDER PORT [WISH …]`.

Wishes: `unprepared`, prepare fails; `slow`, it never ends; `unready`, a check stays red; `deaf`, beat ignores SIGTERM.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

from config.embedded import supervisor
from config.embedded.console import Console
from config.embedded.errors import CannotStart
from config.embedded.health import look
from config.embedded.home import Home
from config.embedded.house import House
from config.embedded.programs import Program
from config.embedded.stopping import StopSwitch
from tests.embedded.processes_of import wait_until

WEB = """
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(sys.argv[2].encode())
    def log_message(self, *_):
        pass
HTTPServer(("127.0.0.1", int(sys.argv[1])), Answer).serve_forever()
"""
LIVES = "import time; print('up', flush=True); time.sleep(600)"
DEAF = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {LIVES}"
READY = '{"status": "ok", "checks": {"workers": {"ok": true, "detail": "seen"}}}'
UNREADY = '{"status": "degraded", "checks": {"workers": {"ok": false, "detail": "not seen yet"}}}'


class PretendHouse(House):
    def __init__(self, home: Home, *, port: int, wishes: list[str]) -> None:
        super().__init__(home, port=port)
        self.port = port
        self.wishes = wishes

    def residents(self) -> dict[str, Callable[[], Program]]:
        health = UNREADY if "unready" in self.wishes else READY
        return {
            "worker": lambda: self._python("worker", "-c", LIVES),
            "beat": lambda: self._python("beat", "-c", DEAF if "deaf" in self.wishes else LIVES, patience=600.0),
            "web": lambda: self._python("web", "-c", WEB, str(self.port), health),
        }

    def prepare(self) -> Program:
        code = "raise SystemExit('no disk')" if "unprepared" in self.wishes else "print('migrated')"
        return self._python("prepare", "-c", LIVES if "slow" in self.wishes else code)

    def welcome(self) -> Program:
        if "unready" in self.wishes:
            wait_until(lambda: look(self.port).live)  # the time to become ready begins now, and is short
        return self._python("welcome", "-c", "print('curl http://…')")


def main(folder: str, port: str, *wishes: str) -> None:
    supervisor.READY_WITHIN_SECONDS = 2.0 if "unready" in wishes else 30.0
    switch = StopSwitch()
    switch.install()
    home = Home(Path(folder))
    house = PretendHouse(home, port=int(port), wishes=list(wishes))
    watch = supervisor.Supervisor(home, port=int(port), house=house, switch=switch, console=Console())
    try:
        watch.run(list, begun=time.time())
    except CannotStart as problem:
        sys.exit(f"rung: {problem}")


if __name__ == "__main__":
    main(*sys.argv[1:])
