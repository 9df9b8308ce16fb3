"""The transfer functions of statements without blocks: calls, returns, definitions, imports."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import GRAD_SETTERS
from tonumpy.engine.names.bindings import (
    OBJECTS,
    SELF,
    asks_for_class,
    bound_names,
    calls_super,
    defaults_of,
    handed_out,
    imports_of,
    key_path,
    names_given,
    registered,
    root_name,
    set_by_call,
    words_given,
)
from tonumpy.engine.names.changes import changes_apart, names_changed
from tonumpy.engine.names.references import places_that_name
from tonumpy.engine.names.slices import moves_own_module
from tonumpy.engine.values.aliases import unless_it_requires_grad, with_origin
from tonumpy.engine.values.environment import Environment
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import may_be, members, with_facts_of
from tonumpy.engine.values.values import Arguments, Constant, Function, Instance, Tensor, Unknown, definition
from tonumpy.inference.transfer.assignment import assign, augment
from tonumpy.inference.transfer.constant_conditions import constant_test
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.grad_mode_calls import enters_in_stack, set_grad_mode
from tonumpy.inference.transfer.habit_heuristics import apply_source_habits, holder_of_data
from tonumpy.inference.transfer.members import resolve
from tonumpy.inference.transfer.mutations import hand_out_filler
from tonumpy.inference.transfer.narrowing import narrow
from tonumpy.inference.transfer.observation import evaluate_parts
from tonumpy.text.candidates import spans_any
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tonumpy.engine.names.def_use import Closures
    from tonumpy.inference.transfer.frame import Frame

# Whether the flow goes on behind the statement.
Continues = bool


def is_wanted(frame: Frame, statement: ast.stmt, names: Sequence[str]) -> bool:
    return (
        frame.asked.names is None
        or id(statement) in frame.targets.statements
        or any(name in frame.asked.names for name in names)
        or (frame.flow.closures is not None and _changes_by_closure(frame, statement, frame.flow.closures))
    )


def _changes_by_closure(frame: Frame, statement: ast.stmt, closures: Closures) -> bool:
    changed = closures.at.get(id(statement))
    return changed is not None and (frame.asked.names is None or not changed.isdisjoint(frame.asked.names))


def give_away(frame: Frame, statement: ast.stmt, closures: Closures) -> None:
    """Who is given an inner function may call it, with anything, now or later."""
    if _changes_by_closure(frame, statement, closures):
        anything = Arguments((), (), has_star=True, starred=Unknown(Reason.CONTENT), hides_names=True)
        for node in closures.given_away[id(statement)]:
            for function in members(evaluate(frame, node)):
                if isinstance(function, Function):
                    frame.analysis.functions.call_function(function, None, anything, None)


def _assign(frame: Frame, statement: ast.Assign) -> Continues:
    names = [name for target in statement.targets for name in bound_names(target)]
    for filler in handed_out(statement.value):
        hand_out_filler(frame, filler)
    switched_to = statement.value.value if isinstance(statement.value, ast.Constant) else None
    if isinstance(switched_to, bool) and any(
        frame.asked.assumed.get(name, switched_to) is not switched_to for name in names
    ):
        return False  # no way through here leads to where the flag is what it is taken for
    if not frame.asked.assumed.keys().isdisjoint(names):
        names.append(next(iter(frame.asked.names or ()), ""))
    if asks_for_class(statement.value) and isinstance(statement.targets[0], ast.Name):
        # What follows may depend on it, so it is kept where its answer is known, whether asked for or not.
        known = constant_test(frame, statement.value)
        if known is not None:
            frame.bind(statement.targets[0].id, Constant(known))
            return True
    if not is_wanted(frame, statement, names):
        written = _written_by_own_method(frame, statement.value)
        if _binds_by_walrus(frame, statement.value) or is_wanted(frame, statement, written):
            evaluate(frame, statement.value)
        else:
            _evaluate_changes(frame, statement)
        return True
    if isinstance(statement.value, ast.Lambda) and frame.targets.calls:
        calls, is_handed_over = _only_calls(frame, statement)
        if calls:
            if is_handed_over:
                frame.seen.lambdas_guessed.setdefault(id(statement.value), [])  # who takes it may be out of sight
            else:
                frame.seen.lambdas_called.add(id(statement.value))
            # They are looked at whether what they give is asked for or not.
            frame.targets = frame.targets._replace(statements=frame.targets.statements | calls)
    value = evaluate(frame, statement.value)
    if len(statement.targets) > 1:
        value = with_origin(resolve(frame, value), f"line {statement.lineno}")
    for target in statement.targets:
        if isinstance(target, (ast.Name, ast.Attribute)):
            value = apply_source_habits(
                resolve(frame, value), last_name(target) or "", frame, words_given(statement.value)
            )
        if isinstance(target, (ast.Tuple, ast.List)):
            value = resolve(frame, value)
            if isinstance(value, Unknown):
                if value.reason is Reason.DATASET:  # its parts, not its items
                    value = value._replace(reason=Reason.DATASET_PART)
                value = holder_of_data(value, last_name(statement.value), frame, has_names=True)
        assign(frame, target, value)
        _narrow_by_assumption(frame, target, statement.value)
    return True


def _evaluate_changes(frame: Frame, statement: ast.Assign) -> None:
    """Evaluate what changes something in a value that nobody reads: `net.cuda()` in `out = net.cuda()(x)`."""
    use = frame.flow.uses.get(id(statement))
    parts = {} if use is None else changes_apart(statement.value, use)
    wanted = frozenset(id(part) for part, names in parts.items() if is_wanted(frame, statement, [*names]))
    if wanted:
        evaluate_parts(frame, statement.value, wanted)


def _only_calls(frame: Frame, statement: ast.Assign) -> tuple[frozenset[int], bool]:
    """The statements that call the name which a lambda is given, or hand it over to a call, and whether one does; none
    where something else is done with it, too."""
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name) or target.id not in frame.flow.local_names:
        return frozenset(), False
    places = [
        place
        for place in places_that_name(frame.module, target.id)
        if any(isinstance(scope, FUNCTIONS) and spans_any(scope, [statement.lineno]) for scope in place.scopes)
    ]
    if any((place.call is None and place.passed_to is None) or place.is_submitted for place in places):
        return frozenset(), False
    return frozenset(id(place.statement) for place in places), any(place.call is None for place in places)


def _narrow_by_assumption(frame: Frame, target: ast.expr, value: ast.expr) -> None:
    """`is_numpy = isinstance(x, np.ndarray)` where is_numpy is taken to be true: so x is an array from here on."""
    if isinstance(target, ast.Name) and target.id in frame.asked.assumed:
        narrow(frame, value, frame.asked.assumed[target.id])
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, given in zip(target.elts, value.elts, strict=True):
            _narrow_by_assumption(frame, part, given)


def walruses(frame: Frame, node: ast.expr) -> list[ast.NamedExpr]:
    if not frame.module.words.has_walrus:
        return []
    return [inner for inner in walk(node) if isinstance(inner, ast.NamedExpr)]


def _annotated_assign(frame: Frame, statement: ast.AnnAssign) -> Continues:
    for filler in () if statement.value is None else handed_out(statement.value):
        hand_out_filler(frame, filler)
    if not is_wanted(frame, statement, list(bound_names(statement.target))):
        return True
    declared = frame.analysis.parameters.annotated(frame, statement.annotation)
    target = statement.target
    if isinstance(target, ast.Name) and may_be(declared, Tensor) and frame.flow.has_keys(target.id):
        declared = Unknown(Reason.ANNOTATION, is_no_tensor=True)
    if statement.value is None:
        if isinstance(statement.target, ast.Name):
            frame.bind(statement.target.id, declared)
        return True
    value = evaluate(frame, statement.value)
    # The annotation helps where the expression says nothing; it never overrules what was seen.
    assign(frame, statement.target, frame.analysis.parameters.combine_annotation(value, declared))
    return True


def _augmented_assign(frame: Frame, statement: ast.AugAssign) -> Continues:
    if is_wanted(frame, statement, list(bound_names(statement.target))):
        if id(statement) in frame.targets.calls:
            operands = [resolve(frame, evaluate(frame, node)) for node in (statement.target, statement.value)]
            frame.observe_operation(statement, *operands)
        if isinstance(statement.target, ast.Subscript) and id(statement.target) in frame.targets.calls:
            parts = (statement.target.value, statement.target.slice, statement.value)
            frame.observe_operation(statement.target, *(resolve(frame, evaluate(frame, node)) for node in parts))
        augment(frame, statement)
    return True


def _expression(frame: Frame, statement: ast.Expr) -> Continues:
    node = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        evaluate(frame, node)
    elif isinstance(node, ast.Call) and (member := _member_of_module(frame, node)) is not None:
        _register(frame, statement, *member, is_buffer=last_name(node.func) != "register_parameter")
    elif isinstance(node, ast.Call) and (member := set_by_call(node)) is not None:
        _set_attribute(frame, statement, *member)
    elif isinstance(node, ast.Call):
        changed = root_name(node.func) if isinstance(node.func, ast.Attribute) else None
        name = last_name(node.func)
        sets_mode = name in GRAD_SETTERS or enters_in_stack(frame, node)
        names = [*names_given(node), *([changed] if changed else []), *_written_by_own_method(frame, node)]
        names += _changed_in(frame, statement)
        changes_own = moves_own_module(node) or _regrades_own_module(frame, node)
        if sets_mode or changes_own or is_wanted(frame, statement, names) or _binds_by_walrus(frame, node):
            evaluate(frame, node)
        if sets_mode:
            set_grad_mode(frame, node)
        if (name == "exit" and root_name(node.func) == "sys") or (isinstance(node.func, ast.Name) and name == "exit"):
            return False
    elif not isinstance(node, ast.Constant) and (
        is_wanted(frame, statement, _changed_in(frame, statement)) or _binds_by_walrus(frame, node)
    ):
        evaluate(frame, node)
    return True


def _changed_in(frame: Frame, statement: ast.stmt) -> list[str]:
    use = frame.flow.uses.get(id(statement))
    return [] if use is None else list(names_changed(use))


def _member_of_module(frame: Frame, call: ast.Call) -> tuple[ast.Attribute, ast.expr] | None:
    """What `self.register_buffer("mean", x)` in a class of modules registers, and under what name."""
    member = registered(call)
    if member is None or frame.owner is None or not frame.analysis.kinds.is_module(frame.owner):
        return None
    return member


def _register(frame: Frame, statement: ast.stmt, target: ast.Attribute, node: ast.expr, *, is_buffer: bool) -> None:
    """Torch refuses what is neither a tensor nor None. A buffer is what a module keeps and does not learn."""
    if is_wanted(frame, statement, list(bound_names(target))):
        value = resolve(frame, evaluate(frame, node))
        if is_buffer:
            value = unless_it_requires_grad(value)
        assign(frame, target, with_facts_of(Tensor(), value) if isinstance(value, Unknown) else value)


def _set_attribute(frame: Frame, statement: ast.stmt, target: ast.Attribute, node: ast.expr) -> None:
    if is_wanted(frame, statement, [*bound_names(target), *_changed_in(frame, statement)]):
        assign(frame, target, evaluate(frame, node))


def _written_by_own_method(frame: Frame, node: ast.expr) -> list[str]:
    """The attributes of `self` that `self.update(x)` writes, or `super().update(x)`."""
    function = node.func if isinstance(node, ast.Call) else None
    if frame.owner is None or not isinstance(function, ast.Attribute):
        return []
    classes, cls, owner = frame.analysis.classes, frame.owner, getattr(function.value, "id", None)
    if owner is None and calls_super(function):
        cls, owner = next(iter(classes.ancestors(cls)[1:]), cls), SELF
    return [] if owner is None else [f"{owner}.{name}" for name in classes.written_by(cls, function.attr)]


def _regrades_own_module(frame: Frame, call: ast.Call) -> bool:
    """`self.freeze()`"""
    function = call.func
    if not isinstance(function, ast.Attribute) or not isinstance(function.value, ast.Name):
        return False
    own = frame.env.get(function.value.id) if function.value.id in OBJECTS else None
    if not isinstance(own, Instance):
        return False
    return frame.analysis.modules.grad_left_by(own, function.attr) is not own.requires_grad


def _binds_by_walrus(frame: Frame, node: ast.expr) -> bool:
    return any(frame.is_relevant(walrus.target.id) for walrus in walruses(frame, node))


def _return(frame: Frame, statement: ast.Return) -> Continues:
    if frame.asked.wants_result or id(statement) in frame.targets.statements:
        value = Constant(None) if statement.value is None else evaluate(frame, statement.value)
        frame.result.returned = join(
            frame.result.returned, frame.begun(value) if frame.analysis.tells_origins else value
        )
        if id(statement) in frame.targets.calls:
            frame.observe_operation(statement, value)
    return False


def _raise(frame: Frame, statement: ast.Raise) -> Continues:
    if id(statement) in frame.targets.statements:
        for part in (statement.exc, statement.cause):
            if part is not None:
                evaluate(frame, part)
    return False


def _assert(frame: Frame, statement: ast.Assert) -> Continues:
    if id(statement) in frame.targets.statements:
        evaluate(frame, statement.test)
        if statement.msg is not None:
            base = frame.env
            frame.env = Environment(base)
            narrow(frame, statement.test, False)
            evaluate(frame, statement.msg)
            frame.env = base
    narrow(frame, statement.test, True)
    return True


def _delete(frame: Frame, statement: ast.Delete) -> Continues:
    for target in statement.targets:
        if id(statement) in frame.targets.statements:
            evaluate(frame, target)
        if isinstance(target, ast.Name) and frame.is_relevant(target.id):
            frame.bind(target.id, Unknown(Reason.NAME))
        elif not isinstance(target, ast.Name) and (place := _place_of(target)) is not None:
            frame.forget(place)
    return True


def _place_of(target: ast.expr) -> str | None:
    """What `x.a` or `x["a"]` is known by."""
    if not isinstance(target, ast.Subscript):
        return path_of(target)
    container = path_of(target.value)
    return None if container is None else key_path(container, target.slice)


def _annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr | None]:
    parameters = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return [*(parameter.annotation for parameter in parameters), function.returns]


def _definition(frame: Frame, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Continues:
    if id(statement) in frame.targets.statements:
        for decorator in statement.decorator_list:
            evaluate(frame, decorator)
        if not isinstance(statement, ast.ClassDef):
            for part in (*statement.args.defaults, *statement.args.kw_defaults, *_annotations(statement)):
                if part is not None:
                    evaluate(frame, part)
        else:
            for base in (*statement.bases, *(keyword.value for keyword in statement.keywords)):
                evaluate(frame, base)
    if frame.flow.is_function and isinstance(statement, FUNCTIONS):
        for _, default in defaults_of(statement.args):
            for filler in handed_out(default):
                hand_out_filler(frame, filler)
    if frame.is_relevant(statement.name) or frame.asked.names is None:
        around = frame if frame.flow.is_function or not isinstance(statement, ast.ClassDef) else frame.closure
        frame.bind(statement.name, definition(statement, frame.module, frame.owner, around))
    return True


def _import(frame: Frame, statement: ast.Import | ast.ImportFrom) -> Continues:
    for name, imported in imports_of(statement):
        if name != "*" and frame.is_relevant(name):
            frame.bind(name, frame.analysis.names.import_value(frame.module, imported))
    return True


# Each handler takes the statements that it stands for, which a dict's type cannot say.
HANDLERS: dict[type[ast.stmt], Callable[[Frame, Any], Continues]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented_assign,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.Import: _import,
    ast.ImportFrom: _import,
    **dict.fromkeys(SCOPES, _definition),
}
