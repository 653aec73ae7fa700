"""Somebody else's site, on an origin of its own."""

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def site(body: str) -> Iterator[str]:
    """Its address. Another host and another port than Rung's: to a browser it has nothing to do with us."""
    page = f'<!doctype html><html lang="en"><title>Games</title>{body}'.encode()

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *told: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        threading.Thread(target=server.serve_forever).start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()
