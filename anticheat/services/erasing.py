"""What people and checks wrote about a player goes when the player is erased; that it was ruled on, and how, stays."""

from anticheat.models import Case, Finding, Ruling
from players.models import Player
from players.signals import player_erased


def connect() -> None:
    player_erased.connect(_on_erase, dispatch_uid="words-player-erased")


def _on_erase(*, player: Player, **_: object) -> None:
    """Words may say who it was, and so may the numbers of a check: devices, addresses. The log's are leaderboards'."""
    Ruling.objects.filter(player=player).update(reason="", note="", undone_why="")
    Case.objects.filter(player=player).update(note="")
    Finding.objects.filter(case__player=player).update(reason="", details={})
