"""Roles of operators, as groups: who may only look, who rules, who manages. Made, and made right, by every migrate."""

from typing import Any

from django.contrib.auth.models import Group, Permission
from django.db.models import Q

VIEWER, MODERATOR, MANAGER = "viewer", "moderator", "manager"
_OURS = Q(content_type__app_label__in=["players", "leaderboards", "anticheat", "social"])
_SEEN = Q(codename__startswith="view_") & _OURS  # not periodic tasks: who sees them may run and stop them
_RULE = Q(content_type__app_label="anticheat", codename="rule")
# who plays as whom is told by who manages users: nobody is to judge itself after all
_ALL = _OURS & ~Q(content_type__app_label="anticheat", content_type__model="ownplayer")
ROLES = {VIEWER: _SEEN, MODERATOR: _SEEN | _RULE, MANAGER: _SEEN | _ALL}


def roles_make(**_: Any) -> None:
    """Another mix is a group of one's own: these are set back to what they are."""
    for name, which in ROLES.items():
        group, _made = Group.objects.get_or_create(name=name)
        group.permissions.set(Permission.objects.filter(which))
