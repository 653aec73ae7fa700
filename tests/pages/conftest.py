"""A browser for each worker, a fresh visitor for each test, and no page that makes the browser complain."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from config import entrance
from tests import live
from tests.pages.browser import NAMES, Browser, Visitor, executable

NO_BROWSER = f"no Chromium: none of {', '.join(NAMES)} is on PATH"


@pytest.fixture(scope="session")
def _browser() -> Iterator[Browser]:
    path = executable()
    if path is None:
        pytest.skip(NO_BROWSER)
    browser = Browser(path)
    yield browser
    browser.close()


@pytest.fixture
def new_visitor(_browser: Browser, web: live.Web) -> Iterator[Callable[..., Visitor]]:
    visitors: list[Visitor] = []

    def come(**options: Any) -> Visitor:
        visitors.append(_browser.visitor(web.origin, **options))
        return visitors[-1]

    yield come
    for visitor in visitors:
        visitor.context.close()
    assert [told for visitor in visitors for told in visitor.complaints] == []


@pytest.fixture
def visitor(new_visitor: Callable[..., Visitor]) -> Visitor:
    return new_visitor()


@pytest.fixture
def operator(visitor: Visitor, web: live.Web) -> Visitor:
    """Signed in to the admin, the way `make up` offers it."""
    assert visitor.visit(entrance.new_link(web.origin)) == 200
    return visitor
