"""The model: players whose sessions are like nobody else's. Judged over the log only: it looks at weeks of each.

Silent until a model has been trained for the mode (`train_model`).
"""

from typing import Annotated

from msgspec import Meta

from anticheat import model_store
from anticheat.features import Features
from anticheat.trail import Trail
from anticheat.tuning import Tuning, tuned
from leaderboards.models import Mode
from leaderboards.verdicts import Verdict


class ModelTuning(Tuning, frozen=True, kw_only=True):
    risk: Annotated[float, Meta(gt=0, lt=1)] = 0.3  # strange is not yet wrong


class Model:
    """Of a player as a whole; said once, of the latest attempt."""

    name = "model"
    tuning = ModelTuning

    def __init__(self, mode: Mode) -> None:
        self.tuned = tuned(mode, self.name, ModelTuning)
        self.forest = model_store.latest(mode.pk) if self.tuned.on else None

    def look(self, features: Features, trail: Trail) -> Verdict | None:
        vector = features.vector(trail) if self.forest else None
        if self.forest is None or vector is None:
            return None
        strangeness = self.forest.strangeness(vector)
        if strangeness <= self.forest.limit:
            return None
        reasons = self.forest.reasons(vector)
        told = ", ".join(name.replace("_", " ") for name, _ in reasons)
        numbers = dict(zip(self.forest.features, (round(value, 3) for value in vector), strict=True))
        return Verdict(
            check=self.name,
            weight=self.tuned.weight,
            reason=f"Plays unlike others ({strangeness:.2f}; {self.forest.limit:.2f} is rare), mostly by {told}.",
            risk=self.tuned.risk,
            details={"version": self.forest.version, "because": dict(reasons), **numbers},
        )
