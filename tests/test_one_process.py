"""One process that looks at many files, as a server and a sweep do, finds in each what a process of its own finds.

Python's recursion limit and its garbage collector are settings of a process, and a tree that is followed changes while
it is read; what is left of one file must not show in the next.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from fixture_format import FOLDER
from growth_shapes import NESTED, SHAPES

FILES, ORDERS = 200, 3

# What strains a process: recursion that is cut, trees that are too deep, texts that cannot be read or parsed.
STRAINS = {
    "deep": "import torch\n\n\ndef f(x: torch.Tensor):\n    return " + "(" * 90 + "x" + ",)" * 90 + "[0].numpy()\n",
    "sums": "import torch\n\n\ndef f(x: torch.Tensor):\n    return (" + "x + " * 3_000 + "x).numpy()\n",
    "chain": "import torch\n\n\ndef f(x: torch.Tensor):\n    return x" + ".abs()" * 900 + ".numpy()\n",
    "unparsable": "import torch\nx.numpy(\n",
    "nested": "x = " + "[" * 5_000 + "]" * 5_000 + "\nx.numpy()\n",
    "encoding": "# coding: rot13\nx.numpy()\n",
    "imports": "import torch\nfrom strain_chain import f\n\n\ndef g(x):\n    return f(x), f(x).tensor.numpy()\n",
    "again": "import torch\nfrom strain_again import f\n\n\ndef f(x):\n    return f(x).numpy()\n",
    "methods": (
        "import torch\n\n\nclass C:\n    def made(self, x):\n        return x.cuda()\n\n"
        "    def f(self, x: torch.Tensor):\n        return self.made(x).numpy()\n"
    ),
    "uses": "import torch\nfrom strain_methods import C\n\n\ndef f(c: C, x):\n    return c.made(x).numpy()\n",
}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs an operating system that can fork processes")
def test_a_process_finds_the_same_in_any_order_as_in_a_process_for_each_file(tmp_path: Path) -> None:
    paths = [path for path in FOLDER.rglob("*.*") if path.suffix in (".py", ".ipynb") and ".fixed." not in path.name]
    paths = sorted(path for path in paths if path.stat().st_size < 8_000)
    for number, path in enumerate(random.Random(1).sample(paths, FILES - len(STRAINS) - 20)):
        shutil.copy(path, tmp_path / f"f{number}_{path.name}")
    for name, text in STRAINS.items():
        (tmp_path / f"strain_{name}.py").write_text(text)
    shapes = {**SHAPES, **{name: shape for name, (shape, _) in NESTED.items()}}
    for number, name in enumerate(random.Random(2).sample(sorted(shapes), 20)):
        (tmp_path / f"shape{number}.py").write_text(shapes[name](5))
    script = Path(__file__).with_name("one_process.py")
    done = subprocess.run([sys.executable, str(script), str(tmp_path), str(ORDERS)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert len(said["alone"]) == FILES
    assert sum("TNP" in str(found) for found in said["alone"].values()) > FILES // 2
    assert said["others"] == []
