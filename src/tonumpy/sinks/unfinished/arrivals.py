"""From a function to the places where a tensor is read on the host before its copy is known to have arrived.

A forward walk over the statements: which names hold the result of an asynchronous copy, and which of these copies no
synchronisation has finished. What blocks on another tensor of the same stream finishes them too. Where a branch may
have waited, the other may not.
"""

from __future__ import annotations

import ast
import re
from itertools import chain, islice
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import root_name
from tonumpy.sinks.unfinished import parts
from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.sinks.unfinished.arrival_calls import Calls
from tonumpy.sinks.unfinished.arrival_expressions import MAX_NODES
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES
from tonumpy.sinks.unfinished.views import is_waited_for
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, TRIES, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from typing import Any

    from tonumpy.sinks.unfinished.arrival_state import Copies, Copy, State
    from tonumpy.sinks.unfinished.homes import Home
    from tonumpy.text.candidates import Scope


_NOTHING: Mapping[str, Copies] = {}


class Walk(Calls):
    """One function, or a module's own body. `left_by` are the copies that inner functions leave in names of others."""

    def __init__(self, home: Home, left_by: Mapping[ast.AST, Mapping[str, Copies]]) -> None:
        super().__init__(home)
        self._left_by = left_by

    def run(self, scopes: tuple[Scope, ...], copied: frozenset[str], held: Mapping[str, Copies] = _NOTHING) -> None:
        """`copied` are the names of what is copied to the host anywhere in the function, and `held` copies that its
        object holds when it is called: whether something has waited for these is not known."""
        self._scopes, self._copied = scopes, copied
        self._state.on_device |= copied
        self._state.names.update(held)
        for name in held:
            self._note_owner(name)
        self._state.pending.update((each.itself, True) for each in chain.from_iterable(held.values()))
        self._block(scopes[-1].body)

    def kept_outside(self) -> dict[str, Copies]:
        """The copies that are on their way where the function ends, by the attributes of its object and the names of
        the module and of the function around that hold them."""
        around = [self._scopes[:1], self._scopes[:-1]]
        ends = [*self._returns, *([self._state] if self._is_reached else [])]
        found: dict[str, Copies] = {}
        for end in ends:
            for name, held in end.names.items():
                left = frozenset(each for each in held if each.itself in end.pending)
                if left and (
                    name.startswith("self.")
                    or any(self._home.is_shared(name, self._scopes, each) for each in around if each)
                ):
                    found[name] = found.get(name, NO_COPIES) | left
        return found

    def kept_by_records(self) -> dict[ast.Call, dict[str, Copies]]:
        """The copies that are on their way where the function ends, by the calls that make records of them; none for a
        field of which they have arrived."""
        ends = [*self._returns, *([self._state] if self._is_reached else [])]
        pending = {copy._replace(is_old=False) for each in ends for copy in each.pending}
        found: dict[ast.Call, dict[str, Copies]] = {}
        for call, fields in self.records_made.items():
            found[call] = {
                name: frozenset(each for each in held if each.itself._replace(is_old=False) in pending)
                for name, held in fields.items()
            }
        return found

    def _block(self, body: Iterable[ast.stmt]) -> None:
        body = list(body)
        for at, statement in enumerate(body):
            if not self._is_reached or self._looked_at > MAX_NODES:
                return
            self._statement = statement
            if is_waited_for(statement, islice(body, at + 1, None)):
                self._view(statement)
            else:
                self._do(statement)

    def _view(self, statement: ast.stmt) -> None:
        """An array that is made of a copy, and is read when that has arrived: a name for the same memory."""
        assert isinstance(statement, ast.Assign)
        made = statement.value
        assert isinstance(made, ast.Call)
        assert isinstance(made.func, ast.Attribute)
        for target in statement.targets:
            self._bind(target, self._value(made.func.value), made)

    def _do(self, statement: ast.stmt) -> None:
        step = _STEPS.get(type(statement))
        if step is not None:
            step(self, statement)

    def _assign(self, statement: ast.Assign) -> None:
        held = self._value(statement.value)
        for target in statement.targets:
            self._bind(target, held, statement.value)

    def _assign_annotated(self, statement: ast.AnnAssign) -> None:
        if statement.value is not None:
            self._bind(statement.target, self._value(statement.value), statement.value)

    def _assign_in_place(self, statement: ast.AugAssign) -> None:
        held, before = self._value(statement.value), self._value(statement.target)
        if isinstance(statement.value, (ast.List, ast.Tuple)):
            self._hold(root_name(statement.target), held)
        else:
            self._read(held | before, statement.value if held else statement.target)

    def _return(self, statement: ast.Return) -> None:
        if statement.value is not None:
            self._returned |= self._value(statement.value)
        self._returns.append(self._state.copied())
        self._is_reached = False

    def _if(self, statement: ast.If) -> None:
        self._test(statement.test)
        if (decided := self._decided(statement.test)) is not None:
            self._block(statement.body if decided else statement.orelse)
        elif not statement.orelse and self._is_about_copies(statement.test):
            self._only_branch(statement.body)
        else:
            self._branches(statement.body, statement.orelse)

    def _try(self, statement: ast.Try) -> None:
        self._branches([*statement.body, *statement.orelse], *(each.body for each in statement.handlers))
        self._block(statement.finalbody)

    def _match(self, statement: ast.Match) -> None:
        self._value(statement.subject)
        self._branches([], *(case.body for case in statement.cases))

    def _leave_round(self, _: ast.Break | ast.Continue) -> None:
        self._left.append(self._state.copied())
        self._is_reached = False

    def _define(self, statement: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        """What a function that is handed on, as a hook is, will leave in names of this one, at some time."""
        left = self._left_by.get(statement, {})
        if left and statement.name in self._home.called_in(self._scopes[-1]):
            return  # it is followed where it is called
        for name, held in left.items():
            if not name.startswith("self.") and self._home.is_shared(name, (*self._scopes, statement), self._scopes):
                self._hold(name, held)
                self._state.pending.update((each.itself, True) for each in held)

    def _raise(self, _: ast.Raise) -> None:
        self._is_reached = False

    def _assert(self, statement: ast.Assert) -> None:
        self._test(statement.test)

    def _expression(self, statement: ast.Expr) -> None:
        self._value(statement.value)

    def _delete(self, statement: ast.Delete) -> None:
        for target in statement.targets:
            self._state.names.pop(path_of(target) or "", None)

    def _branches(self, *blocks: Iterable[ast.stmt]) -> None:
        before = self._state
        ends: list[State] = []
        for block in blocks:
            self._state, self._is_reached = before.copied(), True
            self._block(block)
            if self._is_reached:
                ends.append(self._state)
        self._is_reached = bool(ends)
        if ends:
            self._state = ends[0]
            for each in ends[1:]:
                self._state.join(each)

    def _is_about_copies(self, test: ast.expr) -> bool:
        """Whether a test is of a device, a stream or an event, or of a flag that is set in sight: where it fails, there
        has been no copy."""
        parts = [node for node in walk(test) if isinstance(node, (ast.Name, ast.Attribute, ast.Constant))]
        names = {part for node in parts for part in re.split(r"\W|_", _word_of(node).lower())}
        return not names.isdisjoint(words.OF_DEVICES) or any(
            isinstance(node, ast.Name) and node.id in self._flags for node in parts
        )

    def _only_branch(self, body: list[ast.stmt]) -> None:
        """What it has waited for is waited for."""
        before = self._state
        self._state = before.copied()
        self._block(body)
        if self._is_reached:
            finished = before.pending.keys() - self._state.pending.keys()
            before.join(self._state)
            for copy in finished:
                del before.pending[copy]
        self._state, self._is_reached = before, True

    def _loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        around, self._left = self._left, []
        if isinstance(statement, ast.While):
            self._test(statement.test)
        held = NO_COPIES if isinstance(statement, ast.While) else self._iterable(statement.iter)
        before = self._state.copied()
        for _ in range(2):
            if not isinstance(statement, ast.While):
                self._bind_loop(statement.target, held, statement.iter)
            self._block(statement.body)
            if self._is_reached:
                if isinstance(statement, ast.While):
                    self._test(statement.test)
                self._left.append(self._state.copied())
            self._is_reached = True
            self._state = before.copied()
            for each in self._left:
                self._state.join(each)
            self._grow_old()
            held |= {each._replace(is_old=True) for each in held}
        self._went_on(held)
        self._left = around
        self._block(statement.orelse)

    def _grow_old(self) -> None:
        """What the next round makes is no copy of this one's."""
        state = self._state
        for name, copies in state.names.items():
            state.names[name] = frozenset(each._replace(is_old=True) for each in copies)
        pending: dict[Copy, bool] = {}
        for each, doubt in state.pending.items():
            old = each._replace(is_old=True)
            pending[old] = pending.get(old, False) or doubt
        state.pending = pending

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        entered = 0
        for item in statement.items:
            held = self._value(item.context_expr)
            context = item.context_expr
            if isinstance(context, ast.Call) and last_name(context.func) == "stream" and context.args:
                self._streams.append(path_of(context.args[0]) or "a stream")
                entered += 1
            if item.optional_vars is not None:
                given = parts.iterated(held) if any(each.is_ahead for each in held) else held
                self._bind(item.optional_vars, self._drawn(given), context)
        self._block(statement.body)
        del self._streams[len(self._streams) - entered :]
        for item in statement.items:
            self._leave_context(item.context_expr)

    def _leave_context(self, context: ast.expr) -> None:
        """A context manager may wait when it is left: one in sight by its text, another in doubt, but for torch's."""
        if not isinstance(context, ast.Call):
            return
        left = self._home.functions.get((path_of(context.func) or "", "__exit__"))
        helper = left or self._home.called(context.func, self._scopes)
        if helper is not None and self._home.waits(helper):
            self._state.pending.clear()
        elif helper is None and not self._is_module(context.func) and last_name(context.func) not in words.CONTEXTS:
            self._doubt()


# What a walk does at a statement of each kind; at others nothing, as at the body of a nested function.
_STEPS: dict[type[ast.stmt], Callable[[Walk, Any], None]] = {
    ast.Assign: Walk._assign,
    **dict.fromkeys(FUNCTIONS, Walk._define),
    ast.AnnAssign: Walk._assign_annotated,
    ast.AugAssign: Walk._assign_in_place,
    ast.Return: Walk._return,
    ast.If: Walk._if,
    **dict.fromkeys((ast.For, ast.AsyncFor, ast.While), Walk._loop),
    **dict.fromkeys((ast.With, ast.AsyncWith), Walk._with),
    **dict.fromkeys(TRIES, Walk._try),
    ast.Match: Walk._match,
    **dict.fromkeys((ast.Break, ast.Continue), Walk._leave_round),
    ast.Raise: Walk._raise,
    ast.Assert: Walk._assert,
    ast.Expr: Walk._expression,
    ast.Delete: Walk._delete,
}


def _word_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else ""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
