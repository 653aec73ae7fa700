"""A player's scores and attempts over time, as charts and as tables."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import accumulate

from django.utils.formats import date_format
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from leaderboards.careers import Career, Done
from leaderboards.models import Mode
from leaderboards.pages import charts, numbers
from leaderboards.pages.charts import Bar, Line, Point, Words
from leaderboards.rules import encoding
from leaderboards.rules.windows import Kind, timezone_named

MOST_MODES = 4  # drawn, those played last
DAYS = 30  # of attempts
_ROWS = 30  # of a table
_MOST_POINTS = 100


@dataclass(frozen=True, slots=True)
class Chart:
    """`rows`: the same in words, newest first."""

    title: str
    picture: SafeString
    heads: tuple[str, str]
    rows: list[tuple[str, str]]


def score_charts(known: Career, modes: Mapping[int, Mode], *, now: datetime, whole: bool) -> list[Chart]:
    """Of each mode, those played last first. `whole`: for who may know of what was on no board."""
    by_mode: dict[int, list[Done]] = defaultdict(list)
    for one in known.done:
        if one.counts and one.mode in modes:
            by_mode[one.mode].append(one)
    latest = sorted(by_mode, key=lambda mode: by_mode[mode][-1].at, reverse=True)[:MOST_MODES]
    tracks = [(_Track(modes[mode], _span(known, by_mode[mode])), by_mode[mode]) for mode in latest]
    return [_score_chart(track, done, now=now, whole=whole) for track, done in tracks]


def attempts_chart(known: Career, *, now: datetime) -> Chart | None:
    """Each day's, of the last thirty (UTC)."""
    days = [now.date() - timedelta(days=back) for back in reversed(range(DAYS))]
    counted = Counter(one.at.date() for one in known.done)
    found = [(day, counted[day]) for day in days]
    total, most = sum(count for _day, count in found), max(count for _day, count in found)
    if not total:
        return None
    if known.since and known.since.date() >= days[0]:
        said = ngettext("The last attempt", "The last %(count)s attempts", total)
    else:
        said = ngettext("%(count)s attempt in 30 days", "%(count)s attempts in 30 days", total)
    label = said % {"count": numbers.whole(total)}
    picture = charts.bars(
        [Bar(count, f"{_day_name(day)}: {numbers.whole(count)}") for day, count in found],
        Words(label, _day_name(days[0]), _day_name(days[-1]), numbers.whole(most)),
    )
    rows = [(_day_name(day), numbers.whole(count)) for day, count in reversed(found) if count]
    return Chart(label, picture, (_("Day"), _("Attempts")), rows)


def _span(known: Career, done: Sequence[Done]) -> str:
    """What a chart of these is drawn from."""
    if known.since is None:
        return _("in 90 days")
    said = ngettext("in the last attempt", "in the last %(count)s attempts", len(done))
    return said % {"count": numbers.whole(len(done))}


def _score_chart(track: "_Track", done: Sequence[Done], *, now: datetime, whole: bool) -> Chart:
    mode = track.mode
    line = Line(track.line(done), track.dots(done) if whole or Kind.DAILY in mode.windows else [], track.stepped)
    shown = [point.value for point in (*line.points, *line.dots)]
    words = Words(
        label=_("%(mode)s: %(kind)s, now %(score)s") % track.said(line.points[-1].value),
        first=_day_name(done[0].at.date()),
        last=_("now"),
        reach=" – ".join(dict.fromkeys((track.text(min(shown)), track.text(max(shown))))),
    )
    picture = charts.line(line, words, since=done[0].at, until=max(now, done[-1].at))
    rows = [(_day_name(point.at.date()), track.text(point.value)) for point in reversed(line.points)][:_ROWS]
    return Chart(f"{mode.title}: {track.kind}", picture, (_("Day"), _("Score")), rows)


class _Track:
    """How a mode's scores become a line: its best so far, its total, or each score as it came."""

    def __init__(self, mode: Mode, span: str) -> None:
        self.mode, self.zone = mode, timezone_named(mode.timezone)
        self.sign = -1 if mode.order == "asc" else 1
        self.stepped = mode.aggregation != "latest"
        kinds = {"sum": _("points gathered %(span)s"), "latest": _("latest score")}
        self.kind = kinds.get(mode.aggregation, _("best score %(span)s")) % {"span": span}

    def line(self, done: Sequence[Done]) -> list[Point]:
        if self.mode.aggregation == "best":
            return [self._point(one.at, one.score) for one in self._bests(done)]
        if self.mode.aggregation == "sum":
            totals = accumulate(one.score for one in done)
            return _thinned([self._point(one.at, total) for one, total in zip(done, totals, strict=True)])
        return _thinned([self._point(one.at, one.score) for one in done])

    def dots(self, done: Sequence[Done]) -> list[Point]:
        """The best of each day, in the mode's days; of totals there is none."""
        if self.mode.aggregation == "sum":
            return []
        days: dict[date, Done] = {}
        for one in done:
            day = one.at.astimezone(self.zone).date()
            if day not in days or self.sign * one.score > self.sign * days[day].score:
                days[day] = one
        return [self._point(one.at, one.score) for one in days.values()]

    def _bests(self, done: Iterable[Done]) -> Iterable[Done]:
        best: int | None = None
        for one in done:
            if best is None or self.sign * one.score > self.sign * best:
                best = one.score
                yield one

    def _point(self, at: datetime, raw: int) -> Point:
        return Point(at, raw, f"{_day_name(at.date())}: {self.text(raw)}")

    def said(self, raw: float) -> dict[str, str]:
        return {"mode": self.mode.title, "kind": self.kind, "score": self.text(raw)}

    def text(self, raw: float) -> str:
        return numbers.score_text(encoding.unscale(int(raw), self.mode.decimals), self.mode.decimals)


def _thinned(points: list[Point]) -> list[Point]:
    """The last of each day, where more could not be told apart."""
    return points if len(points) <= _MOST_POINTS else list({point.at.date(): point for point in points}.values())


def _day_name(day: date) -> str:
    return date_format(day, "MONTH_DAY_FORMAT")
