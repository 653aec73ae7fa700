"""A real primary with a replica from the wheel, and three sentinels that watch over them, on ports of their own."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from config.embedded import valkey as embedded
from config.embedded.ports import free_port
from config.embedded.programs import Program, spawn
from tests.cluster import wait

SERVICE, PASSWORD, DATABASE = "boards", "watched", 2
SENTINELS, QUORUM = 3, 2
DOWN_AFTER_MS = 2000


class Server:
    """With what it is configured it begins; sentinels rewrite it, as they do."""

    def __init__(self, folder: Path, *settings: str, is_sentinel: bool = False) -> None:
        self.port = free_port()
        self.folder, self.is_sentinel = folder / str(self.port), is_sentinel
        self.folder.mkdir(parents=True)
        own = (f"port {self.port}", "bind 127.0.0.1", f'dir "{self.folder}"', "loglevel warning", *settings)
        (self.folder / "conf").write_text("\n".join(own) + "\n", encoding="utf-8")
        self.start()
        password = None if is_sentinel else PASSWORD
        self.client = redis.Redis(
            port=self.port, password=password, socket_timeout=10, retry=None, decode_responses=True
        )
        wait(self.answers)

    def start(self) -> None:
        argv = [str(embedded._binary()), str(self.folder / "conf"), *["--sentinel"] * self.is_sentinel]  # noqa: SLF001
        with (self.folder / "log").open("ab") as log:
            self.running = spawn(Program(f"valkey {self.port}", tuple(argv), self.folder), output=log)

    def kill(self) -> None:
        self.running.kill()

    @contextmanager
    def silent(self) -> Iterator[None]:
        """Alive, with all its connections, and says nothing: as behind a cut cable."""
        own = int(self.client.info("server")["process_id"])
        os.kill(own, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(own, signal.SIGCONT)

    @contextmanager
    def behind(self) -> Iterator[None]:
        """It answers, and hears nothing new: as a replica that cannot log in anew."""
        self.client.config_set("primaryauth", "wrong")
        self.client.execute_command("CLIENT KILL TYPE PRIMARY")
        wait(lambda: self.client.info("replication")["master_link_status"] == "down")
        try:
            yield
        finally:
            self.client.config_set("primaryauth", PASSWORD)

    def answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def role(self) -> str:
        """Nothing where it does not answer, or hangs up, as one does that becomes another."""
        try:
            return str(self.client.role()[0])
        except redis.RedisError:
            return ""

    def is_primary(self) -> bool:
        return self.role() == "master"


class Watched:
    def __init__(self, folder: Path) -> None:
        settings = ('save ""', "repl-diskless-sync-delay 0", f"requirepass {PASSWORD}", f"primaryauth {PASSWORD}")
        first = Server(folder, *settings)
        self.servers = [first, Server(folder, *settings, f"replicaof 127.0.0.1 {first.port}")]
        watch = (
            f"sentinel monitor {SERVICE} 127.0.0.1 {first.port} {QUORUM}",
            f"sentinel auth-pass {SERVICE} {PASSWORD}",
            f"sentinel down-after-milliseconds {SERVICE} {DOWN_AFTER_MS}",
            f"sentinel failover-timeout {SERVICE} 3000",
        )
        self.sentinels = [Server(folder, *watch, is_sentinel=True) for _ in range(SENTINELS)]
        wait(self.is_whole)

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{sentinel.port}" for sentinel in self.sentinels)
        return f"redis+sentinel://:{PASSWORD}@{hosts}/{SERVICE}/{DATABASE}"

    def primary(self) -> Server:
        """Which the sentinels say."""
        told = {tuple(one.client.sentinel_get_master_addr_by_name(SERVICE) or ()) for one in self.sentinels}
        found = [server for server in self.servers if told == {("127.0.0.1", server.port)}]
        assert found, told
        return found[0]

    def replica(self) -> Server:
        return next(server for server in self.servers if server is not self.primary())

    def is_whole(self) -> bool:
        """One follows the other, and all sentinels know of both and of each other."""
        roles = sorted(server.role() for server in self.servers)
        return roles == ["master", "slave"] and all(map(self._knows_all, self.sentinels))

    def _knows_all(self, sentinel: Server) -> bool:
        state = sentinel.client.sentinel_masters()[SERVICE]
        healthy = state["flags"] == "master" and [one["flags"] for one in sentinel.client.sentinel_slaves(SERVICE)] == [
            "slave"
        ]
        return healthy and state["num-other-sentinels"] == SENTINELS - 1

    def end(self) -> None:
        for server in (*self.sentinels, *self.servers):
            server.client.close()
            server.kill()


@contextmanager
def watched(folder: Path) -> Iterator[Watched]:
    own = Watched(folder)
    try:
        yield own
    finally:
        own.end()
