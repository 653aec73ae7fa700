"""What can go wrong on a socket only."""

from config.errors import DomainError


class TooManySubscriptions(DomainError):
    code, status, title = "too_many_subscriptions", 429, "Too many subscriptions"
