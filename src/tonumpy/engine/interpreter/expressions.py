"""Evaluates expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tonumpy.engine.interpreter import calls, effects, members, narrowing, representation, ufuncs
from tonumpy.engine.interpreter.frame import UNREAD, Frame, place_of
from tonumpy.engine.knowledge.operands import combine
from tonumpy.engine.names.bindings import is_super, parameter_names
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join, join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members as members_of
from tonumpy.text.names import path_of
from tonumpy.text.prefilter import BOOLEAN_UFUNCS

_BOOL, _TEXT = v.NonTensor("bool"), v.NonTensor("str")


def evaluate(frame: Frame, node: ast.expr) -> v.Value:
    """Evaluate an expression, with its effects on variables."""
    evaluator = _EVALUATORS.get(node.__class__)
    return UNREAD if evaluator is None else evaluator(frame, node)


def _name(frame: Frame, node: ast.Name) -> v.Value:
    value = frame.lookup(node.id)
    if frame.seen is not None:
        frame.seen.value(id(node), value)
    return value


def _attribute(frame: Frame, node: ast.Attribute) -> v.Value:
    path = path_of(node)
    if path is not None and frame.env is not None:
        known = frame.env.get(path)
        if known is not None:
            if frame.seen is not None:
                frame.seen.value(id(node), known)
                frame.value(node.value)
            return known
    owner = frame.value(node.value)
    if node.attr == "device" and isinstance(owner, v.Unknown) and _reads_as_tensor(node.value):
        value: v.Value = v.Device(owner.on_cpu, device_taint=owner.device_taint)
    else:
        value = members.attribute_of(frame, owner, node.attr)
    if frame.seen is not None:
        frame.seen.value(id(node), value)
    return value


def _reads_as_tensor(node: ast.expr) -> bool:
    """True if the owner of `.device` is read as a tensor; `args.device` and `model.device` are chosen devices
    instead."""
    is_chosen = isinstance(node, ast.Name) and node.id.lower().rpartition("_")[2] in _CHOOSING
    return isinstance(node, ast.Subscript) or (isinstance(node, ast.Name) and not is_chosen)


_CHOOSING = frozenset("self cls cfg config args opt opts hparams hps settings model net network".split())


def _subscript(frame: Frame, node: ast.Subscript) -> v.Value:
    owner = frame.value(node.value)
    place = place_of(node)
    known = frame.env.get(place) if place is not None and frame.env is not None else None
    if isinstance(owner, v.Symbol) and members.makes_annotation(owner):
        return v.Annotation(frame.analysis.parameters.annotated(frame.module, node))
    index = frame.value(node.slice)
    value = known or members.subscript_of(frame, owner, index, is_slice=isinstance(node.slice, ast.Slice))
    if frame.seen is not None:
        frame.seen.call(id(node), owner, v.Arguments((index,)), frame.mode)
        frame.seen.value(id(node), value)
    return value


def _call(frame: Frame, node: ast.Call) -> v.Value:
    value = _called(frame, node)
    return frame.begun(value) if frame.analysis.tells_origins else value


def _called(frame: Frame, node: ast.Call) -> v.Value:
    value = (
        _method_called(frame, node, node.func) if isinstance(node.func, ast.Attribute) else _value_called(frame, node)
    )
    if frame.seen is not None:
        frame.seen.value(id(node), value)
    return value


def _method_called(frame: Frame, node: ast.Call, function: ast.Attribute) -> v.Value:
    receiver = _super(frame) if is_super(function.value) else frame.value(function.value)
    if isinstance(receiver, v.Union):
        receiver = calls.narrowed_by_method(frame, receiver, function.attr)
    arguments = evaluate_arguments(frame, node)
    if frame.seen is not None:
        frame.seen.call(id(node), receiver, arguments, frame.mode)
        frame.seen.value(id(function.value), receiver)
    path = path_of(function)
    known = frame.env.get(path) if path is not None and frame.env is not None else None
    if known is not None:
        value = frame.call(known, arguments)
    else:
        value = calls.call_method(frame, receiver, function.attr, arguments, node)
        value = ufuncs.after_method(receiver, function.attr, value)
        if isinstance(receiver, v.Symbol) and function.attr in BOOLEAN_UFUNCS:
            value = ufuncs.result_of(node, f"{receiver.name}.{function.attr}", arguments, value)
        value = effects.made_by_model(frame, value, function, arguments)
    effects.change_receiver(frame, function, receiver, arguments, value)
    if isinstance(receiver, v.Instance):
        effects.change_arguments(frame, node, frame.analysis.classes.method(receiver.cls, function.attr))
    return value


def _value_called(frame: Frame, node: ast.Call) -> v.Value:
    called = frame.value(node.func)
    arguments = evaluate_arguments(frame, node)
    if frame.seen is not None:
        frame.seen.call(id(node), called, arguments, frame.mode)
        calls.note_callees(frame, node, called)
    value = frame.call(called, arguments)
    if isinstance(called, v.Symbol):
        value = ufuncs.result_of(node, called.name, arguments, value)
    effects.change_arguments(frame, node, called)
    match node:
        case ast.Call(ast.Name("setattr"), [ast.Name(target), ast.Constant(name), _]):
            frame.bind(f"{target}.{name!s}", arguments.positional[2])
    return effects.made_by_model(frame, value, node.func, arguments)


def _super(frame: Frame) -> v.Value:
    owner = frame.owner
    if owner is None:
        return v.Unknown(Reason.LIBRARY)
    bases = frame.analysis.classes.ancestors(owner)[1:]
    itself = frame.lookup("self")
    if bases:
        return v.Instance(bases[0], real=itself if isinstance(itself, v.Instance) else None)
    library = frame.analysis.classes.library_bases(owner)
    return v.LibraryObject(library[0]) if library else v.Unknown(Reason.LIBRARY)


def evaluate_arguments(frame: Frame, node: ast.Call) -> v.Arguments:
    """The values of a call's arguments."""
    positional: list[v.Value] = []
    has_star = hides_names = False
    hidden: v.Value = v.NOTHING
    for argument in node.args:
        if isinstance(argument, ast.Starred):
            starred = frame.value(argument.value)
            if isinstance(starred, v.Sequence) and starred.items is not None and not has_star:
                positional.extend(starred.items)
            else:
                has_star, hidden = True, join(hidden, frame.item(starred))
        elif has_star:
            hidden = join(hidden, frame.value(argument))
        else:
            positional.append(frame.value(argument))
    named: list[tuple[str, v.Value]] = []
    for keyword in node.keywords:
        value = frame.value(keyword.value)
        if keyword.arg is not None:
            named.append((keyword.arg, value))
        elif isinstance(value, v.Mapping) and isinstance(value.other, v.Nothing):
            named.extend((key, entry) for key, entry in value.entries if isinstance(key, str))
        else:
            has_star = hides_names = True
    return v.Arguments(tuple(positional), tuple(named), has_star, hidden, hides_names)


def _binary(frame: Frame, node: ast.BinOp) -> v.Value:
    left, right = frame.value(node.left), frame.value(node.right)
    if frame.seen is not None:
        frame.seen.call(id(node), left, v.Arguments((right,)), frame.mode)
    if isinstance(node.op, ast.Mod) and isinstance(left, (v.Constant, v.NonTensor)) and _is_text(left):
        return _TEXT
    if isinstance(left, v.Sequence) and isinstance(node.op, ast.Add) and isinstance(right, v.Sequence):
        items = left.items + right.items if left.items is not None and right.items is not None else None
        return v.Sequence(items, join(left.element, right.element))
    if isinstance(left, v.Sequence) and isinstance(node.op, ast.Mult) and not isinstance(right, (v.Tensor, v.Sequence)):
        return v.Sequence(None, left.element)
    if isinstance(node.op, ast.BitOr) and isinstance(left, (v.Class, v.Symbol)):
        return v.Annotation(frame.analysis.parameters.annotated(frame.module, node))
    return ufuncs.after_operator(node.op, left, right, calls.operator_value(frame, node.op, left, right))


def _is_text(value: v.Value) -> bool:
    return isinstance(value.value, str) if isinstance(value, v.Constant) else getattr(value, "what", "") == "str"


def _unary(frame: Frame, node: ast.UnaryOp) -> v.Value:
    value = frame.value(node.operand)
    if isinstance(node.op, ast.Not):
        return _BOOL
    if frame.seen is not None and isinstance(node.op, ast.Invert):
        frame.seen.call(id(node), value, v.Arguments(()), frame.mode)
    if isinstance(value, v.Constant) and isinstance(value.value, (int, float)) and isinstance(node.op, ast.USub):
        return v.Constant(-value.value)
    made = combine((value,), frame.mode)
    if isinstance(made, v.Tensor):
        made = representation.of_operator(node.op, (value,), made)
    return calls.without_grad(made) if isinstance(node.op, ast.Invert) else made


def _compare(frame: Frame, node: ast.Compare) -> v.Value:
    operands = [frame.value(node.left), *map(frame.value, node.comparators)]
    if frame.seen is not None:
        frame.seen.call(id(node), operands[0], v.Arguments(tuple(operands[1:])), frame.mode)
    if isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)):
        return _BOOL
    made = combine(operands, frame.mode)
    parts = [
        part._replace(requires_grad=False, dtype="bool", param_taint=False) if isinstance(part, v.Tensor) else part
        for part in members_of(made)
    ]
    made = join_all(parts)
    if isinstance(made, v.Unknown):
        return made._replace(requires_grad=False, reason=Reason.COMPARISON, param_taint=False)
    return made if any(isinstance(part, v.Tensor) for part in parts) or isinstance(made, v.NonTensor) else _BOOL


def _boolean(frame: Frame, node: ast.BoolOp) -> v.Value:
    """The value of `a or b`: the last operand, or an earlier one that is true (for `and`: false)."""
    found: v.Value = v.NOTHING
    before = None if frame.env is None else dict(frame.env)
    is_or = isinstance(node.op, ast.Or)
    for part in node.values:
        value = frame.value(part)
        if part is not node.values[-1]:
            narrowing.narrow(frame, part, holds=not is_or)
            if is_or:
                value = join_all(each for each in members_of(value) if not _is_false(each))
        found = join(found, value)
    if before is not None and frame.env is not None:
        frame.env = before | {key: value for key, value in frame.env.items() if key not in before}
    return found


def _is_false(value: v.Value) -> bool:
    return isinstance(value, v.Constant) and not value.value


def _conditional(frame: Frame, node: ast.IfExp) -> v.Value:
    frame.value(node.test)
    truth = narrowing.constant_test(frame, node.test)
    before = frame.env
    found: v.Value = v.NOTHING
    for branch, holds in ((node.body, True), (node.orelse, False)):
        if truth is not None and truth is not holds:
            continue
        frame.env = None if before is None else dict(before)
        narrowing.narrow(frame, node.test, holds=holds)
        found = join(found, frame.value(branch))
    frame.env = before
    return found


def _comprehension(frame: Frame, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> v.Value:
    before = frame.env
    frame.env = None if before is None else dict(before)
    items: tuple[v.Value, ...] | None = None
    for generator in node.generators:
        iterated = frame.value(generator.iter)
        if isinstance(iterated, v.Sequence) and iterated.items is not None and len(iterated.items) <= 4:
            items = iterated.items if len(node.generators) == 1 and not generator.ifs else None
        frame.analysis.assign(frame, generator.target, frame.item(iterated), is_item=True)
        for test in generator.ifs:
            frame.value(test)
            narrowing.narrow(frame, test, holds=True)
    if isinstance(node, ast.DictComp):
        key, value = frame.value(node.key), frame.value(node.value)
        found: v.Value = (
            v.Mapping(((key.value, value),), v.NOTHING) if isinstance(key, v.Constant) else v.Mapping((), value)
        )
    elif items is not None and not isinstance(node, ast.SetComp):
        parts = []
        for each in items:
            frame.analysis.assign(frame, node.generators[0].target, each, is_item=True)
            parts.append(frame.value(node.elt))
        found = sequence_of(parts)
    else:
        found = v.Sequence(None, frame.value(node.elt))
    frame.env = before
    return found


def _sequence(frame: Frame, node: ast.List | ast.Tuple | ast.Set) -> v.Value:
    items: list[v.Value] | None = []
    element: v.Value = v.NOTHING if node.elts else v.EMPTY
    for part in node.elts:
        if isinstance(part, ast.Starred):
            value = frame.value(part.value)
            if isinstance(value, v.Sequence) and value.items is not None and items is not None:
                items += value.items
            else:
                items = None
            element = join(element, frame.item(value))
        else:
            value = frame.value(part)
            element = join(element, value)
            if items is not None:
                items.append(value)
    return v.Sequence(None if items is None or isinstance(node, ast.Set) else tuple(items), element)


def _dict(frame: Frame, node: ast.Dict) -> v.Value:
    entries: dict[object, v.Value] = {}
    other: v.Value = v.NOTHING if node.keys else v.EMPTY
    for key, part in zip(node.keys, node.values, strict=True):
        value = frame.value(part)
        if key is None:
            if isinstance(value, v.Mapping):
                entries.update(value.entries)
                other = join(other, value.other)
            else:
                other = join(other, v.Unknown(Reason.CONTENT))
            continue
        name = frame.value(key)
        if isinstance(name, v.Constant):
            entries[name.value] = value
        else:
            other = join(other, value)
    return v.Mapping(tuple(entries.items()), other)


def _walrus(frame: Frame, node: ast.NamedExpr) -> v.Value:
    value = frame.value(node.value)
    frame.bind(node.target.id, value)
    return value


def _string(frame: Frame, node: ast.JoinedStr) -> v.Value:
    for part in node.values:
        if isinstance(part, ast.FormattedValue):
            frame.value(part.value)
            if part.format_spec is not None:
                frame.value(part.format_spec)
    return _TEXT


def _yield(frame: Frame, node: ast.Yield | ast.YieldFrom) -> v.Value:
    value = v.Constant(None) if node.value is None else frame.value(node.value)
    frame.yielded = join(frame.yielded, value if isinstance(node, ast.Yield) else frame.item(value))
    return UNREAD


def _slice(frame: Frame, node: ast.Slice) -> v.Value:
    for part in (node.lower, node.upper, node.step):
        if part is not None:
            frame.value(part)
    return v.NonTensor("slice")


def _lambda(frame: Frame, node: ast.Lambda) -> v.Value:
    if frame.seen is not None:  # record the sites in it with this environment and parameters known by name only
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                frame.value(default)
        inner = Frame(frame.analysis, frame.module, node, frame.owner, frame, frame.mode, frame.depth)
        inner.seen, inner.row = frame.seen, node.lineno
        for name in parameter_names(node.args):
            inner.bind(name, frame.named(v.Unknown(Reason.LAMBDA_PARAMETER), name))
        inner.value(node.body)
    return v.Function(node, frame.module, frame.owner, frame.as_closure())


_EVALUATORS: dict[type, Callable[[Frame, ast.Any], v.Value]] = {  # type: ignore[name-defined]
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: _call,
    ast.Constant: lambda _, node: v.Constant(node.value),
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.IfExp: _conditional,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Lambda: _lambda,
    ast.NamedExpr: _walrus,
    ast.JoinedStr: _string,
    ast.Slice: _slice,
    ast.Starred: lambda frame, node: frame.value(node.value),
    ast.Await: lambda frame, node: frame.value(node.value),
    ast.Yield: _yield,
    ast.YieldFrom: _yield,
}
