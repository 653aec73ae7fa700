"""Every error as application/problem+json, whoever raises it: a view, DRF, Django, the ASGI door."""

import structlog
from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework import exceptions as drf

from config import errors, wire
from config.metrics import STORE_FAILURES
from config.request_context import current

log = structlog.get_logger(__name__)
CONTENT_TYPE = "application/problem+json"


def body_of(error: errors.DomainError, *, request_id: str | None = None) -> bytes:
    return wire.encode(
        wire.Problem(
            type=f"urn:rung:problem:{error.code}",
            title=error.title,
            status=error.status,
            detail=error.detail,
            code=error.code,
            request_id=request_id or current().request_id,
            errors=error.errors,
            retry_after=error.retry_after,
        )
    )


def headers_of(error: errors.DomainError) -> dict[str, str]:
    headers = {"Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == errors.Unauthenticated.status:
        headers["WWW-Authenticate"] = 'Bearer realm="rung"'
    return headers


def response_to(error: errors.DomainError) -> HttpResponse:
    return HttpResponse(body_of(error), status=error.status, content_type=CONTENT_TYPE, headers=headers_of(error))


def domain_error(raised: Exception) -> errors.DomainError | None:  # noqa: PLR0911 - a table of nine lines
    """What a framework's exception means in our words; None for what is a defect of ours."""
    match raised:
        case errors.DomainError():
            return raised
        case Http404() | drf.NotFound():
            return errors.NotFound()
        case PermissionDenied() | drf.PermissionDenied():
            return errors.Forbidden(str(getattr(raised, "detail", "")))
        case drf.NotAuthenticated() | drf.AuthenticationFailed():
            return errors.Unauthenticated(str(raised.detail))
        case drf.MethodNotAllowed():
            return errors.MethodNotAllowed()
        case drf.UnsupportedMediaType():
            return errors.UnsupportedMediaType(str(raised.detail))
        case OperationalError() | InterfaceError():
            log.error("database_unavailable", error=str(raised))
            STORE_FAILURES.labels("database").inc()
            return errors.Unavailable("The database does not answer.", retry_after=1)
        case RequestDataTooBig():
            return errors.PayloadTooLarge()
        case drf.APIException() | SuspiciousOperation():
            return errors.InvalidRequest(str(getattr(raised, "detail", "")))
    return None


def drf_handler(raised: Exception, context: dict[str, object]) -> HttpResponse | None:
    """DRF's EXCEPTION_HANDLER; None lets a defect rise to `server_error`, logged with its traceback.

    Not a DRF Response: a view that renders templates would look for one of the error.
    """
    error = domain_error(raised)
    return None if error is None else response_to(error)


def wants_problem(request: HttpRequest) -> bool:
    """API calls get problem+json; people get a page."""
    return request.path.startswith(("/v1/", "/livez", "/readyz", "/metrics")) or request.path == "/v1"
