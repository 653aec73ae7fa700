"""The link that `make up` prints: in with one click, once."""

from collections.abc import Callable

import pytest
from django.conf import LazySettings
from django.core.management import call_command

from config import entrance, valkey
from tests import live
from tests.client import ApiClient
from tests.pages.browser import Visitor


def test_the_link_signs_in_once_and_then_says_that_it_is_used_up(
    new_visitor: Callable[..., Visitor], web: live.Web
) -> None:
    link = entrance.new_link(web.origin)
    first, second = new_visitor(), new_visitor()
    assert first.visit(link) == 200
    assert first.page.url == f"{web.origin}/admin/"
    assert first.page.get_by_role("heading", name="What there is").is_visible()
    assert second.visit(link) == 403
    assert second.page.get_by_role("heading", name="This link is used up").is_visible()
    assert second.follow("Sign in with a password") == 200
    assert second.page.get_by_label("Username").is_visible()


def test_an_expired_link_is_used_up(visitor: Visitor, web: live.Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entrance, "SECONDS", 1)
    link = entrance.new_link(web.origin)
    visitor.page.wait_for_timeout(1100)
    assert visitor.visit(link) == 403


@pytest.mark.parametrize(
    "query", ["", "?code=", "?code=guess", "?code=" + "a" * 5000, "?code=%00", "?code=%F0%9F%AA%9C"]
)
def test_garbage_signs_nobody_in(web: live.Web, api: ApiClient, query: str) -> None:
    answer = api.get(f"/admin/enter{query}")
    assert answer.status_code == 403
    assert "This link is used up" in answer.text
    assert "sessionid" not in answer.cookies


def test_in_production_there_is_no_such_link(
    api: ApiClient, settings: LazySettings, capsys: pytest.CaptureFixture[str]
) -> None:
    settings.PRODUCTION = True
    link = entrance.new_link("")
    answer = api.get(link)
    assert answer.status_code == 404
    assert "sessionid" not in answer.cookies
    assert valkey.cache_take(entrance._key(link.partition("code=")[2])) == "1", "it was not even looked at"  # noqa: SLF001
    call_command("welcome")
    assert capsys.readouterr().out == ""
