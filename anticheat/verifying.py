"""What a game implements to have its replays verified: `verify(replay, claim) -> Outcome`, in a process of its own.

Nothing of Django is here, nor may be in a verifier: it runs without settings, stores, network and threads (sandbox.py).
"""

from decimal import Decimal
from typing import Protocol

import msgspec

LONGEST_REFUSAL = 300  # characters; what is longer is cut


class Claim(msgspec.Struct, frozen=True, kw_only=True):
    """What the player says it did. `attempt_id` is a good seed: the game's, where attempts need a token."""

    game: str
    mode: str
    player_id: str
    attempt_id: str
    score: Decimal
    dimensions: dict[str, str] = {}


class Outcome(msgspec.Struct, frozen=True):
    """The score that the replay really reaches; or why it is none at all, in a sentence for whoever reviews it."""

    score: Decimal | int | None = None
    refusal: str = ""


class Verifier(Protocol):
    def __call__(self, replay: bytes, claim: Claim) -> Outcome:
        """Raises nothing that it can tell: what it raises is a replay that could not be verified."""
        ...
