"""The modules that a native wheel has compiled. TONUMPY_TEST_NATIVE=1 compiles them, which takes minutes."""

from __future__ import annotations

import ast
import builtins
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from readme import ROOT

sys.path.insert(0, str(ROOT / "scripts"))
from build_native import INTERPRETED, SOURCES, compiled_modules, prepared, without_classes_in_blocks


def script(name: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, ROOT / "scripts" / name, *arguments], capture_output=True, text=True)


def test_all_that_is_named_is_there() -> None:
    for name in (*compiled_modules(), *INTERPRETED):
        assert (SOURCES / "tonumpy" / f"{name}.py").is_file()


@pytest.mark.parametrize("name", compiled_modules())
def test_nothing_is_compiled_that_mypyc_takes_for_something_else(name: str) -> None:
    text = (SOURCES / "tonumpy" / f"{name}.py").read_text(encoding="utf-8")
    assert not re.search(r"@cached_property|(?m:^ +@lru_cache)|vars\(self\)", text)


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FUNCTIONS = (*_DEFINITIONS, ast.Lambda)
_Around = tuple[ast.AST, ...]
_BUILTIN_FUNCTIONS = {name for name, each in vars(builtins).items() if type(each) is type(print)}


def kept_alive(text: str) -> list[str]:
    """The functions that, compiled, keep what they hold until garbage is collected, which nobody does during a run.

    mypyc puts a function that is defined in another into what the two share, from where it refers to itself, if it
    takes any function for a variable that they share: a sister, itself, or one that both mention, and no function
    before them did.
    """
    tree = ast.parse(text)
    imports = (each for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for each in node.names)
    functions = {each.name for each in tree.body if isinstance(each, _DEFINITIONS)} | _BUILTIN_FUNCTIONS
    first: dict[str, _Around] = {}  # the functions, from the outermost, in which a name is mentioned first
    kept: set[str] = set()

    def visit(node: ast.AST, around: _Around, known: set[str]) -> None:
        if isinstance(node, _FUNCTIONS):
            around = (*around, node)
            known = known - {each.arg for each in ast.walk(node.args) if isinstance(each, ast.arg)}
            inner = [each for each in ast.walk(node) if isinstance(each, _DEFINITIONS) and each is not node]
            for each in inner:
                first[each.name] = around
            known = known | {each.name for each in inner}
        elif isinstance(node, ast.Name) and node.id in known and around:
            shorter, longer = sorted((first.setdefault(node.id, around), around), key=len)
            if len(shorter) < len(longer) and longer[: len(shorter)] == shorter:
                holder = shorter[-1]
                if any(isinstance(each, _DEFINITIONS) and each is not holder for each in ast.walk(holder)):
                    kept.add(getattr(holder, "name", "lambda"))
        for each in ast.iter_child_nodes(node):
            visit(each, around, known)

    visit(tree, (), functions | {each.asname or each.name for each in imports if each.name.strip("_")[:1].islower()})
    return sorted(kept)


@pytest.mark.parametrize("name", compiled_modules())
def test_no_compiled_function_waits_for_the_garbage_collector(name: str) -> None:
    assert kept_alive((SOURCES / "tonumpy" / f"{name}.py").read_text(encoding="utf-8")) == []


def test_what_waits_for_the_garbage_collector_is_found() -> None:
    module = """\
from elsewhere import work

def shared(x):
    y = work(x)
    def inner(z):
        return work(z)
    return inner

def mentioned_before(x):
    y = work(x)
    def inner(z):
        return work(z)
    return inner

def sisters(x):
    def inner(z):
        return x
    def other(z):
        return inner(z)
    return other

def recursive(x):
    def inner(z):
        return inner(x)
    return inner

def anonymous(x):
    y = sorted(x)
    return lambda z: sorted(z)
"""
    assert kept_alive(module) == ["recursive", "shared", "sisters"]


def test_annotations_of_named_tuples_are_not_evaluated() -> None:
    module = '''\
class Place(NamedTuple):
    """A place."""

    file: dict[str, int] | None  # "é"
    row: int = 0

class Other:
    row: int = 0
'''
    expected = module.replace("file: dict[str, int] | None", "file: 'dict[str, int] | None'")
    assert prepared(module) == expected.replace("row: int", "row: 'int'", 1)


def test_constants_are_final() -> None:
    module = """\
from __future__ import annotations
ONE = "é", 1
_TWO: frozenset[str] = frozenset()
twice = 1
TWICE = 1
TWICE = 2
"""
    lines = prepared(module).splitlines()
    assert lines[0] == "from __future__ import annotations; from typing import Final"
    assert lines[1:3] == ['ONE: Final = "é", 1', "_TWO: Final[frozenset[str]] = frozenset()"]
    assert lines[3:] == module.splitlines()[3:]


def test_classes_for_type_checkers_stand_elsewhere() -> None:
    module = """\
if TYPE_CHECKING:
    from typing import Protocol

    class Asked(Protocol):
        def answer(self) -> Answer: ...

class Answer: ...
"""
    text, types = without_classes_in_blocks(module, "package.module")
    block = "    from typing import Protocol\n\n    from package.module_types import Asked\n"
    assert text == f"if TYPE_CHECKING:\n{block}\nclass Answer: ...\n"
    declared = "class Asked(Protocol):\n    def answer(self) -> Answer: ...\n"
    assert types == f"from __future__ import annotations\nfrom package.module import *\n{declared}"
    assert without_classes_in_blocks(text, "package.module") == (text, "")


@pytest.mark.slow
def test_mypyc_takes_the_modules() -> None:
    pytest.importorskip("mypyc")
    pytest.importorskip("setuptools")
    done = script("build_native.py", "--front-end-only")
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif("TONUMPY_TEST_NATIVE" not in os.environ, reason="TONUMPY_TEST_NATIVE is not set")
def test_what_is_compiled_says_the_same(tmp_path: Path) -> None:
    built = script("build_native.py", tmp_path / "native", "--optimization=0")
    assert built.returncode == 0, built.stderr
    same = script("prove_native.py", "--native", tmp_path / "native", ROOT / "fixtures", SOURCES)
    assert same.returncode == 0, same.stdout


def test_nothing_compiled_is_imported_for_a_file_without_a_candidate(tmp_path: Path) -> None:
    (tmp_path / "clean.py").write_text("import os\n\nprint(os.name)\n", encoding="utf-8")
    command = [sys.executable, "-X", "importtime", "-m", "tonumpy", "check", "--no-cache", "clean.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert done.returncode == 0
    assert "tonumpy.frontends.cli" in imported
    assert not imported & {f"tonumpy/{name}".replace("/", ".") for name in compiled_modules()}


def test_what_is_not_native_proves_nothing() -> None:
    done = script("prove_native.py", "--native", SOURCES, SOURCES)
    assert (done.returncode, done.stderr) == (2, "this tonumpy is not native\n")
