"""Which case a number is: drawn from the seed and the number alone."""

from random import Random

from tests.fuzz import draw_admin, draw_api, draw_pages
from tests.fuzz.request import Request, make_odd
from tests.fuzz.target import Routes, World

# how many of a hundred; the admin's pages cost fifty times what a read of a board does
_SHARES = {"api": 66, "pages": 23, "admin": 10, "socket": 1}
_DRAW = {"api": draw_api.draw, "pages": draw_pages.draw, "admin": draw_admin.draw}


def draw(seed: int, number: int, routes: Routes, world: World) -> Request:
    rng = Random(f"{seed}:{number}")
    kind = rng.choices(list(_SHARES), list(_SHARES.values()))[0]
    request = draw_pages.socket(rng, world) if kind == "socket" else _DRAW[kind](rng, routes, world)
    request.headers["X-Request-Id"] = f"case-{number}"  # the lines of the log say it
    make_odd(rng, request)
    return request
