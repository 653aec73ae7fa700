"""Error pages of our own for people, and the icon; API calls get problem+json instead (config/middleware.py)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static

from config.errors import DomainError
from config.request_context import current


def _page(request: HttpRequest, status: int, heading: str, sentence: str) -> HttpResponse:
    context = {"status": status, "heading": heading, "sentence": sentence, "request_id": current().request_id}
    return render(request, "house/error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 400, "That request made no sense", "Something in the address or the form is malformed.")


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 403, "Not for you", "You are signed in without the permission this page asks for.")


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF_FAILURE_VIEW; its own page has styles inline, which our policy refuses."""
    return _page(request, 403, "This form is too old", "It was opened before you signed in or out. Open it once more.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 404, "Nothing on this rung", "There is no page at this address.")


def server_error(request: HttpRequest) -> HttpResponse:
    return _page(request, 500, "We slipped", "This is our fault. The request id below helps us find what happened.")


def told(request: HttpRequest, error: DomainError) -> HttpResponse:
    return _page(request, error.status, error.title, error.detail)


def icon(request: HttpRequest) -> HttpResponse:
    """Where browsers look for one when what they show names none, such as JSON."""
    return redirect(static("rung.svg"))
