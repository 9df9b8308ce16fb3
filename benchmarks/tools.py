"""The tools to compare: how each is installed in an environment of its own, and its command for a folder."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

REPOSITORY = Path(__file__).parent.parent
PATTERN = "$X.numpy()"

_READ = """
import os, sys
for folder, _, names in os.walk(sys.argv[1]):
    for name in names:
        if name.endswith(".py"):
            with open(os.path.join(folder, name), "rb") as stream:
                data = stream.read()
            {work}
"""
READ = _READ.format(work="pass")
PARSE_CANDIDATES = "import ast, gc\ngc.disable()" + _READ.format(work="if b'.numpy(' in data: ast.parse(data)")
PARSE_ALL = "import ast" + _READ.format(work="ast.parse(data)")
PARSE_CONCRETELY = "import libcst" + _READ.format(work="if b'.numpy(' in data: libcst.parse_module(data)")

Command = Callable[[Path, str], list[str]]  # of the environment's bin folder and the folder or file to check


class Tool(NamedTuple):
    """`requirements` are installed by pip; `slow` tools run on the smallest set only, unless they are asked for."""

    name: str
    requirements: tuple[str, ...]
    command: Command
    slow: bool = False
    version_of: str | None = None


def _python(code: str) -> Command:
    return lambda binaries, target: [str(binaries / "python"), "-c", code, target]


def _call(*words: str) -> Command:
    """The first word is a program of the environment; the target comes last."""
    return lambda binaries, target: [str(binaries / words[0]), *words[1:], target]


def _piped(binaries: Path, target: str) -> list[str]:
    search = "grep -rlZF --include=*.py '.numpy(' \"$1\" | xargs -r -0 \"$0\" run --lang python --pattern '$X.numpy()'"
    return ["sh", "-c", search, str(binaries / "ast-grep"), target]


def _grep(_: Path, target: str) -> list[str]:
    return ["grep", "-rlF", "--include=*.py", ".numpy(", target]


OURS = str(REPOSITORY)
AST_GREP = "ast-grep-cli==0.30.0"
FLAKE8 = "flake8==7.1.1"

TOOLS = (
    Tool("tonumpy check", (OURS,), _call("tonumpy", "check", "--isolated", "--no-cache", "--jobs=1"),
         version_of="tonumpy"),
    Tool("tonumpy check --jobs 2", (OURS,), _call("tonumpy", "check", "--isolated", "--no-cache", "--jobs=2")),
    Tool("tonumpy fix --diff", (OURS,), _call("tonumpy", "fix", "--isolated", "--no-cache", "--jobs=1", "--diff")),
    Tool("grep -rl", (), _grep),
    Tool("Python: read every file", (OURS,), _python(READ)),
    Tool("Python: ... and ast.parse those with `.numpy(`", (OURS,), _python(PARSE_CANDIDATES)),
    Tool("ruff, rules NPY", ("ruff==0.8.0",), _call("ruff", "check", "--isolated", "--no-cache", "--select=NPY"),
         version_of="ruff"),
    Tool("ast-grep", (AST_GREP,), _call("ast-grep", "run", "--lang=python", f"--pattern={PATTERN}"),
         version_of="ast-grep-cli"),
    Tool("grep -rl | ast-grep", (AST_GREP,), _piped),
    Tool("Python: ast.parse every file", (OURS,), _python(PARSE_ALL)),
    Tool("Python: LibCST parse of those with `.numpy(`", (OURS,), _python(PARSE_CONCRETELY), version_of="libcst"),
    Tool("flake8, pyflakes only", (FLAKE8,), _call("flake8", "--isolated", "--jobs=1", "--select=F"), slow=True,
         version_of="flake8"),
    Tool("flake8 with tonumpy", (FLAKE8, OURS), _call("flake8", "--isolated", "--jobs=1", "--select=F,TNP"), slow=True),
    Tool("torchfix", ("torchfix==0.7.0",), _call("torchfix"), slow=True, version_of="torchfix"),
)  # fmt: skip
SEMGREP = Tool(
    "semgrep",
    ("semgrep==1.97.0",),
    _call("semgrep", "scan", "--metrics=off", "--quiet", "--jobs=1", "--lang=python", f"--pattern={PATTERN}"),
    slow=True,
    version_of="semgrep",
)


def install(tool: Tool, cache: Path) -> Path:
    """The folder of an environment's programs. This repository is installed anew in each run, a pinned release once."""
    words = "-".join("tonumpy" if each == OURS else each for each in tool.requirements) or "none"
    folder = cache / "environments" / words
    binaries = folder / ("Scripts" if sys.platform == "win32" else "bin")
    is_new = not folder.exists()
    if is_new:
        venv.create(folder, with_pip=True)
    pip = [str(binaries / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check", "install"]
    if is_new and tool.requirements:
        subprocess.run([*pip, *tool.requirements], check=True)
    elif OURS in tool.requirements:
        subprocess.run([*pip, "--no-deps", "--force-reinstall", OURS], check=True)
    return binaries


def version(package: str, binaries: Path) -> str:
    code = f"import importlib.metadata as m; print(m.version({package!r}))"
    run = subprocess.run([str(binaries / "python"), "-c", code], check=True, capture_output=True, text=True)
    return run.stdout.strip()
