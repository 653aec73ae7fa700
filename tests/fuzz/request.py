"""A request as bytes: the target, odd headers, the body."""

from dataclasses import dataclass, field
from random import Random
from urllib.parse import quote

from tests.fuzz.values import BYTES, MOMENTS, odd_text

Headers = dict[str, str]
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "BREW", "get", "PROPFIND", "CONNECT")
_ODD = {
    "Content-Type": [
        *("application/json", "application/json; charset=utf-16", "application/json; charset=nonsense", "text/plain"),
        *("multipart/form-data", "multipart/form-data; boundary=", "multipart/form-data; boundary=\xff", "x", "", "/"),
        *("application/x-www-form-urlencoded; charset=utf-7", "application/x-www-form-urlencoded; charset=idna"),
        *(
            "application/octet-stream",
            "multipart/form-data; boundary=b; charset=rot13",
            ";;;",
            "application/json;" * 40,
        ),
    ],
    "Content-Encoding": ["gzip", "br", "identity", "deflate", "nonsense", ""],
    "Accept": ["*/*", "text/html", "application/xml", ";;;", "", "application/json;q=nan", "*" * 500, "a/b;indent=9e9"],
    "Accept-Language": ["de", "xx", "de;q=9", "*", "-", "a" * 3000, "en-" * 500, "de_DE@euro", "\xff", "zh-hans,;q=x"],
    "Accept-Encoding": ["gzip", "gzip;q=0", "identity;q=0", "*", "br;q=nan", ",,,", "gzip;q=x"],
    "Range": ["bytes=0-1", "bytes=-1", "bytes=5-2", "bytes=0-0,1-1", "items=1", "bytes=" + "9" * 30 + "-", "bytes=a-b"],
    "If-None-Match": ['"x"', "*", 'W/"x"', '"', ",", "\xff"],
    "If-Modified-Since": [*MOMENTS[:4], "Thu, 01 Jan 1970 00:00:00 GMT", "Thu, 99 Jan 99999 00:00:00 GMT", "x"],
    "If-Match": ['"x"', "*"],
    "If-Range": ['"x"', "x"],
    "Idempotency-Key": ["x", "", "é", "x" * 300, '"8e03978e-40d5-43dd-bc93-6894a57f9324"', "\x01"],
    "Prefer": ["wait=1", "respond-async", "wait=nan", "return=minimal; x=\xff", "wait=-1", "wait=" + "9" * 400],
    "X-Forwarded-For": ["1.2.3.4", "::1", "x", "1.2.3.4, " * 50, "", "[::1]:80", "\xff", "%eth0", "fe80::1%eth0"],
    "X-Forwarded-Proto": ["https", "http", "x", "https,http"],
    "X-Forwarded-Host": ["evil.example", "", "[", "a:b:c"],
    "Forwarded": ["for=x", "for=1.2.3.4;proto=https", ";;;"],
    "X-Http-Method-Override": ["DELETE", "BREW"],
    "X-Requested-With": ["XMLHttpRequest"],
    "Origin": ["null", "http://evil.example", "http://[::1", "http://127.0.0.1", "\xff", ""],
    "Referer": ["http://evil.example/", "http://[::1", "//", "\xff", "http://127.0.0.1:99999/"],
    "User-Agent": ["", "x" * 5000, "\xff\xfe", "Mozilla/5.0 (X11)"],
    "Sec-Fetch-Site": ["cross-site", "none", "x"],
    "Expect": ["100-continue", "x"],
    "Connection": ["close", "keep-alive, upgrade", "x"],
    "Upgrade": ["h2c", "websocket", "x"],
    "Traceparent": ["00-0-0-00", "x"],
    "Authorization": [
        *("", "Bearer", "Bearer ", "Basic eDp5", "Bearer \xff", "Bearer a.b.c", "bearer rung_x_y", "Digest x=y"),
        *(
            "Bearer rung_00000000_" + "0" * 48,
            "Bearer " + "x" * 5000,
            "Bearer eyJhbGciOiJub25lIn0.e30.",
            "Bearer ..",
            "x",
        ),
    ],
    "Cookie": [
        *("sessionid=", "sessionid=" + "x" * 32, "sessionid=../x; csrftoken=\xff", "=;=;", "rung_browser=x:y:z"),
        *("django_language=xx", "django_language=de", "csrftoken=" + "y" * 32, "messages=x", "sessionid=\x01"),
        *('messages="W1siX19qc29uX21lc3NhZ2UiXV0:x:y"', "a" * 4000, "django_timezone=x", "sessionid=a; sessionid=b"),
    ],
    "Host": [
        "evil.example",
        "",
        "127.0.0.1:99999",
        "[::1",
        "localhost",
        "127.0.0.1, x",
        "\xff",
        "a" * 300,
        "127.0.0.1:x",
    ],
    "X-Request-Id": ["", "x" * 65, "a b", "\xff", "ok-id"],
    "X-CSRFToken": ["", "x" * 64, "\xff"],
}
_SAFE_BYTES = "/?&=%:@!$'()*+,;~-._[]{}|^`<>\"\\"


@dataclass
class Request:
    """`route`: its label; `caller`: whose credentials it has; `frames`: what follows on a socket."""

    route: str
    method: str
    path: str  # percent-encoded
    caller: str = "nobody"
    query: str = ""
    headers: Headers = field(default_factory=dict)
    body: bytes = b""
    frames: list[bytes] = field(default_factory=list)

    def raw(self, port: int) -> bytes:
        """Latin-1 in headers, as servers read them; the length is always right, or nobody would be answered."""
        target = quote(self.path + (f"?{self.query}" if self.query else ""), safe=_SAFE_BYTES, errors="surrogatepass")
        headers = {"Host": f"127.0.0.1:{port}"} | self.headers
        if self.body or self.method in {"POST", "PUT", "PATCH"}:
            headers["Content-Length"] = str(len(self.body))
        lines = [f"{self.method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in headers.items())]
        return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + self.body


def make_odd(rng: Random, request: Request) -> None:
    """Headers that no client sends, a method that the route has not; of some requests only."""
    while rng.random() < 0.25:
        name = rng.choice(list(_ODD))
        request.headers[name] = _one_line(rng.choice(_ODD[name]) if rng.random() < 0.85 else odd_text(rng))
    if rng.random() < 0.04:
        request.method = rng.choice(_METHODS)
    if rng.random() < 0.01:
        request.headers |= {f"X-Odd-{n}": "x" for n in range(rng.choice((5, 90, 120)))}
    if rng.random() < 0.01:
        request.path += rng.choice(["/", "//", "/..", "/.", "%2f", "%00", ";x", ".json", "?", "/" + "x" * 3000])
    if rng.random() < 0.005:
        request.body = rng.choice(BYTES) * rng.choice((1, 1000, 30_000))


def _one_line(value: str) -> str:
    """A line break would begin another header, or another request: bytes that are no HTTP are tested elsewhere."""
    return value.replace("\r", "").replace("\n", "")
