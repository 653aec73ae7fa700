"""What is not there: a page for people, a problem for programs."""

import httpx

from tests import live
from tests.pages.browser import Visitor


def test_an_unknown_address_is_a_page_with_the_request_id_and_a_way_back(visitor: Visitor) -> None:
    assert visitor.visit("/g/nothing/here") == 404
    assert visitor.page.get_by_role("heading", name="Nothing on this rung").is_visible()
    request_id = visitor.page.reload().header_value("x-request-id")
    assert visitor.page.locator("code").inner_text() == request_id
    assert visitor.follow("To the games") == 200
    assert visitor.page.title() == "Games · Rung"


def test_an_unknown_address_of_the_api_is_a_problem_even_for_a_browser(visitor: Visitor, web: live.Web) -> None:
    assert visitor.visit("/v1/nothing") == 404
    answer = httpx.get(f"{web.origin}/v1/nothing", headers={"Accept": "text/html"}, timeout=60)
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"] == "not_found"


def test_a_stale_form_is_refused_with_a_page(visitor: Visitor) -> None:
    visitor.visit("/admin/login/")
    visitor.context.clear_cookies()
    visitor.page.get_by_label("Username").fill("someone")
    visitor.page.get_by_label("Password").fill("something")
    assert visitor.submit("Log in") == 403
    assert visitor.page.get_by_role("link", name="To the games").is_visible()
