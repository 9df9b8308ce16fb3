"""From a method of a list that is handed out, as in `run(rows.append)`, to what calls of it in its module put in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import names_in
from tonumpy.engine.names.handed_methods import handed_methods
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.values import NOTHING, Sequence, Value
from tonumpy.inference.transfer.members import item_of
from tonumpy.inference.transfer.targets import Targets

if TYPE_CHECKING:
    import ast

    from tonumpy.engine.names.handed_methods import Call, Handed
    from tonumpy.engine.names.module import Module
    from tonumpy.inference.summaries.analysis import Analysis


class HandedLists:
    """What is put into each list, worked out once; each call is evaluated in its own scope."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._items: dict[int, Value] = {}

    def put_into(self, module: Module, name: str) -> Value:
        """What is put into a list of the module by methods of it that its functions hand out, or take as defaults."""
        found = (each for each in module.derived_of(_handed_out, "").values() if each.filled == name)
        return join_all(Sequence(None, self.items(module, each.method)) for each in found)

    def items(self, module: Module, method: ast.Attribute) -> Value:
        """The join of the items; nothing where no call is in sight."""
        handed = module.derived_of(_handed_out, "").get(id(method))
        if handed is None or not handed.calls:
            return NOTHING
        solver = self._analysis.solver
        known = solver.known(self._items, id(method))
        if known is None:
            self._items[id(method)] = NOTHING  # what is put in may be made of the list
            with solver.solving(self._items, id(method)):
                known = self._items[id(method)] = self._work_out(module, handed)
        return known

    def _work_out(self, module: Module, handed: Handed) -> Value:
        by_scope: dict[int, list[Call]] = {}
        for call in handed.calls:
            by_scope.setdefault(id(call.scopes[-1]), []).append(call)
        found: Value = NOTHING
        for calls in by_scope.values():
            if self._analysis.budget.cuts_short():
                return NOTHING
            ids = frozenset(id(call.node) for call in calls)
            targets = Targets(ids, frozenset(id(call.statement) for call in calls))
            names = frozenset[str]().union(*(names_in(call.given) for call in calls))
            frame = self._analysis.entries.frame(module, calls[0].scopes, targets, names)
            for call in calls:
                seen = frame.seen.observations.get(id(call.node))
                given = None if seen is None else seen.arguments.get(int(call.is_map), "")
                if given is not None:
                    found = join(found, item_of(frame, given) if handed.gives_many(call) else given)
        return found


def _handed_out(module: Module, _name: str) -> dict[int, Handed]:
    return {id(each.method): each for each in handed_methods(module.source)}
