"""What every request passes before its view: probes answered, routes named, errors told as problems."""

from collections.abc import Callable

import structlog
from django.http import HttpRequest, HttpResponse, HttpResponseBase

from config import errors, health, problem
from config.request_context import current

log = structlog.get_logger(__name__)
Handler = Callable[[HttpRequest], HttpResponseBase]

_PROBES = {"/livez": health.livez, "/readyz": health.readyz, "/metrics": health.metrics_page}
_BY_STATUS: dict[int, tuple[type[errors.DomainError], str]] = {
    400: (errors.InvalidRequest, "The request is malformed, or its Host is not one that Rung serves (ALLOWED_HOSTS)."),
    403: (errors.Forbidden, "You may not do this."),
    404: (errors.NotFound, "There is nothing at this address."),
    405: (errors.MethodNotAllowed, "This address does not take that method."),
    413: (errors.PayloadTooLarge, "The body is larger than this address takes."),
    500: (errors.InternalError, "This is our fault. The request id helps us find it."),
}


class HealthMiddleware:
    """Answers probes before host names, HTTPS or sessions are looked at."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        probe = _PROBES.get(request.path)
        if probe is None:
            return self.get_response(request)
        current().route = request.path
        if request.method not in {"GET", "HEAD"}:
            return _refused(405, allow="GET, HEAD")
        return probe(request)


def _refused(status: int, *, allow: str | None = None) -> HttpResponse:
    error, sentence = _BY_STATUS.get(status, (errors.InvalidRequest, ""))
    told = problem.response_to(error(sentence))
    told.status_code = status
    if allow is not None:
        told["Allow"] = allow
    return told


class ProblemMiddleware:
    """Whatever Django itself refuses (an unknown address, a bad host, a failure of ours) is a problem for API calls."""

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if response.status_code < 400 or not problem.wants_problem(request):  # noqa: PLR2004 - the first error status
            return response
        if response.get("Content-Type", "").startswith(problem.CONTENT_TYPE):
            return response
        return _refused(response.status_code, allow=response.get("Allow"))

    def process_view(self, request: HttpRequest, view: object, args: object, kwargs: object) -> None:
        if request.resolver_match is not None:
            current().route = "/" + request.resolver_match.route
