"""A verifier in its cell: what it says is heard, what it does harms nobody."""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from anticheat import privileges, sandbox
from anticheat.sandbox import Bounds, NotVerified
from anticheat.verifying import Claim, Outcome

CLAIM = Claim(game="arena", mode="solo", player_id="p-1", attempt_id="a", score=Decimal("1.50"))
TIGHT = Bounds(seconds=3, cpu_seconds=1, mebibytes=256)
NOBODY = 65534
REFUSED = r"\[Errno 1\]"
linux_only = pytest.mark.skipif(sys.platform != "linux", reason="what the kernel forbids, Linux forbids")


def _run(name: str, replay: bytes = b"1234", bounds: Bounds | None = None) -> Outcome:
    return sandbox.run(f"tests.anticheat.verifiers.{name}", replay, CLAIM, bounds=bounds or Bounds(seconds=60))


def test_what_a_verifier_finds_is_heard() -> None:
    assert _run("length") == Outcome(4)
    assert _run("length", b"") == Outcome(refusal="It is empty.")
    assert _run("claimed") == Outcome(Decimal("1.50"))
    assert _run("length", b"x" * 1_000_000) == Outcome(1_000_000)


def test_what_a_verifier_prints_is_not_its_answer() -> None:
    assert _run("printing") == Outcome(7)


def test_a_verifier_finds_no_secrets_of_ours() -> None:
    assert _run("secretive") == Outcome(0)


def test_a_long_refusal_is_cut() -> None:
    assert _run("talkative") == Outcome(refusal="no " * 100)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("crashing", "RuntimeError: no idea"),
        ("dying", "makes no sense"),
        ("leaving", "SystemExit"),
        ("falling", "RecursionError"),
        ("hungry", "MemoryError"),
        ("opening", "Too many open files"),
        ("neither", "neither a score nor a refusal"),
        ("both", "neither a score nor a refusal"),
        ("wordless", "answered a int"),
        ("flooding", "makes no sense"),
        ("no_such_verifier", "AttributeError"),
    ],
)
def test_a_verifier_that_fails_says_nothing_of_the_replay(name: str, why: str) -> None:
    with pytest.raises(NotVerified, match=why):
        _run(name, bounds=Bounds(seconds=60, mebibytes=256))


@pytest.mark.parametrize(("name", "why"), [("hanging", "more than 3 s"), ("busy", "signal|more than 3 s")])
def test_a_verifier_that_does_not_end_is_ended(name: str, why: str) -> None:
    with pytest.raises(NotVerified, match=why):
        _run(name, bounds=TIGHT)


@linux_only
@pytest.mark.parametrize("name", ["forking", "threading_", "starting"])
def test_a_verifier_starts_nothing_beside_itself(name: str) -> None:
    with pytest.raises(NotVerified, match="Error"):
        _run(name)


@linux_only
def test_a_verifier_has_no_network() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(0.1)
        with pytest.raises(NotVerified, match="PermissionError"):
            _run("calling", str(server.getsockname()[1]).encode())
        with pytest.raises(TimeoutError):
            server.accept()


@linux_only
def test_a_verifier_changes_no_files(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("whole", encoding="utf-8")
    for name, path in (("writing", there), ("writing", tmp_path / "new"), ("removing", there)):
        with pytest.raises(NotVerified, match="PermissionError"):
            _run(name, str(path).encode())
    assert [one.name for one in tmp_path.iterdir()] == ["there"]
    assert there.read_text(encoding="utf-8") == "whole"


@linux_only
def test_a_verifier_cannot_end_who_started_it() -> None:
    with pytest.raises(NotVerified, match="PermissionError"):
        _run("killing")


@pytest.fixture
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    """A process outside, of the same user as the verifier: only the cell's own walls are between them."""
    user = NOBODY if os.geteuid() == 0 else None
    with subprocess.Popen(["/bin/sleep", "600"], user=user, group=user, extra_groups=user and []) as process:
        yield process
        process.kill()


@linux_only
@pytest.mark.parametrize("name", ["aiming", "grasping", "whispering", "limiting", "slowing"])
def test_a_verifier_does_nothing_to_other_processes(name: str, bystander: subprocess.Popen[bytes]) -> None:
    before = _told_of(bystander.pid)
    with pytest.raises(NotVerified, match=REFUSED):
        _run(name, str(bystander.pid).encode())
    assert bystander.poll() is None
    assert _told_of(bystander.pid) == before


def _told_of(pid: int) -> tuple[int, str]:
    return os.getpriority(os.PRIO_PROCESS, pid), Path(f"/proc/{pid}/limits").read_text(encoding="ascii")


@linux_only
@pytest.mark.parametrize("name", ["locking", "naming", "handling", "mounting", "secluding", "sharing"])
def test_a_verifier_gets_round_no_wall(name: str) -> None:
    with pytest.raises(NotVerified, match=REFUSED):
        _run(name)


@linux_only
def test_a_verifier_leaves_no_mark_on_files(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.touch(mode=0o666)
    with pytest.raises(NotVerified, match=REFUSED):
        _run("marking", bytes(there))
    assert os.listxattr(there) == []


@linux_only
def test_a_verifier_does_not_see_the_environment_of_who_started_it() -> None:
    """Root's is closed to nobody; an ordinary user's where the kernel has Landlock."""
    if os.geteuid() != 0 and not privileges.landlock_version():
        pytest.skip("this kernel has no Landlock")
    with pytest.raises(NotVerified, match="PermissionError"):
        _run("prying")


@linux_only
def test_a_verifier_is_not_root_nor_becomes_it() -> None:
    with pytest.raises(NotVerified, match="PermissionError"):
        _run("rising")


@linux_only
def test_a_verifier_reads_and_imports_what_everybody_may() -> None:
    if os.geteuid() == 0 and not _open_to_all(Path(os.__file__)):
        pytest.skip("this interpreter is its owner's alone")
    assert _run("reading", b"/etc/passwd").score


def _open_to_all(path: Path) -> bool:
    return all(part.stat().st_mode & 0o005 for part in (path, *path.parents))


@linux_only
def test_where_the_kernel_does_not_agree_nothing_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "_CELL", Path(__file__).with_name("cell_elsewhere.py"))
    with pytest.raises(NotVerified, match="cannot be bound"):
        _run("length")


def test_one_that_misbehaves_leaves_nothing_running_and_the_next_is_verified() -> None:
    begun = time.monotonic()
    with pytest.raises(NotVerified):
        _run("hanging", bounds=TIGHT)
    assert time.monotonic() - begun >= TIGHT.seconds
    assert _run("length") == Outcome(4)
