"""The command as a user meets it: what it prints, what it writes and with which code it ends."""

from __future__ import annotations

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from time_limits import PATIENCE

from tonumpy.cli.cli_arguments import _COMMANDS
from tonumpy.rules import all_rules

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conftest import RunTonumpy

CLEAN = "import torch\n\nARRAY = torch.zeros(3).numpy()\n"
PYTHON = f"Python {sys.version_info[0]}.{sys.version_info[1]}"
SAFE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
SAFE_FIXED = SAFE.replace("x.numpy()", "x.detach().cpu().numpy()")
UNSAFE = "import torch\n\n\ndef f(x):\n    return x.numpy(), torch\n"
BROKEN = "import torch\ndef (:\n    x.numpy()\n"

SAFE_LINE = "safe.py:5:14: TNP101 [*] `.numpy()` on a tensor, maybe with grad or on a GPU: RuntimeError or TypeError\n"
UNSAFE_LINE = (
    "unsafe.py:5:14: TNP101 `.numpy()` on a possible tensor, maybe with grad or on a GPU: RuntimeError or TypeError\n"
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three files: a clean one, one with a finding that has a safe fix, one with a finding that has an unsafe fix."""
    (tmp_path / "clean.py").write_text(CLEAN)
    (tmp_path / "safe.py").write_text(SAFE)
    (tmp_path / "unsafe.py").write_text(UNSAFE)
    return tmp_path


# check: the text report and the exit codes


@pytest.mark.usefixtures("folder")
def test_check_reports_findings_with_their_repair_and_a_summary(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy("check")
    assert result.out == (
        f"{SAFE_LINE}{UNSAFE_LINE}Found 2 findings in 2 files.\n"
        "[*] 1 fixable with `tonumpy fix`, 1 more with `tonumpy fix --unsafe-fixes`.\n"
        "0 certain (high confidence), 2 possible; `--confidence high` shows the certain ones alone.\n"
    )
    assert (result.code, result.err) == (1, "")


@pytest.mark.usefixtures("folder")
def test_at_high_confidence_the_summary_tells_that_possible_findings_may_be_left_out(
    run_tonumpy: RunTonumpy, tmp_path: Path
) -> None:
    none = "No finding is certain (high confidence); `--confidence medium` also shows possible ones.\n"
    for command in ("check", "check", "fix", "check"):  # those after the first from the cache
        assert run_tonumpy(command, "--confidence", "high")[:3] == (0, none, "")
    (tmp_path / "sure.py").write_text(SAFE.replace("x.numpy()", "x.cuda().numpy(), x.numpy()"))
    told = run_tonumpy("check").out.splitlines()[-1]
    assert told == "1 certain (high confidence), 3 possible; `--confidence high` shows the certain ones alone."
    (tmp_path / "pyproject.toml").write_text("[tool.tonumpy]\nconfidence = 'high'\n")
    told = run_tonumpy("check").out.splitlines()[-1]
    assert told == "All are certain (high confidence); `--confidence medium` also shows possible ones."
    (tmp_path / "sure.py").write_text(f"{(tmp_path / 'sure.py').read_text()[:-1]}  # noqa\n")
    assert run_tonumpy("check").out == none


@pytest.mark.usefixtures("folder")
def test_check_of_clean_files(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "clean.py")[:3] == (0, "All checks passed!\n", "")


@pytest.mark.parametrize("paths", [(), (".",), ("./", "../{here}"), ("{cwd}",), ("--force-exclude", ".")])
@pytest.mark.parametrize("command", ["check", "fix"])
def test_the_folder_at_hand_without_python_is_a_warning(
    run_tonumpy: RunTonumpy, tmp_path: Path, command: str, paths: tuple[str, ...]
) -> None:
    result = run_tonumpy(command, *(each.format(cwd=tmp_path, here=tmp_path.name) for each in paths))
    assert (result.code, result.err) == (0, "tonumpy: warning: no Python files found under the given paths\n")
    assert result.out == "No files were checked.\n"


@pytest.mark.parametrize("in_repository", [False, True])
@pytest.mark.parametrize("glob", ["src", "src/*", "*.py"])
def test_a_folder_of_which_all_is_excluded_is_a_warning(
    run_tonumpy: RunTonumpy, folder: Path, glob: str, in_repository: bool
) -> None:
    if in_repository:
        subprocess.run(["git", "init", "-q", folder], check=True)
    (folder / "src").mkdir()
    (folder / "safe.py").rename(folder / "src" / "safe.py")
    (folder / "pyproject.toml").write_text(f"[tool.tonumpy]\nexclude = ['{glob}']\n")
    for options in ((), ("--force-exclude",)):
        result = run_tonumpy("check", *options, "src")
        told = "tonumpy: warning: no Python files found under the given paths, all of them are excluded\n"
        assert (result.code, result.out, result.err) == (0, "No files were checked.\n", told)


@pytest.mark.parametrize("command", ["check", "fix"])
def test_a_folder_without_python_is_a_warning(run_tonumpy: RunTonumpy, tmp_path: Path, command: str) -> None:
    """As in ruff; only a path that leads nowhere is an error."""
    (tmp_path / "docs").mkdir()
    result = run_tonumpy(command, "docs")
    assert (result.code, result.err) == (0, "tonumpy: warning: no Python files found under the given paths\n")
    assert result.out == "No files were checked.\n"
    result = run_tonumpy(command, "docs", "gone")
    assert (result.code, result.err) == (2, "gone: error: No such file or directory\n")


def test_what_is_named_and_not_checked_is_said_aloud(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "notes.txt").write_text("x.numpy()\n")
    result = run_tonumpy("check", "clean.py", "notes.txt", "--exit-zero")
    assert (result.code, result.out) == (2, "1 file could not be processed.\n")
    assert result.err == "notes.txt: error: not checked: the suffix is neither that of Python nor of a notebook\n"


@pytest.mark.usefixtures("folder")
def test_a_file_that_is_left_out_on_request_is_no_error(run_tonumpy: RunTonumpy) -> None:  # as in a hook
    result = run_tonumpy("check", "--force-exclude", "--exclude", "safe.py", "safe.py")
    assert (result.code, result.err) == (0, "")


def test_an_error_does_not_stop_the_run(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN)
    result = run_tonumpy("check", ".")
    assert result.err == f"broken.py:2:5: error: cannot be parsed: invalid syntax ({PYTHON})\n"
    assert result.out.startswith(SAFE_LINE + UNSAFE_LINE + "1 file could not be processed.\nFound 2 findings")
    assert result.code == 2


def test_an_error_alone_is_not_called_a_pass(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN)
    result = run_tonumpy("check", "clean.py", "broken.py", "--exit-zero")
    assert (result.code, result.out) == (2, "1 file could not be processed.\n")


@pytest.mark.usefixtures("folder")
def test_quiet_prints_findings_and_errors_only(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "--quiet")[:3] == (1, SAFE_LINE + UNSAFE_LINE, "")
    assert run_tonumpy("check", "-q", "clean.py", "gone.py")[:3] == (
        2,
        "",
        "gone.py: error: No such file or directory\n",
    )


@pytest.mark.usefixtures("folder")
def test_exit_zero(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy("check", "--exit-zero", "safe.py")
    assert result.code == 0
    assert result.out.startswith(SAFE_LINE)


@pytest.mark.usefixtures("folder")
def test_the_order_of_arguments_and_their_overlap_change_nothing(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "unsafe.py", "./safe.py", "clean.py", "safe.py") == run_tonumpy("check", ".")


def test_statistics(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "more.py").write_text("import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cpu().numpy()\n")
    assert run_tonumpy("check", "--statistics", "-q").out == (
        "2\tTNP101\t[*] bare-numpy\n1\tTNP102\t[*] numpy-without-detach\n"
    )
    result = run_tonumpy("check", "--statistics", "--output-format", "json")
    assert json.loads(result.out) == [
        {"code": "TNP101", "name": "bare-numpy", "count": 2, "fixable": False, "fixable_count": 1},
        {"code": "TNP102", "name": "numpy-without-detach", "count": 1, "fixable": True, "fixable_count": 1},
    ]
    result = run_tonumpy("check", "--statistics", "--output-format", "sarif")
    assert (result.code, result.err) == (2, "tonumpy: error: --statistics is not available in the format sarif\n")


# check: which rules


@pytest.mark.usefixtures("folder")
def test_select_and_ignore(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "safe.py", "--select", "TNP102,TNP103").code == 0
    assert run_tonumpy("check", "safe.py", "--select", "TNP102", "--select", "TNP101").code == 1
    assert run_tonumpy("check", "safe.py", "--ignore", "TNP1").code == 0


@pytest.mark.parametrize("options", [["--strict"], ["--select", "TNP300"], ["--select", "TNP3"]])
@pytest.mark.usefixtures("folder")
def test_strict_reports_what_is_proved_safe(run_tonumpy: RunTonumpy, options: list[str]) -> None:
    result = run_tonumpy("check", "clean.py", *options)
    assert result.out.startswith("clean.py:3:24: TNP300 [*] ")
    assert result.code == 1


@pytest.mark.usefixtures("folder")
def test_the_bare_prefix_selects_what_is_on_by_default(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "clean.py", "--select", "TNP").code == 0


@pytest.mark.usefixtures("folder")
def test_an_unknown_code_is_refused(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy("check", "--select", "TNP1001")
    assert result.code == 2
    assert "--select: no rule has the code `TNP1001`; did you mean `TNP101`?" in result.err


# check: standard input


def test_standard_input(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy("check", "-", stdin=SAFE.encode())
    assert result.out.startswith(SAFE_LINE.replace("safe.py", "-"))
    result = run_tonumpy("check", "--stdin-filename", "pkg/safe.py", "-", stdin=SAFE.encode())
    assert result.out.startswith(f"pkg/{SAFE_LINE}")
    assert run_tonumpy("check", "-", stdin=CLEAN.encode())[:3] == (0, "All checks passed!\n", "")


@pytest.mark.usefixtures("folder")
def test_standard_input_comes_alone(run_tonumpy: RunTonumpy) -> None:
    for arguments in (["-", "safe.py"], ["--stdin-filename", "x.py", "safe.py"]):
        result = run_tonumpy("check", *arguments)
        assert result.code == 2
        assert "standard input (`-`)" in result.err or "`-` (standard input)" in result.err


# check: the formats


def test_json_has_the_shape_of_ruffs(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "broken.py").write_text(BROKEN)
    (folder / "other.py").write_text("import os\n")
    ruff = subprocess.run(
        [
            sys.executable,
            "-m",
            "ruff",
            "check",
            "--isolated",
            "--no-cache",
            "--output-format=json",
            "other.py",
            "broken.py",
        ],
        cwd=folder,
        capture_output=True,
    )
    broken, unused = json.loads(ruff.stdout)[0], json.loads(ruff.stdout)[-1]
    result = run_tonumpy("check", "--output-format", "json")
    ours_broken, ours, ours_unsafe = json.loads(result.out)
    more = {"confidence": str, "evidence": []}  # which ruff has not
    assert _shape(ours) == _shape(unused) | more
    assert _shape(ours_broken) == _shape(broken)
    assert result.code == 2
    assert {key: ours_broken[key] for key in ("code", "name", "message", "location")} == {
        "code": "invalid-syntax",
        "name": "invalid-syntax",
        "message": f"cannot be parsed: invalid syntax ({PYTHON})",
        "location": {"column": 5, "row": 2},
    }
    assert ours_unsafe["fix"]["applicability"] == "unsafe"
    assert ours == {
        "cell": None,
        "code": "TNP101",
        "confidence": "medium",
        "end_location": {"column": 21, "row": 5},
        "evidence": [],
        "filename": str(folder / "safe.py"),
        "fix": {
            "applicability": "safe",
            "edits": [
                {
                    "content": ".detach().cpu()",
                    "end_location": {"column": 13, "row": 5},
                    "location": {"column": 13, "row": 5},
                }
            ],
            "message": "Add `.detach().cpu()`",
        },
        "location": {"column": 14, "row": 5},
        "message": "`.numpy()` on a tensor that may require grad or be on a GPU: can raise RuntimeError or TypeError",
        "name": "bare-numpy",
        "noqa_row": 5,
        "severity": "error",
        "url": "https://github.com/tonumpy/tonumpy/blob/main/docs/rules/TNP101.md",
    }


def _shape(value: object) -> object:
    """The keys and the types of the values."""
    if isinstance(value, dict):
        return {key: _shape(item) for key, item in value.items()}
    return [_shape(item) for item in value] if isinstance(value, list) else type(value)


@pytest.mark.usefixtures("folder")
def test_json_of_clean_files_is_an_empty_array(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "clean.py", "--output-format=json")[:3] == (0, "[]\n", "")


def test_github(run_tonumpy: RunTonumpy, folder: Path) -> None:
    assert run_tonumpy("check", "safe.py", "gone.py", "--output-format=github").out == (
        f"::warning title=tonumpy (TNP101),file={folder}/safe.py,line=5,col=14,endLine=5,endColumn=21::"
        "safe.py:5:14: TNP101 `.numpy()` on a tensor that may require grad or be on a GPU:"
        " can raise RuntimeError or TypeError%0A  medium confidence%0A  help: Add `.detach().cpu()`\n"
        f"::error title=tonumpy,file={folder}/gone.py,line=1,col=1::gone.py: No such file or directory\n"
    )


def test_sarif(run_tonumpy: RunTonumpy, folder: Path) -> None:
    report = json.loads(run_tonumpy("check", "safe.py", "gone.py", "--output-format=sarif").out)
    assert report["version"] == "2.1.0"
    (run,) = report["runs"]
    assert [rule["id"] for rule in run["tool"]["driver"]["rules"]] == ["TNP101"]
    (found,) = run["results"]
    assert found["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": (folder / "safe.py").as_uri()},
        "region": {"startLine": 5, "startColumn": 14, "endLine": 5, "endColumn": 21},
    }
    assert found["fixes"][0]["artifactChanges"][0]["replacements"] == [
        {
            "deletedRegion": {"startLine": 5, "startColumn": 13, "endLine": 5, "endColumn": 13},
            "insertedContent": {"text": ".detach().cpu()"},
        }
    ]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    assert invocation["toolExecutionNotifications"][0]["message"] == {"text": "No such file or directory"}


@pytest.mark.usefixtures("folder")
def test_a_report_in_a_file(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    result = run_tonumpy("check", "safe.py", "--output-file", "reports/findings.txt", FORCE_COLOR="1")
    assert (result.code, result.out.splitlines()[0], result.err) == (1, "Found 1 finding in 1 file.", "")
    assert (tmp_path / "reports" / "findings.txt").read_text() == SAFE_LINE
    result = run_tonumpy("check", "-o", "clean.py/report")
    assert (result.code, result.err) == (
        2,
        "tonumpy: error: clean.py/report: the report is not written: File exists\n",
    )


@pytest.mark.usefixtures("folder")
def test_verbose_says_what_is_done_and_changes_no_report(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy("check", "--verbose")
    assert result.out == run_tonumpy("check").out
    assert result.err.splitlines() == [
        "tonumpy: files to check: 3",
        "tonumpy: settings from no file",
        "tonumpy: clean.py: 0 found, 0 fixed",
        "tonumpy: safe.py: 1 found, 0 fixed",
        "tonumpy: unsafe.py: 1 found, 0 fixed",
    ]


# fix


def test_fix_repairs_what_is_safe_and_reports_the_rest(run_tonumpy: RunTonumpy, folder: Path) -> None:
    result = run_tonumpy("fix")
    assert result.out == (
        f"{UNSAFE_LINE}Fixed 1 finding in 1 file, 1 left.\n1 fixable with `tonumpy fix --unsafe-fixes`.\n"
    )
    assert (result.code, result.err) == (1, "")
    assert (folder / "safe.py").read_text() == SAFE_FIXED
    assert (folder / "unsafe.py").read_text() == UNSAFE
    assert (folder / "clean.py").read_text() == CLEAN


def test_fix_ends_with_0_where_nothing_is_left(run_tonumpy: RunTonumpy, folder: Path) -> None:
    assert run_tonumpy("fix", "--unsafe-fixes")[:3] == (0, "Fixed 2 findings in 2 files.\n", "")
    before = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert run_tonumpy("fix", "--unsafe-fixes")[:3] == (0, "All checks passed!\n", "")
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == before
    assert run_tonumpy("check").code == 0


@pytest.mark.usefixtures("folder")
def test_fix_says_when_it_could_do_nothing(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy("fix", "unsafe.py")
    assert result.out.splitlines()[1:] == [
        "Fixed nothing, 1 finding left.",
        "1 fixable with `tonumpy fix --unsafe-fixes`.",
    ]
    assert result.code == 1


def test_fix_of_selected_rules_only(run_tonumpy: RunTonumpy, folder: Path) -> None:
    assert run_tonumpy("fix", "--select", "TNP102").code == 0
    assert (folder / "safe.py").read_text() == SAFE


def test_fix_with_force(run_tonumpy: RunTonumpy, folder: Path) -> None:
    assert run_tonumpy("fix", "--style", "force", "safe.py").code == 0
    assert (folder / "safe.py").read_text() == SAFE.replace("x.numpy()", "x.numpy(force=True)")


def test_fix_leaves_what_noqa_suppresses(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    text = SAFE.replace("numpy()", "numpy()  # noqa: TNP101")
    (tmp_path / "a.py").write_text(text)
    assert run_tonumpy("fix")[:3] == (0, "All checks passed!\n", "")
    assert (tmp_path / "a.py").read_text() == text


def test_diff_writes_nothing_and_is_a_patch(run_tonumpy: RunTonumpy, folder: Path) -> None:
    (folder / "crlf.py").write_bytes(SAFE.replace("\n", "\r\n").rstrip().encode())
    result = run_tonumpy("fix", "--diff", "safe.py", "crlf.py")
    assert result.code == 1
    assert result.err == "Would fix 2 findings in 2 files.\n"
    assert (folder / "safe.py").read_text() == SAFE
    subprocess.run(["git", "apply", "-p0", "-"], cwd=folder, input=result.out_bytes, check=True)
    assert (folder / "safe.py").read_text() == SAFE_FIXED
    assert (folder / "crlf.py").read_bytes() == SAFE_FIXED.replace("\n", "\r\n").rstrip().encode()
    assert run_tonumpy("fix", "--diff", "safe.py", "crlf.py")[:3] == (0, "", "All checks passed!\n")


@pytest.mark.usefixtures("folder")
def test_diff_keeps_stdout_for_the_patch(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy("fix", "--diff", "unsafe.py")
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(UNSAFE_LINE)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(SAFE.replace("\n", "\r\n").encode(), id="CRLF"),
        pytest.param(b"\xef\xbb\xbf" + SAFE.encode(), id="byte order mark"),
        pytest.param(b"# coding: latin-1\n# caf\xe9\n" + SAFE.encode(), id="cookie"),
        pytest.param(SAFE.rstrip().encode(), id="no last newline"),
        pytest.param(b"\x0c\n" + SAFE.encode(), id="form feed"),
        pytest.param("# \u4e2d\u6587 \U0001f600\n".encode() + SAFE.encode(), id="UTF-8"),
    ],
)
def test_fix_keeps_every_byte_outside_the_edit(run_tonumpy: RunTonumpy, tmp_path: Path, data: bytes) -> None:
    expected = data.replace(b"x.numpy()", b"x.detach().cpu().numpy()")
    (tmp_path / "a.py").write_bytes(data)
    assert run_tonumpy("fix").code == 0
    assert (tmp_path / "a.py").read_bytes() == expected
    assert run_tonumpy("fix", "-", stdin=data).out_bytes == expected


def test_fix_of_standard_input(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("fix", "-", stdin=SAFE.encode())[:3] == (0, SAFE_FIXED, "Fixed 1 finding in 1 file.\n")
    assert run_tonumpy("fix", "-", stdin=CLEAN.encode())[:2] == (0, CLEAN)
    result = run_tonumpy("fix", "-q", "-", stdin=UNSAFE.encode())
    assert result[:3] == (1, UNSAFE, UNSAFE_LINE.replace("unsafe.py", "-"))


def test_fix_of_broken_standard_input_hands_it_back(run_tonumpy: RunTonumpy) -> None:
    """An editor that replaces its buffer by what comes back must not lose it."""
    result = run_tonumpy("fix", "-", stdin=BROKEN.encode())
    assert (result.code, result.out) == (2, BROKEN)
    assert result.err.startswith("-:2:5: error: ")


def test_fix_keeps_the_mode_and_leaves_nothing_beside(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere" / "script"
    target.parent.mkdir()
    target.write_text(SAFE)
    target.chmod(0o755)
    assert run_tonumpy("fix", "elsewhere/script").code == 0
    assert target.read_text() == SAFE_FIXED
    assert target.stat().st_mode & 0o777 == 0o755
    assert [path.name for path in target.parent.iterdir()] == ["script"]


# explain, rules, version, help


def test_explain_prints_the_page_of_a_rule(run_tonumpy: RunTonumpy) -> None:
    pages = {rule.code: rule.page for rule in all_rules()}
    assert run_tonumpy("explain", "TNP101")[:3] == (0, pages["TNP101"] + "\n", "")
    assert run_tonumpy("explain", "numpy-without-cpu").out == pages["TNP103"] + "\n"
    result = run_tonumpy("explain", "TNP110")
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("tonumpy: error: no rule has the code or name `TNP110`; did you mean `TNP1")


def test_rules_lists_every_rule(run_tonumpy: RunTonumpy) -> None:
    lines = run_tonumpy("rules").out.splitlines()
    assert [line.split()[:3] for line in lines[1:]] == [
        [rule.code, rule.name, "on" if rule.on_by_default else "off"] for rule in all_rules()
    ]
    entries = json.loads(run_tonumpy("rules", "--output-format", "json").out)
    assert [entry["code"] for entry in entries] == [rule.code for rule in all_rules()]


@pytest.mark.parametrize("command", ["", *_COMMANDS])
def test_help_has_no_empty_words(run_tonumpy: RunTonumpy, command: str) -> None:
    result = run_tonumpy(*command.split(), "--help")
    assert result.code == 0
    assert "None" not in result.out  # which argparse prints for a description that is missing


def test_without_a_command_there_is_help(run_tonumpy: RunTonumpy) -> None:
    result = run_tonumpy()
    assert result.code == 2
    assert result.out.startswith("usage: tonumpy ")
    assert "exit codes:" in result.out


def test_version(run_tonumpy: RunTonumpy) -> None:
    from importlib.metadata import version

    assert run_tonumpy("--version")[:3] == (0, f"tonumpy {version('tonumpy')}\n", "")


def test_version_of_a_copy_that_is_not_installed(tmp_path: Path) -> None:
    import shutil
    from pathlib import Path

    import tonumpy

    shutil.copytree(Path(tonumpy.__file__).parent, tmp_path / "tonumpy", ignore=shutil.ignore_patterns("__pycache__"))
    # Without the folders of what is installed.
    done = subprocess.run(
        [sys.executable, "-S", "-m", "tonumpy", "--version"], cwd=tmp_path, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "tonumpy unknown\n", "")


# terminals, pipes and interruptions


@pytest.mark.usefixtures("folder")
def test_colour(run_tonumpy: RunTonumpy) -> None:
    assert "\033[" in run_tonumpy("check", FORCE_COLOR="1").out
    assert "\033[" not in run_tonumpy("check", FORCE_COLOR="1", NO_COLOR="1").out
    assert "\033[" not in run_tonumpy("check", "--output-format=json", FORCE_COLOR="1").out
    assert "\033[" in run_tonumpy("check", "--color=always", NO_COLOR="1").out
    assert "\033[" not in run_tonumpy("check", "--color=never", FORCE_COLOR="1").out


def test_a_terminal_gets_colour(folder: Path) -> None:
    assert "\033[1;31mTNP101" in _on_a_terminal(folder, TERM="xterm")
    assert "\033[" not in _on_a_terminal(folder, TERM="dumb")
    assert "\033[" not in _on_a_terminal(folder, TERM="xterm", NO_COLOR="1")


def _on_a_terminal(folder: Path, **environment: str) -> str:
    ours, theirs = pty.openpty()
    inherited = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR")}
    command = [sys.executable, "-m", "tonumpy", "check"]
    process = subprocess.Popen(command, cwd=folder, env=inherited | environment, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = b""
    while select.select([ours], [], [], PATIENCE)[0]:
        try:
            piece = os.read(ours, 65536)
        except OSError:  # Linux tells so that the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(PATIENCE) == 1
    return shown.decode()


def test_a_reader_that_leaves_early_is_no_error(folder: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tonumpy", "check"]
    done = subprocess.run(command, cwd=folder, stdout=writer, stderr=subprocess.PIPE)
    os.close(writer)
    assert (done.returncode, done.stderr) == (1, b"")


def test_an_interruption_ends_without_a_traceback(tmp_path: Path) -> None:
    command = [sys.executable, "-X", "importtime", "-m", "tonumpy", "check", "-"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        # A shell starts what runs in the background with interruptions ignored, and what is started inherits that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:  # it has imported its last module and waits for its input
            if line.rstrip().endswith(b"tonumpy.cli.main"):
                break
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert b"Traceback" not in process.stderr.read()


def test_a_file_name_that_is_no_text_is_reported(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    path = os.path.join(os.fsencode(tmp_path), b"caf\xe9.py")
    try:
        with open(path, "w") as stream:
            stream.write(SAFE)
    except OSError:
        pytest.skip("this file system takes UTF-8 names only")
    assert run_tonumpy("check").out.startswith("caf\\udce9.py:5:14: TNP101")
    (entry,) = json.loads(run_tonumpy("check", "--output-format=json").out)
    assert entry["filename"] == f"{tmp_path}/caf\ufffd.py"  # JSON has no way to write such a name
    assert run_tonumpy("fix").code == 0


# many files


def test_the_number_of_jobs_changes_nothing(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    for number in range(120):
        text = BROKEN if number % 40 == 7 else SAFE if number % 3 else UNSAFE
        (tmp_path / f"module_{number}.py").write_text(text)
    one, two = run_tonumpy("check", "--jobs", "1"), run_tonumpy("check", "--jobs", "2")
    assert one == two
    assert one.code == 2
    assert one.out.count("TNP101") == 117
    assert run_tonumpy("fix", "--diff", "--jobs", "1") == run_tonumpy("fix", "--diff", "--jobs", "2")


def test_a_start_over_clean_files_imports_no_analysis(folder: Path) -> None:
    (folder / "clean.py").write_text("import torch\n")
    imported = imported_by_a_check(folder, "clean.py", code=0)
    assert "tonumpy.cli.main" in imported
    assert not {name for name in imported if name.split(".")[0] in _HEAVY or name.startswith("tonumpy.detectors")}


def test_flake8_is_imported_only_where_there_is_a_comment(folder: Path) -> None:
    (folder / "with.py").write_text(UNSAFE.replace("numpy()", "numpy()  # noqa: E501"))
    (folder / "without.py").write_text(UNSAFE)
    told, silent = (imported_by_a_check(folder, name, code=1) for name in ("with.py", "without.py"))
    assert "flake8.processor" in told
    assert not {name for name in silent if name.startswith("flake8")}


def imported_by_a_check(folder: Path, name: str, code: int) -> set[str]:
    command = [sys.executable, "-X", "importtime", "-m", "tonumpy", "check", name]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == code
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


_HEAVY = frozenset(
    "concurrent dataclasses difflib email flake8 importlib.metadata inspect json libcst logging multiprocessing numpy"
    " pathlib subprocess tempfile tomli tomllib torch tqdm".split()
)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind(tmp_path: Path) -> Iterator[None]:
    """No test may leave a temporary file of ours."""
    yield
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".tonumpy")]


def test_a_repair_that_does_not_end_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With one round for what takes two. What is written is right as far as it goes."""
    from tonumpy import pipeline
    from tonumpy.cli import main as cli

    (tmp_path / "a.py").write_text(SAFE.replace("x.numpy()", "x.cpu().data.numpy()"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(pipeline, "MAX_PASSES", 1)
    assert cli.main(["fix", "--isolated", "-q", "--select", "TNP302,TNP303"]) == 2
    out, err = capsys.readouterr()
    assert "TNP302" in out
    assert err == "a.py:1:1: error: not fully repaired after 1 passes: a bug in tonumpy, please report it\n"
    assert "x.cpu().detach().numpy()" in (tmp_path / "a.py").read_text()
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.py").write_text(SAFE.replace("x.numpy()", "x.cpu().data.numpy()"))
    assert cli.main(["fix", "--isolated", "-q", "--select", "TNP302,TNP303"]) == 0
    assert "x.detach().cpu().numpy()" in (tmp_path / "a.py").read_text()
