"""Window ids and timezone names come from outside: whatever they hold, the answer is a window or a sentence."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboards.rules.windows import timezone_named, window_by_id, window_named

NOW = datetime(2026, 4, 5, 9, 12, tzinfo=UTC)
UTC_ZONE = timezone_named("UTC")


@pytest.mark.parametrize(
    "window_id",
    [
        "",
        ":",
        "daily:",
        "daily:2026-02-30",
        "daily:2026-2-3",
        "daily:20260405",
        "daily:2026-W14-7",
        "daily:2026-04-05 ",
        "daily:2026-04-05\n",
        " daily:2026-04-05",
        "daily:2026-04-05T00:00",
        "daily:2026-04-05:",
        "daily:٢٠٢٦-٠٤-٠٥",
        "daily:1969-12-31",
        "daily:9999-01-01",
        "daily:0000-01-01",
        "daily:-2026-04-05",
        "Daily:2026-04-05",
        "weekly:2025-W53",
        "weekly:2026-W00",
        "weekly:2026-W54",
        "weekly:2026-w14",
        "weekly:2026-14",
        "weekly:2026-W1",
        "weekly:9999-W01",
        "weekly:9999-W52",
        "weekly:1969-W01",
        "monthly:2026-13",
        "monthly:2026-00",
        "monthly:2026-4",
        "monthly:2026-04-05",
        "alltime:",
        "alltime:2026",
        "alltime\n",
        "hourly:2026-04-05",
        "\0",
        "\ud800",
        "daily:" + "9" * 100_000,
    ],
)
def test_a_malformed_window_id_is_refused_with_a_sentence(window_id: str) -> None:
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        window_by_id(window_id, UTC_ZONE)
    assert len(str(refusal.value)) < 200
    with pytest.raises(ValueError, match=r"\.$"):
        window_named(window_id, NOW, UTC_ZONE)


@pytest.mark.parametrize("kind", ["daily", "weekly", "monthly"])
def test_a_kind_alone_is_no_window_id(kind: str) -> None:
    with pytest.raises(ValueError, match="does not name one window"):
        window_by_id(kind, UTC_ZONE)


@given(st.text() | st.from_regex(r"\A(daily|weekly|monthly|alltime):[0-9W-]{0,12}\Z"))
def test_no_text_breaks_the_reading_of_a_window(text: str) -> None:
    try:
        window = window_by_id(text, UTC_ZONE)
    except ValueError:
        return
    assert window.id == text


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "\0",
        "UTC\0",
        "UTC\n",
        "/abs",
        "/etc/localtime",
        "../../etc/passwd",
        "Europe/../UTC",
        "Europe//Berlin",
        "America",
        "America/",
        "America/Argentina",
        "Europe/Atlantis",
        "zone.tab",
        "leapseconds",
        "__init__.py",
        "localtime",
        "posixrules",
        "Factory",
        "right/UTC",
        "posix/UTC",
        "Evropa/Bеrlin",
        "\ud800",
        "a" * 64,
        "a" * 5000,
        "a/" * 100_000,
    ],
)
def test_a_timezone_that_does_not_exist_is_refused_with_a_sentence(name: str) -> None:
    with pytest.raises(ValueError, match=r"^There is no timezone .*\.$") as refusal:
        timezone_named(name)
    assert type(refusal.value) is ValueError
    assert len(str(refusal.value)) < 400


@given(st.text())
def test_no_text_breaks_the_reading_of_a_timezone(name: str) -> None:
    try:
        zone = timezone_named(name)
    except ValueError as refusal:
        assert type(refusal) is ValueError  # noqa: PT017 - most names are refused, not all
    else:
        assert zone.key == name


@pytest.mark.parametrize(
    "name",
    ["UTC", "Etc/GMT+12", "Europe/Berlin", "America/Argentina/Buenos_Aires", "America/Port-au-Prince", "EST5EDT"],
)
def test_a_timezone_that_exists_is_found(name: str) -> None:
    assert timezone_named(name).key == name
