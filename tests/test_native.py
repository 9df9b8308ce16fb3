"""The modules that a native wheel has compiled. TONUMPY_TEST_NATIVE=1 compiles them, which takes minutes."""

from __future__ import annotations

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
    assert not re.search(r"@cached_property|@lru_cache|vars\(self\)", text)


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
