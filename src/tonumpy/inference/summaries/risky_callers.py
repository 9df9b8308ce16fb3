"""The call graph upwards, across files and for risks alone: from a function to what raises that is given to it there.

Who else calls it does not matter then. Only calls are evaluated that may give such things by their text.
"""

from __future__ import annotations

import os

from tonumpy.inference.index.constructions import may_give_risks
from tonumpy.inference.index.references import class_around
from tonumpy.inference.lattice.values import Function, Instance, members, resting_on
from tonumpy.inference.summaries.budget import MAX_CALLERS
from tonumpy.inference.summaries.entry import OUT_OF_SIGHT, Entry
from tonumpy.inference.summaries.known_callers import is_detached, only_what_is_detached, with_tensors_given
from tonumpy.inference.summaries.repository_callers import IMPORT, calls_in_other_files
from tonumpy.inference.summaries.said_of_all import called_at
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable
    from collections.abc import Sequence as Items

    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.values import Value
    from tonumpy.inference.summaries.analysis import Analysis


class RiskyCallers:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def of(self, module: Module, scopes: Items[ast.AST], function: Function) -> Entry:
        """The arguments at risk that calls in other files give; to a method, on objects known to be of its class."""

        def is_meant(_: Module, receiver: Value) -> bool:
            objects = (each for each in members(receiver) if isinstance(each, Instance))
            return is_method_of(self._analysis, objects, function)

        places = calls_in_other_files(self._analysis, module, scopes, function)
        calls = [(other, each) for other, each in places if each.call is not None and may_give_risks(other, each)]
        if not calls or len(calls) > MAX_CALLERS:
            return OUT_OF_SIGHT
        is_of_module = class_around(scopes) is None
        joined = self._analysis.callers.join(function, calls, None if is_of_module else is_meant)
        risks = with_tensors_given(only_what_is_detached(joined, is_detached, None), joined)
        about = called_at(function.node.name, calls)  # type: ignore[union-attr]
        evidence = about("kind") | about("device") | about("grad")
        return risks._replace(arguments={name: resting_on(each, evidence) for name, each in risks.arguments.items()})

    def give_any(self, module: Module, scopes: Items[ast.AST]) -> bool:
        """Whether one of them gives the innermost scope such an argument."""
        node = scopes[-1]
        assert isinstance(node, FUNCTIONS)
        owner, closure = self._analysis.entries.surroundings(module, scopes)
        return bool(self.of(module, scopes, Function(node, module, owner, closure)).arguments)


def is_method_of(analysis: Analysis, objects: Iterable[Instance], function: Function) -> bool:
    """Whether the function is the method that one of the objects has under its name."""
    name = function.node.name  # type: ignore[union-attr]
    methods = (analysis.classes.method(each.cls, name) for each in objects)
    return any(each is not None and each.node is function.node for each in methods)


def is_torch_beside(module: Module) -> bool:
    """Whether another file of its repository imports torch."""
    repository = module.project.repositories.around(module.folder)
    return repository is not None and repository.names_beside(os.path.abspath(module.filename), "torch", IMPORT)
