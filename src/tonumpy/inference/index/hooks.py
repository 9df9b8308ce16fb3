"""The places of a module that register a hook of torch, and whether grad mode is on where the hooked module is run."""

from __future__ import annotations

import ast
import re

from tonumpy.inference.index.bindings import is_false, path_of
from tonumpy.inference.index.constructions import constructions_of
from tonumpy.inference.index.references import Reference, places_that_name
from tonumpy.inference.index.syntax_lowering import stores_of
from tonumpy.inference.knowledge.grad_contexts import GRAD_CONTEXTS, GRAD_SETTERS
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.candidates import find_calls, first_row, last_row
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Sequence as Items
    from typing import Literal

    from tonumpy.inference.index.bindings import FunctionNode
    from tonumpy.inference.index.module import Module

    Mode = Literal["on", "off", "unknown"]

# What torch gives the hook, besides the module.
# https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_forward_hook
HOOKS = {
    "register_forward_hook": "inputs and output",
    "register_forward_pre_hook": "inputs",
    "register_backward_hook": "gradients of inputs and outputs",
    "register_full_backward_hook": "gradients of inputs and outputs",
    "register_full_backward_pre_hook": "gradients of outputs",
    "register_hook": "gradient",
}
_REGISTERED = re.compile(rf"\.(?:{'|'.join(HOOKS)})\(")
# What the module that holds a hooked layer is mostly called.
_MODELS = frozenset("model net network backbone encoder self".split())

_MODES: dict[str, Mode] = {"on": "on", "off": "off"}


class _Block(NamedTuple):
    """The rows of a block, or function, that sets grad mode."""

    first: int
    last: int
    mode: Mode


def registers_hooks(module: Module) -> bool:
    """Whether a module gives torch a function that is called as a module runs, or as gradients are worked out."""
    return module.text.says("holds", "_hook(")


def registered_hook(call: ast.Call) -> ast.expr | None:
    """The hook that a call registers; None where it registers none."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in HOOKS:
        return None
    if call.args:
        return call.args[0]
    return next((each.value for each in call.keywords if each.arg == "hook"), None)


def hook_registrations(module: Module) -> tuple[Reference, ...]:
    return module.derived_of(_registrations, "")


def _registrations(module: Module, _: str) -> tuple[Reference, ...]:
    source = module.source
    rows = sorted({source.position_at(match.start()).row for match in _REGISTERED.finditer(source.text)})
    # A chain over several lines begins above the row where its last method stands.
    sites = find_calls(source, rows, lambda call: registered_hook(call) is not None)
    return tuple(Reference(each.call, each.scopes, each.statement, is_attribute=False) for each in sites)


def registered_for(module: Module, scopes: Items[ast.AST]) -> list[tuple[ast.Call, tuple[ast.AST, ...], ast.stmt, int]]:
    """The registrations of the innermost scope, a function, as a hook: each with its scopes, its statement and how many
    arguments `functools.partial` gives before torch does."""
    node = scopes[-1]
    found = []
    for place in hook_registrations(module):
        hook = registered_hook(place.call) if place.call is not None else None
        before = None if hook is None or node in place.scopes else _stands_for(module, hook, scopes, place.scopes)
        if before is not None:
            assert place.call is not None
            found.append((place.call, place.scopes, place.statement, before))
    return found


def _stands_for(module: Module, hook: ast.expr, scopes: Items[ast.AST], seen_in: Items[ast.AST]) -> int | None:
    """Whether an expression in some scopes may be the innermost of `scopes`, as a hook: how many arguments it has
    already."""
    node, around = scopes[-1], scopes[-2]
    if not isinstance(node, FUNCTIONS):
        return 0 if node is hook else None
    if isinstance(hook, ast.Call):
        called = last_name(hook.func)
        if called == "partial" and hook.args:
            return len(hook.args) - 1 if last_name(hook.args[0]) == node.name else None
        return 0 if called is not None and called == _maker_of(node, around) else None
    return 0 if last_name(hook) in _names_of(module, node, around, hook, seen_in) else None


def _maker_of(node: FunctionNode, around: ast.AST) -> str | None:
    """What gives a function, as a hook, when it is called: the function around it, or the class of its object."""
    if isinstance(around, FUNCTIONS):
        return around.name
    return around.name if isinstance(around, ast.ClassDef) and node.name == "__call__" else None


def _names_of(
    module: Module, node: FunctionNode, around: ast.AST, hook: ast.expr, seen_in: Items[ast.AST]
) -> Collection[str]:
    """Those by which a hook that is a name or an attribute may be a function."""
    if isinstance(around, ast.ClassDef):
        if node.name == "__call__":
            return _names_of_objects(module, around)
        return (node.name,) if isinstance(hook, ast.Attribute) else ()
    is_seen = isinstance(hook, ast.Name) and around in seen_in
    return (node.name,) if is_seen and _is_named_alone(module, node, around) else ()


def _is_named_alone(module: Module, node: FunctionNode, around: ast.AST) -> bool:
    """Whether no other function in the same scope has its name; if one has, the name may be that one's."""
    others = (each for each in module.derived_of(_functions_named, node.name) if each is not node)
    if isinstance(around, ast.stmt):
        return not any(first_row(around) <= each.lineno <= last_row(around) for each in others)
    return not any(each in module.tree.body for each in others)


def _names_of_objects(module: Module, cls: ast.ClassDef) -> set[str]:
    made = (each.statement for each in constructions_of(module, cls).calls)
    stores = (each for statement in made for each in stores_of(statement) if each.rebinds)
    return {name for each in stores if (name := last_name(each.target)) is not None}


def makes_hooks(module: Module, statement: ast.stmt) -> bool:
    """Whether a statement stands in a function that is called where its result is registered: `hook(keep(name))`."""
    makers = {
        last_name(hook.func)
        for each in hook_registrations(module)
        if each.call is not None and isinstance(hook := registered_hook(each.call), ast.Call)
    }
    places = (each for name in makers if name for each in module.derived_of(_functions_named, name))
    return any(each.lineno <= statement.lineno <= last_row(each) for each in places)


def _functions_named(module: Module, name: str) -> list[ast.stmt]:
    return [each for each in walk(module.source.tree) if isinstance(each, FUNCTIONS) and each.name == name]


def mode_of_runs(module: Module, call: ast.Call) -> Mode:
    """Grad mode where the module is run on which `call` registers a hook, by the nearest calls of it in sight."""
    if not module.words.speaks_of_grad_mode:
        return "on"
    around = _scopes_of(module, call)
    places = [each for name in sorted(_names_of_hooked(call)) for each in places_that_name(module, name)]
    for depth in range(len(around), 0, -1):
        near = [each for each in places if each.scopes[:depth] == around[:depth]]
        runs = list(filter(_is_run, near))
        if runs or any(map(_is_handed_on, near)):
            return _joined([_mode_at(module, each) for each in runs])
    return "unknown"


def _is_handed_on(place: Reference) -> bool:
    """Whether a module is given to somebody who may run it: `run(model, x)`."""
    return place.passed_to is not None


def _scopes_of(module: Module, call: ast.Call) -> tuple[ast.AST, ...]:
    return next((each.scopes for each in hook_registrations(module) if each.call is call), (module.tree,))


def _names_of_hooked(call: ast.Call) -> frozenset[str]:
    assert isinstance(call.func, ast.Attribute)
    path = path_of(call.func.value)
    return _MODELS.union(path.split(".")) if path else _MODELS


def _is_run(place: Reference) -> bool:
    """Whether something is called with what it is to work on."""
    return place.call is not None and bool(place.call.args or place.call.keywords)


def _joined(modes: Items[Mode]) -> Mode:
    return next(iter(modes), "unknown") if len(set(modes)) < 2 else "unknown"


def _mode_at(module: Module, run: Reference) -> Mode:
    blocks = module.derived_of(_blocks, "")
    own = _mode_in(blocks, run.statement.lineno)
    function = run.scopes[-1]
    if own is not None or not isinstance(function, FUNCTIONS):
        return own or "on"
    if function.name in ("__call__", "forward"):
        return "unknown"  # it is called without its name
    calls = [each for each in places_that_name(module, function.name) if each.call is not None]
    return "on" if all(_mode_in(blocks, each.statement.lineno) is None for each in calls) else "unknown"


def _mode_in(blocks: Items[_Block], row: int) -> Mode | None:
    around = [each for each in blocks if each.first <= row <= each.last]
    return min(around, key=lambda each: each.last - each.first).mode if around else None


def _blocks(module: Module, _: str) -> list[_Block]:
    found = [_Block(1, 1 << 30, "unknown")] if module.words.may_leave_grad_mode_off else []
    for node in walk(module.source.tree):
        modes = [mode for each in _contexts_of(node) if (mode := _mode_of(each)) is not None]
        if modes:
            assert isinstance(node, ast.stmt)
            found.append(_Block(first_row(node), last_row(node), modes[-1]))
    return found


def _contexts_of(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.With, ast.AsyncWith)):
        return [item.context_expr for item in node.items]
    return node.decorator_list if isinstance(node, FUNCTIONS) else []


def _mode_of(context: ast.expr) -> Mode | None:
    """What a context, or a decorator, makes of grad mode; None where it leaves it."""
    name = last_name(context.func if isinstance(context, ast.Call) else context) or ""
    if name not in GRAD_CONTEXTS:
        return None
    if isinstance(context, ast.Call) and context.args:
        return "off" if name in GRAD_SETTERS and is_false(context.args[0]) else "unknown"
    return _MODES.get(GRAD_CONTEXTS[name], "unknown")
