"""Who may do what in which game, decided in one place: the table of all callers and all acts."""

import pytest
from django.contrib.auth.models import AnonymousUser, Permission, User
from django.test import TestCase

from config.errors import DomainError
from players import access
from players.access import NOBODY, Caller, Kind
from players.authentication import caller_from_user
from players.scopes import Scope
from tests.factories import make_game

pytestmark = pytest.mark.django_db

EVERY = frozenset(Scope)
KEY = Caller(Kind.KEY, game="mine", scopes=EVERY)
SUBMITTER = Caller(Kind.KEY, game="mine", scopes=frozenset({Scope.SUBMIT}))
STRANGER = Caller(Kind.KEY, game="other", scopes=EVERY)
PLAYER = Caller(Kind.PLAYER, game="mine", player_id="p-1")
FOREIGN_PLAYER = Caller(Kind.PLAYER, game="other", player_id="p-1")
OPERATOR = Caller(Kind.OPERATOR, scopes=frozenset({Scope.READ, Scope.MANAGE}))
ONLOOKER = Caller(Kind.OPERATOR)


def _outcome(act: str, caller: Caller) -> str:
    acts = {
        "read": lambda: access.may_read(caller, "mine"),
        "manage": lambda: access.may(caller, Scope.MANAGE, "mine"),
        "act for p-1": lambda: access.may_act_for(caller, "p-1", "mine"),
        "act for p-2": lambda: access.may_act_for(caller, "p-2", "mine"),
    }
    try:
        return acts[act]().slug
    except DomainError as error:
        return error.code


@pytest.mark.parametrize(
    ("caller", "public", "otherwise"),
    [  # reading a public game, then: a private one, managing, acting for p-1, acting for p-2
        (NOBODY, "mine", ["unauthenticated"] * 4),
        (KEY, "mine", ["mine"] * 4),
        (SUBMITTER, "mine", ["forbidden"] * 4),
        (STRANGER, "game_not_found", ["game_not_found"] * 4),
        (PLAYER, "mine", ["mine", "forbidden", "mine", "forbidden"]),
        (FOREIGN_PLAYER, "game_not_found", ["game_not_found"] * 4),
        (OPERATOR, "mine", ["mine"] * 4),
        (ONLOOKER, "mine", ["forbidden"] * 4),
    ],
    ids=[
        "nobody",
        "key",
        "key to submit",
        "another game's key",
        "player",
        "another game's player",
        "operator",
        "staff",
    ],
)
def test_every_caller_may_exactly_what_it_should(caller: Caller, public: str, otherwise: list[str]) -> None:
    game = make_game("mine")
    make_game("other")
    assert _outcome("read", caller) == public
    with TestCase.captureOnCommitCallbacks(execute=True):
        game.public = False
        game.save()
    acts = ("read", "manage", "act for p-1", "act for p-2")
    assert [_outcome(act, caller) for act in acts] == otherwise


@pytest.mark.parametrize("slug", ["nowhere", "", "UPPER", "a/b", "x" * 51, "\0"])
def test_a_game_that_is_not_there_is_the_same_to_everyone(slug: str) -> None:
    for caller in (NOBODY, OPERATOR):
        with pytest.raises(DomainError) as refused:
            access.may_read(caller, slug)
        assert refused.value.code == "game_not_found"


def test_staff_may_what_their_permissions_allow_and_never_submit_or_moderate() -> None:
    staff = User.objects.create(username="s", is_staff=True)
    assert caller_from_user(staff).scopes == frozenset()
    staff.user_permissions.add(Permission.objects.get(codename="view_game"))
    assert caller_from_user(User.objects.get(pk=staff.pk)).scopes == {Scope.READ}
    chief = User.objects.create(username="c", is_staff=True, is_superuser=True)
    assert caller_from_user(chief).scopes == {Scope.READ, Scope.MANAGE}
    for nobody in (None, AnonymousUser(), User(username="u"), User(username="x", is_staff=True, is_active=False)):
        assert caller_from_user(nobody) is NOBODY
