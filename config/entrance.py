"""A one-time way into the admin, for the first look on one's own machine: `make up` prints it, one click uses it up."""

import secrets

from django.conf import settings
from django.contrib.auth import get_user_model, login
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from config import valkey

SECONDS = 3600
OPERATOR = "operator"
LOOPBACK = {"127.0.0.1", "localhost", "::1"}


def offered() -> bool:
    """In development, bound to loopback, and nowhere else."""
    return not settings.PRODUCTION and settings.BIND in LOOPBACK


def new_link(origin: str) -> str:
    code = secrets.token_urlsafe(24)
    valkey.cache_set(_key(code), "1", seconds=SECONDS)
    return f"{origin}{reverse('enter')}?code={code}"


@require_safe
@never_cache
def enter(request: HttpRequest) -> HttpResponse:
    if not offered():
        raise Http404
    code = request.GET.get("code", "")
    if not 0 < len(code) < 100 or valkey.cache_take(_key(code)) is None:  # noqa: PLR2004
        return render(request, "house/link_used.html", status=403)
    login(request, _operator(), backend="django.contrib.auth.backends.ModelBackend")
    return HttpResponseRedirect(reverse("admin:index"))


def _operator() -> User:
    """The superuser of a development install; without a password, so that only a link lets one in."""
    user, made = get_user_model().objects.get_or_create(
        username=OPERATOR, defaults={"is_staff": True, "is_superuser": True}
    )
    if made:
        user.set_unusable_password()
        user.save()
    return user


def _key(code: str) -> str:
    return f"rung:entrance:{code}"
