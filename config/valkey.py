"""The one module that imports the redis library. Its errors stop here: outside there is only `ValkeyUnavailable`."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache
from socket import socket
from threading import Event
from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.retry import Retry

from config.errors import Unavailable
from config.metrics import STORE_FAILURES

TIMEOUT = 2.0  # seconds; a store that takes longer is down for this request


class ValkeyUnavailable(Unavailable):
    """A Valkey server does not answer."""


class ValkeyRefused(ValkeyUnavailable):
    """It answers, with an error."""

    def __init__(self, said: str) -> None:
        super().__init__("The boards cannot be read.", retry_after=1)
        self.said = said  # for us, never for the caller


@contextmanager
def answering(store: str) -> Iterator[None]:
    """Whatever the library may throw inside becomes one error of ours."""
    try:
        yield
    except redis.ResponseError as error:
        STORE_FAILURES.labels(store).inc()
        raise ValkeyRefused(str(error)) from error
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
        # a connection that broke is worth another try; a server that is silent would be silent again
        retry=Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,)),
    )


def ping(url: str) -> None:
    with answering("server"):
        client(url).ping()


def cache_set(key: str, value: str | bytes, *, seconds: int) -> None:
    with answering("cache"):
        client(settings.CACHE_URL).set(key, value, ex=seconds)


def cache_get(key: str) -> str | None:
    with answering("cache"):
        return _text(client(settings.CACHE_URL).get(key))


def cache_take(key: str) -> str | None:
    """Reads and removes in one step: what is stored there is had once, by one."""
    with answering("cache"):
        return _text(client(settings.CACHE_URL).getdel(key))


def cache_add(key: str, *, seconds: int) -> bool:
    """Whether it was not there yet."""
    with answering("cache"):
        return bool(client(settings.CACHE_URL).set(key, "1", ex=seconds, nx=True))


def cache_bytes(key: str) -> bytes | None:
    with answering("cache"):
        found = client(settings.CACHE_URL).get(key)
        return found.encode() if isinstance(found, str) else found


def cache_keep(key: str, *, seconds: int) -> None:
    """What is there already stays so long from now on."""
    with answering("cache"):
        client(settings.CACHE_URL).expire(key, seconds)


def cache_note(key: str, what: str, *, at: float) -> None:
    """That something was last so at this time, in a list that `cache_noted` reads."""
    with answering("cache"):
        client(settings.CACHE_URL).zadd(key, {what: at})


def cache_noted(key: str, *, since: float) -> list[str]:
    """What was noted since then; what was not is forgotten."""
    with answering("cache"):
        pipe = client(settings.CACHE_URL).pipeline()
        pipe.zremrangebyscore(key, "-inf", f"({since}")
        pipe.zrange(key, 0, -1)
        return [one.decode() for one in pipe.execute()[1]]


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


_Call = tuple[str, list[str], tuple[Any, ...]]  # function, keys, arguments


def ask(library: str, calls: Sequence[_Call], *, read_only: bool = True, strict: bool = True) -> list[Any]:
    """Function calls to the boards' server, in one trip and of one moment. A server that lost the library is given it.

    Not strict: of moments that follow each other, and what fails is an error among the answers.
    """
    with answering("boards"):
        answers = _trip(calls, read_only=read_only, together=strict)
        if any(isinstance(answer, redis.ResponseError) and "not found" in str(answer).lower() for answer in answers):
            client(settings.VALKEY_URL).function_load(library, replace=True)
            answers = _trip(calls, read_only=read_only, together=strict)
        failed = [answer for answer in answers if isinstance(answer, Exception)]
        if strict and failed:
            raise failed[0]
        return answers


def _trip(calls: Sequence[_Call], *, read_only: bool, together: bool) -> list[Any]:
    # a server takes a long request in pieces, and others' in between: several answers are of one moment only so
    pipe = client(settings.VALKEY_URL).pipeline(transaction=together and len(calls) > 1)
    for function, keys, args in calls:
        (pipe.fcall_ro if read_only else pipe.fcall)(function, len(keys), *keys, *args)
    return list(pipe.execute(raise_on_error=False))


def key_event_classes(url: str) -> str:
    """Which the server tells of; "A" stands for all."""
    with answering("boards"):
        return str(client(url).config_get("notify-keyspace-events").get("notify-keyspace-events", "")).replace(
            "A", "ghz"
        )


def key_events(url: str, *, classes: str, patterns: Sequence[str]) -> socket:
    """A connection on which the server tells of every key like these that it changes, from now on."""
    told = key_event_classes(url)
    with answering("boards"):
        if not set(classes) <= set(told):
            client(url).config_set("notify-keyspace-events", "".join(sorted({*told, *classes})))
        connection: Any = redis.Redis.from_url(url, socket_connect_timeout=TIMEOUT).connection_pool.make_connection()
        connection.connect()
        names = [f"__keyspace@{connection.db}__:{pattern}" for pattern in patterns]
        connection.send_command("PSUBSCRIBE", *names)
        # taken from the library, which would hang up when it forgets the connection
        own: socket = connection._sock  # noqa: SLF001
        connection._sock = None  # noqa: SLF001
        return own


def publish(channel: str, message: str) -> None:
    with answering("cache"):
        client(settings.CACHE_URL).publish(channel, message)


def listen(
    channel: str,
    *,
    on_message: Callable[[str], None],
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
    heard: "redis.client.PubSub", *, on_message: Callable[[str], None], on_connected: Callable[[], None], until: Event
) -> None:
    while not until.is_set():
        message = heard.get_message(timeout=1.0)
        if message is None:
            continue
        if message["type"] == "subscribe":
            on_connected()
        elif message["type"] == "message":
            on_message(message["data"].decode())
