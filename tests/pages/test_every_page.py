"""What holds for all pages: they answer, fit a phone, can be read in any light, and give no secret away."""

from datetime import timedelta

from django.contrib import admin
from django.contrib.auth.models import Group
from django.utils import timezone
from django_celery_beat.models import ClockedSchedule, CrontabSchedule, IntervalSchedule, PeriodicTask, SolarSchedule

from anticheat.models import AuditEntry, Case, Rollback, Ruling
from anticheat.services.rulings import ruling_make
from config import entrance
from config.audit import HOUSE
from leaderboards.models import Outbox, SetAside
from players.models import ApiKey, Ban, Game
from tests import live
from tests.factories import make_game, make_key, make_mode
from tests.pages.browser import Visitor
from tests.pages.scenes import make_crowded_game, play

STATUS = {"/nothing": 404, "/admin/enter?code=x": 403}
BORING = {ClockedSchedule, CrontabSchedule, SolarSchedule, Group}  # as their neighbours, and none of ours
NOT_ADDED = {AuditEntry, SetAside, Case, Ruling}  # come by themselves
TRUST = ["/admin/trust/", "/admin/trust/search", "/admin/trust/search?q=Nova", "/admin/trust/search?q=203.0.113.9"]
BOARDS = [
    "/g/skyline",
    "/g/skyline/arcade/daily",
    "/g/skyline/arcade/alltime?q=w&scope=country:DE",
    "/g/skyline/lap/weekly",
]
PUBLIC = ["/", *BOARDS, *STATUS, "/admin/login/"]


def _admin_pages() -> list[str]:
    """Every list, every form of adding, and where there is one, an object with its history."""
    game = make_crowded_game()
    play(game, "arcade", {"wide": 950, "nova": 900} | {f"r-{number}": number for number in range(60)})
    make_key(game)
    player = game.players.latest("pk")
    Ban.objects.create(player=player, reason="speed hack", starts_at=timezone.now())
    mode = make_mode(game, "aside")
    SetAside.objects.create(
        mode=mode, shard=0, kind=Outbox.Kind.SCORES, payload=b"", error="ValueError: x", created_at=timezone.now()
    )
    PeriodicTask.objects.create(
        name="beat", task="tests.beat", interval=IntervalSchedule.objects.create(every=5, period="seconds")
    )
    case = Case.objects.create(game=game, mode=mode, player=player, risk=0.5, note="look again")
    ruling = Ruling(kind="watch", game=game, mode=mode, player=player, case=case, reason="speed", note="only ours")
    ruling_make(ruling=ruling, by=HOUSE, now=timezone.now())
    span = {"since": timezone.now() - timedelta(days=1), "until": timezone.now()}
    Rollback.objects.create(game=game, mode=mode, predicate={"build": "1.42.0"}, **span)
    acts = [f"/admin/trust/act?player={player.pk}&kind={kind}&reason=speed" for kind in ("ban", "rollback", "hide")]
    pages = ["/admin/", *TRUST, *acts]
    for model in admin.site._registry.keys() - BORING:  # noqa: SLF001 - there is no other list of them
        folder = f"/admin/{model._meta.app_label}/{model._meta.model_name}"  # noqa: SLF001
        pages += [f"{folder}/"] if model in NOT_ADDED else [f"{folder}/", f"{folder}/add/"]
        first = model._default_manager.first()  # noqa: SLF001
        if first is not None:
            pages += [f"{folder}/{first.pk}/change/", f"{folder}/{first.pk}/history/"]
    return pages


def test_every_page_answers_fits_a_phone_can_be_read_in_any_light_and_keeps_secrets(
    visitor: Visitor, web: live.Web
) -> None:
    """Contrast as in WCAG AA. One walk for all of it, for opening them is what takes time."""
    pages = _admin_pages()
    secrets = [Game.objects.get().signing_secret, bytes(ApiKey.objects.get().secret_hash).hex()]
    wrong = []
    for path in [*PUBLIC, entrance.new_link(web.origin), *pages]:
        status = visitor.visit(path)
        if status != STATUS.get(path, 200):
            wrong.append(f"{path} answers {status}")
        if any(secret in visitor.page.content() for secret in secrets):
            wrong.append(f"{path} gives a secret away")
        for width, scheme in ((1440, "light"), (390, "dark")):
            visitor.look(width=width, scheme=scheme)
            if visitor.width() > width:
                wrong.append(f"{path} is {visitor.width()} wide on {width}")
            wrong += [f"{path}, {scheme}: {faint}" for faint in visitor.too_faint()]
    assert wrong == []


def test_the_history_of_a_game_can_be_read(operator: Visitor) -> None:
    game = make_game()
    operator.visit(f"/admin/players/game/{game.pk}/change/")
    operator.page.get_by_label("Title").fill("Another title")
    assert operator.submit() == 200
    assert operator.visit(f"/admin/players/game/{game.pk}/history/") == 200
    assert "Changed Title." in operator.text()
    operator.visit("/admin/")
    assert game.slug in operator.page.locator("#recent-actions-module").inner_text()
