"""The yardstick: a constant answer by bare ASGI on the same server."""

from typing import Any

_BODY = b'{"hello":"rung"}'
_START = {
    "type": "http.response.start",
    "status": 200,
    "headers": [(b"content-type", b"application/json"), (b"content-length", str(len(_BODY)).encode())],
}
_END = {"type": "http.response.body", "body": _BODY}


async def application(scope: dict[str, Any], receive: Any, send: Any) -> None:
    if scope["type"] == "http":
        await send(_START)
        await send(_END)
