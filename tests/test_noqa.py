"""The command honours `noqa` comments as flake8 does: every case goes through the real flake8 and the command."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tonumpy import check_source

if TYPE_CHECKING:
    from conftest import RunTonumpy

HEAD = "import torch\n\n\ndef f(x: torch.Tensor):\n"

CASES = {
    "none": "    return x.numpy()\n",
    "bare": "    return x.numpy()  # noqa\n",
    "upper": "    return x.numpy()  # NOQA\n",
    "no_space": "    return x.numpy()  #noqa\n",
    "two_spaces": "    return x.numpy()  #  noqa\n",
    "one_code": "    return x.numpy()  # noqa: TNP101\n",
    "other_code": "    return x.numpy()  # noqa: TNP102\n",
    "foreign_code": "    return x.numpy()  # noqa: E501\n",
    "beginning": "    return x.numpy()  # noqa: TNP1\n",
    "bare_prefix": "    return x.numpy()  # noqa: TNP\n",
    "several": "    return x.numpy()  # noqa: E501,TNP101\n",
    "several_spaced": "    return x.numpy()  # noqa: E501, TNP101 E203\n",
    "lower_code": "    return x.numpy()  # noqa: tnp101\n",
    "lower_and_upper": "    return x.numpy()  # NoQA:TNP101\n",
    "space_before_colon": "    return x.numpy()  # noqa : TNP102\n",
    "reason": "    return x.numpy()  # noqa: TNP101 a reason\n",
    "reason_without_code": "    return x.numpy()  # noqa: because\n",
    "after_another": "    return x.numpy()  # type: ignore  # noqa: TNP101\n",
    "line_above": "    # noqa: TNP101\n    return x.numpy()\n",
    "on_the_link": "    return (\n        x\n        .numpy()  # noqa: TNP101\n    )\n",
    "on_the_first_line_of_a_bracket": "    return (  # noqa: TNP101\n        x\n        .numpy()\n    )\n",
    "on_the_last_line_of_a_call": "    return x.numpy(\n    )  # noqa: TNP101\n",
    "continued_line": "    return x \\\n        .numpy(), 1 \\\n        + 1  # noqa: TNP101\n",
    "string_after": '    return x.numpy(), """\n    """  # noqa: TNP101\n',
    "string_before": '    return """\n    """, x.numpy()  # noqa: TNP101\n',
    "in_a_string_over_lines": '    return x.numpy(), """ # noqa: TNP101\n    """\n',
    "in_a_string": '    return x.numpy(), "# noqa"\n',
    "behind_a_semicolon": '    x.numpy(); y = """\n    """; z = """\n    """  # noqa: TNP101\n',
    "before_a_semicolon": '    y = """\n    """; x.numpy()  # noqa: TNP101\n',
    "on_a_decorator": "    @g(x.numpy())  # noqa: TNP101\n    def h():\n        pass\n",
    "in_the_head_of_a_block": "    if x.numpy():  # noqa: TNP101\n        pass\n",
    "in_the_head_of_a_line": '    if """ # noqa\n    """: x.numpy()\n',
    "in_a_block": "    if x.numpy():\n        pass  # noqa: TNP101\n",
    "in_another_branch": "    if x:\n        pass  # noqa: TNP101\n    elif x.numpy():\n        pass\n",
    "in_the_other_branch": "    if x:\n        pass\n    elif x.numpy():  # noqa: TNP101\n        pass\n",
    "two_calls": "    return x.numpy(), x.detach().numpy()  # noqa: TNP103\n",
    "file": "    return x.numpy()\n\n\n# flake8: noqa\n",
    "file_other_spelling": "    return x.numpy()\n# FLAKE8=NOQA\n",
    "file_with_code": "    return x.numpy()\n# flake8: noqa: TNP101\n",
    "file_with_other_code": "    return x.numpy()\n# flake8: noqa: E501\n",
    "file_beside_code": "    y = 1  # flake8: noqa\n    return x.numpy(), y\n",
    "file_on_the_line": "    return x.numpy()  # flake8: noqa\n",
    "carriage_returns": "    return x.numpy()  # noqa: TNP101\n    return x.detach().numpy()\n".replace("\n", "\r\n"),
    "form_feed": "    y = '\x0c'\n\x0c\n    return x.numpy(), y  # noqa: TNP101\n",
    "other_line_breaks": "    y = '\x85\u2028\x1c'\n    return x.numpy(), y  # noqa: TNP101\n",
    "not_ascii": "    return '\u4e2d', x.numpy()  # noqa: TNP101\n",
}

Places = set[tuple[str, int, int]]


def write_cases(folder: Path) -> None:
    for name, body in CASES.items():
        newline = "\r\n" if "\r" in body else "\n"
        (folder / f"{name}.py").write_bytes((HEAD.replace("\n", newline) + body).encode())


@pytest.fixture(scope="module")
def by_flake8(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Places]:
    folder = tmp_path_factory.mktemp("noqa")
    write_cases(folder)
    command = [
        sys.executable,
        "-m",
        "flake8",
        "--isolated",
        "--select",
        "TNP",
        "--format",
        "%(path)s|%(code)s|%(row)d|%(col)d",
    ]
    done = subprocess.run([*command, "."], cwd=folder, capture_output=True, text=True)
    assert done.stderr == ""
    places: dict[str, Places] = {name: set() for name in CASES}
    for line in done.stdout.splitlines():
        path, code, row, column = line.split("|")
        places[Path(path).stem].add((code, int(row), int(column)))
    return places


def test_the_command_agrees_with_flake8(run_tonumpy: RunTonumpy, tmp_path: Path, by_flake8: dict[str, Places]) -> None:
    write_cases(tmp_path)
    places: dict[str, Places] = {name: set() for name in CASES}
    for entry in json.loads(run_tonumpy("check", "--output-format=json").out):
        place = entry["location"]
        places[Path(entry["filename"]).stem].add((entry["code"], place["row"], place["column"]))
    assert places == by_flake8


def test_the_cases_are_worth_it(by_flake8: dict[str, Places]) -> None:
    """What flake8 is known to do; were the plugin not to run at all, all of them would be silent and agree."""
    for name in (
        "none",
        "other_code",
        "foreign_code",
        "line_above",
        "in_a_block",
        "in_another_branch",
        "on_the_first_line_of_a_bracket",
        "carriage_returns",
    ):
        assert by_flake8[name], name
    for name in (
        "bare",
        "upper",
        "one_code",
        "beginning",
        "several",
        "on_the_link",
        "continued_line",
        "string_after",
        "behind_a_semicolon",
        "on_a_decorator",
        "in_the_head_of_a_line",
        "in_the_other_branch",
        "file",
    ):
        assert not by_flake8[name], name
    assert {code for code, _, _ in by_flake8["two_calls"]} == {"TNP101"}


@pytest.mark.parametrize("name", CASES)
def test_the_public_function_agrees_with_flake8(name: str, by_flake8: dict[str, Places]) -> None:
    findings = check_source(HEAD + CASES[name])
    assert {(each.code, each.start.row, each.start.column) for each in findings} == by_flake8[name]
