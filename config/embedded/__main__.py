"""`python -m config.embedded`: Rung, whole, until Ctrl-C."""

import os
import sys
import time

from config.embedded.console import Console
from config.embedded.errors import CannotStart
from config.embedded.home import Home
from config.embedded.house import House
from config.embedded.postgres import Postgres
from config.embedded.preflight import port_number_problem
from config.embedded.servers import Server
from config.embedded.stopping import StopSwitch
from config.embedded.supervisor import Supervisor
from config.embedded.valkey import Valkey


def main() -> None:
    begun = _begun()
    switch = StopSwitch()
    switch.install()
    try:
        home, port = Home.from_environment(), _port()
        house = House(home, port=port)
        supervisor = Supervisor(home, port=port, house=house, switch=switch, console=Console())
        supervisor.run(lambda: _servers(home), begun=begun)
    except CannotStart as problem:
        sys.exit(f"rung: {problem}")


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
