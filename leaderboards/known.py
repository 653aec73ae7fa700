"""Modes and boards as the hot paths know them: kept in the process, forgotten when a mode changes or a window ends."""

from collections.abc import Callable
from datetime import UTC, datetime

from django.db.models.signals import post_delete, post_save

from config.recall import Recall, forget_after_commit
from leaderboards.boards.board import Board, board_named
from leaderboards.errors import ModeNotFound
from leaderboards.hot import expires_at
from leaderboards.models import Mode
from players.lookups import GameRecord

_MOST_BOARDS = 10_000
_NEVER = datetime.max.replace(tzinfo=UTC)
_Named = tuple[int, str, str, str]  # game, mode, window, scope


def mode_known(*, game: GameRecord, mode: str) -> Mode:
    """As it is, or was some milliseconds ago. Not to be changed: others hold it too."""
    found = None if "\0" in mode else _modes.get((game.pk, mode))
    if found is None:
        raise ModeNotFound(f"There is no mode {mode!r} in {game.slug}.")
    return found


def board_known(*, game: GameRecord, mode: str, window: str, at: datetime, scope: Callable[[], str]) -> Board:
    """`scope` is asked for once the mode is found: what is wrong with a question is said in one order."""
    found = mode_known(game=game, mode=mode)
    named = (game.pk, mode, window, scope())
    kept = _boards.get(named)
    if kept is not None and kept[0].mode is found and at < kept[1]:
        return kept[0]
    board = board_named(mode=found, window=window, scope=named[3], at=at)
    if len(_boards) >= _MOST_BOARDS:
        _boards.clear()
    ends = (board.window.ends_at, expires_at(board.window))
    _boards[named] = board, min((end for end in ends if end and end > at), default=_NEVER)
    return board


def _load(named: tuple[int, str]) -> Mode | None:
    game, slug = named
    return Mode.objects.filter(game_id=game, slug=slug).select_related("game").first()


# until its first score a mode changes in ways that nobody announces
_modes: Recall[tuple[int, str], Mode] = Recall(_load, worth=lambda mode: mode.first_score_at is not None)
_boards: dict[_Named, tuple[Board, datetime]] = {}


def connect() -> None:
    for signal in (post_save, post_delete):
        signal.connect(_changed, sender=Mode, dispatch_uid=f"forget-mode-{id(signal)}")


def _changed(**_: object) -> None:
    forget_after_commit()
