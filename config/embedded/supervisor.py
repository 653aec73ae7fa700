"""What `make up` runs: starts the servers and the house in order, watches over them, stops them in order."""

import os
import time
from collections.abc import Callable, Sequence

from config.embedded.children import Child
from config.embedded.console import Console
from config.embedded.errors import CannotStart
from config.embedded.greeting import greeting
from config.embedded.health import Doctor, Health, Pulse, look
from config.embedded.home import Home
from config.embedded.house import House
from config.embedded.preflight import host, port_problem
from config.embedded.programs import GLANCE_SECONDS, Program
from config.embedded.records import records_heal
from config.embedded.servers import Server, servers_start
from config.embedded.stopping import Stopping, StopSwitch

READY_WITHIN_SECONDS = 90.0
GLIMPSE_SECONDS = 3.0  # while starting, a question that hangs must not keep Ctrl-C waiting
TITLES = {"postgres": "PostgreSQL", "valkey": "Valkey"}


class Supervisor:
    def __init__(self, home: Home, *, port: int, house: House, switch: StopSwitch, console: Console) -> None:
        self._home = home
        self._port = port
        self._house = house
        self._switch = switch
        self._console = console
        self._children: dict[str, Child] = {}

    def run(self, servers: Callable[[], Sequence[Server]], *, begun: float) -> None:
        """Returns when it was asked to stop and everything has; raises CannotStart with nothing left running."""
        with self._home.lock(port=self._port):
            try:
                self._heal()
                servers_start(self._home, servers(), start=self._start_server, pause=self._switch.pause)
                self._prepare()
                self._open(begun)
                self._watch()
            except Stopping:
                self._console.say("Stopping …")
            finally:
                self._stop()

    def _heal(self) -> None:
        left = records_heal(self._home, pause=self._switch.pause)
        if left:
            self._console.say(f"Ended what an earlier run had left behind: {', '.join(left)}.")
        if problem := port_problem(str(self._port)):
            raise CannotStart(problem)
        self._home.make_secrets()
        self._house.sweep()

    def _start_server(self, server: Server) -> Child:
        self._console.say(f"Starting {TITLES.get(server.name, server.name)} on port {server.port} …")
        return self._start_child(server.name, server.program)

    def _start_child(self, name: str, program: Callable[[], Program]) -> Child:
        child = Child(name, program, home=self._home, console=self._console)
        self._children[name] = child
        child.start()
        return child

    def _prepare(self) -> None:
        self._console.say("Preparing the database …")
        child = self._start_child("prepare", self._house.prepare)
        while (code := child.exit_code()) is None:
            self._switch.pause(GLANCE_SECONDS)
        child.stop(hurried=self._switch.hurried)
        del self._children["prepare"]
        if code != 0:
            raise CannotStart("The database could not be prepared: the lines marked prepare say why.")

    def _open(self, begun: float) -> None:
        self._console.say("Starting web, worker and beat …")
        for name, program in self._house.residents().items():
            self._start_child(name, program)
        with greeting(self._house.welcome(), pause=self._switch.pause) as words:
            self._wait_until_ready()
            text = words()
        self._console.say(f"\nRung is ready at http://{host(os.environ)}:{self._port}")
        self._console.say(f"{text}\n" if text else "")
        self._console.say(f"It took {time.time() - begun:.1f} seconds. Ctrl-C stops it.")

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + READY_WITHIN_SECONDS
        health = Health()
        while not health.ready:
            if time.monotonic() > deadline:
                raise CannotStart(f"Rung was not ready within {READY_WITHIN_SECONDS:.0f} seconds: {health.in_words()}.")
            self._watch_children()
            self._switch.pause(2 * GLANCE_SECONDS)
            health = look(self._port, within=GLIMPSE_SECONDS)

    def _watch(self) -> None:
        pulse, doctor = Pulse(self._port), Doctor()
        pulse.start()
        while True:
            self._watch_children()
            if health := pulse.take():
                now = time.monotonic()
                for name, why in doctor.prescribe(health, now).items():
                    self._children[name].ask_to_restart(now, why=why)
            self._switch.pause(2 * GLANCE_SECONDS)

    def _watch_children(self) -> None:
        for child in self._children.values():
            child.watch(time.monotonic())

    def _stop(self) -> None:
        for name, child in reversed(self._children.items()):  # the servers were first, so they are last
            self._console.say(f"Stopping {TITLES.get(name, name)} …")
            child.stop(hurried=self._switch.hurried)
