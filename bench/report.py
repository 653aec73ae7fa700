"""What was found, for people and for programs."""

import json
from collections import defaultdict
from datetime import UTC, datetime
from statistics import median

from bench.load import Measured

RATIOS = (
    ("batch_scores", "floor_both"),
    ("rank_reads", "hello"),
    ("around_reads", "hello"),
    ("around_reads_cold", "hello"),
    ("top100_reads", "hello_top_bytes"),
    ("single_writes_64", "hello"),
    ("single_writes_256", "hello"),
)
_QUANTILES = ("p50_ms", "p95_ms", "p99_ms")


class Report:
    """Everything is measured several times; a number is the median, and a ratio the median of those side by side."""

    def __init__(self, players: int, *, quick: bool) -> None:
        self._found: dict[str, list[float]] = defaultdict(list)
        self._head: dict[str, object] = {
            "at": datetime.now(UTC).isoformat(timespec="seconds"),
            "players": players,
            "quick": quick,
        }
        self.failures = 0

    def add(self, name: str, value: float) -> None:
        self._found[name].append(value)

    def add_requests(self, name: str, measured: Measured) -> None:
        self.add(name, measured.per_second)
        for quantile in _QUANTILES:
            self.add(f"{name}_{quantile}", getattr(measured, quantile))
        self.failures += measured.failures

    def add_pair(self, name: str, against: str) -> None:
        """The two that were measured last belong together."""
        if self._found[name] and self._found[against] and self._found[against][-1]:
            self.add(f"{name}/{against}", self._found[name][-1] / self._found[against][-1])

    def median(self, name: str) -> float | None:
        return median(self._found[name]) if self._found.get(name) else None

    def result(self, *, seconds: float) -> dict[str, object]:
        numbers = {name: _rounded(median(values)) for name, values in self._found.items() if values}
        if "single_writes_64" in numbers:
            numbers["single_writes"] = numbers["single_writes_64"]
        return self._head | numbers | {"failures": self.failures, "seconds": round(seconds, 1)}

    def show(self, *, seconds: float) -> str:
        result = self.result(seconds=seconds)
        lines = [f"{'what':<32}{'median':>12}{'p50 ms':>10}{'p95 ms':>10}{'p99 ms':>10}   all runs"]
        for name, values in self._found.items():
            if name.endswith(_QUANTILES) and name.rpartition("_p")[0] in self._found:
                continue
            quantiles = [result.get(f"{name}_{quantile}") for quantile in _QUANTILES]
            cells = "".join(f"{'' if one is None else one:>10}" for one in quantiles)
            runs = " ".join(f"{_rounded(value):,}" for value in values)
            lines.append(f"{name:<32}{_rounded(median(values)):>12,}{cells}   {runs}")
        lines.append(f"{self._head['players']:,} players, {seconds:.0f} s in all, {self.failures} failures")
        return "\n".join([*lines, json.dumps(result)])


def _rounded(value: float) -> float:
    return round(value) if abs(value) >= 100 else round(value, 3)  # noqa: PLR2004 - so many digits say enough
