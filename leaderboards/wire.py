"""What comes in and goes out about games and modes: the contract, once."""

from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta

from config.wire import Incoming, Instant, Outgoing, described_as
from leaderboards.rules.windows import Kind

_DECIMAL = r"^[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?$"
ScoreIn = Annotated[
    Decimal,
    Meta(
        description="A number, or a string for exact decimals",
        extra_json_schema=described_as(anyOf=[{"type": "number"}, {"type": "string", "pattern": _DECIMAL}]),
    ),
]
ScoreOut = Annotated[Decimal, Meta(extra_json_schema=described_as(type="number"))]
ModeSlug = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,49}$", examples=["solo"])]
Title = Annotated[str, Meta(max_length=100)]
# what is said beyond the lengths is checked, with better sentences, in rules/mode.py
Windows = Annotated[
    tuple[Annotated[str, Meta(max_length=64, extra_json_schema={"enum": [kind.value for kind in Kind]})], ...],
    Meta(max_length=32, extra_json_schema={"minItems": 1, "uniqueItems": True}),
]
Dimensions = Annotated[
    tuple[Annotated[str, Meta(max_length=64, extra_json_schema={"pattern": "^[a-z][a-z0-9_]{0,31}$"})], ...],
    Meta(max_length=8, extra_json_schema={"uniqueItems": True}),
]

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
    windows: Windows = ("daily", "weekly", "monthly", "alltime")
    timezone: Annotated[str, Meta(max_length=64)] = "UTC"
    grace_seconds: Annotated[int, Meta(ge=0, le=7 * 24 * 3600)] = 3600
    tie_break: TieBreak = "earliest"
    ranking: Ranking = "unique"
    dimensions: Dimensions = ("region", "country")
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
    starts_at: Instant | None
    resets_at: Instant | None
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
