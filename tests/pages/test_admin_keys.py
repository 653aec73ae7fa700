"""API keys in the admin: shown once, good at once, refused at once."""

import time
from datetime import timedelta

import httpx
from django.utils import timezone

from players.models import ApiKey
from tests import live
from tests.factories import make_game, make_key
from tests.pages.browser import Visitor


def _status(web: live.Web, game: str, key: str) -> int:
    headers = {"Authorization": f"Bearer {key}"}
    return httpx.get(f"{web.origin}/v1/games/{game}", headers=headers, timeout=60).status_code


def test_a_key_made_in_the_admin_is_shown_once_and_works_at_once(operator: Visitor, web: live.Web) -> None:
    game = make_game(public=False)
    operator.visit("/admin/players/apikey/add/")
    page = operator.page
    page.get_by_label("Game", exact=False).first.select_option(game.slug)
    page.get_by_label("Label").fill("match server, EU")
    page.get_by_label("read:").check()
    assert operator.submit() == 200
    key = page.locator(".messagelist code").inner_text()
    assert _status(web, game.slug, key) == 200
    row = page.get_by_role("row", name="match server, EU")
    assert "works" in row.inner_text()
    for path in ("", f"{ApiKey.objects.get().pk}/change/", f"{ApiKey.objects.get().pk}/history/"):
        assert operator.visit(f"/admin/players/apikey/{path}") == 200
        assert key not in page.content()


def test_a_key_without_a_scope_is_refused_with_a_sentence(operator: Visitor) -> None:
    game = make_game()
    operator.visit("/admin/players/apikey/add/")
    operator.page.get_by_label("Game", exact=False).first.select_option(game.slug)
    assert operator.submit() == 200
    assert operator.page.locator(".errorlist li").all_inner_texts() == ["This field is required."]
    assert not ApiKey.objects.exists()


def test_a_revoked_key_is_refused_within_a_second(operator: Visitor, web: live.Web) -> None:
    game = make_game(public=False)
    key = make_key(game)
    for _ in range(5):  # so that the web process remembers it
        assert _status(web, game.slug, key) == 200
        time.sleep(0.05)
    operator.visit("/admin/players/apikey/")
    operator.page.locator("input.action-select").check()
    operator.page.locator("select[name=action]").select_option(label="Revoke the selected keys, at once and for good")
    operator.submit("Go")
    revoked = time.monotonic()
    while _status(web, game.slug, key) != 401:
        assert time.monotonic() < revoked + 1
    assert "revoked" in operator.page.locator("#result_list").inner_text()


def test_a_key_stays_in_its_game(operator: Visitor) -> None:
    make_key(make_game())
    make_game("other")
    key = ApiKey.objects.get()
    key.expires_at = timezone.now() - timedelta(days=1)
    key.save()
    operator.visit(f"/admin/players/apikey/{key.pk}/change/")
    assert operator.page.locator("select[name=game]").count() == 0
    assert "expired" in operator.text()
    operator.page.get_by_label("Label").fill("renamed")
    assert operator.submit() == 200
    assert ApiKey.objects.get().label == "renamed"
