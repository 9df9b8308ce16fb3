"""Files that cannot be read, decoded or parsed: each is named with place and reason, and the others are still done."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from tonumpy.cli import main as cli
from tonumpy.cli import parallel, run
from tonumpy.cli.outcomes import Outcome, Task
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.findings import Position, SourceError

if TYPE_CHECKING:
    from pathlib import Path

    from conftest import RunTonumpy


GOOD = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"

# Name: (content, how the line about it goes on). Python's own parser says the place and the reason of a syntax error.
TEXTS: dict[str, tuple[bytes, str]] = {
    "syntax": (b"import torch\ndef (:\n    x.numpy()\n", ":2:5: error: cannot be parsed: invalid syntax"),
    "indentation": (b"if x:\nx.numpy()\n", ":2:1: error: cannot be parsed: expected an indented block"),
    "tabs": (b"if x:\n\tx.numpy()\n        y\n", ":3:"),
    "bracket": (b"f(x.numpy()\n", ":1:2: error: cannot be parsed: '(' was never closed"),
    "null": (b"x = 1\nx.numpy()\0\n", ":1:1: error: cannot be parsed: source code"),
    "utf8": (b"x = 1\ny = '\xff'.numpy()\n", ":2:6: error: cannot be decoded as utf-8: invalid start byte (byte 0xff)"),
    "cut": ("x.numpy()\n# caf\u00e9".encode()[:-1], ":2:6: error: cannot be decoded as utf-8: unexpected end of data"),
    "ascii": (b"# coding: ascii\n# \xe9 x.numpy()\n", ":2:3: error: cannot be decoded as ascii: "),
    "cookie": (b"# coding: klingon\nx.numpy()\n", ":1:1: error: cannot be decoded: unknown encoding: klingon"),
    "bom": (b"\xef\xbb\xbf# coding: latin-1\nx.numpy()\n", ":1:1: error: cannot be decoded: encoding problem: utf-8"),
}


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """One run over all of them: the line about each, and the lines of stdout under "stdout"."""
    import subprocess

    folder = tmp_path_factory.mktemp("bad")
    for name, (content, _) in TEXTS.items():
        (folder / f"{name}.py").write_bytes(content)
    (folder / "good.py").write_text(GOOD)
    done = subprocess.run(
        [sys.executable, "-m", "tonumpy", "check", "--isolated"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 2
    return {line.partition(".py")[0]: line for line in done.stderr.splitlines()} | {"stdout": done.stdout}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_that_cannot_be_understood(name: str, reported: dict[str, str]) -> None:
    assert reported[name].startswith(f"{name}.py{TEXTS[name][1]}")


def test_all_of_them_are_reported_and_the_good_file_too(reported: dict[str, str]) -> None:
    assert set(reported) == {*TEXTS, "stdout"}
    assert reported["stdout"].startswith("good.py:5:14: TNP101")
    assert f"{len(TEXTS)} files could not be processed." in reported["stdout"]


def test_a_broken_file_without_candidates_is_not_parsed(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """A file that holds no conversion has no finding, whatever else is wrong with it; another tool tells of that."""
    (tmp_path / "a.py").write_text("def (:\n")
    assert run_tonumpy("check").code == 0


def test_a_broken_function_beside_a_conversion(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    text = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n\n\ndef g(y):\n    print 'done'\n"
    (tmp_path / "a.py").write_text(text)
    for command in ("check", "fix"):
        run = run_tonumpy(command)
        assert run.code == 2
        assert "a.py:9:5: error: cannot be parsed: Missing parentheses" in run.err
    assert (tmp_path / "a.py").read_text() == text


def test_paths_that_cannot_be_read(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "good.py").write_text(GOOD)
    (tmp_path / "broken.py").symlink_to("nowhere.py")
    (tmp_path / "loop.py").symlink_to("loop.py")
    expected = "broken.py: error: No such file or directory\nloop.py: error: Too many levels of symbolic links\n"
    for arguments in ([], ["broken.py", "loop.py", "good.py"]):
        result = run_tonumpy("check", *arguments)
        assert (result.code, result.err) == (2, expected)
        assert result.out.startswith("good.py:5:14: TNP101")
    result = run_tonumpy("fix")
    assert (result.code, result.err) == (2, expected)
    assert "x.detach().cpu().numpy()" in (tmp_path / "good.py").read_text()


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that even root cannot read")
def test_a_file_that_cannot_be_read(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("/proc/self/mem")
    assert run_tonumpy("check")[:3] == (
        2,
        "1 file could not be processed.\n",
        "a.py: error: Input/output error\n",
    )


def test_a_folder_that_is_gone(run_tonumpy: RunTonumpy) -> None:
    assert run_tonumpy("check", "gone")[:3] == (
        2,
        "1 file could not be processed.\n",
        "gone: error: No such file or directory\n",
    )


def test_a_file_that_vanishes_after_it_was_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tonumpy.cli import files

    (tmp_path / "a.py").write_text(GOOD)
    (tmp_path / "b.py").write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    find = files.find_files

    def find_and_remove(*arguments: object, **options: object) -> files.Found:
        found = find(*arguments, **options)  # type: ignore[arg-type]
        (tmp_path / "a.py").unlink()
        return found

    monkeypatch.setattr(cli, "find_files", find_and_remove)
    assert cli.main(["check", "--isolated", "-q"]) == 2
    out, err = capsys.readouterr()
    assert err == "a.py: error: No such file or directory\n"
    assert out.startswith("b.py:5:14: TNP101")


def test_a_current_folder_that_is_gone(tmp_path: Path) -> None:
    import subprocess

    command = f"cd {tmp_path} && mkdir here && cd here && rmdir ../here && exec {sys.executable} -P -m tonumpy check"
    if sys.version_info < (3, 11):
        command = command.replace(" -P ", " ")
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == "tonumpy: error: the current folder: No such file or directory\n"


DEEP = {
    "brackets": "(" * 5000 + "x.numpy()" + ")" * 5000,
    "minus": "-" * 5000 + "x.numpy()",
    "chain": "x" + ".a" * 5000 + ".numpy()",
    "calls": "x" + ".numpy()" * 100,
    "sum": "+".join(["x.numpy()"] * 100),
    "powers": "**".join(["x.numpy()"] * 5000),
    "lambdas": "lambda: " * 500 + "x.numpy()",
    "branches": "if a: pass\n" + "elif x.numpy(): pass\n" * 2000,
    "blocks": "\n".join(" " * depth + "if x.numpy():" for depth in range(90)) + "\n" + " " * 90 + "pass",
    "blocks_too_deep": "\n".join(" " * depth + "if x.numpy():" for depth in range(110)) + "\n" + " " * 110 + "pass",
    "nested_calls": "f(" * 150 + "x.numpy()" + ")" * 150,
    "indexes": "x" + "[0]" * 5000 + ".numpy()",
}


def test_deep_nesting_is_an_answer_or_an_error_and_no_crash(run_tonumpy: RunTonumpy, tmp_path: Path) -> None:
    """What is too deep differs from one Python to the next; that the run goes on and says so does not."""
    for name, text in DEEP.items():
        (tmp_path / f"{name}.py").write_text(f"import torch\n{text}\n")
    (tmp_path / "good.py").write_text(GOOD)
    for command in ("check", "fix"):
        result = run_tonumpy(command, "--unsafe-fixes" if command == "fix" else "--quiet")
        assert result.code == 2
        assert "Traceback" not in result.err
        assert "internal error" not in result.err
        failed = {line.partition(".py")[0] for line in result.err.splitlines()}
        assert {"brackets", "blocks_too_deep"} <= failed <= set(DEEP)
    assert "x.detach().cpu().numpy()" in (tmp_path / "good.py").read_text()


def task(name: str = "a.py") -> Task:
    return Task(name, GOOD.encode(), Settings())


@pytest.mark.parametrize(
    ("raised", "reason", "position"),
    [
        (RecursionError("maximum recursion depth exceeded"), "cannot be checked: nested too deeply", Position(1, 1)),
        (SourceError("a.py", "said so", Position(2, 3)), "said so", Position(2, 3)),
    ],
)
def test_an_error_of_one_file_is_its_outcome(
    monkeypatch: pytest.MonkeyPatch, raised: Exception, reason: str, position: Position
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr("tonumpy.pipeline.check", fail)
    outcome = run.check(task(), Project())
    assert outcome.error is not None
    assert (outcome.error.filename, outcome.error.reason, outcome.error.position) == ("a.py", reason, position)


def test_a_defect_of_ours_is_named_with_its_place_and_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tonumpy import pipeline

    check = pipeline.check

    def fail_for_a(source: object, *rest: object) -> object:
        if source.filename == "a.py":  # type: ignore[attr-defined]
            raise KeyError("oops")
        return check(source, *rest)  # type: ignore[arg-type]

    for name in ("a.py", "b.py"):
        (tmp_path / name).write_text(GOOD)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("tonumpy.pipeline.check", fail_for_a)
    assert cli.main(["check", "--isolated", "-q"]) == 2
    out, err = capsys.readouterr()
    assert err.startswith("a.py: error: internal error, please report it: KeyError: 'oops' (test_bad_input.py:")
    assert out.startswith("b.py:5:14: TNP101")


def die(task: Task, _project: Project) -> Outcome:
    if task.filename == "7.py":
        os._exit(1)
    return Outcome(task, None, [], [], None)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_worker_that_dies_ends_the_run_with_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parallel, "POOL_FROM", 10)
    tasks = [task(f"{number}.py") for number in range(20)]
    with pytest.raises(ChildProcessError, match="`--jobs 1` shows at which file"):
        list(parallel.outcomes_of(die, tasks, 2))
