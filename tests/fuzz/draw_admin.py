"""Cases for the admin: its own addresses, lists asked oddly, its own forms filled in oddly; by staff of all rights."""

import re
from random import Random
from urllib.parse import quote_plus

from tests.fuzz.request import Request
from tests.fuzz.target import CSRF, Route, Routes, World
from tests.fuzz.values import NUMBERS, escaped, odd_escaped, odd_text

_CALLERS = ["superuser"] * 12 + ["manager", "moderator", "viewer", "guest", "nobody", "player in a browser", "garbage"]
_LEAVING = ("guest", "nobody", "garbage")  # others are needed for the cases to come
_LOOKUPS = (
    *("", "__exact", "__iexact", "__in", "__isnull", "__gte", "__lt", "__range", "__year", "__contains", "__regex"),
    *("__id__exact", "__pk", "__x", "__", "__date", "__week_day", "__len", "__0", "__icontains", "__game__slug"),
    *("__game__x", "__id__in", "__player__game", "__startswith", "__search", "__overlap", "__has_key", "__day__gte"),
)
_LIST = ("q", "o", "p", "all", "e", "_popup", "_to_field", "_facets", "_changelist_filters", "_pk", "t", "d")
_RARELY = ("/export/", "/login/", "/logout/", "password")  # dear, or they end the sessions of the cases to come
_MANAGEMENT = ("TOTAL_FORMS", "INITIAL_FORMS", "MIN_NUM_FORMS", "MAX_NUM_FORMS")
_SUBMITS = ("_save", "_continue", "_addanother", "_saveasnew", "_popup", "_to_field", "_viewnext", "_preview")


def draw(rng: Random, routes: Routes, world: World) -> Request:
    route = rng.choice(routes.by_kind["admin"])
    while any(part in route.path for part in _RARELY) and rng.random() < 0.85:
        route = rng.choice(routes.by_kind["admin"])
    caller = rng.choice(_CALLERS if "/logout/" not in route.path else _LEAVING)
    method = "POST" if rng.random() < (0.6 if route.forms else 0.4) else "GET"
    request = Request(route.label, method, _path(rng, route, world), caller)
    request.headers["Cookie"] = world.cookies[caller]
    request.query = _query(rng, route, world)
    if method == "POST":
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        request.body = _form(rng, route, world)
        if rng.random() < 0.05:
            _as_multipart(rng, request)
    return request


def _path(rng: Random, route: Route, world: World) -> str:
    def fill(slot: re.Match[str]) -> str:
        name = slot[1]
        names = world.names.get(name)
        if name == "content_type_id":
            names = world.rows["contenttypes.contenttype"]
        elif name in {"object_id", "id"}:
            names = world.rows.get(route.model)
        return rng.choice(names) if names and rng.random() < 0.85 else odd_escaped(rng)

    return re.sub(r"\{(\w+)\}", fill, route.path)


def _query(rng: Random, route: Route, world: World) -> str:
    pairs = []
    if route.path.endswith("/autocomplete/"):
        pairs = _autocomplete(rng)
    if route.path.endswith(("/act", "/add/")) and route.forms and rng.random() < 0.4:
        pairs += [(name, _value(rng, name, values, world)) for name, values in rng.choice(route.forms).items()]
    while rng.random() < 0.45:
        pairs.append(_pair(rng, route, world))
    return "&".join(f"{name}={value}" for name, value in pairs)


def _pair(rng: Random, route: Route, world: World) -> tuple[str, str]:
    kind = rng.random()
    if kind < 0.3:
        return rng.choice(_LIST), escaped(rng.choice(NUMBERS)) if rng.random() < 0.5 else odd_escaped(rng)
    names = route.filters if kind < 0.6 else route.fields
    name = rng.choice(names) if names and kind < 0.9 else rng.choice([odd_escaped(rng), "next", "player", "game", "q"])
    if rng.random() < 0.6:
        name += rng.choice(_LOOKUPS)
    pks = rng.choice(list(world.rows.values())) or ["1"]
    return name, rng.choice(pks) if rng.random() < 0.4 else odd_escaped(rng)


def _autocomplete(rng: Random) -> list[tuple[str, str]]:
    good = rng.choice([("players", "player", "game"), ("players", "ban", "player"), ("anticheat", "ownplayer", "user")])
    names = ("app_label", "model_name", "field_name", "term", "page")
    values = [*good, rng.choice(["a", ""]), rng.choice(["1", "2", "-1", "x"])]
    return [(n, v if rng.random() < 0.8 else odd_escaped(rng)) for n, v in zip(names, values, strict=True)]


def _form(rng: Random, route: Route, world: World) -> bytes:
    if route.forms and rng.random() < 0.9:
        fields = {name: list(values) for name, values in rng.choice(route.forms).items()}
    else:
        fields = {rng.choice(route.fields or ("q",)): [odd_text(rng)]}
    if route.actions and route.path.endswith(f"/{route.model.rpartition('.')[2]}/"):
        fields |= _action(rng, route, world)
    for _ in range(rng.choice((0, 0, 1, 1, 1, 2, 4))):
        _make_odd(rng, fields, world)
    fields[rng.choice(_SUBMITS)] = [rng.choice(["1", "Save", ""])]
    if rng.random() < 0.97:
        fields["csrfmiddlewaretoken"] = [CSRF]
    return _encoded(fields)


def _action(rng: Random, route: Route, world: World) -> dict[str, list[str]]:
    fields = {"action": [rng.choice(route.actions)], "index": ["0"], "select_across": [rng.choice(["0", "1", "x"])]}
    fields["_selected_action"] = rng.sample(world.rows[route.model], min(2, len(world.rows[route.model]))) or ["1"]
    if rng.random() < 0.2:
        fields["post"] = ["yes"]
    return fields


def _make_odd(rng: Random, fields: dict[str, list[str]], world: World) -> None:
    name = rng.choice(list(fields))
    kind = rng.random()
    if kind < 0.6:
        fields[name] = [_value(rng, name, [odd_text(rng)], world)]
    elif kind < 0.7:
        del fields[name]
        fields.setdefault("q", [""])
    elif kind < 0.8:
        fields[name] = [*fields[name], odd_text(rng)]
    else:
        prefix = rng.choice(["bans", "form", "x", ""])
        fields[f"{prefix}-{rng.choice(_MANAGEMENT)}"] = [odd_text(rng)]
        fields[f"{prefix}-{rng.choice(['0', '1', '__prefix__', '999'])}-{rng.choice(['id', 'mode', 'DELETE'])}"] = [
            odd_text(rng)
        ]


def _value(rng: Random, name: str, values: list[str], world: World) -> str:
    if rng.random() < 0.3:
        return odd_text(rng)
    return rng.choice(world.names.get(name) or values or [""])


def _encoded(fields: dict[str, list[str]]) -> bytes:
    pairs = [(name, value) for name, values in fields.items() for value in values]
    encode = [(n.encode("utf-8", "surrogatepass"), v.encode("utf-8", "surrogatepass")) for n, v in pairs]
    return "&".join(f"{quote_plus(n)}={quote_plus(v)}" for n, v in encode).encode()


def _as_multipart(rng: Random, request: Request) -> None:
    """A form with files, well made or not."""
    request.headers["Content-Type"] = f"multipart/form-data; boundary={rng.choice(['b', 'b', '', 'x' * 300])}"
    head = f'--b\r\nContent-Disposition: form-data; name="csrfmiddlewaretoken"\r\n\r\n{CSRF}\r\n--b\r\n'
    odd = rng.choice(['name="a"; filename="../x"', "name=", "name=\"a\"; filename*=x'y'%ff", "", 'name="a\x00"'])
    encoding = rng.choice(["", "Content-Transfer-Encoding: base64\r\n", "Content-Transfer-Encoding: x\r\n"])
    tail = rng.choice(["\r\n--b--\r\n", "", "--b"])
    request.body = f"{head}Content-Disposition: form-data; {odd}\r\n{encoding}\r\nx\r\n{tail}".encode()
