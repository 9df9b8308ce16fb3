"""Each way of use in the README has a test, and commands, options, formats and exit codes are those of a list."""

from __future__ import annotations

import argparse
import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from readme import ROOT

from tonumpy.cli.cli_arguments import _COMMANDS
from tonumpy.formats import format_names

if TYPE_CHECKING:
    from conftest import RunTonumpy

USES = {
    "By hand": "test_readme.py::test_pyproject",
    "Notebooks": "test_notebooks.py::test_the_command_agrees",
    "flake8": "test_readme.py::test_flake8",
    "In an editor": "test_server.py::test_what_is_open_counts_and_not_what_is_on_the_disk",
    "pre-commit": "test_pre_commit.py::test_the_configuration_in_the_readme",
    "GitHub Actions": "test_readme.py::test_github_actions",
    "For a team": "test_html.py::test_the_page_holds_all_that_it_needs",
    "Once, as a LibCST codemod": "test_readme.py::test_codemod",
    "In the shell": "test_completion.py::test_bash_completes_commands_options_and_files",
    "Over an organisation": "test_sweep.py::test_a_commit_is_read_by_any_of_its_names",
    "Beyond reading": "test_rehearse.py::test_exactly_what_fails_is_found",
    "From Python": "test_readme.py::test_from_python",
}
_SELECTION = "extend-select ignore links per-file-ignores preview select strict"
_FILES = "exclude extend-exclude force-exclude stdin-filename"
_RUN = "baseline cache-dir color config isolated jobs no-cache observed quiet verbose"
OPTIONS = {
    "check": f"{_SELECTION} {_FILES} {_RUN} confidence output-format output-file show-evidence statistics exit-zero"
    " watch diff-base add-noqa show-files show-settings",
    "fix": f"{_SELECTION} {_FILES} {_RUN} confidence output-format output-file diff unsafe-fixes style diff-base"
    " fix-baselined show-fixes",
    "baseline": f"{_SELECTION} {_FILES} {_RUN} confidence",
    "why": f"{_SELECTION} confidence observed diff-base config isolated color",
    "rehearse": f"{_SELECTION} config isolated quiet color unsafe-fixes style output-format output-file device devices"
    " diff fix fragile observations stop unreached",
    "sweep": "workers scheduler task-timeout task-memory patches unsafe-fixes html exit-zero quiet",
    "explain": "color",
    "rules": "output-format",
    "habits": "output-format",
    "clean": "cache-dir config isolated quiet",
    "server": "stdio",
}
FORMATS = "azure concise full github gitlab grouped html json json-lines junit pylint rdjson sarif"
FINDING = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"


def _options(command: str) -> set[str]:
    parser = argparse.ArgumentParser(add_help=False)
    _COMMANDS[command][1](parser)
    words = (option for action in parser._actions for option in action.option_strings if option.startswith("--"))
    return {word.removeprefix("--") for word in words if not word.startswith("--no-") or word == "--no-cache"}


def test_each_way_of_use_in_the_readme_has_a_test() -> None:
    text = (ROOT / "README.md").read_text("utf-8")
    section = text[text.index("### Use it") : text.index("### Exit codes")]
    assert [each.rstrip(".:") for each in re.findall(r"^\*\*([^*]+?)\*\*", section, re.MULTILINE)] == list(USES)


@pytest.mark.parametrize("test", USES.values())
def test_that_test_is_there(test: str) -> None:
    name, _, function = test.partition("::")
    tree = ast.parse(Path(__file__).with_name(name).read_text("utf-8"))
    assert function in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_the_commands_are_those_of_the_list() -> None:
    assert set(_COMMANDS) == set(OPTIONS)


@pytest.mark.parametrize("command", OPTIONS)
def test_the_options_are_those_of_the_list(command: str) -> None:
    assert _options(command) == set(OPTIONS[command].split())


def test_the_formats_are_those_of_the_list() -> None:
    assert format_names() == FORMATS.split()


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("check clean.py", 0),
        ("check found.py", 1),
        ("check --exit-zero found.py", 0),
        ("check broken.py", 2),
        ("check found.py words.txt", 2),
        ("check --nonsense", 2),
        ("fix clean.py", 0),
        ("fix --diff found.py", 1),
        ("fix --select TNP102 found.py", 0),
        ("fix found.py", 0),
        ("fix left.py", 1),
        ("fix broken.py", 2),
        ("fix --nonsense", 2),
    ],
)
def test_the_exit_codes_are_those_of_the_readme(run_tonumpy: RunTonumpy, tmp_path: Path, words: str, code: int) -> None:
    (tmp_path / "clean.py").write_text("import torch\n")
    (tmp_path / "found.py").write_text(FINDING)
    (tmp_path / "left.py").write_text(FINDING.replace("x.numpy()", "f'{x.numpy()=}'"))
    (tmp_path / "broken.py").write_text("import torch\ndef (:\n    x.numpy()\n")
    (tmp_path / "words.txt").write_text("words")
    assert run_tonumpy(*words.split()).code == code
