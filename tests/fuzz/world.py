"""What the cases are about: games, modes, players, credentials, cases, rulings, operators; names of it as plain data.

It is made the same way each time, so a case that is sent again meets the same rows under the same numbers.
"""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from uuid import UUID

from django.apps import apps
from django.contrib import admin
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule

from anticheat.models import Case, OwnPlayer, Rollback, Ruling
from anticheat.replay_addresses import address
from anticheat.services.replays import Sent, attempt_find, replay_take
from anticheat.services.rulings import ruling_make
from config.audit import HOUSE
from config.sessions import SessionStore
from leaderboards import partitions
from leaderboards.models import Mode, SetAside
from leaderboards.services.attempt_tokens import attempt_token_make
from leaderboards.services.scores import Item, scores_submit
from leaderboards.wire import ValueBounds
from leaderboards.wire_scores import AttemptTokenRequest, Submission
from players.access import Caller, Kind
from players.models import ApiKey, Ban, Game, Player
from players.scopes import Scope
from players.sessions import session_enter
from tests.anticheat.operators import make_operator
from tests.anticheat.suspects import make_case, make_crowd
from tests.factories import make_game, make_key, make_mode, make_player, make_token, record_of
from tests.fuzz.target import CSRF, World
from tests.leaderboards.spine import drain

STAFF = ("superuser", "manager", "moderator", "viewer", "guest")
_ROWS = 4  # of each table that cases name
_ODD_NAMES = ("e\u0301", "x" * 64, "<b>&", "名前", "%s", "{{ 7 }}")


def make_world() -> World:
    partitions.make_ahead(partitions.today())
    mode = make_crowd("arena")
    arena, other = mode.game, make_game("other", public=False)
    _modes(arena, other)
    players = _players(arena, other)
    _schedules()
    callers = _credentials(arena, other, mode)
    _trust(mode, players)
    tokens = _attempts(arena)
    return World(
        names=_names(arena, tokens),
        credentials=callers,
        cookies=_sessions(arena),
        rows=_rows(),
    )


def _modes(arena: Game, other: Game) -> None:
    bounds = {"level:7": ValueBounds(max_score=Decimal("59.9"))}
    make_mode(
        arena, "lap", decimals=3, order="asc", min_score=0, max_score=60, dimensions=("country", "level"), bounds=bounds
    )
    make_mode(arena, "sum", aggregation="sum", min_score=0, max_score=1000, max_total=10**9, ranking="dense")
    make_mode(arena, "latest", aggregation="latest", ranking="competition", timezone="Europe/Berlin")
    make_mode(arena, "token", submit="token")
    make_mode(arena, "open", submit="open", checks={"replay": {"want": "optional"}})
    make_mode(other, "solo")


def _players(arena: Game, other: Game) -> dict[str, Player]:
    made = {f"p-{n}": make_player(arena, f"p-{n}", country="DE") for n in range(1, 30)}
    for n, name in enumerate(_ODD_NAMES):
        made[f"odd-{n}"] = make_player(arena, f"odd-{n}", display_name=name)
    made["other"] = make_player(other, "p-1")
    return made


def _schedules() -> None:
    every = IntervalSchedule.objects.create(every=7, period=IntervalSchedule.HOURS)
    PeriodicTask.objects.create(name="of fuzz", task="config.tasks.heartbeat", interval=every, enabled=False)
    crontab = CrontabSchedule.objects.create(minute="5", hour="3")
    PeriodicTask.objects.create(name="nightly", task="no.such.task", crontab=crontab, args="[1]", enabled=False)
    SolarSchedule.objects.create(event="sunset", latitude=52, longitude=13)
    ClockedSchedule.objects.create(clocked_time=datetime(2030, 1, 1, tzinfo=UTC))


def _credentials(arena: Game, other: Game, mode: Mode) -> dict[str, str]:
    keys = {"key": make_key(arena), "other key": make_key(other)}
    keys |= {f"{scope.value} key": make_key(arena, scope) for scope in Scope}
    keys |= {"revoked key": make_key(arena), "expired key": make_key(arena)}
    revoked, expired = ApiKey.objects.order_by("-pk")[:2][::-1]
    now = datetime.now(UTC)
    ApiKey.objects.filter(pk=revoked.pk).update(revoked_at=now)
    ApiKey.objects.filter(pk=expired.pk).update(expires_at=now - timedelta(days=1))
    good = make_token(arena, "p-1", ttl=24 * 3600)
    keys |= {"player": good, "another player": make_token(arena, "p-2", ttl=24 * 3600)}
    keys |= {"cheater": make_token(arena, "nova", ttl=24 * 3600), "newcomer": make_token(arena, "new", ttl=24 * 3600)}
    keys |= {"expired player": make_token(arena, "p-1", ttl=-60), "other player": make_token(other, "p-1")}
    keys |= {"forged player": good[:-4] + "AAAA", "attempt token as player": _attempt_token(mode)}
    return {who: f"Bearer {key}" for who, key in keys.items()}


def _attempt_token(mode: Mode, player_id: str = "p-1") -> str:
    game = replace(record_of(mode.game), signing_secret=mode.game.signing_secret)
    wanted = AttemptTokenRequest(player_id=player_id, cap=Decimal(500), ttl=3600)
    return attempt_token_make(game=game, mode=mode, wanted=wanted, now=datetime.now(UTC)).attempt_token


def _attempts(arena: Game) -> list[str]:
    """Scores in each mode, a replay of one; attempt tokens for more."""
    caller = Caller(Kind.KEY, game=arena.slug)
    for mode in arena.modes.exclude(slug="solo"):
        sent = [
            Submission(player_id=f"p-{n}", score=Decimal(n), attempt_id=UUID(int=1000 * mode.pk + n))
            for n in range(1, 25)
        ]
        scores_submit(game=record_of(arena), caller=caller, items=[Item(mode, one) for one in sent])
        drain(mode)
    mode, player = arena.modes.get(slug="open"), arena.players.get(player_id="p-1")
    attempt = attempt_find(player=player, attempt_id=str(UUID(int=1000 * mode.pk + 1)))
    replay_take(player=player, attempt=attempt, sent=Sent(b"{}", "application/json", None), now=datetime.now(UTC))
    return [_attempt_token(arena.modes.get(slug=slug)) for slug in ("token", "solo", "open")]


def _trust(mode: Mode, players: dict[str, Player]) -> None:
    case = make_case(mode)
    for player, number in (("p03", 3), ("p04", 4), ("p05", 5)):
        make_case(mode, player, attempts=(number,))
    now = datetime.now(UTC)
    about = {"game": mode.game, "reason": "Too fast.", "note": ""}
    nova = case.player
    day = now - timedelta(days=1)
    made = [
        Ruling(kind=Ruling.Kind.WATCH, case=case, mode=mode, player=nova, **about),
        Ruling(kind=Ruling.Kind.SHADOW, player=players["p-9"], **about),
        Ruling(kind=Ruling.Kind.HIDE, player=players["p-10"], **about),
        Ruling(
            kind=Ruling.Kind.ROLLBACK,
            player=players["p-11"],
            rollback=Rollback(game=mode.game, player=players["p-11"], since=day, until=now),
            **about,
        ),
    ]
    for ruling in made:
        ruling_make(ruling=ruling, by=HOUSE, now=now)
    Ban.objects.create(player=players["p-12"], reason="Rude.", ends_at=now + timedelta(days=3), kind="suspension")
    SetAside.objects.create(mode=mode, shard=0, kind=1, payload=b"garbage", error="odd", created_at=now)


def _sessions(arena: Game) -> dict[str, str]:
    """Signed in, with a good CSRF cookie."""
    cookies = {"nobody": f"csrftoken={CSRF}", "garbage": "sessionid=garbage; csrftoken=x; rung_language=%ff; a"}
    for role in STAFF:
        user = User.objects.create(username=role, is_staff=True) if role == "guest" else make_operator(role)
        user.set_unusable_password()
        user.save()
        cookies[role] = _cookie(sign_in(user))
    OwnPlayer.objects.create(user=User.objects.get(username="moderator"), player=arena.players.get(player_id="p05"))
    session = SessionStore()
    session.create()
    session_enter(session, make_token(arena, "p-3"), game="arena", now=datetime.now(UTC))
    session.save()
    return cookies | {"player in a browser": _cookie(str(session.session_key))}


def sign_in(user: User, key: str = "") -> str:
    """The key of a session of that user: a new one, or the one given, whatever has become of it."""
    session = SessionStore()
    if not key:
        session.create()
        key = str(session.session_key)
    session.delete(key)
    session._session_key = key  # noqa: SLF001 - Django takes no key that it did not make itself
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save(must_create=True)
    return key


def is_signed_in(user: User, key: str) -> bool:
    return SessionStore(key).get(HASH_SESSION_KEY) == user.get_session_auth_hash()


def _cookie(session: str) -> str:
    return f"sessionid={session}; csrftoken={CSRF}"


def _names(arena: Game, tokens: list[str]) -> dict[str, list[str]]:
    """By parameter or field; what is listed here is drawn more often than what is made up."""
    ids = [str(UUID(int=n)) for n in range(1, 15)]
    ids += [str(UUID(int=1000 * mode.pk + n)) for mode in arena.modes.all() for n in (1, 2, 3)]
    mode = arena.modes.get(slug="open")
    signed = address("arena", "p-1", str(UUID(int=1000 * mode.pk + 1))).rpartition("=")[2]
    players = list(arena.players.values_list("player_id", flat=True))
    windows = ["daily", "weekly", "monthly", "alltime", f"daily:{datetime.now(UTC):%Y-%m-%d}", "weekly:2026-W01"]
    return {
        "game": ["arena"] * 12 + ["other", "none"],
        "mode": [*arena.modes.values_list("slug", flat=True), "solo", "solo", "lap", "new-1", "new-2"],
        "player_id": [str(one) for one in players],
        "attempt_id": ids,
        "window": windows,
        "scope": ["global", "country:DE", "region:", "level:7", "country:", "friends", "level:1"],
        "case": [str(pk) for pk in Case.objects.values_list("pk", flat=True)],
        "ruling": [str(pk) for pk in Ruling.objects.values_list("pk", flat=True)],
        "signature": [signed],
        "token": tokens,
        "attempt_token": tokens,
        "country": ["DE", "FR", ""],
        "timezone": ["UTC", "Europe/Berlin"],
        "app_label": ["auth", "players", "anticheat"],
        "url": ["nothing/here"],
    }


def _rows() -> dict[str, list[str]]:
    rows = {}
    for model in admin.site._registry:  # noqa: SLF001 - the only list of all there is
        label = f"{model._meta.app_label}.{model._meta.model_name}"  # noqa: SLF001
        rows[label] = [str(pk) for pk in model._default_manager.order_by("pk").values_list("pk", flat=True)[:_ROWS]]  # noqa: SLF001
    rows["contenttypes.contenttype"] = [
        str(pk) for pk in apps.get_model("contenttypes.ContentType").objects.values_list("pk", flat=True)
    ]
    return rows
