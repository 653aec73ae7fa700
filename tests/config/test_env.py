"""What is configured is read by its type; what cannot be used is one sentence that names the variable."""

import pytest

from config import env
from config.env import ConfigurationError


def test_text_is_trimmed_and_nothing_is_the_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNG_BIND", "  0.0.0.0 ")
    assert env.text("RUNG_BIND", "127.0.0.1") == "0.0.0.0"  # noqa: S104 - read, not bound to
    monkeypatch.setenv("RUNG_BIND", " ")
    assert env.text("RUNG_BIND", "127.0.0.1") == "127.0.0.1"
    monkeypatch.delenv("RUNG_BIND")
    assert env.text("RUNG_BIND", "127.0.0.1") == "127.0.0.1"


@pytest.mark.parametrize(
    ("raw", "meant"),
    [("1", True), ("TRUE", True), ("yes", True), ("on", True), ("0", False), ("False", False), ("off", False)],
)
def test_a_flag_is_on_or_off(monkeypatch: pytest.MonkeyPatch, raw: str, meant: bool) -> None:
    monkeypatch.setenv("RUNG_HTTPS", raw)
    assert env.flag("RUNG_HTTPS", default=not meant) is meant


def test_a_flag_set_to_nothing_is_its_default_so_that_safety_is_not_switched_off_in_passing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("RUNG_HTTPS", "")
    assert env.flag("RUNG_HTTPS", default=True) is True


def test_a_flag_that_is_neither_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG", "maybe")
    with pytest.raises(ConfigurationError, match=r"^DEBUG must be 0 or 1, not 'maybe'\.$"):
        env.flag("DEBUG", default=False)


@pytest.mark.parametrize("raw", ["0", "65536", "-1", "8000.5", "١٢", "eight", "9" * 5000])
def test_a_number_out_of_its_range_is_refused(monkeypatch: pytest.MonkeyPatch, raw: str) -> None:
    monkeypatch.setenv("PORT", raw)
    with pytest.raises(ConfigurationError, match=r"^PORT must be a whole number from 1 to 65535, not "):
        env.number("PORT", 8000, least=1, most=65535)


def test_a_number_in_its_range_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    for raw, meant in (("65535", 65535), ("1", 1), ("", 8000)):
        monkeypatch.setenv("PORT", raw)
        assert env.number("PORT", 8000, least=1, most=65535) == meant


def test_words_are_split_at_commas_and_empty_ones_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALLOWED_HOSTS", " a.example, ,b.example,")
    assert env.words("ALLOWED_HOSTS") == ["a.example", "b.example"]
    monkeypatch.setenv("ALLOWED_HOSTS", "")
    assert env.words("ALLOWED_HOSTS", "localhost") == ["localhost"]


def test_a_choice_is_one_of_those_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNG_ENV", "prod")
    with pytest.raises(ConfigurationError, match=r"^RUNG_ENV must be one of development, production, not 'prod'\.$"):
        env.one_of("RUNG_ENV", "development", ("development", "production"))


def test_a_database_url_is_taken_apart_and_percent_signs_are_read() -> None:
    entry = env.database("postgresql://arena:p%40ss%2Fword@db.example:5433/scores?sslmode=require")
    assert (entry["USER"], entry["PASSWORD"], entry["HOST"], entry["PORT"], entry["NAME"], entry["OPTIONS"]) == (
        "arena",
        "p@ss/word",
        "db.example",
        "5433",
        "scores",
        {"sslmode": "require"},
    )


def test_the_folder_of_a_unix_socket_keeps_its_capitals() -> None:
    assert env.database("postgresql://rung@%2Ftmp%2FRung%20Home/rung")["HOST"] == "/tmp/Rung Home"  # noqa: S108


def test_another_database_than_postgresql_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL must begin with postgresql://, not mysql://\.$"):
        env.database("mysql://u:p@h/x")


@pytest.mark.parametrize("url", ["postgresql://u:hun/ter2@h/x", "postgresql://u:hunter2@h:99999/x", "postgresql://[/"])
def test_what_is_no_url_is_refused_without_quoting_the_password(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^DATABASE_URL is not a URL") as refused:
        env.database(url)
    assert "hun" not in str(refused.value)


@pytest.mark.parametrize(
    ("given", "understood"),
    [
        ("valkey://h:1/2", "redis://h:1/2"),
        ("valkeys://u:p@h:1/2", "rediss://u:p@h:1/2"),
        ("redis://h:1/2", "redis://h:1/2"),
        ("rediss://h:1/2", "rediss://h:1/2"),
    ],
)
def test_a_valkey_url_becomes_one_that_every_library_understands(given: str, understood: str) -> None:
    assert env.valkey(given, name="CACHE_URL") == understood


@pytest.mark.parametrize("url", ["valkey+cluster://a:1,b:2", "valkey+sentinel://a:1/x", "http://a", "a:6379"])
def test_what_is_not_one_plain_server_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^BROKER_URL must begin with valkey://.* one plain server, not "):
        env.valkey(url, name="BROKER_URL")


def test_databases_of_one_server_are_counted_on_from_the_one_given() -> None:
    assert env.valkey_database("redis://h:1/4", 3) == "redis://h:1/7"
    assert env.valkey_database("redis://h:1", 1) == "redis://h:1/1"
    for wrong in ("x", "²"):
        with pytest.raises(ConfigurationError, match=r"^VALKEY_URL must end in the number of a database, not "):
            env.valkey_database(f"redis://h:1/{wrong}", 1)


@pytest.mark.parametrize(
    ("given", "understood", "meant"),
    [
        ("valkey+cluster://a:1,b:2", "redis+cluster://a:1,b:2", ((("a", 1), ("b", 2)), "", "", False)),
        ("redis+cluster://a", "redis+cluster://a", ((("a", 6379),), "", "", False)),
        ("valkeys+cluster://u:p%40s@a:1,/", "rediss+cluster://u:p%40s@a:1,/", ((("a", 1),), "u", "p@s", True)),
    ],
)
def test_a_cluster_is_named_by_some_of_its_hosts(given: str, understood: str, meant: tuple[object, ...]) -> None:
    assert env.boards(given, name="VALKEY_URL") == understood
    assert env.cluster(understood) == env.Cluster(*meant)  # type: ignore[arg-type]
    assert env.cluster("redis://h:1/2") is None


@pytest.mark.parametrize("url", ["valkey+cluster://", "valkey+cluster://hunter2@", "valkey+cluster://a:1/3,b"])
def test_a_cluster_without_a_host_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^VALKEY_URL must name a cluster as valkey\+cluster://") as refused:
        env.boards(url, name="VALKEY_URL")
    assert "hunter" not in str(refused.value)


def test_named_values_are_read_and_one_without_a_name_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RUNG_REPLAY_VERIFIERS", "a = x.y , b=z,")
    assert env.named("RUNG_REPLAY_VERIFIERS") == {"a": "x.y", "b": "z"}
    for wrong in ("x.y", "=x.y", "a="):
        monkeypatch.setenv("RUNG_REPLAY_VERIFIERS", wrong)
        with pytest.raises(ConfigurationError, match=r"^RUNG_REPLAY_VERIFIERS must be a list like"):
            env.named("RUNG_REPLAY_VERIFIERS")


@pytest.mark.parametrize(
    ("given", "understood", "meant"),
    [
        (
            "valkey+sentinel://:p%40s@a:1,b:2/boards/3",
            "redis+sentinel://:p%40s@a:1,b:2/boards/3",
            ((("a", 1), ("b", 2)), "boards", 3, "", "p@s", False),
        ),
        (
            "valkeys+sentinel://u:p@a/my%20own/",
            "rediss+sentinel://u:p@a/my%20own/",
            ((("a", 26379),), "my own", 0, "u", "p", True),
        ),
    ],
)
def test_sentinels_are_named_with_what_they_watch_over(given: str, understood: str, meant: tuple[object, ...]) -> None:
    assert env.boards(given, name="VALKEY_URL") == understood
    assert env.sentinels(understood) == env.Sentinels(*meant)  # type: ignore[arg-type]
    assert env.sentinels("redis+cluster://a:1") is None
    assert env.cluster(understood) is None


@pytest.mark.parametrize("path", ["", "a:1", "hunter2@/boards", "a:1/", "a:1/boards/x", "a:1/boards/1/2", "a:1//1"])
def test_sentinels_without_a_host_or_a_service_are_refused(path: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^VALKEY_URL must name sentinels as valkey\+sentinel://") as refused:
        env.boards(f"valkey+sentinel://{path}", name="VALKEY_URL")
    assert "hunter" not in str(refused.value)
