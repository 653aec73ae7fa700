"""Error pages of our own for people, and the icon; API calls get problem+json instead (config/middleware.py)."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.templatetags.static import static
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from config.errors import DomainError
from config.request_context import current

_MISSING = 404
_HEADINGS = {
    "invalid_request": gettext_lazy("That request made no sense"),
    "forbidden": gettext_lazy("Not for you"),
    "rate_limited": gettext_lazy("Too fast"),
    "unavailable": gettext_lazy("Out of reach just now"),
}
# what programs are told with names and numbers, people are told in their own language
_IN_WORDS = {
    "player_banned": gettext_lazy("You are banned: no scores are taken from you."),
    "not_found": gettext_lazy("There is no page at this address."),
    "game_not_found": gettext_lazy("There is no such game here, or it was renamed."),
    "mode_not_found": gettext_lazy("The game has no such mode."),
    "window_not_found": gettext_lazy("The mode has no such window, or it is too long ago."),
    "scope_not_found": gettext_lazy("The board knows no such group of players."),
    "player_not_found": gettext_lazy("There is no such player here."),
    "rate_limited": gettext_lazy("That was too many at once. Wait a little."),
    "unavailable": gettext_lazy("Something behind us does not answer. No score is lost; try again in a moment."),
}


def _page(request: HttpRequest, status: int, heading: str, sentence: str) -> HttpResponse:
    context = {"status": status, "heading": heading, "sentence": sentence, "request_id": current().request_id}
    return render(request, "house/error.html", context, status=status)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 400, _("That request made no sense"), _("Something in the address or the form is malformed."))


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 403, _("Not for you"), _("You are signed in without the permission this page asks for."))


def stale_form(request: HttpRequest, reason: str = "") -> HttpResponse:
    """Django's CSRF_FAILURE_VIEW; its own page has styles inline, which our policy refuses."""
    sentence = _("It was opened before you signed in or out. Open it once more.")
    return _page(request, 403, _("This form is too old"), sentence)


def changed_meanwhile(request: HttpRequest) -> HttpResponse:
    """Of the admin, which speaks English."""
    sentence = "Somebody else has changed what this form names. Nothing was saved; open it once more."
    return _page(request, 409, "Changed meanwhile", sentence)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return _page(request, 404, _("Nothing on this rung"), _("There is no page at this address."))


def server_error(request: HttpRequest) -> HttpResponse:
    sentence = _("This is our fault. The request id below helps us find what happened.")
    return _page(request, 500, _("We slipped"), sentence)


def told(request: HttpRequest, error: DomainError) -> HttpResponse:
    """In the page's language as far as it is known there; what is missing is missing in our own words."""
    heading = _("Nothing on this rung") if error.status == _MISSING else str(_HEADINGS.get(error.code, error.title))
    response = _page(request, error.status, heading, in_words(error))
    if error.retry_after is not None:
        response["Retry-After"] = str(error.retry_after)
    return response


def sign_in_refused(request: HttpRequest, error: DomainError) -> HttpResponse:
    """In the reader's language, which the admin does not speak otherwise: who is refused should know why."""
    with translation.override(translation.get_language_from_request(request)):
        if error.code == "rate_limited":
            heading = _("Too many tries")
            sentence = _(
                "Too many tries to sign in came from your address. Wait a quarter of an hour, or use a browser in which"
                " you have signed in before."
            )
        else:
            heading, sentence = _("One moment"), passwords_are_checked()
        response = _page(request, error.status, heading, sentence)
        response["Content-Language"] = translation.get_language() or "en"
    response["Retry-After"] = str(error.retry_after)
    return response


def passwords_are_checked() -> str:
    return _("Many passwords are being checked just now. Try again in a moment.")


def in_words(error: DomainError) -> str:
    return str(_IN_WORDS.get(error.code) or _(str(error.detail)))


def icon(request: HttpRequest) -> HttpResponse:
    """Where browsers look for one when what they show names none, such as JSON."""
    return redirect(static("rung.svg"))
