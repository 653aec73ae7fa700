"""What production refuses to start with, each in one sentence that says what to write instead: guessable secrets, and
names of hosts or of other sites that would let anybody in.
"""

import re
from collections.abc import Sequence

from config.env import BELOW, NAME, ConfigurationError

MAKE_ONE = 'Make one with: python3 -c "import secrets; print(secrets.token_urlsafe(48))"'
_SHORTEST = 32  # characters
_FEWEST = 10  # different ones; 32 random hexadecimal digits have 14 on average
# what stands in samples, seen without case and without what is neither a letter nor a digit
_SAMPLES = (
    "changeme", "changethis", "djangoinsecure", "example", "insecure", "notasecret", "password", "placeholder",
    "replacethis", "replaceme", "secretkey", "yoursecret", "0123456789", "1234567890", "abcdefghij", "qwertyuiop",
)  # fmt: skip
_IPV6 = r"\[[0-9a-f:.]+\]"
_HOST = re.compile(rf"{NAME}|{_IPV6}|\.{BELOW}")
_SITE = re.compile(rf"(https?)://(?:{NAME}|{_IPV6}|\*\.{BELOW})(?::\d{{1,5}})?")


def check_secret(name: str, value: str) -> None:
    """Never quotes it."""
    if fault := _fault(value):
        raise ConfigurationError(f"In production {name} must be hard to guess: {fault}. {MAKE_ONE}")


def _fault(value: str) -> str:
    plain = re.sub(r"[^a-z0-9]", "", value.lower())
    if len(value) < _SHORTEST:
        return f"it has {len(value)} characters, and needs {_SHORTEST} at least"
    if len(set(value)) < _FEWEST or value in (value + value)[1:-1]:
        return "it repeats itself"
    if any(sample in plain for sample in _SAMPLES):
        return "it looks like a sample"
    return ""


def check_hosts(hosts: Sequence[str]) -> None:
    """Whoever may choose our name may have links and redirects of ours lead to a host of their own."""
    for host in hosts:
        if not _HOST.fullmatch(host.lower()):
            raise ConfigurationError(
                "In production ALLOWED_HOSTS must name hosts, without scheme, port or *: rung.example, or .rung.example"
                f" for all below it, not {host!r}."
            )


def check_origins(name: str, origins: Sequence[str], *, https: bool) -> None:
    """`https`: only sites that nobody on the way can rewrite."""
    for origin in origins:
        site = _SITE.fullmatch(origin.lower())
        if site is None or (https and site[1] != "https"):
            raise ConfigurationError(
                f"In production {name} must name sites: https://game.example, or https://*.game.example for all below"
                f" it, not {origin!r}."
            )
