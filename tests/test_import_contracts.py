"""The floors hold: each import contract passes as the code is, and fails when one line breaks it."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.live import ROOT

CONTRACTS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
# for each contract, by how its name begins: the module that sins, and the line with which it does
SINS = {
    "Floors": ("players/services.py", "import leaderboards.models"),
    "The ground floor": ("config/errors.py", "import players.models"),
    "Inside config": ("config/errors.py", "import config.problem"),
    "Inside players": ("players/models.py", "import players.services"),
    "Inside leaderboards": ("leaderboards/rules/mode.py", "import leaderboards.models"),
    "Inside anticheat": ("anticheat/errors.py", "import anticheat.models"),
    "Rules are pure": ("leaderboards/rules/windows.py", "import django.db"),
    "The redis library": ("leaderboards/selectors.py", "import redis"),
    "The embedded servers": ("config/embedded/ports.py", "import django.conf"),
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for package in ("config", "players", "leaderboards", "social", "anticheat"):
        shutil.copytree(ROOT / package, tmp_path / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


def _lint(tree: Path) -> tuple[int, str]:
    code = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = subprocess.run(
        [sys.executable, "-c", code, "--no-cache"], cwd=tree, capture_output=True, text=True, timeout=120, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_every_contract_has_a_sin_here() -> None:
    assert len(CONTRACTS) == len(SINS)
    for contract in CONTRACTS:
        assert sum(contract["name"].startswith(name) for name in SINS) == 1, contract["name"]


def test_the_code_as_it_is_keeps_them_all(tree: Path) -> None:
    code, said = _lint(tree)
    assert code == 0, said
    assert f"{len(CONTRACTS)} kept, 0 broken" in said


@pytest.mark.parametrize("contract", SINS)
def test_a_planted_violation_is_found(tree: Path, contract: str) -> None:
    module, line = SINS[contract]
    with (tree / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    code, said = _lint(tree)
    broken = [told for told in said.splitlines() if " BROKEN" in told]
    assert code == 1, said
    assert any(told.startswith(contract) for told in broken), said


@pytest.mark.parametrize("package", ["config", "players", "leaderboards", "anticheat"])
def test_a_new_module_has_to_be_given_its_floor(tree: Path, package: str) -> None:
    (tree / package / "utils.py").write_text("")
    code, said = _lint(tree)
    assert code == 1
    assert "utils" in said
