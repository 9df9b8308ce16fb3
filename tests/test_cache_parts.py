"""What a file has read of another module: a change elsewhere in that module does not have the file looked at again."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest
from test_cache import check, keeping, looked_at, said

from tonumpy.cache.cache_entries import Kept
from tonumpy.cache.fingerprints import PART, Fingerprints
from tonumpy.cache.module_fingerprint import fingerprint_of, has_fingerprint
from tonumpy.engine.names.lookups import Lookup
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.read_set import ReadSet
from tonumpy.findings import Finding, Ground, Position
from tonumpy.text import deferred
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["keeping", "looked_at"]

HELPERS = """import torch

DEVICE = "cuda"


class Net:
    scale = 2

    def __init__(self):
        self.weight = torch.zeros(3).cuda()

    def unused(self):
        return self.weight + 1


def load():
    return torch.zeros(3).cuda()


def apart():
    return 1
"""
USE = "import torch\nfrom pkg.helpers import Net, load\n\n\ndef f():\n    return load().numpy(), Net().weight.numpy()\n"


@pytest.fixture(autouse=True)
def _short_definitions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each definition is looked into by itself, as a long one is."""
    monkeypatch.setattr(deferred, "MIN_LENGTH", 1)


@pytest.mark.parametrize(
    ("old", "new", "is_redone"),
    [
        ("return 1", "return 2", False),
        ("return 1", "x = 3\n    return x", False),
        ("return self.weight + 1", "return self.weight + 2", False),
        ("def apart():", "def apart(device='cuda'):", False),
        ("import torch\n\nDEVICE", "import torch\n\n# above\n\nDEVICE", False),
        ("    return torch", "    # inside\n    return torch", False),
        ("return 1\n", "return 1\n\n# below\n", False),
        ("def apart():", "def other():", True),
        ("def apart():", "@torch.no_grad()\ndef apart():", True),
        ("def load():", "def load(device=None):", True),
        ("return torch.zeros(3).cuda()", "return torch.zeros(3)", True),
        ("self.weight = torch.zeros(3).cuda()", "self.weight = torch.zeros(3)", True),
        ("return self.weight + 1", "self.weight = torch.zeros(3)", True),
        ("scale = 2", "scale = 3", True),
        ('DEVICE = "cuda"', 'DEVICE = "cpu"', True),
        ("import torch\n", "import torch\nimport tensorflow as tf\n", True),
        ("return 1", "global load\n    load = torch.zeros", True),
        ("return 1\n", "return 1\n\n\ndef load():\n    return torch.ones(3)\n", True),
        ("return 1", "return (", False),
    ],
)
def test_a_file_is_looked_at_again_where_what_it_read_is_another(
    keeping: Path, looked_at: list[str], old: str, new: str, is_redone: bool
) -> None:
    helpers = keeping / "pkg" / "helpers.py"
    helpers.write_text(HELPERS)
    (keeping / "use.py").write_text(USE)
    before = check()
    assert old in HELPERS
    helpers.write_text(HELPERS.replace(old, new, 1))
    looked_at.clear()
    after = check()
    again = list(looked_at)
    assert said(after) == said(check("--no-cache"))
    assert ("use.py" in again) is is_redone, said(before)
    looked_at.clear()
    assert said(check()) == said(after)
    assert looked_at == []


def test_a_module_in_which_findings_name_a_place_counts_as_a_whole() -> None:
    """A line above that place moves it."""
    lookups = [
        Lookup(kind, (path,), answer)
        for path in ("/x/a", "/x/b")
        for kind, answer in (("module", [f"{path}.py", None, ""]), (PART, [[], [], [], True, ""]))
    ]
    ground = Ground("habit", "grad", "label-name", "it is called a label", "/x/a.py", 3)
    finding = Finding("u.py", "TNP101", "", Position(1, 1), Position(1, 2), None, "medium", (ground,))
    parts = Fingerprints(lambda: None)
    mark = parts.keep("u.py", Kept(None, "", tuple(lookups), (finding,)))
    assert parts.of("u.py", mark).keys() == {"/x/b"}


def test_what_was_read_for_other_findings_counts_for_nothing() -> None:
    left: list[object] = [{"u.py": "{}", "v.py": 3}]
    parts = Fingerprints(lambda: left)
    assert parts.of("u.py", "another mark") == parts.of("v.py", "") == parts.of("w.py", "") == {}
    assert parts.changed(["u.py"]) is None
    assert Fingerprints(lambda: ["spoilt"]).of("u.py", "") == {}


def test_what_is_known_already_counts_for_the_next_file_as_well() -> None:
    """What the second file need not read again, as it was worked out for the first one, it rests on all the same."""
    read_set = ReadSet()
    module = Module(Source.from_text(HELPERS, "/x/helpers.py", followed=True), Project(), read_set=read_set)
    parts = []
    for _ in range(2):
        _ = module.names.global_writers, module.names.fillers("DEVICE")
        module.derived(_methods, module.tree)
        parts.append(fingerprint_of(module, read_set))
        read_set.forget()
    assert parts[0] == parts[1]
    assert parts[0] is not None
    assert parts[0][0] == [[0]]
    assert ["name", "DEVICE"] in parts[0][1]
    assert has_fingerprint(_another(HELPERS.replace("return 1", "return 2")), parts[0])
    assert not has_fingerprint(_another(HELPERS.replace("return 1", "DEVICE.append(2)")), parts[0])
    assert not has_fingerprint(_another(HELPERS.replace("class Net:", "class Net(object):")), parts[0])
    assert not has_fingerprint(_another("import torch\n"), parts[0])


def test_whoever_reads_the_text_rests_on_all_of_it() -> None:
    read_set = ReadSet()
    module = Module(Source.from_text(HELPERS, "/x/helpers.py", followed=True), Project(), read_set=read_set)
    assert fingerprint_of(module, read_set) is not None
    assert "torch" in module.source.text
    assert fingerprint_of(module, read_set) is None


def _methods(tree: ast.Module) -> list[ast.stmt]:
    classes = [each for each in tree.body if isinstance(each, ast.ClassDef)]
    return [each for node in classes for each in node.body if isinstance(each, ast.FunctionDef)]


def _another(text: str) -> Module:
    return Module(Source.from_text(text, "/x/helpers.py", followed=True), Project(), read_set=ReadSet())
