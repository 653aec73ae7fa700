"""An error is a fact with a code. Each app adds its own; `problem.py` says them to the outside."""

from typing import ClassVar


def gettext_noop(sentence: str) -> str:
    """Marks what pages translate. Django's own wants settings, which not everybody has who knows errors."""
    return sentence


class DomainError(Exception):
    """Something a caller did or met, told with a stable code. Never a surprise, never logged as a failure."""

    code: ClassVar[str] = "invalid_request"
    status: ClassVar[int] = 400
    title: ClassVar[str] = "Invalid request"
    sentence: ClassVar[str] = gettext_noop("The request is malformed.")

    def __init__(
        self, detail: str = "", *, errors: dict[str, list[str]] | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or self.sentence
        self.errors = errors
        self.retry_after = retry_after


class CallerLeft(Exception):
    """Nobody waits for the answer any more."""


class InvalidRequest(DomainError):
    pass


class Unauthenticated(DomainError):
    code, status, title = "unauthenticated", 401, "Unauthenticated"
    sentence = "This needs credentials: Authorization: Bearer <API key or player token>."


class Forbidden(DomainError):
    code, status, title = "forbidden", 403, "Forbidden"
    sentence = gettext_noop("You may not do this.")


class NotFound(DomainError):
    code, status, title = "not_found", 404, "Not found"
    sentence = "There is nothing at this address."


class MethodNotAllowed(DomainError):
    code, status, title = "method_not_allowed", 405, "Method not allowed"
    sentence = "This address does not take that method."


class PayloadTooLarge(DomainError):
    code, status, title = "payload_too_large", 413, "Payload too large"
    sentence = "The body is larger than this address takes."


class UnsupportedMediaType(DomainError):
    code, status, title = "unsupported_media_type", 415, "Unsupported media type"
    sentence = "Send application/json."


class RateLimited(DomainError):
    code, status, title = "rate_limited", 429, "Rate limited"
    sentence = "That was too many; wait a little."


class Unavailable(DomainError):
    code, status, title = "unavailable", 503, "Unavailable"
    sentence = "Something behind us does not answer; try again in a moment."


class InternalError(DomainError):
    """Ours, not the caller's; says nothing of its cause outside the log."""

    code, status, title = "internal_error", 500, "Internal error"
    sentence = "This is our fault. The request id helps us find it."
