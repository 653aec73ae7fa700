"""Becomes another program, after promising to die with the supervisor. Run as a script, by path, without packages.

    launch.py '{"parent": 17, "stop_signal": 2, "uid": 65534, "gid": 65534, "namespace": true}' /path/of/program …

A process of its own, rather than a hook between fork and exec: the supervisor has threads, and running Python in the
forked copy of a process with threads can hang. It is gone within milliseconds; the pid stays the same.
"""

import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

CLONE_NEWUSER = 0x10000000
PR_SET_PDEATHSIG = 1


def enter_namespace(uid: int, gid: int) -> None:
    """The same user, seen from inside as uid: root for the files, not root for the program."""
    outer_uid, outer_gid = os.geteuid(), os.getegid()
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWUSER) != 0:
        raise OSError(ctypes.get_errno(), "user namespaces are not allowed here")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{uid} {outer_uid} 1")
    Path("/proc/self/gid_map").write_text(f"{gid} {outer_gid} 1")


def become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setgid(gid)
    os.setuid(uid)


def die_with(parent: int, stop_signal: int) -> None:
    """Comes after every change of user, which would undo it. The parent may have died before we asked."""
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, stop_signal, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the supervisor is gone")


def launch(orders: dict[str, Any], argv: list[str]) -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    if orders.get("uid") is not None:
        change = enter_namespace if orders["namespace"] else become
        change(orders["uid"], orders["gid"])
    die_with(orders["parent"], orders["stop_signal"])
    os.execv(argv[0], argv)  # noqa: S606  no shell is the point


if __name__ == "__main__":
    try:
        launch(json.loads(sys.argv[1]), sys.argv[2:])
    except OSError as error:
        sys.exit(f"{sys.argv[2]} cannot be started: {error.strerror}")
