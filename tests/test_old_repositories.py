"""Ways to live with old findings: comments beside them, a baseline, and the end of comments that are of no use."""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tonumpy import check_source, fix_source
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.pipeline import check
from tonumpy.repair.comments import with_noqa
from tonumpy.repair.rewrite import RewriteError
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy

NEXT = " Next: `tonumpy check --baseline tonumpy-baseline.json` reports only new ones.\n"
HEAD = "import torch\n\n\ndef f(x: torch.Tensor, y: torch.Tensor):\n"

# --add-noqa


COMMENTED = [
    ("    return x.numpy()\n", "    return x.numpy()  # noqa: TNP101\n"),
    ("    return x.numpy()", "    return x.numpy()  # noqa: TNP101"),
    ("    return x.numpy()\r\n", "    return x.numpy()  # noqa: TNP101\r\n"),
    ("    return x.numpy(), y.cpu().numpy()\n", "    return x.numpy(), y.cpu().numpy()  # noqa: TNP101, TNP102\n"),
    ("    return x.numpy()  # why\n", "    return x.numpy()  # why  # noqa: TNP101\n"),
    ("    return x.numpy()  # noqa: E501\n", "    return x.numpy()  # noqa: E501, TNP101\n"),
    ("    return x.numpy()  # noqa: E501 long\n", "    return x.numpy()  # noqa: E501, TNP101 long\n"),
    ("    return x.numpy()  # noqa: tnp101\n", "    return x.numpy()  # noqa: tnp101, TNP101\n"),
    (
        "    x.numpy()  # noqa : TNP101\n    x.numpy()\n",
        "    x.numpy()  # noqa : TNP101\n    x.numpy()  # noqa: TNP101\n",
    ),
    ("    x.numpy(); y = '''\n    '''\n", "    x.numpy(); y = '''\n    '''  # noqa: TNP101\n"),
    ("    return x \\\n        .numpy()\n", "    return x \\\n        .numpy()  # noqa: TNP101\n"),
    (
        "    return (\n        x\n        .numpy()\n    )\n",
        "    return (\n        x\n        .numpy()  # noqa: TNP101\n    )\n",
    ),
    ("    return x.numpy(\n    )\n", "    return x.numpy(  # noqa: TNP101\n    )\n"),
    ("    s = '日本'; return s, x.numpy()\n", "    s = '日本'; return s, x.numpy()  # noqa: TNP101\n"),
]


def test_a_comment_where_flake8_looks_for_it(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    for number, (body, _) in enumerate(COMMENTED):
        head = HEAD.replace("\n", "\r\n") if "\r" in body else HEAD
        (tmp_path / f"a{number}.py").write_bytes((head + body).encode())
    result = run_tonumpy("check", "--add-noqa")
    assert (result.code, result.err) == (0, "")
    for number, (_, expected) in enumerate(COMMENTED):
        head = HEAD.replace("\n", "\r\n") if "\r" in expected else HEAD
        assert (tmp_path / f"a{number}.py").read_bytes().decode() == head + expected
    assert run_tonumpy("check")[:3] == (0, "All checks passed!\n", "")
    flake8 = [sys.executable, "-m", "flake8", "--isolated", "--select=TNP", "."]
    assert subprocess.run(flake8, cwd=tmp_path, capture_output=True).stdout == b""


def test_what_is_said_of_it(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(HEAD + "    return x.numpy(), y.numpy()\n")
    (tmp_path / "broken.py").write_text("def (:\n    x.numpy()\n")
    assert run_tonumpy("check", "--add-noqa", "a.py", "b.py")[:2] == (0, "Silenced 4 findings in 2 files.\n")
    assert run_tonumpy("check", "--add-noqa", "a.py", "b.py")[:2] == (0, "No findings to silence.\n")
    assert run_tonumpy("check", "--add-noqa", "broken.py").code == 2
    assert "cannot be used with standard input" in run_tonumpy("check", "--add-noqa", "-").err


def test_a_comment_that_would_have_no_effect_is_not_written(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    """flake8 takes the first such text of a line for the comment, and here that is in a string."""
    text = HEAD + "    y.numpy()\n    return x.numpy(), '# noqa: E501'\n"
    (tmp_path / "a.py").write_text(text)
    result = run_tonumpy("check", "--add-noqa")
    told = "no comment added: flake8 reads another `noqa` in the line, and the new one would have no effect"
    assert (result.code, result.err) == (2, f"a.py:6:14: error: {told}\n")
    assert result.out == "Silenced 1 finding in 1 file.\n"
    assert (tmp_path / "a.py").read_text() == text.replace("y.numpy()", "y.numpy()  # noqa: TNP101")


def test_a_comment_that_changes_the_tree_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a defect can put one into a string, so it is planted here."""
    source = Source.from_text(HEAD + "    return x.numpy(), 'a'\n", "a.py")
    findings = check(source, Settings(), Project())
    monkeypatch.setattr(
        "tonumpy.repair.comments.apply_edits", lambda source, _: source.text.replace("'a'", "'a # noqa'")
    )
    with pytest.raises(RewriteError):
        with_noqa(source, findings)


# comments of no use


@pytest.mark.parametrize(
    "comment", ["# noqa: TNP101", "# noqa:TNP101,TNP102", "# NOQA: TNP1  # fmt: skip", "#noqa: TNP101"]
)
def test_the_fix_of_an_unused_comment_leaves_the_tree(comment: str) -> None:
    text = HEAD + f"    return x.detach().cpu().numpy(), y  {comment}\n"
    fixed = fix_source(text, select=["TNP901"])
    assert ast.dump(ast.parse(fixed)) == ast.dump(ast.parse(text))
    assert check_source(fixed, select=["TNP901"]) == []


def test_a_repair_and_the_end_of_a_comment_together(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    path = tmp_path / "a.py"
    path.write_text(HEAD + "    return x.numpy(), y.detach().cpu().numpy()  # noqa: TNP102\n")
    assert run_tonumpy("fix", "--extend-select", "TNP901").code == 0
    assert path.read_text() == HEAD + "    return x.detach().cpu().numpy(), y.detach().cpu().numpy()\n"


def test_codes_in_lower_case_count_for_nothing(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "a.py").write_text(HEAD + "    return x.numpy()  # noqa: tnp101, TNP102\n")
    told = run_tonumpy("check", "-q", "--extend-select", "TNP901", "--output-format", "pylint").out
    assert re.findall(r"\[(TNP\d+)\]", told) == ["TNP101", "TNP901"]
    assert told.splitlines()[1].split("] ")[1] == (
        "`# noqa` of tnp101, TNP102 suppresses nothing: flake8 takes codes in upper case only, and no TNP102 is"
        " reported on this line (fix: Remove `tnp101, TNP102`)"
    )


def test_files_with_nothing_but_a_comment_are_looked_into(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "a.py").write_text("x = 1  # noqa: TNP101\n")
    assert run_tonumpy("check").code == 0
    assert run_tonumpy("check", "--select", "TNP9", "-q").out.startswith("a.py:1:8: TNP901 [*] ")
    flake8 = [sys.executable, "-m", "flake8", "--isolated", "--select=TNP901", "."]
    assert b"a.py:1:8: TNP901 " in subprocess.run(flake8, cwd=tmp_path, capture_output=True).stdout


# a baseline


@pytest.fixture
def old(tmp_path: Path, run_tonumpy: RunTonumpy) -> Path:
    """A repository with a finding twice in one line's words and one of another, and the baseline of them."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text(HEAD + "    x.numpy()\n    x.numpy()\n    return y.cpu().numpy()\n")
    result = run_tonumpy("baseline", "write")
    assert (result.code, result.out) == (0, f"Wrote tonumpy-baseline.json (3 findings).{NEXT}")
    return tmp_path


def test_the_next_step_is_shorter_where_the_settings_name_the_file(old: Path, run_tonumpy: RunTonumpy) -> None:
    (old / "pyproject.toml").write_text("[tool.tonumpy]\nbaseline = 'known.json'\n")
    told = run_tonumpy("baseline", "write").out
    assert told == "Wrote known.json (3 findings). Next: `tonumpy check` reports only new ones.\n"


def test_what_a_baseline_holds(old: Path) -> None:
    assert json.loads((old / "tonumpy-baseline.json").read_text()) == {
        "version": 1,
        "findings": [
            {"path": "src/a.py", "code": "TNP101", "line": "x.numpy()", "count": 2},
            {"path": "src/a.py", "code": "TNP102", "line": "return y.cpu().numpy()", "count": 1},
        ],
    }


def test_only_what_is_new_is_reported(old: Path, run_tonumpy: RunTonumpy) -> None:
    baseline = ("--baseline", "tonumpy-baseline.json")
    assert run_tonumpy("check").code == 1
    assert run_tonumpy("check", *baseline)[:3] == (0, "No new findings, 3 in the baseline.\n", "")
    path = old / "src" / "a.py"
    path.write_text(
        "# a line more\n" + path.read_text().replace("    return", "    x.numpy()\n    x.detach().numpy()\n    return")
    )
    result = run_tonumpy("check", *baseline)
    assert [line.split()[:2] for line in result.out.splitlines()[:2]] == [
        ["src/a.py:8:7:", "TNP101"],
        ["src/a.py:9:16:", "TNP103"],
    ]
    assert "Found 2 findings in 1 file, and 3 in the baseline.\n" in result.out
    assert (result.code, result.err) == (1, "")
    (old / "pyproject.toml").write_text('[tool.tonumpy]\nbaseline = "tonumpy-baseline.json"\n')
    assert run_tonumpy("check").out == result.out
    assert run_tonumpy("check", "--isolated").out.count("TNP10") == 5
    assert len(json.loads(run_tonumpy("check", "--output-format=json").out)) == 2
    assert run_tonumpy("baseline", "write").code == 0
    assert run_tonumpy("check").code == 0


def _entries(folder: Path) -> list[tuple[str, str]]:
    found = json.loads((folder / "tonumpy-baseline.json").read_text())["findings"]
    return [(each["path"], each["code"]) for each in found]


def test_a_baseline_changes_only_in_what_was_checked(old: Path, run_tonumpy: RunTonumpy) -> None:
    of_a = [("src/a.py", "TNP101"), ("src/a.py", "TNP102")]
    (old / "src" / "b.py").write_text(HEAD + "    return x.detach().numpy()\n")
    result = run_tonumpy("baseline", "write", "src/b.py")
    assert result.out == f"Wrote tonumpy-baseline.json (4 findings).{NEXT}"
    assert _entries(old) == [*of_a, ("src/b.py", "TNP103")]
    (old / "src" / "a.py").write_text(HEAD)
    (old / "src" / "c.py").write_text(HEAD + "    return x.numpy()\n")
    run_tonumpy("baseline", "write", "src/c.py")
    assert _entries(old) == [*of_a, ("src/b.py", "TNP103"), ("src/c.py", "TNP101")]
    run_tonumpy("baseline", "write", "src/a.py")
    assert _entries(old) == [("src/b.py", "TNP103"), ("src/c.py", "TNP101")]
    (old / "src" / "b.py").unlink()
    run_tonumpy("baseline", "write", "src/a.py")
    assert _entries(old) == [("src/c.py", "TNP101")]


def test_a_baseline_is_not_written_over_what_is_none(old: Path, run_tonumpy: RunTonumpy) -> None:
    before = (old / "src" / "a.py").read_text()
    result = run_tonumpy("baseline", "write", "--baseline", "src/a.py")
    assert (result.code, (old / "src" / "a.py").read_text()) == (2, before)
    assert result.err.startswith("tonumpy: error: src/a.py: no baseline that `tonumpy baseline write` has made: ")


def test_fix_leaves_what_the_baseline_has(old: Path, run_tonumpy: RunTonumpy) -> None:
    (old / "src" / "b.py").write_text(HEAD + "    return f'{x.numpy()=}'\n")
    run_tonumpy("baseline", "write")
    baseline = ("--baseline", "tonumpy-baseline.json")
    before = (old / "src" / "a.py").read_text()
    result = run_tonumpy("fix", *baseline)
    assert (result.code, result.out) == (0, "No new findings, 4 in the baseline.\n")
    assert (old / "src" / "a.py").read_text() == before
    new = before + "\n\ndef g(z: torch.Tensor):\n    return z.numpy()\n"
    (old / "src" / "a.py").write_text(new)
    patch = run_tonumpy("fix", "--diff", *baseline)
    changed = [line for line in patch.out.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert changed == ["-    return z.numpy()", "+    return z.detach().cpu().numpy()"]
    result = run_tonumpy("fix", "-", "--stdin-filename", "src/a.py", *baseline, stdin=new.encode())
    assert result.out == new.replace("z.numpy()", "z.detach().cpu().numpy()")
    result = run_tonumpy("fix", *baseline)
    assert (result.code, result.out) == (0, "Fixed 1 finding in 1 file; left alone: 4 in the baseline.\n")
    assert (old / "src" / "a.py").read_text() == new.replace("z.numpy()", "z.detach().cpu().numpy()")
    result = run_tonumpy("fix", "--fix-baselined", *baseline)  # one of them has no repair
    assert (result.code, result.out) == (0, "Fixed 3 findings in 1 file; left alone: 1 in the baseline.\n")


def test_what_is_held_back_is_not_repaired_beside_a_repair(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    """In one line with it; that line has changed then, so the baseline knows it no more, as `check` says next."""
    old_line = "    return x.numpy(), y.cpu().numpy()\n"
    (tmp_path / "a.py").write_text(HEAD + old_line)
    run_tonumpy("baseline", "write", "--select", "TNP101")
    result = run_tonumpy("fix", "--baseline", "tonumpy-baseline.json")
    assert (result.code, "Fixed 1 finding in 1 file, 1 left.\n" in result.out) == (1, True)
    assert (tmp_path / "a.py").read_text() == HEAD + "    return x.numpy(), y.detach().cpu().numpy()\n"


@pytest.mark.skipif(shutil.which("git") is None, reason="git is missing")
def test_a_commit_hook_repairs_what_is_new(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    """Through real pre-commit: a comment in an old file, then a new line in it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)

    lines = "".join(f"    a{number} = x.numpy()\n" for number in range(10))
    (tmp_path / "a.py").write_text(HEAD + lines)
    (tmp_path / "pyproject.toml").write_text('[tool.tonumpy]\nbaseline = "tonumpy-baseline.json"\n')
    entry = f"{sys.executable} -m tonumpy fix --force-exclude --show-fixes"
    hook = f"{{id: fix, name: fix, entry: '{entry}', language: system, types: [python]}}"
    (tmp_path / ".pre-commit-config.yaml").write_text(f"repos: [{{repo: local, hooks: [{hook}]}}]\n")
    assert run_tonumpy("baseline", "write").out.startswith("Wrote tonumpy-baseline.json (10 findings). ")
    run("git", "init", "-q")
    (tmp_path / "a.py").write_text(HEAD + lines + "    # a comment\n")
    run("git", "add", ".")
    done = run(sys.executable, "-m", "pre_commit", "run")
    assert (done.returncode, (tmp_path / "a.py").read_text()) == (0, HEAD + lines + "    # a comment\n"), done.stdout
    (tmp_path / "a.py").write_text(HEAD + lines + "    return y.numpy()\n")
    run("git", "add", ".")
    done = run(sys.executable, "-m", "pre_commit", "run")
    assert "a.py:15:14: fixed TNP101" in done.stdout
    assert (tmp_path / "a.py").read_text() == HEAD + lines + "    return y.detach().cpu().numpy()\n"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "known.json: No such file or directory; `tonumpy baseline write` makes it"),
        ("{", "known.json: no baseline that `tonumpy baseline write` has made: "),
        ("[]", "known.json: no baseline that `tonumpy baseline write` has made: "),
        ('{"version": 2}', "known.json: no baseline of version 1"),
        (
            '{"version": 1, "findings": [{"path": "a.py"}]}',
            "known.json: no baseline that `tonumpy baseline write` has made: KeyError('code')",
        ),
    ],
)
def test_a_wrong_baseline_is_refused(
    tmp_path: Path, run_tonumpy: RunTonumpy, content: str | None, message: str
) -> None:
    (tmp_path / "a.py").write_text("")
    if content is not None:
        (tmp_path / "known.json").write_text(content)
    result = run_tonumpy("check", "--baseline", "known.json")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith(f"tonumpy: error: {message}")


def test_no_baseline_of_what_cannot_be_read(tmp_path: Path, run_tonumpy: RunTonumpy) -> None:
    (tmp_path / "a.py").write_text("def (:\n    x.numpy()\n")
    result = run_tonumpy("baseline", "write")
    said = "tonumpy: tonumpy-baseline.json: not written because of these errors"
    assert (result.code, result.err.splitlines()[-1]) == (2, said)
    assert not (tmp_path / "tonumpy-baseline.json").exists()
