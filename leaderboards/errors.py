"""What can go wrong with modes and boards."""

from config.errors import DomainError, NotFound


class ModeNotFound(NotFound):
    code, title = "mode_not_found", "Mode not found"


class RuleLocked(DomainError):
    code, status, title = "rule_locked", 409, "Rule locked"
