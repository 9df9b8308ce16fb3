"""From an expression whose `device` is read to whether it is a tensor, by its other uses.

`x.device` says no more than where x is, while `args.device` and `model.device` say that somebody has chosen one.
"""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import OBJECTS, path_of
from tonumpy.inference.index.name_uses import Doing
from tonumpy.inference.index.torch_words import changes_module_in_place
from tonumpy.inference.knowledge import torch_api
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import Union, Unknown, Value, mapped, may_be
from tonumpy.inference.transfer.devices import as_tensor
from tonumpy.inference.transfer.name_heuristics import is_model
from tonumpy.inference.transfer.torch_operators import TORCH_WORDS
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import ACCELERATORS

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame

_SETTINGS = frozenset("cfg config args opt opts hparams hps settings".split())


def as_owner_of_device(frame: Frame, value: Value, node: ast.expr) -> Value:
    """A value whose `device` is read: a tensor where it may be one, and reads as one."""
    if not may_be(value, Unknown) or not _reads_as_tensor(frame, node):
        return value
    return mapped(value, _tensor_of) if isinstance(value, Union) else _tensor_of(value)


def _tensor_of(value: Value) -> Value:
    if not isinstance(value, Unknown) or value.is_no_tensor or value.reason is Reason.DATASET:
        return value
    return as_tensor(value)


def _reads_as_tensor(frame: Frame, node: ast.expr) -> bool:
    """By all that is done with it where it can be seen; where that tells nothing, a variable of a function does that is
    not called a model or settings, and so does an item."""
    if isinstance(node, ast.Subscript):
        return True
    path = path_of(node)
    if path is None or path in OBJECTS:
        return False
    root = path.partition(".")[0]
    done: set[tuple[Doing, str]] = set()
    is_bound = False
    around: Frame | None = frame
    while around is not None and not is_bound:
        done |= around.flow.name_uses.of(path)
        is_bound = root in around.flow.local_names or around.env.get(root) is not None
        around = around.closure
    if not all(_tensors_take(doing, name) for doing, name in done):
        return False
    if any(_only_tensors_take(doing, name) for doing, name in done):
        return True
    return is_bound and isinstance(node, ast.Name) and not (is_model(path) or path.rpartition("_")[2] in _SETTINGS)


def _tensors_take(doing: Doing, name: str) -> bool:
    if doing is Doing.READS:
        return torch_api.tensor_attribute(name) is not None
    if doing is Doing.CALLS_METHOD:
        return torch_api.tensor_method(name) is not None or name in TORCH_WORDS or name in ACCELERATORS
    return doing in (Doing.COUNTS, Doing.ASKS_KIND)


def _only_tensors_take(doing: Doing, name: str) -> bool:
    """Whether only tensors support this use, among objects with a `device`. Not `dtype`, `data`, `T` and `H`: settings
    have attributes of these names beside a device."""
    if doing is Doing.READS:
        known = torch_api.tensor_attribute(name)
        return known is not None and known.kind in ("Size", "int", "bool")
    return doing is Doing.COUNTS or (doing is Doing.CALLS_METHOD and not changes_module_in_place(name))
