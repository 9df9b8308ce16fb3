"""Makes a copy of the package in which mypyc has compiled the modules that most of the time is spent in.

    python scripts/build_native.py FOLDER             a package to be imported from FOLDER; C takes minutes
    python scripts/build_native.py --front-end-only   whether mypyc takes the modules; half a minute

hatch_build.py puts the compiled modules into a wheel. `pip install "mypy[mypyc]"` installs what it takes.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections import Counter
from pathlib import Path

SOURCES = Path(__file__).parents[1] / "src"
FOLDERS = ("inference/habits", "engine/values", "inference/memory", "inference/summaries", "inference/transfer")
MODULES = (
    "inference/back_in_torch",
    "engine/names/accelerators",
    "engine/names/aliases",
    "engine/names/attributes_in_text",
    "engine/names/bindings",
    "engine/names/changes",
    "engine/names/class_bodies",
    "engine/names/def_use",
    "engine/names/dict_uses",
    "engine/names/flags",
    "engine/names/freezing",
    "engine/names/lookups",
    "engine/names/syntax_lowering",
    "engine/names/references",
    "engine/names/shown_by_runs",
    "engine/names/slices",
    "engine/names/torch_words",
    "engine/knowledge/arrays",
    "engine/knowledge/chains",
    "engine/knowledge/grad_contexts",
    "engine/knowledge/libraries/rows",
    "engine/knowledge/methods",
    "engine/knowledge/operands",
    "engine/knowledge/symbols",
    "engine/knowledge/torch_api",
    "inference/receivers",
    "sinks/arguments",
    "sinks/fillings",
    "sinks/known",
    "sinks/mixtures",
    "sinks/objectives",
    "sinks/operators",
    "sinks/places",
    "sinks/shapes",
    "sinks/shared_memory",
    "sinks/stores",
    "text/candidates",
    "text/names",
    "text/syntax",
)
INTERPRETED = {
    "inference/habits/program_on_cpu": "mypyc takes a cached property for one that is worked out anew each time",
    "inference/memory/sharing": "it drops all it has by `vars`, and native classes have no dictionary",
    "inference/summaries/analysis": "it drops all it has by `vars`, and native classes have no dictionary",
    "inference/summaries/repository_callers": "mypyc takes a cached property for one that is worked out anew each time",
}
# mypyc looks only once at a function whose type variable stands for one of some types, and objects to what it returns.
OPTIONS = ("--config-file=", "--ignore-missing-imports", "--disable-error-code=return-value")
_FUTURE = "from __future__ import annotations"


def compiled_modules() -> list[str]:
    """The paths of the modules, from the package's folder, without `.py`."""
    package = SOURCES / "tonumpy"
    found = [path for folder in FOLDERS for path in (package / folder).glob("*.py") if path.stem != "__init__"]
    names = {path.relative_to(package).with_suffix("").as_posix() for path in found}
    return sorted((names | set(MODULES)) - INTERPRETED.keys())


def prepared(text: str) -> str:
    """A module as mypyc has to see it: annotations in named tuples are texts, and constants are final.

    It evaluates these annotations, whatever is imported from `__future__`, and what they name is imported for type
    checkers only; and what is not final it looks up by its name each time.
    """
    tree = ast.parse(text)
    lines = text.splitlines(keepends=True)
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef) and any(ast.unparse(base) == "NamedTuple" for base in node.bases):
            for field in node.body:
                if isinstance(field, ast.AnnAssign):
                    _replace(lines, field.annotation, repr(ast.unparse(field.annotation)))
    for constant in _constants(tree):
        if isinstance(constant, ast.AnnAssign):
            _replace(lines, constant.annotation, f"Final[{ast.unparse(constant.annotation)}]")
        else:
            (target,) = constant.targets
            _replace(lines, target, f"{ast.unparse(target)}: Final")
    return "".join(lines).replace(_FUTURE, f"{_FUTURE}; from typing import Final", 1)


def _constants(tree: ast.Module) -> list[ast.Assign | ast.AnnAssign]:
    """The statements of a module that alone give a name in capitals its value."""
    names = (each for each in ast.walk(tree) if isinstance(each, ast.Name))
    bound = Counter(each.id for each in names if isinstance(each.ctx, ast.Store))
    found = []
    for statement in tree.body:
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
        elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
            target = statement.target
        else:
            continue
        if isinstance(target, ast.Name) and target.id.isupper() and bound[target.id] == 1:
            found.append(statement)
    return found


def _replace(lines: list[str], node: ast.expr, text: str) -> None:
    """Put a text in the place of a node that stands on one line."""
    line = lines[node.lineno - 1].encode()
    lines[node.lineno - 1] = (line[: node.col_offset] + text.encode() + line[node.end_col_offset :]).decode()


def without_classes_in_blocks(text: str, name: str) -> tuple[str, str]:
    """A module without the classes that it has for type checkers only, and a module with these, from which it has them.

    mypyc refuses a class within a block, be it one that is never run. The name of the other module ends in `_types`.
    """
    for block in ast.parse(text).body:
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING":
            classes = [node for node in block.body if isinstance(node, ast.ClassDef)]
            if classes:
                lines = text.splitlines(keepends=True)
                place = slice(classes[0].lineno - 1, block.end_lineno)
                declared = textwrap.dedent("".join(lines[place]))
                names = ", ".join(node.name for node in classes)
                lines[place] = [f"    from {name}_types import {names}\n"]
                return "".join(lines), f"from __future__ import annotations\nfrom {name} import *\n{declared}"
    return text, ""


def copy_sources(target: Path) -> list[Path]:
    """The whole package, with the modules to be compiled as mypyc has to see them; their paths from the target."""
    shutil.copytree(SOURCES / "tonumpy", target / "tonumpy", ignore=shutil.ignore_patterns("__pycache__", "*.so"))
    paths = [Path("tonumpy", f"{name}.py") for name in compiled_modules()]
    for path in paths:
        name = ".".join(path.with_suffix("").parts)
        text, types = without_classes_in_blocks(prepared((target / path).read_text(encoding="utf-8")), name)
        (target / path).write_text(text, encoding="utf-8", newline="\n")
        if types:
            (target / path).with_stem(f"{path.stem}_types").write_text(types, encoding="utf-8", newline="\n")
    return paths


_FRONT_END = """
import sys
from mypyc.build import mypycify
extensions = mypycify(sys.argv[2:], opt_level=sys.argv[1], debug_level="0", multi_file=True, group_name="tonumpy")
"""
# The modules see each other's functions within the one library: with none of them exported it is loaded in less time.
_BUILD = """
import os
from setuptools import setup
for extension in extensions:
    extension.extra_compile_args += [] if os.name == "nt" else ["-fvisibility=hidden"]
setup(name="native", packages=[], ext_modules=extensions, script_args=["--quiet", "build_ext", "--inplace"])
"""


def compile_into(target: Path, optimization: str = "2", *, front_end_only: bool = False) -> list[Path]:
    """The compiled modules, and what they share, under an empty folder, beside the sources."""
    paths = copy_sources(target)
    code = _FRONT_END if front_end_only else _FRONT_END + _BUILD
    command = [sys.executable, "-c", code, optimization, *OPTIONS, *map(str, paths)]
    done = subprocess.run(command, cwd=target, env={**os.environ, "MYPYPATH": "."}, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{done.stdout}{done.stderr}")
    shutil.rmtree(target / "build")
    return sorted(path for path in target.rglob("*") if path.suffix in (".so", ".pyd"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path)
    parser.add_argument("--front-end-only", action="store_true")
    parser.add_argument("--optimization", default="2", help="the C compiler's -O (default: 2)")
    arguments = parser.parse_args()
    if arguments.front_end_only:
        with tempfile.TemporaryDirectory() as folder:
            compile_into(Path(folder), front_end_only=True)
        print(f"{len(compiled_modules())} modules can be compiled")
    elif arguments.folder is None:
        parser.error("say the folder")
    else:
        if arguments.folder.exists():
            shutil.rmtree(arguments.folder)
        print(f"{len(compile_into(arguments.folder.resolve(), arguments.optimization))} compiled modules")


if __name__ == "__main__":
    main()
