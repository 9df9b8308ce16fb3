"""action.yml and the CI snippets of the documents: valid to their readers, and run as a runner runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from readme import ROOT

SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))


def validate(schema: str, path: Path) -> None:
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_action_is_valid() -> None:
    validate("vendor.github-actions", ROOT / "action.yml")


def test_the_pipeline_of_the_documents_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "ci.md").read_text("utf-8")
    (pipeline,) = re.findall(r"<!-- block: gitlab -->\n```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / ".gitlab-ci.yml").write_text(pipeline)
    validate("vendor.gitlab-ci", tmp_path / ".gitlab-ci.yml")
    (command,) = (line for line in yaml.safe_load(pipeline)["tonumpy"]["script"] if line.startswith("tonumpy"))
    (tmp_path / "a.py").write_text(SAFE)
    assert bash(command, tmp_path).returncode == 1
    assert '"path": "a.py"' in (tmp_path / "gl-code-quality-report.json").read_text()


def test_the_check_of_the_action(tmp_path: Path) -> None:
    """The step as it stands, with the tool where the step before it, which needs a network, would have put it."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(SAFE)
    (tmp_path / "b.py").write_text(SAFE)
    (tmp_path / "runner" / "tonumpy").mkdir(parents=True)
    (tmp_path / "runner" / "tonumpy" / "bin").symlink_to(Path(sys.executable).parent)
    step = ACTION["runs"]["steps"][1]
    given = {"inputs.paths": "src b.py", "inputs.args": "--select TNP101"}
    environment = {name: given[re.findall(r"\$\{\{ (.*) \}\}", text)[0]] for name, text in step["env"].items()}
    done = bash(step["run"], tmp_path, RUNNER_TEMP=str(tmp_path / "runner"), **environment)
    assert (done.returncode, done.stderr) == (1, "")
    assert re.findall(r"^::warning title=tonumpy \(TNP101\),file=(.+?),", done.stdout, re.MULTILINE) == [
        str(tmp_path / "b.py"),
        str(tmp_path / "src" / "a.py"),
    ]


def test_the_action_passes_in_a_repository_without_python(tmp_path: Path) -> None:
    (tmp_path / "runner" / "tonumpy").mkdir(parents=True)
    (tmp_path / "runner" / "tonumpy" / "bin").symlink_to(Path(sys.executable).parent)
    given = {"PATHS": ACTION["inputs"]["paths"]["default"], "ARGS": ACTION["inputs"]["args"]["default"]}
    done = bash(ACTION["runs"]["steps"][1]["run"], tmp_path, RUNNER_TEMP=str(tmp_path / "runner"), **given)
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "tonumpy: warning: no Python files found under the given paths\n"


def test_the_inputs_are_those_that_are_used() -> None:
    used = re.findall(r"inputs\.(\w+)", (ROOT / "action.yml").read_text("utf-8"))
    assert set(used) == set(ACTION["inputs"])


def bash(script: str, folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join((os.path.dirname(sys.executable), os.environ["PATH"]))
    return subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PATH": path, **environment},
    )
