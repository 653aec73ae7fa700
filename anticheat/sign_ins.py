"""Who signed in to the admin, and who tried: in the audit too."""

from dataclasses import replace
from typing import Any

from django.contrib.auth import get_user_model
from django.contrib.auth.models import User
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.http import HttpRequest

from anticheat import audit, keys
from config import valkey
from config.audit import by_request
from config.counting import Step, count

_ONCE_IN = 60  # seconds: nothing in the audit is ever deleted, and who records waits for the one before
_MOST, _HOUR = 10, 3600  # of an account in an hour, from however many addresses


def connect() -> None:
    user_logged_in.connect(_signed_in, dispatch_uid="audit-signed-in")
    user_logged_out.connect(_signed_out, dispatch_uid="audit-signed-out")
    user_login_failed.connect(_failed, dispatch_uid="audit-sign-in-failed")


def _signed_in(*, request: HttpRequest, user: User, **_: object) -> None:
    who = replace(by_request(request), by="operator", user=user.pk)
    audit.record(verb="user.sign_in", who=who, about=user)


def _signed_out(*, request: HttpRequest, user: User | None, **_: object) -> None:
    if user is not None:
        audit.record(verb="user.sign_out", who=by_request(request), about=user)


def _failed(*, credentials: dict[str, Any], request: HttpRequest | None = None, **_: object) -> None:
    """Of users there are: what else is typed there may be a password. Strangers must not fill the audit, so beyond the
    first in an hour the metric `rung_sign_ins` alone tells of them.
    """
    if request is None:
        return
    model = get_user_model()
    name = str(credentials.get(model.USERNAME_FIELD, "")).replace("\0", "")
    user = model.objects.filter(**{model.USERNAME_FIELD: name}).first()
    who = by_request(request)
    if user is not None and _is_news(user.pk, who.address):
        audit.record(verb="user.sign_in_failed", who=who, about=user)


def _is_news(user: int, address: str) -> bool:
    try:
        is_first = valkey.cache_add(keys.sign_in_failed(user, address), seconds=_ONCE_IN)
    except valkey.ValkeyUnavailable:
        is_first = True
    return is_first and count(Step(keys.sign_ins_failed(user), _HOUR))[0].value <= _MOST
