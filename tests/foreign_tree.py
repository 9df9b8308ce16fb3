"""A tree as users have them: a project with environments, caches, builds and other repositories in its folder."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

FAULT = "import torch\n\n\ndef f(x: torch.Tensor):\n    return x.cuda().numpy()\n"
OWN = ("main.py", "pkg/model.py", "env_tools/venv.py", "tests/test_model.py")
_LIBRARY = "lib/python3.11/site-packages/pkg"
# Ten layouts and more: a file of each, and what marks the folder as an environment, where its name does not.
LAYOUTS = {
    f".venv/{_LIBRARY}/a.py": ".venv/pyvenv.cfg",
    f"venv/{_LIBRARY}/a.py": None,
    f"env/{_LIBRARY}/a.py": "env/pyvenv.cfg",
    "env/bin/tool.py": None,
    f".tox/py311/{_LIBRARY}/a.py": None,
    f".nox/tests/{_LIBRARY}/a.py": None,
    ".pixi/envs/default/lib/python3.11/a.py": None,
    "miniconda/lib/python3.11/random.py": "miniconda/conda-meta/history",
    f"miniconda/envs/task/{_LIBRARY}/a.py": None,
    "__pypackages__/3.11/lib/a.py": None,
    "web/node_modules/node-gyp/a.py": None,
    "third_party/odd/site-packages/a.py": None,
    "pkg/old/my env/share/a.py": "pkg/old/my env/pyvenv.cfg",
    "usr/lib/python3/dist-packages/a.py": None,
    "build/lib/pkg/a.py": None,
    "dist/pkg/a.py": None,
    ".eggs/a.py": None,
    ".ipynb_checkpoints/a.py": None,
}
IGNORES = (
    ".venv/ venv/ env/ .tox/ .nox/ .pixi/ miniconda/ __pypackages__/ node_modules/ third_party/ my*env/ usr/ build/"
    " dist/ .eggs/ .ipynb_checkpoints/"
).split()


def put(top: Path, name: str, text: str = FAULT) -> None:
    path = top / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "protocol.file.allow=always"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def make_tree(top: Path, *, in_git: bool, is_ignored: bool, is_tracked: bool = False) -> None:
    for name in OWN:
        put(top, name)
    for name, mark in LAYOUTS.items():
        put(top, name)
        if mark is not None:
            put(top, mark, "")
    os.symlink(f"../.venv/{_LIBRARY}/a.py", top / "pkg" / "linked.py")
    if is_ignored:
        put(top, ".gitignore", "\n".join(IGNORES))
    if in_git:
        git(top, "init", "-q")
        git(top, "add", *(["-f", "."] if is_tracked else OWN))
        git(top, "commit", "-qm", "x")


def snapshot(top: Path) -> dict[str, tuple[bytes, int]]:
    """Each file with what it holds and when it was written; `.git` but for its own folder left out."""
    found: dict[str, tuple[bytes, int]] = {}
    for folder, folders, names in os.walk(top):
        folders[:] = [name for name in folders if name != ".git"]
        for path in (Path(folder, name) for name in names):
            data = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
            found[os.path.relpath(path, top)] = data, os.lstat(path).st_mtime_ns
    return found


def touched(before: dict[str, tuple[bytes, int]], after: dict[str, tuple[bytes, int]]) -> set[str]:
    return {name for name in before.keys() | after.keys() if before.get(name) != after.get(name)}
