"""Each line of the threat model names a test that exists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_TEST = re.compile(r"`(tests/[\w/]+\.py)(?:::(test_\w+))?`")


def _threats() -> list[str]:
    """The rows of tables that end with a column of tests."""
    text = (ROOT / "docs/security.md").read_text(encoding="utf-8")
    tables = [block for block in text.split("\n\n") if block.startswith("| threat |")]
    return [row for table in tables for row in table.splitlines()[2:]]


def test_each_threat_names_a_test_that_exists() -> None:
    threats = _threats()
    assert len(threats) > 20
    for threat in threats:
        named = _TEST.findall(threat)
        assert named, threat
        for file, test in named:
            source = (ROOT / file).read_text(encoding="utf-8")
            assert not test or re.search(rf"^(async )?def {test}\(", source, re.MULTILINE), (file, test)
