"""Cases for the API: from a route's own schema, good values first, then something odd."""

import json
import re
from random import Random
from typing import Any
from urllib.parse import quote
from uuid import UUID

from tests.fuzz.request import Request
from tests.fuzz.target import Route, Routes, World
from tests.fuzz.values import (
    JSON_TEXTS,
    MOMENTS,
    NUMBERS,
    broken_at,
    escaped,
    mutate_bytes,
    odd_escaped,
    odd_text,
)

_MARK = "<odd>"
_CALLERS = ["key"] * 10 + ["player"] * 4 + ["nobody"]
_VICTIMS = 300  # players that are erased, so that those of the world stay
_DEEPEST = 6


def draw(rng: Random, routes: Routes, world: World) -> Request:
    route = rng.choice(routes.by_kind["api"])
    caller = rng.choice(_CALLERS) if rng.random() < 0.7 else rng.choice(list(world.credentials))
    request = Request(route.label, route.methods[0], filled_path(rng, route, world), caller)
    if request.method == "DELETE" and rng.random() < 0.9:
        request.path = re.sub(r"/players/[^/]*$", f"/players/v-{rng.randrange(_VICTIMS)}", request.path)
    request.query = _query(rng, route, world)
    if route.takes:
        request.headers["Content-Type"] = rng.choice(route.takes)
        request.body = _body(rng, route, routes, world)
    if caller in world.credentials:
        request.headers["Authorization"] = world.credentials[caller]
    elif rng.random() < 0.3:
        request.headers["Cookie"] = world.cookies["player in a browser"]
    return request


def filled_path(rng: Random, route: Route, world: World) -> str:
    """Its slots with what exists, in some cases with something odd."""

    def fill(slot: re.Match[str]) -> str:
        names = world.names.get(slot[1])
        return quote(rng.choice(names), safe="") if names and rng.random() < 0.92 else odd_escaped(rng)

    return re.sub(r"\{(\w+)\}", fill, route.path)


def _query(rng: Random, route: Route, world: World) -> str:
    pairs = [(name, _query_value(rng, name, schema, world)) for name, schema in route.query if rng.random() < 0.4]
    if pairs and rng.random() < 0.1:
        pairs.append((pairs[0][0], _query_value(rng, *route.query[0], world)))
    if rng.random() < 0.07:
        pairs.append((odd_escaped(rng), odd_escaped(rng)))
    return "&".join(f"{name}={value}" for name, value in pairs)


def _query_value(rng: Random, name: str, schema: Any, world: World) -> str:
    if rng.random() < 0.3:
        return odd_escaped(rng)
    value = good(rng, name, schema, {}, world)
    return escaped(value if isinstance(value, str) else json.dumps(value))


def _body(rng: Random, route: Route, routes: Routes, world: World) -> bytes:
    if not route.body or "json" not in route.takes[0]:
        return rng.randbytes(rng.choice((0, 1, 40, 5000))) if rng.random() < 0.7 else b'{"seed":1,"inputs":[]}'
    tree = good(rng, "", route.body, routes.components, world)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 3))):
        tree = broken_at(rng, tree, _MARK)
    text = json.dumps(tree, ensure_ascii=rng.random() < 0.5)
    marked = f'"{_MARK}"'
    while marked in text:
        text = text.replace(marked, odd_json(rng), 1)
    body = text.encode("utf-8", "surrogatepass")
    return mutate_bytes(rng, body) if rng.random() < 0.06 else body


def odd_json(rng: Random) -> str:
    kind = rng.random()
    if kind < 0.5:
        return rng.choice(JSON_TEXTS)
    if kind < 0.7:
        return json.dumps(odd_text(rng))
    return rng.choice(NUMBERS) if kind < 0.85 else json.dumps(rng.choice(MOMENTS))


def good(rng: Random, name: str, schema: Any, components: Any, world: World, depth: int = 0) -> Any:
    """A value as the schema has it, of what exists where the name says which."""
    while "$ref" in schema:
        schema = components[schema["$ref"].rpartition("/")[2]]
    for choices in ("anyOf", "oneOf", "allOf"):
        if choices in schema:
            return good(rng, name, rng.choice(schema[choices]), components, world, depth)
    if "const" in schema or "enum" in schema:
        return schema.get("const", rng.choice(schema.get("enum", [None])))
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = rng.choice(kind) if isinstance(kind, list) else kind
    if kind == "object":
        return _object(rng, schema, components, world, depth)
    if kind == "array":
        items = schema.get("items") or {"type": "string"}
        return [good(rng, name, items, components, world, depth + 1) for _ in range(rng.choice((0, 1, 1, 2, 5)))]
    return _plain(rng, name, kind, schema, world)


def _object(rng: Random, schema: Any, components: Any, world: World, depth: int) -> dict[str, Any]:
    required = set(schema.get("required", []))
    made = {
        name: good(rng, name, one, components, world, depth + 1)
        for name, one in schema.get("properties", {}).items()
        if name in required or (rng.random() < 0.35 and depth < _DEEPEST)
    }
    extra = schema.get("additionalProperties")
    if isinstance(extra, dict) and rng.random() < 0.5 and depth < _DEEPEST:
        made[rng.choice(["level", "build", "level:7", "jump"])] = good(rng, "", extra, components, world, depth + 1)
    return made


def _plain(rng: Random, name: str, kind: str, schema: Any, world: World) -> Any:
    if names := world.names.get(name):
        return rng.choice(names)
    if kind == "boolean":
        return rng.random() < 0.5
    if kind in {"integer", "number"}:
        low = int(schema.get("minimum", schema.get("exclusiveMinimum", 0)))
        return rng.randint(low, int(max(low, min(schema.get("maximum", low + 100), low + 100))))
    if kind == "null":
        return None
    if schema.get("format") == "uuid":
        return str(UUID(int=rng.randrange(2**128)))
    if schema.get("format") == "date-time":
        return rng.choice(["2026-11-18T12:00:00Z", "2026-01-01T00:00:00+02:00", *MOMENTS[:2]])
    return rng.choice(["7", "a", "level", "x1", "DE", "12.5", "https://a.example/a.png"])[: schema.get("maxLength", 50)]
