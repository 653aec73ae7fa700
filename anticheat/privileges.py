"""What a verifier's process gives up before it sees a replay: root, capabilities, and the sight of other processes."""

import ctypes
import os
import struct

_NOBODY = 65534
_PR_SET_DUMPABLE = 4
_CAPABILITIES_3 = 0x20080522
_CREATE_RULESET, _RESTRICT_SELF, _ASK_VERSION = 444, 446, 1  # the same numbers on every processor
_FILES = 0x1FFF & ~0b1100  # every way to use a file that the first version knows, but to read files and folders
_RULES = ((1, _FILES), (4, 0b11), (6, 0b11))  # since which version: files; TCP; signals and sockets of others


def give_up() -> None:
    """For good. Raises OSError where root cannot be given up. The filter of seccomp.py is in force before."""
    kernel = ctypes.CDLL(None, use_errno=True)
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(_NOBODY, _NOBODY, _NOBODY)
        os.setresuid(_NOBODY, _NOBODY, _NOBODY)
    if kernel.capset(struct.pack("Ii", _CAPABILITIES_3, 0), bytes(24)) != 0:
        raise OSError(ctypes.get_errno(), "capabilities cannot be given up")
    kernel.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)
    _leave(kernel)


def landlock_version() -> int:
    """0: this kernel has none."""
    return max(0, int(ctypes.CDLL(None, use_errno=True).syscall(_CREATE_RULESET, None, 0, _ASK_VERSION)))


def _leave(kernel: ctypes.CDLL) -> None:
    """Into a domain of its own, where the kernel knows Landlock: closed from there is what /proc says of the memory,
    the files and the environment of processes outside, even of the same user.
    """
    version = landlock_version()
    if version == 0:
        return
    known = [kinds for since, kinds in _RULES if since <= version]
    rules = struct.pack(f"{len(known)}Q", *known)
    ruleset = kernel.syscall(_CREATE_RULESET, rules, len(rules), 0)
    if ruleset < 0 or kernel.syscall(_RESTRICT_SELF, ruleset, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot be bound by Landlock")
    os.close(ruleset)
