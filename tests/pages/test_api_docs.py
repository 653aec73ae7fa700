"""The page on which the API is read and tried."""

from collections.abc import Callable

import httpx

from tests import live
from tests.factories import make_game
from tests.pages.browser import Visitor


def test_every_operation_of_the_document_can_be_read_and_tried(visitor: Visitor, web: live.Web) -> None:
    make_game("arena")
    document = httpx.get(f"{web.origin}/v1/openapi.json", timeout=60).json()
    operations = [(verb.upper(), path) for path, verbs in document["paths"].items() for verb in verbs if verb in _VERBS]
    visitor.visit("/v1/docs")
    page = visitor.page
    page.wait_for_selector(".opblock")
    shown = page.locator(".opblock-summary").evaluate_all(
        "all => all.map(one => [one.querySelector('.opblock-summary-method').innerText,"
        " one.querySelector('[data-path]').dataset.path])"
    )
    assert sorted(map(tuple, shown)) == sorted(operations)
    page.locator(".opblock", has_text="The games you may know of").click()
    page.get_by_role("button", name="Try it out").click()
    page.get_by_role("button", name="Execute").click()
    answer = page.locator(".live-responses-table .highlight-code")
    answer.wait_for()
    assert '"game": "arena"' in answer.inner_text()


def test_its_policy_allows_nothing_inline(visitor: Visitor) -> None:
    policy = visitor.page.goto("/v1/docs").header_value("content-security-policy")
    assert "unsafe" not in policy


def test_it_fits_a_phone_and_is_dark_for_whoever_likes_it_dark(visitor: Visitor) -> None:
    visitor.look(width=390, scheme="dark")
    visitor.visit("/v1/docs")
    visitor.page.wait_for_selector(".opblock")
    assert visitor.page.locator("html.dark-mode").count() == 1
    assert visitor.width() == 390
    visitor.look(width=390, scheme="light")
    visitor.page.wait_for_selector("html:not(.dark-mode)")


def test_without_javascript_it_leads_to_the_document(new_visitor: Callable[..., Visitor]) -> None:
    visitor = new_visitor(java_script_enabled=False)
    visitor.visit("/v1/docs")
    assert visitor.page.get_by_role("link", name="openapi.json").get_attribute("href") == "/v1/openapi.json"


_VERBS = {"get", "put", "post", "delete", "patch"}
