"""Who PostgreSQL runs as. It refuses to be root; as an ordinary user there is nothing to decide."""

import os
import pwd
import shutil
import stat
import subprocess
from importlib import metadata
from pathlib import Path

from config.embedded.errors import CannotStart
from config.embedded.programs import Identity, Program, spawn

PROBE_SECONDS = 20


def identity_for(*, home: Path, probe: Path) -> Identity | None:
    """As root: a namespace in which root's files stay root's, else the user nobody, else a refusal that helps."""
    if os.geteuid() != 0:
        return None
    nobody = _somebody_powerless()
    inside = Identity(nobody.pw_uid, nobody.pw_gid, namespace=True)
    if _can_run(inside, probe):
        return inside
    if not all(others_may_enter(folder) for folder in home.parents):
        raise CannotStart(
            "PostgreSQL does not run as root, and this system allows no user namespaces: run as an ordinary user, "
            "or set RUNG_HOME to a folder that others may enter, or set DATABASE_URL."
        )
    return Identity(nobody.pw_uid, nobody.pw_gid, namespace=False)


def others_may_enter(folder: Path) -> bool:
    return bool(folder.stat().st_mode & stat.S_IXOTH)


def own(folder: Path, identity: Identity | None) -> None:
    """The files go to whom the server will be: itself outside a namespace, root inside and without one."""
    if os.geteuid() != 0:
        return
    drops = identity is not None and not identity.namespace
    uid, gid = (identity.uid, identity.gid) if identity and drops else (0, 0)
    if folder.exists() and folder.stat().st_uid != uid:
        for path in [folder, *folder.rglob("*")]:
            os.chown(path, uid, gid, follow_symlinks=False)


def reachable_copy(programs: Path, *, identity: Identity | None, home: Path) -> Path:
    """The wheel where it is, or a copy under home for a user who may not walk to it. `programs` is pginstall/."""
    if identity is None or identity.namespace:
        return programs
    home.chmod(0o711)  # others may pass, not look; what is secret in it is 0600
    if all(others_may_enter(folder) for folder in programs.parents):
        return programs
    copies = home / "programs" / metadata.version(programs.parent.name)
    package, libraries = programs.parent, programs.parents[1] / f"{programs.parent.name}.libs"
    copy = copies / package.name / programs.name
    if not copy.exists():
        shutil.rmtree(copies.parent, ignore_errors=True)
        if libraries.exists():  # found by the programs at ../../../ from bin/
            shutil.copytree(libraries, copies / libraries.name)
        shutil.copytree(programs, copy.with_name("unfinished"))
        copy.with_name("unfinished").rename(copy)
    for folder in (copies.parent, copies, copy.parent):
        folder.chmod(0o755)
    return copy


def _somebody_powerless() -> pwd.struct_passwd:
    """The user is looked up by number by initdb, so it must be one that exists."""
    try:
        return pwd.getpwnam("nobody")
    except KeyError:
        others = [user for user in pwd.getpwall() if user.pw_uid != 0]
    if not others:
        raise CannotStart("PostgreSQL does not run as root and this system has no other user: set DATABASE_URL.")
    return others[-1]


def _can_run(identity: Identity, probe: Path) -> bool:
    program = Program("probe", (str(probe), "--version"), folder=Path("/"), identity=identity)
    running = spawn(program, output=subprocess.DEVNULL)
    try:
        return running.popen.wait(timeout=PROBE_SECONDS) == 0
    except subprocess.TimeoutExpired:
        running.kill()
        return False
