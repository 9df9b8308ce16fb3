"""From a call of a `functools.singledispatch` function to the variant called, by the value of its first argument."""

from __future__ import annotations

import ast

from tonumpy.inference.index.dispatching import is_dispatcher, registered_for, variants_in
from tonumpy.inference.lattice.values import Function, Instance, NonTensor, Tensor, Value
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from tonumpy.inference.lattice.values import Arguments
    from tonumpy.inference.summaries.analysis import Analysis


def variant_called(analysis: Analysis, function: Function, arguments: Arguments) -> Function | None:
    """The registered variant that the call runs; None if the function does not dispatch, or if not exactly one variant
    fits."""
    node, owner = function.node, function.owner
    if function.closure is not None or not arguments.positional or not is_dispatcher(node):
        return None
    assert isinstance(node, FUNCTIONS)
    variants = function.module.derived(variants_in, function.module.tree if owner is None else owner.node)
    frame = analysis.definition_frame(function)
    fitting = [
        variant
        for variant in variants.get(node.name, ())
        if _fits(arguments.positional[0], analysis.parameters.annotated(frame, variant.cls))
    ]
    return function._replace(node=fitting[-1].function) if len(fitting) == 1 else None


def _fits(given: Value, promised: Value) -> bool:
    """Whether a value is surely of the class for which a variant is registered."""
    if isinstance(given, Tensor):
        return isinstance(promised, Tensor)
    if isinstance(given, NonTensor):
        return given == promised and "." in given.what  # the class of a library, such as NumPy's array
    return isinstance(given, Instance) and isinstance(promised, Instance) and given.cls == promised.cls


def classes_dispatched_on(function: Function) -> list[ast.expr]:
    """The classes that `@f.register(cls)` names over a function, one above the other: what its first argument is."""
    node = function.node
    decorators = [] if isinstance(node, ast.Lambda) else node.decorator_list
    if not decorators:
        return []  # as of most
    registered = [each for each in map(registered_for, decorators) if each is not None]
    return [cls for name, cls in registered if cls is not None and _is_dispatched(function, name)]


def _is_dispatched(function: Function, name: str) -> bool:
    scope = function.module.tree if function.owner is None else function.owner.node
    return any(isinstance(each, FUNCTIONS) and each.name == name and is_dispatcher(each) for each in scope.body)
