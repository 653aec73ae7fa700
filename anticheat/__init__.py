"""Checks, cases, replays and the audit log: a floor above `leaderboards`, still empty."""
