"""Findings, each kind told once in full; and how far it is."""

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass

from tests.fuzz.attack import Seen
from tests.fuzz.log import Block
from tests.fuzz.request import Request

_MUCH = 0.01  # the share of 503s beyond which limits hide what the product would have said
_DEAREST = 8


@dataclass(frozen=True)
class Finding:
    route: str
    what: str


class Report:
    """`request_of`: the case of a number, drawn again."""

    def __init__(
        self, seed: int, cases: int, request_of: Callable[[int], Request], say: Callable[[str], object]
    ) -> None:
        self.seed, self.cases = seed, cases
        self.seen, self.findings = Seen(), Counter[Finding]()
        self._request_of, self._say = request_of, say
        self._began = time.monotonic()
        self._explained: dict[int, str] = {}  # by case: the exception in the log

    def log(self, block: Block) -> None:
        if block.number is not None:
            self._explained[block.number] = block.exception
        self._find(block.number, block.exception, block.text)

    def add(self, seen: Seen) -> None:
        """Read the log before: what it explains is not told twice."""
        self.seen.add(seen)
        for number, what in seen.faults:
            if number not in self._explained:
                self._find(number, what, "")

    def tell(self, what: str) -> None:
        """What is no case's own."""
        self._find(None, what, "")

    def _find(self, number: int | None, what: str, lines: str) -> None:
        request = self._request_of(number) if number is not None else None
        finding = Finding(request.route if request else "–", what)
        self.findings[finding] += 1
        if self.findings[finding] > 1:
            return
        raw = request.raw(0)[:3000] if request else b""
        self._say(
            f"\nFINDING {len(self.findings)}: {finding.what}\n  route {finding.route} · seed {self.seed}"
            f" · case {number} · caller {request.caller if request else '–'}\n"
            f"  again: python -m tests.fuzz --seed {self.seed} --case {number}\n  {raw!r}\n{lines}\n"
        )

    def progress(self) -> str:
        done, seconds = self.seen.statuses.total(), time.monotonic() - self._began
        rate = done / seconds
        left = int((self.cases - done) / rate) if rate else 0
        classes: Counter[str] = Counter()
        for status, count in self.seen.statuses.items():
            classes[f"{status[0]}xx" if status.isdigit() else status] += count
        shares = " ".join(f"{name} {count:,}" for name, count in sorted(classes.items()))
        eta = f"{left // 60}:{left % 60:02}"
        return f"{done:>11,} of {self.cases:,}  {rate:,.0f}/s  {shares}  findings {len(self.findings)}  left {eta}"

    def summary(self) -> str:
        lines = [self.progress(), "", f"{len(self.seen.routes)} routes. Dearest:"]
        seconds = sorted(self.seen.seconds.items(), key=lambda one: -one[1])[:_DEAREST]
        lines += [f"  {took:8.1f} s  {self.seen.routes[route]:>7,} × {route}" for route, took in seconds]
        lines.append("2xx: " + ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.seen.done.items())))
        unavailable = self.seen.statuses["unavailable"]
        if unavailable:
            lines.append(f"{unavailable:,} answers were 503 `unavailable`.")
        if unavailable > _MUCH * self.cases:
            lines.append("That is much: something sheds load, and hides what it would have answered.")
        lines += [f"FINDING {count:>6} × {one.route}: {one.what}" for one, count in self.findings.most_common()]
        verdict = "No failure of ours." if not self.findings else f"{len(self.findings)} findings."
        return "\n".join([*lines, f"seed {self.seed}: {verdict}"])
