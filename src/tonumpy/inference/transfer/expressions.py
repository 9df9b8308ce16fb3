"""Transfer functions of expressions: from a node and a frame to its value."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.operands import combine
from tonumpy.engine.names.bindings import bound_names, is_false, requires_grad_given
from tonumpy.engine.names.changes import changes_something
from tonumpy.engine.names.generator_modes import mode_in_rounds
from tonumpy.engine.values.environment import GRAD_MODE, Environment
from tonumpy.engine.values.joins import join, join_all, sequence_of, updated
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import (
    NOTHING,
    Annotation,
    Class,
    Constant,
    Device,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Symbol,
    Unknown,
    Value,
)
from tonumpy.engine.values.widening import widened
from tonumpy.inference.transfer.accelerator_guards import asks_for_accelerator, enter_without_accelerator
from tonumpy.inference.transfer.annotations import alternatives
from tonumpy.inference.transfer.arithmetic import as_integers, operand_of, operate
from tonumpy.inference.transfer.assignment import assign_in_comprehension, thaw
from tonumpy.inference.transfer.autocast import of_product, without_narrow_dtype
from tonumpy.inference.transfer.call_chains import evaluate_chain
from tonumpy.inference.transfer.constant_conditions import constant_test
from tonumpy.inference.transfer.grad_modes import inside
from tonumpy.inference.transfer.lambdas import lambda_of
from tonumpy.inference.transfer.members import item_of, resolve
from tonumpy.inference.transfer.narrowing import narrow
from tonumpy.text.names import ACCELERATORS
from tonumpy.text.syntax import children_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from tonumpy.inference.transfer.frame import Frame


def evaluate(frame: Frame, node: ast.expr) -> Value:
    """The value of an expression in the frame."""
    if isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        return evaluate_chain(frame, node)
    handler = _HANDLERS.get(type(node))
    return handler(frame, node) if handler else Unknown(Reason.SYNTAX)


def _constant(_: Frame, node: ast.Constant) -> Value:
    return Constant(node.value)


def _name(frame: Frame, node: ast.Name) -> Value:
    return frame.lookup(node.id)


def _tuple(frame: Frame, node: ast.Tuple | ast.List | ast.Set) -> Value:
    if len(node.elts) >= MANY_ITEMS:
        literal = frame.module.derived(_literal, node)
        if literal is not None:
            return literal
    items: list[Value] = []
    is_counted = not isinstance(node, ast.Set)
    for part in node.elts:
        if isinstance(part, ast.Starred):
            starred = resolve(frame, evaluate(frame, part.value))
            if isinstance(starred, Sequence) and starred.items is not None:
                items.extend(starred.items)
                continue
            is_counted = False
            items.append(item_of(frame, starred))
        else:
            items.append(resolve(frame, evaluate(frame, part)))
    whole = sequence_of(items)
    whole = whole if is_counted else Sequence(None, whole.element)
    return widened(whole) if any(isinstance(part, _DISPLAYS) for part in node.elts) else whole


_DISPLAYS = (ast.Tuple, ast.List, ast.Set, ast.Dict)

# A longer list may be a table, which is the same wherever it is read.
MANY_ITEMS = 20


def _literal(node: ast.expr) -> Value | None:
    """What a literal is, as `evaluate` has it; None for any other expression."""
    if isinstance(node, ast.Constant):
        return Constant(node.value)
    if isinstance(node, (ast.Tuple, ast.List)):
        items = [item for item in map(_literal, node.elts) if item is not None]
        return sequence_of(items) if len(items) == len(node.elts) else None
    return None


def _dict(frame: Frame, node: ast.Dict) -> Value:
    entries: dict[Any, Value] = {}
    other: Value = NOTHING
    for key, part in zip(node.keys, node.values, strict=True):
        value = resolve(frame, evaluate(frame, part))
        if key is None:
            if isinstance(value, Unknown):
                value = Mapping((), item_of(frame, value))
            whole = updated(Mapping(tuple(entries.items()), other), value)
            entries, other = dict(whole.entries), whole.other
            continue
        name = evaluate(frame, key)
        if isinstance(name, Constant):
            entries[name.value] = value
        else:
            other = join(other, value)
    return Mapping(tuple(entries.items()), other)


def _binary(frame: Frame, node: ast.BinOp) -> Value:
    # A long sum leans to the left: a + b + c + ... is walked, not descended into.
    operations: list[ast.BinOp] = []
    left: ast.expr = node
    while isinstance(left, ast.BinOp):
        operations.append(left)
        left = left.left
    value = operand_of(frame, left)
    for operation in reversed(operations):
        right = operand_of(frame, operation.right)
        if id(operation) in frame.targets.calls:
            frame.observe_operation(operation, value, right)
        value = _binary_values(frame, value, right, operation.op)
    return value


def _binary_values(frame: Frame, left: Value, right: Value, operator: ast.operator) -> Value:
    if isinstance(operator, ast.Add):
        whole = _concatenated(frame, left, right)
        if whole is not None:
            return whole
    if isinstance(operator, ast.BitOr) and isinstance(left, Mapping):
        return updated(left, right)
    if isinstance(operator, ast.BitOr) and isinstance(left, Sequence):
        return Sequence(None, join(left.element, item_of(frame, right)))
    if isinstance(operator, ast.Mult) and (isinstance(left, Sequence) or isinstance(right, Sequence)):
        return Sequence(None, left.element if isinstance(left, Sequence) else right.element)  # type: ignore[union-attr]
    if isinstance(operator, ast.Mod) and isinstance(left, Constant) and isinstance(left.value, str):
        return NonTensor("str")
    if isinstance(operator, ast.BitOr) and isinstance(right, (Symbol, Class, Annotation, Constant)):
        annotation = alternatives(left, right)
        if annotation is not None:
            return annotation
    result = operate(operator, (left, right), frame.grad_mode)
    result = without_narrow_dtype(frame, result)
    return of_product(frame, "matmul", result) if isinstance(operator, ast.MatMult) else result


def _concatenated(frame: Frame, left: Value, right: Value) -> Sequence | None:
    """A list, or the like, that another is added to; what is unknown beside it is no tensor, as torch adds no list."""
    if isinstance(left, Sequence) and isinstance(right, Sequence):
        items = None if left.items is None or right.items is None else left.items + right.items
        return Sequence(items, join(left.element, right.element))
    if {type(left), type(right)} == {Sequence, Unknown}:
        return Sequence(None, join(item_of(frame, left), item_of(frame, right)))
    return None


# By the names that torch has for them; `1 / tensor` is `__rdiv__`.


def _unary(frame: Frame, node: ast.UnaryOp) -> Value:
    value = resolve(frame, evaluate(frame, node.operand))
    if isinstance(node.op, ast.Not):
        return NonTensor("bool")
    if isinstance(value, Constant) and isinstance(value.value, (int, float)) and isinstance(node.op, ast.USub):
        return Constant(-value.value)
    return operate(node.op, (value,), frame.grad_mode)


def _compare(frame: Frame, node: ast.Compare) -> Value:
    values = [resolve(frame, evaluate(frame, part)) for part in (node.left, *node.comparators)]
    if id(node) in frame.targets.calls:
        frame.observe_operation(node, *values[:2])
    if any(isinstance(operator, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for operator in node.ops):
        return NonTensor("bool")
    return as_integers(combine(tuple(values), frame.grad_mode), "bool")


def _boolean(frame: Frame, node: ast.BoolOp) -> Value:
    base = frame.env
    found: list[Value] = []
    is_and = isinstance(node.op, ast.And)
    for part in node.values:
        value = resolve(frame, evaluate(frame, part))
        # What is certain to decide the rest is the result; what is certain not to is none.
        found.append(join_all(each for each in members(value) if part is node.values[-1] or _truth(each) is not is_and))
        if _truth(value) is not None and _truth(value) is not is_and:
            break
        frame.env = Environment(frame.env)
        narrow(frame, part, is_and)
    _leave(frame, base, node)
    return join_all(found)


def _truth(value: Value) -> bool | None:
    if isinstance(value, Device) and value.type is not None:
        return True  # one that was made in sight; where a parameter is annotated so, None may be given
    return bool(value.value) if isinstance(value, Constant) else None


def _leave(frame: Frame, base: Environment, node: ast.expr) -> None:
    """Go back to the variables from before an expression, whose walruses, and methods that change what they are called
    on, may or may not have been reached."""
    inside, frame.env = frame.env, base
    if frame.module.derived(changes_something, node):
        _keep_changes(frame, inside.changes_since(base), frame.module.derived(_bound_by_generators, node))
    if not frame.module.words.has_walrus:
        return
    for inner in walk(node):
        if isinstance(inner, ast.NamedExpr):
            value, before = inside.get(inner.target.id), base.get(inner.target.id)
            if value is not None and value is not before:
                frame.bind(inner.target.id, value if before is None else join(before, value))


def _keep_changes(frame: Frame, changes: dict[str, Value], inner_names: frozenset[str]) -> None:
    """What tests have shown inside an expression is forgotten behind it, as it is joined with what was known before."""
    for name, value in changes.items():
        before = frame.env.get(name)
        if before is None or value is before or name == GRAD_MODE or name.partition(".")[0] in inner_names:
            continue
        if isinstance(value, Nothing):
            frame.forget(name)
        else:
            frame.change(name, join(before, value))


def _bound_by_generators(node: ast.expr) -> frozenset[str]:
    generators = [each for each in walk(node) if isinstance(each, ast.comprehension)]
    return frozenset(name for each in generators for name in bound_names(each.target))


def _conditional(frame: Frame, node: ast.IfExp) -> Value:
    base = frame.env
    evaluate(frame, node.test)
    known = constant_test(frame, node.test)
    uses_accelerator = asks_for_accelerator(frame, node.test)
    results: list[Value] = []
    for branch, other, truth in ((node.body, node.orelse, True), (node.orelse, node.body, False)):
        if known is not None and known is not truth:
            continue
        frame.env = Environment(base)
        narrow(frame, node.test, truth)
        if uses_accelerator is not None and uses_accelerator is not truth:
            enter_without_accelerator(frame, node.test, (other,))
        results.append(resolve(frame, evaluate(frame, branch)))
        _leave(frame, base, branch)
    return join_all(results)


def _comprehension(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    base = _enter_generators(frame, node.generators)
    element = resolve(frame, evaluate(frame, node.elt))
    if id(node) in frame.targets.calls and isinstance(node, ast.SetComp):
        frame.observe_operation(node, element, element)
    _leave(frame, base, node)
    if any(not is_false(given) for given in requires_grad_given(ast.Expr(node.elt))):
        for generator in node.generators:  # `[p.requires_grad_() for p in net.parameters()]`
            thaw(frame, generator.iter)
    return Sequence(None, element)


def _dict_comprehension(frame: Frame, node: ast.DictComp) -> Value:
    base = _enter_generators(frame, node.generators)
    key = evaluate(frame, node.key)
    if id(node) in frame.targets.calls:
        frame.observe_operation(node, key, key)
    element = resolve(frame, evaluate(frame, node.value))
    _leave(frame, base, node)
    return Mapping((), element)


def _enter_generators(frame: Frame, generators: list[ast.comprehension]) -> Environment:
    base = frame.env
    for generator in generators:
        item = item_of(frame, evaluate(frame, generator.iter))
        frame.env = Environment(frame.env)
        assign_in_comprehension(frame, generator.target, item)
        mode = mode_in_rounds(frame.module, generator.iter)
        if mode != "unchanged":
            frame.set_grad_mode(inside(mode, frame.grad_mode))
        for condition in generator.ifs:
            evaluate(frame, condition)
            narrow(frame, condition, True)
    return base


def _walrus(frame: Frame, node: ast.NamedExpr) -> Value:
    value = resolve(frame, evaluate(frame, node.value))
    frame.bind(node.target.id, value)
    return frame.env.get(node.target.id) or value


def _await(frame: Frame, node: ast.Await) -> Value:
    return evaluate(frame, node.value)


def _starred(frame: Frame, node: ast.Starred) -> Value:
    return item_of(frame, evaluate(frame, node.value))


def _string(frame: Frame, node: ast.JoinedStr | ast.FormattedValue) -> Value:
    if isinstance(node, ast.FormattedValue):
        evaluate(frame, node.value)
        if node.format_spec is not None:
            evaluate(frame, node.format_spec)
    else:
        for part in node.values:
            evaluate(frame, part)
        begins = node.values[0].value if node.values and isinstance(node.values[0], ast.Constant) else ""
        kind, colon, _ = str(begins).partition(":")
        if colon and kind in ACCELERATORS:
            return Device(False, kind)  # `f"cuda:{rank}"`
    return NonTensor("str")


def _template(frame: Frame, node: ast.AST) -> Value:
    """`t"{x}"`, which holds what stands in it; also one of its fields."""
    for part in children_of(node):
        if isinstance(part, ast.expr):
            evaluate(frame, part)
    return Unknown(Reason.SYNTAX, is_no_tensor=True)


def _slice(frame: Frame, node: ast.Slice) -> Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            evaluate(frame, part)
    return NonTensor("slice")


def _yield(frame: Frame, node: ast.Yield | ast.YieldFrom) -> Value:
    frame.result.modes_of_yields.add(frame.grad_mode)
    if node.value is not None:
        value = resolve(frame, evaluate(frame, node.value))
        frame.result.yielded = join(
            frame.result.yielded, item_of(frame, value) if isinstance(node, ast.YieldFrom) else value
        )
    return Unknown(Reason.SYNTAX)


_HANDLERS: dict[type[ast.expr], Callable[[Frame, Any], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _tuple,
    ast.Set: _tuple,
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _dict_comprehension,
    ast.Lambda: lambda_of,
    ast.NamedExpr: _walrus,
    ast.Await: _await,
    ast.Starred: _starred,
    ast.JoinedStr: _string,
    ast.FormattedValue: _string,
    ast.Slice: _slice,
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
for name in ("TemplateStr", "Interpolation"):  # Python 3.14
    if hasattr(ast, name):
        _HANDLERS[getattr(ast, name)] = _template
