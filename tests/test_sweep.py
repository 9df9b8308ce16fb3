"""`tonumpy sweep` on repositories that are made here with git, on real clusters of two worker processes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple

import pytest
from time_limits import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from pathlib import Path

MISSING = [name for name in ("distributed", "pyarrow", "psutil") if find_spec(name) is None]
if MISSING:
    pytest.skip(f"{', '.join(MISSING)} is not installed", allow_module_level=True)

import dask  # noqa: E402
import psutil  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402
from foreign_tree import FAULT, LAYOUTS, OWN  # noqa: E402
from readme import ROOT, block  # noqa: E402

from tonumpy.cli.main import main  # noqa: E402
from tonumpy.sweep.messages import Orders, Reply, Request, Target  # noqa: E402
from tonumpy.sweep.parquet_store import Done, Store  # noqa: E402
from tonumpy.sweep.worker import run_task  # noqa: E402

FLAGGED = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda().numpy()\n"
FIXED = FLAGGED.replace(".cuda()", ".cuda().detach().cpu()")
CLEAN = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.detach().cpu().numpy()\n"


class Link(NamedTuple):
    """A symbolic link in a repository."""

    target: str


Files = dict[str, "str | bytes | Link | None"]


def repository(path: Path, *commits: Files) -> Path:
    """A bare repository with these commits on its branch main, made by git; None takes a file away."""
    subprocess.run(["git", "init", "--quiet", "--bare", "--initial-branch=main", path], check=True)
    stream = b""
    for number, files in enumerate(commits):
        stream += b"commit refs/heads/main\ncommitter A <a@b.c> %d +0000\ndata 1\nx\n" % (1_700_000_000 + number)
        for name, content in files.items():
            quoted = b'"%s"' % os.fsencode(name)
            if content is None:
                stream += b"D %s\n" % quoted
                continue
            mode = b"120000" if isinstance(content, Link) else b"100644"
            text = content.target if isinstance(content, Link) else content
            data = text.encode() if isinstance(text, str) else text
            stream += b"M %s inline %s\ndata %d\n%s\n" % (mode, quoted, len(data), data)
    subprocess.run(["git", "-C", path, "fast-import", "--quiet"], input=stream, check=True)
    return path


def git(folder: Path, *arguments: str, stdin: bytes = b"") -> str:
    identity = ["-c", "user.name=A", "-c", "user.email=a@b.c", "-c", "protocol.file.allow=always"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, input=stdin, capture_output=True, check=True)
    return os.fsdecode(done.stdout).strip()


# One task, as a worker runs it.


class Ask:
    """Asks about one repository, with a folder for temporary files that must be empty afterwards."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch

    def __call__(
        self, source: object, revision: str | None = None, seconds: float = PATIENCE, memory: int = 2**31
    ) -> Reply:
        reply = run_task(Request(Target("r", str(source), revision), Orders((), None, seconds, memory)))
        assert os.listdir(self._scratch) == []
        return reply


@pytest.fixture
def ask_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Ask:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(scratch))
    return Ask(scratch)


def test_a_commit_is_read_by_any_of_its_names(ask_here: Ask, tmp_path: Path) -> None:
    bare = repository(tmp_path / "bare", {"a.py": FLAGGED}, {"a.py": CLEAN})
    first, last = git(bare, "rev-list", "--reverse", "main").split()
    git(bare, "tag", "light", first)
    git(bare, "tag", "-a", "-m", "x", "heavy", first)
    for revision, commit in ((None, last), ("main", last), ("main~1", first), ("light", first), ("heavy", first)):
        reply = ask_here(bare, revision)
        assert (reply.failure, reply.commit, len(reply.findings)) == (None, commit, int(commit == first))
    assert ask_here(bare, first[:9]).commit == first
    git(bare, "pack-refs", "--all")
    assert ask_here(bare, "heavy").commit == first
    git(tmp_path, "clone", "--quiet", str(bare), "clone")
    git(tmp_path / "clone", "worktree", "add", "--quiet", "../tree", "HEAD~1")
    assert [ask_here(tmp_path / name).commit for name in ("clone", "tree")] == [last, first]
    assert "no branch, tag or commit `other`" in str(ask_here(bare, "other").failure)
    assert "no branch, tag or commit `--output=x`" in str(ask_here(bare, "--output=x").failure)


def test_a_url_is_fetched(ask_here: Ask, tmp_path: Path) -> None:
    repository(tmp_path / "bare", {"a.py": FLAGGED}, {"a.py": CLEAN})
    git(tmp_path / "bare", "tag", "-a", "-m", "x", "v1", "main~1")
    url = f"file://{tmp_path}/bare"
    reply = ask_here(url, "v1")
    assert (reply.failure, len(reply.findings)) == (None, 1)
    assert ask_here(f"{url}x", "v1").failure is not None
    assert "there is no such folder" in str(ask_here(f"ext::sh -c 'touch {tmp_path}/run'").failure)
    assert not (tmp_path / "run").exists()


def test_a_repository_runs_nothing(ask_here: Ask, tmp_path: Path) -> None:
    """Every program that its configuration can name leaves a trace, and what is missing is not fetched by one."""
    bare = repository(tmp_path / "bare", {"a.py": FLAGGED})
    touch = f"touch {tmp_path}/run"
    for key, value in {
        "core.fsmonitor": touch,
        "core.sshCommand": touch,
        "core.pager": touch,
        "core.alternateRefsCommand": touch,
        "core.hooksPath": str(tmp_path / "hooks"),
        "core.repositoryFormatVersion": "1",
        "extensions.partialClone": "origin",
        "remote.origin.promisor": "true",
        "remote.origin.url": f"ext::sh -c '{touch}'",
        "remote.origin.uploadpack": touch,
        "protocol.ext.allow": "always",
        "uploadpack.packObjectsHook": touch,
        "filter.x.smudge": touch,
        "diff.external": touch,
        "alias.ls-tree": f"!{touch}",
    }.items():
        git(bare, "config", key, value)
    assert ask_here(bare).failure is None
    blob = git(bare, "rev-parse", "main:a.py")
    loose = bare / "objects" / blob[:2] / blob[2:]
    loose.unlink()
    failure = ask_here(bare).failure
    assert failure is not None
    assert (failure.kind, failure.reason) == ("unreadable", f"error: unable to read sha1 file of a.py ({blob})")
    loose.write_bytes(b"damaged")
    assert "unreadable" in str(ask_here(bare).failure)
    assert not (tmp_path / "run").exists()


def test_replaced_objects_are_the_commit_s_own(ask_here: Ask, tmp_path: Path) -> None:
    bare = repository(tmp_path / "bare", {"a.py": FLAGGED})
    other = git(bare, "hash-object", "-w", "--stdin", stdin=CLEAN.encode())
    git(bare, "replace", git(bare, "rev-parse", "main:a.py"), other)
    assert len(ask_here(bare).findings) == 1


@pytest.mark.parametrize("name", ["..", ".git", ".GIT", "a/../../b.py", "."])
def test_a_path_that_leads_out_is_refused(ask_here: Ask, tmp_path: Path, name: str) -> None:
    bare = repository(tmp_path / "bare", {"a.py": FLAGGED})
    blob = git(bare, "rev-parse", "main:a.py")
    raw = b"100644 %s\0%s" % (name.encode(), bytes.fromhex(blob))
    tree = git(bare, "hash-object", "-t", "tree", "--literally", "-w", "--stdin", stdin=raw)
    git(bare, "update-ref", "refs/heads/main", git(bare, "commit-tree", "-m", "x", tree))
    assert f"invalid path '{name}'" in str(ask_here(bare).failure)


def test_a_link_that_leads_out_leads_nowhere(ask_here: Ask, tmp_path: Path) -> None:
    (tmp_path / "secret.py").write_text(FLAGGED)
    away = {"absolute.py": Link(f"{tmp_path}/secret.py"), "up.py": Link("in/../../../secret.py"), "in/a.py": CLEAN}
    bare = repository(tmp_path / "bare", {**away, "deep/er": Link("../in"), "over.py": Link("deep/er/../../../s.py")})
    reply = ask_here(bare)
    assert not reply.findings
    assert [entry.said["filename"] for entry in reply.errors] == ["absolute.py", "over.py", "up.py"]


def test_a_task_has_limits(ask_here: Ask, tmp_path: Path) -> None:
    bare = repository(tmp_path / "bare", {f"{number}.py": FLAGGED * 200 for number in range(20)})
    failure = ask_here(bare, seconds=0.2).failure
    assert failure is not None
    assert (failure.kind, failure.reason) == ("time", "took more than 0.2 seconds")
    failure = ask_here(bare, memory=2**20).failure
    assert failure is not None
    assert (failure.kind, failure.reason) == ("memory", "held more than 1 MiB")
    assert ask_here(repository(tmp_path / "other", {"a.py": FLAGGED})).failure is None


def test_the_settings_of_a_repository_are_its_own(ask_here: Ask, tmp_path: Path) -> None:
    """Whatever lies in the folder in which it is laid out."""
    (tmp_path / "pyproject.toml").write_text("[tool.tonumpy]\nexclude = ['*']\n")
    bare = repository(tmp_path / "bare", {"a.py": FLAGGED}, {"pyproject.toml": "[tool.tonumpy]\nselekt = []\n"})
    assert len(ask_here(bare, "main~1").findings) == 1
    failure = ask_here(bare).failure
    assert failure is not None
    assert failure.kind == "configuration"
    assert failure.reason.startswith("pyproject.toml: [tool.tonumpy] has no key `selekt`")


def test_installed_packages_are_left_out(ask_here: Ask, tmp_path: Path) -> None:
    """What `check` leaves out in a clone of the repository, whatever is committed."""
    marks = {mark: "" for mark in LAYOUTS.values() if mark is not None}
    bare = repository(tmp_path / "bare", dict.fromkeys((*OWN, *LAYOUTS), FAULT) | marks)
    reply = ask_here(bare)
    assert reply.failure is None
    assert {entry.said["filename"] for entry in reply.findings} == set(OWN)


# The command, on a cluster.


class Cluster(NamedTuple):
    """A scheduler and the process that keeps two workers alive."""

    address: str
    scheduler: subprocess.Popen[bytes]
    nannies: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("cluster")
    file = folder / "scheduler.json"
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "cwd": folder}
    dask = [sys.executable, "-m", "dask"]
    where = ["--host", "127.0.0.1", "--no-dashboard", "--scheduler-file", file]
    scheduler = subprocess.Popen([*dask, "scheduler", "--port", "0", *where], **quiet)
    workers = ["--nworkers", "2", "--nthreads", "1", "--memory-limit", "0", "--local-directory", folder]
    nannies = subprocess.Popen([*dask, "worker", *workers, *where], **quiet)
    try:
        until(lambda: file.exists() and file.read_text().rstrip().endswith("}"))
        yield Cluster(json.loads(file.read_text())["address"], scheduler, nannies)
    finally:
        for each in (nannies, scheduler):
            each.kill()  # the workers end when the process that keeps them alive does
        for each in (nannies, scheduler):
            each.wait(PATIENCE)


def until(said: Callable[[], object], seconds: float = PATIENCE) -> None:
    end = time.monotonic() + seconds
    while not said():
        assert time.monotonic() < end, "in vain"
        time.sleep(0.05)


class Swept(NamedTuple):
    code: int
    out: str
    err: str


class Sweep:
    """Runs the command in a folder of its own."""

    def __init__(self, folder: Path, scheduler: str | None) -> None:
        self.folder = folder
        self._engine = ["--workers", "2"] if scheduler is None else ["--scheduler", scheduler]

    def _argv(self, arguments: str) -> list[str]:
        own, _, rest = arguments.partition(" -- ")
        return ["sweep", *own.split(), *self._engine, "--", *rest.split()]

    def start(self, arguments: str, **more: object) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "tonumpy", *self._argv(arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=self.folder, stdout=pipe, stderr=pipe, **more)  # type: ignore[call-overload]

    def __call__(self, arguments: str) -> Swept:
        """In this process, because the libraries take a second to import."""
        out, err, before = io.StringIO(), io.StringIO(), os.getcwd()
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
                code = main(self._argv(arguments))
        finally:
            os.chdir(before)
        return Swept(code, out.getvalue(), err.getvalue())

    def rows(self, table: str, out: str = "out") -> list[dict[str, object]]:
        found = pq.read_table(self.folder / out / table).to_pylist()
        return sorted(found, key=lambda row: [str(row.get(name)) for name in ("repository", "commit", "path")])


def finished(process: subprocess.Popen[bytes]) -> Swept:
    out, err = process.communicate(timeout=PATIENCE)
    return Swept(process.returncode, out.decode(), err.decode())


@pytest.fixture
def sweep(cluster: Cluster, tmp_path: Path) -> Sweep:
    return Sweep(tmp_path, cluster.address)


MIXED: Files = {
    "a.py": FLAGGED,
    "build/b.py": FLAGGED,
    "package/__init__.py": "",
    "package/models.py": "import torch\n\n\nclass M(torch.nn.Module):\n    pass\n",
    "package/use.py": "import numpy as np\nfrom package.models import M\n\n\ndef f(x):\n    return M()(x).numpy()\n",
    "package/quiet.py": FLAGGED.replace(".numpy()", ".numpy()  # noqa: TNP101"),
    "crlf.py": FLAGGED.replace("\n", "\r\n"),
    "latin.py": b"# coding: latin-1\n" + FLAGGED.replace("x", "é").encode("latin-1"),
    "naïve.py": FLAGGED,
    "broken.py": f"{FLAGGED}\n\ndef g(x:\n    return x.numpy()\n",
    "left/out.py": FLAGGED,
    "link.py": Link("package/use.py"),
    "nowhere.py": Link("nothing.py"),
    "stub.pyi": FLAGGED,
    "data.bin": b"\0\1",
    "empty/.keep": "",
    "pyproject.toml": '[tool.tonumpy]\nexclude = ["left"]\nselect = ["TNP"]\n',
}


@pytest.mark.slow
def test_it_finds_what_check_finds_in_a_clone(sweep: Sweep, tmp_path: Path) -> None:
    repository(tmp_path / "bare", MIXED)
    git(tmp_path, "clone", "--quiet", "bare", "clone")
    check = [sys.executable, "-m", "tonumpy", "check", "--output-format", "json", "--ignore", "TNP302"]
    said = subprocess.run(check, cwd=tmp_path / "clone", capture_output=True)
    assert said.returncode == 2
    expected = json.loads(said.stdout.decode().replace(f"{tmp_path}/clone/", ""))
    assert len(expected) == 7  # `build` is left out
    (tmp_path / "list.txt").write_text("bare\n")
    assert sweep("list.txt out -- --ignore TNP302").code == 2
    found = [json.loads(str(row["report"])) for table in ("findings", "failures") for row in sweep.rows(table)]
    found.sort(key=lambda entry: entry["filename"])
    assert json.dumps(found) == json.dumps(expected)
    lines = (tmp_path / "clone" / "a.py").read_text().splitlines()
    row = next(row for row in sweep.rows("findings") if row["path"] == "a.py")
    assert row["line"] == lines[int(str(row["row"])) - 1]
    (done,) = sweep.rows("repositories")
    assert (done["files"], done["findings"], done["errors"]) == (12, len(sweep.rows("findings")), 2)


@pytest.mark.slow
def test_its_page_is_that_of_check(sweep: Sweep, tmp_path: Path) -> None:
    bare = repository(tmp_path / "bare", MIXED)
    git(tmp_path, "clone", "--quiet", "bare", "clone")
    check = [sys.executable, "-m", "tonumpy", "check", "--output-format", "html"]
    expected = subprocess.run(check, cwd=tmp_path / "clone", capture_output=True).stdout.decode()
    (tmp_path / "list.txt").write_text("bare\n")
    assert sweep("list.txt out --html page.html").code == 2
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.replace(f"bare@{git(bare, 'rev-parse', 'main')[:12]}/", "") == expected


@pytest.mark.slow
def test_a_second_run_does_what_is_new(sweep: Sweep, tmp_path: Path) -> None:
    for name in ("one", "two"):
        repository(tmp_path / "all" / name, {"a.py": FLAGGED})
    (tmp_path / "all" / "none").mkdir()
    assert sweep("all out").out == (
        "2 repositories done, 0 of them by an earlier run.\nFound 2 findings; they are in out.\n"
    )
    before = sweep.rows("repositories")
    repository(tmp_path / "all" / "three", {"a.py": CLEAN})
    one = tmp_path / "all" / "one"
    tree = git(one, "rev-parse", "main^{tree}")
    git(one, "update-ref", "refs/heads/main", git(one, "commit-tree", "-p", "main", "-m", "y", tree))
    again = sweep("all out")
    assert (again.code, again.out.splitlines()[0]) == (1, "3 repositories done, 1 of them by an earlier run.")
    after = sweep.rows("repositories")
    assert [row for row in after if row in before] == before
    assert [row["repository"] for row in after] == ["one", "one", "three", "two"]
    other = sweep("all out -- --select TNP303")
    assert (other.code, other.out.splitlines()[0]) == (0, "3 repositories done, 0 of them by an earlier run.")
    assert len({row["run"] for row in sweep.rows("repositories")}) == 2


@pytest.mark.slow
def test_a_patch_is_taken_by_git_am(sweep: Sweep, tmp_path: Path) -> None:
    odd = 'odd "name" \\ [a].py'
    files: Files = {"a.py": FLAGGED, "crlf.py": FLAGGED.replace("\n", "\r\n"), "no_end.py": FLAGGED[:-1], "c.py": CLEAN}
    repository(tmp_path / "bare", files | {odd.replace("\\", "\\\\").replace('"', '\\"'): FLAGGED, "é.py": FLAGGED})
    (tmp_path / "list.csv").write_text("revision,repository\nmain,bare\n")
    for number in (1, 2):
        assert sweep(f"list.csv out{number} --patches p{number}").code == 1
        (patch,) = (tmp_path / f"p{number}").iterdir()
        git(tmp_path, "clone", "--quiet", "bare", f"clone{number}")
        clone = tmp_path / f"clone{number}"
        git(clone, "am", "--quiet", str(patch))
        assert (clone / odd).read_bytes() == (clone / "a.py").read_bytes() == FIXED.encode()
        assert (clone / "crlf.py").read_bytes() == FIXED.replace("\n", "\r\n").encode()
        assert (clone / "no_end.py").read_bytes() == FIXED[:-1].encode()
        assert git(clone, "diff", "--name-only", "HEAD~1", "--", "c.py") == ""
    assert (tmp_path / "p1" / patch.name).read_bytes() == patch.read_bytes()
    patch.unlink()
    assert sweep("list.csv out2 --patches p2").out.startswith("1 repository done, 0 of them")
    assert patch.read_bytes() == (tmp_path / "p1" / patch.name).read_bytes()


@pytest.mark.slow
def test_two_runs_at_once_agree(sweep: Sweep, tmp_path: Path) -> None:
    for number in range(8):
        repository(tmp_path / "all" / str(number), {"a.py": FLAGGED * (number + 1)})
    other = sweep.start("all out")
    assert [sweep("all out").code, finished(other).code] == [1, 1]
    assert len(sweep.rows("repositories")) == 8
    assert [row["repository"] for row in sweep.rows("findings")] == [str(n) for n in range(8) for _ in range(n + 1)]
    assert {path.suffix for path in (tmp_path / "out").rglob("*") if path.is_file()} == {".parquet"}


@pytest.mark.slow
def test_a_failure_is_in_the_table_until_it_is_mended(sweep: Sweep, tmp_path: Path) -> None:
    repository(tmp_path / "good", {"a.py": FLAGGED})
    (tmp_path / "list.txt").write_text("good  # with a comment\nbad 'a branch'\ngood main sub\n")
    swept = sweep("list.txt out")
    assert swept.code == 2
    assert swept.err.endswith("bad@a branch: error: there is no such folder\n")
    assert swept.out.endswith("1 repository and 1 file could not be processed.\n")
    bad, good = sweep.rows("failures")
    assert (bad["kind"], bad["revision"], bad["commit"], bad["reason"]) == (
        "unreadable",
        "a branch",
        None,
        "there is no such folder",
    )
    assert (good["kind"], good["path"]) == ("io-error", "sub")
    repository(tmp_path / "bad", {"b.py": FLAGGED})
    git(tmp_path / "bad", "update-ref", "refs/heads/a branch".replace(" ", "-"), "main")
    (tmp_path / "list.txt").write_text("good\nbad a-branch\n")
    assert sweep("list.txt out").code == 1


@pytest.mark.slow
def test_a_repository_reads_no_file_of_the_machine_and_ends_no_run(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "temporary").mkdir()  # others may leave something in the one of the machine
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))
    monkeypatch.setattr(tempfile, "tempdir", None)
    (tmp_path / "private.toml").write_text('[tool.tonumpy]\nselect = ["PRIVATE"]\n')
    home = os.path.relpath(tmp_path, os.path.expanduser("~"))
    for number, name in enumerate((f"{tmp_path}/private.toml", f"~/{home}/private.toml", "../" * 9 + "etc/passwd")):
        files = {"a.py": FLAGGED, "pyproject.toml": f'[tool.tonumpy]\nextend = "{name}"\n'}
        repository(tmp_path / f"extends{number}", files)
    repository(tmp_path / "deep", {"d/" * 1_010 + "a.py": FLAGGED, "b.py": FLAGGED})
    repository(tmp_path / "good", {"a.py": FLAGGED})
    (tmp_path / "list.txt").write_text("extends0\nextends1\nextends2\ndeep\ngood\n")
    swept = sweep("list.txt out --html page.html --patches patches")
    assert swept.code == 2
    found = {(row["repository"], row["path"]) for row in sweep.rows("findings")}
    assert found == {("deep", "d/" * 1_010 + "a.py"), ("deep", "b.py"), ("good", "a.py")}
    reasons = [str(row["reason"]) for row in sweep.rows("failures")]
    assert len(reasons) == 3
    assert all("extend: expected a file in " in reason for reason in reasons)
    assert "PRIVATE" not in swept.out + swept.err + "".join(reasons)
    assert "internal error" not in swept.err
    assert not [name for name in os.listdir(tmp_path / "temporary") if name.startswith("tonumpy-sweep-")]


@pytest.mark.slow
def test_nothing_is_left_among_the_temporary_files(tmp_path: Path) -> None:
    repository(tmp_path / "deep", {"d/" * 1_010 + "a.py": FLAGGED})
    (tmp_path / "list.txt").write_text("deep\n")
    (tmp_path / "temporary").mkdir()
    command = [sys.executable, "-m", "tonumpy", "sweep", "--workers", "1", "list.txt", "out"]
    environment = os.environ | {"TMPDIR": str(tmp_path / "temporary")}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, timeout=PATIENCE)
    assert done.returncode == 1, done.stderr
    assert os.listdir(tmp_path / "temporary") == []


@pytest.mark.slow
def test_a_full_disk_ends_the_run_and_loses_nothing(sweep: Sweep, tmp_path: Path) -> None:
    repository(tmp_path / "all" / "one", {"a.py": FLAGGED})
    repository(
        tmp_path / "all" / "two", {"a.py": "".join(f"{FLAGGED[:-1]}  # {os.urandom(40).hex()}\n" for _ in range(99))}
    )

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (12_000, limits[1]))  # of a file; Python ignores the signal
    try:
        full = sweep("all out")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert full.code == 2
    assert "tonumpy: error: out/findings/run=" in full.err
    assert full.err.endswith(".parquet: File too large\n")
    assert sweep("all out").code == 1
    assert [row["findings"] for row in sweep.rows("repositories")] == [1, 99]
    assert len(sweep.rows("findings")) == 100


@pytest.mark.slow
def test_a_scheduler_that_is_not_there_is_named(tmp_path: Path) -> None:
    repository(tmp_path / "all" / "one", {"a.py": FLAGGED})
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        swept = Sweep(tmp_path, "tcp://127.0.0.1:1")("all out")
    assert swept.code == 2
    assert "tcp://127.0.0.1:1" in swept.err
    assert swept.err.endswith("; the same command goes on where it stopped\n")


@pytest.fixture(scope="module")
def swept(cluster: Cluster, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is left of two runs over three repositories, of which one has a new commit meanwhile and one is broken."""
    folder = tmp_path_factory.mktemp("swept")
    bare = repository(folder / "all" / "moving", {"a.py": FLAGGED})
    repository(
        folder / "all" / "still", {"a.py": FLAGGED, "b.py": FLAGGED.replace("()", "().detach()", 1), "c.py": "x("}
    )
    repository(folder / "all" / "broken", {"a.py": FLAGGED})
    git(folder / "all" / "broken", "update-ref", "-d", "refs/heads/main")
    sweep = Sweep(folder, cluster.address)
    assert sweep("all out").code == 2
    blob = git(bare, "hash-object", "-w", "--stdin", stdin=(FLAGGED + FLAGGED.replace("f(", "g(")).encode())
    tree = git(bare, "mktree", stdin=f"100644 blob {blob}\ta.py\n100644 blob {blob}\tnew.py\n".encode())
    git(bare, "update-ref", "refs/heads/main", git(bare, "commit-tree", "-p", "main", "-m", "x", tree))
    assert sweep("all out").code == 2
    return folder


ANSWERS = {
    "codes": [("TNP101", 6, 2), ("TNP103", 1, 1)],
    "new": [
        ("moving", "new.py", 5, "TNP101"),
        ("moving", "new.py", 10, "TNP101"),
        ("still", "a.py", 5, "TNP101"),
        ("still", "b.py", 5, "TNP103"),
    ],
    "failed": [("broken", "unreadable", "there is no branch, tag or commit `HEAD`")],
}


@pytest.mark.slow
@pytest.mark.parametrize("tool", ["duckdb", "pandas", "polars"])
def test_the_queries_of_the_documentation_answer(swept: Path, monkeypatch: pytest.MonkeyPatch, tool: str) -> None:
    library = pytest.importorskip(tool)
    monkeypatch.chdir(swept)
    for question, expected in ANSWERS.items():
        query = block(f"{question}-{tool}", "docs/sweep.md")
        if tool == "duckdb":
            assert library.sql(query).fetchall() == expected
        else:
            names = {tool: library}
            exec(query, names)
            answer = names["answer"]
            rows = answer.itertuples(index=False, name=None) if tool == "pandas" else answer.rows()
            assert [tuple(row) for row in rows] == expected


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell starts what runs in the background, and `nohup` a command, with interrupts ignored: so may these tests be
    started, and what they start inherits that."""
    outside = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, outside)


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_tasks_may_be_killed_and_the_run_interrupted(tmp_path: Path) -> None:
    """Nothing is lost, nothing is there twice, and no process stays behind; and none of them imports what lies in the
    folder at hand."""
    for name in ("dask", "distributed", "json", "psutil", "yaml"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported by mistake')\n")
    count = 72  # so many that one task is killed before all are done, however quick or busy the machine is
    for number in range(count):
        repository(tmp_path / "all" / f"{number:02}", {f"{n}.py": FLAGGED * 80 for n in range(3)})
    sweep = Sweep(tmp_path, None)
    done = tmp_path / "out" / "repositories"

    def finished_repositories() -> int:
        return sum(1 for _ in done.rglob("*.parquet")) - 1

    def one_is_killed() -> bool:
        tasks = psutil.Process(process.pid).children()
        if tasks:
            tasks[0].kill()
        return bool(tasks)

    process = sweep.start("all out", start_new_session=True)
    until(lambda: finished_repositories() > 0)
    until(one_is_killed)
    until(lambda: list((tmp_path / "out" / "failures").rglob("repository-*.parquet")))
    family = psutil.Process(process.pid).children(recursive=True)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    swept = finished(process)
    assert (swept.code, swept.out) == (130, "")
    assert swept.err == "tonumpy: interrupted\n"
    assert 0 < finished_repositories() < count
    until(lambda: not any(each.is_running() and each.status() != "zombie" for each in family))
    swept = sweep("all out")
    assert swept.code == 1
    assert [row["repository"] for row in sweep.rows("repositories")] == [f"{number:02}" for number in range(count)]
    assert len(sweep.rows("findings")) == count * 240
    assert sweep.rows("failures") == []


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_tasks_end_when_the_command_is_killed(tmp_path: Path) -> None:
    repository(tmp_path / "all", {f"{n}.py": FLAGGED * 200 for n in range(20)})
    process = Sweep(tmp_path, None).start("all out")
    until(lambda: psutil.Process(process.pid).children())
    family = psutil.Process(process.pid).children(recursive=True)
    process.kill()
    finished(process)
    until(lambda: not any(each.is_running() and each.status() != "zombie" for each in family))


@pytest.mark.slow
@pytest.mark.usefixtures("interruptible")
def test_an_interrupt_that_a_library_swallows_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Arrow clears what Python code raises that it calls."""
    repository(tmp_path / "all", {"a.py": FLAGGED})

    def swallowing(*_: object) -> dict[str, Done]:
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        return {}

    monkeypatch.setattr(Store, "done", swallowing)
    swept = Sweep(tmp_path, None)("all out")
    assert (swept.code, swept.out) == (130, "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_a_run_goes_on_where_interrupts_are_ignored(
    sweep: Sweep, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As any command in the background of a script, or under `nohup`."""
    repository(tmp_path / "all", {"a.py": FLAGGED})
    done, sent = Store.done, []

    def interrupted(store: Store, target: Target) -> Mapping[str, Done]:
        os.kill(os.getpid(), signal.SIGINT)
        sent.append(store)
        return done(store, target)

    monkeypatch.setattr(Store, "done", interrupted)
    outside = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        swept = sweep("all out")
    finally:
        signal.signal(signal.SIGINT, outside)
    assert (swept.code, len(sent)) == (1, 1)


@pytest.mark.slow
def test_the_tests_of_interrupts_pass_where_interrupts_are_ignored() -> None:
    """The second command of README.md, started in the background of a script."""
    names = ("tests/test_sweep.py::test_an_interrupt_that_a_library_swallows_is_kept", "tests/test_writing.py")
    command = [sys.executable, "-m", "pytest", "-n", "0", "-q", *names, "-k", "swallows or signal_ends"]
    script = 'trap "" INT; exec "$@"'
    run = subprocess.run(["sh", "-c", script, "sh", *command], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout
    assert "3 passed" in run.stdout


@pytest.mark.slow
def test_a_scheduler_that_goes_away_loses_nothing(cluster: Cluster, sweep: Sweep, tmp_path: Path) -> None:
    """The last of these tests: the cluster is gone then."""
    for number in range(20):
        repository(tmp_path / "all" / f"{number:02}", {"a.py": FLAGGED * 30})
    done = tmp_path / "out" / "repositories"

    def end() -> None:
        until(lambda: sum(1 for _ in done.rglob("*.parquet")) > 2)
        cluster.scheduler.kill()

    threading.Thread(target=end).start()
    with dask.config.set({"distributed.comm.timeouts.connect": "1s"}):
        swept = sweep("all out")
    assert swept.code == 2
    assert f"tonumpy: error: {cluster.address}: went away; the same command goes on where it stopped\n" in swept.err
    count = len(sweep.rows("repositories"))
    assert 0 < count < 20
    assert len(sweep.rows("findings")) == 30 * count
