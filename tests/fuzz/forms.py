"""Forms of the admin as its own pages have them, filled in: what a case begins with before anything is odd."""

from dataclasses import replace

from django.contrib.auth.models import User
from django.test import Client

from tests.anticheat.forms import filled_in
from tests.fuzz.target import Route, Routes, World

_OK = 200


def with_forms(routes: Routes, world: World) -> Routes:
    client = Client(SERVER_NAME="127.0.0.1", raise_request_exception=False)
    client.force_login(User.objects.get(username="superuser"))
    found = [_with_forms(route, client, world) for route in routes.by_kind["admin"]]
    return Routes(routes.by_kind | {"admin": found}, routes.components)


def _with_forms(route: Route, client: Client, world: World) -> Route:
    pages = [route.path]
    for slot in ("{object_id}", "{id}"):
        if slot in route.path:
            pages = [route.path.replace(slot, pk) for pk in world.rows.get(route.model, [])[:2]]
    if "{" in "".join(pages):
        return route
    answers = [client.get(page) for page in pages]
    forms = [filled_in(answer.content.decode()) for answer in answers if _is_page(answer)]
    return replace(route, forms=[form for form in forms if form])


def _is_page(answer: object) -> bool:
    status, streaming = getattr(answer, "status_code", 0), getattr(answer, "streaming", False)
    return status == _OK and not streaming
