"""What is kept of former runs: it says what a run without it says, and what somebody else made says nothing."""

from __future__ import annotations

import os
import random
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from random_edits import Editor

from tonumpy import pipeline
from tonumpy.cli import main as cli
from tonumpy.cli import result_cache, run
from tonumpy.cli.cli_arguments import parse_arguments
from tonumpy.config import ConfigError, Settings
from tonumpy.text.recursion import note_cut

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.cli.outcomes import Outcome, Task
    from tonumpy.engine.names.project import Project
    from tonumpy.report import Report

FLAGGED = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()\n"
IMPORTING = "import torch\nfrom pkg.helpers import load\n\n\ndef f():\n    return load().numpy()\n"
ON_GPU = "import torch\n\n\ndef load():\n    return torch.zeros(3).cuda()\n"
ON_CPU = "import torch\n\n\ndef load():\n    return torch.zeros(3)\n"


@pytest.fixture
def keeping(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, in which what is found is kept; a file that was just written is trusted not to change again
    without a trace, as one of some seconds ago is."""
    project = tmp_path / "project"
    (project / "pkg").mkdir(parents=True)
    (project / "pkg" / "__init__.py").write_text("")
    (project / "pkg" / "helpers.py").write_text(ON_GPU)
    (project / "use.py").write_text(IMPORTING)
    (project / "flagged.py").write_text(FLAGGED)
    for number in range(cli.MANY):
        (project / f"clean_{number}.py").write_text("import os\n")
    monkeypatch.chdir(project)
    monkeypatch.delenv("TONUMPY_NO_CACHE")
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    return project


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were analysed."""
    found: list[str] = []
    real = run.check

    def check(task: Task, project: Project) -> Outcome:
        found.append(task.filename)
        return real(task, project)

    monkeypatch.setattr(run, "check", check)
    return found


def check(*options: str) -> Report:
    return cli.process_files(
        parse_arguments(["check", "--isolated", "--jobs=1", "--quiet", *options]), "check"
    ).report()


def said(report: Report) -> tuple[list[object], list[str]]:
    return list(report.findings), [str(error) for error in report.errors]


@pytest.mark.usefixtures("keeping")
def test_a_second_run_looks_at_nothing_and_says_the_same(looked_at: list[str]) -> None:
    first = check()
    assert [finding.filename for finding in first.findings] == ["flagged.py", "use.py"]
    assert sorted(looked_at) == ["flagged.py", "use.py"]
    looked_at.clear()
    assert said(check()) == said(first)
    assert looked_at == []
    assert said(check("--no-cache")) == said(first)
    assert sorted(looked_at) == ["flagged.py", "use.py"]


def _rewrite(project: Path) -> None:
    (project / "pkg" / "helpers.py").write_text(ON_CPU)


def _rewrite_in_disguise(project: Path) -> None:
    path = project / "pkg" / "helpers.py"
    before = path.stat()
    path.write_text(ON_GPU.replace("cuda", "cpu_"))
    path.write_text(ON_GPU.replace(".cuda()", "       "))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def _remove(project: Path) -> None:
    (project / "pkg" / "helpers.py").unlink()


def _shadow(project: Path) -> None:
    """The package comes before the module."""
    (project / "pkg" / "helpers").mkdir()
    (project / "pkg" / "helpers" / "__init__.py").write_text(ON_CPU)


def _replace_by_link(project: Path) -> None:
    (project / "cpu.py").write_text(ON_CPU)
    (project / "pkg" / "helpers.py").unlink()
    (project / "pkg" / "helpers.py").symlink_to(project / "cpu.py")


@pytest.mark.parametrize("edit", [_rewrite, _rewrite_in_disguise, _remove, _shadow, _replace_by_link])
def test_what_another_file_shows_is_asked_for_again(
    keeping: Path, looked_at: list[str], edit: Callable[[Path], None]
) -> None:
    before = check()
    edit(keeping)
    looked_at.clear()
    after = check()
    assert said(after) == said(check("--no-cache"))
    assert said(after) != said(before)
    assert looked_at[0] == "use.py"
    assert "flagged.py" not in looked_at[:1]


def test_a_module_that_was_searched_and_not_there_may_come(keeping: Path) -> None:
    (keeping / "use.py").write_text("import torch\nfrom late import load\n\n\ndef f():\n    return load().numpy()\n")
    before = check()
    (keeping / "late.py").write_text(ON_CPU)
    assert len(check().findings) == len(before.findings) - 1
    (keeping / "late.py").unlink()
    assert said(check()) == said(before)


def test_a_root_may_come_nearer(keeping: Path) -> None:
    (keeping / "inner").mkdir()
    (keeping / "inner" / "use.py").write_text(IMPORTING)
    before = check()
    (keeping / "inner" / "pkg").mkdir()
    (keeping / "inner" / "pkg" / "helpers.py").write_text(ON_CPU)
    after = check()
    assert len(after.findings) == len(before.findings) - 1
    assert said(after) == said(check("--no-cache"))


def test_the_settings_and_the_name_of_the_file_count(keeping: Path, looked_at: list[str]) -> None:
    check()
    looked_at.clear()
    assert check("--ignore=TNP101,TNP103").findings == []
    found = [finding.filename for finding in check(str(keeping)).findings]
    assert found == [str(keeping / "flagged.py"), str(keeping / "use.py")]
    assert len(looked_at) == 4
    looked_at.clear()
    check()
    assert looked_at == []


def test_every_setting_counts_that_can_change_a_finding() -> None:
    """What is new counts until somebody says that it does not."""
    other: dict[str, object] = {"select": ("TNP1",), "strict": True, "confidence": "low", "disable_habits": ("a",)}
    other |= {"style": "force", "ignored_here": ("TNP101",), "promises": ("a",), "extend_select": ("TNP3",)}
    other |= {"ignore": ("TNP2",), "preview": True, "links": "needed", "sinks": ("a",)}
    other |= {"ignore": ("TNP2",), "observed": "seen.json", "links": "needed"}
    same = {"exclude", "force_exclude", "jobs", "baseline", "per_file_ignores", "unsafe_fixes", "cache_dir"}
    same |= {"output_format"}
    assert set(Settings._fields) == same | set(other)
    store = result_cache.ResultCache(":memory:", repairs=False)
    with closing(store):
        keys = {store._key(Settings()._replace(**{name: value})) for name, value in other.items()}
    assert len(keys | {store._key(Settings())}) == len(other) + 1
    assert same == result_cache._WITHOUT_EFFECT


@pytest.mark.usefixtures("keeping")
def test_a_fix_takes_only_what_has_nothing_to_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    done: list[str] = []
    real = run.fix
    monkeypatch.setattr(run, "fix", lambda task, session: (done.append(task.filename), real(task, session))[1])
    arguments = parse_arguments(["fix", "--isolated", "--jobs=1"])
    fixed = cli.process_files(arguments, "fix")
    assert [path for path, _ in fixed.changes] == done == ["flagged.py", "use.py"]
    fixed.written()
    assert check().findings == []
    assert cli.process_files(arguments, "fix").changes == []
    assert done == ["flagged.py", "use.py"]


def test_contents_count_where_time_stamps_are_new(keeping: Path, looked_at: list[str]) -> None:
    """As in each run of CI."""
    first = check()
    for path in keeping.rglob("*.py"):
        os.utime(path, ns=(1, 1))
    looked_at.clear()
    assert said(check()) == said(first)
    assert looked_at == []
    _rewrite(keeping)
    assert len(check().findings) == len(first.findings) - 1


def test_errors_and_what_was_cut_are_not_kept(
    keeping: Path, looked_at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (keeping / "broken.py").write_text("import torch\nx.numpy(\n")
    real = pipeline.check

    def cut(source: object, *rest: object) -> object:
        if source.filename == "use.py":  # type: ignore[attr-defined]
            note_cut()
        return real(source, *rest)

    monkeypatch.setattr(pipeline, "check", cut)
    first = check()
    assert [error.filename for error in first.errors] == ["broken.py"]
    looked_at.clear()
    assert said(check()) == said(first)
    assert sorted(looked_at) == ["broken.py", "use.py"]


def test_a_notebook_that_is_nested_too_deeply_is_cut_by_itself(keeping: Path, looked_at: list[str]) -> None:
    """What was looked at in the same process is kept."""
    cells = '{"cells": [{"source": "import torch\\nx.numpy()"}], "metadata": '
    (keeping / "deep.ipynb").write_text(cells + "[" * 100_000)
    first = check()
    assert [error.filename for error in first.errors] == ["deep.ipynb"]
    looked_at.clear()
    assert said(check()) == said(first)
    assert looked_at == ["deep.ipynb"]


@pytest.mark.usefixtures("keeping")
def test_an_internal_error_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "check", lambda *_: 1 / 0)
        assert len(check().errors) == 2
    assert check().errors == []


@pytest.mark.slow
def test_edits_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TONUMPY_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "made"
    for path, text in _MADE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    editor = Editor(root, random.Random(1))
    answers = set()
    for _ in range(110):
        done = editor.edit()
        kept = said(check("made", "--confidence=low"))
        assert kept == said(check("made", "--confidence=low", "--no-cache")), done
        answers.add(str(kept))
    assert len(answers) > 15, "the edits change too little to tell anything"


_NET = "import torch\n\n\nclass Net(torch.nn.Module):\n    def forward(self, x):\n        return x.{}()\n"
_HELPERS = "import torch\nfrom .models import Net\n\n\ndef load():\n    return Net()(torch.ones(3).cpu()).detach()\n"
_MADE = {
    "pkg/__init__.py": "from pkg.helpers import load\n",
    "pkg/helpers.py": _HELPERS,
    "pkg/models.py": _NET.format("cpu"),
    "pkg/utils.py": "import torch\n\n\ndef to_array(x: torch.Tensor):\n    return x.detach().cpu().numpy()\n",
    "train.py": "import torch\nfrom pkg import load\n\n\ndef f():\n    return load().numpy()\n",
    "eval.py": "import torch\nfrom models import Net\nwith torch.no_grad():\n    print(Net()(torch.ones(2)).numpy())\n",
    "lib/models.py": _NET.format("detach"),
    "tests/conftest.py": "import pytest, torch\n\n\n@pytest.fixture\ndef batch():\n    return torch.ones(2).cpu()\n",
    "tests/test_a.py": "import torch\n\n\ndef test_a(batch):\n    assert batch.numpy() is not None\n",
    "tests/plain.py": "def show(x):\n    return x.detach().numpy()\n",
}


def _database(project: Path) -> Path:
    (path,) = (project.parent / "home" / "tonumpy").glob("*.sqlite")
    return path


@pytest.mark.parametrize("content", [b"", b"SQLite format 3\0 and no more", b"\0" * 5000])
def test_what_is_spoilt_is_as_if_it_were_not_there(keeping: Path, looked_at: list[str], content: bytes) -> None:
    first = check()
    _database(keeping).write_bytes(content)
    looked_at.clear()
    assert said(check()) == said(first)
    assert sorted(looked_at) == ["flagged.py", "use.py"]
    looked_at.clear()
    assert said(check()) == said(first)
    assert looked_at == []


def test_an_entry_of_another_shape_is_as_if_it_were_not_there(keeping: Path) -> None:
    first = check()
    with closing(sqlite3.connect(_database(keeping))) as database, database:
        database.execute("UPDATE entries SET content = '[]'")
    assert said(check()) == said(first)


def test_callers_in_other_files_count(keeping: Path, looked_at: list[str]) -> None:
    (keeping / "save.py").write_text("import torch\n\n\ndef save(x):\n    return x.numpy()\n")
    (keeping / "run.py").write_text("import torch\nfrom save import save\n\nsave(torch.ones(3))\n")
    for path in ("run.py", "other.py"):
        looked_at.clear()
        text = (keeping / "run.py").read_text()
        (keeping / path).write_text(text.replace("ones(3)", "ones(3).cuda()") if path == "run.py" else text)
        assert said(check()) == said(check("--no-cache")), path


def test_the_cache_is_the_users_and_none_of_the_repository(keeping: Path) -> None:
    before = sorted(keeping.rglob("*"))
    check()
    assert sorted(keeping.rglob("*")) == before
    assert _database(keeping).parent.stat().st_mode & 0o077 == 0 or os.name == "nt"


def test_a_cache_that_a_repository_delivers_hides_nothing(keeping: Path) -> None:
    (keeping / "pyproject.toml").write_text('[tool.tonumpy]\ncache-dir = "kept"\n')
    parsed = parse_arguments(["check", "--jobs=1", "--quiet"])
    first = cli.process_files(parsed, "check").report()
    (delivered,) = (keeping / "kept").glob("*.sqlite")
    with closing(sqlite3.connect(delivered)) as database, database:  # of somebody else, who finds nothing
        database.execute("UPDATE entries SET content = json_replace(content, '$[3]', json('[]'))")
    delivered.rename(delivered.with_name(f"{delivered.stem[:-32]}{'0' * 32}.sqlite"))
    assert said(cli.process_files(parsed, "check").report()) == said(first)
    delivered.unlink()
    victim = keeping.parent / "victim"
    victim.write_text("the user's")
    delivered.symlink_to(victim)
    assert said(cli.process_files(parsed, "check").report()) == said(first)
    assert victim.read_text() == "the user's"


def test_options_name_another_folder_or_none(keeping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    check("--no-cache")
    check("--cache-dir", str(keeping.parent / "named"))
    monkeypatch.setenv("TONUMPY_CACHE_DIR", str(keeping.parent / "meant"))
    check()
    assert [len(list((keeping.parent / name).glob("*.sqlite"))) for name in ("named", "meant")] == [1, 1]
    assert [path.name for path in (keeping.parent / "home/tonumpy").iterdir()] == ["token"]
    with pytest.raises(ConfigError, match="belongs to version control"):
        check("--cache-dir", ".git/kept")


@pytest.mark.usefixtures("keeping")
def test_clean_removes_the_databases(capsys: pytest.CaptureFixture[str], keeping: Path) -> None:
    check()
    (keeping.parent / "home/tonumpy/notes").write_text("mine")
    assert cli.main(["clean"]) == 0
    assert cli.main(["clean"]) == 0
    folder = keeping.parent / "home/tonumpy"
    assert capsys.readouterr().out == f"Removed the cache in {folder}.\nThere is no cache in {folder}.\n"
    assert sorted(path.name for path in folder.iterdir()) == ["notes", "token"]


def test_a_few_files_leave_no_trace(keeping: Path) -> None:
    check("flagged.py", "use.py")
    assert not (keeping.parent / "home").exists()


def test_a_folder_that_cannot_be_made_is_no_trouble(keeping: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (keeping.parent / "home").write_text("a file")
    assert len(check().findings) == 2
    assert "so no cache is kept" in capsys.readouterr().err


@pytest.mark.usefixtures("keeping")
def test_two_runs_at_a_time_do_not_harm_each_other() -> None:
    command = [sys.executable, "-m", "tonumpy", "check", "--isolated", "-q"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(4)]
    outputs = {run.communicate() for run in runs}
    assert len(outputs) == 1
    assert said(check()) == said(check("--no-cache"))


def test_former_versions_are_forgotten(keeping: Path) -> None:
    folder = keeping.parent / "home/tonumpy"
    folder.mkdir(parents=True)
    for number in range(6):
        path = folder / f"{number}.sqlite"
        path.touch()
        os.utime(path, (number, number))
    check()
    assert len(list(folder.glob("*.sqlite"))) == 4
