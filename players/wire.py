"""What comes in and goes out about players."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType, field

from config.wire import Incoming, Instant, Outgoing
from players.names import REGION, SLUG

GameSlug = Annotated[str, Meta(pattern=f"^{SLUG.pattern}$", examples=["arena"])]
PlayerId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=64,
        pattern=r"^[^/\\]+$",
        description="The game's own id for the player, percent-encoded; nothing invisible in it, nor . or .. alone.",
        examples=["p-17"],
    ),
]
Name = Annotated[str, Meta(min_length=1, max_length=200, description="Trimmed and NFC-normalised; then 1 to 64.")]
Country = Annotated[str, Meta(pattern="^[A-Za-z]{2}$", description="ISO 3166-1 alpha-2")]
Region = Annotated[str, Meta(pattern=f"^{REGION.pattern}$")]
Avatar = Annotated[str, Meta(pattern="^https://", max_length=500)]


class PlayerUpsert(Incoming):
    """What is left out stays as it is (a new player's name is its id); null clears."""

    display_name: Name | UnsetType = UNSET
    country: Country | UnsetType | None = UNSET
    region: Region | UnsetType | None = UNSET
    avatar_url: Avatar | UnsetType | None = UNSET


class Allowed(Incoming):
    """Nothing a second: no limit. Without a burst, what a second allows."""

    per_second: Annotated[float, Meta(ge=0, le=100_000)]
    burst: Annotated[int, Meta(ge=1, le=100_000)] | UnsetType = UNSET


class LimitsOf(Incoming):
    """Of one kind of caller; what is left out has the default."""

    read: Allowed | UnsetType = UNSET


class LimitsDeclaration(Incoming):
    """How often callers may do what in a game: `[games.arena.limits]`."""

    player: LimitsOf = field(default_factory=LimitsOf)
    address: LimitsOf = field(default_factory=LimitsOf)


class PlayerProfile(Outgoing):
    player_id: str
    display_name: str
    country: str | None
    region: str | None
    avatar_url: str | None


class PlayerBan(Outgoing):
    kind: str
    mode: str | None
    starts_at: Instant
    ends_at: Instant | None
    reason: str
    created_at: Instant


class PlayerExport(Outgoing):
    """All that is stored about a player."""

    game: str
    player: PlayerProfile
    created_at: Instant
    last_seen_at: Instant | None
    tokens_valid_from: Instant | None
    bans: list[PlayerBan]
