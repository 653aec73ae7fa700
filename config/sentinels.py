"""A client of whatever server the sentinels say is the primary, each time a connection is opened."""

from typing import Any

from redis.backoff import NoBackoff
from redis.retry import Retry
from redis.sentinel import Sentinel, SentinelManagedConnection, SentinelManagedSSLConnection

from config import env


class _Plain(SentinelManagedConnection):
    """The library would keep a connection on which an answer was not waited for, and give that answer to whoever asks
    next (redis-py#4292).
    """

    def read_response(self, *args: Any, **options: Any) -> Any:
        return super().read_response(*args, **{"disconnect_on_error": True, **options})


class _Tls(_Plain, SentinelManagedSSLConnection):
    pass


def primary(watched: env.Sentinels, *, retry: Retry, **patience: Any) -> Any:
    # a sentinel that is silent is passed over for the next one
    asked = patience | {"retry": Retry(NoBackoff(), 0), "ssl": watched.tls}
    return Sentinel(watched.hosts, sentinel_kwargs=asked).master_for(  # type: ignore[no-untyped-call]
        watched.service,
        connection_class=_Tls if watched.tls else _Plain,
        db=watched.database,
        username=watched.username or None,
        password=watched.password or None,
        retry=retry,
        health_check_interval=30,
        **patience,
    )
