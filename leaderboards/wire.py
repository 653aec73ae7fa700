"""What comes in and goes out about games and modes."""

from decimal import Decimal
from typing import Annotated, Any

from msgspec import UNSET, Meta, UnsetType, field

from config.wire import NUMBER, Exact, Incoming, Instant, Outgoing, described_as
from leaderboards.rules.encoding import MAX_DECIMALS
from leaderboards.rules.mode import (
    DIMENSION,
    DIMENSION_VALUE,
    MOST_DECLARED_VALUES,
    MOST_DIMENSION_VALUES,
    MOST_DIMENSIONS,
    MOST_GRACE_SECONDS,
    Aggregation,
    ModeRules,
    NewValues,
    Order,
    Ranking,
    Submit,
    TieBreak,
)
from leaderboards.rules.windows import Kind
from players.names import SLUG
from players.wire import LimitsDeclaration

_WRITTEN = {"type": "string", "pattern": f"^{NUMBER.pattern}$"}
ScoreIn = Annotated[
    Exact,
    Meta(
        description="A number, or a string for exact decimals",
        extra_json_schema=described_as(anyOf=[{"type": "number"}, _WRITTEN]),
    ),
]
ScoreOut = Annotated[Decimal | int, Meta(extra_json_schema=described_as(type="number"))]
ModeSlug = Annotated[str, Meta(pattern=f"^{SLUG.pattern}$", examples=["solo"])]
Title = Annotated[str, Meta(max_length=100)]
# what is said beyond the lengths is checked, with better sentences, in rules/mode.py
Windows = Annotated[
    tuple[Annotated[str, Meta(max_length=64, extra_json_schema={"enum": [kind.value for kind in Kind]})], ...],
    Meta(max_length=32, extra_json_schema={"minItems": 1, "uniqueItems": True}),
]
Dimensions = Annotated[
    tuple[Annotated[str, Meta(max_length=64, extra_json_schema={"pattern": f"^{DIMENSION.pattern}$"})], ...],
    Meta(max_length=MOST_DIMENSIONS, extra_json_schema={"uniqueItems": True}),
]
DimensionValue = Annotated[str, Meta(max_length=64, extra_json_schema={"pattern": f"^{DIMENSION_VALUE.pattern}$"})]
DeclaredValues = Annotated[
    dict[
        Annotated[str, Meta(max_length=64)],
        Annotated[
            tuple[DimensionValue, ...],
            Meta(max_length=MOST_DECLARED_VALUES, extra_json_schema={"minItems": 1, "uniqueItems": True}),
        ],
    ],
    Meta(
        max_length=MOST_DIMENSIONS,
        description="By dimension, the values that it takes: scores with any other are refused",
        examples=[{"level": ["1", "2"]}],
    ),
]
NewValuesRule = Annotated[
    NewValues,
    Meta(
        description="Who may bring values to dimensions without declared ones. `anyone`: each player a few a day."
        " A score with a value that its sender may not bring, or that has no room, counts without that scope"
    ),
]
# by check; what can be said of each is its own (docs/anticheat.md)
Tuning = Annotated[dict[Annotated[str, Meta(max_length=32)], dict[str, Any]], Meta(max_length=100)]

_DEFAULT = ModeRules()


class ValueBounds(Incoming):
    min_score: ScoreIn | None = None
    max_score: ScoreIn | None = None


class ModeDeclaration(Incoming):
    """A mode as `apply_config` files and PUT declare it; what is left out has the default."""

    title: Title = ""
    description: Annotated[str, Meta(max_length=1000)] = ""
    active: bool = True
    aggregation: Aggregation = _DEFAULT.aggregation
    order: Order = _DEFAULT.order
    decimals: Annotated[int, Meta(ge=0, le=MAX_DECIMALS)] = _DEFAULT.decimals
    min_score: ScoreIn | None = None
    max_score: ScoreIn | None = None
    max_total: ScoreIn | None = None
    bounds: Annotated[dict[str, ValueBounds], Meta(max_length=1000)] = {}
    windows: Windows = _DEFAULT.windows
    timezone: Annotated[str, Meta(max_length=64)] = _DEFAULT.timezone
    grace_seconds: Annotated[int, Meta(ge=0, le=MOST_GRACE_SECONDS)] = _DEFAULT.grace_seconds
    tie_break: TieBreak = _DEFAULT.tie_break
    ranking: Ranking = _DEFAULT.ranking
    dimensions: Dimensions = _DEFAULT.dimensions
    dimension_values: Annotated[int, Meta(ge=1, le=MOST_DIMENSION_VALUES)] = _DEFAULT.dimension_values
    values: DeclaredValues = {}
    new_values: NewValuesRule = _DEFAULT.new_values
    submit: Submit = _DEFAULT.submit
    checks: Tuning = {}


class GameDeclaration(Incoming):
    title: Title = ""
    public: bool = True
    limits: LimitsDeclaration = field(default_factory=LimitsDeclaration)
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
    values: dict[str, list[str]]
    new_values: NewValues
    submit: Submit
    current_windows: list[WindowState]
    warnings: list[str]
    checks: dict[str, Any] | UnsetType = UNSET  # how they are tuned: for those who may change it


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
