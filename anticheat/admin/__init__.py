"""Where people decide: the queue, cases, rulings, rollbacks, what is going on, and looking for anything."""

from anticheat.admin import audit, cases, own_players, rollbacks, rulings

__all__ = ["audit", "cases", "own_players", "rollbacks", "rulings"]
