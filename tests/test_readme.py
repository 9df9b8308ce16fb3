"""README.md: its blocks are run as they stand, in a copy of what ships with the repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from readme import ROOT, block


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    return tmp_path


def shell(commands: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the lines as a shell does that stops at the first failure; the package is installed already."""
    lines = [line for line in commands.splitlines() if not line.startswith("pip install")]
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    return subprocess.run(
        ["sh", "-ec", "\n".join(lines)], capture_output=True, text=True, cwd=folder, env={**os.environ, "PATH": path}
    )


def test_first_command(folder: Path) -> None:
    run = shell(block("try"), folder)
    assert run.returncode == 0
    assert block("findings") in run.stdout
    assert len(block("try").splitlines()) == 2


def test_the_diff_is_what_fix_would_do(folder: Path) -> None:
    assert block("diff") in shell("tonumpy fix --diff examples || true", folder).stdout


def test_second_command_is_what_runs_in_ci() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    for line in block("test").splitlines():
        assert line in script
    assert block("test").splitlines()[-1] == "pytest"


def test_the_findings_are_all_there_are(folder: Path) -> None:
    run = shell("tonumpy check --quiet examples || true", folder)
    assert run.stdout == block("findings")


def test_pyproject(folder: Path) -> None:
    (folder / "pyproject.toml").write_text(block("pyproject"))
    vendored = folder / "vendor" / "module.py"
    vendored.parent.mkdir()
    shutil.copyfile(folder / "examples" / "embed.py", vendored)
    run = shell("tonumpy fix; tonumpy check", folder)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "numpy(force=True)" in (folder / "examples" / "embed.py").read_text()
    assert "force=True" not in vendored.read_text()


def test_flake8(folder: Path) -> None:
    (folder / ".flake8").write_text(block("flake8"))
    run = shell("flake8 || true", folder)
    assert run.stderr == ""
    found = [line.split()[1] for line in run.stdout.splitlines() if " TNP" in line]
    expected = re.findall(r"^\S+ (TNP\d+)", block("findings"), flags=re.MULTILINE)
    assert [code for code in found if code != "TNP300"] == expected
    assert "TNP300" in found


def test_github_actions(folder: Path) -> None:
    workflow = yaml.safe_load(block("actions"))
    commands = [step["run"] for step in workflow["jobs"]["check"]["steps"] if "run" in step]
    run = shell("\n".join(commands), folder)
    assert run.returncode == 1
    assert len(re.findall(r"^::(?:error|warning) .*file=.*embed\.py,.*TNP", run.stdout, flags=re.MULTILINE)) == block(
        "findings"
    ).count("\n")


def test_codemod(folder: Path) -> None:
    run = shell(block("codemod"), folder)
    assert run.returncode == 0, run.stderr
    changed = (folder / "examples" / "embed.py").read_text()
    shutil.copytree(ROOT / "examples", folder / "examples", dirs_exist_ok=True)
    assert shell("tonumpy fix --quiet", folder).returncode == 0
    assert changed == (folder / "examples" / "embed.py").read_text()


def test_from_python() -> None:
    exec(compile(block("python"), "README.md", "exec"), {})


def test_why(folder: Path) -> None:
    command, _, shown = block("why").partition("\n")
    assert shell(command.removeprefix("$ "), folder).stdout == shown
