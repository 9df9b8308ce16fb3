"""From a function to the memory that its names refer to, statement by statement, and to its effects on its parameters.

What is not followed is forgotten: a value that is not plainly a view, a conversion or what a name holds is new memory.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import names_in, parameter_names
from tonumpy.inference.memory.call_walk import CallWalk
from tonumpy.inference.memory.effects import Effects
from tonumpy.inference.memory.regions import NOTHING, Reference, References, place_of
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import TRIES, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

_MAX_PASSES = 3  # of a loop
_ASKING_FOR_TYPE = frozenset("type isinstance hasattr is_tensor issubclass".split())


class Walk(CallWalk):
    """One run over a function, statement by statement."""

    # The function as a whole.

    def run(self, body: Sequence[ast.stmt], arguments: ast.arguments | None) -> None:
        for each in () if arguments is None else (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            cls = None if each.annotation is None else self.functions.class_named(path_of(each.annotation))
            if cls is not None:
                self.objects[each.arg] = cls
        self.block(body)
        if self.is_reached:
            self.leave()

    def leave(self) -> None:
        """What an object keeps at the end is there to be read."""
        self.ends.append(dict(self.memory.names))
        for place, references in self.memory.names.items():
            if place[0] == "self" and len(place) > 1:
                self.memory.note(references, 0, "".join(place))

    def effects(self, node: ast.FunctionDef) -> Effects:
        """What it does, as the function `node`, to what it is given."""
        parameters = () if self.is_generator else parameter_names(node.args)
        on_models = frozenset(() if self.is_generator else self.on_models)

        def seen(references: References) -> References:
            return frozenset(each._replace(written=None) for each in references if each.memory[0] in parameters)

        held = {
            place: seen(references)
            for place, references in self.memory.joined(self.ends).items()
            if place[0] in parameters and len(place) > 1 and references != frozenset((Reference(place),))
        }
        returned = (each for each in statements_of(node.body) if isinstance(each, ast.Return))
        gives_value = any(each.value is not None for each in returned)
        return Effects(
            seen(self.returned),
            frozenset(each for each in self.memory.written if each.memory[0] in parameters),
            frozenset(each for each in self.memory.converted if each.memory[0] in parameters and gives_value),
            held,
            frozenset(self.memory.rebound),
            on_models,
            frozenset(names_in(node).difference(parameters) if on_models else ()),
        )

    # Statements.

    def block(self, body: Sequence[ast.stmt]) -> None:
        before = self.memory.path
        for statement in body:
            if not self.is_reached:
                break
            self.statement(statement)
        self.memory.path = before

    def statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            references = self.value(statement.value)
            for target in statement.targets:
                self.bind(target, references, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self.bind(statement.target, self.value(statement.value), statement.value)
        elif isinstance(statement, ast.AugAssign):
            given, place = self.value(statement.value), place_of(statement.target)
            if place is not None and place in self.memory.containers:
                self.memory.hold(place, self.memory.of(place) | given)
            else:
                self.memory.write(self.assigned(statement.target), statement.lineno)
        elif isinstance(statement, (ast.Expr, ast.Return)):
            references = self.value(statement.value)
            if isinstance(statement, ast.Return):
                self.returned |= references
                self.leave()
                self.is_reached = False
        elif isinstance(statement, ast.If):
            self.value(statement.test)
            self.branches(statement, statement.body, statement.orelse)
        elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            self.loop(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                references = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, references, item.context_expr)
            self.block(statement.body)
        elif isinstance(statement, TRIES):
            handlers = (handler.body for handler in statement.handlers)
            self.branches(statement, [*statement.body, *statement.orelse], *handlers)
            self.block(statement.finalbody)
        elif isinstance(statement, ast.Match):
            self.value(statement.subject)
            self.branches(statement, [], *(case.body for case in statement.cases))
        elif isinstance(statement, (ast.Break, ast.Continue, ast.Raise)):
            if self.left and not isinstance(statement, ast.Raise):
                self.left[-1].append(self.memory.names)
            self.is_reached = False
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self.memory.names.pop(place_of(target) or (), None)

    def branches(self, statement: ast.stmt, *blocks: Sequence[ast.stmt]) -> None:
        """Where only one goes on, what follows stands in it, too."""
        before, path, ends, went_on = self.memory.names, self.memory.path, [], []
        for number, block in enumerate(blocks):
            self.memory.names, self.is_reached = dict(before), True
            self.memory.path = (*path, (id(statement), number))
            if isinstance(statement, ast.If):
                self.forget_types(statement.test)
            self.block(block)
            if self.is_reached:
                ends.append(self.memory.names)
                went_on.append(number)
        self.is_reached = bool(ends)
        self.memory.names = self.memory.joined(ends)
        self.memory.path = (*path, (id(statement), went_on[0])) if len(went_on) == 1 < len(blocks) else path

    def loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        """What is gone through counts as not empty: else nothing that a loop binds would ever be bound anew."""
        for number in range(_MAX_PASSES):
            before, self.memory.names = self.memory.names, dict(self.memory.names)
            self.left.append([before] if number or isinstance(statement, ast.While) else [])
            if isinstance(statement, ast.While):
                self.value(statement.test)
            else:
                self.take((statement.lineno, statement.col_offset), statement.target, statement.iter)
            self.block(statement.body)
            ends = self.left.pop()
            if self.is_reached:
                ends.append(self.memory.names)
            self.is_reached = True
            self.memory.names = self.memory.joined(ends or [before])
            if self.memory.names == before:
                break
        self.block(statement.orelse)

    def forget_types(self, test: ast.expr) -> None:
        """What is asked for its type is an array on one way and a tensor on the other: nothing is said of it then."""
        for call in (each for each in walk(test) if isinstance(each, ast.Call) and each.args):
            name, place = last_name(call.func) or "", place_of(call.args[0])
            asks = name in _ASKING_FOR_TYPE or name.lstrip("_").startswith("is_")  # `is_numpy_array(x)`
            if asks and place is not None and place not in self.memory.containers:
                self.memory.hold(place, NOTHING)
