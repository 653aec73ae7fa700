"""/livez, /readyz and /metrics."""

import time
from collections.abc import Callable

from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

from config import heartbeat, logs, metrics, valkey, wire


class Check(wire.Outgoing):
    ok: bool
    detail: str
    ms: float


class Readiness(wire.Outgoing):
    """`ok`: everything answers. `degraded`: requests are served, something behind them is not. `down`: 503."""

    status: str
    checks: dict[str, Check]


def _database() -> str:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_version'), pg_is_in_recovery()")
        version, standby = cursor.fetchone()
    if standby:
        raise ConnectionError("The database is a read-only standby.")
    return f"PostgreSQL {version}"


def _valkey(url: str) -> Callable[[], str]:
    def check() -> str:
        return valkey.ping(url)

    return check


def _alive(who: str, what: str) -> Callable[[], str]:
    def check() -> str:
        age = heartbeat.age(who)
        if age is None:
            raise ConnectionError(f"{what} has not been seen yet. Is it running?")
        if age > heartbeat.STALE_AFTER:
            raise ConnectionError(f"{what} was last seen {age:.0f} s ago. It is down, stuck or cut off.")
        return f"seen {age:.0f} s ago"

    return check


def run(check: Callable[[], str]) -> Check:
    begun = time.perf_counter()
    try:
        ok, detail = True, check()
    except Exception as error:  # noqa: BLE001 - whatever is wrong with a dependency is the answer
        ok, detail = False, _what_is_wrong(error)
    return Check(ok=ok, detail=detail, ms=round((time.perf_counter() - begun) * 1000, 1))


def _what_is_wrong(error: Exception) -> str:
    """Our sentence, and the library's, which knows a refused connection from a wrong password."""
    said = [" ".join(str(reason).split()) for reason in (error, error.__cause__) if reason is not None]
    told = " ".join(sentence for sentence in dict.fromkeys(said) if sentence) or type(error).__name__
    return logs.without_secrets(told)[:300]


def readiness() -> Readiness:
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
    return Readiness(status=well if checks["database"].ok else "down", checks=checks)


@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    state = readiness()
    return HttpResponse(
        wire.encode(state),
        status=503 if state.status == "down" else 200,
        content_type="application/json",
        headers={"Cache-Control": "no-store", **({"Retry-After": "5"} if state.status == "down" else {})},
    )


@require_safe
def metrics_page(request: HttpRequest) -> HttpResponse:
    return HttpResponse(metrics.exposition(), content_type=metrics.CONTENT_TYPE)
