"""`Content-Length`: too many digits, signs, spaces, two of them, or one beside chunks are refused at once."""

import socket

import pytest

from tests.factories import make_game, make_key
from tests.live import Web

pytestmark = pytest.mark.django_db(transaction=True)
LENGTHS = [
    "9" * 18, "9" * 19, "9" * 20, "9" * 40, "1" + "0" * 30, "18446744073709551616", "18446744073709551618",
    "+2", "-2", "-0", "0x2", "2 2", "2,2", "2, 2", "2.0", "1e1", "", "٢", "2_0",
]  # fmt: skip


@pytest.mark.parametrize(
    "path", ["/v1/games/arena/scores", "/v1/games/arena/modes/solo/scores", "/v1/games/arena/players/p"]
)
@pytest.mark.parametrize("length", LENGTHS)
def test_a_length_that_is_no_number_of_bytes(web: Web, path: str, length: str) -> None:
    assert _status(web, path, [f"Content-Length: {length}"]) in (400, 413)


@pytest.mark.parametrize(
    "headers",
    [
        ["Content-Length: 2", "Content-Length: 3"],
        ["Content-Length: 2", "Content-Length: 2"],
        ["Content-Length: 2", "Transfer-Encoding: chunked"],
        ["Transfer-Encoding: chunked", "Content-Length: 2"],
        ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked", "Content-Length: 99999999999999999999"],
        ["Transfer-Encoding: gzip"],
        ["Transfer-Encoding: chunked, identity"],
        ["Content-Length : 2"],
    ],
)
def test_lengths_that_contradict_each_other(web: Web, headers: list[str]) -> None:
    assert _status(web, "/v1/games/arena/scores", headers) == 400


def _status(web: Web, path: str, headers: list[str]) -> int:
    key = make_key(make_game("arena"))
    lines = ["POST " + path + " HTTP/1.1", "Host: 127.0.0.1", f"Authorization: Bearer {key}", *headers]
    head = "\r\n".join([*lines, "Content-Type: application/json", "", ""])
    with socket.create_connection(("127.0.0.1", web.port), timeout=60) as connection:
        connection.sendall(head.encode() + b"{}")
        return int(connection.recv(65_536).split(b" ", 2)[1])
