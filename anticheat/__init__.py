"""Checks of scores; cases, replays and the audit log to come. A floor above `leaderboards`."""
