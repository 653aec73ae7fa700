"""An error is a fact with a code. Each app adds its own; `problem.py` says them to the outside."""

from typing import ClassVar


class DomainError(Exception):
    """Something a caller did or met, told with a stable code. Never a surprise, never logged as a failure."""

    code: ClassVar[str] = "invalid_request"
    status: ClassVar[int] = 400
    title: ClassVar[str] = "Invalid request"

    def __init__(
        self, detail: str = "", *, errors: dict[str, list[str]] | None = None, retry_after: int | None = None
    ) -> None:
        super().__init__(detail or self.title)
        self.detail = detail or f"{self.title}."
        self.errors = errors
        self.retry_after = retry_after


class InvalidRequest(DomainError):
    pass


class Unauthenticated(DomainError):
    code, status, title = "unauthenticated", 401, "Unauthenticated"


class Forbidden(DomainError):
    code, status, title = "forbidden", 403, "Forbidden"


class NotFound(DomainError):
    code, status, title = "not_found", 404, "Not found"


class MethodNotAllowed(DomainError):
    code, status, title = "method_not_allowed", 405, "Method not allowed"


class PayloadTooLarge(DomainError):
    code, status, title = "payload_too_large", 413, "Payload too large"


class UnsupportedMediaType(DomainError):
    code, status, title = "unsupported_media_type", 415, "Unsupported media type"


class RateLimited(DomainError):
    code, status, title = "rate_limited", 429, "Rate limited"


class Unavailable(DomainError):
    code, status, title = "unavailable", 503, "Unavailable"


class InternalError(DomainError):
    """Ours, not the caller's; says nothing of its cause outside the log."""

    code, status, title = "internal_error", 500, "Internal error"
