"""Declaring games and modes: from a file, from the API, the same way."""

from dataclasses import asdict, dataclass
from decimal import Decimal
from typing import Any

from django.db import transaction

from config import audit
from config.audit import HOUSE, Who
from config.errors import InvalidRequest
from leaderboards import tuning
from leaderboards.errors import RuleLocked
from leaderboards.models import RULES, Mode
from leaderboards.rules import encoding
from leaderboards.rules.mode import (
    TAKEN_RULE,
    TAKEN_SLUGS,
    Bounds,
    Findings,
    ModeRules,
    examine,
    locked_changes,
)
from leaderboards.wire import GameDeclaration, ModeDeclaration
from players.models import Game
from players.names import SLUG, SLUG_RULE
from players.rates import limits_stored

_WORDS = ("title", "description", "active")
_SCORES = ("min_score", "max_score", "max_total")


@dataclass(frozen=True, slots=True)
class Change:
    """What a declaration did, or would do."""

    what: str  # "game arena", "mode arena/solo"
    outcome: str  # "created", "changed", "unchanged"
    fields: dict[str, tuple[object, object]]  # name: (before, after)
    warnings: tuple[str, ...] = ()


def game_declare(*, slug: str, wanted: GameDeclaration, who: Who = HOUSE) -> tuple[Game, Change]:
    _check_slug(slug, "game")
    limits = limits_stored(wanted.limits)
    values = {"title": wanted.title or _title(slug), "public": wanted.public, "limits": limits}
    with transaction.atomic():
        # not first looked for and then made: two that declare it at once must not clash
        game, made = Game.objects.select_for_update(no_key=True).get_or_create(slug=slug, defaults=values)
        fields = _assign(game, values, made=made)
        if fields and not made:
            game.save()
        change = Change(f"game {slug}", _outcome(made, fields), fields)
        _record("game", game, change, who)
    return game, change


def mode_declare(*, game: Game, slug: str, wanted: ModeDeclaration, who: Who = HOUSE) -> tuple[Mode, Change]:
    """The mode as wanted; refused whole where its rules do not fit together or may not change any more."""
    _check_slug(slug, "mode")
    rules = rules_of(wanted)
    checks = tuning.plain(wanted.checks)
    found = examine(rules)
    found.errors |= tuning.errors(checks, decimals=rules.decimals)
    if found.errors:
        raise refusal(found)
    with transaction.atomic():
        Game.objects.select_for_update(no_key=True).get(pk=game.pk)  # two that declare it at once take turns
        mode = Mode.objects.select_for_update(of=("self",)).filter(game=game, slug=slug).first()
        made = mode is None
        if made and slug in TAKEN_SLUGS:
            raise _slug_refused(slug, "mode", TAKEN_RULE)
        mode = mode or Mode(game=game, slug=slug)
        decimals = mode.decimals
        if mode.first_score_at is not None:
            _refuse_locked(mode.rules, rules)
        values = {name: getattr(wanted, name) for name in _WORDS} | _columns(rules) | {"checks": checks}
        values["title"] = values["title"] or _title(slug)
        fields = _assign(mode, values, made=made)
        if fields:
            mode.save()
        told = {
            name: (_told(name, was, decimals), _told(name, is_, rules.decimals)) for name, (was, is_) in fields.items()
        }
        change = Change(f"mode {game.slug}/{slug}", _outcome(made, fields), told, tuple(found.warnings))
        _record("mode", mode, change, who)
    return mode, change


def _record(noun: str, about: Game | Mode, change: Change, who: Who) -> None:
    if change.outcome == "unchanged":
        return
    audit.record(
        verb=f"{noun}.add" if change.outcome == "created" else f"{noun}.change",
        who=who,
        about=about,
        before={name: before for name, (before, _) in change.fields.items() if change.outcome == "changed"},
        after={name: after for name, (_, after) in change.fields.items()},
    )


def rules_of(wanted: ModeDeclaration) -> ModeRules:
    """Scaled once, here, at the border."""
    found = Findings()

    def scaled(name: str, score: Decimal | None) -> int | None:
        try:
            return None if score is None else encoding.scale(score, wanted.decimals)
        except ValueError as error:
            found.wrong(name, str(error))
            return None

    values = {name: getattr(wanted, name) for name in RULES}
    for name in _SCORES:
        values[name] = scaled(name, values[name])
    values["bounds"] = {
        scope: Bounds(
            low=scaled(f"bounds.{scope}.min_score", sides.min_score),
            high=scaled(f"bounds.{scope}.max_score", sides.max_score),
        )
        for scope, sides in wanted.bounds.items()
    }
    if found.errors:
        raise refusal(found)
    return ModeRules(**values)


def refusal(found: Findings) -> InvalidRequest:
    detail = " ".join(f"{field}: {' '.join(sentences)}" for field, sentences in found.errors.items())
    return InvalidRequest(detail, errors=found.errors)


def _columns(rules: ModeRules) -> dict[str, Any]:
    values = {name: getattr(rules, name) for name in RULES}
    values["windows"], values["dimensions"] = list(rules.windows), list(rules.dimensions)
    values["values"] = {name: list(declared) for name, declared in rules.values.items()}
    values["bounds"] = {scope: asdict(sides) for scope, sides in rules.bounds.items()}
    return values


def _assign(row: Game | Mode, values: dict[str, Any], *, made: bool) -> dict[str, tuple[object, object]]:
    """Sets what differs and says what did."""
    fields = {
        name: (None if made else getattr(row, name), value)
        for name, value in values.items()
        if made or getattr(row, name) != value
    }
    for name, (_, value) in fields.items():
        setattr(row, name, value)
    return fields


def _told(name: str, value: Any, decimals: int) -> object:
    """Scores as whoever declares them writes them, not as they are stored."""
    if name in _SCORES:
        return None if value is None else encoding.unscale(value, decimals)
    if name != "bounds" or value is None:
        return value
    names = {"low": "min_score", "high": "max_score"}
    return {
        scope: {names[side]: _told(names[side], score, decimals) for side, score in sides.items()}
        for scope, sides in value.items()
    }


def _refuse_locked(before: ModeRules, after: ModeRules) -> None:
    locked = locked_changes(before, after)
    if locked:
        raise RuleLocked(
            f"{', '.join(locked)} cannot change once scores exist: what they mean depends on it. Declare a new mode.",
            errors={name: [f"is {getattr(before, name)!r} and stays so"] for name in locked},
        )


def _check_slug(slug: str, what: str) -> None:
    if not SLUG.fullmatch(slug):
        raise _slug_refused(slug, what, SLUG_RULE)


def _slug_refused(slug: str, what: str, because: str) -> InvalidRequest:
    return InvalidRequest(f"{slug[:60]!r} cannot name a {what}: {because}", errors={what: [because]})


def _outcome(made: bool, fields: dict[str, Any]) -> str:
    return "created" if made else "changed" if fields else "unchanged"


def _title(slug: str) -> str:
    return slug.replace("-", " ").replace("_", " ").title()
