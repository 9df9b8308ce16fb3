"""The analysis of one module under check: global names, summaries of functions, runs of bodies."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from tonumpy.engine.interpreter import calls, statements
from tonumpy.engine.interpreter.assignments import assign
from tonumpy.engine.interpreter.contexts import grad_mode_of
from tonumpy.engine.interpreter.expressions import evaluate
from tonumpy.engine.interpreter.frame import Frame, Seen
from tonumpy.engine.interpreter.members import item_of
from tonumpy.engine.interpreter.own_promises import OwnPromises
from tonumpy.engine.knowledge.grad_contexts import GRAD_DECORATORS
from tonumpy.engine.names.bindings import decorator_names
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.classes import Classes
from tonumpy.engine.summaries.global_names import Names
from tonumpy.engine.summaries.parameters import Parameters
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_size import bounded
from tonumpy.facts import Fact

MAX_DEPTH = 5  # of nested calls that are followed
MAX_NESTED = 16  # of nested runs of bodies, including those for attributes and global names
FUEL = 2000  # statements of other bodies that one query may run
SHALLOW_FUEL = 150
FUEL_OF_ORIGINS = 4
STATEMENTS_PER_FUEL = 10  # of a script
SHALLOW_DEPTH = 3
_TRANSPARENT = frozenset(
    "staticmethod classmethod property cached_property cache lru_cache wraps contextmanager asynccontextmanager jit"
    " script torch_compile compile rank_zero_only on_main_process main_process_only override final typechecked beartype"
    " jaxtyped abstractmethod overload setter getter export ignore unused fixture parametrize"
    " no_type_check deprecated".split()
).union(GRAD_DECORATORS)


class Analysis:
    """All results for one module under check, with the limits on their computation."""

    evaluate = staticmethod(evaluate)
    call_value = staticmethod(calls.call_value)
    item_of = staticmethod(item_of)
    assign = staticmethod(assign)

    def __init__(self, module: Module) -> None:
        self.module = module
        self.disabled_habits: frozenset[str] = module.disabled_habits
        self.tells_origins = module.tells_origins
        self.own_promises = OwnPromises(module)
        self.names = Names(self)
        self.classes = Classes(self)
        self.parameters = Parameters(self)
        self.cuts = 0  # how often a result was cut by a limit or a recursion
        self.depth_cuts = 0
        self.provisional: list[tuple[dict[Any, Any], object]] = []  # results that were computed with a cut
        self.nested = 0
        self.fuel = FUEL
        self.closures: list[Frame] = []
        self._active: set[int] = set()
        self._summaries: dict[object, tuple[v.Value, dict[str, v.Value], int]] = {}
        self._runs: dict[object, Frame] = {}
        self._around: dict[object, Frame] = {}
        self._texts: dict[int, str] = {}

    def may_nest(self) -> bool:
        return self.nested < MAX_NESTED

    def may_go_on(self) -> bool:
        """True if the current query has fuel for one more statement."""
        self.fuel -= 1
        if self.fuel < 0:
            self.cuts += 1
        return self.fuel >= 0

    def begin(self, *, is_shallow: bool = False) -> None:
        """Begin a query: refill the fuel, and drop results that were cut for an earlier query."""
        self.fuel = SHALLOW_FUEL if is_shallow else FUEL
        if self.tells_origins:  # fewer calls share a cached result, as the origins of their arguments differ
            self.fuel *= FUEL_OF_ORIGINS
        for table, key in self.provisional:
            table.pop(key, None)
        self.provisional.clear()

    def text_of(self, scope: v.Class | v.Function) -> str:
        """The source of a class or function."""
        node = scope.node
        if id(node) not in self._texts:
            self._texts[id(node)] = scope.module.source.text_of(node)
        return self._texts[id(node)]

    def module_frame(self, module: Module) -> Frame:
        """A frame in which the global names of a module can be evaluated."""
        return Frame(self, module, module.tree, None, None, True, MAX_DEPTH - 1)

    def frame_around(self, cls: v.Class) -> Frame:
        """The frame in which names in the body of a class are evaluated."""
        known = self._around.get(cls)
        if known is None:
            known = Frame(self, cls.module, cls.module.tree, None, cls.closure, True, MAX_DEPTH - 1)
            self._around[cls] = known
        return known

    def enter(
        self, frame: Frame, function: v.Function, receiver: v.Value | None, arguments: v.Arguments, *, mode: Fact = None
    ) -> v.Value:
        """The result of calling a function of the repository, by its summary."""
        node = function.node
        mode = frame.mode if mode is None else mode
        if id(node) in self._active:
            self.cuts += 1
            return self._declared_result(function, mode)
        if isinstance(node, ast.Lambda):
            return self._run_lambda(frame, function, arguments)
        if frame.depth >= MAX_DEPTH or not self.may_nest() or self.fuel < 0:
            self.depth_cuts += 1
            self.cuts += self.fuel < 0
            return self._declared_result(function, mode)
        key: object = (id(node), function.closure, receiver, arguments, mode)
        try:
            known = self._summaries.get(key)
        except TypeError:  # a constant that cannot be hashed
            known, key = None, None
        if known is not None and frame.depth >= known[2]:
            return self._with_stores(frame, receiver, *known[:2])
        before, depth_before = self.cuts, self.depth_cuts
        inner = self.frame_of(function, mode, frame.depth + 1)
        for name, value in self.parameters.bound(function, receiver, arguments).items():
            inner.bind(name, value)
        self._run(inner, node)
        made = bounded(self._made_by(inner, function))
        if key is not None:
            # A result that was cut by the depth is not valid at a smaller depth.
            self._summaries[key] = made, inner.stores, frame.depth if self.depth_cuts != depth_before else 0
            if self.cuts != before:
                self.provisional.append((self._summaries, key))
        return self._with_stores(frame, receiver, made, inner.stores)

    @staticmethod
    def _with_stores(frame: Frame, receiver: v.Value | None, made: v.Value, stores: dict[str, v.Value]) -> v.Value:
        """The result of a call, after binding the attributes that it stored in the caller's own object."""
        if stores and isinstance(receiver, v.Instance) and frame.env is not None:
            own = frame.env.get("self")
            if isinstance(own, v.Instance) and own in (receiver, receiver.real):
                for name, value in stores.items():
                    frame.bind(f"self.{name}", value)
        return made

    def _run(self, frame: Frame, node: ast.AST) -> None:
        self._active.add(id(node))
        self.nested += 1
        try:
            statements.execute(frame, node.body)  # type: ignore[attr-defined]
        finally:
            self.nested -= 1
            self._active.discard(id(node))

    def _run_lambda(self, frame: Frame, function: v.Function, arguments: v.Arguments) -> v.Value:
        around = function.closure
        if not self.may_nest():
            self.cuts += 1
            return v.Unknown(Reason.CUT_SHORT)
        inner = Frame(self, function.module, function.node, function.owner, around, frame.mode, frame.depth)
        inner.seen = around.seen if around is frame else None
        for name, value in self.parameters.bound(function, None, arguments).items():
            inner.bind(name, value)
        self.nested += 1
        try:
            return inner.value(function.node.body)  # type: ignore[arg-type]
        finally:
            self.nested -= 1

    def frame_of(self, function: v.Function, mode: Fact, depth: int) -> Frame:
        """A frame for the body of a function, in the grad mode that its decorators set."""
        return Frame(
            self, function.module, function.node, function.owner, function.closure, self.mode_of(function, mode), depth
        )

    def mode_of(self, function: v.Function, mode: Fact) -> Fact:
        """Grad mode in a function that is called in a mode: its decorators override that."""
        for decorator in getattr(function.node, "decorator_list", ()):
            name = grad_mode_of(self.module_frame(function.module), decorator)
            if name != "unchanged":
                return None if name == "unknown" else name == "on"
        return mode

    def _made_by(self, frame: Frame, function: v.Function) -> v.Value:
        node = function.node
        result = frame.result
        if not isinstance(frame.yielded, v.Nothing):
            result = v.Sequence(None, frame.yielded)
        elif frame.env is not None:
            result = join(result, v.Constant(None))
        names = decorator_names(node)
        if names & {"contextmanager", "asynccontextmanager"}:
            arguments = v.Arguments((frame.yielded, v.Constant(frame.mode)))
            return v.LibraryObject("contextlib.contextmanager", arguments=arguments)
        if not names <= _TRANSPARENT:
            result = v.Unknown(Reason.DECORATED, None, False if frame.mode is False else None)
        declared = getattr(node, "returns", None)
        if declared is not None:
            result = self.parameters.combined(result, self.parameters.annotated(function.module, declared))
        return result

    def _declared_result(self, function: v.Function, mode: Fact) -> v.Value:
        """The result of a function that is not followed, by its return annotation."""
        declared = self.parameters.annotated(function.module, getattr(function.node, "returns", None))
        made = v.Unknown(Reason.CUT_SHORT, None, False if self.mode_of(function, mode) is False else None)
        return self.parameters.combined(made, declared)

    def stores_of(self, function: v.Function, itself: v.Instance, arguments: v.Arguments | None) -> dict[str, v.Value]:
        """The values that a method stores in attributes of its object."""
        frame = self.frame_of(function, None, 1)
        values = dict(self.parameters.declared(function))
        if arguments is not None:
            values = self.parameters.bound(function, itself, arguments)
        for name, value in values.items():
            frame.bind(name, value)
        first = self.parameters.receiver_of(function)
        if first is not None:
            frame.bind(first, itself)
        if id(function.node) in self._active:
            self.cuts += 1
            return {}
        self._run(frame, function.node)
        return frame.stores

    def run(
        self,
        module: Module,
        scopes: tuple[ast.AST, ...],
        values: dict[str, v.Value],
        mode: Fact,
        flags: Mapping[str, bool] | None = None,
        *,
        is_shallow: bool = False,
    ) -> Frame:
        """Run the innermost scope with `values` as its parameters, and record its sites."""
        node = scopes[-1]
        owner, closure = self.surroundings(module, scopes)
        frame = Frame(self, module, node, owner, closure, mode, MAX_DEPTH - SHALLOW_DEPTH if is_shallow else 0)
        frame.seen = Seen()
        frame.flags = dict(flags or {})
        frame.row = getattr(node, "lineno", 0)  # the origin of the facts of parameters
        for name, value in values.items():
            frame.bind(name, value)
        if isinstance(node, ast.Module):
            self.fuel += self.fuel * len(node.body) // STATEMENTS_PER_FUEL  # a script calls as much as many functions
        if id(node) not in self._active:
            self._run(frame, node)
        return frame

    def surroundings(self, module: Module, scopes: tuple[ast.AST, ...]) -> tuple[v.Class | None, Frame | None]:
        """The class of which the innermost scope is a method, and the frame of the enclosing function."""
        owner: v.Class | None = None
        closure: Frame | None = None
        for depth in range(1, len(scopes)):
            scope = scopes[depth]
            if isinstance(scope, ast.ClassDef):
                owner = v.Class(scope, module, closure)
            elif depth < len(scopes) - 1:
                closure = self._closure(module, scopes[: depth + 1])
        return owner, closure

    def _closure(self, module: Module, scopes: tuple[ast.AST, ...]) -> Frame:
        known = self._runs.get(id(scopes[-1]))
        if known is None:
            function = self.function_of(module, scopes)
            if not self.may_nest():
                return self.module_frame(module)
            values = self.parameters.declared(function)
            self._runs[id(scopes[-1])] = self.module_frame(module)
            known = self._runs[id(scopes[-1])] = self.run(module, scopes, values, self.mode_of(function, None))
        return known

    def function_of(self, module: Module, scopes: tuple[ast.AST, ...]) -> v.Function:
        """The innermost scope as a function."""
        owner, closure = self.surroundings(module, scopes)
        return v.Function(scopes[-1], module, owner, closure)  # type: ignore[arg-type]
