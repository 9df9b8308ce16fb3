"""The call graph upwards through values: how a function is entered by what stands for it.

That is its name where a decorator has put something else there, an item of a dict or a list, an attribute, a variable,
`functools.partial`. The scopes that hold such calls are run, and it is noted how the function is entered there. Who
else calls it is not known, so that only what goes wrong there is said of it.
"""

from __future__ import annotations

from tonumpy.inference.index.bindings import arguments_of, names_in, names_read, parameters_of
from tonumpy.inference.index.constructions import may_give_risks
from tonumpy.inference.index.indirect_calls import indirect_calls
from tonumpy.inference.index.references import references_to
from tonumpy.inference.lattice.values import Function, have_param_taint, max_device_taint
from tonumpy.inference.summaries.budget import MAX_INDIRECT_CALLERS
from tonumpy.inference.summaries.closed_world import is_handed_on, keeps_callers_known
from tonumpy.inference.summaries.entry import OUT_OF_SIGHT, Entry
from tonumpy.inference.summaries.known_callers import given_by_all, is_detached, only_what_is_detached
from tonumpy.inference.transfer.targets import Targets
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.candidates import spans_any
from tonumpy.text.names import qualified_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence as Items

    from tonumpy.facts import Fact
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.index.references import Reference
    from tonumpy.inference.lattice.values import Value
    from tonumpy.inference.summaries.analysis import Analysis


class IndirectCallers:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self.holders: frozenset[int] = frozenset()  # while somebody asks: the functions that hold such calls

    def of(self, module: Module, scopes: Items[ast.AST], function: Function) -> Entry:
        """The arguments at risk among those that such calls give a function that is handed on."""
        if not self._may_be_asked(module) or not is_handed_on(module, scopes):
            return OUT_OF_SIGHT
        node = scopes[-1]
        assert isinstance(node, FUNCTIONS)
        calls = list(indirect_calls(module).calls)
        if not all(map(keeps_callers_known, node.decorator_list)):
            calls += [each for each in references_to(module, scopes) if each.call is not None]
        return self._entered_by(module, function, [each for each in calls if node not in each.scopes])

    def of_lambda(self, function: Function) -> Entry:
        """The same of a lambda that is kept."""
        module = function.module
        if not self._may_be_asked(module):
            return OUT_OF_SIGHT
        return self._entered_by(module, function, indirect_calls(module).calls)

    def _may_be_asked(self, module: Module) -> bool:
        analysis = self._analysis
        return module is analysis.module and not analysis.looks_everywhere and not self.holders

    def _entered_by(self, module: Module, function: Function, calls: Items[Reference]) -> Entry:
        calls = [each for each in calls if _may_give_risks(module, each)] if len(calls) <= MAX_INDIRECT_CALLERS else ()
        by_scope: dict[int, list[Reference]] = {}
        for each in calls:
            by_scope.setdefault(id(each.scopes[-1]), []).append(each)
        self.holders = indirect_calls(module).holders
        try:
            # Those around the function first: most often it is called where it is kept, and the budget may not last.
            row = function.node.lineno
            groups = sorted(
                by_scope.values(), key=lambda group: (-_near(group[0].scopes, row), qualified_name(group[0].scopes))
            )
            entries = [entry for group in groups for entry in self._entries_in(module, function, group)]
        finally:
            self.holders = frozenset()
        given: dict[str, list[Value]] = {}
        modes: set[Fact] = set()  # in which something is given that has something to learn
        for entry in entries:
            learn = have_param_taint(tuple(entry.arguments.values()))
            if learn and entry.grad_mode is False and not max_device_taint(entry.arguments.values()):
                continue
            modes |= {entry.grad_mode} if learn else set()
            for name, value in entry.arguments.items():
                given.setdefault(name, []).append(value)
        arguments = {name: given_by_all(values) for name, values in given.items()}
        found = only_what_is_detached(Entry(arguments, None), is_detached, None)
        return found._replace(grad_mode=True) if modes == {True} and found is not OUT_OF_SIGHT else found

    def _entries_in(self, module: Module, function: Function, group: list[Reference]) -> list[Entry]:
        targets = Targets(frozenset(id(each.call) for each in group), frozenset(id(each.statement) for each in group))
        names = {name for each in group for name in names_read(each.statement)}
        watched = self._analysis.watched
        watched[id(function.node)] = []
        try:
            self._analysis.entries.frame(module, group[0].scopes, targets, names)
        finally:
            entries = watched.pop(id(function.node))
        return entries


def _near(scopes: Items[ast.AST], row: int) -> int:
    """How many of some scopes stand around a row."""
    return sum(spans_any(each, [row]) for each in scopes if isinstance(each, SCOPES))


def _may_give_risks(module: Module, place: Reference) -> bool:
    """By the words of the lines around it; what its scope is given itself may be anything."""
    assert place.call is not None
    names = {name for each in arguments_of(place.call) for name in names_in(each)}
    return not names.isdisjoint(parameters_of(place.scopes[-1])) or may_give_risks(module, place)
