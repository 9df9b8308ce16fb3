"""One run of a body: its environment, its grad mode, and the record of its sites."""

from __future__ import annotations

import ast
from typing import NamedTuple, Protocol

from tonumpy.engine.interpreter import habit_values
from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.module import Module
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import PROVED, AllEvidence, Basis, Spot
from tonumpy.engine.values.joins import join, join_arguments
from tonumpy.engine.values.origins import begun_at
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_size import bounded
from tonumpy.facts import Fact
from tonumpy.text.names import path_of


class Names(Protocol):
    """The global names of modules."""

    def global_value(self, module: Module, name: str) -> v.Value: ...
    def member(self, module: Module, name: str) -> v.Value: ...
    def import_value(self, module: Module, imported: Import) -> v.Value: ...


class Classes(Protocol):
    """The classes of the repository."""

    def ancestors(self, cls: v.Class) -> list[v.Class]: ...
    def attribute(self, frame: Frame, instance: v.Instance, name: str) -> v.Value: ...
    def attribute_known(self, frame: Frame, instance: v.Instance, name: str) -> v.Value | None: ...
    def class_attribute(self, cls: v.Class, name: str) -> v.Value: ...
    def fields(self, value: v.Instance) -> dict[str, v.Value] | None: ...
    def foreign_root(self, cls: v.Class) -> str | None: ...
    def is_dataset(self, cls: v.Class) -> bool: ...
    def is_module(self, cls: v.Class) -> bool: ...
    def is_operator(self, cls: v.Class) -> bool: ...
    def lacks(self, cls: v.Class, name: str) -> bool: ...
    def library_bases(self, cls: v.Class) -> list[str]: ...
    def makes_tensors(self, cls: v.Class) -> bool: ...
    def method(self, cls: v.Class, name: str) -> v.Function | None: ...
    def moves_itself(self, cls: v.Class) -> bool: ...


class Parameters(Protocol):
    """Parameters and annotations."""

    def annotated(self, module: Module, node: ast.expr | None) -> v.Value: ...
    def combined(self, seen: v.Value, declared: v.Value) -> v.Value: ...
    def value_of_class(self, cls: v.Value) -> v.Value: ...


class OwnPromises(Protocol):
    """The promises of the user's settings; each method returns None if no row names the callee."""

    def call_of_library(
        self, frame: Frame, name: str, owner: v.Value | None, arguments: v.Arguments
    ) -> v.Value | None: ...
    def call_of_repository(
        self, frame: Frame, function: v.Function | v.BoundMethod | v.Instance | v.Class, arguments: v.Arguments
    ) -> v.Value | None: ...

    def call_of_method(self, frame: Frame, owner: v.Instance, name: str, arguments: v.Arguments) -> v.Value | None: ...
    def named(self, module: Module, name: str, found: v.Value | None) -> v.Value | None: ...


class Summaries(Protocol):
    """The results of other bodies: the one interface between the interpreter and the summaries."""

    @property
    def own_promises(self) -> OwnPromises: ...
    @property
    def tells_origins(self) -> bool: ...
    @property
    def disabled_habits(self) -> frozenset[str]: ...
    @property
    def names(self) -> Names: ...
    @property
    def classes(self) -> Classes: ...
    @property
    def parameters(self) -> Parameters: ...
    @property
    def closures(self) -> list[Frame]: ...
    def enter(
        self, frame: Frame, function: v.Function, receiver: v.Value | None, arguments: v.Arguments, *, mode: Fact = None
    ) -> v.Value: ...
    def may_go_on(self) -> bool: ...
    def text_of(self, scope: v.Class | v.Function) -> str: ...
    def evaluate(self, frame: Frame, node: ast.expr) -> v.Value: ...
    def call_value(self, frame: Frame, function: v.Value, arguments: v.Arguments) -> v.Value: ...
    def item_of(self, frame: Frame, value: v.Value) -> v.Value: ...
    def assign(self, frame: Frame, target: ast.expr, value: v.Value, *, is_item: bool = False) -> None: ...


Environment = dict[str, v.Value]  # by the names of variables, and by the paths of attributes: `self.net`


class Observation(NamedTuple):
    """The operands of a call or operator, joined over all its evaluations in a run.

    `links` holds the id of each node of the receiver's chain, with its value.
    """

    receiver: v.Value
    links: tuple[tuple[int, v.Value], ...]
    arguments: v.Arguments
    grad_mode: Fact
    evidence: AllEvidence = PROVED


class Seen:
    """The record of a run: the operands of each call and operator, the value of each part of a chain, and the functions
    of the repository that each call may enter, all by the ids of nodes."""

    def __init__(self) -> None:
        self.calls: dict[int, tuple[v.Value, v.Arguments, Fact]] = {}
        self.values: dict[int, v.Value] = {}
        self.callees: dict[int, set[int]] = {}

    def call(self, node: int, receiver: v.Value, arguments: v.Arguments, mode: Fact) -> None:
        before = self.calls.get(node)
        if before is not None:
            receiver, arguments = join(before[0], receiver), join_arguments(before[1], arguments)
            mode = mode if mode is before[2] else None
        self.calls[node] = (receiver, arguments, mode)

    def value(self, node: int, value: v.Value) -> None:
        before = self.values.get(node)
        self.values[node] = value if before is None else join(before, value)


class Frame:
    """One run of the body of a function, class or module. `env` is None in unreachable code."""

    __slots__ = (
        *("analysis", "module", "env", "mode", "owner", "closure", "node", "depth", "result", "yielded"),
        *("breaks", "continues", "seen", "stores", "last_env", "row", "flags", "tests", "has_paths"),
        *("shared", "aliases"),
    )

    def __init__(
        self,
        analysis: Summaries,
        module: Module,
        node: ast.AST,
        owner: v.Class | None,
        closure: Frame | None,
        mode: Fact,
        depth: int,
    ) -> None:
        self.analysis = analysis
        self.module = module
        self.node = node
        self.owner = owner
        self.closure = closure
        self.mode = mode
        self.depth = depth
        self.env: Environment | None = {}
        self.last_env: Environment = {}
        self.result: v.Value = v.NOTHING
        self.yielded: v.Value = v.NOTHING
        self.breaks: list[Environment] = []
        self.continues: list[Environment] = []
        self.seen: Seen | None = None
        self.stores: Environment = {}  # the values stored in attributes of `self`
        self.flags: dict[str, bool] = {}
        self.tests: dict[
            str, tuple[ast.expr, str, v.Value]
        ] = {}  # tests in variables: the test, its subject, the subject's value before
        self.row = 0
        self.has_paths = False  # whether anything is known of attributes and items
        self.shared: set[str] = set()  # variables that an inner function writes (`nonlocal`), at any time
        self.aliases: dict[str, set[str]] = {}  # other names of the same object, by each of them

    def as_closure(self) -> Frame:
        """The frame, registered for `close`: it is in a reference cycle with the function or class that it binds."""
        self.analysis.closures.append(self)
        return self

    def close(self) -> None:
        """Drop all values, so that the frame is freed at once: the garbage collector is off during a run."""
        self.env, self.last_env, self.stores, self.tests, self.seen = None, {}, {}, {}, None
        self.breaks, self.continues, self.result, self.yielded = [], [], v.NOTHING, v.NOTHING

    def value(self, node: ast.expr) -> v.Value:
        return self.analysis.evaluate(self, node)

    def call(self, function: v.Value, arguments: v.Arguments) -> v.Value:
        return self.analysis.call_value(self, function, arguments)

    def item(self, value: v.Value) -> v.Value:
        return self.analysis.item_of(self, value)

    def fresh(self, reason: Reason) -> v.Unknown:
        """The result of an unknown call: without grad if grad mode is off."""
        return v.Unknown(reason, None, False if self.mode is False else None)

    def lookup(self, name: str) -> v.Value:
        """The value of a variable, here or in an enclosing scope."""
        frame: Frame | None = self
        while frame is not None:
            value = (frame.last_env if frame.env is None else frame.env).get(name)
            if value is not None:
                return value
            frame = frame.closure
        return self.analysis.names.global_value(self.module, name)

    def bind(self, path: str, value: v.Value) -> None:
        """Bind a variable or an attribute, and drop the known values of its parts."""
        env = self.env
        if env is None:
            return
        value = bounded(join(value, UNREAD) if path in self.shared else value)
        if self.analysis.tells_origins:
            value = self.begun(value)
        if self.has_paths and path in env:
            prefix = f"{path}."
            for key in [key for key in env if key.startswith(prefix)]:
                del env[key]
        env[path] = value
        if "." not in path:
            return
        self.has_paths = True
        if path.startswith("self.") and self.owner is not None and path.count(".") == 1:
            name = path[5:]
            before = self.stores.get(name)
            self.stores[name] = value if before is None else join(before, value)

    def changed(self, name: str) -> None:
        """Join the new value of a changed object into its aliases."""
        env = self.env or {}
        for other in self.aliases.get(name, ()):
            if other in env and name in env:
                self.bind(other, join(env[other], env[name]))

    def refine(self, path: str, value: v.Value) -> None:
        """Replace the value of a path by a narrower one; this counts as no store."""
        if self.env is not None:
            self.env[path] = value
            self.has_paths = self.has_paths or "." in path

    def begun(self, value: v.Value) -> v.Value:
        """The value with this line behind each fact that is new (for `tonumpy why`)."""
        return begun_at(value, self.module.filename, self.row) if self.row else value

    def leave(self) -> None:
        """Mark the following code unreachable, until paths join again."""
        if self.env is not None:
            self.last_env, self.env = self.env, None

    def habit(self, habit: str, message: str) -> Basis | None:
        return Spot(self.module.filename, self.row, self.analysis.disabled_habits).habit(habit, message)

    def named(self, value: v.Value, name: str, *, is_item: bool = False) -> v.Value:
        """The value with the habits of a name applied."""
        return habit_values.by_name(self, value, name, is_item=is_item)

    def as_data(self, value: v.Value) -> v.Value:
        return habit_values.as_data(self, value)


def place_of(node: ast.expr) -> str | None:
    """The path of a variable, an attribute, or an item under a literal key: `batch.['image']`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        inner = path_of(node.value)
        return None if inner is None else f"{inner}.[{node.slice.value!r}]"
    return path_of(node)


def join_env(first: Environment | None, second: Environment | None) -> Environment | None:
    """The join of two environments; attribute paths stay only if both have them."""
    if first is None or second is None:
        return second if first is None else first
    if first is second:
        return first
    joined = {}
    for name, value in first.items():
        other = second.get(name)
        if other is None:
            if "." not in name:
                joined[name] = value
        else:
            joined[name] = value if value is other or v.same(value, other) else join(value, other)
    for name, value in second.items():
        if name not in first and "." not in name:
            joined[name] = value
    return joined


UNREAD = v.Unknown(Reason.SYNTAX)
