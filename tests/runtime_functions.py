"""The functions of any fixture, called with tensors before and after the repair: it heals, and changes no value.

These need no header. A function takes part if it can be called with tensors (and modules and lists of them, where its
annotations say so) and gives a value in the tamest case: plain tensors on the CPU under no_grad. Where tonumpy is
silent on a function of tensors, that says that nothing needs healing, so it is held to the same.
"""

from __future__ import annotations

import ast
import contextlib
import inspect
import io
import os
import sys
import warnings
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple
from unittest.mock import patch

import pytest
import torch
from fixture_format import read_fixture
from runtime_fixtures import FIXTURES, KINDS, MODES, Kind, tiny_module
from runtime_matrix import same

from tonumpy import check_source, fix_source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tonumpy.findings import Links

os.environ.setdefault("HF_HUB_OFFLINE", "1")  # a function that loads a model by its name shall not, where it could

HEALED = (
    "Can't call numpy() on Tensor that requires grad.",
    "can't convert {device} device type tensor to numpy.",
    "Got unsupported ScalarType BFloat16",  # what works on the CPU may be of this dtype where autocast is on
)
# Findings that a comment suppresses, and text that a repair would change or cannot find; nor is anything expected of
# what was not asked for.
_SILENT_ON_PURPOSE = ("noqa/", "rewrite/")
# What the toy lacks for copies that do not block: the original raises there, where a repair that waits does not.
_NOT_OF_THE_TOY = "getPinnedMemoryAllocator"
# Repairs that change a value on purpose; test_sharing.py tells whether it is the right one.
_CHANGING_VALUES = ("TNP201", "TNP202")
# `if x.is_cuda` tells of CUDA alone: the other branch counts as the CPU where the module names no other accelerator.
_OF_CUDA_ALONE = [("reveal/rebinding", "moved_if_needed")]
# Silent for what `torch.compile` makes of it, which another name holds: called by its own name it runs uncompiled.
_COMPILED_ELSEWHERE = [("TNP102/clean_torch_compile", "called")]
# No 0-d tensors: `x.cpu().mul(y)` is on the device of y if x is 0-d.
_KINDS = {
    kind.name: kind
    for kind in KINDS
    if kind.name in ("plain", "parameter", "non-leaf", "made under no_grad", "module output", "strided view", "int64")
}


class Cell(NamedTuple):
    """One call that was compared, and what was wrong, if anything."""

    fixture: str
    function: str
    device: str
    kind: str
    mode: str
    problem: str | None

    def __str__(self) -> str:
        place = f"{self.fixture}, {self.function} on {self.device}, {self.kind}, {self.mode}"
        return f"{place}: {self.problem or 'ok'}"


def run_all(device: str, links: Links, part: str = "") -> Iterator[Cell]:
    """Every function of every fixture, as it is and as tonumpy repairs it: of those that need not both links, all.

    `part`: only of the fixtures whose paths hold this text.
    """
    for path in sorted(FIXTURES.rglob("*.py")):
        if part not in path.as_posix():
            continue
        is_for_this = not path.name.endswith(".fixed.py") and sys.version_info >= read_fixture(path).python
        if is_for_this and path.parent.name not in _CHANGING_VALUES:
            name = path.relative_to(FIXTURES).with_suffix("").as_posix()
            original = path.read_bytes()
            if _has_a_function_that_works(original):
                both, needed = (_repaired(path, name, each) for each in ("both", links))
                if links == "both":
                    yield from run_functions(name, original, both, device)
                elif needed != both:  # those whose calls are all in sight are not called in another way
                    cells = run_functions(name, original, needed, device)
                    named = (cell for cell in cells if not cell.function.startswith("_"))
                    is_other = device not in ("cpu", "cuda")
                    yield from (c for c in named if not (is_other and (c.fixture, c.function) in _OF_CUDA_ALONE))


@cache
def _has_a_function_that_works(source: bytes) -> bool:
    """Whether any takes part, if a repair changes it."""
    functions = _functions(source)
    return any(name in functions and _works(functions[name]) for name in _definitions(source))


def _works(function: Callable[..., object]) -> bool:
    return not isinstance(_call(function, _KINDS["plain"], "cpu", "no_grad"), Exception)


@cache
def _repaired(path: Path, name: str, links: Links) -> bytes:
    """The same for every device."""
    return fix_source(path.read_bytes(), name, select=read_fixture(path).selected or None, unsafe=True, links=links)


def run_functions(fixture: str, original: bytes, repaired: bytes, device: str) -> Iterator[Cell]:
    """Nothing for a fixture that cannot be imported: one that needs another framework, say."""
    before, after = _functions(original), _functions(repaired)
    changed = _changed_functions(original, repaired)
    is_silent_on_purpose = fixture.startswith(_SILENT_ON_PURPOSE) or b"--select=" in original
    silent = set() if is_silent_on_purpose else _functions_of_tensors(original, before) - changed
    if silent:
        silent -= _left_to_people(original)
    for name in sorted((changed | silent) & before.keys() & after.keys()):
        if (fixture, name) in _COMPILED_ELSEWHERE or not _works(before[name]):
            continue
        for kind in _KINDS.values():
            for mode in MODES:
                outcome = _call(before[name], kind, device, mode)
                new_outcome = _call(after[name], kind, device, mode) if name in changed else outcome
                problem = _problem(outcome, new_outcome, device)
                yield Cell(fixture, name, device, kind.name, mode, problem)


def _functions(source: bytes) -> dict[str, Callable[..., object]]:
    namespace: dict[str, object] = {"__name__": "fixture"}
    with _quiet():
        try:
            exec(compile(source, "fixture", "exec", dont_inherit=True), namespace)
        except Exception:
            return {}
    own = {name: value for name, value in namespace.items() if inspect.isfunction(value)}
    return {name: value for name, value in own.items() if value.__module__ == "fixture"}


def _changed_functions(original: bytes, repaired: bytes) -> set[str]:
    before, after = (
        {name: ast.dump(node) for name, node in _definitions(source).items()} for source in (original, repaired)
    )
    return {name for name in before if after.get(name) != before[name]}


def _definitions(source: bytes) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)}


@cache
def _left_to_people(source: bytes) -> set[str]:
    """Those with a finding that no repair goes with: they are neither silent nor healed."""
    rows = [finding.start.row for finding in check_source(source) if not (finding.fix and finding.fix.edits)]
    return {
        name
        for name, node in _definitions(source).items()
        if any(node.lineno <= row <= (node.end_lineno or 0) for row in rows)
    }


def _functions_of_tensors(source: bytes, functions: dict[str, Callable[..., object]]) -> set[str]:
    """Those that convert something and take nothing but what an annotation says to be of torch."""
    converting = {name for name, node in _definitions(source).items() if ".numpy(" in ast.unparse(node)}
    return {
        name
        for name in converting & functions.keys()
        if all(
            "Tensor" in str(parameter.annotation) or "torch" in str(parameter.annotation)
            for parameter in inspect.signature(functions[name]).parameters.values()
        )
    }


def _call(function: Callable[..., object], kind: Kind, device: str, mode: str) -> object:
    # `torch.manual_seed` would note the stack for each kind of accelerator that is not in use yet.
    torch.default_generator.manual_seed(0)
    if device == "cuda":
        torch.cuda.manual_seed(0)
    required = [each for each in inspect.signature(function).parameters.values() if each.default is each.empty]
    arguments = [_argument(str(parameter.annotation), kind, device) for parameter in required]
    with MODES[mode](), _quiet():
        try:
            given = function(*arguments)
            return list(islice(given, 10)) if inspect.isgenerator(given) else given
        except Exception as error:
            return error
        except pytest.fail.Exception as error:  # of `pytest.raises`, where nothing was raised
            return RuntimeError(str(error))


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """What a fixture prints or warns of is not at stake, and the arguments of pytest are not its own."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings(), patch.object(sys, "argv", ["fixture"]):
        warnings.simplefilter("ignore")
        yield


def _argument(annotation: str, kind: Kind, device: str) -> object:
    if "Module" in annotation or "Linear" in annotation:
        return tiny_module(device)
    tensor = kind.make(device)
    if "LongTensor" in annotation:
        tensor = tensor.long()
    return [tensor] if annotation.startswith(("list[", "List[", "typing.List[")) else tensor


def _problem(before: object, after: object, device: str) -> str | None:
    if _can_be_healed(after, device):
        return f"the repaired code still raises {after!r}"
    both_fail = isinstance(before, Exception) and isinstance(after, Exception)
    if isinstance(before, NotImplementedError) and _NOT_OF_THE_TOY in str(before):
        return None
    if both_fail or _can_be_healed(before, device) or same(before, after):
        return None
    return f"{before!r} became {after!r}"


def _can_be_healed(outcome: object, device: str) -> bool:
    """Whether it is one of the exceptions that a repair does away with."""
    words = tuple(each.format(device=torch.zeros(0, device=device).device) for each in HEALED)
    return isinstance(outcome, (RuntimeError, TypeError)) and str(outcome).startswith(words)
