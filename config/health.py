"""/readyz and /metrics: what anybody may know of our servers, and what `doctor` says to whoever has a shell here."""

import hmac
import time
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from config import errors, heartbeat, logs, metrics, problem, valkey, wire
from config.address import is_loopback

# what libraries say, with the addresses, users and databases of our servers in it, and what anybody is told instead
_KINDS = (
    (("password", "authentication", "noauth", "wrongpass"), "the user or the password is refused"),
    (("timeout", "timed out"), "no answer in time"),
    (("refused",), "the connection is refused"),
    (("resolve", "name or service", "name resolution", "nodename"), "the name is not known"),
    (("unreachable", "no route"), "there is no way to it"),
    (("too many", "max number of clients"), "no more connections are taken"),
    (("starting up", "shutting down", "loading"), "it starts or stops just now"),
)


class Check(wire.Outgoing):
    ok: bool
    detail: str
    ms: float


class Readiness(wire.Outgoing):
    """What anybody is told."""

    status: str
    checks: dict[str, Check]


@dataclass(frozen=True, slots=True)
class Seen:
    """`detail` is for whoever has a shell here: it may name addresses. `public` is for anybody."""

    ok: bool
    detail: str
    public: str
    ms: float


@dataclass(frozen=True, slots=True)
class State:
    """`ok`: everything answers. `degraded`: requests are served, something behind them is not. `down`: 503."""

    status: str
    checks: dict[str, Seen]


class NotWell(Exception):
    """What a check of ours found, in a sentence for anybody."""


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), pg_is_in_recovery()")
        version, standby = cursor.fetchone()
    if standby:
        raise NotWell("The database is a read-only standby.")
    return f"PostgreSQL {version}"


def _valkey(url: str) -> Callable[[], str]:
    def check() -> str:
        return valkey.ping(url)

    return check


def _alive(who: str, what: str) -> Callable[[], str]:
    def check() -> str:
        age = heartbeat.age(who)
        if age is None:
            raise NotWell(f"{what} has not been seen yet. Is it running?")
        if age > heartbeat.STALE_AFTER:
            raise NotWell(f"{what} was last seen {age:.0f} s ago. It is down, stuck or cut off.")
        return f"seen {age:.0f} s ago"

    return check


def run(check: Callable[[], str]) -> Seen:
    begun = time.perf_counter()
    try:
        ok, detail = True, check()
        public = detail
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a dependency is the answer
        ok, detail = False, _what_is_wrong(error)
        public = str(error) if isinstance(error, NotWell) else _kind_of(detail)
    return Seen(ok, detail, public, round((time.perf_counter() - begun) * 1000, 1))


def _what_is_wrong(error: Exception) -> str:
    """Our sentence, and the library's, which knows a refused connection from a wrong password."""
    said = [" ".join(str(reason).split()) for reason in (error, error.__cause__) if reason is not None]
    told = " ".join(sentence for sentence in dict.fromkeys(said) if sentence) or type(error).__name__
    return logs.without_secrets(told)[:300]


def _kind_of(detail: str) -> str:
    said = detail.lower()
    kind = next((kind for words, kind in _KINDS if any(word in said for word in words)), "")
    return f"It does not answer: {kind}." if kind else "It does not answer."


def readiness() -> State:
    """Only the database takes a process out of service: with Valkey or the workers gone, scores are still taken."""
    checks = {
        name: run(check)
        for name, check in {
            "database": _database,
            "boards": _valkey(settings.VALKEY_URL),
            "broker": _valkey(settings.BROKER_URL),
            "channels": _valkey(settings.CHANNELS_URL),
            "cache": _valkey(settings.CACHE_URL),
            "workers": _alive("worker", "A worker"),
            "beat": _alive("beat", "Beat"),
        }.items()
    }
    well = "ok" if all(check.ok for check in checks.values()) else "degraded"
    return State(status=well if checks["database"].ok else "down", checks=checks)


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    state = readiness()
    checks = {name: Check(ok=seen.ok, detail=seen.public, ms=seen.ms) for name, seen in state.checks.items()}
    return HttpResponse(
        wire.encode(Readiness(status=state.status, checks=checks)),
        status=503 if state.status == "down" else 200,
        content_type="application/json",
        headers={"Cache-Control": "no-store", **({"Retry-After": "5"} if state.status == "down" else {})},
    )


@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    if not _may_measure(request):
        return problem.response_to(
            errors.Unauthenticated(
                "This is for this machine itself, or for `Authorization: Bearer RUNG_METRICS_TOKEN`."
            )
        )
    return HttpResponse(metrics.exposition(), content_type=metrics.CONTENT_TYPE)


def _may_measure(request: HttpRequest) -> bool:
    """In production not everybody: it says how much is played, and where. Refused in the open, with 401: that the
    address is there is no secret, and an operator who forgot the token is to see what is missing.
    """
    if not settings.PRODUCTION:
        return True
    scheme, _, token = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    known = settings.METRICS_TOKEN.encode()
    if known and scheme.lower() == "bearer" and hmac.compare_digest(token.strip().encode(), known):
        return True
    return is_loopback(request.META)
