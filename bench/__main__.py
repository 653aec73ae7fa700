"""`make bench`: starts what it needs, measures, prints a table for people and one JSON object as the last line."""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

from bench.load import Measured, measure
from config.embedded.ports import free_port
from config.embedded.servers import embedded_servers

ROOT = Path(__file__).resolve().parent.parent


@contextmanager
def _serving(command: list[str], port: int, path: str) -> Iterator[None]:
    process = subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PORT": str(port)}, stderr=subprocess.DEVNULL)
    try:
        for _ in range(300):
            try:
                with urlopen(f"http://127.0.0.1:{port}{path}", timeout=2):
                    break
            except OSError:
                time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait(timeout=30)


def _run(*, seconds: float, clients: int) -> dict[str, Measured]:
    hello, web = free_port(), free_port()
    granian = [sys.executable, "-m", "granian", "--interface", "asgi", "--port", str(hello), "bench.hello:application"]
    with ExitStack() as running:
        folder = Path(running.enter_context(tempfile.TemporaryDirectory(prefix="rung-bench-")))
        servers = running.enter_context(embedded_servers(folder, durable=True))
        os.environ |= {"DATABASE_URL": servers.database_url, "VALKEY_URL": servers.valkey_url}
        os.environ |= {"RUNG_HOME": str(folder), "SECRET_KEY": "bench", "RUNG_LOG_LEVEL": "WARNING"}
        subprocess.run([sys.executable, "manage.py", "prepare"], cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        running.enter_context(_serving(granian, hello, "/"))
        running.enter_context(_serving([sys.executable, "-m", "config.web"], web, "/livez"))
        return {
            "hello": measure(hello, "/", clients=clients, seconds=seconds),
            "drf_mode_reads": measure(web, "/v1/games/demo/modes/lap", clients=clients, seconds=seconds),
            "drf_player_reads": measure(web, "/v1/games/demo/players/p-17", clients=clients, seconds=seconds),
        }


def main() -> None:
    arguments = argparse.ArgumentParser(prog="bench", description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="under a minute")
    options = arguments.parse_args()
    found = _run(seconds=4 if options.quick else 12, clients=32)
    print(f"{'what':<20}{'per s':>10}{'p50 ms':>10}{'p95 ms':>10}{'p99 ms':>10}{'of hello':>10}{'failed':>8}")
    result: dict[str, object] = {}
    for name, one in found.items():
        ratio = one.requests_per_second / found["hello"].requests_per_second
        print(
            f"{name:<20}{one.requests_per_second:>10,.0f}{one.p50_ms:>10}{one.p95_ms:>10}{one.p99_ms:>10}"
            f"{ratio:>10.3f}{one.failures:>8}"
        )
        result[name] = {field: getattr(one, field) for field in Measured.__slots__} | {"of_hello": round(ratio, 4)}
    print(json.dumps(result))


if __name__ == "__main__":
    main()
