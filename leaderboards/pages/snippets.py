"""Code to paste: a score to one mode, with the body that its rules ask for."""

import json
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.template.loader import render_to_string

from leaderboards.models import Mode
from leaderboards.rules import encoding
from leaderboards.rules.mode import PLAYERS_OWN

PLAYER = "p-17"
KEY, PLAYER_TOKEN, ATTEMPT_TOKEN = "YOUR_API_KEY", "THE_PLAYER_TOKEN", "THE_ATTEMPT_TOKEN"
LANGUAGES = {
    "curl": "curl",
    "javascript": "JavaScript",
    "csharp": "C# (Unity)",
    "gdscript": "GDScript",
    "python": "Python",
}


@dataclass(frozen=True, slots=True)
class Snippet:
    language: str
    title: str
    code: str


def score_snippets(mode: Mode, *, origin: str, key: str) -> list[Snippet]:
    """`key`: one of the game, or what stands for it."""
    body = submission(mode)
    fields = [(name, json.dumps(value)) for name, value in body.items()]
    told: dict[str, Any] = {
        "address": f"{origin}/v1/games/{mode.game.slug}/modes/{mode.slug}/scores",
        "credential": key if mode.submit == "trusted" else PLAYER_TOKEN,
        "body": json.dumps(body),
        "fields": fields,
        "plain": [(name, value) for name, value in fields if name != "dimensions"],
        "dimensions": list(body.get("dimensions", {}).items()),
        "decimals": mode.decimals,
        "attempt_token": body.get("attempt_token"),
    }
    return [
        Snippet(name, title, render_to_string(f"leaderboards/snippets/{name}.txt", told).strip())
        for name, title in LANGUAGES.items()
    ]


def vouching_snippet(mode: Mode, *, origin: str, key: str) -> Snippet:
    """What the game's server does before a match, where scores need an attempt token."""
    body = {"player_id": PLAYER, "cap": _number(example_score(mode))}
    address = f"{origin}/v1/games/{mode.game.slug}/modes/{mode.slug}/attempts"
    told = {"address": address, "credential": key, "body": json.dumps(body)}
    return Snippet("curl", "curl", render_to_string("leaderboards/snippets/curl.txt", told).strip())


def submission(mode: Mode) -> dict[str, Any]:
    """Whose score it is, a player's token says itself."""
    body: dict[str, Any] = {"player_id": PLAYER} if mode.submit == "trusted" else {}
    body["score"] = _number(example_score(mode))
    if dimensions := example_dimensions(mode):
        body["dimensions"] = dimensions
    if mode.submit == "token":
        body["attempt_token"] = ATTEMPT_TOKEN
    return body


def example_dimensions(mode: Mode) -> dict[str, str]:
    """Where values are declared, a mode takes no others."""
    return {name: mode.values.get(name, ["1"])[0] for name in mode.dimensions if name not in PLAYERS_OWN}


def example_score(mode: Mode, *, share: float = 0.618) -> Decimal | int:
    """So far from the least to the most that a score may be, where that is said."""
    low, high = _range(mode)
    return encoding.unscale(low + int(share * (high - low)), mode.decimals)


def _range(mode: Mode) -> tuple[int, int]:
    unit = 10**mode.decimals
    low, high = (
        (0, 2000 * unit) if mode.min_score is None or mode.max_score is None else (mode.min_score, mode.max_score)
    )
    for name, value in example_dimensions(mode).items():
        if tighter := mode.rules.bounds.get(f"{name}:{value}"):
            low = low if tighter.low is None else tighter.low
            high = high if tighter.high is None else tighter.high
    return low, high


def _number(score: Decimal | int) -> float | int:
    """As JSON writes it: of sixteen digits at most, so nothing is lost."""
    return float(score) if isinstance(score, Decimal) else score
