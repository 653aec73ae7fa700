"""A value that could not be kept, shown or counted is refused, and the answer is as short as any."""

import json
from typing import Any

import pytest

from tests.arena import MODE, PLAYER
from tests.client import JSON, ApiClient, told


@pytest.mark.parametrize("country", ["DE\n", "D", "DEU", "ZZ", "ÄÖ", "1e", "", "de ", "<b>", 49, ["DE"]])
def test_a_country_that_is_none_is_refused_by_name(api: ApiClient, key: str, country: Any) -> None:
    answer = api.put(PLAYER, credential=key, json={"country": country})
    assert told(answer) == (400, "invalid_request")
    assert "country" in answer.json()["errors"]


@pytest.mark.parametrize("region", ["EU", "e u", "-eu", "eu\n", "e" * 33, "", "eu:1", "€u", True])
def test_a_region_that_is_none_is_refused_by_name(api: ApiClient, key: str, region: Any) -> None:
    answer = api.put(PLAYER, credential=key, json={"region": region})
    assert told(answer) == (400, "invalid_request")
    assert "region" in answer.json()["errors"]


@pytest.mark.parametrize(
    "address",
    [
        "javascript:alert(1)",
        "http://plain.example/a.png",
        "https://",
        "https:///a.png",
        "https://a b.example/",
        'https://a.example/"onerror="x',
        "https://a.example/<script>",
        "https://a.example/\n",
        "https://ä.example/",
        "https://a.example/" + "a" * 500,
        "data:image/png;base64,AAAA",
        " https://a.example/",
        "//a.example/",
    ],
)
def test_an_avatar_that_a_page_could_not_show_safely_is_refused_by_name(api: ApiClient, key: str, address: str) -> None:
    answer = api.put(PLAYER, credential=key, json={"avatar_url": address})
    assert told(answer) == (400, "invalid_request")
    assert "avatar_url" in answer.json()["errors"]


HUGE = [
    "1e400",
    "-1e400",
    "1e999999",
    "1e-999999",
    "9223372036854775808",
    "9007199254740993",
    "1" * 5000,
    "0." + "1" * 5000,
]
HUGE_TEXTS = ["1e999999", "NaN", "sNaN", "Infinity", "-Infinity", "1e-400", "", "0x10", "1,5", "--1", "9" * 5000]


@pytest.mark.parametrize("number", [*HUGE, *map(json.dumps, HUGE_TEXTS), "true", "[]", "{}"])
def test_a_bound_that_no_score_could_keep_is_refused_and_costs_nothing(api: ApiClient, key: str, number: str) -> None:
    for body in (
        b'{"min_score": 0, "max_score": %s}',
        b'{"min_score": %s, "max_score": 10}',
        b'{"aggregation": "sum", "min_score": 0, "max_score": 1, "max_total": %s}',
        b'{"dimensions": ["level"], "bounds": {"level:7": {"max_score": %s}}}',
    ):
        answer = api.put(MODE, credential=key, content=body % number.encode(), headers=JSON)
        assert told(answer) == (400, "invalid_request"), body
        assert len(answer.content) < 4000, "the answer repeats what was sent"


@pytest.mark.parametrize("decimals", ["NaN", "1e400", "-1", "7", "1.5", '"3"', "true", "null", str(2**63)])
def test_decimals_are_a_small_number(api: ApiClient, key: str, decimals: str) -> None:
    answer = api.put(MODE, credential=key, content=b'{"decimals": %s}' % decimals.encode(), headers=JSON)
    assert told(answer) == (400, "invalid_request")


@pytest.mark.parametrize(
    "rules",
    [
        {"timezone": "../../etc/passwd"},
        {"timezone": "/etc/passwd"},
        {"timezone": "Europe/Berlin\n"},
        {"timezone": ""},
        {"timezone": "."},
        {"timezone": "Europe"},
        {"windows": []},
        {"windows": ["daily", "daily"]},
        {"windows": ["hourly"]},
        {"dimensions": ["global"]},
        {"dimensions": ["le vel"]},
        {"dimensions": ["x"] * 9},
        {"bounds": {"level:7": {}}},
        {"bounds": {":": {"max_score": 1}}},
        {"bounds": {"country:DE": {"max_score": 1}}},
    ],
)
def test_rules_that_do_not_fit_are_refused(api: ApiClient, key: str, rules: dict[str, Any]) -> None:
    assert told(api.put(MODE, credential=key, json=rules)) == (400, "invalid_request")
