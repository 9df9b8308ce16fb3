"""The processes that a rehearsed program starts are rehearsed, too, however they look for torch; the rest is told."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from rehearsal_runs import needs_torch, rehearse, tonumpy

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = needs_torch

# Each fails at its last line, if it is rehearsed.
_FAILS = "\nassert torch.cuda.is_available()\ntorch.ones(2, device='cuda').numpy()\n"
LOOKS = {
    "looks": """\
import importlib, importlib.metadata, importlib.resources, importlib.util, pkgutil, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            sys.meta_path.remove(self)
            return importlib.util.find_spec(name)

assert importlib.util.find_spec("torch").loader.is_package("torch")
assert "torch" in {each.name for each in pkgutil.iter_modules()}
assert [each for each in sys.meta_path if each.find_spec("torch", None)]
assert importlib.metadata.version("torch")
assert (importlib.resources.files("torch") / "version.py").is_file()
sys.meta_path.insert(0, Finder())
torch = importlib.import_module("torch")""",
    "lazy": """\
import importlib.util, sys
spec = importlib.util.find_spec("torch")
torch = importlib.util.module_from_spec(spec)
sys.modules["torch"] = torch
spec.loader.exec_module(torch)""",
}
STARTS = """\
import os, subprocess, sys
if __name__ == "__main__":
    import torch
    names = sys.argv[1:]
    started = [subprocess.Popen([sys.executable, f"by_{name}.py"]) for name in names]
    for each in started:
        assert each.wait() == 0, each.args
"""


@pytest.mark.slow
def test_a_child_that_looks_for_torch_before_is_rehearsed(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(STARTS)
    for name, text in LOOKS.items():
        (tmp_path / f"by_{name}.py").write_text(text + _FAILS)
    result = rehearse(tmp_path, "--", "program.py", *LOOKS)
    found = {each["filename"].rpartition("/")[2] for each in result.findings}
    assert found == {f"by_{name}.py" for name in LOOKS}, result.err
    assert f"{len(LOOKS)} child processes imported torch, {len(LOOKS)} were rehearsed." in result.err


# Each starts child.py, or a function of it, in another way.
WAYS = """\
import multiprocessing, os, subprocess, sys
from child import work
if __name__ == "__main__":
    here, python = os.getcwd(), sys.executable
    for method in ("fork", "spawn"):
        child = multiprocessing.get_context(method).Process(target=work, args=(method,))
        child.start()
        child.join()
    alone = {"PATH": os.environ["PATH"]}
    subprocess.run([python, "-m", "child", "m"], env=alone | {"PYTHONPATH": here}, check=True)
    os.environ["PYTHONPATH"] = here
    os.system(f"{python} child.py system")
    os.waitpid(os.posix_spawn(python, [python, "child.py", "posix_spawn"], alone), 0)
    del os.environ["TONUMPY_REHEARSAL"], os.environ["PYTHONPATH"]
    os.execv(python, [python, "child.py", "execv"])
"""
CHILD = """\
import sys
import torch

def work(name):
    print(name, torch.cuda.is_available(), flush=True)

if __name__ == "__main__":
    work(sys.argv[1])
"""


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(sys, "getuid") and sys.platform == "win32", reason="forks")
def test_a_child_is_rehearsed_however_it_is_started(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(WAYS)
    (tmp_path / "child.py").write_text(CHILD)
    result = tonumpy(tmp_path, "rehearse", "-o", "report.txt", "program.py")
    ways = ["fork", "spawn", "m", "system", "posix_spawn", "execv"]
    assert result.out.splitlines()[: len(ways)] == [f"{way} True" for way in ways]
    assert "5 child processes imported torch, 5 were rehearsed." in result.out  # what execv starts is the same one
    assert result.code == 0


@pytest.mark.slow
def test_a_child_that_is_not_rehearsed_is_told_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "past.py").write_text(
        "import sys\nfinders = sys.meta_path[1:]\nsys.meta_path[:] = finders\nimport torch\n"
        "assert not torch.cuda.is_available()\n"
    )
    (tmp_path / "program.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'past.py', 'word'], capture_output=True)\n"
    )
    result = tonumpy(tmp_path, "rehearse", "program.py")
    past = f"Not rehearsed: `{sys.executable} past.py word` (torch was imported past the import system)."
    assert past in result.out.splitlines()
    assert "1 child process imported torch, 0 were rehearsed." in result.out
    assert result.code == 2
