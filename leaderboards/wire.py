"""What comes in and goes out about games and modes: the contract, once."""

from datetime import datetime
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta

from config.wire import Incoming, Outgoing

ScoreIn = Annotated[
    Decimal,
    Meta(description="A number, or a string for exact decimals", extra_json_schema={"type": ["number", "string"]}),
]
ScoreOut = Annotated[Decimal, Meta(extra_json_schema={"type": "number"})]
Title = Annotated[str, Meta(max_length=100)]
Words = Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=32)]

Aggregation = Literal["best", "sum", "latest"]
Order = Literal["desc", "asc"]
TieBreak = Literal["earliest", "latest", "none"]
Ranking = Literal["unique", "competition", "dense"]
Submit = Literal["trusted", "token", "open"]


class ValueBounds(Incoming):
    min_score: ScoreIn | None = None
    max_score: ScoreIn | None = None


class ModeDeclaration(Incoming):
    """A mode as `apply_config` files and PUT declare it; what is left out has the default."""

    title: Title = ""
    description: Annotated[str, Meta(max_length=1000)] = ""
    active: bool = True
    aggregation: Aggregation = "best"
    order: Order = "desc"
    decimals: Annotated[int, Meta(ge=0, le=6)] = 0
    min_score: ScoreIn | None = None
    max_score: ScoreIn | None = None
    max_total: ScoreIn | None = None
    bounds: Annotated[dict[str, ValueBounds], Meta(max_length=1000)] = {}
    windows: Words = ("daily", "weekly", "monthly", "alltime")
    timezone: Annotated[str, Meta(max_length=64)] = "UTC"
    grace_seconds: Annotated[int, Meta(ge=0, le=7 * 24 * 3600)] = 3600
    tie_break: TieBreak = "earliest"
    ranking: Ranking = "unique"
    dimensions: Words = ("region", "country")
    dimension_values: Annotated[int, Meta(ge=1, le=10_000)] = 1000
    submit: Submit = "trusted"


class GameDeclaration(Incoming):
    title: Title = ""
    public: bool = True
    modes: dict[str, ModeDeclaration] = {}


class ConfigFile(Incoming):
    """A whole `apply_config` file."""

    games: dict[str, GameDeclaration]


class ValueBoundsState(Outgoing):
    min_score: ScoreOut | None
    max_score: ScoreOut | None


class WindowState(Outgoing):
    window: str
    window_id: str
    starts_at: datetime | None
    resets_at: datetime | None
    tie_resolution_ms: int | None


class ModeState(Outgoing):
    """The rules as declared, and the windows as they are now."""

    game: str
    mode: str
    title: str
    description: str
    active: bool
    aggregation: Aggregation
    order: Order
    decimals: int
    min_score: ScoreOut | None
    max_score: ScoreOut | None
    max_total: ScoreOut | None
    bounds: dict[str, ValueBoundsState]
    windows: list[str]
    timezone: str
    grace_seconds: int
    tie_break: TieBreak
    ranking: Ranking
    dimensions: list[str]
    dimension_values: int
    submit: Submit
    current_windows: list[WindowState]
    warnings: list[str]


class GameState(Outgoing):
    game: str
    title: str
    public: bool
    players: int
    players_active_today: int
    idempotency_hours: int
    modes: list[ModeState]


class GameSummary(Outgoing):
    game: str
    title: str
    public: bool


class GameList(Outgoing):
    games: list[GameSummary]
