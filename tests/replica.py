"""A real streaming replica of the run's PostgreSQL, from the same wheel: a base backup, and what is written since."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from config.embedded.home import Home
from config.embedded.postgres import Postgres
from config.embedded.programs import spawn
from tests.cluster import wait


class Replica:
    def __init__(self, folder: Path) -> None:
        self.server = Postgres(Home(folder), durable=False)
        self.server._make = self._copy  # type: ignore[method-assign]
        self.server.prepare(pause=time.sleep)
        self.start()

    def _copy(self, **_: object) -> None:
        copy = ("-d", os.environ["DATABASE_URL"], "-D", str(self.server.folder), "-R", "-c", "fast", "--no-sync")
        self.server._run(self.server._program("pg_basebackup", *copy), pause=time.sleep)  # noqa: SLF001

    def start(self) -> None:
        with (self.server.home.path / "log").open("ab") as log:
            self.running = spawn(self.server.program(), output=log)
        wait(self._answers)

    def _answers(self) -> bool:
        try:
            return bool(self.ask("SELECT pg_is_in_recovery()"))
        except psycopg.OperationalError:
            return False

    @property
    def url(self) -> str:
        """Of the test's own database, with the password that it has been copied with."""
        primary, _, _ = os.environ["DATABASE_URL"].rpartition("@")
        return f"{primary}@127.0.0.1:{self.server.port}"

    def ask(self, question: str, database: str = "postgres") -> Any:
        with psycopg.connect(f"{self.url}/{database}", autocommit=True) as connection:
            row = connection.execute(question.encode()).fetchone()
            return row[0] if row else None

    def catch_up(self) -> None:
        with psycopg.connect(os.environ["DATABASE_URL"]) as primary:
            row = primary.execute("SELECT pg_current_wal_insert_lsn()::text").fetchone()
        assert row
        wait(lambda: self.ask(f"SELECT pg_last_wal_replay_lsn() >= '{row[0]}'"))

    @contextmanager
    def paused(self) -> Iterator[None]:
        """It answers, and shows nothing new."""
        self.ask("SELECT pg_wal_replay_pause()")
        wait(lambda: self.ask("SELECT pg_get_wal_replay_pause_state()") == "paused")
        try:
            yield
        finally:
            self.ask("SELECT pg_wal_replay_resume()")


@contextmanager
def replica(folder: Path) -> Iterator[Replica]:
    own = Replica(folder)
    try:
        yield own
    finally:
        own.running.stop()
