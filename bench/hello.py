"""The yardstick: a constant answer by bare ASGI on the same server, and at /top the bytes of a list of a hundred."""

import os
from functools import cache
from pathlib import Path
from typing import Any

Message = dict[str, Any]


def _answer(body: bytes) -> tuple[Message, Message]:
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    start = {"type": "http.response.start", "status": 200, "headers": headers}
    return start, {"type": "http.response.body", "body": body}


@cache
def _top() -> tuple[Message, Message]:
    return _answer(Path(os.environ["BENCH_TOP"]).read_bytes())


_HELLO = _answer(b'{"hello":"rung"}')


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        start, end = _top() if scope["path"] == "/top" else _HELLO
        await send(start)
        await send(end)
