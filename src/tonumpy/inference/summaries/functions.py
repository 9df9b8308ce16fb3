"""Summaries of functions: from a function and its arguments to the value returned, and to closure variables changed."""

from __future__ import annotations

import ast
import math
from operator import itemgetter
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import FunctionNode, decorator_names, names_in
from tonumpy.engine.names.changes import NamesInLambdas
from tonumpy.engine.names.def_use import def_use_of
from tonumpy.engine.names.slices import Slicer
from tonumpy.engine.values.aliases import as_given, handed_back, unless_it_requires_grad
from tonumpy.engine.values.environment import GENERATOR_CONTEXT
from tonumpy.engine.values.evidence import cut_off, only
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import left_open, mapped, members, resting_on, with_facts
from tonumpy.engine.values.values import (
    NONE,
    Arguments,
    BoundMethod,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Nothing,
    Sequence,
    Unknown,
    Value,
)
from tonumpy.inference.summaries.budget import MAX_CALL_DEPTH
from tonumpy.inference.summaries.decorators import WHATEVER
from tonumpy.inference.summaries.entry import Entry
from tonumpy.inference.transfer.control_flow import execute
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.grad_modes import inside
from tonumpy.inference.transfer.members import resolve
from tonumpy.inference.transfer.targets import NO_TARGETS
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis

MAX_REPETITIONS = 3  # of a call whose result is made of itself

# What a call leaves in the variables of the functions around it, and in their attributes.
Changes = tuple[tuple[str, Value], ...]


class FunctionSummaries:
    """Evaluates the body of a called function, once for the same arguments."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._calls: dict[tuple[object, ...], tuple[Value, Changes]] = {}
        self._first_changed: float = math.inf  # the number of the first frame that an inner function has changed

    def call_function(self, function: Function, receiver: Value | None, arguments: Arguments, grad_mode: Fact) -> Value:
        """The value that a function of the repository returns for these arguments."""
        grad_mode = inside(function.grad_mode, grad_mode)
        if function.is_bare and self._analysis.decorators.notes_mode(function, grad_mode):
            return WHATEVER
        if not function.is_bare and not isinstance(function.node, ast.Lambda) and function.node.decorator_list:
            decorated = self._analysis.decorators.decorated(function)
            if isinstance(decorated, Unknown):
                return with_facts(decorated, requires_grad=False) if grad_mode is False else decorated
            own = () if receiver is None else (receiver,)
            passed = arguments._replace(positional=(*own, *arguments.positional))
            if isinstance(decorated, Instance):
                called = self._analysis.decorators.called_on(decorated)
                assert called is not None
                return self.call_function(called, decorated, passed, grad_mode)
            if decorated.node is not function.node:
                return self.call_function(decorated, None, passed, grad_mode)
        given = as_given(arguments)
        key = (id(function.node), self._captured(function), receiver, given, grad_mode)
        try:
            known = self._calls.get(key)
        except TypeError:  # a literal that cannot be hashed
            return self._declared_return(function, Reason.CALL, grad_mode)
        if known is not None and not self._may_be_asked_about(given) and not self._may_enter_watched(function):
            self._analysis.solver.use(self._calls, key)
            self._change_closures(function, known[1], arguments)
            return handed_back(known[0], arguments)
        if key in self._analysis.active:
            return handed_back(self._analysis.solver.current_answer(self._calls, key), arguments)
        same_function = sum(1 for active in self._analysis.active if active[0] == key[0])
        if self._analysis.budget.cuts_short():
            return self._not_followed(function, grad_mode, "statements")
        if len(self._analysis.active) >= MAX_CALL_DEPTH or same_function >= 2:
            self._analysis.budget.cut()
            return self._not_followed(function, grad_mode, "depth")
        self._analysis.active.append(key)
        before, self._first_changed, start = self._first_changed, math.inf, len(self._analysis.frames)
        kept = self._analysis.budget.keep_half()
        self._analysis.budget.enter(len(self._analysis.active))
        try:
            with self._analysis.solver.solving(self._calls, key):
                for _ in range(1 + MAX_REPETITIONS):
                    result, changes = self._run_call(function, receiver, given, grad_mode)
                    if not self._analysis.solver.is_unstable(result):
                        break
                if self._first_changed >= start:  # or others that it calls would have to be called again
                    self._calls[key] = result, changes
        finally:
            self._analysis.active.pop()
            self._analysis.budget.give_back(kept)
            self._first_changed = min(before, self._first_changed)
        self._change_closures(function, changes, arguments)
        return handed_back(result, arguments)

    def _may_be_asked_about(self, arguments: Arguments) -> bool:
        """Whether a function is handed over that something is asked about: who takes it may call it for its effect."""
        handed = [part for value in arguments.values() for part in members(value)]
        kept = [each for part in handed for each in _kept_in(part)]
        functions = [part.function if isinstance(part, BoundMethod) else part for part in handed]
        return any(isinstance(each, Function) and self._is_asked_about(each) for each in (*functions, *kept))

    def _may_enter_watched(self, function: Function) -> bool:
        """Whether it is asked how a function is entered, and this is it, or may call it by what stands for it."""
        node = id(function.node)
        return node in self._analysis.watched

    def _is_asked_about(self, function: Function) -> bool:
        around: Frame | None = function.closure
        is_lambda = isinstance(function.node, ast.Lambda) and around is not None and bool(around.targets.calls)
        if id(function.node) in self._analysis.watched:
            return True
        if not is_lambda or around is None:
            return False
        return id(function.node) in around.seen.lambdas_called or id(function.node) in around.seen.lambdas_guessed

    def _captured(self, function: Function) -> tuple[object, ...]:
        """What the variables of the functions around hold that it reads, or an inner function that it calls."""
        found: dict[str, Value | None] = {}
        waiting = [] if function.closure is None else list(_names_read(function))
        while waiting:
            name = waiting.pop()
            frame: Frame | None = function.closure
            while frame is not None and name not in frame.flow.local_names:
                frame = frame.closure
            if frame is None or name in found:
                continue
            value = found[name] = frame.bound.get(name)
            if isinstance(value, Function):
                waiting += _names_read(value)
        return (id(function.closure), *sorted(found.items(), key=itemgetter(0)))

    def _change_closures(self, function: Function, changes: Changes, arguments: Arguments) -> None:
        """What an inner function leaves in the variables of those around it, when it has been called."""
        for path, value in changes:
            root = path.partition(".")[0]
            frame: Frame | None = function.closure
            while frame is not None and root not in frame.flow.local_names:
                frame = frame.closure
            if frame is not None:
                frame.change_from_within(path, handed_back(value, arguments))
                self._first_changed = min(self._first_changed, frame.entry.number)

    def _changes_left(self, function: Function, frame: Frame) -> Changes:
        if function.closure is None:
            return ()
        own = frame.flow.local_names | frame.flow.outer_names
        return tuple((path, value) for path, value in frame.bound.items() if path.partition(".")[0] not in own)

    def _changes_outside(self, function: Function) -> bool:
        """Whether an inner function may change variables of those around it, by itself or by calling others."""
        frame: Frame | None = function.closure
        name = "" if isinstance(function.node, ast.Lambda) else function.node.name
        while frame is not None:
            if frame.flow.closures is not None and name in frame.flow.closures.changes:
                return True
            frame = frame.closure
        return False

    def _run_call(
        self, function: Function, receiver: Value | None, arguments: Arguments, grad_mode: Fact
    ) -> tuple[Value, Changes]:
        result, changes = self._run_body(function, receiver, arguments, grad_mode)
        if self._analysis.decorators.decorated_mode(function, grad_mode) is False:
            around = function.closure.flow.local_names if function.closure is not None else frozenset()
            result = unless_it_requires_grad(result, arguments, around)
        return result, changes

    def _run_body(
        self, function: Function, receiver: Value | None, arguments: Arguments, grad_mode: Fact
    ) -> tuple[Value, Changes]:
        node = function.node
        mode = self._analysis.decorators.decorated_mode(function, grad_mode)
        if isinstance(node, ast.Lambda):
            flow = function.module.derived(def_use_of, node)
            around: Frame | None = function.closure
            is_seen = around is not None and (
                id(node) in around.seen.lambdas_called or id(node) in around.seen.lambdas_guessed
            )
            targets = around.targets if around is not None and is_seen else NO_TARGETS
            frame = Frame(self._analysis, function.module, flow, function.owner, around, mode, None, targets)
            bound = self._analysis.parameters.bind_arguments(function, receiver, arguments)
            if id(node) in self._analysis.watched:
                self._analysis.watched[id(node)].append(Entry(bound, grad_mode))
            for name, value in bound.items():
                frame.bind(name, value)
            result = resolve(frame, evaluate(frame, node.body))
            if around is not None and is_seen:
                around.forget_guesses(id(node))
                for call, observation in frame.seen.observations.items():
                    around.observe(call, observation)
            return result, self._changes_left(function, frame)
        slicer = function.module.derived(Slicer, node)
        is_whole = self._changes_outside(function) or self._may_be_asked_about(arguments)
        asked = None if is_whole else slicer.at_end((), wants_result=True)
        frame = Frame(
            self._analysis, function.module, slicer.flow, function.owner, function.closure, mode, asked, NO_TARGETS
        )
        given = self._analysis.parameters.bind_arguments(function, receiver, arguments)
        if id(node) in self._analysis.watched:
            self._analysis.watched[id(node)].append(Entry(given, grad_mode))
        for name, value in given.items():
            frame.bind(name, value)
        falls_through = execute(frame, node.body)
        changes = self._changes_left(function, frame)
        returned = resolve(frame, frame.result.returned)
        if frame.result.is_generator and not decorator_names(node).isdisjoint(_MAKING_CONTEXTS):
            modes = frame.result.modes_of_yields
            mode_inside = Constant(next(iter(modes)) if len(modes) == 1 else None)
            returned = LibraryObject(GENERATOR_CONTEXT, arguments=Arguments((frame.result.yielded, mode_inside)))
        elif frame.result.is_generator:
            returned = Sequence(None, frame.result.yielded)
        elif falls_through:
            returned = join(returned, NONE)
        declared = self._analysis.parameters.annotated(self._analysis.definition_frame(function), node.returns)
        if frame.result.is_generator:
            return returned, changes
        if _is_abstract(node):
            return (_made_without_grad(declared) if grad_mode is False else declared), changes
        if isinstance(returned, Nothing):
            return returned, changes
        return self._analysis.parameters.combine_annotation(returned, declared), changes

    def _not_followed(self, function: Function, grad_mode: Fact, bound: str) -> Value:
        """What is known of the result of a call for which the search has no more to spend, or is too deep."""
        name = "this lambda" if isinstance(function.node, ast.Lambda) else f"`{function.node.name}`"
        cut = cut_off(bound, f"{name} is not followed", function.module.filename, function.node.lineno)
        declared = left_open(self._declared_return(function, Reason.CALL, grad_mode), cut)
        is_off = self._analysis.decorators.decorated_mode(function, grad_mode) is False
        return resting_on(declared, only(cut, "grad")) if is_off else declared  # it may hand back what was there before

    def _declared_return(self, function: Function, reason: Reason, grad_mode: Fact) -> Value:
        """What is known of the result of a call that is not followed."""
        node = function.node
        declared: Value = Unknown(reason)
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            declared = self._analysis.parameters.annotated(self._analysis.definition_frame(function), node.returns)
        is_off = self._analysis.decorators.decorated_mode(function, grad_mode) is False
        return with_facts(declared, requires_grad=False) if is_off else declared


_MAKING_CONTEXTS = ("contextmanager", "asynccontextmanager")


def _made_without_grad(declared: Value) -> Value:
    """What an annotation says, of what is made while grad mode is off: no tensor in it requires grad."""
    if isinstance(declared, Instance):
        return declared._replace(requires_grad=False)
    return mapped(with_facts(declared, requires_grad=False), _made_without_grad)


def _is_abstract(node: FunctionNode) -> bool:
    """A body that says nothing: a docstring, `pass`, `...` or `raise NotImplementedError`."""
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Raise) and _exception_of(statement) == "NotImplementedError")
        for statement in node.body
    )


def _exception_of(statement: ast.Raise) -> str | None:
    raised = statement.exc
    return last_name(raised.func if isinstance(raised, ast.Call) else raised) if raised is not None else None


def _names_read(function: Function) -> set[str]:
    if isinstance(function.node, ast.Lambda):
        return function.module.derived(NamesInLambdas, function.module.tree).of(function.node)
    return function.module.derived(names_in, function.node)


def _kept_in(value: Value) -> tuple[Value, ...]:
    """The function that `functools.partial` keeps."""
    if not isinstance(value, LibraryObject) or value.name != "functools.partial" or value.arguments is None:
        return ()
    return value.arguments.positional[:1]
