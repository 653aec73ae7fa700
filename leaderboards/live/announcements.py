"""What workers send to web processes: states of boards, as bytes that nobody has to look into again."""

from collections.abc import Mapping
from hashlib import blake2b

import msgspec

FORMAT = 1


class Top(msgspec.Struct, array_like=True, frozen=True):
    """The first entries of a board; each is JSON as it will be sent."""

    generation: int
    version: int
    total: int
    window_id: str
    updated_at: bytes  # JSON
    limit: int
    entries: list[bytes]

    @property
    def order(self) -> tuple[int, int]:
        """Of two, the greater one is newer."""
        return self.generation, self.version

    def tail(self, limit: int) -> str:
        """All of a message that is the same for everybody with that limit."""
        entries = b",".join(self.entries[:limit]).decode()
        return (
            f'"version":{self.version},"total":{self.total},"window_id":"{self.window_id}",'
            f'"updated_at":{self.updated_at.decode()},"entries":[{entries}]}}'
        )


class Rank(msgspec.Struct, array_like=True, frozen=True):
    generation: int
    version: int
    rank: int | None
    score: bytes  # JSON

    @property
    def order(self) -> tuple[int, int]:
        return self.generation, self.version


class Announcement(msgspec.Struct, array_like=True, frozen=True):
    """Of one board. Who is in none of the lists was not known to be watching, and is shown nothing."""

    format: int
    board: str
    number: int
    top: Top | None  # None: nobody wants one
    players: frozenset[str]  # who are known and may see it
    ghosts: dict[str, Top]  # and who see another
    themselves: dict[str, Rank]  # as they see it
    followed: dict[str, Rank]  # as everybody sees it
    only: frozenset[str] | None = None  # the players whom it is for; None: everybody

    @property
    def digest(self) -> bytes:
        """Of what is to be seen. A version rises with any board of the mode, so it is no part of it."""
        seen = [
            _seen(self.top),
            sorted((player, _seen(top)) for player, top in self.ghosts.items()),
            _ranks(self.themselves),
            _ranks(self.followed),
        ]
        return blake2b(encode(seen), digest_size=16).digest()


def _seen(top: Top | None) -> list[object]:
    return [] if top is None else [top.total, top.window_id, top.entries]


def _ranks(ranks: Mapping[str, Rank]) -> list[tuple[str, int | None, bytes]]:
    return sorted((player, one.rank, one.score) for player, one in ranks.items())


encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Announcement).decode


def decode(body: bytes) -> Announcement | None:
    """None: of another version of Rung."""
    try:
        found = _decode(body)
    except msgspec.DecodeError:
        return None
    return found if found.format == FORMAT else None
