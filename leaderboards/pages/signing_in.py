"""Players come in by a link that their game hands out, and go by a button."""

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from config.errors import Unauthenticated
from players import lookups
from players.profiles import pks_of
from players.sessions import session_enter, session_leave


@require_GET
@never_cache
def enter(request: HttpRequest, game: str) -> HttpResponse:
    """To the clean address behind it: the token stays in no bookmark, and no page is told where one came from."""
    try:
        player_id = session_enter(request.session, request.GET.get("token", ""), game=game, now=timezone.now())
    except Unauthenticated:
        response: HttpResponse = render(request, "leaderboards/link_refused.html", status=403)
    else:
        response = HttpResponseRedirect(_local(request.GET.get("next", "")) or _home_of(game, player_id))
    response.headers["Referrer-Policy"] = "no-referrer"
    return response


@require_POST
@never_cache
def leave(request: HttpRequest, game: str) -> HttpResponse:
    session_leave(request.session, game=game)
    return HttpResponseRedirect(_local(request.POST.get("next", "")) or reverse("home"))


def _local(address: str) -> str:
    """A path of ours, or nothing."""
    ours = address.startswith("/") and url_has_allowed_host_and_scheme(address, allowed_hosts=None)
    return address if ours else ""


def _home_of(game: str, player_id: str) -> str:
    """Its profile; who has never played has none yet."""
    record = lookups.game(game)
    if record is not None and player_id in pks_of(record.pk, [player_id]):
        return reverse("profile-page", args=[game, player_id])
    return reverse("game-page", args=[game])
