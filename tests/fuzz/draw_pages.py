"""Cases for everything else: pages, pictures, probes, static files, the documents, and sockets."""

import base64
import json
from random import Random

from tests.fuzz.draw_api import filled_path, odd_json
from tests.fuzz.request import Request
from tests.fuzz.target import CSRF, Routes, World
from tests.fuzz.values import BYTES, odd_escaped, odd_text

_CALLERS = ("nobody", "nobody", "player in a browser", "player in a browser", "superuser", "garbage")
_QUERY = ("page", "scope", "q", "cursor", "limit", "player", "lang", "next", "token", "theme", "rows", "around", "code")
_DEAR = ("/metrics", "/v1/openapi.json", "/readyz")
_OPS = ("subscribe", "follow", "unsubscribe", "ping", "x", 1, None)
_FRAME_BITS = (0x81, 0x81, 0x81, 0x82, 0x89, 0x8A, 0x88, 0x01, 0x80, 0x83, 0xF1, 0xC1)


def draw(rng: Random, routes: Routes, world: World) -> Request:
    kind = rng.choices(["page", "static", "other"], (6, 2, 2))[0]
    route = rng.choice(routes.by_kind[kind])
    while route.path in _DEAR and rng.random() < 0.8:
        route = rng.choice(routes.by_kind[kind])
    method = "POST" if "POST" in route.methods and rng.random() < 0.15 else "GET"
    caller = rng.choice(_CALLERS)
    request = Request(route.label, method, filled_path(rng, route, world), caller)
    request.headers["Cookie"] = world.cookies[caller]
    request.query = _query(rng, world)
    if method == "POST":
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        pairs = [f"{rng.choice(('language', 'next', 'x'))}={odd_escaped(rng)}", f"csrfmiddlewaretoken={CSRF}"]
        request.body = "&".join(pairs).encode("latin-1", "replace")
    if route.path == "/ws":
        return socket(rng, world)
    return request


def _query(rng: Random, world: World) -> str:
    pairs = []
    while rng.random() < 0.4:
        name = rng.choice(_QUERY) if rng.random() < 0.9 else odd_escaped(rng)
        names = world.names.get(name)
        pairs.append(f"{name}={rng.choice(names) if names and rng.random() < 0.5 else odd_escaped(rng)}")
    return "&".join(pairs)


def socket(rng: Random, world: World) -> Request:
    """A handshake and some frames, on a connection of its own."""
    caller = rng.choice(_CALLERS)
    key = base64.b64encode(rng.randbytes(16)).decode()
    request = Request("socket /ws", "GET", "/ws" if rng.random() < 0.95 else "/ws" + odd_escaped(rng), caller)
    request.headers = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    request.headers |= {"Sec-WebSocket-Key": key, "Cookie": world.cookies[caller]}
    if rng.random() < 0.2:
        request.headers["Sec-WebSocket-Protocol"] = rng.choice(["x", "", "a, b"])
    request.frames = [_frame(rng, _message(rng, world)) for _ in range(rng.randrange(1, 6))]
    return request


def _message(rng: Random, world: World) -> bytes:
    message = {"op": rng.choice(_OPS), "id": "s1"}
    for name in ("game", "mode", "window", "scope", "player_id", "token"):
        if rng.random() < 0.8:
            message[name] = rng.choice(world.names[name]) if rng.random() < 0.85 else odd_text(rng)
    text = json.dumps(message)
    if rng.random() < 0.3:
        text = text.replace('"s1"', odd_json(rng))
    return text.encode("utf-8", "surrogatepass") if rng.random() < 0.95 else rng.choice(BYTES) + text.encode()


def _frame(rng: Random, content: bytes) -> bytes:
    """Masked, as clients do; its first byte is one that there should not be, in some cases."""
    first = 0x81 if rng.random() < 0.8 else rng.choice(_FRAME_BITS)
    length = len(content)
    if length < 126:
        head = bytes([first, 0x80 | length])
    else:
        head = bytes([first, 0x80 | 126]) + min(length, 65535).to_bytes(2, "big")
    return head + b"\0\0\0\0" + content[:65535]
