"""`links = "needed"`: a repair adds only the links that are not proved to be needless, on every face alike."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import yaml
from readme import ROOT
from test_fixtures import FIXTURES, places, settings_of
from test_server import editor, run

from tonumpy import check_source, fix_source
from tonumpy.engine.names.project import Project
from tonumpy.pipeline import check, fix
from tonumpy.text.noqa import suppress
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from fixture_format import Fixture

HEAD = "import numpy as np\nimport torch\n\n\ndef f(x: torch.Tensor, labels: torch.Tensor):\n"
# What needs both, or one, and what it is repaired to.
CASES = {
    "x.numpy()": "x.detach().cpu().numpy()",
    "x.argmax().numpy()": "x.argmax().cpu().numpy()",
    "x.cuda().argmax().numpy()": "x.cuda().argmax().cpu().numpy()",
    "torch.ones(1, device='cpu', requires_grad=True).numpy()": (
        "torch.ones(1, device='cpu', requires_grad=True).detach().numpy()"
    ),
    "torch.nn.Parameter(torch.ones(1)).numpy()": "torch.nn.Parameter(torch.ones(1)).detach().numpy()",
    "x.cpu().numpy()": "x.detach().cpu().numpy()",
    "x.detach().numpy()": "x.detach().cpu().numpy()",
    "x.data.numpy()": "x.data.cpu().numpy()",
    "labels.numpy()": "labels.detach().cpu().numpy()",  # a habit is no proof
    "np.median(x.argmax(0).cuda())": "np.median(x.argmax(0).cuda().cpu().numpy())",
    "np.median(x.cuda())": "np.median(x.cuda().detach().cpu().numpy())",
    "(x > 0).numpy()": "(x > 0).cpu().numpy()",
}
TEXT = HEAD + "".join(f"    {case}\n" for case in CASES)
NEEDED = HEAD + "".join(f"    {case}\n" for case in CASES.values())


def test_what_is_needed_of_both() -> None:
    assert fix_source(TEXT, links="needed").splitlines() == NEEDED.splitlines()
    assert check_source(NEEDED, links="needed") == []
    assert fix_source(TEXT).count(".detach().cpu()") == len(CASES) - 1  # `.data` stays: it gives a tensor without grad
    under = "import torch\n\n\n@torch.no_grad()\ndef f(x: torch.Tensor):\n    return {}\n"
    assert fix_source(under.format("x.exp().numpy()"), links="needed") == under.format("x.exp().cpu().numpy()")


def test_strict_asks_for_both_all_the_same() -> None:
    text = HEAD + "    return x.argmax().numpy()\n"
    assert "x.argmax().detach().cpu().numpy()" in fix_source(text, links="needed", strict=True)
    assert "numpy(force=True)" in fix_source(text, links="needed", style="force")


@pytest.mark.slow
@pytest.mark.parametrize("fixture", FIXTURES, ids=[fixture.name for fixture in FIXTURES])
def test_every_fixture(fixture: Fixture) -> None:
    """The same is found, less is added, and a second run has nothing to do."""
    settings = settings_of(fixture)._replace(links="needed")
    source = Source(fixture.path.read_bytes(), str(fixture.path))
    assert places(suppress(source, check(source, settings, Project()))) == fixture.expected
    if not fixture.expected:
        return
    unsafe = "--unsafe-fixes" in fixture.options
    needed = fix(source, settings, Project(), unsafe=unsafe)
    both = fix(source, settings._replace(links="both"), Project(), unsafe=unsafe)
    assert [each.code for each in needed.remaining] == [each.code for each in both.remaining]
    assert _without_links(needed.text) == _without_links(both.text)
    assert all(needed.text.count(link) <= both.text.count(link) for link in (".detach()", ".cpu()"))
    again = fix(Source.from_text(needed.text, source.filename), settings, Project(), unsafe=unsafe)
    assert again.text == needed.text


def _without_links(text: str) -> str:
    return re.sub(r"\s*(\.detach\(\)|\.cpu\(\)|\.data\b)(\s*\\?\n\s*)?", "", text)


# faces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.py").write_text(TEXT)
    return tmp_path


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run([sys.executable, "-m", *command], cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
    return done.stdout


def _advice(report: str) -> list[str]:
    return re.findall(r"\(fix: (.+)\)$", report, re.MULTILINE)


ADVICE = [each.fix.message for each in check_source(TEXT, links="needed") if each.fix]


def test_the_command_by_option_and_by_key(folder: Path) -> None:
    assert len(ADVICE) == len(CASES)
    check = ("tonumpy", "check", "--output-format", "pylint")
    assert _advice(_run(folder, *check, "--links", "needed")) == ADVICE
    (folder / "pyproject.toml").write_text('[tool.tonumpy]\nlinks = "needed"\n')
    assert _advice(_run(folder, *check)) == ADVICE != _advice(_run(folder, *check, "--links=both"))
    assert 'links = "needed"\n' in _run(folder, "tonumpy", "check", "--show-settings")
    _run(folder, "tonumpy", "fix")
    assert (folder / "a.py").read_text() == NEEDED


def test_the_option_of_fix(folder: Path) -> None:
    _run(folder, "tonumpy", "fix", "--links=needed")
    assert (folder / "a.py").read_text() == NEEDED


def test_the_hook(folder: Path) -> None:
    (folder / "pyproject.toml").write_text('[tool.tonumpy]\nlinks = "needed"\n')
    hooks = {
        hook["id"]: shlex.split(hook["entry"]) for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    }
    _run(folder, *hooks["tonumpy-fix"], "a.py")
    assert (folder / "a.py").read_text() == NEEDED


def test_flake8(folder: Path) -> None:
    flake8 = ["flake8", "--select=TNP", "a.py"]
    assert _advice(_run(folder, *flake8, "--tonumpy-links=needed")) == ADVICE
    (folder / ".flake8").write_text("[flake8]\ntonumpy-links = needed\n")
    assert _advice(_run(folder, *flake8)) == ADVICE
    (folder / ".flake8").unlink()
    assert _advice(_run(folder, *flake8)) == [each.fix.message for each in check_source(TEXT) if each.fix]
    (folder / "pyproject.toml").write_text('[tool.tonumpy]\nlinks = "needed"\n')
    assert _advice(_run(folder, *flake8)) == ADVICE


def test_the_codemod(folder: Path) -> None:
    command = ["libcst.tool", "codemod", "--no-format", "-x", "tonumpy.codemod.FixNumpyConversionsCommand"]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--links", "needed", "a.py"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "a.py").read_text() == NEEDED


def test_the_server(folder: Path) -> None:
    async def talk() -> None:
        async with editor(folder, options={"links": "needed"}) as window:
            uri = window.opened(folder / "a.py", TEXT)
            row = TEXT.splitlines().index("    x.argmax().numpy()")
            actions = await window.actions(uri, row, "quickfix")
            assert "Add `.cpu()` (TNP101)" in actions

    run(talk())
