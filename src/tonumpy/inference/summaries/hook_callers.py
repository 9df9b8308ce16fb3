"""The call graph upwards through hooks: how torch enters a function that the module registers as a hook."""

from __future__ import annotations

from tonumpy.inference.index.bindings import names_in
from tonumpy.inference.index.hooks import registered_for, registers_hooks
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import Instance, Unknown
from tonumpy.inference.summaries.budget import MAX_INDIRECT_CALLERS
from tonumpy.inference.summaries.entry import OUT_OF_SIGHT, Entry
from tonumpy.inference.summaries.known_callers import given_by_all
from tonumpy.inference.transfer.hooks import given_to_hook
from tonumpy.inference.transfer.targets import Targets
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast
    from collections.abc import Sequence as Items

    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.values import Function
    from tonumpy.inference.summaries.analysis import Analysis


def entry_of_hook(analysis: Analysis, module: Module, scopes: Items[ast.AST], function: Function) -> Entry:
    """The entry of a function joined over its registrations as a hook: what is registered nobody else calls."""
    if not registers_hooks(module):
        return OUT_OF_SIGHT
    places = registered_for(module, scopes)
    if not places or len(places) > MAX_INDIRECT_CALLERS:
        return OUT_OF_SIGHT
    found = [_entered(analysis, function, module, *place) for place in places]
    entries = [each for each in found if each is not None]
    return _joined(entries) if len(entries) == len(found) else OUT_OF_SIGHT


def _joined(entries: Items[Entry]) -> Entry:
    names = entries[0].arguments
    arguments = {name: given_by_all([each.arguments[name] for each in entries]) for name in names}
    modes = {each.grad_mode for each in entries}
    return Entry(arguments, modes.pop() if len(modes) == 1 else None)


def _entered(
    analysis: Analysis,
    function: Function,
    module: Module,
    call: ast.Call,
    scopes: tuple[ast.AST, ...],
    statement: ast.stmt,
    before: int,
) -> Entry | None:
    """How one registration has torch enter it; None where the flow does not reach that, or is not followed."""
    targets = Targets(frozenset((id(call),)), frozenset((id(statement),)))
    frame = analysis.entries.frame(module, scopes, targets, names_in(call.func))
    seen = frame.observations.get(id(call))
    if seen is None:
        return None
    given, mode = given_to_hook(frame, call, seen.receiver, seen.grad_mode)
    owner = function.owner
    itself = Instance(owner) if owner is not None and function.node in owner.node.body else None
    known = (Unknown(Reason.PARAMETER),) * before
    arguments = given._replace(positional=(*known, *given.positional))
    bound = analysis.parameters.bind_arguments(function, itself, arguments)
    return Entry(bound, mode)
