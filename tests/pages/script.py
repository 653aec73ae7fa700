"""A server that plays every part the contract of live boards has, for pages that watch one."""

import json
from decimal import Decimal
from typing import Any

from config import wire
from tests.pages.browser import Visitor, wait_for

NAMES = "[...document.querySelectorAll('[data-rows] .entry .name')].map(one => one.textContent).join()"
PULSE = "document.querySelector('[data-pulse-text]').textContent"


class Script:
    """The other end of the page's socket."""

    def __init__(self, visitor: Visitor) -> None:
        self.visitor, self.heard, self.sockets = visitor, list[dict[str, Any]](), list[Any]()
        page = visitor.page._target  # noqa: SLF001 - the route is called over there, with the real thing
        visitor.page.there(lambda: page.route_web_socket("**/ws", self._opened))

    def _opened(self, socket: Any) -> None:
        self.sockets.append(socket)
        socket.on_message(lambda text: self.heard.append(json.loads(text)))

    def tell(self, kind: str, seq: int, entries: list[dict[str, Any]], **fields: Any) -> None:
        message = {"type": kind, "id": "b0", "seq": seq, "version": seq, "total": len(entries), "entries": entries}
        text = wire.encode(message | fields).decode()
        self.visitor.page.there(lambda: self.sockets[-1].send(text))

    def hang_up(self) -> None:
        self.visitor.page.there(lambda: self.sockets[-1].close(code=1012))

    def wait(self, expression: str) -> None:
        wait_for(self.visitor.page, expression)

    def wait_for_ops(self, *ops: str) -> None:
        for _ in range(900):
            if [one["op"] for one in self.heard] == list(ops):
                return
            self.visitor.page.wait_for_timeout(50)
        raise AssertionError(self.heard)


def entry(rank: int, player: str, score: int | Decimal, **fields: Any) -> dict[str, Any]:
    shown = {"display_name": player, "country": None, "avatar_url": None, "achieved_at": "2026-04-05T09:12:33Z"}
    return {"rank": rank, "player_id": player, "score": score} | shown | fields
