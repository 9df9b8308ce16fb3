"""The processes that a rehearsed program starts are rehearsed, too, however they look for torch; the rest is told."""

from __future__ import annotations

import re
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
    "find_spec": "import importlib.util\nassert importlib.util.find_spec('torch')\nimport torch",
    "import_module": "import importlib\ntorch = importlib.import_module('torch')",
    "pkgutil": "import pkgutil\nassert 'torch' in {m.name for m in pkgutil.iter_modules()}\n"
    "torch = __import__('torch.nn')",
    "path_finder": "import sys, importlib.util as u\nassert [f for f in sys.meta_path if f.find_spec('torch', None)]\n"
    "spec = u.find_spec('torch')\nassert spec.loader.is_package('torch') and spec.origin\nimport torch",
    "lazy": "import importlib.util as u, sys\nspec = u.find_spec('torch')\ntorch = u.module_from_spec(spec)\n"
    "sys.modules['torch'] = torch\nspec.loader.exec_module(torch)",
    "metadata": "import importlib.metadata, importlib.resources as r\nassert importlib.metadata.version('torch')\n"
    "assert (r.files('torch') / 'version.py').is_file()\nimport torch",
    "hook": "import sys\n"
    "class Finder:\n"
    "    def find_spec(self, name, path=None, target=None):\n"
    "        import importlib.util\n"
    "        if name == 'torch':\n"
    "            sys.meta_path.remove(self)\n"
    "            return importlib.util.find_spec(name)\n"
    "sys.meta_path.insert(0, Finder())\n"
    "import torch",
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
    for method in ("fork", "spawn", "forkserver"):
        child = multiprocessing.get_context(method).Process(target=work, args=(method,))
        child.start()
        child.join()
    alone = {"PATH": os.environ["PATH"]}
    code = "import child; child.work('c')"
    subprocess.run([python, "-c", code], env=alone, check=True)
    subprocess.run([python, "-m", "child", "m"], env=alone | {"PYTHONPATH": here}, check=True)
    os.environ["PYTHONPATH"] = here
    os.system(f"{python} child.py system")
    os.waitpid(os.posix_spawn(python, [python, "child.py", "posix_spawn"], alone), 0)
    os.spawnve(os.P_WAIT, python, [python, "child.py", "spawnve"], alone)
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
    ways = ["fork", "spawn", "forkserver", "c", "m", "system", "posix_spawn", "spawnve", "execv"]
    assert result.out.splitlines()[: len(ways)] == [f"{way} True" for way in ways]
    # execv makes no other process; a fork server is one
    assert re.search(r"^(8|9) child processes imported torch, \1 were rehearsed\.$", result.out, re.MULTILINE)
    assert result.code == 0


def test_a_child_that_is_not_rehearsed_is_told_with_its_command(tmp_path: Path) -> None:
    (tmp_path / "past.py").write_text(
        "import sys\nfinders = sys.meta_path[1:]\nsys.meta_path[:] = finders\nimport torch\n"
        "assert not torch.cuda.is_available()\n"
    )
    (tmp_path / "program.py").write_text(
        "import subprocess, sys\n"
        "for words in (['past.py', 'word'], ['-I', '-c', 'import json'], ['-I', '-m', 'pip', '--version'],\n"
        "              ['-W', 'ignore', '-sE', '-c', 'import numpy'], ['-S', 'nowhere.py']):\n"
        "    subprocess.run([sys.executable, *words], capture_output=True)\n"
    )
    result = tonumpy(tmp_path, "rehearse", "program.py")
    python = re.escape(sys.executable)
    assert re.search(
        rf"^Not rehearsed: `{python} past.py word` \(torch was imported past the ", result.out, re.MULTILINE
    )
    command = f"{sys.executable.rpartition('/')[2]} -W ignore -sE -c 'import numpy'"
    told = f"Not seen, as an option keeps it alone: `{command}`, started by program.py:4."
    assert [line for line in result.out.splitlines() if line.startswith("Not seen")] == [told]
    assert "1 child process imported torch, 0 were rehearsed." in result.out
    assert result.code == 2
