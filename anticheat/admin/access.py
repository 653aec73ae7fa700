"""Who may do what in the admin of trust; asked on the server by every page and every form."""

from typing import cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from anticheat.models import Ruling
from anticheat.queue import is_own

RULE, ROLL_BACK = "anticheat.rule", "anticheat.roll_back"


def user_of(request: HttpRequest) -> User:
    """Whom the admin has let in."""
    return cast("User", request.user)


def need(request: HttpRequest, *permissions: str) -> User:
    user = user_of(request)
    if not user.has_perms(permissions):
        raise PermissionDenied
    return user


def may_rule(user: User, kind: str) -> bool:
    return user.has_perm(RULE) and (kind != Ruling.Kind.ROLLBACK or user.has_perm(ROLL_BACK))


def need_to_rule(request: HttpRequest, kind: str, player: int | None) -> User:
    """Nobody judges itself, and who may not take back in bulk does not."""
    user = need(request, RULE)
    if not may_rule(user, kind) or is_own(user, player):
        raise PermissionDenied
    return user
