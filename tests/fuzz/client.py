"""A keep-alive connection that sends bytes as they are, and reads what HTTP comes back."""

import asyncio
from dataclasses import dataclass, field

from tests.fuzz.request import Request

PATIENCE = 40.0  # seconds for one answer; our own queues give up after ten
_SOCKET_SECONDS = 0.1  # that frames on a socket may take to be answered
_LARGEST = 32 * 1024 * 1024
_KEPT = 4096  # bytes of a body
_BODILESS = (204, 304)
_SWITCHED = 101
_OK = 200


class NoAnswer(Exception):
    pass


@dataclass
class Answer:
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes = b""


class Connection:
    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(self, request: Request) -> Answer:
        """On a fresh connection where the old one was closed meanwhile; raises NoAnswer or OSError."""
        reused = self._reader is not None and not self._reader.at_eof()
        try:
            return await asyncio.wait_for(self._ask(request, fresh=not reused or bool(request.frames)), PATIENCE)
        except TimeoutError:
            self.close()
            raise NoAnswer(f"no answer within {PATIENCE:.0f} seconds") from None
        except (NoAnswer, ConnectionError):
            self.close()
            if not reused or request.frames:
                raise
        return await asyncio.wait_for(self._ask(request, fresh=True), PATIENCE)

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
        self._reader = self._writer = None

    async def _ask(self, request: Request, *, fresh: bool) -> Answer:
        if fresh or self._reader is None or self._writer is None:
            self.close()
            self._reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port, limit=_LARGEST)
        reader, writer = self._reader, self._writer
        writer.write(request.raw(self._port))
        answer = await _head(reader)
        if answer.status == _SWITCHED:
            await _talk(reader, writer, request.frames)
            self.close()
            return answer
        if request.method != "HEAD" and answer.status not in _BODILESS:
            answer.body = await _body(reader, answer.headers)
        connected = request.method == "CONNECT" and answer.status == _OK
        if connected or answer.headers.get("connection", "").lower() == "close":
            self.close()
        return answer


async def _head(reader: asyncio.StreamReader) -> Answer:
    while True:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as broken:
            raise NoAnswer(f"closed without an answer, after {broken.partial[:100]!r}") from None
        lines = head.decode("latin-1").split("\r\n")
        status = int(lines[0].split(" ")[1])
        if status >= _OK or status == _SWITCHED:
            pairs = (line.partition(":") for line in lines[1:] if line)
            return Answer(status, {name.lower(): value.strip() for name, _, value in pairs})


async def _body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    try:
        if headers.get("transfer-encoding") == "chunked":
            return await _chunks(reader)
        if "content-length" in headers:
            return (await reader.readexactly(int(headers["content-length"])))[:_KEPT]
        return (await reader.read())[:_KEPT]
    except asyncio.IncompleteReadError:
        raise NoAnswer("closed in the middle of an answer") from None


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    kept = b""
    while size := int((await reader.readuntil(b"\r\n")).split(b";")[0], 16):
        chunk = await reader.readexactly(size + 2)
        kept += chunk[: max(0, _KEPT - len(kept))]
    await reader.readexactly(2)
    return kept


async def _talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, frames: list[bytes]) -> None:
    """Whatever is answered to frames is good; what they break shows in the log."""
    for frame in frames:
        writer.write(frame)
    try:
        async with asyncio.timeout(_SOCKET_SECONDS):
            while await reader.read(65536):
                pass
    except (TimeoutError, ConnectionError):
        pass
