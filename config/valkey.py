"""The one module that imports the redis library. Its errors stop here: outside there is only `ValkeyUnavailable`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from threading import Event

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.errors import Unavailable
from config.metrics import STORE_FAILURES

TIMEOUT = 2.0  # seconds; a store that takes longer is down for this request


class ValkeyUnavailable(Unavailable):
    """A Valkey server does not answer."""


@contextmanager
def answering(store: str) -> Iterator[None]:
    """Whatever the library may throw inside becomes one error of ours."""
    try:
        yield
    except (redis.RedisError, OSError) as error:
        STORE_FAILURES.labels(store).inc()
        raise ValkeyUnavailable(f"The {store} does not answer.", retry_after=1) from error


@lru_cache(maxsize=16)
def client(url: str) -> redis.Redis:
    return redis.Redis.from_url(
        url,
        socket_timeout=TIMEOUT,
        socket_connect_timeout=TIMEOUT,
        health_check_interval=30,
        retry=Retry(NoBackoff(), 1),
    )


def ping(url: str) -> None:
    with answering("server"):
        client(url).ping()


def cache_set(key: str, value: str, *, seconds: int) -> None:
    with answering("cache"):
        client(settings.CACHE_URL).set(key, value, ex=seconds)


def cache_get(key: str) -> str | None:
    with answering("cache"):
        return _text(client(settings.CACHE_URL).get(key))


def cache_take(key: str) -> str | None:
    """Reads and removes in one step: what is stored there is had once, by one."""
    with answering("cache"):
        return _text(client(settings.CACHE_URL).getdel(key))


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


def publish(channel: str, message: str) -> None:
    with answering("cache"):
        client(settings.CACHE_URL).publish(channel, message)


def listen(
    channel: str,
    *,
    on_message: Callable[[], None],
    on_connected: Callable[[], None],
    on_lost: Callable[[], None],
    until: Event,
) -> None:
    """Hears `channel` for ever, in the calling thread, over lost connections and servers that come back."""
    while not until.is_set():
        try:
            # a connection of its own: it idles between messages, so its reads have no short timeout
            with redis.Redis.from_url(settings.CACHE_URL, socket_connect_timeout=TIMEOUT) as server:
                heard = server.pubsub(ignore_subscribe_messages=False)
                heard.subscribe(channel)
                _hear(heard, on_message=on_message, on_connected=on_connected, until=until)
        except (redis.RedisError, OSError):
            STORE_FAILURES.labels("cache").inc()
        finally:
            on_lost()
        until.wait(0.5)


def _hear(
    heard: "redis.client.PubSub", *, on_message: Callable[[], None], on_connected: Callable[[], None], until: Event
) -> None:
    while not until.is_set():
        message = heard.get_message(timeout=1.0)
        if message is None:
            continue
        if message["type"] == "subscribe":
            on_connected()
        elif message["type"] == "message":
            on_message()
