"""What every request passes before its view: probes answered, routes named, errors told as problems."""

from collections.abc import Callable

from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.utils import translation
from django.utils.cache import patch_vary_headers

from config import errors, health, pages, problem
from config.request_context import current

Handler = Callable[[HttpRequest], HttpResponseBase]

_PROBES = {"/readyz": health.readyz, "/metrics": health.metrics_page}
_BY_STATUS: dict[int, type[errors.DomainError]] = {
    error.status: error
    for error in (
        errors.InvalidRequest,
        errors.Forbidden,
        errors.NotFound,
        errors.MethodNotAllowed,
        errors.PayloadTooLarge,
        errors.InternalError,
        errors.Unavailable,
    )
}
_MALFORMED = "The request is malformed, or its Host is not one that Rung serves (ALLOWED_HOSTS)."


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
    known = _BY_STATUS.get(status, errors.InvalidRequest)
    told = problem.response_to(known(_MALFORMED if known is errors.InvalidRequest else ""))
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
        if not request.META.get("rung.path_is_text", True):
            raise Http404  # Django makes text of it all the same: two addresses, or two players, would be one

    def process_exception(self, request: HttpRequest, raised: Exception) -> HttpResponse | None:
        """What DRF's handler does for API views, for all others."""
        error = problem.domain_error(raised)
        if error is None or isinstance(raised, Http404 | PermissionDenied | SuspiciousOperation):
            return None  # a defect, or what Django's own error pages are for
        return problem.response_to(error) if problem.wants_problem(request) else pages.told(request, error)


class LanguageMiddleware:
    """Pages for people speak theirs, by cookie or `Accept-Language`. The API and the admin speak English to everybody:
    programs compare what they read, and the admin's own words are not translated.
    """

    def __init__(self, get_response: Handler) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if problem.wants_problem(request) or request.path.startswith(("/admin/", "/static/")):
            return self.get_response(request)
        with translation.override(translation.get_language_from_request(request)):
            request.LANGUAGE_CODE = translation.get_language()
            response = self.get_response(request)
            response.headers.setdefault("Content-Language", request.LANGUAGE_CODE)
            patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response
