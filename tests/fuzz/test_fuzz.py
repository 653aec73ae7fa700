"""`make fuzz` in short: some thousand cases over every route find no failure of ours; and what is one is found."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fuzz.draw import draw
from tests.fuzz.log import Log
from tests.fuzz.mend import Mender
from tests.fuzz.responder import responder, tiny_target
from tests.fuzz.run import fuzz_here, prepare
from tests.live import Web

SEED, CASES = 20_260, 3_000


@dataclass(frozen=True)
class Process:
    port: int
    log: Path

    def dead(self) -> str | None:
        return None


@pytest.mark.slow
@pytest.mark.xdist_group("fuzz")
def test_some_thousand_odd_requests_over_every_route_meet_no_failure_of_ours(web: Web) -> None:
    routes, world = prepare()
    told: list[str] = []
    report = fuzz_here(
        Process(web.port, web.log), routes, world, seed=SEED, cases=CASES, say=told.append, mender=Mender(world)
    )
    assert not report.findings, "\n".join([*told, report.summary()])
    assert report.seen.statuses.total() == CASES
    assert report.seen.statuses["unavailable"] < CASES / 100
    # they came past the doors: things were read, written, refused
    assert {"200", "201", "302", "400", "401", "403", "404", "405"} <= set(report.seen.statuses)
    assert min(report.seen.done[kind] for kind in ("api", "page", "admin", "static")) > 50, report.seen.done
    kinds = {route.partition(" ")[0] for route in report.seen.routes}
    assert kinds == {"api", "page", "admin", "static", "other", "socket"}


def test_each_fault_of_a_server_is_found(tmp_path: Path) -> None:
    (tmp_path / "web.log").touch()
    routes, world = tiny_target()
    told: list[str] = []
    with responder() as port:
        report = fuzz_here(Process(port, tmp_path / "web.log"), routes, world, seed=1, cases=400, say=told.append)
    found = {(one.route, one.what.partition(",")[0]) for one in report.findings}
    assert found >= {
        ("api /v1/five-hundred", "answered 500"),
        ("api /v1/plain", "an API answer 400 as 'text/plain'"),
        ("page /nameless", "answered 200 without X-Request-Id"),
        ("admin /admin/closed", "NoAnswer: closed without an answer"),
    }
    assert not {route for route, _ in found if route.endswith("/fine")}
    assert "seed 1" in told[0]
    assert "python -m tests.fuzz --seed 1 --case" in told[0]
    assert f"{len(report.findings)} findings" in report.summary()


def test_a_dead_process_is_a_finding(tmp_path: Path) -> None:
    class Dead(Process):
        def dead(self) -> str | None:
            return "the web process has ended with 1"

    (tmp_path / "web.log").touch()
    routes, world = tiny_target()
    with responder() as port:
        report = fuzz_here(Dead(port, tmp_path / "web.log"), routes, world, seed=1, cases=1, say=lambda _: None)
    assert "the web process has ended with 1" in {one.what for one in report.findings}


def test_a_case_is_the_same_whenever_it_is_drawn() -> None:
    routes, world = tiny_target()
    cases = [draw(7, number, routes, world).raw(80) for number in range(200)]
    assert cases == [draw(7, number, routes, world).raw(80) for number in range(200)]
    assert len(set(cases)) == 200
    assert cases != [draw(8, number, routes, world).raw(80) for number in range(200)]


def test_a_traceback_in_the_log_belongs_to_its_case(tmp_path: Path) -> None:
    log = tmp_path / "web.log"
    log.write_text(
        "2026-11-19T05:00:00Z [warning  ] slow [rung] request_id=case-1\n"
        "2026-11-19T05:00:01Z [error    ] Internal Server Error: /x [django.request] request_id=case-42\n"
        "Traceback (most recent call last):\n"
        '  File "/somewhere/players/admin.py", line 7, in add\n'
        "    int('x')\n"
        "ValueError: invalid literal for int() with base 10: 'x'\n"
        "2026-11-19T05:00:02Z [warning  ] not whole"
    )
    reading = Log(log)
    (block,) = reading.news()
    assert block.number == 42
    assert block.exception == "ValueError: invalid literal for int() with base …: … in players/admin.py:7"
    assert not list(reading.news())
