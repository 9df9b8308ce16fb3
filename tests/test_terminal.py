"""What people see on a terminal: frames with carets in the right cells, colours, and nothing that moves the cursor."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING

import pytest

from tonumpy.report.parts.terminal import shown, width, without_colour
from tonumpy.rules import all_rules

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

HEAD = "import torch\n\n\ndef f(x: torch.Tensor):\n"


def frames(run_tonumpy: RunTonumpy, path: Path, body: str, *options: str) -> str:
    """The full report of a module's findings, which begin in row 5."""
    (path / "a.py").write_bytes((HEAD + body).encode())
    return run_tonumpy("check", "-q", "--output-format=full", *options).out


def test_a_frame(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    assert frames(run_tonumpy, tmp_path, "    return x.numpy()\n") == (
        "TNP101 [*] `.numpy()` on a tensor that may require grad or be on a GPU: can raise RuntimeError or TypeError\n"
        " --> a.py:5:14\n"
        "  |\n"
        "5 |     return x.numpy()\n"
        "  |              ^^^^^^^\n"
        "help: Add `.detach().cpu()`\n"
        "5 |     return x.detach().cpu().numpy()\n"
        "  |             +++++++++++++++\n"
        "\n"
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        pytest.param(
            "    größe = '日本🙂'; return größe, x.numpy()\n",
            "5 |     größe = '日本🙂'; return größe, x.numpy()\n  |                                       ^^^^^^^\n",
            id="wide",
        ),
        pytest.param(
            "    s = 'e\u0301'; return s, x.numpy()\n",
            f"5 |     s = 'e\u0301'; return s, x.numpy()\n  | {' ' * 25}^^^^^^^\n",
            id="joining",
        ),
        pytest.param(
            "\ta = '\t'; x.numpy()\n", "5 |     a = '    '; x.numpy()\n  |                   ^^^^^^^\n", id="tabs"
        ),
        pytest.param(
            "    '\x1b[31m\x07\u202e'; x.numpy()\n",
            "5 |     '\\x1b[31m\\x07\\u202e'; x.numpy()\n  |                             ^^^^^^^\n",
            id="what moves the cursor",
        ),
        pytest.param(
            "    x.numpy(\n\n        # a comment\n    )\n",
            "5 |     x.numpy(\n  |       ^^^^^^\n6 |\n"
            "7 |         # a comment\n  |         ^^^^^^^^^^^\n8 |     )\n  |     ^\n",
            id="rows",
        ),
        pytest.param(
            f"    x.numpy({chr(10) * 20})\n",
            " 5 |     x.numpy(\n   |       ^^^^^^\n 6 |\n 7 |\n 8 |\n 9 |\n10 |\n   :\n",
            id="many rows",
        ),
        pytest.param(
            f"    a = '{'-' * 200}'; x.numpy(); b = '{'=' * 200}'\n",
            f"5 | …{'-' * 55}'; x.numpy(); b = '{'=' * 86}…\n  | {' ' * 61}^^^^^^^\n",
            id="a long line",
        ),
    ],
)
def test_what_is_underlined(run_tonumpy: RunTonumpy, tmp_path: Path, body: str, expected: str) -> None:
    text = frames(run_tonumpy, tmp_path, body)
    found = re.search(r"^ +\|\n((?:[ \d]+[|:].*\n)+)", text, re.MULTILINE)
    assert found is not None
    assert found[1] == expected


@pytest.mark.parametrize(
    ("body", "options", "expected"),
    [
        pytest.param(
            "    return (\n        x\n        .cpu()\n        .numpy()\n    )\n",
            [],
            "help: Add `.detach()`\n7 |         .detach()\n  |         +++++++++\n",
            id="a line more",
        ),
        pytest.param(
            "    return x.cpu().detach().numpy()\n",
            ["--select=TNP302"],
            "help: Move `.detach()` before `.cpu()`\n5 |     return x.detach().cpu().numpy()\n",
            id="a move",
        ),
        pytest.param(
            "    return torch.stack([x]).clone().sum().detach().cpu().numpy()\n",
            ["--select=TNP301"],
            "5 |     return torch.stack([x]).sum().detach().cpu().numpy()\n\n",
            id="a link less",
        ),
        pytest.param("    return f'{x.numpy()=}'\n", [], "help (by hand): Add `.detach().cpu()`\n", id="by hand"),
    ],
)
def test_the_lines_after_a_repair(
    run_tonumpy: RunTonumpy, tmp_path: Path, body: str, options: list[str], expected: str
) -> None:
    assert expected in frames(run_tonumpy, tmp_path, body, *options)


def test_an_unsafe_repair_is_said_to_be_one(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\n\ndef f(x):\n    return x.numpy(), torch\n")
    text = run_tonumpy("check", "--output-format=full").out
    assert text.startswith("TNP101 `.numpy()` on a possible tensor")
    assert "\nhelp (unsafe fix): Add `.detach().cpu()`\n" in text


def test_frames_of_standard_input_and_of_what_fix_leaves(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    body = "    y = x.numpy()\n    return f'{x.numpy()=}', y\n"
    text = run_tonumpy("check", "-", "--output-format=full", stdin=(HEAD + body).encode()).out
    assert " --> -:5:11\n  |\n5 |     y = x.numpy()\n" in text
    left = " |     return f'{x.numpy()=}', y\n  |"
    for form in (["fix", "-"], ["fix", "--diff", "a.py"], ["fix", "a.py"]):
        (tmp_path / "a.py").write_text(HEAD + body)
        result = run_tonumpy(*form, "--output-format=full", stdin=(HEAD + body).encode())
        assert left in result.out + result.err


def test_colours_of_why(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("import torch\n\ndef f(labels: torch.Tensor):\n    return labels.numpy()\n")
    plain = run_tonumpy("why", "a.py:4").out
    coloured = run_tonumpy("why", "a.py:4", "--color=always").out
    assert plain == run_tonumpy("why", "a.py:4", "--color=never").out == without_colour(coloured)
    assert coloured.startswith("\033[1ma.py:4:19: `labels`\033[0m\n  \033[1;31mTNP101\033[0m (")
    assert "\n  \033[36mgrad\033[0m: " in coloured
    assert "\n\033[2m    habit label-name" in coloured


def test_colours(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    body = "    return x.numpy()\n"
    plain = frames(run_tonumpy, tmp_path, body)
    coloured = frames(run_tonumpy, tmp_path, body, "--color=always")
    assert without_colour(coloured) == plain
    assert "\033[1;31m^^^^^^^\033[0m" in coloured
    assert "\033[1;32m+++++++++++++++\033[0m" in coloured
    patch = run_tonumpy("fix", "--diff", "-q", "--color=never").out
    coloured = run_tonumpy("fix", "--diff", "-q", "--color=always").out
    assert without_colour(coloured) == patch
    assert "\033[1;31m-    return x.numpy()\033[0m\n\033[1;32m+    return x.detach()" in coloured
    for rule in all_rules():
        page = run_tonumpy("explain", rule.code, "--color=always").out if rule.code == "TNP101" else ""
        assert "\033[1mWhat it does\033[0m" in page or not page
        assert "\033[36m    return x.numpy()\033[0m" in page.replace("        return", "    return") or not page


def test_widths_are_those_of_wcwidth() -> None:
    wcwidth = pytest.importorskip("wcwidth")
    texts = [
        "größe",
        "日本",
        "🙂🙂",
        "e\u0301",
        "ｱｱ",
        "한국어",
        "\u3000x",
        "ก็",
    ]
    assert [width(text) for text in texts] == [wcwidth.wcswidth(text) for text in texts]
    assigned = [
        chr(code) for code in range(0x20, 0x20000) if unicodedata.category(chr(code)) in ("Lo", "Lu", "Ll", "So", "Mn")
    ]
    differing = [each for each in assigned if width(each) != wcwidth.wcwidth(each)]
    assert len(differing) < len(assigned) // 100  # the two know different versions of Unicode


def test_what_is_shown_moves_no_cursor() -> None:
    for code in (*range(0x110000),):
        text = shown(chr(code))
        assert text.isprintable(), hex(code)
