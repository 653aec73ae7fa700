"""The one module that uses the redis library; its connections to what sentinels watch over are made in `sentinels`. Its
errors stop here: outside there is only `ValkeyUnavailable`.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from threading import Event
from typing import Any

import redis
from django.conf import settings
from redis.backoff import NoBackoff
from redis.cluster import ClusterNode, LoadBalancingStrategy, RedisCluster
from redis.exceptions import RedisClusterException
from redis.retry import Retry

from config import cluster, env, sentinels
from config.errors import Unavailable
from config.metrics import STORE_FAILURES

TIMEOUT = 2.0  # seconds; a store that takes longer is down for this request
_PATIENCE: dict[str, Any] = {"socket_timeout": TIMEOUT, "socket_connect_timeout": TIMEOUT}


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
    except (redis.RedisError, RedisClusterException, OSError) as error:
        STORE_FAILURES.labels(store).inc()
        if isinstance(error, RedisClusterException):
            client.cache_clear()  # what is known of the cluster does not fit: found anew where it was configured
        raise ValkeyUnavailable(f"The {store} does not answer.", retry_after=1) from error


@lru_cache(maxsize=16)
def client(url: str, *, replicas: bool = False) -> Any:
    """Of one server, or of a cluster, which has the same commands. `replicas`: not to be written through."""
    # a connection that broke is worth another try; a server that is silent would be silent again
    retry = Retry(NoBackoff(), 1, supported_errors=(redis.ConnectionError,))
    if watched := env.sentinels(url):
        return sentinels.primary(watched, retry=retry, **_PATIENCE)
    named = env.cluster(url)
    if named is None:
        return redis.Redis.from_url(url, retry=retry, health_check_interval=30, **_PATIENCE)
    return RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in named.hosts],  # type: ignore[no-untyped-call]
        username=named.username or None,
        password=named.password or None,
        ssl=named.tls,
        retry=retry,
        reinitialize_steps=1,  # every MOVED is a new picture of the whole: a failover moves many slots
        require_full_coverage=False,  # the slots that are there are served
        load_balancing_strategy=LoadBalancingStrategy.ROUND_ROBIN if replicas else None,
        health_check_interval=30,
        **_PATIENCE,
    )


def ping(url: str) -> str:
    """In words who answered."""
    with answering("server"):
        nodes = cluster.primaries(client(url))
        for node in nodes:
            client(url).execute_command("PING", **node)
        return f"{len(nodes)} primaries answer" if env.cluster(url) else "answers"


def times(url: str) -> list[float]:
    """What the clocks of its servers say, in seconds since 1970."""
    with answering("server"):
        said = [client(url).execute_command("TIME", **node) for node in cluster.primaries(client(url))]
    return [float(seconds) + float(micros) / 1e6 for seconds, micros in said]


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


def cache_add(key: str, *, seconds: float) -> bool:
    """Whether it was not there yet."""
    with answering("cache"):
        return bool(client(settings.CACHE_URL).set(key, "1", px=int(1000 * seconds), nx=True))


def cache_count(steps: Sequence[tuple[str, int, int]]) -> list[tuple[int, int]]:
    """Of (key, seconds, by) each: the count, and for how many seconds it goes on living. In one trip."""
    with answering("cache"):
        pipe = client(settings.CACHE_URL).pipeline()
        for key, seconds, by in steps:
            pipe.incrby(key, by)
            pipe.expire(key, seconds, nx=True)
            pipe.ttl(key)
        said = pipe.execute()
    return list(zip(said[0::3], said[2::3], strict=True))


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


def cache_push(key: str, items: Sequence[bytes], *, most: int, seconds: int, beside: tuple[str, bytes, int]) -> None:
    """To the front of a list that holds so many, the last first; and in the same trip a value beside it."""
    other, value, kept = beside
    with answering("cache"):
        pipe = client(settings.CACHE_URL).pipeline()
        if items:
            pipe.lpush(key, *items)
            pipe.ltrim(key, 0, most - 1)
            pipe.expire(key, seconds)
        pipe.set(other, value, ex=kept)
        pipe.execute()


def cache_pushed(key: str) -> list[bytes]:
    with answering("cache"):
        return list(client(settings.CACHE_URL).lrange(key, 0, -1))


def cache_copy(key: str, other: str, *, seconds: int) -> None:
    """A list as it is now, under another name."""
    with answering("cache"):
        pipe = client(settings.CACHE_URL).pipeline()
        pipe.copy(key, other)
        pipe.expire(other, seconds)
        pipe.execute()


def cache_call(library: str, function: str, names: Sequence[str], *args: Any) -> Any:
    """A function of a library of its own; a server that lost it is given it."""
    call = ("FCALL", function, len(names), *names, *args)
    with answering("cache"):
        server = client(settings.CACHE_URL)
        try:
            return server.execute_command(*call)
        except redis.ResponseError as error:
            if "not found" not in str(error).lower():
                raise
        server.execute_command("FUNCTION LOAD", "REPLACE", library)
        return server.execute_command(*call)


def _text(value: bytes | str | None) -> str | None:
    return value.decode() if isinstance(value, bytes) else value


_Call = tuple[str, list[str], tuple[Any, ...]]  # function, keys, arguments


def ask(
    library: str, calls: Sequence[_Call], *, read_only: bool = True, strict: bool = True, replicas: bool = False
) -> list[Any]:
    """Function calls to the boards, in one trip to each server. A server that lost the library is given it.

    Of one moment where `of_one_moment()`. Not strict: what fails is an error among the answers.
    """
    with answering("boards"):
        answers = _trip(calls, read_only=read_only, together=strict, replicas=replicas)
        if any(isinstance(answer, redis.ResponseError) and "not found" in str(answer).lower() for answer in answers):
            _load(library)
            answers = _trip(calls, read_only=read_only, together=strict)
        failed = [answer for answer in answers if isinstance(answer, Exception)]
        if strict and failed:
            raise failed[0]
        return answers


def of_one_moment() -> bool:
    """Whether what is asked in one trip is answered at once. The nodes of a cluster have no common moment."""
    return env.cluster(settings.VALKEY_URL) is None


def _trip(calls: Sequence[_Call], *, read_only: bool, together: bool, replicas: bool = False) -> list[Any]:
    replicas = replicas and settings.READ_REPLICAS and not of_one_moment()
    server = client(settings.VALKEY_URL, replicas=replicas)
    command = "FCALL_RO" if read_only else "FCALL"
    commands = [(command, function, len(keys), *keys, *args) for function, keys, args in calls]
    targets = [cluster.node_of(server, keys[0]) for _, keys, _ in calls]
    if together or of_one_moment():
        # a server takes a long request in pieces, and others' in between: several answers are of one moment only so
        return _piped(server, commands, targets, at_once=together and len(calls) > 1 and of_one_moment())
    return _by_node(server, commands, targets)


def _piped(server: Any, commands: Sequence[Any], targets: Sequence[cluster.Target], *, at_once: bool) -> list[Any]:
    pipe = server.pipeline(transaction=at_once)
    for command, target in zip(commands, targets, strict=True):
        pipe.execute_command(*command, **target)
    return list(pipe.execute(raise_on_error=False))


def _by_node(server: Any, commands: Sequence[Any], targets: Sequence[cluster.Target]) -> list[Any]:
    """One after the other: a node that is away is an error for what was asked of it, and for nothing else."""
    answers: list[Any] = [None] * len(commands)
    for node in {target["target_nodes"].name: target for target in targets}.values():
        own = [n for n, target in enumerate(targets) if target == node]
        try:
            found = _piped(server, [commands[n] for n in own], [targets[n] for n in own], at_once=False)
        except (redis.RedisError, RedisClusterException, OSError) as error:
            found = [error] * len(own)
        for n, answer in zip(own, found, strict=True):
            answers[n] = answer
    return answers


def _load(library: str) -> None:
    """Everywhere: a node that slots move to, or that takes over, does not get it by itself."""
    for node in cluster.primaries(client(settings.VALKEY_URL)):
        with suppress(redis.ConnectionError, redis.TimeoutError):  # one that is not asked need not answer
            client(settings.VALKEY_URL).execute_command("FUNCTION LOAD", "REPLACE", library, **node)


def hash_fields(keys: Sequence[str], name: str) -> list[Any]:
    """The field of each hash, from the primaries; what fails is an error among them."""
    with answering("boards"):
        server = client(settings.VALKEY_URL)
        targets = [cluster.node_of(server, key) for key in keys]
        return _piped(server, [("HGET", key, name) for key in keys], targets, at_once=False)


def keys_like(pattern: str, *, beside: str) -> Iterator[str]:
    """Names of keys in the same slot as `beside`, while they may change."""
    with answering("boards"):
        server = client(settings.VALKEY_URL)
        for found in server.scan_iter(match=pattern, count=1000, **cluster.node_of(server, beside)):
            yield found.decode()


def keys_everywhere(pattern: str) -> Iterator[bytes]:
    """Names of keys on every server that is written to, some at a time, while they may change."""
    with answering("boards"):
        server = client(settings.VALKEY_URL)
        for node in cluster.primaries(server):
            yield from server.scan_iter(match=pattern, count=1000, **node)


def keys_remove(names: Sequence[bytes]) -> int:
    """How many there were; a cluster's go slot by slot. What they held is freed beside whatever else is asked."""
    with answering("boards"):
        return int(client(settings.VALKEY_URL).unlink(*names)) if names else 0


def servers(url: str) -> dict[str, redis.Redis]:
    """Each that is written to, by name."""
    with answering("boards"):
        return cluster.servers(client(url))


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
            # a connection of its own, which is not mended in silence: whoever listens is to know that it was deaf
            with redis.Redis.from_url(settings.CACHE_URL, retry=Retry(NoBackoff(), 0), **_PATIENCE) as server:
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
    """A connection may be lost without a word, where a router forgets it. So a server that says nothing is asked to;
    the library's own checks would wait for the answer for ever.
    """
    asked = False
    while not until.is_set():
        message = heard.get_message(timeout=TIMEOUT)
        if message is None and asked:
            raise redis.TimeoutError("It was asked, and said nothing.")
        asked = message is None
        if message is None:
            heard.ping()
        elif message["type"] == "subscribe":
            on_connected()
        elif message["type"] == "message":
            on_message(message["data"].decode())
