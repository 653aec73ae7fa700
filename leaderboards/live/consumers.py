"""`/ws`: one socket, messages with an `op`, each with an id of its own in the logs.

Plain ASGI: Channels' own consumers have a channel each on the layer and hop through a thread for every message.
"""

import asyncio
from collections.abc import Callable
from functools import partial
from math import ceil
from typing import Any, TypeVar

import structlog
from asgiref.typing import ASGIReceiveCallable, ASGISendCallable

from config import errors, problem
from config.address import address_of, network_of
from config.metrics import SOCKETS_CLOSED
from config.request_context import begin, current, new_request_id
from leaderboards.live import limits, looks, messages
from leaderboards.live.hub import Hub, hub
from leaderboards.live.limits import Connects, Pace
from leaderboards.live.looks import Papers, papers_of
from leaderboards.live.messages import Message
from leaderboards.live.origins import is_served, may_connect
from leaderboards.live.sockets import TOO_MANY, UNAUTHENTICATED, Socket
from leaderboards.live.subscriptions import BoardSubscription, RankSubscription

log = structlog.get_logger(__name__)
T = TypeVar("T")
_connects = Connects()
_PAUSES = (0.2, 0.5, 1.0)  # seconds


async def live_socket(scope: Any, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    await receive()  # websocket.connect
    address = network_of(address_of(scope))
    if wait := _connects.wait(address):
        SOCKETS_CLOSED.labels("rate").inc()
        await _refuse(scope, send, errors.RateLimited("There are too many new sockets.", retry_after=ceil(wait)))
        return
    if not is_served(scope):
        SOCKETS_CLOSED.labels("host").inc()
        await _refuse(scope, send, errors.InvalidRequest("The Host is not one that Rung serves (ALLOWED_HOSTS)."))
        return
    if not may_connect(scope):
        SOCKETS_CLOSED.labels("origin").inc()
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    await send({"type": "websocket.accept", "subprotocol": None, "headers": []})
    await LiveConsumer(hub, Socket(send, address=address), papers_of(scope)).serve(receive)


async def _refuse(scope: Any, send: Any, error: errors.DomainError) -> None:
    """Before it is opened, as an answer to a request, where the server can."""
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 1008, "reason": ""})
        return
    told = {"Content-Type": problem.CONTENT_TYPE, "X-Request-Id": current().request_id} | problem.headers_of(error)
    headers = [(name.lower().encode(), value.encode()) for name, value in told.items()]
    await send({"type": "websocket.http.response.start", "status": error.status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": problem.body_of(error)})


async def no_such_socket(scope: Any, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """Every other address: refused before it is opened, where Channels would raise for whoever tries doors."""
    await receive()
    await send({"type": "websocket.close", "code": 1000, "reason": ""})


class LiveConsumer:
    def __init__(self, hub: Hub, socket: Socket, papers: Papers) -> None:
        self.hub, self.socket, self.papers = hub, socket, papers
        self.pace = Pace()

    async def serve(self, receive: ASGIReceiveCallable) -> None:
        """Until either side has enough. What is read is obeyed one by one, so that nobody is asked for more at once."""
        await self.hub.enter(self.socket)
        reading = asyncio.get_running_loop().create_task(self._read(receive))
        try:
            await self.socket.ended
            reading.cancel()
            await asyncio.wait([reading])  # the server closes nothing that is being read from
            self.hub.unwatch_all(self.socket)
            await self.socket.close()
        finally:
            reading.cancel()
            self.hub.leave(self.socket)

    async def _read(self, receive: ASGIReceiveCallable) -> None:
        try:
            await self._admit()
            while not self.socket.ended.done():
                event: Any = await receive()
                if event["type"] == "websocket.disconnect":
                    self.socket.end(None)
                    return
                begin(new_request_id())
                await self._receive(event)
                await asyncio.sleep(0)  # messages that came together are read without a pause: let the replies go
        except Exception:
            log.exception("socket_failed")
            self.socket.end(1011)

    async def _admit(self) -> None:
        try:
            self.hub.crowd.check_address(self.socket)
            if self.papers.header:
                await self.hub.threads.run(partial(looks.check_header, self.papers))
        except errors.RateLimited as error:
            self._close_with(error, TOO_MANY, "address")
        except errors.Unauthenticated as error:
            self._close_with(error, UNAUTHENTICATED, "unauthenticated")

    async def _receive(self, event: Any) -> None:
        text = event.get("text")
        body = text.encode("utf-8", "surrogatepass") if text is not None else event.get("bytes") or b""
        if not self.pace.allows():
            self._close_with(errors.RateLimited("That was too many messages."), TOO_MANY, "flood")
        else:
            await self._answer(body)

    async def _answer(self, body: bytes) -> None:
        id_ = ""
        try:
            message = messages.read(body)
            id_ = message.id
            await self._obey(message)
        except Exception as error:
            known = problem.domain_error(error)
            if known is None:
                log.exception("message_failed")
            self._refuse(id_ or messages.id_in(body), known or errors.InternalError())

    async def _obey(self, message: Message) -> None:
        if message.op == "ping":
            self.socket.say(messages.PONG)
            return
        log.info("message", op=message.op)
        if message.op == "unsubscribe":
            if (known := self.socket.subscriptions.get(message.id)) is not None:
                self.hub.unwatch(known)
            self.socket.say(messages.unsubscribed(message.id))
        elif message.op == "subscribe":
            await self._subscribe(message)
        else:
            await self._follow(message)

    async def _subscribe(self, message: Message) -> None:
        watch = await self._watch_of(message)
        subscription = BoardSubscription(self.socket, self.papers, message, watch)
        await self.hub.watch(subscription)
        # alone where one is known: what it sees may be its own
        key = (watch.board, message.limit) if watch.player_id is None else object()
        try:
            top = await self._look(key, partial(looks.top_now, self.papers, message))
        except Exception:
            self.hub.unwatch(subscription)
            raise
        subscription.show(top.order, top.tail(message.limit))
        subscription.begin()

    async def _follow(self, message: Message) -> None:
        watch = await self._watch_of(message)
        subscription = RankSubscription(self.socket, self.papers, message, watch)
        await self.hub.watch(subscription)
        followed = watch.followed or ""
        try:
            rank = await self._look(object(), partial(looks.rank_now, self.papers, message, followed))
        except Exception:
            self.hub.unwatch(subscription)
            raise
        subscription.show(rank)
        subscription.begin()

    async def _look(self, key: object, act: Callable[[], T]) -> T:
        """A board that is just being made is waited for a little."""
        for pause in _PAUSES:
            try:
                return await self.hub.threads.once(key, act)
            except errors.Unavailable:
                await asyncio.sleep(pause)
        return await self.hub.threads.once(key, act)

    async def _watch_of(self, message: Message) -> looks.Watch:
        limits.check_subscriptions(self.socket, message.id)
        watch = await self.hub.threads.run(partial(looks.watch_of, self.papers, message))
        self.hub.crowd.check_player(watch, self.socket)
        return watch

    def _close_with(self, error: errors.DomainError, code: int, why: str) -> None:
        SOCKETS_CLOSED.labels(why).inc()
        self._refuse("", error)
        self.socket.end(code)

    def _refuse(self, id_: str, error: errors.DomainError) -> None:
        self.socket.say(messages.error(id_, error))
