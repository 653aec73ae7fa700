"""How checks are tuned for a mode: each declares its tunables with their defaults; `Mode.checks` has what differs.

Scores among them are written as the game writes them.
"""

from collections.abc import Mapping
from decimal import Decimal
from math import isfinite
from typing import Annotated, Any, Literal, TypeVar

import msgspec
from django.conf import settings
from django.utils.module_loading import import_string
from msgspec import Meta

from config import wire
from leaderboards.models import Mode
from leaderboards.rules.encoding import MAX_RAW
from leaderboards.verdicts import Weight

Act = Literal["flag", "quarantine", "reject"]
Score = Annotated[float, Meta(gt=0, le=MAX_RAW)]  # a difference of scores, as the game writes it
Times = Annotated[float, Meta(gt=0, le=1_000_000)]
WEIGHTS: dict[Act, Weight] = {"flag": Weight.FLAG, "quarantine": Weight.QUARANTINE, "reject": Weight.REJECT}
_MODEL = "anticheat.checks.model.Model"  # which is silent until there is one


class Tuning(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What every check can be told: whether to look at all, and what becomes of what it finds."""

    on: bool = True
    act: Act = "flag"

    @property
    def weight(self) -> Weight:
        return WEIGHTS[self.act]

    @property
    def may_hold(self) -> bool:
        return self.on and self.weight is not Weight.FLAG

    def wrong(self, *, decimals: int) -> str:
        """What does not fit together, or with the decimals of the mode, said to whoever declares it."""
        return ""


T = TypeVar("T", bound=Tuning)


def tuned(mode: Mode, name: str, to: type[T]) -> T:
    """As the mode has it. What does not fit any more (a check that changed) is as by default."""
    declared = mode.checks.get(name)
    if not declared:
        return to()
    wire.ready(to)
    try:
        return msgspec.convert(declared, to)
    except msgspec.ValidationError:
        return to()


def scaled(score: float, decimals: int) -> int:
    """To the mode's own decimals, rounded."""
    return round(Decimal(str(score)).scaleb(decimals))


def examine(checks: object, *, decimals: int) -> dict[str, list[str]]:
    """What is wrong with a mode's tuning, by field: for whoever declares it."""
    if not isinstance(checks, Mapping):
        return {"checks": ['Checks are tuned by name: {"jump": {"max": 5000}}.']}
    known = _known()
    found = {f"checks.{str(name)[:64]}": _wrong(name, declared, known, decimals) for name, declared in checks.items()}
    return {field: [sentence] for field, sentence in found.items() if sentence}


def _wrong(name: object, declared: object, known: Mapping[object, type[Tuning]], decimals: int) -> str:
    if name not in known:
        return f"There is no such check. There are {', '.join(sorted(map(str, known)))}."
    wire.ready(known[name])
    try:
        tuning = msgspec.convert(declared, known[name])
    except msgspec.ValidationError as error:
        return f"{error}."
    if any(isinstance(value, float) and not isfinite(value) for value in msgspec.structs.astuple(tuning)):
        return "A number is finite."
    return tuning.wrong(decimals=decimals)


def _known() -> dict[object, type[Tuning]]:
    """Those that run, at the door, when stamping or over the log, and can be tuned."""
    paths = (*settings.SCORE_CHECKS, *settings.STAMP_CHECKS, *settings.LOG_CHECKS, _MODEL)
    classes: list[Any] = [import_string(path) for path in paths]
    return {one.name: one.tuning for one in classes if hasattr(one, "tuning")}
