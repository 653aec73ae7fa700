"""A real Valkey cluster from the wheel: three primaries, three replicas, on ports of their own."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import redis

from config.embedded import valkey as embedded
from config.embedded.ports import HIGHEST, free_port, is_free
from config.embedded.programs import Program, spawn

PRIMARIES = 3
SLOTS = 16384
BUS = 10_000  # each also listens on its port and this
TIMEOUT_MS = 3000  # who stands still for less is not taken for dead
PASSWORD = "cluster"


class Node:
    def __init__(self, folder: Path, taken: set[int]) -> None:
        ports = (port for port in iter(free_port, None) if port not in taken)
        self.port = next(port for port in ports if port + BUS < HIGHEST and is_free(port + BUS))
        self.folder = folder / str(self.port)
        self.folder.mkdir(parents=True)
        self.start()
        self.client = redis.Redis(port=self.port, password=PASSWORD, decode_responses=True)

    def start(self) -> None:
        options = {
            "port": self.port,
            "bind": "127.0.0.1",
            "dir": self.folder,
            "cluster-enabled": "yes",
            "cluster-node-timeout": TIMEOUT_MS,
            "cluster-require-full-coverage": "no",
            "cluster-replica-validity-factor": 0,
            "repl-diskless-sync-delay": 0,
            "save": "",
            "appendonly": "no",
            "requirepass": PASSWORD,
            "primaryauth": PASSWORD,
            "loglevel": "warning",
        }
        argv = [str(embedded._binary())]  # noqa: SLF001
        for name, value in options.items():
            argv += [f"--{name}", str(value)]
        with (self.folder / "log").open("ab") as log:
            self.running = spawn(Program(f"valkey {self.port}", tuple(argv), self.folder), output=log)

    def kill(self) -> None:
        self.running.kill()

    def answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def is_primary(self) -> bool:
        return self.answers() and self.client.role()[0] == "master"

    def knows(self, nodes: int) -> bool:
        told = self.client.execute_command("CLUSTER INFO")
        return (told["cluster_state"], int(told["cluster_known_nodes"])) == ("ok", nodes)


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.nodes: list[Node] = []
        for _ in range(2 * PRIMARIES):  # those before it may not listen yet
            self.nodes.append(Node(folder, {node.port for node in self.nodes}))

    @property
    def url(self) -> str:
        return f"redis+cluster://:{PASSWORD}@" + ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)

    def form(self) -> None:
        wait(lambda: all(node.answers() for node in self.nodes))
        first, *others = self.nodes
        for node in others:
            first.client.execute_command("CLUSTER MEET", "127.0.0.1", node.port)
        for number, node in enumerate(self.nodes[:PRIMARIES]):
            begin, end = (SLOTS * part // PRIMARIES for part in (number, number + 1))
            node.client.execute_command("CLUSTER ADDSLOTSRANGE", begin, end - 1)
        wait(lambda: all(node.knows(len(self.nodes)) for node in self.nodes))
        for primary, replica in zip(self.nodes[:PRIMARIES], self.nodes[PRIMARIES:], strict=True):
            replica.client.execute_command("CLUSTER REPLICATE", primary.client.execute_command("CLUSTER MYID"))
        wait(self.is_whole)

    def is_whole(self) -> bool:
        """All slots have a primary, and each primary a replica that follows it."""
        roles = [node.client.role() for node in self.nodes if node.answers()]
        follow = [role for role in roles if role[0] == "slave" and role[3] == "connected"]
        return len(follow) == PRIMARIES and len(roles) == 2 * PRIMARIES and all(n.knows(6) for n in self.nodes)

    @contextmanager
    def replicas_behind(self) -> Iterator[None]:
        """They answer, and hear nothing new: a primary that cannot log in anew sends them nothing."""
        replicas = [node for node in self.nodes if not node.is_primary()]
        for node in replicas:
            node.client.config_set("primaryauth", "wrong")
            node.client.execute_command("CLIENT KILL TYPE PRIMARY")
        wait(lambda: all(node.client.info("replication")["master_link_status"] == "down" for node in replicas))
        try:
            yield
        finally:
            for node in replicas:
                node.client.config_set("primaryauth", PASSWORD)

    def primaries(self) -> list[Node]:
        return [node for node in self.nodes if node.is_primary()]

    def empty(self) -> None:
        for node in self.primaries():
            node.client.flushall()

    def end(self) -> None:
        for node in self.nodes:
            node.client.close()
            node.kill()


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    own = Cluster(folder)
    try:
        own.form()
        yield own
    finally:
        own.end()


def wait(condition: Callable[[], bool], *, seconds: float = 120.0) -> None:
    deadline = time.monotonic() + seconds
    while not _holds(condition):
        assert time.monotonic() < deadline, f"not within {seconds} seconds"
        time.sleep(0.02)


def _holds(condition: Callable[[], bool]) -> bool:
    """Not yet, where a server hangs up or is too busy to answer."""
    try:
        return condition()
    except redis.RedisError:
        return False
