"""Callers who ask for much and read nothing cost others nothing."""

import socket
from contextlib import ExitStack

import httpx
import pytest

from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)
LARGE = "/static/drf_spectacular_sidecar/swagger-ui-dist/swagger-ui-bundle.js"
MORE_THAN_THREADS = 12


def test_others_are_answered_while_many_do_not_read(web: Web) -> None:
    request = f"GET {LARGE} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode() * 8
    with ExitStack() as open_sockets:
        for _ in range(MORE_THAN_THREADS):
            slow = open_sockets.enter_context(socket.socket())
            slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
            slow.connect(("127.0.0.1", web.port))
            slow.sendall(request)
        for _ in range(5):
            assert httpx.get(f"{web.origin}/v1/games", timeout=20).status_code == 200
            assert httpx.get(f"{web.origin}/livez", timeout=20).status_code == 200


def test_a_streamed_file_arrives_whole(web: Web) -> None:
    answer = httpx.get(web.origin + LARGE, headers={"Accept-Encoding": "identity"}, timeout=20)
    assert answer.status_code == 200
    assert len(answer.content) == int(answer.headers["content-length"]) > 1_000_000
