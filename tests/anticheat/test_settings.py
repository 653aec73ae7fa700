"""What is configured of trust and cannot work is said when it starts, not when somebody rules or a replay arrives."""

from typing import Any

import pytest
from django.apps import apps

from config.env import ConfigurationError


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("TWO_PERSONS", ["ban", "bann"], r"RUNG_TWO_PERSONS .*'bann'.* ban, "),
        ("RULING_REASONS", [], "RUNG_RULING_REASONS "),
        ("RULING_REASONS", ["x" * 501], "RUNG_RULING_REASONS .* 500 "),
        ("LOG_CHECKS", ["anticheat.checks.tempo.Temop"], r"RUNG_LOG_CHECKS .*'anticheat\.checks\.tempo\.Temop'"),
        ("REPLAY_VERIFIERS", {"dodge": "studio.verify"}, r"RUNG_REPLAY_VERIFIERS .*'studio\.verify'"),
        ("REPLAY_VERIFIERS", {"dodge": "verify"}, r"RUNG_REPLAY_VERIFIERS .*'verify'"),
    ],
)
def test_what_cannot_work_is_said_at_the_start(settings: Any, name: str, value: Any, sentence: str) -> None:
    setattr(settings, name, value)
    with pytest.raises(ConfigurationError, match=f"^{sentence}"):
        apps.get_app_config("anticheat").ready()


def test_what_is_configured_out_of_the_box_works() -> None:
    apps.get_app_config("anticheat").ready()
