"""Modules that lie in the folder at hand are data, whatever their names: no command, hook or plugin imports them."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml
from readme import ROOT

NAMES = (
    "_json abc argparse ast bisect codecs collections concurrent configparser contextlib copyreg ctypes dis enum fcntl"
    " flake8 fnmatch functools gc importlib io itertools json keyword libcst locale logging multiprocessing operator os"
    " pickle platform queue random re selectors shutil signal site sitecustomize socket stat string struct subprocess"
    " tempfile threading token tokenize tomli tomllib tonumpy tqdm traceback types typing usercustomize warnings"
    " weakref yaml zlib"
).split()
MODULE = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.numpy()  # noqa: E501\n"
SCRIPTS = Path(sysconfig.get_path("scripts"))
HOOKS = [shlex.split(hook["entry"]) for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Each module, in the folder and in a package of it, leaves a marker when it is imported."""
    marker = tmp_path / "imported"
    folder = tmp_path / "folder"
    (folder / "package").mkdir(parents=True)
    trap = f"with open({str(marker)!r}, 'a') as stream: stream.write(__name__ + ' ')\nraise ImportError\n"
    for name in [*NAMES, "package/__init__", "package/json"]:
        (folder / f"{name}.py").write_text(f"{trap}{MODULE}")
    return folder


def script(name: str) -> str:
    found = shutil.which(name, path=str(SCRIPTS))
    if found is None:
        pytest.skip(f"{name} is not installed as a command")
    return found


def run(command: list[str], folder: Path) -> str:
    """What it said; nothing may have been imported."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    marker = folder.parent / "imported"
    assert not marker.exists(), marker.read_text()
    assert "Traceback" not in done.stderr
    return done.stdout


def test_a_trap_is_sprung_by_what_imports_it(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", "import json"], cwd=folder, capture_output=True)
    assert "json" in (folder.parent / "imported").read_text()


@pytest.mark.parametrize("arguments", [["check"], ["check", "--jobs=2", "--output-format=sarif"], ["why", "re.py:7"]])
def test_the_command(arguments: list[str], folder: Path) -> None:
    assert "TNP101" in run([script("tonumpy"), *arguments], folder)


def test_the_command_repairs(folder: Path) -> None:
    run([script("tonumpy"), "fix"], folder)
    assert "x.detach().cpu().numpy()" in (folder / "libcst.py").read_text()


@pytest.mark.parametrize("entry", HOOKS, ids=" ".join)
def test_the_hooks(entry: list[str], folder: Path) -> None:
    """pre-commit starts what stands there in the folder of the repository; see test_pre_commit.py."""
    said = run([script(entry[0]), *entry[1:], *(path.name for path in folder.glob("*.py"))], folder)
    assert f"Fixed {len(NAMES)} findings" in said or said.count("TNP101") >= len(NAMES)


def test_flake8(folder: Path) -> None:
    # From Python 3.14 on flake8's own processes look into the folder at hand: see SECURITY.md.
    jobs = ["--jobs=1"] if sys.version_info >= (3, 14) else []
    assert run([script("flake8"), *jobs, "--isolated", "--select=TNP", "."], folder).count("TNP101") == len(NAMES) + 2


@pytest.mark.skipif(sys.version_info < (3, 11), reason="-P is new in Python 3.11")
def test_the_module_with_the_option_that_security_md_names(folder: Path) -> None:
    assert "-P -m tonumpy" in (ROOT / "SECURITY.md").read_text()
    assert "TNP101" in run([sys.executable, "-P", "-m", "tonumpy", "check"], folder)


def test_the_module_without_it(folder: Path) -> None:
    """What Python itself looks for before it comes to tonumpy cannot be helped, nor `tonumpy.py`."""
    late = {"argparse", "ast", "flake8", "json", "libcst", "re", "subprocess", "tokenize", "tomli", "tomllib", "tqdm"}
    for name in set(NAMES) - late:
        (folder / f"{name}.py").unlink()
    assert "TNP101" in run([sys.executable, "-m", "tonumpy", "check"], folder)
    run([sys.executable, "-m", "tonumpy", "fix"], folder)


MANY = "import sys\nimport multiprocessing\nfrom tonumpy.cli import main as cli, parallel\n\n"
MANY += "if __name__ == '__main__':\n    multiprocessing.set_start_method(sys.argv[1])\n    parallel.POOL_FROM = 2\n"
MANY += "    sys.exit(cli.main(['check', '--jobs=2', '-q']))\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_the_processes_of_a_large_run(method: str, folder: Path, tmp_path: Path) -> None:
    """As they are started on macOS, on Windows and, from Python 3.14, on Linux: by `python -c`.

    Python 3.10 cannot be told to leave the folder alone, and does all in one process there.
    """
    program = tmp_path / "elsewhere" / "program.py"
    program.parent.mkdir()
    program.write_text(MANY)
    assert run([sys.executable, str(program), method], folder).count("TNP101") == len(NAMES) + 2
