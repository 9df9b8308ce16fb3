"""Slices: the statements of a function's body that an answer depends on.

A program slice (Weiser, "Program Slicing", 1981): what is asked for is followed backwards through the statements. One
that gives a name a new value counts if the value is read further down; one that changes an object in place, and any in
a loop, if what is read further down may hang together with it, in whatever order.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge.grad_contexts import GRAD_SETTERS
from tonumpy.engine.names.bindings import (
    OBJECTS,
    asks_for_class,
    calls_super,
    defaults_of,
    filled_by,
    handed_out,
    moved_when_made,
    names_given,
    names_in,
    root_name,
)
from tonumpy.engine.names.changes import changes_apart, names_changed
from tonumpy.engine.names.def_use import LIBRARIES, def_use_of
from tonumpy.engine.names.syntax_lowering import Lowered
from tonumpy.engine.names.torch_words import changes_module_in_place
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES, blocks_of, statements_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.engine.names.def_use import DefUse

_NONE: frozenset[str] = frozenset()
_NO_USE = Lowered()  # of what cannot be run: `global`
_LOOPS = (ast.For, ast.AsyncFor, ast.While)
_ATTRIBUTES = tuple(f"{name}." for name in OBJECTS)
# What holds from there on, or ends the program, or leaves something in layers: `self.forward(x)`, `self(x)`.
_STATE_CHANGERS = (*GRAD_SETTERS, "enter_context", "exit")


class Slice(NamedTuple):
    """What of a body must be run."""

    names: frozenset[str]  # all that what is asked for may depend on
    statements: frozenset[int] | None = None  # the ids of those that must be run; None: all that concern the names
    wants_result: bool = True  # whether it matters what is returned and yielded
    unread: frozenset[int] = frozenset()  # the ids of those that are asked for, while what they do is read nowhere


class Part(NamedTuple):
    """A call inside a statement that changes objects, while the statement itself gives what it makes a name."""

    changes: frozenset[str]
    reads: frozenset[str]


class Step(NamedTuple):
    """One statement."""

    statement: int  # its id
    rebinds: frozenset[str]  # the names (or attributes of `self`) that it gives a new value
    changes: frozenset[str] = _NONE  # those whose object it may change, but by its parts
    reads: frozenset[str] = _NONE
    tested: frozenset[str] = _NONE  # what decides whether the statements inside it are run
    always: bool = False  # it may leave the function or a loop, or changes what holds for all that follows
    gives_result: bool = False
    calls_own: bool = False  # it calls a method of its object, which may write attributes
    moves_own: bool = False  # `self.to(device)`
    is_loop: bool = False
    parts: tuple[Part, ...] = ()
    blocks: tuple[tuple[Step, ...], ...] = ()  # in the order in which they may be run


class Slicer:
    """The slices of one body, each worked out once."""

    def __init__(self, node: FunctionNode | ast.ClassDef | ast.Module) -> None:
        self.flow = def_use_of(node)
        self._steps = _steps_of(node.body, self.flow)
        self._inner = _read_by_inner(node.body, self.flow)
        self._making_lambdas = {
            key: frozenset(each.root for each in use.stores) for key, use in self.flow.uses.items() if use.makes_lambda
        }
        self._known: dict[tuple[frozenset[str], bool], Slice] = {}

    def at_end(self, names: Iterable[str], *, wants_result: bool = False) -> Slice:
        """For what the names may ever hold, asked for when the function has returned, and for what it returns."""
        key = (frozenset(names), wants_result)
        known = self._known.get(key)
        if known is None:
            search = _Search(self.flow, self._inner, wants_result=wants_result)
            search.ask_for(key[0])
            known = self._known[key] = search.back_through(self._steps)
        return known

    def at(self, statements: frozenset[int], names: Iterable[str], bound: Iterable[str] = ()) -> Slice:
        """For what the names hold where these statements are run; of those that are `bound`, for what they were given
        alone, whatever has been done to it since."""
        if not self._making_lambdas.keys().isdisjoint(statements):
            # They are run wherever the lambda is called, with what is read there.
            held = {name for statement in statements for name in self._making_lambdas.get(statement, ())}
            called_with = [use.reads for use in self.flow.uses.values() if not held.isdisjoint(use.reads)]
            return Slice(self.flow.sources_of(frozenset(names).union(bound, *called_with)))
        search = _Search(self.flow, self._inner, statements, frozenset(names), frozenset(bound))
        return search.back_through(self._steps)


class _Search:
    """One way backwards."""

    def __init__(
        self,
        flow: DefUse,
        inner: dict[str, frozenset[str]],
        targets: frozenset[int] = frozenset(),
        asked_there: frozenset[str] = _NONE,
        bound_there: frozenset[str] = _NONE,
        *,
        wants_result: bool = False,
    ) -> None:
        self._sources = flow.sources
        self._inner = inner
        self._targets = targets
        self._asked_there = asked_there
        self._bound_there = bound_there
        self._wants_result = wants_result
        self._live: set[str] = set()  # what is read further down
        self._related: set[str] = set()  # and all that may hang together with it
        self._kept: set[int] = set()
        self._unread: set[int] = set()
        self._asked_in_loops: list[Step] = []
        self._begun = wants_result  # whether anything further down is of interest
        self._in_loop = False
        self._has_own = False  # whether `self` or an attribute of it is read further down
        self.ask_for(flow.setting_mode)

    def back_through(self, steps: Sequence[Step]) -> Slice:
        self._block(steps)
        self._unread.update(step.statement for step in self._asked_in_loops if not self._is_read(step, self._related))
        return Slice(frozenset(self._live), frozenset(self._kept), self._wants_result, frozenset(self._unread))

    def ask_for(self, names: Iterable[str]) -> None:
        waiting: set[str] | frozenset[str] = set(names)
        self._read(waiting)
        while waiting := waiting - self._related:
            self._related |= waiting
            # An inner function may be called at any time, and reads what its variables hold then.
            inner = _NONE.union(*(self._inner[name] for name in waiting if name in self._inner))
            self._read(inner)
            waiting = inner.union(*(self._sources[name] for name in waiting if name in self._sources))

    def _read(self, names: Collection[str]) -> None:
        self._live.update(names)
        self._has_own = self._has_own or any(name in OBJECTS or name.startswith(_ATTRIBUTES) for name in names)

    def _block(self, steps: Sequence[Step]) -> bool:
        """Whether any of them is kept."""
        kept = [self._step(step) for step in reversed(steps)]
        return any(kept)

    def _step(self, step: Step) -> bool:
        keep = step.statement in self._targets
        if keep:
            if self._in_loop:
                self._asked_in_loops.append(step)  # what comes round the loop may read what it does
            elif not self._is_read(step, self._live):
                self._unread.add(step.statement)
            self.ask_for(self._asked_there)
            self._live |= self._bound_there
            self._asked_there = self._bound_there = _NONE  # nothing is ever taken back, so once is enough
            self._begun = True
        if step.blocks and self._blocks(step):
            self.ask_for(step.tested)
            keep = True
        if step.always and self._begun:
            keep = True
            if self._wants_result and step.gives_result:
                self.ask_for(step.reads)
        touched = step.rebinds | step.changes
        concerned = (
            touched & self._related if self._in_loop else (step.rebinds & self._live) | (step.changes & self._related)
        )
        if concerned:
            keep = True
            self.ask_for(touched & self._related)
            self.ask_for(step.reads)
            self._wants_result = self._wants_result or step.gives_result
        else:
            for part in step.parts:
                if not part.changes.isdisjoint(self._related):
                    keep = True
                    self.ask_for(part.changes & self._related)
                    self.ask_for(part.reads)
            if step.calls_own and self._has_own:
                keep = True
                if step.moves_own:
                    self.ask_for(step.reads)
        if keep:
            self._kept.add(step.statement)
            self._begun = True
        return keep

    def _is_read(self, step: Step, rebound: set[str]) -> bool:
        """Whether anything depends on what a statement does, or gives one of the names `rebound`."""
        changes = step.changes.union(*(part.changes for part in step.parts))
        is_read = step.rebinds & rebound or changes & self._related or (step.calls_own and self._has_own)
        changes_flow = step.always and not step.gives_result
        wants_result = step.gives_result and self._wants_result
        return bool(step.blocks or is_read or changes_flow or wants_result)

    def _blocks(self, step: Step) -> bool:
        outermost = step.is_loop and not self._in_loop
        self._in_loop = self._in_loop or outermost
        kept = [self._block(block) for block in reversed(step.blocks)]
        if outermost and any(kept):
            # What one round reads the one before it may have made.
            self.ask_for(step.tested)
            for block in reversed(step.blocks):
                self._block(block)
        self._in_loop = self._in_loop and not outermost
        return any(kept)


def _steps_of(body: Sequence[ast.stmt], flow: DefUse) -> tuple[Step, ...]:
    return tuple(_step_of(statement, flow) for statement in body)


def _step_of(statement: ast.stmt, flow: DefUse) -> Step:
    if isinstance(statement, SCOPES):
        reads = frozenset(flow.sources.get(statement.name, _NONE))
        defaults = defaults_of(statement.args) if flow.is_function and isinstance(statement, FUNCTIONS) else ()
        fillers = (each for _, default in defaults for each in handed_out(default))  # `def log(loss, add=rows.append)`
        filled = frozenset(filter(None, map(filled_by, fillers)))
        return Step(id(statement), rebinds=frozenset((statement.name,)), changes=filled, reads=reads)
    use = flow.uses.get(id(statement), _NO_USE)
    rebinds = {each.root for each in use.stores if each.rebinds}
    changes = {each.root for each in use.stores if each.how == "augmented" or not each.rebinds}
    reads = use.reads
    parts: tuple[Part, ...] = ()
    if use.calls and isinstance(statement, ast.Return):
        changes |= use.reads  # whatever is called may change what it is given
    elif isinstance(statement, ast.Assign):
        reads -= rebinds - names_in(statement.value)
        changes.update(filter(None, map(filled_by, handed_out(statement.value))))
        parts = tuple(
            Part(frozenset(names - rebinds), frozenset(names_in(part)))  # but not of `x = x.to(device)`
            for part, names in changes_apart(statement.value, use).items()
        )
    else:
        changes.update(name for name in names_changed(use) if name not in rebinds)
    if isinstance(statement, ast.AnnAssign) and statement.value is not None:
        changes.update(filter(None, map(filled_by, handed_out(statement.value))))
    if rebinds and not isinstance(statement, ast.Return):
        changes.update(name for call in use.calls for name in moved_when_made(call))
    gives_result = use.yields or isinstance(statement, ast.Return)
    call = _call_in(statement)
    always = gives_result or isinstance(statement, (ast.Raise, ast.Assert, ast.Break, ast.Continue))
    if isinstance(statement, ast.Expr) and call is not None:
        changes.update(names_given(call))
        root = root_name(call.func) if isinstance(call.func, ast.Attribute) else None
        if root is not None and (root not in LIBRARIES or root in flow.times_bound):
            changes.add(root)
        always = always or last_name(call.func) in _STATE_CHANGERS
    elif call is not None:
        always = always or asks_for_class(call)
    changes |= flow.filled.get(id(statement), _NONE)
    if flow.closures is not None:
        changes |= flow.closures.at.get(id(statement), _NONE)
    return Step(
        id(statement),
        frozenset(rebinds),
        frozenset(changes),
        reads,
        frozenset(_names_tested(statement)),
        always,
        gives_result,
        call is not None and isinstance(call.func, ast.Attribute) and _is_own(call.func),
        call is not None and moves_own_module(call),
        isinstance(statement, _LOOPS),
        parts,
        tuple(_steps_of(block, flow) for block in blocks_of(statement)),
    )


def _is_own(method: ast.Attribute) -> bool:
    return root_name(method.value) in OBJECTS or calls_super(method)


def moves_own_module(call: ast.Call) -> bool:
    """`self.to(device)`"""
    function = call.func
    if not isinstance(function, ast.Attribute) or not changes_module_in_place(function.attr):
        return False
    return isinstance(function.value, ast.Name) and function.value.id in OBJECTS


def _some(name: str | None) -> tuple[str, ...]:
    return () if name is None else (name,)


def _call_in(statement: ast.stmt) -> ast.Call | None:
    """The call that a statement consists of, or whose result it assigns."""
    if not isinstance(statement, (ast.Expr, ast.Assign)):
        return None
    value = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
    return value if isinstance(value, ast.Call) else None


def _names_tested(statement: ast.stmt) -> Iterator[str]:
    """What may be known of a test: of names, attributes and items that are compared or asked for their class; and of
    the dtype that a block is computed in."""
    if isinstance(statement, (ast.If, ast.While)):
        yield from _operands(statement.test)
    elif isinstance(statement, ast.Match):
        yield from names_in(statement.subject)
        for case in statement.cases:
            if case.guard is not None:
                yield from _operands(case.guard)
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "autocast":
                yield from names_in(item.context_expr)


def _operands(test: ast.expr) -> Iterator[str]:
    if isinstance(test, ast.BoolOp):
        for part in test.values:
            yield from _operands(part)
    elif isinstance(test, ast.UnaryOp):
        yield from _operands(test.operand)
    elif isinstance(test, ast.Compare):
        for part in (test.left, *test.comparators):
            yield from _operands(part)
    elif isinstance(test, ast.NamedExpr):
        yield test.target.id
    elif isinstance(test, ast.Call):
        yield from _operands(test.func)
        if test.args and (asks_for_class(test) or last_name(test.func) == "hasattr"):
            yield from _operands(test.args[0])
            yield from (name for cls in test.args[1:] for name in names_in(cls))  # the function may import it itself
    else:
        yield from _some(root_name(test))


def _read_by_inner(body: list[ast.stmt], flow: DefUse) -> dict[str, frozenset[str]]:
    """The names that inner functions read, by the names under which these are known."""
    found: dict[str, frozenset[str]] = {}
    for statement in statements_of(body):
        if isinstance(statement, SCOPES):
            found[statement.name] = frozenset(flow.sources.get(statement.name, _NONE))
    for use in flow.uses.values():
        for each in use.stores if use.makes_lambda else ():
            found[each.root] = found.get(each.root, _NONE) | use.reads
    return found
