"""From a function to the memory that its names refer to, statement by statement, and to its effects on its parameters.

What is not followed is forgotten: a value that is not plainly a view, a conversion or what a name holds is new memory.
"""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import arguments_of, given_to, names_in, parameter_names, path_of
from tonumpy.inference.knowledge.chains import Role, chain_of
from tonumpy.inference.memory.effects import (
    METHODS_OF_ARRAYS,
    Effects,
    clips,
    effect_on_models,
    has_optimizer,
    writes_itself,
    written_arguments,
)
from tonumpy.inference.memory.expression_walk import (
    LIBRARIES,
    PARAMETER_METHODS,
    PLAIN,
    VIEWS_AND_COPIES,
    ExpressionWalk,
)
from tonumpy.inference.memory.regions import (
    GRAD,
    NOTHING,
    PARAMETERS,
    Reference,
    References,
    is_parameter,
    module_of,
    place_of,
    selected,
)
from tonumpy.inference.memory.sharers import converted_by, shares
from tonumpy.inference.memory.state import NEW
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import TRIES, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tonumpy.inference.memory.effects import EffectOnModels
    from tonumpy.inference.memory.regions import Memory, Place

MAX_DEPTH = 3  # of calls, from the function that is called or to those who call
_MAX_PASSES = 3  # of a loop
_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_PASSING = frozenset(
    "list tuple reversed enumerate zip iter sorted memoryview from_numpy as_tensor asarray asanyarray".split()
)
_ASKING_FOR_TYPE = frozenset("type isinstance hasattr is_tensor issubclass".split())


class Walk(ExpressionWalk):
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
        return Effects(
            seen(self.returned),
            frozenset(each for each in self.memory.written if each.memory[0] in parameters),
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

    # Calls.

    def call(self, call: ast.Call) -> References:
        """What a call gives, once it has had its effect."""
        side = self.functions.conversions.get(call)
        if side is not None:
            source = converted_by(call)
            references = self.value(source)
            for argument in arguments_of(call):
                if argument is not source:
                    self.value(argument)
            if side == "tensor":
                self.memory.arrays.update(each.memory[:1] for each in references if each.side is None)
            made = (each.converted(call, side, self.memory.path) for each in references if shares(call, each))
            return frozenset(each for each in made if each is not None)
        followed = self.follow(call)
        if followed is not None:
            return followed
        if isinstance(call.func, ast.Attribute):
            return self.method(call, call.func)
        name = call.func.id if isinstance(call.func, ast.Name) else None
        if name == "len":
            return NOTHING
        if name is None:
            self.value(call.func)
        given = self.arguments(call)
        self.effect(call, given)
        return NOTHING.union(*given) if name in _PASSING else NOTHING

    def arguments(self, call: ast.Call) -> list[References]:
        given = [self.value(argument) for argument in arguments_of(call)]
        self.handed.update(each.memory[0] for references in given for each in references)
        return given

    def follow(self, call: ast.Call) -> References | None:
        """What a function of the module gives back, once it has had its effect; None for any other."""
        nodes = arguments_of(call)
        is_spread = any(keyword.arg is None for keyword in call.keywords) or any(
            isinstance(node, ast.Starred) for node in nodes
        )
        is_local = isinstance(call.func, ast.Name) and (call.func.id,) in self.memory.names
        if self.depth >= MAX_DEPTH or is_spread or is_local:
            return None
        callee = self.functions.callee(call, self.owner, self.objects)
        if callee is None:
            return None
        effects = self.functions.effects(callee, self.depth + 1)
        values = list(zip(map(place_of, nodes), self.arguments(call), strict=True))
        if isinstance(call.func, ast.Attribute) and callee.takes_object:
            values.insert(0, (place_of(call.func.value), self.refer(call.func.value, writes=True)))
        given = given_to(parameter_names(callee.node.args), call, values)

        def here(references: Iterable[Reference]) -> References:
            return frozenset(known for each in references for known in self.as_given(each, given, call))

        self.memory.write(here(effects.written), call.lineno)
        known = {each.memory[0] for _, references in given.values() for each in references}
        known |= {each.memory[0] for name in effects.names for each in self.memory.of((name,))}
        for effect in effects.on_models:
            self.affect(effect, call, lambda memory: has_optimizer(call) or memory[0] in known)
        for place, held in effects.held.items():
            around = given[place[0]][0] if place[0] in given else None
            if around is not None:
                target = (*around, *place[1:])
                if place in effects.rebound:
                    self.memory.bind_place(target, here(held), (call.lineno, call.col_offset))
                else:
                    self.memory.hold(target, self.memory.names.get(target, NOTHING) | here(held))
        return here(effects.returned)

    def as_given(
        self, reference: Reference, given: Mapping[str, tuple[Place | None, References]], call: ast.Call
    ) -> Iterable[Reference]:
        """What a reference of a function's is in terms of what it is given; nothing for memory of its own."""
        known = given.get(str(reference.memory[0]), (None, NOTHING))[1]
        for each in selected(known, reference.memory[1:]):
            if reference.conversion is None:
                yield each._replace(written=None)
            elif reference.side is not None:
                made = each.converted(reference.conversion, reference.side, self.memory.path, call)
                if made is not None:
                    yield made

    def forget_types(self, test: ast.expr) -> None:
        """What is asked for its type is an array on one way and a tensor on the other: nothing is said of it then."""
        for call in (each for each in walk(test) if isinstance(each, ast.Call) and each.args):
            name, place = last_name(call.func) or "", place_of(call.args[0])
            asks = name in _ASKING_FOR_TYPE or name.lstrip("_").startswith("is_")  # `is_numpy_array(x)`
            if asks and place is not None and place not in self.memory.containers:
                self.memory.hold(place, NOTHING)

    def method(self, call: ast.Call, function: ast.Attribute) -> References:
        name, place = function.attr, place_of(function.value)
        if name in PLAIN:
            return NOTHING
        is_container = place in self.memory.containers
        if place is not None and (name in _KEEPING or (name in _KEEPING_OF_CONTAINERS and is_container)):
            kept = NOTHING.union(*self.arguments(call))
            if kept:
                self.memory.hold(place, (self.memory.of(place) if place in self.memory.names else NOTHING) | kept)
            return NOTHING
        if name == "load_state_dict":
            modules = [each.memory for each in self.refer(function.value, writes=True)]
            self.arguments(call)
            self.memory.write(self.memory.matching(lambda memory: _is_in(memory, modules)), call.lineno)
            return NOTHING
        if name in PARAMETER_METHODS:
            model = self.refer(function.value)
            self.handed.update(each.memory[0] for each in model)
            return selected(model, (PARAMETERS,))
        if name in ("items", "values") and not call.args and isinstance(function.value, ast.Call):
            return self.value(function.value)  # `net.state_dict().items()`
        if writes_itself(name) and not written_arguments(call):
            references = self.refer(function.value, writes=True)
            self.arguments(call)
            self.memory.write(references, call.lineno)
            return references
        if name in METHODS_OF_ARRAYS and place is not None and not is_container:
            held = self.memory.of(place)
            self.arguments(call)
            arrays = self.memory.arrays
            is_array = (each for each in held if each.side == "array" or (not each.side and each.memory[:1] in arrays))
            self.memory.write(frozenset(is_array), call.lineno)
            return NOTHING
        if name in VIEWS_AND_COPIES:
            references = self.refer(call)
            self.memory.note(references, call.lineno)
            return references
        base = self.value(function.value)
        given = self.arguments(call)
        self.effect(call, given)
        if name in _PASSING and place in LIBRARIES:
            passed: References = NOTHING.union(*given)
            is_of_torch = name in ("from_numpy", "as_tensor")
            return frozenset(Reference(each.memory) for each in passed) if is_of_torch else passed
        return base if name == "to" and chain_of(call).links[-1].role is Role.CPU else NOTHING

    def effect(self, call: ast.Call, given: list[References]) -> None:
        """What a function writes, as far as it is told by its name."""
        for place in written_arguments(call):
            if place_of(arguments_of(call)[place]) not in self.memory.containers:
                self.memory.write(given[place], call.lineno)
        effect = effect_on_models(call)
        if effect is not None:
            modules = [module_of(each.memory) for each in given[0]] if clips(call) and given else [()]
            self.affect(effect, call, lambda memory: _is_in(memory, modules))

    def affect(self, effect: EffectOnModels, call: ast.Call, is_concerned: Callable[[Memory], bool]) -> None:
        self.on_models.add(effect)
        if effect == "no grads":
            self.memory.forget(lambda memory: GRAD in memory)
            return
        is_wanted = is_parameter if effect == "parameters" else (lambda memory: GRAD in memory)

        def is_written(memory: Memory) -> bool:
            is_own = str(memory[0]).startswith(NEW) and memory[0] not in self.handed
            return is_wanted(memory) and is_concerned(memory) and not is_own

        self.memory.write(self.memory.matching(is_written), call.lineno)


def _is_in(memory: Memory, modules: Sequence[Memory]) -> bool:
    return any(memory[: len(one)] == one for one in modules)
