"""What a repository may have this program do goes through one door of each kind: no other way stands in the source."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src/tonumpy"

# Calls that write, make or move a file, and where they may stand for which reason.
WRITING_CALLS = {
    *("os.replace", "os.rename", "os.renames", "os.link", "os.symlink", "os.truncate", "os.mkfifo", "os.mknod"),
    *("shutil.copy", "shutil.copy2", "shutil.copyfile", "shutil.copytree", "shutil.move", "shutil.make_archive"),
    *("tempfile.NamedTemporaryFile", "tempfile.mkstemp", "tempfile.TemporaryFile", "tempfile.SpooledTemporaryFile"),
}
WRITING_METHODS = {"write_text", "write_bytes", "touch", "symlink_to", "hardlink_to", "rename", "truncate"}
FLAGS = {"O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC", "O_APPEND"}
WRITERS = {
    "boundary/output.py": "is the door",
    "rehearsal/child/sitecustomize.py": "tells in the folder of a run that tonumpy cannot be imported",
    "cli/standard_streams.py": "opens the null device for a standard stream that is closed",
    "sweep/layout.py": "makes links in a folder of its own lead nowhere",
}


def _written(tree: ast.AST) -> list[str]:
    """The calls that open a file to write, or write one in another way."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = ast.unparse(node.func)
        last = name.rpartition(".")[2]
        if name in WRITING_CALLS or (isinstance(node.func, ast.Attribute) and last in WRITING_METHODS):
            found.append(name)
        elif name == "os.open":
            found += [name] * any(isinstance(each, ast.Attribute) and each.attr in FLAGS for each in ast.walk(node))
        elif last in ("open", "fdopen"):
            found += [name] * _opens_to_write(node)
    return found


def _opens_to_write(node: ast.Call) -> bool:
    """A mode that is no literal may be any. What was opened by `os.open`, or by the door, is written to as it is."""
    first = node.args[0] if node.args else None
    if isinstance(first, ast.Call) and ast.unparse(first.func) in ("os.open", "open_to_append"):
        return False
    modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
    if isinstance(first, ast.Constant) and isinstance(node.func, ast.Attribute) and str(first.value)[:1] in "wxar":
        modes.append(first)  # that of `path.open("a")`
    return any(not (isinstance(mode, ast.Constant) and not set(str(mode.value)) & set("wxa+")) for mode in modes)


@cache
def _in_source() -> dict[str, list[str]]:
    files = {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}
    return {name: calls for name, tree in files.items() if (calls := _written(tree))}


@cache
def _calls_in_source() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call):
                name = ast.unparse(node.func)
                for each in {name, name.rpartition(".")[2]}:
                    found.setdefault(each, set()).add(path.relative_to(SOURCE).as_posix())
    return found


# A call, where it may stand, and what it is in the other places of these.
OTHERS = {
    # of what is run: the program, its code and its Python
    "realpath": {"boundary/paths.py", "rehearsal/frames.py", "rehearsal/process.py", "rehearsal/program.py"},
    "rmtree": set(),
    "expanduser": {"boundary/paths.py", "cli/cache_folder.py"},  # the user's own
    "configured_path": {"config.py", "setting_values.py"},
    "tomllib.loads": {"config.py"},
    "expand_braces": {"setting_values.py"},
    "cores": {"config.py", "cli/parallel.py", "sweep/command.py"},
    # what starts processes
    "ProcessPoolExecutor": {"cli/parallel.py"},
    "fork": set(),
    "Popen": {"rehearsal/process.py", "sweep/worker.py"},
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_settings_say_is_followed_and_limited_in_one_place(name: str) -> None:
    assert _calls_in_source().get(name, set()) == OTHERS[name]


def test_files_are_written_through_one_door() -> None:
    assert sorted(_in_source().keys() - WRITERS.keys()) == []


def test_no_reason_is_given_for_what_writes_nothing() -> None:
    assert sorted(WRITERS.keys() - _in_source().keys()) == []


def test_other_ways_to_write_are_found() -> None:
    for text in (
        "open(path, 'w')",
        "open(path, mode='r+b')",
        "open(path, mode)",
        "io.open(path, 'x')",
        "path.open('a')",
        "os.open(path, os.O_RDONLY | os.O_TRUNC)",
        "os.fdopen(number, 'wb')",
        "Path(path).write_text('')",
        "path.write_bytes(b'')",
        "os.replace(one, other)",
        "shutil.move(one, other)",
        "tempfile.NamedTemporaryFile()",
        "path.symlink_to(other)",
    ):
        assert _written(ast.parse(text)), text
    for text in ("open(path)", "open(path, 'rb')", "os.open(path, os.O_RDONLY)", "open(os.open(path, flags), 'rb')"):
        assert not _written(ast.parse(text)), text


def test_behind_each_promise_stands_a_test() -> None:
    rows = [line for line in (ROOT / "SECURITY.md").read_text("utf-8").splitlines() if line.startswith("|")][2:]
    headings = [row for row in rows if row.endswith("| |")]
    assert all(row.startswith("| **") for row in headings)
    for row in rows:
        named = re.findall(r"`(tests/\w+\.py)(?:::(\w+))?`", row)
        assert named or row in headings, row
        for path, name in named:
            assert f"def {name or 'test_'}" in (ROOT / path).read_text("utf-8"), row
