"""The same input gives the same bytes, whatever the jobs, the hash seed, the order of files, the folder, the Python."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from fixture_format import FOLDER

from tonumpy.cli import run
from tonumpy.config import Settings
from tonumpy.engine.names.project import Project

SOURCES = Path(__file__).resolve().parent.parent / "src"
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
FOLDERS = ("flow", "facts", "TNP104", "TNP201", "notebooks")
OPTIONS = ["check", "--isolated", "--quiet", "--exit-zero", "--select=TNP1,TNP2,TNP3", "--confidence=low"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough files for a pool of processes, in a folder that nothing else is in: where no repository is, callers are
    looked for in all that is below the folder at hand."""
    folder = tmp_path_factory.mktemp("determinism") / "files"
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
        paths = [path for path in sorted((FOLDER / name).rglob("*.*")) if path.suffix in (".py", ".ipynb")]
        paths = [path for path in paths if ".fixed." not in path.name]
        paths = [path for path in paths if "# python:" not in path.read_text("utf-8")[:200]]
        paths = [path for path in paths if path.stem != "unparsable"]
        for path in sorted(paths, key=lambda path: path.stat().st_size)[:30]:
            shutil.copy(path, folder / name)
    (folder / "made.py").write_text("import torch\n\n\ndef shown(x):\n    return x.cpu().numpy()\n")
    for number in range(4):
        text = f"import torch\nfrom made import shown\n\n\ndef f(x: torch.Tensor):\n    return shown(x + {number})\n"
        (folder / f"uses_{number}.py").write_text(text)
    return folder


def said(folder: Path, *arguments: str, python: str = sys.executable, **environment: str) -> bytes:
    command = [python, "-m", "tonumpy", *OPTIONS, *arguments]
    if not any(each.startswith("--cache-dir") for each in arguments):
        command.append("--no-cache")
    inherited = {name: value for name, value in os.environ.items() if name != "TONUMPY_NO_CACHE"}
    done = subprocess.run(command, cwd=folder, env=inherited | environment, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


@pytest.fixture(scope="module")
def expected(folder: Path) -> bytes:
    found = said(folder, "--jobs=1")
    assert found.count(b"TNP") > 100
    return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", ["0", "1", "4711"])
def test_hash_seeds(seed: str, folder: Path, expected: bytes) -> None:
    assert said(folder, "--jobs=1", PYTHONHASHSEED=seed) == expected


@pytest.mark.parametrize("jobs", [2, 3])
def test_jobs(jobs: int, folder: Path, expected: bytes) -> None:
    assert said(folder, f"--jobs={jobs}") == expected


def test_the_cache(folder: Path, expected: bytes) -> None:
    """Filled, and used; see test_cache.py for more."""
    try:
        assert [said(folder, "--jobs=1", "--cache-dir=kept") for _ in range(2)] == [expected] * 2
        assert (folder / "kept").is_dir()
    finally:
        shutil.rmtree(folder / "kept", ignore_errors=True)


def test_the_order_and_the_overlap_of_paths(folder: Path, expected: bytes) -> None:
    paths = [str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()]
    random.Random(1).shuffle(paths)
    assert said(folder, "--jobs=1", *paths, "flow", ".") == expected


@pytest.mark.parametrize("order", [sorted, lambda tasks: sorted(tasks, reverse=True)], ids=["forward", "backward"])
def test_what_was_looked_at_before(order: type, folder: Path) -> None:
    """What is kept of one file changes nothing for another."""
    settings = Settings(select=("TNP1", "TNP2", "TNP3"), confidence="low")
    paths = [path for path in sorted(folder.rglob("*.py")) if path.parent.name in ("branches", folder.name)][::2]
    tasks = [run.Task(str(path), None, settings) for path in paths]
    project = Project()
    together = {task.filename: run.check(task, project).findings for task in order(tasks)}
    alone = {task.filename: run.check(task, Project()).findings for task in tasks}
    assert together == alone


@pytest.mark.slow
def test_the_folder_at_hand_and_absolute_paths(folder: Path) -> None:
    absolute, above = f"{folder}/".encode(), f"{folder.name}/".encode()
    # a concise line leaves out its last clauses where the path is long, so the whole messages are compared
    expected = said(folder, "--jobs=1", "--output-format=pylint")
    assert said(folder, "--jobs=1", "--output-format=pylint", str(folder)).replace(absolute, b"") == expected
    assert said(folder.parent, "--jobs=1", "--output-format=pylint", folder.name).replace(above, b"") == expected
    # the files of a finding are absolute there, those of its evidence as they are named
    report = said(folder, "--jobs=1", "--output-format=json").replace(absolute, b"")
    assert said(folder.parent, "--jobs=1", "--output-format=json", str(folder)).replace(absolute, b"") == report


@pytest.fixture(scope="module")
def libraries(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What tonumpy needs, for a Python that has none of it: all that is pure Python, and runs on each of them."""
    folder = tmp_path_factory.mktemp("libraries")
    (folder / "tonumpy").symlink_to(SOURCES / "tonumpy")
    for name in ("flake8", "mccabe", "pathspec", "pycodestyle", "pyflakes", "tomli", "tomllib", "typing_extensions"):
        spec = find_spec(name)
        if spec is not None and spec.origin is not None:
            origin = Path(spec.origin)
            is_package = origin.name == "__init__.py"
            # Python 3.11's own reader of TOML is that library by another name
            link = folder / (name.replace("tomllib", "tomli") + ("" if is_package else ".py"))
            if not link.exists():
                link.symlink_to(origin.parent if is_package else origin)
    return str(folder)


def interpreter(version: str, libraries: str) -> str | None:
    roots = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"), "versions")
    test = f"import sys, flake8, tomli; sys.exit(sys.version_info[:2] != {tuple(map(int, version.split('.')))})"
    for command in [f"python{version}", *map(str, sorted(roots.glob(f"{version}.*/bin/python")))]:
        environment = os.environ | {"PYTHONPATH": libraries}
        try:
            subprocess.run([command, "-c", test], env=environment, check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return command
    return None


@pytest.mark.slow
@pytest.mark.parametrize("version", [each for each in VERSIONS if each != f"3.{sys.version_info.minor}"])
def test_pythons(version: str, folder: Path, expected: bytes, libraries: str) -> None:
    command = interpreter(version, libraries)
    if command is None:
        pytest.skip(f"no Python {version} here that can run it")
    assert said(folder, "--jobs=1", python=command, PYTHONPATH=libraries) == expected
