"""Runs statements forwards: branches are joined, loop bodies run up to three times."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import reduce

from tonumpy.engine.interpreter import calls, narrowing
from tonumpy.engine.interpreter.assignments import assign, note_alias
from tonumpy.engine.interpreter.contexts import enter_context
from tonumpy.engine.interpreter.frame import Environment, Frame, join_env
from tonumpy.engine.knowledge.grad_contexts import GRAD_SETTERS
from tonumpy.engine.names.bindings import imports_of, registered
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join, outlived
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members, truth_of
from tonumpy.facts import Fact
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import walk

_NOT_IMPLEMENTED = v.Symbol("builtins.NotImplemented")  # no result: a subclass or the other operand gives it


def execute(frame: Frame, body: list[ast.stmt]) -> None:
    """Run a block, up to the first statement that leaves it."""
    for statement in body:
        if frame.env is None:
            return
        frame.row = statement.lineno
        if frame.seen is None and not frame.analysis.may_go_on():
            return
        runner = _RUNNERS.get(statement.__class__)
        if runner is not None and frame.seen is not None:
            try:
                runner(frame, statement)
            except RecursionError:  # the code is nested too deeply: go on with the next statement
                note_cut()
        elif runner is not None:
            runner(frame, statement)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            _definition(frame, statement)


def _expression(frame: Frame, node: ast.Expr) -> None:
    frame.value(node.value)
    call = node.value
    if isinstance(call, ast.Call):
        name = last_name(call.func)
        if name in GRAD_SETTERS and call.args:
            frame.mode = truth_of(frame.value(call.args[0]))
        elif name in ("exit", "_exit", "abort") and isinstance(call.func, ast.Attribute):
            frame.leave()
        elif (made := registered(call)) is not None:
            assign(frame, made[0], frame.value(made[1]))


def _assignment(frame: Frame, node: ast.Assign) -> None:
    value = frame.value(node.value)
    for target in node.targets:
        if frame.seen is not None and isinstance(target, ast.Subscript):
            given = v.Arguments((frame.value(target.slice), value))
            frame.seen.call(id(target), frame.value(target.value), given, frame.mode)
        assign(frame, target, value)
        if isinstance(target, ast.Name) and isinstance(node.value, ast.Name):
            note_alias(frame, target.id, node.value.id, value)
    flag = frame.flags.get(getattr(node.targets[0], "id", "")) if frame.flags else None
    if flag is not None and isinstance(value, v.Constant) and value.value is (not flag):
        frame.leave()  # this branch contradicts the assumed value of the flag
    if isinstance(node.value, ast.Call) and isinstance(node.targets[0], ast.Name):
        narrowing.note_test(frame, node.targets[0].id, node.value)


def _annotated(frame: Frame, node: ast.AnnAssign) -> None:
    declared = frame.analysis.parameters.annotated(frame.module, node.annotation)
    if node.value is not None:
        value = frame.analysis.parameters.combined(frame.value(node.value), declared)
        assign(frame, node.target, value)
    elif frame.seen is not None and isinstance(node.target, (ast.Attribute, ast.Subscript)):
        frame.value(node.target.value)
    if frame.seen is not None:
        frame.value(node.annotation)


def _augmented(frame: Frame, node: ast.AugAssign) -> None:
    before, operand = frame.value(node.target), frame.value(node.value)
    if frame.seen is not None:
        frame.seen.call(id(node), before, v.Arguments((operand,)), frame.mode)
    if isinstance(before, v.Sequence):
        value: v.Value = v.Sequence(None, join(before.element, frame.item(operand)))
    elif isinstance(before, v.Mapping):
        value = before
    else:
        value = calls.operator_value(frame, node.op, before, operand)
        if isinstance(value, v.Tensor) and isinstance(before, v.Tensor):
            value = value._replace(on_cpu=value.on_cpu if before.on_cpu is None else before.on_cpu, dtype=before.dtype)
    assign(frame, node.target, value)


def _if(frame: Frame, node: ast.If) -> None:
    frame.value(node.test)
    truth = narrowing.constant_test(frame, node.test)
    before = frame.env
    after: Environment | None = None
    mode: list[Fact] = []
    for body, holds in ((node.body, True), (node.orelse, False)):
        if truth is not None and truth is not holds:
            continue
        frame.env = None if before is None else dict(before)
        mode_before = frame.mode
        narrowing.narrow(frame, node.test, holds=holds)
        execute(frame, body)
        if frame.env is not None:
            mode.append(frame.mode)
        frame.mode = mode_before
        if after is not None and frame.env is not None and _asks_for_accelerator(node.test):
            _take_for_moved(frame.env, after)
        after = _joined(before, after, frame.env)
    frame.env = after
    if mode:
        frame.mode = mode[0] if all(each is mode[0] for each in mode) else None
    if after is None and before is not None:
        frame.last_env = before


def _take_for_moved(without: Environment, moved: Environment) -> None:
    """Mark tensors as on the CPU in the branch without accelerator if the other branch moves them to the CPU."""
    for name, value in moved.items():
        other = without.get(name)
        if isinstance(value, v.Tensor) and value.on_cpu and isinstance(other, (v.Tensor, v.Unknown)):
            without[name] = other._replace(on_cpu=other.on_cpu is not False or None)


def _asks_for_accelerator(test: ast.expr) -> bool:
    """True for `if torch.cuda.is_available():` and `if use_cuda:`, whose else branch runs without a GPU."""
    name = (last_name(test.func if isinstance(test, ast.Call) else test) or "").lower()
    return name == "is_available" or (not isinstance(test, ast.Call) and ("cuda" in name or "gpu" in name))


def _joined(before: Environment | None, first: Environment | None, second: Environment | None) -> Environment | None:
    """Join two paths that begin with `before`, after `outlived` has weakened tensors that one path replaced."""
    if before is not None and first is not None and second is not None:
        for name in before.keys() & first.keys() & second.keys():
            left, one, other = before[name], first[name], second[name]
            if one is not other and isinstance(one, v.Tensor) and isinstance(other, v.Tensor):
                first[name] = outlived(one, other, is_left=one is left)
                second[name] = outlived(other, one, is_left=other is left)
    return join_env(first, second)


def _for(frame: Frame, node: ast.For | ast.AsyncFor) -> None:
    iterated = frame.value(node.iter)
    is_empty = isinstance(iterated, v.Sequence) and iterated.items == () and isinstance(iterated.element, v.Nothing)
    if not is_empty:
        _loop(frame, node, lambda: assign(frame, node.target, frame.item(iterated), is_item=True))
    execute(frame, node.orelse)


def _while(frame: Frame, node: ast.While) -> None:
    def enter() -> None:
        frame.value(node.test)
        narrowing.narrow(frame, node.test, holds=True)

    is_endless = isinstance(node.test, ast.Constant) and bool(node.test.value)
    _loop(frame, node, enter, is_endless=is_endless)
    execute(frame, node.orelse)


def _loop(
    frame: Frame, node: ast.For | ast.AsyncFor | ast.While, enter: Callable[[], None], *, is_endless: bool = False
) -> None:
    """Run the body of a loop, and again if it changed variables. Tensors whose device or grad still changes in the
    second round are unknown in a third."""
    before = frame.env
    breaks, continues = frame.breaks, frame.continues
    left: Environment | None = None
    ended: Environment | None = None
    for count in range(3):
        frame.breaks, frame.continues = [], []
        frame.env = None if before is None else dict(before)
        enter()
        execute(frame, node.body)
        ended = reduce(join_env, frame.continues, frame.env)
        left = reduce(join_env, frame.breaks, left)
        again = join_env(before, ended)
        if before is None or again is None or all(again.get(name) == value for name, value in before.items()):
            break
        if count == 1:
            if not (changing := _still_changing(before, again)):
                before = again
                break
            again |= {name: join(again[name], v.Unknown(Reason.CUT_SHORT)) for name in changing}
        before = again
    frame.breaks, frame.continues = breaks, continues
    after = None if is_endless else _joined(before, None if before is None else dict(before), ended)
    frame.env = join_env(after, left)
    if frame.env is None and before is not None:
        frame.last_env = before


def _still_changing(before: Environment, after: Environment) -> list[str]:
    """The variables whose tensors still change device or grad in the second round."""
    return [name for name, value in before.items() if name in after and _facts(value) != _facts(after[name])]


def _facts(value: v.Value) -> set[tuple[Fact, Fact]]:
    return {(each.on_cpu, each.requires_grad) for each in members(value) if isinstance(each, v.Tensor)}


def _with(frame: Frame, node: ast.With | ast.AsyncWith) -> None:
    mode = frame.mode
    catches = False
    for item in node.items:
        value = enter_context(frame, item.context_expr)
        catches = catches or last_name(getattr(item.context_expr, "func", item.context_expr)) in ("suppress", "raises")
        if item.optional_vars is not None:
            assign(frame, item.optional_vars, value)
    before = dict(frame.env) if catches and frame.env is not None else None
    execute(frame, node.body)
    frame.env = join_env(frame.env, before) if catches else frame.env
    frame.mode = mode


def _try(frame: Frame, node: ast.Try) -> None:
    before = None if frame.env is None else dict(frame.env)
    execute(frame, node.body)
    if frame.env is not None:
        execute(frame, node.orelse)
    after = frame.env
    thrown = join_env(before, after if after is not None else None)
    for handler in node.handlers:
        frame.env = None if thrown is None else dict(thrown)
        if handler.type is not None and frame.seen is not None and frame.env is not None:
            frame.value(handler.type)
        if handler.name:
            frame.bind(handler.name, v.NonTensor("exception"))
        execute(frame, handler.body)
        after = join_env(after, frame.env)
    frame.env = after
    if node.finalbody:
        if after is None and before is not None:
            frame.env = dict(before)
            execute(frame, node.finalbody)
            frame.leave()
        else:
            execute(frame, node.finalbody)


def _match(frame: Frame, node: ast.Match) -> None:
    subject = frame.value(node.subject)
    before, after = frame.env, frame.env
    for case in node.cases:
        frame.env = None if before is None else dict(before)
        for part in ast.walk(case.pattern):
            if isinstance(part, (ast.MatchAs, ast.MatchStar)) and part.name:
                is_all = part is case.pattern or getattr(case.pattern, "name", None) == part.name
                frame.bind(part.name, subject if is_all else frame.item(subject))
        if isinstance(case.pattern, (ast.MatchClass, ast.MatchAs)) and isinstance(node.subject, ast.Name):
            pattern = case.pattern.pattern if isinstance(case.pattern, ast.MatchAs) else case.pattern
            if isinstance(pattern, ast.MatchClass):
                path = getattr(case.pattern, "name", None) or node.subject.id
                narrowing.narrow_to_classes(frame, path, subject, [frame.value(pattern.cls)], holds=True)
        if case.guard is not None:
            frame.value(case.guard)
        execute(frame, case.body)
        after = join_env(after, frame.env)
    frame.env = after


def _return(frame: Frame, node: ast.Return) -> None:
    value = v.Constant(None) if node.value is None else frame.value(node.value)
    if frame.seen is not None:
        frame.seen.call(id(node), value, v.Arguments(()), frame.mode)
    if value != _NOT_IMPLEMENTED:
        frame.result = join(frame.result, frame.begun(value) if frame.analysis.tells_origins else value)
    frame.leave()


def _break(frame: Frame, _: ast.stmt) -> None:
    if frame.env is not None:
        frame.breaks.append(frame.env)
    frame.leave()


def _continue(frame: Frame, _: ast.stmt) -> None:
    if frame.env is not None:
        frame.continues.append(frame.env)
    frame.leave()


def _import(frame: Frame, node: ast.Import | ast.ImportFrom) -> None:
    for name, imported in imports_of(node):
        if name != "*":
            frame.bind(name, frame.analysis.names.import_value(frame.module, imported))


def _definition(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    if frame.seen is not None:
        _see_definition(frame, node)
    if isinstance(frame.node, ast.ClassDef):
        return
    around = None if isinstance(frame.node, ast.Module) else frame.as_closure()
    if around is not None and "nonlocal" in frame.module.source.text:
        _share(frame, node)
    if isinstance(node, ast.ClassDef):
        frame.bind(node.name, v.Class(node, frame.module, around))
    else:
        frame.bind(node.name, v.Function(node, frame.module, frame.owner if around else None, around))


def _share(frame: Frame, node: ast.AST) -> None:
    """Note the `nonlocal` variables of an inner function: from here on they may be anything."""
    names = {name for each in walk(node) if isinstance(each, ast.Nonlocal) for name in each.names}
    frame.shared |= names
    for name in names & (frame.env or {}).keys():
        frame.bind(name, frame.lookup(name))


def _see_definition(frame: Frame, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> None:
    """Evaluate the decorators, defaults, annotations and base classes of a definition."""
    for decorator in node.decorator_list:
        frame.value(decorator)
    if isinstance(node, ast.ClassDef):
        for part in (*node.bases, *(keyword.value for keyword in node.keywords)):
            frame.value(part)
        return
    arguments = node.args
    given = (*arguments.posonlyargs, *arguments.args, arguments.vararg, *arguments.kwonlyargs, arguments.kwarg)
    annotations = (node.returns, *(one.annotation for one in given if one is not None))
    for each in (*arguments.defaults, *arguments.kw_defaults, *annotations):
        if each is not None:
            frame.value(each)


def _assert(frame: Frame, node: ast.Assert) -> None:
    frame.value(node.test)
    if node.msg is not None and frame.seen is not None:
        frame.value(node.msg)
    narrowing.narrow(frame, node.test, holds=True)


def _raise(frame: Frame, node: ast.Raise) -> None:
    for part in (node.exc, node.cause):
        if part is not None:
            frame.value(part)
    frame.leave()


def _delete(frame: Frame, node: ast.Delete) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name) and frame.env is not None:
            frame.env.pop(target.id, None)
        elif isinstance(target, ast.Subscript):
            frame.value(target)
        elif isinstance(target, ast.Attribute):
            frame.value(target.value)


_RUNNERS: dict[type, Callable[[Frame, ast.Any], None]] = {  # type: ignore[name-defined]
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    getattr(ast, "TryStar", ast.Try): _try,
    ast.Match: _match,
    ast.Return: _return,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Delete: _delete,
}
