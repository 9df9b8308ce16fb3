"""From a function to pessimistic entries, which over-approximate all callers; if they yield no finding, none will."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import OBJECTS, bound_names, parameters_of, root_name
from tonumpy.inference.index.references import references_to
from tonumpy.inference.knowledge.methods import COMMON_METHODS, OF_ARRAYS_ALONE, OF_PYTHON
from tonumpy.inference.knowledge.torch_api import is_of_tensors
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import (
    DeviceTaint,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    mapped,
    may_be,
)
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.prefilter import LACKED_BY_NUMPY
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Items

    from tonumpy.inference.index.module import Module
    from tonumpy.inference.summaries.entry import Entry

# What makes arrays of what its methods are given.
OBJECTS_OF_LIBRARIES = ("matplotlib.", "h5py.", "pandas.", "netCDF4.", "zarr.", "xarray.")
_ANYTHING = Unknown(Reason.PARAMETER, device_taint=DeviceTaint.CHOSEN, param_taint=True)
_TENSOR = Tensor(device_taint=DeviceTaint.CHOSEN, param_taint=True)
# What is called may be a method of a model, or of what holds one.
_MODEL = LibraryObject("torch.nn.Linear", device_taint=DeviceTaint.CHOSEN)
_MODEL_UNKNOWN_TO_NUMPY = _MODEL._replace(dtype="bfloat16")
_UNKNOWN_TO_NUMPY = _TENSOR._replace(dtype="bfloat16", layout="sparse", bit="conjugate")


def is_object_of_library(value: Value) -> bool:
    """True if the value is an object of a library whose methods convert their arguments to arrays."""
    return isinstance(value, NonTensor) and value.what.startswith(OBJECTS_OF_LIBRARIES)


def has_pessimistic_entries(module: Module, scopes: Items[ast.AST]) -> bool:
    """Whether a pessimistic entry over-approximates all callers in the module.

    False if what is made there depends on the object that a caller gives: by a method that the module or, by its name,
    another of the repository defines, or by an item that is called, as a model out of a dict is.
    """
    node = scopes[-1]
    assert isinstance(node, FUNCTIONS)
    if not references_to(module, scopes):
        return False  # these cost nothing
    text, given, items = module.source.text, parameters_of(node).difference(OBJECTS), _items_bound(node)
    dropped = {id(each.value) for each in walk(node) if isinstance(each, ast.Expr)}
    for each in walk(node):
        called = each.func if isinstance(each, ast.Call) else None
        if isinstance(called, ast.Name) and called.id in items:
            return False
        if not isinstance(called, ast.Attribute):
            continue
        if root_name(called) not in OBJECTS and f"def {called.attr}(" in text:
            return False
        of_parameter = isinstance(called.value, ast.Name) and called.value.id in given
        if of_parameter and id(each) not in dropped and _is_of_own_class(called.attr):
            return False
    return True


def _items_bound(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The variables of its loops and comprehensions."""
    loops = (ast.For, ast.AsyncFor, ast.comprehension)
    return {name for each in walk(node) if isinstance(each, loops) for name in bound_names(each.target)}


def _is_of_own_class(method: str) -> bool:
    """Whether only a class of a repository has such a method, by its name."""
    return not is_of_tensors(method) and method not in OF_PYTHON | COMMON_METHODS | OF_ARRAYS_ALONE


def pessimistic_entries(module: Module, scopes: Items[ast.AST], alone: Entry) -> Iterator[Entry]:
    """Entries in which every parameter of unknown kind may raise; one for each kind of risk that would hide another."""
    yield _pessimistic(alone, _ANYTHING, _TENSOR)
    if any(isinstance(value, LibraryObject) for value in alone.arguments.values()):  # `layer: nn.Linear`
        yield _pessimistic(alone, _ANYTHING, _TENSOR, (Instance, LibraryObject))
    node = scopes[-1]
    assert isinstance(node, FUNCTIONS)
    used = _used_as_objects(node, alone)
    for root in OBJECTS_OF_LIBRARIES if used else ():
        if root.rstrip(".") in module.source.text:
            worst = _pessimistic(alone, _ANYTHING, _TENSOR)
            yield worst._replace(arguments={**worst.arguments, **dict.fromkeys(used, NonTensor(f"{root}object"))})
    called = _called(node, alone)
    if called:
        worst = _pessimistic(alone, _ANYTHING, _TENSOR)
        yield worst._replace(arguments={**worst.arguments, **dict.fromkeys(called, _MODEL)})
    if any(word in module.source.text for word in LACKED_BY_NUMPY):
        if called:
            yield worst._replace(arguments={**worst.arguments, **dict.fromkeys(called, _MODEL_UNKNOWN_TO_NUMPY)})
        yield _pessimistic(alone, _UNKNOWN_TO_NUMPY, _UNKNOWN_TO_NUMPY)


def _pessimistic(alone: Entry, anything: Value, tensor: Tensor, kept: tuple[type, ...] = (Instance,)) -> Entry:
    """`kept` are left as they are: at least `self`."""
    bound = _Bound(anything, tensor, kept)
    return alone._replace(arguments={name: bound.of(value) for name, value in alone.arguments.items()})


class _Bound(NamedTuple):
    """A function within the other that called itself would, compiled, stay until the garbage is collected."""

    anything: Value
    tensor: Tensor
    kept: tuple[type, ...]

    def of(self, value: Value) -> Value:
        if isinstance(value, self.kept) or is_object_of_library(value):
            return value
        if isinstance(value, (Sequence, Mapping, Union)):
            return mapped(value, self.of)
        return self.tensor if isinstance(value, Tensor) else self.anything


def _used_as_objects(node: ast.FunctionDef | ast.AsyncFunctionDef, alone: Entry) -> set[str]:
    """The parameters of unknown kind that have methods called, or something put into them."""
    used = {
        root_name(each.func if isinstance(each, ast.Call) else each)
        for each in walk(node)
        if (isinstance(each, ast.Call) and isinstance(each.func, ast.Attribute))
        or (isinstance(each, ast.Subscript) and isinstance(each.ctx, ast.Store))
    }
    return {name for name, value in alone.arguments.items() if name in used and may_be(value, Unknown)}


def _called(node: ast.FunctionDef | ast.AsyncFunctionDef, alone: Entry) -> set[str]:
    """The parameters of unknown kind that are called: `encode(texts)`."""
    used = {each.func.id for each in walk(node) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)}
    return {name for name, value in alone.arguments.items() if name in used and may_be(value, Unknown)}
