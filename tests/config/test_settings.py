"""Production starts safe or not at all; development starts with nothing set but its servers."""

import json
import os
import re
import runpy
import secrets
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.contrib.staticfiles.finders import get_finders
from django.core.management import call_command

from config import production
from tests import live
from tests.live import ROOT

PRODUCTION = {"RUNG_ENV": "production", "SECRET_KEY": secrets.token_urlsafe(48), "ALLOWED_HOSTS": "rung.example"}
SERVERS = {"DATABASE_URL": "postgresql://u:p@127.0.0.1:9/x", "VALKEY_URL": "valkey://:secret@127.0.0.1:9/4"}


def _run(*command: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    bare = {name: value for name, value in os.environ.items() if name in {"PATH", "HOME", "LANG", "TMPDIR"}}
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=bare | {"RUNG_HOME": str(home)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


@pytest.fixture
def settings_with(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., dict[str, Any]]:
    """config/settings.py as another process would read it, with this environment and nothing else."""

    def read(**environment: str) -> dict[str, Any]:
        for name in ("RUNG_ENV", "SECRET_KEY", "DATABASE_URL", "VALKEY_URL", *environment):
            monkeypatch.delenv(name, raising=False)
        for name, value in {"RUNG_HOME": str(tmp_path), **environment}.items():
            monkeypatch.setenv(name, value)
        return runpy.run_path(str(ROOT / "config/settings.py"))

    return read


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        ({"SECRET_KEY": ""}, "rung: In production SECRET_KEY must be set: there is no default for a secret."),
        ({"ALLOWED_HOSTS": " "}, "rung: In production ALLOWED_HOSTS must be set"),
        ({"DEBUG": "1"}, "rung: DEBUG must be off in production"),
        ({"SECRET_KEY": "x"}, "rung: In production SECRET_KEY must be hard to guess: it has 1 characters"),
        ({"ALLOWED_HOSTS": "*"}, "rung: In production ALLOWED_HOSTS must name hosts"),
    ],
)
def test_production_refuses_to_start_in_one_sentence(
    tmp_path: Path, environment: dict[str, str], sentence: str
) -> None:
    done = _run("manage.py", "check", home=tmp_path, **(SERVERS | PRODUCTION | environment))
    assert done.returncode == 1
    assert done.stderr.startswith(sentence), done.stderr
    assert len(done.stderr.splitlines()) == 1, "a traceback instead of a sentence"


@pytest.mark.parametrize(
    ("environment", "sentence"),
    [
        (
            PRODUCTION | {"SECRET_KEY": "", "ALLOWED_HOSTS": ""},
            "In production SECRET_KEY and ALLOWED_HOSTS must be set",
        ),
        (PRODUCTION | {"RUNG_ENV": "prod"}, "RUNG_ENV must be one of development, production, not 'prod'."),
        (PRODUCTION | {"BROKER_URL": "valkey+cluster://a:1,b:2"}, "BROKER_URL must begin with valkey://"),
        (PRODUCTION | {"CHANNELS_URL": "valkey+cluster://a:1,b:2"}, "CHANNELS_URL must begin with valkey://"),
        (PRODUCTION | {"CACHE_URL": "valkey+cluster://a:1,b:2"}, "CACHE_URL must begin with valkey://"),
        (
            PRODUCTION | {"VALKEY_URL": "valkey+cluster://a:1,b:2", "BROKER_URL": "valkey://a:1"},
            "VALKEY_URL names a cluster, so CHANNELS_URL must be set, and name one plain server.",
        ),
        (
            PRODUCTION | {"VALKEY_URL": "valkey+sentinel://a:1,b:2/boards", "BROKER_URL": "valkey://a:1"},
            "VALKEY_URL names sentinels, so CHANNELS_URL must be set, and name one plain server.",
        ),
        (PRODUCTION | {"VALKEY_URL": "valkey+sentinel://a:1,b:2"}, "VALKEY_URL must name sentinels as "),
        (PRODUCTION | {"DATABASE_REPLICA_URL": "mysql://a"}, "DATABASE_REPLICA_URL must begin with postgresql://"),
        (PRODUCTION | {"DATABASE_URL": ""}, "There is no database: start `make up`, or set DATABASE_URL."),
        (PRODUCTION | {"VALKEY_URL": ""}, "There is no Valkey: start `make up`, or set VALKEY_URL."),
        ({"RUNG_ENV": "development"}, "There is no SECRET_KEY yet: run `make up` once, or set SECRET_KEY."),
    ],
)
def test_what_cannot_work_is_refused_at_start(
    settings_with: Callable[..., dict[str, Any]], environment: dict[str, str], sentence: str
) -> None:
    with pytest.raises(Exception, match=re.escape(sentence)) as refused:
        settings_with(**(SERVERS | environment))
    assert type(refused.value).__name__ == "ConfigurationError"


WEAK = {
    "x": "it has 1 characters, and needs 32 at least",
    secrets.token_urlsafe(48)[:31]: "it has 31 characters, and needs 32 at least",
    "x" * 64: "it repeats itself",
    "abcabcabc" * 8: "it repeats itself",
    "AbCdEfGh9871" * 4: "it repeats itself",
    "not a secret, for tests only, but long enough to sign with": "it looks like a sample",
    "not-a-secret-" + secrets.token_hex(32): "it looks like a sample",
    "django-insecure-" + secrets.token_urlsafe(48): "it looks like a sample",
    "please CHANGE-ME before the first start of all": "it looks like a sample",
    "0123456789abcdefghijklmnopqrstuvwxyz": "it looks like a sample",
}


@pytest.mark.parametrize("name", ["SECRET_KEY", "RUNG_METRICS_TOKEN"])
@pytest.mark.parametrize(("weak", "fault"), WEAK.items(), ids=range(len(WEAK)))
def test_a_secret_that_can_be_guessed_is_refused_with_a_way_to_make_one_and_is_not_quoted(
    settings_with: Callable[..., dict[str, Any]], name: str, weak: str, fault: str
) -> None:
    sentence = f"In production {name} must be hard to guess: {fault}. Make one with: python3 -c"
    with pytest.raises(Exception, match=re.escape(sentence)) as refused:
        settings_with(**(SERVERS | PRODUCTION | {name: weak}))
    assert type(refused.value).__name__ == "ConfigurationError"
    assert len(weak) == 1 or weak not in str(refused.value)


@pytest.mark.parametrize("good", ["5d0a2a0a1b0d9bb2c7e3a4f6190c8e7b", "4mYk1Qz0-uVgXw8sTn_3RbPc7LhJ2dFe"])
def test_a_random_secret_is_taken(settings_with: Callable[..., dict[str, Any]], good: str) -> None:
    assert settings_with(**(SERVERS | PRODUCTION | {"SECRET_KEY": good}))["SECRET_KEY"] == good


def test_the_secret_that_the_sentence_has_one_make_is_taken() -> None:
    command = production.MAKE_ONE.partition('"')[2].removesuffix('"')
    made = subprocess.run([sys.executable, "-c", command], capture_output=True, text=True, timeout=60, check=True)
    production.check_secret("SECRET_KEY", made.stdout.strip())


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        *(
            (
                "ALLOWED_HOSTS",
                f"rung.example,{host}",
                "ALLOWED_HOSTS must name hosts, ",
            )
            for host in (
                "*",
                ".",
                "..",
                ".example",
                "*.rung.example",
                "https://rung.example",
                "rung.example:8000",
                "rung.example/",
                "a b",
                "ru\nng.example",
                "-",
                "[::1]:8000",
                "<x>",
            )
        ),
        *(
            (name, f"https://desk.example,{site}", f"{name} must name sites: ")
            for name in ("CSRF_TRUSTED_ORIGINS", "RUNG_ORIGINS")
            for site in (
                "*",
                "https://*",
                "https://*.",
                "https://*.example",
                "desk.example",
                "ftp://desk.example",
                "https://desk.example/",
                "https://u@desk.example",
                "https://desk.example:x",
                "https://",
                "null",
            )
        ),
        ("CSRF_TRUSTED_ORIGINS", "http://desk.example", "CSRF_TRUSTED_ORIGINS must name sites: "),
        ("RUNG_PROXIES", "11", "RUNG_PROXIES must be a whole number from 0 to 10"),
        ("RUNG_PROXIES", "-1", "RUNG_PROXIES must be a whole number from 0 to 10"),
        ("RUNG_PROXIES", "yes", "RUNG_PROXIES must be a whole number from 0 to 10"),
    ],
)
def test_what_would_let_anybody_in_is_refused(
    settings_with: Callable[..., dict[str, Any]], name: str, value: str, sentence: str
) -> None:
    with pytest.raises(Exception, match=re.escape(sentence)) as refused:
        settings_with(**(SERVERS | PRODUCTION | {name: value}))
    assert type(refused.value).__name__ == "ConfigurationError"


def test_hosts_and_sites_that_are_named_are_taken(settings_with: Callable[..., dict[str, Any]]) -> None:
    named = {
        "ALLOWED_HOSTS": "rung.example,.rung.example,10.0.0.7,[::1],localhost,RUNG_1.internal",
        "CSRF_TRUSTED_ORIGINS": "https://desk.example,https://*.desk.example:8443",
        "RUNG_ORIGINS": "https://game.example,http://localhost:3000,https://[::1]:8000",
    }
    shown = settings_with(**(SERVERS | PRODUCTION | named))
    assert shown["ALLOWED_HOSTS"] == named["ALLOWED_HOSTS"].split(",")
    assert shown["ORIGINS"] == named["RUNG_ORIGINS"].split(",")
    assert settings_with(**SERVERS, SECRET_KEY="k", ALLOWED_HOSTS="*")["ALLOWED_HOSTS"] == ["*"], "in development"
    plain = PRODUCTION | {"RUNG_HTTPS": "0", "CSRF_TRUSTED_ORIGINS": "http://desk.example"}
    assert settings_with(**(SERVERS | plain))["CSRF_TRUSTED_ORIGINS"] == ["http://desk.example"]


def test_pictures_come_from_our_own_site_and_from_hosts_that_are_named(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    def sources(**environment: str) -> list[str]:
        shown = settings_with(**SERVERS, SECRET_KEY="k", **environment)
        return list(shown["CONTENT_SECURITY_POLICY"]["DIRECTIVES"]["img-src"])

    assert sources() == ["'self'", "data:"]
    named = "cdn.example, .Game.example"
    added = ["https://cdn.example", "https://*.game.example", "https://game.example"]
    assert sources(RUNG_AVATAR_HOSTS=named) == ["'self'", "data:", *added]
    for wrong in (
        "*",
        ".",
        ".example",
        "https://cdn.example",
        "cdn.example/x",
        "cdn.example;script-src *",
        "a b",
        "'self'",
    ):
        with pytest.raises(Exception, match=r"^RUNG_AVATAR_HOSTS must name hosts, "):
            sources(RUNG_AVATAR_HOSTS=f"cdn.example,{wrong}")


def test_the_web_process_refuses_in_the_same_words(tmp_path: Path) -> None:
    done = _run("-m", "config.web", home=tmp_path, **(SERVERS | PRODUCTION | {"SECRET_KEY": ""}))
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
    assert done.stderr.startswith("rung: In production SECRET_KEY must be set")


def test_production_with_all_it_needs_passes_djangos_own_deployment_checks(tmp_path: Path) -> None:
    done = _run("manage.py", "check", "--deploy", "--fail-level", "ERROR", home=tmp_path, **(SERVERS | PRODUCTION))
    assert done.returncode == 0, done.stderr
    warned = {word for word in done.stderr.replace("(", " ").replace(")", " ").split() if word.startswith("security.W")}
    assert warned <= {"security.W021"}, "only the browsers' preload list is left to the operator"


def test_each_store_has_a_database_of_its_own_on_the_one_server_that_is_named(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    shown = settings_with(**(SERVERS | PRODUCTION))
    at = "redis://:secret@127.0.0.1:9"
    assert [shown[name] for name in ("VALKEY_URL", "BROKER_URL", "CHANNELS_URL", "CACHE_URL")] == [
        f"{at}/4",
        f"{at}/5",
        f"{at}/6",
        f"{at}/7",
    ]


def test_boards_may_be_on_a_cluster_and_all_else_on_plain_servers(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    others = {f"{name}_URL": f"valkey://plain/{n}" for n, name in enumerate(("BROKER", "CHANNELS", "CACHE"))}
    shown = settings_with(**(SERVERS | PRODUCTION | others | {"VALKEY_URL": "valkey+cluster://:p@a:1,b:2"}))
    assert shown["VALKEY_URL"] == "redis+cluster://:p@a:1,b:2"
    assert [shown[name] for name in others] == ["redis://plain/0", "redis://plain/1", "redis://plain/2"]


def test_a_store_that_is_named_is_used(settings_with: Callable[..., dict[str, Any]]) -> None:
    shown = settings_with(**(SERVERS | PRODUCTION | {"CACHE_URL": "valkeys://cache.example:6380/2"}))
    assert shown["CACHE_URL"] == "rediss://cache.example:6380/2"


def test_a_replica_that_is_named_is_a_database_beside_and_doctor_asks_for_it(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    named = {"DATABASE_REPLICA_URL": "postgresql://u:p@beside:5433/x"}
    shown = settings_with(**(SERVERS | PRODUCTION | named))
    assert (shown["DATABASES"]["replica"]["HOST"], shown["DATABASES"]["default"]["HOST"]) == ("beside", "127.0.0.1")
    assert shown["DATABASES"]["replica"]["CONN_MAX_AGE"] == 60
    assert "replica" in shown["DOCTOR_CHECKS"]
    alone = settings_with(**(SERVERS | PRODUCTION | {"DATABASE_REPLICA_URL": ""}))
    assert (list(alone["DATABASES"]), "replica" in alone["DOCTOR_CHECKS"]) == (["default"], False)


def test_production_is_safe_without_being_told_and_stays_so_when_told_nothing(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    shown = settings_with(**(SERVERS | PRODUCTION | {"RUNG_HTTPS": "", "DEBUG": ""}))
    assert shown["SECURE_SSL_REDIRECT"]
    assert shown["SECURE_HSTS_SECONDS"] >= 31_536_000
    assert shown["SESSION_COOKIE_SECURE"]
    assert shown["CSRF_COOKIE_SECURE"]
    assert shown["SESSION_COOKIE_HTTPONLY"]
    assert not shown["DEBUG"]


def test_production_limits_reads_by_itself_and_development_does_not(
    settings_with: Callable[..., dict[str, Any]],
) -> None:
    limits = ("PLAYER_READS_PER_SECOND", "ADDRESS_READS_PER_SECOND")
    shown = settings_with(**(SERVERS | PRODUCTION))
    assert [shown[limit] for limit in limits] == [50, 200]
    shown = settings_with(**SERVERS, SECRET_KEY="k" * 60)
    assert [shown[limit] for limit in limits] == [0, 0]


def test_development_serves_plain_http(settings_with: Callable[..., dict[str, Any]]) -> None:
    shown = settings_with(**SERVERS, SECRET_KEY="k" * 60)
    assert not shown["SECURE_SSL_REDIRECT"]
    assert shown["SECURE_HSTS_SECONDS"] == 0
    assert not shown["SESSION_COOKIE_SECURE"]


def test_name_checks_are_named_in_the_environment(settings_with: Callable[..., dict[str, Any]]) -> None:
    shown = settings_with(**SERVERS, SECRET_KEY="k", RUNG_NAME_CHECKS="studio.names.polite, studio.names.short")
    assert shown["NAME_CHECKS"] == ["studio.names.polite", "studio.names.short"]


@pytest.mark.django_db(transaction=True)
def test_in_production_people_are_sent_to_https_with_every_header_and_probes_are_answered_to_anyone(
    tmp_path: Path,
) -> None:
    home = tmp_path / "home"
    _pretend_collected(home / "static")
    environment = PRODUCTION | {"RUNG_PROXIES": "1", "RUNG_HOME": str(home)}
    with (
        live.web(tmp_path, **environment) as web,
        httpx.Client(base_url=web.origin, headers={"Host": "rung.example"}, timeout=60) as caller,
    ):
        plain = caller.get("/")
        assert (plain.status_code, plain.headers["location"]) == (301, "https://rung.example/")

        page = caller.get("/", headers={"X-Forwarded-Proto": "https"})
        assert page.status_code == 200
        assert "max-age=31536000" in page.headers["strict-transport-security"]
        assert "default-src 'none'" in page.headers["content-security-policy"]
        assert "script-src 'self'" in page.headers["content-security-policy"]
        assert "unsafe" not in page.headers["content-security-policy"]
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert page.headers["referrer-policy"] == "same-origin"

        form = caller.get("/admin/login/", headers={"X-Forwarded-Proto": "https"})
        cookie = form.headers["set-cookie"]
        assert "Secure" in cookie
        assert "HttpOnly" in cookie
        assert "SameSite=Lax" in cookie

        strange = {"Host": "10.0.0.7"}
        assert caller.get("/livez", headers=strange).status_code == 200
        assert caller.get("/readyz", headers=strange).status_code == 200
        refused = caller.get("/v1/games", headers=strange | {"X-Forwarded-Proto": "https"})
        assert (refused.status_code, refused.json()["code"]) == (400, "invalid_request")


def _pretend_collected(folder: Path) -> None:
    """What `collectstatic` leaves, without its minute of compressing."""
    found = {path: path for finder in get_finders() for path, _ in finder.list([])}
    folder.mkdir(parents=True)
    (folder / "staticfiles.json").write_text(json.dumps({"version": "1.1", "hash": "", "paths": found}))


@pytest.mark.django_db
def test_the_models_and_their_migrations_say_the_same() -> None:
    call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
