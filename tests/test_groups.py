"""Tests that share a scene, or something of the server's, run in one worker, one after the other."""

import os

import pytest

GROUP = "kept together"


@pytest.mark.xdist_group(GROUP)
def test_the_groups_of_tests_are_known(request: pytest.FixtureRequest) -> None:
    """A pytest that xdist does not know yet may lose them without a word."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        assert request.node.nodeid.endswith(f"@{GROUP}")
