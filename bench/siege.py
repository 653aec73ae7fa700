"""`python -m bench.siege`: thousands of strangers at once, and what game servers and players notice of it.

Scores with a key and ranks are asked for at a fixed rate from 127.0.0.1: while nothing else happens, while the
strangers do what they do to a bare responder beside (so that the same work is done on the same cores), while they do it
to Rung, and ten seconds later. Loopback only; everything ends by itself.
"""

import argparse
import json
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import asdict
from functools import partial
from typing import Any

from bench import load, reads, strangers, writes
from bench.apart import CONTEXT, watch_parent
from bench.connections import weight
from bench.house import House, house
from bench.load import Load, Measured
from bench.strangers import Siege

CLIENTS = 8
RANKS, SCORES = 200.0, 100.0  # a second
AFTER = 10.0  # seconds
CALM = 30.0  # that it is measured without strangers


class Square:
    """Where strangers and callers of ours are let loose together."""

    def __init__(self, running: House, pool: ProcessPoolExecutor) -> None:
        self.house, self.pool = running, pool
        self.web_mib = 0

    def ask(self, seconds: float) -> dict[str, Any]:
        """What our own callers see in that time."""
        each = int(SCORES * seconds * 2) // CLIENTS
        start = self.house.take_serials(each * CLIENTS)
        ranks = partial(reads.ranks, self.house.filled.players, "")
        singles = partial(writes.singles, self.house.filled, start, each)
        answers = {
            name: self.pool.submit(load.run, Load(self.house.web_port, CLIENTS, seconds, requests, rate=rate))
            for name, requests, rate in (("ranks", ranks, RANKS), ("scores", singles, SCORES))
        }
        self._wait(answers["scores"])
        return {name: _told(one.result()) for name, one in answers.items()}

    def besiege(self, port: int, seconds: float, addresses: int, kinds: list[str]) -> dict[str, Any]:
        siege = Siege(port, seconds + 2, addresses)
        coming = [self.pool.submit(strangers.act, kind, siege) for kind in kinds]
        time.sleep(2)
        seen = self.ask(seconds - 2)
        return seen | {"strangers": {one.kind: asdict(one) for one in (each.result() for each in coming)}}

    def _wait(self, asked: Future[Measured]) -> None:
        while not asked.done():
            self.web_mib = max(self.web_mib, weight(self.house.pid("web")))
            time.sleep(0.5)


def _told(seen: Measured) -> dict[str, float]:
    return {"p50_ms": seen.p50_ms, "p99_ms": seen.p99_ms, "answers": seen.answers, "failures": seen.failures}


def hold(running: House, *, seconds: float, addresses: int, kinds: list[str]) -> dict[str, Any]:
    with ProcessPoolExecutor(8, mp_context=CONTEXT, initializer=watch_parent) as pool:
        square = Square(running, pool)
        square.ask(5)  # so that all is warm
        told: dict[str, Any] = {"addresses": addresses, "quiet": square.ask(min(seconds, CALM))}
        quiet = square.web_mib
        told["beside"] = square.besiege(running.hello_port, seconds, addresses, kinds)
        square.web_mib = 0
        told["besieged"] = square.besiege(running.web_port, seconds, addresses, kinds)
        told |= {"web_mib_quiet": quiet, "web_mib_besieged": square.web_mib}
        time.sleep(AFTER)
        told["after"] = square.ask(min(seconds, CALM))
    for name in ("ranks", "scores"):
        told[f"{name}_p99_besieged/beside"] = round(
            told["besieged"][name]["p99_ms"] / told["beside"][name]["p99_ms"], 2
        )
    return told


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.siege", description=__doc__)
    parser.add_argument("--seconds", type=float, default=120)
    parser.add_argument("--players", type=int, default=10_000)
    parser.add_argument("--one-address", action="store_true", help="all strangers have the same")
    parser.add_argument("--kinds", default=",".join(strangers.KINDS), help="of strangers")
    asked = parser.parse_args()
    as_shipped = {"RUNG_CONNECTIONS_PER_ADDRESS": "", "RUNG_SOCKETS_PER_ADDRESS": ""}
    # the bare responder holds all who come: else it would turn them away, and have less to do than Rung
    holding_all = {"GRANIAN_BACKLOG": "4096", "GRANIAN_BACKPRESSURE": "65536"}
    with house(asked.players, **as_shipped, **holding_all) as running:
        running.top.write_bytes(b"{}")
        running.start("worker", "beat", "web", "hello")
        addresses, kinds = 1 if asked.one_address else 199, asked.kinds.split(",")
        told = hold(running, seconds=asked.seconds, addresses=addresses, kinds=kinds)
    print(json.dumps(told, indent=2))
    failures = [told[when][name]["failures"] for when in ("besieged", "after") for name in ("ranks", "scores")]
    return 1 if any(failures) else 0


if __name__ == "__main__":
    sys.exit(main())
