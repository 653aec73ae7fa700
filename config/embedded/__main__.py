"""`python -m config.embedded`: Rung, whole, until Ctrl-C."""

import os
import signal
import subprocess
import sys
import time

signal.signal(signal.SIGINT, lambda *_: os._exit(130))  # until there is something to stop in order

from config.embedded.console import Console  # noqa: E402
from config.embedded.errors import CannotStart  # noqa: E402
from config.embedded.home import PROJECT_ROOT, Home  # noqa: E402
from config.embedded.house import House  # noqa: E402
from config.embedded.postgres import Postgres  # noqa: E402
from config.embedded.preflight import port_number_problem  # noqa: E402
from config.embedded.servers import Server  # noqa: E402
from config.embedded.stopping import StopSwitch  # noqa: E402
from config.embedded.supervisor import Supervisor  # noqa: E402
from config.embedded.valkey import Valkey  # noqa: E402


def main() -> None:
    begun = _begun()
    switch = StopSwitch()
    switch.install()
    try:
        home, port = Home.from_environment(), _port()
        house = House(home, port=port)
        _examine_settings()
        supervisor = Supervisor(home, port=port, house=house, switch=switch, console=Console())
        supervisor.run(lambda: _servers(home), begun=begun)
    except CannotStart as problem:
        sys.exit(f"rung: {problem}")


def _examine_settings() -> None:
    """What is configured wrongly is said before anything is started, in the settings' own words."""
    unknown_yet = {"DATABASE_URL": "postgresql://127.0.0.1/rung", "VALKEY_URL": "valkey://127.0.0.1:6379/0"}
    if os.environ.get("RUNG_ENV") != "production":
        unknown_yet["SECRET_KEY"] = "made on the first start"  # noqa: S105 - it is not one
    given = {name: value for name, value in os.environ.items() if value or name not in unknown_yet}
    looked = subprocess.run(
        [sys.executable, "-c", "import manage; manage.examine()"],
        cwd=PROJECT_ROOT,
        env=unknown_yet | given,
        capture_output=True,
        text=True,
        check=False,
    )
    if looked.returncode:
        raise CannotStart(looked.stderr.strip().splitlines()[-1].removeprefix("rung: "))


def _begun() -> float:
    """When the person pressed enter, where the Makefile says so: installing counts."""
    try:
        return float(os.environ["RUNG_STARTED_AT"])
    except (KeyError, ValueError):
        return time.time()


def _port() -> int:
    text = os.environ.get("PORT") or "8000"
    if problem := port_number_problem(text):
        raise CannotStart(problem)
    return int(text)


def _servers(home: Home) -> list[Server]:
    """Only those that nobody else provides. The quick one first: it starts while PostgreSQL is being made."""
    valkey = [] if os.environ.get("VALKEY_URL") else [Valkey(home)]
    postgres = [] if os.environ.get("DATABASE_URL") else [Postgres(home)]
    return [*valkey, *postgres]


if __name__ == "__main__":
    main()
