"""What just happened in a mode, in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from leaderboards.activity import NOBODY, activity_of
from leaderboards.models import Mode
from leaderboards.pages import numbers, times, words
from leaderboards.wire_activity import Happening

SHOWN = 8


@dataclass(frozen=True, slots=True)
class Item:
    kind: str  # "new_leader" | "new_best" | "entered_top"
    mode: Mode
    player_id: str
    name: str
    flag: str
    country: str
    score: str
    rank: str
    window: str
    at: datetime
    ago: str


def feed_of(
    modes: Sequence[Mode], *, now: datetime, most: int = SHOWN, players: Mapping[int, str | None] = NOBODY
) -> list[Item]:
    """Newest first. `players`: who looks, by game."""
    found = activity_of(modes, most=most, players=players)
    items = [_item(mode, one, now) for mode, told in found.items() for one in told]
    return sorted(items, key=lambda item: item.at, reverse=True)[:most]


def _item(mode: Mode, one: Happening, now: datetime) -> Item:
    return Item(
        kind=one.kind,
        mode=mode,
        player_id=one.player_id,
        name=one.display_name,
        flag=words.flag_of(one.country),
        country=one.country or "",
        score=numbers.score_text(one.score, mode.decimals),
        rank=numbers.whole(one.rank),
        window=words.window_name(one.window),
        at=one.at,
        ago=times.ago(one.at, now=now),
    )
