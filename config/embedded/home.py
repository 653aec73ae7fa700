"""The folder that a Rung lives in: its secrets, where its servers are, who runs it.

Settings read it on every start of every process, so importing this file and reading through it create nothing.
"""

import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from config.embedded.errors import CannotStart
from config.embedded.preflight import already_running

PROJECT_ROOT = Path(__file__).resolve().parents[2]
LOCK_SECONDS = 1.0
SECRET_NAMES = ("secret_key", "postgres_password", "valkey_password")


@dataclass(frozen=True, slots=True)
class Home:
    path: Path

    @classmethod
    def from_environment(cls, environ: Mapping[str, str] = os.environ) -> "Home":
        """A relative RUNG_HOME starts at the project, so that the same value is the same folder from everywhere."""
        return cls(PROJECT_ROOT / Path(environ.get("RUNG_HOME") or ".rung").expanduser())

    @property
    def run(self) -> Path:
        return self.path / "run"

    def secret(self, name: str) -> str | None:
        return self._text("secrets.json", name)

    def server_url(self, name: str) -> str | None:
        """`database_url` or `valkey_url` of the embedded servers, once they have been started here."""
        return self._text("servers.json", name)

    def remembered_port(self, server: str) -> int | None:
        port = self._read("servers.json").get(f"{server}_port")
        return port if isinstance(port, int) else None

    def remember_servers(self, places: Mapping[str, str | int]) -> None:
        self._write("servers.json", self._read("servers.json") | dict(places))

    def make(self) -> None:
        """The folder for the owner's eyes only. Needs nothing but a disk that can be written to."""
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.run.mkdir(mode=0o700, exist_ok=True)
        except OSError as error:
            raise CannotStart(f"{self.path} cannot be written: {error.strerror}.") from error
        if self.path.stat().st_uid != os.geteuid():
            raise CannotStart(f"{self.path} belongs to another user: run as that user, or choose another RUNG_HOME.")

    def make_secrets(self) -> None:
        """Makes what is missing, once. Call it with the lock held: two first starts must not make two sets."""
        known = self._read("secrets.json")
        missing = {name: secrets.token_urlsafe(48) for name in SECRET_NAMES if name not in known}
        if missing:
            self._write("secrets.json", known | missing)

    @contextmanager
    def lock(self, *, port: int | None = None) -> Iterator[None]:
        """Held for as long as the process lives: the kernel drops it even after `kill -9`."""
        self.make()
        descriptor = os.open(self.path / "up.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            if not _flock_within(descriptor, LOCK_SECONDS):
                raise CannotStart(already_running(os.read(descriptor, 1000).decode()))
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, json.dumps({"pid": os.getpid(), "port": port}).encode(), 0)
            yield
            os.ftruncate(descriptor, 0)
        finally:
            os.close(descriptor)

    def _text(self, file: str, name: str) -> str | None:
        value = self._read(file).get(name)
        return value if isinstance(value, str) else None

    def _read(self, file: str) -> dict[str, Any]:
        try:
            known = json.loads((self.path / file).read_text())
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except (OSError, ValueError) as error:
            raise CannotStart(f"{self.path / file} cannot be read: {error}.") from error
        return known if isinstance(known, dict) else {}

    def _write(self, file: str, content: Mapping[str, Any]) -> None:
        """All of it or nothing: a crash leaves the old file, and the mode is 0600 before the first byte."""
        unfinished = self.path / f"{file}.{os.getpid()}"
        try:
            unfinished.unlink(missing_ok=True)
            descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w") as stream:
                json.dump(content, stream, indent=1)
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(self.path / file)
        except OSError as error:
            raise CannotStart(f"{self.path / file} cannot be written: {error.strerror}.") from error


def _flock_within(descriptor: int, seconds: float) -> bool:
    """A killed holder keeps its lock for the moment that the kernel needs to take it apart."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        else:
            return True
