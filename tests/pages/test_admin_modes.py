"""The form of a mode: held to the same rules as the file and the API, and never a page that failed."""

import json
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.utils.html import conditional_escape

from leaderboards.admin import ModeForm
from leaderboards.models import Mode
from tests.factories import make_game, make_mode
from tests.pages.browser import Visitor

SHAPE = 'Bounds look like {"level:7": {"low": null, "high": 5000}}.'
LISTS = 'Values look like {"level": ["1", "2"]}.'
NUMBERS = "low and high are whole numbers, scaled, or null."
NOT_JSON = "Enter a valid JSON."


def _refusals(client: Client, mode: Mode, **wrong: str) -> dict[str, list[str]]:
    """What the form says to these values, without a browser: a form can be sent what no browser lets one type."""
    answer = client.post(f"/admin/leaderboards/mode/{mode.pk}/change/", _filled_in(mode) | wrong)
    assert answer.status_code == 200, "it was accepted"
    errors: dict[str, list[str]] = answer.context["adminform"].form.errors
    for sentence in (told for sentences in errors.values() for told in sentences):
        assert conditional_escape(sentence) in answer.content.decode()
    return errors


def _filled_in(mode: Mode) -> dict[str, object]:
    data = ModeForm(instance=mode).initial
    data["dimensions"] = ",".join(data["dimensions"])
    return {name: "" if value is None else value for name, value in data.items()} | {"bounds": ""}


@pytest.fixture
def mode(db: None) -> Mode:
    return make_mode(make_game(), dimensions=["level"], min_score=0, max_score=1000)


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("timezone", "Europe/Atlantis", "There is no timezone 'Europe/Atlantis'"),
        ("timezone", "../../etc/passwd", "There is no timezone"),
        ("timezone", "UTC\0", "Null characters are not allowed."),
        ("min_score", "", "Give both min_score and max_score, or neither."),
        ("max_score", "", "Give both min_score and max_score, or neither."),
        ("max_score", str(2**60), "Scaled scores reach from"),
        ("min_score", "9" * 30, "Ensure this value is"),
        ("min_score", "NaN", "Enter a whole number."),
        ("decimals", "7", "less than or equal to 6"),
        ("dimensions", "Level,level", "'Level' is not a name"),
        ("dimensions", ",".join("abcdefghi"), "at most 8 dimensions"),
        ("windows", "hourly", "hourly is not one of the available choices"),
        ("order", "sideways", "sideways is not one of the available choices"),
        ("title", "", "This field is required."),
    ],
)
def test_a_rule_that_makes_no_sense_is_refused_with_a_sentence(
    admin_client: Client, mode: Mode, field: str, value: str, sentence: str
) -> None:
    told = _refusals(admin_client, mode, **{field: value})
    assert sentence in " ".join(told[field])


def _deep(depth: int) -> str:
    return "[" * depth + "]" * depth


@pytest.mark.parametrize(
    ("sentence", "bounds"),
    [
        *((SHAPE, garbage) for garbage in ("[]", "[1, 2]", '""', '"text"', "0", "7", "null", "true", "false")),
        *((SHAPE, f'{{"level:7": {sides}}}') for sides in ("5", "[1]", "null", '"x"', '{"middle": 5}', '{"": 5}')),
        *((NUMBERS, f'{{"level:7": {{"low": {low}}}}}') for low in ('"abc"', "[1]", '{"low": 1}', "1.5", "true")),
        *((NUMBERS, f'{{"level:7": {{"high": {high}}}}}') for high in ("NaN", "Infinity", "-Infinity", "1e999")),
        ("Scaled scores reach from", '{"level:7": {"high": 99999999999999999999}}'),
        ("level:7: Give min_score, max_score or both.", '{"level:7": {}}'),
        ("level:7: Bounds of a value may be tighter", '{"level:7": {"high": 5000}}'),
        ("Name a value", '{"level:7\\u0000": {"high": 5}}'),
        (NOT_JSON, '{"level:\\ud800": {"high": 5}}'),
        ("Bounds are for a value", '{"": {"high": 5}}'),
        (NOT_JSON, "{level: 7}"),
        (NOT_JSON, "9" * 5_000),
        (NOT_JSON, "[" * 100_000),
        (NOT_JSON, _deep(100_000)),
        (SHAPE, _deep(100)),
    ],
)
def test_any_json_at_all_in_the_bounds_is_refused_with_a_sentence(
    admin_client: Client, mode: Mode, sentence: str, bounds: str
) -> None:
    assert sentence in _refusals(admin_client, mode, bounds=bounds)["bounds"][0]


@pytest.mark.parametrize(
    ("sentence", "values"),
    [
        *((LISTS, garbage) for garbage in ("[]", "[1, 2]", '""', '"text"', "0", "7", "null", "true", "false")),
        *((LISTS, f'{{"level": {some}}}') for some in ('"7"', "7", "null", "{}", "[7]", "[null]", '[["7"]]', "true")),
        ("level: Declare at least one value", '{"level": []}'),
        ("level: A value is named twice.", '{"level": ["1", "1"]}'),
        ("level: A value is 1 to 64", '{"level": ["a b"]}'),
        ("level: A value is 1 to 64", '{"level": ["a\\u0000"]}'),
        ("country comes from the player", '{"country": ["DE"]}'),
        ("Values are for a dimension", '{"le vel\\u0000": ["1"]}'),
        (NOT_JSON, '{"level": ["\\ud800"]}'),
        (NOT_JSON, "[" * 100_000),
        (LISTS, _deep(100)),
        ("at most 2,000 values", json.dumps({"level": [str(number) for number in range(2001)]})),
    ],
)
def test_any_json_at_all_in_the_values_is_refused_with_a_sentence(
    admin_client: Client, mode: Mode, sentence: str, values: str
) -> None:
    assert sentence in " ".join(_refusals(admin_client, mode, values=values)["values"])


def test_values_are_declared_in_the_form_and_offered_by_the_page(admin_client: Client, mode: Mode) -> None:
    filled = _filled_in(mode) | {"values": '{"level": ["ice", "fire"]}', "new_values": "anyone", "submit": "open"}
    assert admin_client.post(f"/admin/leaderboards/mode/{mode.pk}/change/", filled).status_code == 302
    mode.refresh_from_db()
    assert (mode.values, mode.new_values) == ({"level": ["ice", "fire"]}, "anyone")
    page = admin_client.get(f"/g/{mode.game.slug}/{mode.slug}/alltime").content.decode()
    assert '<option value="level:fire">' in page
    assert '<option value="level:ice">' in page


def test_a_new_mode_is_not_called_as_another_page_of_its_game_is(admin_client: Client, mode: Mode) -> None:
    filled = _filled_in(mode) | {"slug": "players"}
    answer = admin_client.post("/admin/leaderboards/mode/add/", filled)
    assert "&#x27;players&#x27; cannot name a mode: that address belongs to other pages" in answer.content.decode()
    assert admin_client.post("/admin/leaderboards/mode/add/", filled | {"slug": "duel"}).status_code == 302
    Mode.objects.filter(pk=mode.pk).update(slug="players")  # from before
    changed = admin_client.post(f"/admin/leaderboards/mode/{mode.pk}/change/", _filled_in(mode) | {"title": "Old"})
    assert (changed.status_code, Mode.objects.get(pk=mode.pk).title) == (302, "Old")


def test_a_refused_form_keeps_what_was_typed_and_says_what_is_wrong(operator: Visitor) -> None:
    game = make_game()
    operator.visit("/admin/leaderboards/mode/add/")
    page = operator.page
    page.locator("[name=game]").select_option(game.slug)
    page.locator("[name=slug]").fill("solo")
    page.locator("[name=title]").fill("Solo")
    page.locator("[name=timezone]").fill("Europe/Atlantis")
    page.locator("[name=bounds]").fill("[1, 2]")
    page.locator("[name=max_score]").fill("5")
    assert operator.submit() == 200
    assert page.locator(".field-bounds .errorlist").inner_text() == SHAPE
    assert page.locator("[name=bounds]").input_value() == "[1, 2]"
    page.locator("[name=bounds]").fill("")
    assert operator.submit() == 200
    assert "There is no timezone 'Europe/Atlantis'" in page.locator(".field-timezone .errorlist").inner_text()
    assert "Give both" in page.locator(".field-min_score .errorlist").inner_text()
    assert not Mode.objects.exists()


def test_a_mode_is_saved_and_its_history_tells_what_changed(operator: Visitor) -> None:
    mode = make_mode(make_game(), dimensions=["level"], min_score=0, max_score=1000)
    operator.visit(f"/admin/leaderboards/mode/{mode.pk}/change/")
    page = operator.page
    page.locator("[name=bounds]").fill('{"level:7": {"high": 500}}')
    page.get_by_label("daily").uncheck()
    page.locator("[name=max_score]").fill(str(2**53))
    assert operator.submit() == 200
    assert "no bits are left for ties" in page.locator(".messagelist .warning").inner_text()
    mode.refresh_from_db()
    assert (mode.windows, mode.bounds) == (["weekly", "monthly", "alltime"], {"level:7": {"high": 500}})
    assert operator.visit(f"/admin/leaderboards/mode/{mode.pk}/history/") == 200
    assert "Changed Max score, bounds and windows." in operator.text()
    operator.visit(f"/admin/leaderboards/mode/{mode.pk}/change/")
    page.locator("[name=bounds]").fill("")
    assert operator.submit() == 200
    mode.refresh_from_db()
    assert mode.bounds == {}


def test_once_scores_exist_what_they_mean_cannot_change_and_the_mode_cannot_go(operator: Visitor) -> None:
    mode = make_mode(make_game())
    Mode.objects.update(first_score_at=datetime(2026, 1, 1, tzinfo=UTC))
    operator.visit(f"/admin/leaderboards/mode/{mode.pk}/change/")
    for name in ("aggregation", "order", "decimals", "timezone"):
        assert operator.page.locator(f"[name={name}]").count() == 0
    assert operator.page.get_by_role("link", name="Delete").count() == 0
    assert operator.submit() == 200
    assert operator.page.locator(".messagelist .success").count() == 1
