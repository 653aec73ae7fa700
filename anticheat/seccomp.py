"""What a verifier may not ask the Linux kernel for: other processes, threads, sockets, files to write to or to mark,
memory and messages shared with others, and all that only root may ask for.

A filter of system calls that can only be tightened, for this process and for good.
"""

import ctypes
import errno
import platform
import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _FILTER = 38, 22, 2
_LOAD, _EQUAL, _AT_LEAST, _ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL, _ERROR = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in what the filter is shown
_WRITING: Final = 0o1 | 0o2 | 0o100 | 0o1000 | 0o20000000  # O_WRONLY, O_RDWR, O_CREAT, O_TRUNC, O_TMPFILE's own bit
_SINCE: Final = 424  # numbers from here on are the same everywhere; what the next kernels add is refused unseen
_NEW_AND_HARMLESS = (
    "436 439 441 444-446 449 451 454-456 462"  # close_range, faccessat2, epoll, Landlock, futexes, mseal
)
_CONTROLS = (0x5401, 0x5413, 0x541B, 0x5450, 0x5451)  # of ioctl: is it a terminal, how wide, what is there, inheritance
_COMMANDS = (0, 1, 2, 3, 4, 1030)  # of fcntl: copies and flags. Not: whom to signal, locks, leases
_OWN = (0,)  # of prlimit64: this process


class _Machine(NamedTuple):
    architecture: int
    forbidden: str
    opening: dict[int, int]  # calls that open a file, and which of their arguments says how
    bounded: dict[int, tuple[int, tuple[int, ...]]]  # calls of which an argument may have only some values


_MACHINES = {
    "x86_64": _Machine(
        0xC000003E,
        "41 42 49 50 53"  # socket, connect, bind, listen, socketpair
        " 56-59 322"  # clone, fork, vfork, execve, execveat
        " 62 101 129 200 234 297 298 310-312 323"  # kill and its kin, ptrace, perf, the memory of others, userfaultfd
        " 141 142 144 203 251 256 279 314"  # priority, scheduling, processors and memory pages of others
        " 29-31 64-71 220 240-245 248-250"  # memory, semaphores, messages and keys that are shared
        " 73 76 77 82-88 90-94 132 133 235 261 280 285"  # flock, truncate, rename, mkdir, creat, link, chmod, utime
        " 258-260 263-266 268 316 319"  # the same beside a folder; memfd_create
        " 188-190 197-199 303 304"  # setxattr, removexattr; files by handle
        " 153 155 161-171 179 212 272 300 301 306 308"  # roots, mounts, clocks, swap, names, quotas, namespaces, sync
        " 103 134 159 172-177 180 227 246 305 313 320 321",  # the log, clocks, ports, modules, kexec, bpf
        {2: 1, 257: 2},
        {16: (1, _CONTROLS), 72: (1, _COMMANDS), 302: (0, _OWN)},
    ),
    "aarch64": _Machine(
        0xC00000B7,
        "198-201 203"
        " 220 221 281"
        " 117 129-131 138 240 241 270-272 282"
        " 30 118 119 122 140 238 239 274"
        " 180-197 217-219"
        " 32-38 45-47 52-55 88 276 279"
        " 5-7 14-16 264 265"
        " 18 39-42 51 58 60 81 89 97 142 161 162 170 224 225 262 263 267 268"
        " 104-106 112 116 171 266 273 280 294",
        {56: 2},
        {29: (1, _CONTROLS), 25: (1, _COMMANDS), 261: (0, _OWN)},
    ),
}
_ONLY_64 = 0x40000000  # numbers from here on are x86's third way to call, which has them all again


def forbid() -> None:
    """Raises OSError where the kernel does not agree, or nobody has listed what its numbers mean."""
    machine = _MACHINES.get(platform.machine())
    if machine is None:
        raise OSError(errno.ENOSYS, f"cannot be bound on {platform.machine()}")
    program = _program(machine)
    code = ctypes.create_string_buffer(b"".join(program))
    described = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(program), ctypes.addressof(code)))
    kernel = ctypes.CDLL(None, use_errno=True)
    agreed = kernel.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    if not agreed or kernel.prctl(_PR_SET_SECCOMP, _FILTER, ctypes.byref(described), 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "cannot be bound by a filter")


def _program(machine: _Machine) -> list[bytes]:
    """Each line: what to do, how many lines to skip if so and if not, and the value."""
    lines = [
        _line(_LOAD, _ARCHITECTURE),
        _line(_EQUAL, machine.architecture, 1, 0),
        _line(_RETURN, _KILL),
        _line(_LOAD, _NUMBER),
        _line(_AT_LEAST, _ONLY_64, 0, 1),
        _REFUSE,
    ]
    for number in _numbers(_NEW_AND_HARMLESS):
        lines += [_line(_EQUAL, number, 0, 1), _PERMIT]
    lines += [_line(_AT_LEAST, _SINCE, 0, 1), _REFUSE]
    for number in _numbers(machine.forbidden):
        lines += [_line(_EQUAL, number, 0, 1), _REFUSE]
    for number, argument in machine.opening.items():
        lines += _looked_at(number, argument, [_line(_ANY_BIT, _WRITING, 0, 1), _REFUSE, _PERMIT])
    for number, (argument, values) in machine.bounded.items():
        known = [line for value in values for line in (_line(_EQUAL, value, 0, 1), _PERMIT)]
        lines += _looked_at(number, argument, [*known, _REFUSE])
    return [*lines, _PERMIT]


def _looked_at(number: int, argument: int, look: list[bytes]) -> list[bytes]:
    """The kernel, too, takes only the lower half of these arguments."""
    return [_line(_EQUAL, number, 0, len(look) + 1), _line(_LOAD, _ARGUMENTS + 8 * argument), *look]


def _numbers(text: str) -> Iterator[int]:
    for part in text.split():
        first, _, last = part.partition("-")
        yield from range(int(first), int(last or first) + 1)


def _line(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("HBBI", code, then, otherwise, value)


_PERMIT, _REFUSE = _line(_RETURN, _ALLOW), _line(_RETURN, _ERROR | errno.EPERM)
