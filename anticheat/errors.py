"""Why a score is refused at the door."""

from config.errors import DomainError


class TokenInvalid(DomainError):
    code, status, title = "token_invalid", 422, "Attempt token invalid"


class TokenExpired(DomainError):
    code, status, title = "token_expired", 422, "Attempt token expired"


class TokenCapExceeded(DomainError):
    code, status, title = "token_cap_exceeded", 422, "Attempt token's cap exceeded"
