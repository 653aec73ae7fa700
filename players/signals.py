"""What higher floors may hear of players. Sent inside the transaction that makes it so."""

from django.dispatch import Signal

player_changed = Signal()  # player: Player, before: {field: old value}
player_erased = Signal()  # player: Player
