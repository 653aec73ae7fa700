"""What a rollback would do, for game servers that ask: how many attempts, and the tops of boards now and after."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from anticheat import selections
from anticheat.models import Rollback
from anticheat.selections import Extent
from anticheat.whatif import Compared, tops_after, tops_now
from leaderboards import standings
from leaderboards.models import Mode

_ATTEMPTS = 50_000  # that are looked at, of those which count
_PLAYERS = 1000  # of a mode, that are counted anew


class Preview(NamedTuple):
    """`whole`: false where there are so many that the tops were worked out from a part of them."""

    extent: Extent
    tops: list[Compared]
    whole: bool


def rollback_preview(*, rollback: Rollback, now: datetime) -> Preview:
    selections.selection_check(rollback)
    with selections.patience():
        by_player, extent = selections.covered(rollback, most=_ATTEMPTS), selections.extent(rollback)
    tops, whole = list[Compared](), extent.counting <= _ATTEMPTS
    for mode in Mode.objects.filter(pk__in={mode for mode, _ in by_player}).select_related("game").order_by("slug"):
        own = {player: ids for (mode_id, player), ids in by_player.items() if mode_id == mode.pk}
        chosen = _foremost(mode, own, now)
        whole = whole and len(chosen) == len(own)
        without = {id_ for player in chosen for id_ in own[player]}
        with selections.patience():
            instead = standings.counted(mode, chosen, without=without)
        tops += tops_after(mode=mode, without=chosen, instead=instead, now=now)
    return Preview(extent, tops, whole and all(top.whole for top in tops))


def _foremost(mode: Mode, own: Mapping[int, set[int]], now: datetime) -> set[int]:
    """All of them; where they are too many, those who stand at the top first."""
    if len(own) <= _PLAYERS:
        return set(own)
    there = {entry.player for top in tops_now(mode=mode, now=now) for entry in top if entry.player in own}
    return there | set(list(own)[: _PLAYERS - len(there)])
