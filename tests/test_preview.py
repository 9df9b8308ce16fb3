"""`--preview`: a rule, and a kind of finding, that are off without it; in a copy of the package with such a rule."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from readme import ROOT

RULE = '''"""# A conversion at all (TNP399)

## What it does
"""

from tonumpy.conversions import Conversion

CODE = "TNP399"
ON_BY_DEFAULT = True
IS_PREVIEW = True


def check(conversion: Conversion) -> str:
    return "a conversion"


def concerns(complete):
    return complete.candidates


def repair(conversion, style):
    return ()
'''
KIND = """

def is_preview_kind(conversion: MethodConversion) -> bool:
    return conversion.certainty == "possible"
"""
CODE = "import torch\n\n\ndef f(x: torch.Tensor, y):\n    return x.numpy(), y.numpy()\n"


@pytest.fixture
def package(tmp_path: Path) -> Path:
    target = tmp_path / "package" / "tonumpy"
    shutil.copytree(ROOT / "src" / "tonumpy", target, ignore=shutil.ignore_patterns("__pycache__"))
    (target / "rules" / "any_conversion.py").write_text(RULE)
    with (target / "rules" / "bare_numpy.py").open("a") as stream:
        stream.write(KIND)
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / "a.py").write_text(CODE)
    return target.parent


def run(package: Path, module: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(package), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        [sys.executable, "-m", module, *arguments],
        cwd=package.parent / "code",
        env=environment,
        capture_output=True,
        text=True,
    )


def found(result: subprocess.CompletedProcess[str]) -> list[str]:
    """The column and the code of each finding."""
    return [f"{line.split(':')[2]} {line.split()[1]}" for line in result.stdout.splitlines() if " TNP" in line]


STABLE = ["14 TNP101"]
ALL = ["14 TNP101", "14 TNP399", "25 TNP101", "25 TNP399"]


def test_a_preview_rule_and_a_preview_kind_are_off_unless_asked_for(package: Path) -> None:
    assert found(run(package, "tonumpy", "check", "-q")) == STABLE
    assert found(run(package, "tonumpy", "check", "-q", "--preview")) == ALL
    (package.parent / "code" / "pyproject.toml").write_text("[tool.tonumpy]\npreview = true\n")
    assert found(run(package, "tonumpy", "check", "-q")) == ALL
    assert found(run(package, "tonumpy", "check", "-q", "--no-preview")) == STABLE
    assert found(run(package, "flake8")) == ALL
    (package.parent / "code" / "pyproject.toml").unlink()
    assert found(run(package, "flake8")) == STABLE
    assert found(run(package, "flake8", "--tonumpy-preview")) == ALL


def test_to_select_it_alone_is_not_enough_and_is_said(package: Path) -> None:
    result = run(package, "tonumpy", "check", "-q", "--select", "TNP399")
    assert (result.returncode, result.stdout) == (0, "")
    assert result.stderr == "tonumpy: warning: TNP399 is a preview rule: it needs `--preview`\n"
    wide = run(package, "tonumpy", "check", "-q", "--select", "TNP3")
    assert (wide.stderr, found(wide)) == ("", ["14 TNP300", "25 TNP300"])


def test_it_is_marked_as_one(package: Path) -> None:
    listed = run(package, "tonumpy", "rules").stdout
    (line,) = [line for line in listed.splitlines() if line.startswith("TNP399")]
    assert line.split()[1:3] == ["any-conversion", "preview"]
    rules = json.loads(run(package, "tonumpy", "rules", "--output-format", "json").stdout)
    assert [rule["code"] for rule in rules if rule["preview"]] == ["TNP399"]


def test_a_comment_that_suppresses_it_is_not_unused(package: Path) -> None:
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.detach().cpu().numpy()  # noqa: TNP399\n"
    (package.parent / "code" / "a.py").write_text(text)
    assert found(run(package, "tonumpy", "check", "-q", "--extend-select", "TNP901")) == []
