"""Who leads meanwhile, looked at about once a second."""

import time
from contextlib import suppress

from django.utils import timezone

from config.errors import Unavailable
from leaderboards.boards.board import board_named
from leaderboards.models import Mode
from leaderboards.ranking import page
from leaderboards.rules.encoding import unscale
from leaderboards.rules.windows import KINDS
from players.profiles import profiles

_EVERY = 1.0  # seconds


class Leaders:
    """Of the global board of the mode's shortest window. Boards that do not answer have none."""

    def __init__(self, mode: Mode) -> None:
        self._pk, self._looked, self._player = mode.pk, float("-inf"), 0
        self.window = next(kind.value for kind in KINDS if kind in mode.windows)
        self.changes, self.now = 0, ""

    def look(self) -> None:
        if time.monotonic() - self._looked < _EVERY:
            return
        self._looked = time.monotonic()
        mode = Mode.objects.get(pk=self._pk)  # its boards may have moved, and before its first score it has none
        board = board_named(mode=mode, window=self.window, scope="global", at=timezone.now())
        with suppress(Unavailable):
            for first in page(board, offset=0, limit=1).entries:
                self.changes += bool(self._player) and first.player != self._player
                self._player = first.player
                name = profiles([first.player])[first.player].display_name
                self.now = f"{name} with {unscale(first.score, mode.decimals):,}"
