"""Typed readers of the environment. A value that cannot be used is one clear sentence, never a silent default; one
that is set to nothing (`RUNG_HTTPS=`, as compose files do) is as if it were not set.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit


class ConfigurationError(Exception):
    """What is configured cannot work; the message says which variable and what to do."""


_LABEL = "[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?"
NAME = rf"{_LABEL}(?:\.{_LABEL})*"  # of a host
BELOW = rf"{_LABEL}\.{NAME}"  # for names below it; one of one part is refused: anybody may have a name below .example
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_PORT, _SENTINEL_PORT = 6379, 26379
_LONGEST_NUMBER = 18  # digits; Python itself refuses to read some thousands
# redis-py and kombu refuse Valkey's own schemes, so they are rewritten once, here
_SCHEMES = {"valkey": "redis", "valkeys": "rediss", "redis": "redis", "rediss": "rediss"}
_CLUSTERS = {f"{scheme}+cluster": meant for scheme, meant in _SCHEMES.items()}
_SENTINELS = {f"{scheme}+sentinel": meant for scheme, meant in _SCHEMES.items()}


@dataclass(frozen=True, slots=True)
class Cluster:
    """Where some of its nodes are; they know the others."""

    hosts: tuple[tuple[str, int], ...]
    username: str
    password: str = field(repr=False)
    tls: bool


@dataclass(frozen=True, slots=True)
class Sentinels:
    """Where some of them are; they know which server is a service's primary. User and password are that one's."""

    hosts: tuple[tuple[str, int], ...]
    service: str
    database: int
    username: str
    password: str = field(repr=False)
    tls: bool


def text(name: str, default: str = "") -> str:
    return os.environ.get(name, "").strip() or default


def flag(name: str, *, default: bool) -> bool:
    raw = text(name, "1" if default else "0").lower()
    if raw in _TRUE:
        return True
    if raw in _FALSE:
        return False
    raise ConfigurationError(f"{name} must be 0 or 1, not {raw!r}.")


def number(name: str, default: int, *, least: int, most: int) -> int:
    raw = text(name, str(default))
    if not _is_number(raw) or not least <= int(raw) <= most:
        raise ConfigurationError(f"{name} must be a whole number from {least} to {most}, not {raw!r}.")
    return int(raw)


def web_processes() -> int:
    """One for each core, where nothing else is said; of many cores four, which hold some 600 MiB."""
    return number("RUNG_WEB_PROCESSES", min(os.cpu_count() or 1, 4), least=1, most=64)


def words(name: str, default: str = "") -> list[str]:
    return [word.strip() for word in text(name, default).split(",") if word.strip()]


def hosts(name: str) -> list[str]:
    """Names, or `.game.example` for all below one; none of them wider."""
    found = [host.lower() for host in words(name)]
    for host in found:
        if not re.fullmatch(rf"{NAME}|\.{BELOW}", host):
            raise ConfigurationError(
                f"{name} must name hosts, without scheme, port or *: cdn.example, or .game.example for all below it,"
                f" not {host!r}."
            )
    return found


def named(name: str, default: str = "") -> dict[str, str]:
    """From name=value,name=value."""
    found = {}
    for word in words(name, default):
        key, equals, value = (part.strip() for part in word.partition("="))
        if not (key and equals and value):
            raise ConfigurationError(f"{name} must be a list like name=value,name=value, not {word!r}.")
        found[key] = value
    return found


def sentences(name: str, default: str = "") -> list[str]:
    """With | between them, for they may have commas."""
    return [sentence.strip() for sentence in text(name, default).split("|") if sentence.strip()]


def one_of(name: str, default: str, allowed: tuple[str, ...]) -> str:
    raw = text(name, default)
    if raw not in allowed:
        raise ConfigurationError(f"{name} must be one of {', '.join(allowed)}, not {raw!r}.")
    return raw


def database(url: str, *, name: str = "DATABASE_URL") -> dict[str, object]:
    """A Django DATABASES entry from postgresql://user:password@host:port/name?sslmode=…"""
    if _scheme(url) not in {"postgresql", "postgres"}:
        raise ConfigurationError(f"{name} must begin with postgresql://, not {_scheme(url)}://.")
    parts = _split(url, name)
    return {
        "ENGINE": "django.db.backends.postgresql",
        "NAME": unquote(parts.path.lstrip("/")) or "rung",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": unquote(parts.hostname or ""),
        "PORT": str(parts.port or ""),
        "OPTIONS": dict(parse_qsl(parts.query)),
    }


def valkey(url: str, *, name: str) -> str:
    """A URL that redis-py understands, for a plain server."""
    if _scheme(url) not in _SCHEMES:
        raise ConfigurationError(
            f"{name} must begin with valkey://, valkeys://, redis:// or rediss:// and name one plain server, "
            f"not {_scheme(url)}://."
        )
    parts = _split(url, name)
    return urlunsplit(parts._replace(scheme=_SCHEMES[parts.scheme]))


def boards(url: str, *, name: str) -> str:
    """The same, or a cluster's hosts or sentinels in one form."""
    if cluster(url, name=name) is None and sentinels(url, name=name) is None:
        return valkey(url, name=name)
    scheme, _, kind = _scheme(url).partition("+")
    return f"{_SCHEMES[scheme]}+{kind}{url[len(_scheme(url)) :]}"


def cluster(url: str, *, name: str = "VALKEY_URL") -> Cluster | None:
    """Taken from scheme+cluster://user:password@host:port,host:port; None where it is none."""
    if _scheme(url) not in _CLUSTERS:
        return None
    credentials, _, listed = url.partition("://")[2].partition("?")[0].strip("/").rpartition("@")
    hosts = _hosts(listed, _PORT, name)
    if not hosts:
        raise ConfigurationError(f"{name} must name a cluster as valkey+cluster://user:password@host:port,host:port.")
    return Cluster(hosts, *_credentials(credentials), tls=_CLUSTERS[_scheme(url)] == "rediss")


def sentinels(url: str, *, name: str = "VALKEY_URL") -> Sentinels | None:
    """Taken from scheme+sentinel://user:password@host:port,host:port/service/database; None where it is none."""
    if _scheme(url) not in _SENTINELS:
        return None
    credentials, _, rest = url.partition("://")[2].partition("?")[0].strip("/").rpartition("@")
    listed, _, path = rest.partition("/")
    service, _, index = path.partition("/")
    hosts = _hosts(listed, _SENTINEL_PORT, name)
    if not hosts or not service or not _is_number(index or "0"):
        raise ConfigurationError(
            f"{name} must name sentinels as valkey+sentinel://:password@host:port,host:port/service."
        )
    own = _credentials(credentials)
    return Sentinels(hosts, unquote(service), int(index or 0), *own, tls=_SENTINELS[_scheme(url)] == "rediss")


def _hosts(listed: str, port: int, name: str) -> tuple[tuple[str, int], ...]:
    """None where any of them is no host."""
    parts = [_split(f"redis://{host}", name) for host in listed.split(",") if host]
    if not all(part.hostname and part.path in ("", "/") for part in parts):
        return ()
    return tuple((part.hostname or "", part.port or port) for part in parts)


def _credentials(given: str) -> tuple[str, str]:
    username, _, password = given.partition(":")
    return unquote(username), unquote(password)


def beside_boards(name: str, boards_url: str, offset: int) -> str:
    """What `name` says, else a database of its own on the boards' server, where that is one and stays where it is."""
    given = text(name)
    many = "a cluster" if cluster(boards_url) else "sentinels" if sentinels(boards_url) else ""
    if not given and many:
        raise ConfigurationError(f"VALKEY_URL names {many}, so {name} must be set, and name one plain server.")
    return valkey(given or valkey_database(boards_url, offset), name=name)


def valkey_database(url: str, offset: int) -> str:
    """The database `offset` places after the one that `url` names, on the same server."""
    parts = urlsplit(url)
    index = parts.path.strip("/") or "0"
    if not _is_number(index):
        raise ConfigurationError(f"VALKEY_URL must end in the number of a database, not {index!r}.")
    return urlunsplit(parts._replace(path=f"/{int(index) + offset}"))


def _is_number(raw: str) -> bool:
    return raw.isascii() and raw.isdigit() and len(raw) <= _LONGEST_NUMBER


def _scheme(url: str) -> str:
    """Before the rest is read: a cluster's list of hosts and ports is no URL at all, and would be refused as one."""
    return url.partition(":")[0].lower()


def _split(url: str, name: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reading it is what checks it
    except ValueError:  # its words would quote what stands where the port should, which may be half a password
        raise ConfigurationError(
            f"{name} is not a URL like scheme://user:password@host:port/name. In a password, write / as %2F, @ as %40."
        ) from None
    return parts


def missing_in_production(values: Mapping[str, str]) -> None:
    absent = [name for name, value in values.items() if not value]
    if absent:
        raise ConfigurationError(f"In production {' and '.join(absent)} must be set: there is no default for a secret.")
