"""Why something is refused: scores whose token is not good, rulings, and what is not there."""

from config.errors import DomainError


class TokenInvalid(DomainError):
    code, status, title = "token_invalid", 422, "Attempt token invalid"


class TokenExpired(DomainError):
    code, status, title = "token_expired", 422, "Attempt token expired"


class TokenCapExceeded(DomainError):
    code, status, title = "token_cap_exceeded", 422, "Attempt token's cap exceeded"


class CaseNotFound(DomainError):
    code, status, title = "not_found", 404, "Case not found"


class RulingNotFound(DomainError):
    code, status, title = "not_found", 404, "Ruling not found"


class KeyNotFound(DomainError):
    code, status, title = "not_found", 404, "Key not found"


class RulingRefused(DomainError):
    code, status, title = "ruling_refused", 409, "Ruling refused"


class ModelNotTrained(DomainError):
    code, status, title = "unavailable", 503, "Model not trained"
