"""What can go wrong with modes and boards."""

from config.errors import DomainError, NotFound, Unavailable


class ModeNotFound(NotFound):
    code, title = "mode_not_found", "Mode not found"


class RuleLocked(DomainError):
    code, status, title = "rule_locked", 409, "Rule locked"


class WindowNotFound(NotFound):
    code, title = "window_not_found", "Window not found"


class ScopeNotFound(NotFound):
    code, title = "scope_not_found", "Scope not found"


class AttemptNotFound(NotFound):
    code, title = "attempt_not_found", "Attempt not found"


class AttemptConflict(DomainError):
    code, status, title = "attempt_conflict", 409, "Attempt conflict"


class ScoreOutOfBounds(DomainError):
    code, status, title = "score_out_of_bounds", 422, "Score out of bounds"


class TimeOutOfRange(DomainError):
    code, status, title = "time_out_of_range", 422, "Time out of range"


class WindowClosed(DomainError):
    code, status, title = "window_closed", 422, "Window closed"


class ModeInactive(DomainError):
    code, status, title = "mode_inactive", 422, "Mode inactive"


class BoardsUnavailable(Unavailable):
    """Boards are derived: they come back by themselves."""
