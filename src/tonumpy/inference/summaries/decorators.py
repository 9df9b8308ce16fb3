"""From a function's decorators to the grad mode inside it, or to the function that replaces it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import arguments_of, parameter_names
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import Arguments, BoundMethod, Class, Function, Instance, Unknown, Value
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.contexts import grad_mode_of_context
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.grad_modes import inside, running_in
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis
    from tonumpy.inference.transfer.frame import Frame

WHATEVER = Unknown(Reason.DECORATED)


class Decorators:
    """Decorated functions, each evaluated once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._made: dict[tuple[int, int], Function | Instance | Unknown] = {}
        self._kept: set[int] = set()  # the nodes of those that a decorator keeps as it is given them
        self._modes: dict[tuple[int, int, Fact], set[Fact]] = {}  # those in which a function is called
        self._modes_asked: dict[int, set[Fact]] = {}  # of functions that are called for this alone, by their nodes

    def decorated_mode(self, function: Function, caller_mode: Fact) -> Fact:
        """Grad mode inside the function, from that of its caller and its decorators."""
        if isinstance(function.node, ast.Lambda):
            return caller_mode
        if function.owner is not None and library_values.runs_without_grad(
            self._analysis, function.owner, function.node.name
        ):
            caller_mode = False
        if function.is_bare or not function.node.decorator_list:
            return caller_mode
        decorated = self.decorated(function)
        if not isinstance(decorated, Function):
            return caller_mode
        if decorated.node is function.node:
            mode = inside(decorated.grad_mode, caller_mode)
        else:
            mode = self._mode_behind(decorated, function, caller_mode)
        return None if mode is False and id(function.node) in self._kept else mode

    def _mode_behind(self, decorated: Function, function: Function, caller_mode: Fact) -> Fact:
        """The one in which what a decorator put in a function's place calls the function."""
        key = (id(function.node), id(function.closure), caller_mode)
        known = self._modes.get(key)
        if known is None:
            known = self._modes[key] = set()
            self._modes_asked[id(function.node)] = known
            cuts = self._analysis.budget.cuts
            try:
                self._analysis.functions.call_function(
                    decorated, None, Arguments((WHATEVER,), has_star=True), caller_mode
                )
            finally:
                del self._modes_asked[id(function.node)]
            if self._analysis.budget.cuts != cuts:
                del self._modes[key]
        return caller_mode if not known else None if len(known) > 1 else next(iter(known))

    def decorated(self, function: Function) -> Function | Instance | Unknown:
        """The value of the function's name: the function, or what decorators of the repository return for it, be it an
        object that is called."""
        key = (id(function.node), id(function.closure))
        known = self._made.get(key)
        if known is None:
            self._made[key] = function  # what its decorators do while they are asked
            cuts = self._analysis.budget.cuts
            known = self._made[key] = self._decorate(function)
            if self._analysis.budget.cuts != cuts:
                del self._made[key]
        return known

    def _decorate(self, function: Function) -> Function | Instance | Unknown:
        node = function.node
        assert isinstance(node, FUNCTIONS)
        frame = self._analysis.definition_frame(function)
        made = function._replace(is_bare=True)
        for decorator in reversed(node.decorator_list):
            if last_name(decorator) in ("singledispatch", "singledispatchmethod"):
                return Unknown(Reason.CALL)
            mode = grad_mode_of_context(frame, decorator)
            if mode != "unchanged":
                made = running_in(mode, made)
                continue
            self._note_kept(frame, decorator, function, made)
            maker = evaluate(frame, decorator.func if isinstance(decorator, ast.Call) else decorator)
            if not isinstance(maker, (Function, Class)):
                continue
            replaced = self._replaced(frame, evaluate(frame, decorator), made)
            if isinstance(replaced, Instance):
                return replaced
            made = replaced
        return made._replace(is_bare=False) if made.node is node else made

    def _replaced(self, frame: Frame, decorate: Value, function: Function) -> Function | Instance:
        """What a decorator puts in the place of a function; where that is not known, it stands for the function."""
        result = frame.evaluator.call(frame, decorate, Arguments((function,)))
        made = [each for each in members(result) if isinstance(each, Function) or self.called_on(each) is not None]
        return made[0] if len(made) == 1 and isinstance(made[0], (Function, Instance)) else function

    def called_on(self, value: Value) -> Function | None:
        """What is called where an object of the repository is."""
        return self._analysis.classes.method(value.cls, "__call__") if isinstance(value, Instance) else None

    def _note_kept(self, frame: Frame, decorator: ast.expr, function: Function, made: Function) -> None:
        """That a decorator keeps a function as it is, where it is given that."""
        if made == function._replace(is_bare=True) and self._keeps(frame, decorator):
            self._kept.add(id(function.node))

    def _keeps(self, frame: Frame, decorator: ast.expr) -> bool:
        """Whether a decorator of the repository keeps the function, so that others may call it past what it returns."""
        value = evaluate(frame, decorator)
        function = value.function if isinstance(value, BoundMethod) else value
        if not isinstance(function, Function) or not isinstance(function.node, FUNCTIONS):
            return False
        parameters = parameter_names(function.node.args)[isinstance(value, BoundMethod) :]
        return bool(parameters) and any(_is_kept_by(each, parameters[0]) for each in statements_of(function.node.body))

    def notes_mode(self, function: Function, grad_mode: Fact) -> bool:
        """Whether a bare function is called only to see in which grad mode that is done, which is noted then."""
        if id(function.node) not in self._modes_asked:
            return False
        self._modes_asked[id(function.node)].add(grad_mode)
        return True


_KEEPING = frozenset("append add insert register setdefault update extend".split())


def _is_kept_by(statement: ast.stmt, name: str) -> bool:
    """`HANDLERS[key] = function`, `wrapper.raw = function`, `HANDLERS.append((key, function))`"""
    if isinstance(statement, ast.Assign):
        return any(map(_keeps_what_it_gets, statement.targets)) and _holds(statement.value, name)
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call) or last_name(call.func) not in _KEEPING:
        return False
    return any(_holds(each, name) for each in arguments_of(call))


def _keeps_what_it_gets(target: ast.expr) -> bool:
    """Under `__wrapped__` functools.wraps keeps every function."""
    return isinstance(target, (ast.Subscript, ast.Attribute)) and last_name(target) != "__wrapped__"


def _holds(node: ast.expr, name: str) -> bool:
    """Whether a value is what has this name, or a tuple or dict with it."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return any(_holds(each, name) for each in node.elts)
    if isinstance(node, ast.Dict):
        return any(_holds(each, name) for each in node.values)
    return isinstance(node, ast.Name) and node.id == name
