"""From a function to its memory effects, statement by statement; loops are repeated until nothing new is found."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import names_in, parameter_names, path_of
from tonumpy.inference.memory.call_walk import CallWalk
from tonumpy.inference.memory.effects import Effects
from tonumpy.inference.memory.regions import Reference, References, place_of, shown_by
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.syntax import TRIES

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_PASSES = 4  # of a loop: what goes round it is settled after two, in a loop of loops after three


class Walk(CallWalk):
    """One run over a function, statement by statement."""

    def declare(self, arguments: ast.arguments) -> None:
        """What the annotations of parameters say of their classes."""
        for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            cls = None if each.annotation is None else self.functions.class_named(path_of(each.annotation))
            if cls is not None:
                self.objects[each.arg] = cls

    def run(self, body: Sequence[ast.stmt]) -> None:
        self.block(body)
        if self.is_reached:
            self.leave()

    def leave(self) -> None:
        """What an object keeps at the end is there to be read."""
        self.ends.append(self.memory.names)
        for place, references in self.memory.names.items():
            if place[0] == "self" and len(place) > 1:
                self.memory.note(references, 0, "".join(place))

    def effects(self, node: ast.FunctionDef) -> Effects:
        """What it does, as the function `node`, to what it is given."""
        parameters = () if self.is_generator else parameter_names(node.args)
        on_models = frozenset(() if self.is_generator else self.on_models)

        def seen(references: References) -> References:
            return frozenset(each._replace(written=None) for each in references if each.memory[0] in parameters)

        attributes = {
            place: seen(held)
            for place, held in self.memory.joined(self.ends).items()
            if place[0] in parameters and len(place) > 1 and held != frozenset((Reference(place),))
        }
        return Effects(
            seen(self.returned),
            frozenset(each for each in self.memory.written if each.memory[0] in parameters),
            {place: held for place, held in attributes.items() if place in self.memory.rebound},
            {place: held for place, held in attributes.items() if place not in self.memory.rebound},
            on_models,
            frozenset(names_in(node).difference(parameters) if on_models else ()),
        )

    def block(self, body: Sequence[ast.stmt]) -> None:
        before = self.memory.branch.shown
        for statement in body:
            if not self.is_reached:
                break
            self.statement(statement)
        self.memory.branch.shown = before

    def statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            references = self.value(statement.value)
            for target in statement.targets:
                self.bind(target, references, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self.bind(statement.target, self.value(statement.value), statement.value)
        elif isinstance(statement, ast.AugAssign):
            self.augment(statement)
        elif isinstance(statement, (ast.Expr, ast.Return)):
            references = self.value(statement.value)
            if isinstance(statement, ast.Return):
                self.returned |= references
                self.leave()
                self.is_reached = False
        elif isinstance(statement, ast.If):
            self.value(statement.test)
            self.branches(statement.body, statement.orelse, test=statement.test)
        elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            self.loop(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                references = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, references, item.context_expr)
            self.block(statement.body)
        elif isinstance(statement, TRIES):
            self.branches([*statement.body, *statement.orelse], *(handler.body for handler in statement.handlers))
            self.block(statement.finalbody)
        elif isinstance(statement, ast.Match):
            self.value(statement.subject)
            self.branches([], *(case.body for case in statement.cases))
        elif isinstance(statement, (ast.Break, ast.Continue)):
            if self.left:
                self.left[-1].append(self.memory.names)
            self.is_reached = False
        elif isinstance(statement, ast.Raise):
            self.is_reached = False
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self.memory.names.pop(place_of(target) or (), None)

    def augment(self, statement: ast.AugAssign) -> None:
        given = self.value(statement.value)
        place = place_of(statement.target)
        if place is None or place not in self.memory.containers:
            self.memory.write(self.assigned(statement.target), statement.lineno)
        else:
            self.memory.hold(place, self.memory.of(place) | given)

    def branches(self, *blocks: Sequence[ast.stmt], test: ast.expr | None = None) -> None:
        """`test` leads to the first, or else the second; where only one goes on, what it shows holds from then on."""
        before, here, ends, shown = self.memory.names, self.memory.branch.shown, [], []
        for number, block in enumerate(blocks):
            self.memory.names, self.is_reached = dict(before), True
            self.memory.branch.shown = here if test is None else here | shown_by(test, number == 0)
            if test is not None:
                self.forget_types(test)
            self.block(block)
            if self.is_reached:
                ends.append(self.memory.names)
                shown.append(self.memory.branch.shown)
        self.is_reached = bool(ends)
        self.memory.names = self.memory.joined(ends)
        self.memory.branch.shown = frozenset.intersection(*shown) if shown else here

    def loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        """What is gone through counts as not empty: else nothing that a loop binds would ever be bound anew."""
        for number in range(MAX_PASSES):
            before, self.memory.names = self.memory.names, dict(self.memory.names)
            self.left.append([before] if number or isinstance(statement, ast.While) else [])
            if isinstance(statement, ast.While):
                self.value(statement.test)
            else:
                loop = (statement.lineno, statement.col_offset)
                self.enter(loop, statement.target, statement.iter, is_entered=number == 0)
            self.block(statement.body)
            ends = self.left.pop()
            if self.is_reached:
                ends.append(self.memory.names)
            self.is_reached = True
            self.memory.names = self.memory.joined(ends or [before])
            if self.memory.names == before:
                break
        self.block(statement.orelse)
