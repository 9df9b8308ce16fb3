"""What is kept of former runs: it says what a run without it says, and what somebody else made says nothing."""

from __future__ import annotations

import ast
import json
import os
import random
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from conftest import Result, RunTonumpy
from random_edits import Editor

import tonumpy
from tonumpy import pipeline
from tonumpy.cache import folder as cache_folder
from tonumpy.cache import known_repository
from tonumpy.cache.folder import CacheFolder, NotOursError, clean
from tonumpy.cache.identity import settings_key
from tonumpy.cache.lookup_answers import Listings, LookupAnswers
from tonumpy.cache.recorded import RecordedProject
from tonumpy.cache.seal import Seal, own_seal
from tonumpy.config import Settings
from tonumpy.engine.names import lookups
from tonumpy.engine.names.folders import Folders
from tonumpy.frontends import cli, parallel, run
from tonumpy.frontends.cli_arguments import parse_arguments
from tonumpy.frontends.outcomes import Outcome, Task
from tonumpy.text import deferred
from tonumpy.text.recursion import note_cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tonumpy.cache.known_repository import Known, KnownRepository
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
    monkeypatch.setattr(lookups, "SETTLED", 0)
    return project


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were analysed."""
    found: list[str] = []
    real = run.check

    def check(task: Task, session: run.Session) -> Outcome:
        found.append(task.filename)
        return real(task, session)

    monkeypatch.setattr(run, "check", check)
    return found


def check(*options: str) -> Report:
    return cli.process_files(
        parse_arguments(["check", "--isolated", "--jobs=1", "--quiet", *options]), "check"
    ).report()


def said(report: Report) -> tuple[list[object], list[str]]:
    return list(report.findings), [str(error) for error in report.errors]


def test_a_second_run_looks_at_nothing_and_says_the_same(keeping: Path, looked_at: list[str]) -> None:
    first = check()
    assert [finding.filename for finding in first.findings] == ["flagged.py", "use.py"]
    assert sorted(looked_at) == ["flagged.py", "use.py"]
    looked_at.clear()
    assert said(check()) == said(first)
    assert looked_at == []
    assert said(check("--no-cache")) == said(first)
    assert sorted(looked_at) == ["flagged.py", "use.py"]
    assert (keeping / ".tonumpy_cache" / ".gitignore").read_text().endswith("*\n")
    assert (keeping / ".tonumpy_cache" / "CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172789f0688")


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
    keys = {settings_key(Settings()._replace(**{name: value})) for name, value in other.items()}
    assert len(keys | {settings_key(Settings())}) == len(other) + 1


@pytest.mark.usefixtures("keeping")
def test_a_fix_takes_only_what_has_nothing_to_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    check()
    done: list[str] = []
    real = run.fix
    monkeypatch.setattr(run, "fix", lambda task, session: (done.append(task.filename), real(task, session))[1])
    arguments = parse_arguments(["fix", "--isolated", "--jobs=1"])
    fixed = cli.process_files(arguments, "fix")
    assert [path for path, _ in fixed.changes] == done == ["flagged.py", "use.py"]
    fixed.written([])
    assert check().findings == []
    assert cli.process_files(arguments, "fix").changes == []
    assert done == ["flagged.py", "use.py"]


def test_in_ci_the_contents_count_and_nothing_else(
    keeping: Path, looked_at: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CI", "true")
    first = check()
    for path in keeping.rglob("*.py"):
        os.utime(path, ns=(1, 1))
    looked_at.clear()
    assert said(check()) == said(first)
    assert looked_at == []
    _rewrite(keeping)
    assert len(check().findings) == len(first.findings) - 1


def test_a_file_that_was_just_written_is_read(keeping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be written again before the clock of the file system ticks."""
    monkeypatch.setattr(lookups, "SETTLED", 10**18)
    first = check()
    path = keeping / "pkg" / "helpers.py"
    real, stamps = os.stat, {str(path): path.stat()}
    path.write_text(ON_CPU)
    monkeypatch.setattr(os, "stat", lambda name, **options: stamps.get(str(name)) or real(name, **options))
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
@pytest.mark.parametrize("trusts_stamps", [True, False])
def test_edits_at_random(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trusts_stamps: bool) -> None:
    """`python scripts/prove_cache.py` does the same to real repositories, for longer. The functions of these here would
    all be too short to be looked into one by one."""
    monkeypatch.setattr(deferred, "MIN_LENGTH", 20)
    monkeypatch.delenv("TONUMPY_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    if trusts_stamps:
        monkeypatch.setattr(lookups, "SETTLED", 0)
    monkeypatch.chdir(tmp_path)
    root = tmp_path / "made"
    for path, text in _MADE.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    editor = Editor(root, random.Random(trusts_stamps))
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


def _content(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


@pytest.mark.parametrize("spoil", ["cut", "flip", "empty", "other key", "no json", "other name", "link"])
def test_what_is_spoilt_is_as_if_it_were_not_there(keeping: Path, looked_at: list[str], spoil: str) -> None:
    first = check()
    (kept,) = (path for path in (keeping / ".tonumpy_cache").rglob("*") if b'"TNP101"' in _content(path))
    data = kept.read_bytes()
    seal = own_seal()
    assert seal is not None
    forged = json.dumps([[], {"use.py": [None, "", [], [], [], ""], "flagged.py": [None, "", [], [], [], ""]}]).encode()
    if spoil == "link":
        (keeping / "elsewhere").write_bytes(data)
        kept.unlink()
        kept.symlink_to(keeping / "elsewhere")
    else:
        kept.write_bytes(
            {
                "cut": data[: len(data) // 2],
                "flip": bytes([*data[:-9], data[-9] ^ 1, *data[-8:]]),
                "empty": b"",
                "other key": Seal(b"x" * 32).closed(forged, kept.name.encode()),
                "no json": seal.closed(b"[[", kept.name.encode()),
                "other name": seal.closed(forged, b"0" * 32),
            }[spoil]
        )
    looked_at.clear()
    assert said(check()) == said(first)
    assert sorted(looked_at) == ["flagged.py", "use.py"]
    looked_at.clear()
    assert said(check()) == said(first)
    assert looked_at == []


def test_a_cache_that_a_repository_delivers_hides_nothing(keeping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It was made by somebody else, who has another key."""
    (keeping / "flagged.py").write_text("import os\n")
    check()
    (keeping / "flagged.py").write_text(FLAGGED)
    monkeypatch.setenv("XDG_CACHE_HOME", str(keeping.parent / "another home"))
    assert [finding.filename for finding in check().findings] == ["flagged.py", "use.py"]


def test_nothing_is_written_through_a_link_or_among_the_files_of_others(
    keeping: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    private = keeping.parent / "private"
    private.mkdir()
    (private / "letter").write_text("mine")
    (keeping / ".tonumpy_cache").symlink_to(private)
    assert len(check().findings) == 2
    assert ".tonumpy_cache: is no folder, so no cache is kept" in capsys.readouterr().err
    for arguments in (["check", f"--cache-dir={private}", "."], ["clean", f"--cache-dir={private}"], ["clean"]):
        assert cli.main(arguments) == 2
    assert [path.name for path in private.iterdir()] == ["letter"]


def test_a_link_in_the_cache_is_not_followed(keeping: Path) -> None:
    check()
    (version,) = (path for path in (keeping / ".tonumpy_cache").iterdir() if path.is_dir())
    moved = keeping.parent / "moved"
    version.rename(moved)
    version.symlink_to(moved)
    before = sorted(moved.iterdir())
    (keeping / "flagged.py").write_text(FLAGGED * 2)
    assert len(check().findings) == 3
    assert clean(".tonumpy_cache")
    assert sorted(moved.iterdir()) == before


def test_clean_removes_what_is_ours_and_nothing_else(keeping: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check()
    (keeping / ".tonumpy_cache" / "notes").write_text("mine")
    assert cli.main(["clean"]) == 0
    assert [path.name for path in (keeping / ".tonumpy_cache").iterdir()] == ["notes"]
    (keeping / ".tonumpy_cache" / "notes").unlink()
    check()
    assert cli.main(["clean"]) == 0
    assert not (keeping / ".tonumpy_cache").exists()
    assert cli.main(["clean"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"Removed {keeping}/.tonumpy_cache.\n")
    assert out.endswith(f"There is no cache in {keeping}/.tonumpy_cache.\n")


def test_where_the_cache_lies(keeping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (keeping / "pyproject.toml").write_text('[tool.tonumpy]\ncache-dir = "build/kept"\n')
    assert cli.main(["check", "-q"]) == 1
    assert (keeping / "build" / "kept" / "CACHEDIR.TAG").exists()
    monkeypatch.setenv("TONUMPY_CACHE_DIR", str(keeping.parent / "of variable"))
    assert cli.main(["check", "-q"]) == 1
    assert (keeping.parent / "of variable" / "CACHEDIR.TAG").exists()
    assert cli.main(["check", "-q", "--cache-dir=../of option"]) == 1
    assert (keeping.parent / "of option" / "CACHEDIR.TAG").exists()
    assert not (keeping / ".tonumpy_cache").exists()


def test_a_file_of_the_repository_names_no_folder_outside(keeping: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (keeping / "pyproject.toml").write_text('[tool.tonumpy]\ncache-dir = "../../.ssh"\n')
    assert cli.main(["check"]) == 2
    assert "pyproject.toml: [tool.tonumpy] cache-dir: expected a folder in " in capsys.readouterr().err


def test_in_a_folder_below_the_cache_of_the_repository_is_used(keeping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (keeping / ".git").mkdir()
    monkeypatch.chdir(keeping / "pkg")
    for number in range(cli.MANY):
        (keeping / "pkg" / f"flagged_{number}.py").write_text(FLAGGED)
    check()
    assert (keeping / ".tonumpy_cache").exists()
    assert not (keeping / "pkg" / ".tonumpy_cache").exists()


def test_a_few_files_leave_no_trace(keeping: Path) -> None:
    check("clean_0.py", "flagged.py")
    assert not (keeping / ".tonumpy_cache").exists()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="the rights of root do for every folder")
def test_a_folder_that_cannot_be_written_is_no_trouble(keeping: Path) -> None:
    first = check()
    clean(".tonumpy_cache")
    keeping.chmod(0o500)
    try:
        assert said(check()) == said(first)
    finally:
        keeping.chmod(0o700)


def test_where_no_key_can_be_kept_nothing_is(keeping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (keeping.parent / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(keeping.parent / "file"))
    assert len(check().findings) == 2
    assert not (keeping / ".tonumpy_cache").exists()


def test_two_runs_at_a_time_do_not_harm_each_other(keeping: Path) -> None:
    command = [sys.executable, "-m", "tonumpy", "check", "--isolated", "--output-format=json"]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(3)]
    outs = {each.communicate() for each in runs}
    assert len(outs) == 1
    assert len(json.loads(outs.pop()[0])) == 2
    names = [path.name for path in (keeping / ".tonumpy_cache").rglob("*")]
    assert sorted(name for name in names if "." in name) == [".gitignore", "CACHEDIR.TAG"]


@pytest.mark.usefixtures("keeping")
@pytest.mark.parametrize("form", ["json", "sarif"])
def test_a_format_is_the_same_to_the_byte(run_tonumpy: RunTonumpy, form: str) -> None:
    def output(*options: str) -> Result:
        given = "check", "--show-evidence", f"--output-format={form}", "project", *options
        return run_tonumpy(*given, TONUMPY_NO_CACHE="")

    kept = output()
    assert kept.code == 1
    assert kept == output() == output("--no-cache")


def test_former_versions_are_forgotten(tmp_path: Path) -> None:
    for number in range(7):
        folder = CacheFolder(str(tmp_path / "cache"), f"{number:016}")
        assert folder.write("0" * 32, b"data")
        os.utime(tmp_path / "cache" / f"{number:016}", (number, number))
    left = sorted(path.name for path in (tmp_path / "cache").iterdir() if path.is_dir())
    assert left == [f"{number:016}" for number in range(3, 7)]


def test_a_folder_of_somebody_else_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "notes").write_text("mine")
    with pytest.raises(NotOursError, match="did not make"):
        CacheFolder(str(tmp_path), "0" * 16)
    (tmp_path / cache_folder.TAG).write_text("Signature: 8a477f597d28d172789f06886806bc55\n# by another tool\n")
    with pytest.raises(NotOursError, match="did not make"):
        clean(str(tmp_path))


def test_listings_answer_as_the_disk_does(tmp_path: Path) -> None:
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "a.py").write_text("")
    (tmp_path / "space").mkdir()
    (tmp_path / "file.py").write_text("")
    (tmp_path / "link.py").symlink_to(tmp_path / "file.py")
    (tmp_path / "broken.py").symlink_to(tmp_path / "nothing")
    (tmp_path / "linked").symlink_to(tmp_path / "pkg")
    (tmp_path / "näme.py").write_text("")
    os.mkfifo(tmp_path / "pipe.py")
    names = "pkg space file link broken linked näme pipe missing".split()
    one, other = Listings(), Folders()
    for name in names:
        for path in (tmp_path / name, tmp_path / f"{name}.py", tmp_path / name / "a.py"):
            asked = str(path)
            assert one.is_file(asked) == other.is_file(asked), path
            assert one.is_folder(asked) == other.is_folder(asked), path
            assert one.exists(asked) == other.exists(asked), path
        assert one.holds_module(str(tmp_path), name) == other.holds_module(str(tmp_path), name), name
        assert one.roots(name, str(tmp_path / "pkg")) == other.roots(name, str(tmp_path / "pkg"))
    assert one.is_folder("/")


def test_of_a_neighbour_only_what_it_imports_counts(keeping: Path) -> None:
    project = RecordedProject()
    project.roots_around(str(keeping / "pkg"))
    asked = project.lookups(str(keeping / "pkg" / "of_this_file.py")) or ()
    ((kind, about, answer),) = (json.loads(json.dumps(each)) for each in asked if each.kind == "around")
    first = LookupAnswers(by_stamp=True)
    kept = first.shortened(kind, about, answer)
    assert kept == [["torch"]]
    left = {each[:2]: each[2] for each in first.changed()}

    def left_behind(*what: str) -> list[object] | None:
        found = left.get(what)
        return found if isinstance(found, list) else None

    def is_the_same() -> bool:
        answers = LookupAnswers(by_stamp=True, load=left_behind)
        is_same = answers.renewed(kind, about, kept) == kept
        left.update((each[:2], each[2]) for each in answers.changed())
        return is_same

    assert is_the_same()
    (keeping / "pkg" / "helpers.py").write_text(ON_CPU)
    (keeping / "pkg" / "more.py").write_text("from torch import nn\n")
    before = dict(left)
    assert is_the_same()
    assert left != before
    before = dict(left)
    assert is_the_same()
    assert left == before
    (keeping / "pkg" / "more.py").write_text("import jax\n")
    assert not is_the_same()


class TestSearches:
    """What a search has found is known in later runs, but for the files that have changed."""

    @pytest.fixture
    def disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> _Disk:
        monkeypatch.setattr(lookups, "SETTLED", 0)
        return _Disk(tmp_path / "top", monkeypatch)

    def test_only_what_has_changed_is_read_and_searched(self, disk: _Disk) -> None:
        disk.write(a="word", b="other", c="word")
        assert disk.naming("word") == ["a", "c"]
        assert disk.read == {"a", "b", "c"}
        assert disk.naming("word") == ["a", "c"]
        assert disk.read == set()
        disk.write(a="another", b="word")
        assert disk.naming("word") == ["b", "c"]
        assert disk.read == {"a", "b"}

    def test_what_comes_and_goes_counts(self, disk: _Disk) -> None:
        disk.write(a="word", b="word")
        assert disk.naming("word") == ["a", "b"]
        disk.write(c="word")
        (disk.top / "a.py").unlink()
        assert disk.naming("word") == ["b", "c"]
        assert disk.read == {"c"}

    def test_a_search_may_rest_for_some_runs(self, disk: _Disk) -> None:
        disk.write(a="word", b="other")
        assert disk.naming("word") == ["a"]
        disk.write(b="word")
        disk.naming("other")
        disk.write(a="no")
        assert disk.naming("word") == ["b"]
        assert disk.read == {"a", "b"}

    def test_what_was_found_in_a_state_that_nobody_knows_is_searched_again(self, disk: _Disk) -> None:
        disk.write(a="word", b="other")
        disk.naming("word")
        assert disk.known is not None
        disk.known = disk.known._replace(files={})
        disk.write(b="word")
        assert disk.naming("word") == ["a", "b"]

    def test_another_file_than_the_one_at_hand(self, disk: _Disk) -> None:
        disk.write(a="word", b="word", c="word", d="other")
        assert disk.is_beside("a", "word")
        disk.write(b="no")
        assert disk.is_beside("a", "word")
        disk.write(c="no")
        assert not disk.is_beside("a", "word")
        assert disk.is_beside("b", "word")
        disk.write(d="word")
        assert disk.is_beside("a", "word")
        assert disk.read == {"d"}

    def test_what_other_processes_have_found_is_known_too(self, keeping: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(parallel, "POOL_FROM", 1)
        monkeypatch.setattr(parallel, "_CHUNK", 1)
        (keeping / ".git").mkdir()
        (keeping / "flagged.py").write_text(FLAGGED.replace("def f", "def shown"))
        (keeping / "user.py").write_text("from flagged import shown\n\n\ndef g():\n    shown(1)\n")
        first = check("--jobs=2")
        (keeping / "clean_1.py").write_text("import sys\n")
        searched: list[str] = []
        real = known_repository.where_it_stands

        def where_it_stands(name: str, pattern: str, texts: Iterable[tuple[str, bytes]]) -> Iterator[str]:
            known = list(texts)
            searched.extend(Path(path).name for path, _ in known)
            return real(name, pattern, known)

        monkeypatch.setattr(known_repository, "where_it_stands", where_it_stands)
        assert said(check()) == said(first)
        assert set(searched) == {"clean_1.py"}

    def test_a_text_that_changes_while_it_is_searched_is_known_to_nobody(self, disk: _Disk) -> None:
        disk.write(a="word", b="other")
        disk.naming("word")
        found = disk.repository()
        disk.write(b="third")
        assert found.naming("third", "%s") == [str(disk.top / "b.py")]
        assert found.state == ""
        assert found.answer("naming", ("word", "%s"))[1] == ""


class _Disk:
    """The files in a folder, by their names without the ending; each question is asked in a run of its own."""

    def __init__(self, top: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.top = top
        self.read: set[str] = set()  # in the last run
        self.known: Known | None = None
        top.mkdir()
        real = known_repository.read_looked_at

        def read(path: str) -> tuple[bytes, os.stat_result]:
            self.read.add(Path(path).stem)
            return real(path)

        monkeypatch.setattr(known_repository, "read_looked_at", read)

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.top / f"{name}.py").write_text(text)

    def repository(self) -> KnownRepository:
        self.read.clear()
        found = known_repository.known_repository(
            str(self.top), self.known, lambda path: lookups.stamp_of(Path(path).stat())
        )
        assert found is not None
        return found

    def naming(self, word: str) -> list[str]:
        paths, _ = self._answer("naming", word, "%s")
        assert isinstance(paths, list)
        return [Path(path).stem for path in paths]

    def is_beside(self, name: str, word: str) -> bool:
        return self._answer("beside", str(self.top / f"{name}.py"), word, "%s")[0] is True

    def _answer(self, kind: str, *about: str) -> list[object]:
        found = self.repository()
        answer = found.answer(kind, about)
        self.known = found.known
        return answer


def test_a_question_that_nobody_knows_is_answered_otherwise() -> None:
    """As a former version may have asked it."""
    assert LookupAnswers(by_stamp=True).renewed("of old", ("a",), ["b"]) is None


# What asks the disk for something that findings rest on, and what reads data of the tool's own.
_ASK = {"text/reading.py", "engine/names/folders.py", "engine/names/project.py", "engine/names/repository.py"}
_READ_OWN = {"sinks/consumers.py", "engine/knowledge/tables.py", "engine/knowledge/libraries/rows.py"}
_READ_OWN |= {"sinks/taken/table.py", "inference/habits/__init__.py", "rules/__init__.py"}


def test_nobody_asks_the_disk_but_those_who_record_it() -> None:
    """What else would ask could be answered otherwise without anybody's taking notice."""
    asks = "isfile isdir exists lexists islink realpath listdir scandir glob rglob stat lstat open iterdir Path".split()
    source = Path(tonumpy.__file__).parent
    found = set()
    for part in ("text", "engine", "inference", "sinks", "rules", "repair"):
        for path in (source / part).rglob("*.py"):
            calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
            if any(ast.unparse(call.func).rpartition(".")[2] in asks for call in calls):
                found.add(path.relative_to(source).as_posix())
    assert found == _ASK | _READ_OWN


def test_what_a_shared_module_knows_already_counts_for_each_file(keeping: Path) -> None:
    """`plain.py` speaks no framework's words, so those beside it are asked, once for both files that follow it."""
    for name in ("one.py", "two.py"):
        (keeping / name).write_text(IMPORTING.replace("helpers", "plain"))
    plain = "class A:\n    def load(self): return self.x.cpu()\n\n\ndef load():\n    return A()\n"
    (keeping / "pkg" / "plain.py").write_text(plain)
    session = run.Session(RecordedProject())
    seen = []
    for name in ("one.py", "two.py"):
        outcome = run.check(Task(name, None, Settings()), session)
        assert outcome.basis is not None
        seen.append({each[:2] for each in outcome.basis.lookups})
    assert seen[0] == seen[1]
    assert ("module", (str(keeping / "pkg" / "plain"),)) in seen[0]


@pytest.mark.parametrize(
    ("kind", "ask", "edit"),
    [
        ("package", lambda project, here: project.is_package(f"{here}/space"), "space/__init__.py"),
        ("around", lambda project, here: project.roots_around(f"{here}/pkg"), "pkg/another.py"),
        ("above", lambda project, here: list(project.modules_above("conftest", f"{here}/space/a")), "space/.git"),
        ("module", lambda project, here: list(project.modules_above("conftest", f"{here}/space/a")), "conftest.py"),
        ("holds", lambda project, here: project.find("space.late", f"{here}/space"), "space/late.py"),
        ("roots", lambda project, here: project.find("late", f"{here}/space"), "lib/late.py"),
    ],
)
def test_each_question_is_asked_again(
    keeping: Path, kind: str, ask: Callable[[RecordedProject, Path], object], edit: str
) -> None:
    (keeping / "space" / "a").mkdir(parents=True)
    (keeping / "lib").mkdir()
    project = RecordedProject()
    ask(project, keeping)
    asked = project.lookups(str(keeping / ("pkg" if kind == "around" else "space") / "of_this_file.py")) or ()
    before = LookupAnswers(by_stamp=True)
    answers = [(*each[:2], before.shortened(*each)) for each in json.loads(json.dumps(asked)) if each[0] == kind]
    assert answers
    assert all(before.renewed(*each) is not None for each in answers)
    (keeping / edit).write_text("import jax\n")
    after = LookupAnswers(by_stamp=True)
    assert any(after.renewed(*each) is None for each in answers)
