"""API keys: `rung_<prefix>_<secret>`. The secret has 192 random bits, so one SHA-256 protects it as well as a password
hash would, a thousand times faster (docs/adr/0004).
"""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

_SHAPE = re.compile(r"rung_(?P<prefix>[0-9a-f]{8})_(?P<secret>[0-9a-f]{48})", re.ASCII)


@dataclass(frozen=True, slots=True)
class NewKey:
    text: str  # shown once, stored nowhere
    prefix: str
    secret_hash: bytes


def new_key() -> NewKey:
    prefix, secret = secrets.token_hex(4), secrets.token_hex(24)
    return NewKey(text=f"rung_{prefix}_{secret}", prefix=prefix, secret_hash=_hash(secret))


def split(text: str) -> tuple[str, str] | None:
    """(prefix, secret) of what looks like a key."""
    match = _SHAPE.fullmatch(text)
    return (match["prefix"], match["secret"]) if match else None


def proves(secret: str, secret_hash: bytes) -> bool:
    return hmac.compare_digest(_hash(secret), secret_hash)


def _hash(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()
