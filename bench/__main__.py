"""`make bench`: starts what it needs, measures, prints a table for people and one JSON object as the last line."""

import argparse
import signal
import sys
import time

from bench.house import house
from bench.plan import FULL, QUICK, STEPS, TINY, Plan
from bench.report import Report

NAMES = {name for names in STEPS for name in names.split()}
SIZES = {"full": FULL, "quick": QUICK, "tiny": TINY}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--quick", action="store_const", const="quick", dest="size", help="under a minute")
    parser.add_argument("--tiny", action="store_const", const="tiny", dest="size", help="only whether it works")
    parser.add_argument("--players", type=int, default=10_000, metavar="N", help="how many there are (%(default)s)")
    parser.add_argument("--only", default="", metavar="A,B", help=f"only some of {', '.join(sorted(NAMES))}")


def run(*, size: str | None, players: int, only: str) -> int:
    """How many requests failed."""
    names = {name for name in only.split(",") if name}
    if unknown := names - NAMES:
        sys.exit(f"bench: nothing is called {', '.join(sorted(unknown))}.")
    began = time.monotonic()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("stopped"))  # so that what was started is ended
    report = Report(players, quick=bool(size))
    with house(players) as running:
        running.start("hello", "web", "worker", "beat")
        Plan(running, SIZES[size or "full"], report).run(names)
    print(report.show(seconds=time.monotonic() - began), flush=True)
    return report.failures


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench", description=__doc__)
    add_arguments(parser)
    options = parser.parse_args()
    return 1 if run(size=options.size, players=options.players, only=options.only) else 0


if __name__ == "__main__":
    sys.exit(main())
