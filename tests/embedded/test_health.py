from config.embedded.health import Doctor, Health, look
from config.embedded.ports import free_port

WELL = Health(live=True, ready=True)
DEAF = Health(live=True, failing={"workers": "A worker was last seen 90 s ago."})
SILENT = Health()


def test_workers_that_are_deaf_for_a_minute_are_restarted_with_beat() -> None:
    doctor = Doctor()
    assert doctor.prescribe(DEAF, 1000) == {}
    assert doctor.prescribe(DEAF, 1059) == {}
    assert set(doctor.prescribe(DEAF, 1060)) == {"worker", "beat"}
    assert doctor.prescribe(DEAF, 1070) == {}, "they get their time to come back"


def test_a_moment_of_health_begins_the_waiting_again() -> None:
    doctor = Doctor()
    assert doctor.prescribe(DEAF, 1000) == {}
    assert doctor.prescribe(WELL, 1050) == {}
    assert doctor.prescribe(DEAF, 1061) == {}


def test_a_web_process_that_is_silent_for_half_a_minute_is_restarted_alone() -> None:
    doctor = Doctor()
    assert doctor.prescribe(SILENT, 0.0) == {}
    assert doctor.prescribe(SILENT, 29.0) == {}
    assert set(doctor.prescribe(SILENT, 30.0)) == {"web"}


def test_nobody_answering_is_not_an_error() -> None:
    health = look(free_port())
    assert health == SILENT
    assert health.in_words() == "the web process does not answer"
