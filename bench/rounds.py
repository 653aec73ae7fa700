"""`python -m bench.rounds OLD [NEW]`: is the new commit slower than the old one?

Both commits are checked out into a temporary folder, each with its own virtual environment. Then their own `bench` runs
in turn: old, new, old again (the control), in another order each round. A ratio counts as lower when the median of the
new commit is below that of the old by more than the control differs from the old, plus five percent.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from statistics import median
from typing import NamedTuple

from bench.report import RATIOS

PROJECT = Path(__file__).parent.parent
NAMES = ("old", "new", "control")
ALLOWED = 0.05
Found = dict[str, dict[str, list[float]]]  # by ratio, by name


def _checked_out(commit: str, folder: Path) -> Path:
    make = ("make", "--silent", ".venv/installed-dev")
    clone, checkout = ("git", "clone", "--quiet", str(PROJECT), str(folder)), ("git", "checkout", "--quiet", commit)
    subprocess.run(clone, check=True)
    subprocess.run(checkout, cwd=folder, check=True)
    subprocess.run(make, cwd=folder, check=True, stdout=sys.stderr)
    return folder


def _ratios(folder: Path, *arguments: str) -> dict[str, float]:
    command = [".venv/bin/python", "-m", "bench", *arguments]
    run = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if run.returncode:
        sys.exit(f"rounds: the bench of {folder.name} failed; try it there by hand: {' '.join(command)}")
    said = json.loads(run.stdout.splitlines()[-1])
    return {name: float(said[name]) for name in map("/".join, RATIOS) if name in said}


def _measure(folders: dict[str, Path], rounds: int, arguments: list[str]) -> Found:
    found: Found = defaultdict(lambda: defaultdict(list))
    for number in range(rounds):
        began = time.monotonic()
        first = number % len(NAMES)
        for name in NAMES[first:] + NAMES[:first]:
            for ratio, value in _ratios(folders[name], *arguments).items():
                found[ratio][name].append(value)
        print(f"round {number + 1} of {rounds}: {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return found


class Verdict(NamedTuple):
    ratio: str
    old: float
    new: float
    control: float

    @property
    def spread(self) -> float:
        return abs(self.control / self.old - 1)

    @property
    def change(self) -> float:
        return self.new / self.old - 1

    @property
    def is_lower(self) -> bool:
        return self.change < -(self.spread + ALLOWED)

    def __str__(self) -> str:
        cells = (self.old, self.new, self.control, self.spread, self.change)
        return f"{self.ratio:<34}" + "".join(f"{cell:>9.3f}" for cell in cells) + ("  LOWER" if self.is_lower else "")


def verdicts(found: Found) -> list[Verdict]:
    return [Verdict(ratio, *(median(values[name]) for name in NAMES)) for ratio, values in found.items()]


def main() -> int:
    parser = argparse.ArgumentParser(prog="bench.rounds", description=__doc__)
    parser.add_argument("old", help="a commit")
    parser.add_argument("new", nargs="?", default="HEAD")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("bench", nargs="*", default=["--quick"], help="after --: what each bench is told (--quick)")
    asked = parser.parse_args()
    only = ",".join(name for name, _ in RATIOS)
    with tempfile.TemporaryDirectory(prefix="rung-rounds-", ignore_cleanup_errors=True) as folder:
        places = {name: _checked_out(getattr(asked, name), Path(folder) / name) for name in ("old", "new")}
        found = _measure(places | {"control": places["old"]}, asked.rounds, [*asked.bench, "--only", only])
    told = verdicts(found)
    print(f"{'ratio':<34}" + "".join(f"{name:>9}" for name in (*NAMES, "spread", "change")))
    print(*told, sep="\n")
    print(json.dumps({"rounds": asked.rounds, "found": found}))
    return 1 if any(verdict.is_lower for verdict in told) else 0


if __name__ == "__main__":
    sys.exit(main())
