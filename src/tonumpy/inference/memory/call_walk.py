"""From a call to its effects on memory: methods that write, view or keep, followed functions, optimizers."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import arguments_of
from tonumpy.inference.knowledge.chains import Role, chain_of
from tonumpy.inference.memory.effects import (
    METHODS_OF_ARRAYS,
    Given,
    as_given,
    clips,
    effect_on_models,
    given_by,
    has_optimizer,
    writes_itself,
    written_arguments,
)
from tonumpy.inference.memory.expression_walk import (
    LIBRARIES,
    MAX_DEPTH,
    PARAMETER_METHODS,
    PLAIN,
    VIEWS_AND_COPIES,
    ExpressionWalk,
)
from tonumpy.inference.memory.regions import (
    GRAD,
    NOTHING,
    PARAMETERS,
    Memory,
    Place,
    Reference,
    References,
    is_parameter,
    module_of,
    place_of,
    selected,
)
from tonumpy.inference.memory.sharers import converted_by, shares
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tonumpy.inference.memory.effects import EffectOnModels

_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_PASSING = frozenset(
    "list tuple reversed enumerate zip iter sorted memoryview from_numpy as_tensor asarray asanyarray".split()
)


_ASKING_FOR_TYPE = frozenset("type isinstance hasattr is_tensor issubclass".split())


def _asks_for_type(call: ast.Call) -> bool:
    """`isinstance(x, np.ndarray)`, `is_numpy_array(x)`"""
    name = last_name(call.func) or ""
    return name in _ASKING_FOR_TYPE or name.lstrip("_").startswith("is_")


class CallWalk(ExpressionWalk):
    """Expressions with their calls: each call's references, after its effects."""

    def call(self, call: ast.Call) -> References:
        function = call.func
        side = self.functions.conversions.get(call)
        if side is not None:
            self.memory.branch.note(call)
            source = converted_by(call)
            references = self.value(source)
            for argument in arguments_of(call):
                if argument is not source:
                    self.value(argument)
            self.memory.sides.note(references, side)
            converted = (each.converted(call, side) for each in references if shares(call, each))
            return frozenset(each for each in converted if each is not None)
        followed = self.follow(call)
        if followed is not None:
            return followed
        if isinstance(function, ast.Attribute):
            return self.method(call, function)
        name = function.id if isinstance(function, ast.Name) else None
        if name == "len":
            return NOTHING
        if name is None:
            self.value(function)
        given = self.arguments(call)
        self.effect(call, given)
        return NOTHING.union(*given) if name in _PASSING else NOTHING

    def follow(self, call: ast.Call) -> References | None:
        """What a function of the module gives back, once it has had its effect; None for any other."""
        nodes = arguments_of(call)
        if self.depth >= MAX_DEPTH or any(keyword.arg is None for keyword in call.keywords):
            return None
        if any(isinstance(node, ast.Starred) for node in nodes):
            return None
        if isinstance(call.func, ast.Name) and (call.func.id,) in self.memory.names:
            return None  # another function of that name
        callee = self.functions.callee(call, self.owner, self.objects)
        if callee is None:
            return None
        self.memory.branch.note(call)
        effects = self.functions.effects(callee, self.depth + 1)
        values = [self.given(node, value) for node, value in zip(nodes, self.arguments(call), strict=True)]
        if isinstance(call.func, ast.Attribute) and callee.owner is not None:
            values.insert(0, self.given(call.func.value, self.refer(call.func.value, writes=True)))
        given = given_by(callee, call, values)

        def here(references: Iterable[Reference]) -> References:
            return frozenset(known for each in references for known in as_given(each, given, call))

        self.memory.write(here(effects.written), call.lineno)
        known = {each.memory[0] for value in given.values() for each in value.references}
        known |= {each.memory[0] for name in effects.names for each in self.memory.of((name,))}
        for effect in effects.on_models:
            self.affect(effect, call, lambda memory: has_optimizer(call) or memory[0] in known)
        for place, held in (*effects.bound.items(), *effects.kept.items()):
            around = given[place[0]].place if place[0] in given else None
            if around is not None:
                target = (*around, *place[1:])
                if place in effects.bound:
                    self.memory.bind_place(target, here(held), (call.lineno, call.col_offset))
                else:
                    self.memory.hold(target, self.memory.names.get(target, NOTHING) | here(held))
        return here(effects.returned)

    def given(self, node: ast.expr, references: References) -> Given:
        place = place_of(node)
        if place is None or not self.memory.is_one_object(place):
            return Given(references, place)
        sides = {each: self.memory.sides.of(each) for each in references}
        return Given(references, place, sides)

    def forget_types(self, test: ast.expr) -> None:
        """What is asked for its type is an array on one way and a tensor on the other: nothing is said of it then."""
        for call in (each for each in walk(test) if isinstance(each, ast.Call) and _asks_for_type(each)):
            place = place_of(call.args[0]) if call.args else None
            if place is not None and self.memory.is_one_object(place):
                self.memory.hold(place, NOTHING)

    def method(self, call: ast.Call, function: ast.Attribute) -> References:
        name, place = function.attr, place_of(function.value)
        if name in PLAIN:
            return NOTHING
        if place is not None and self.keeps(name, place):
            kept = NOTHING.union(*self.arguments(call))
            if kept:
                before = self.memory.of(place) if place in self.memory.names else NOTHING
                self.memory.hold(place, before | kept)
            return NOTHING
        if name == "load_state_dict":
            modules = [each.memory for each in self.refer(function.value, writes=True)]
            self.arguments(call)
            self.memory.write(
                self.memory.matching(lambda memory: any(memory[: len(one)] == one for one in modules)), call.lineno
            )
            return NOTHING
        if name in PARAMETER_METHODS:
            model = self.refer(function.value)
            self.deep_copies.difference_update(each.memory[0] for each in model)
            return selected(model, (PARAMETERS,))
        if name in ("items", "values") and not call.args and isinstance(function.value, ast.Call):
            return self.value(function.value)  # `net.state_dict().items()`
        if writes_itself(name) and not written_arguments(call):
            references = self.refer(function.value, writes=True)
            self.arguments(call)
            self.memory.write(references, call.lineno)
            return references
        if name in METHODS_OF_ARRAYS and place is not None and place not in self.memory.containers:
            arrays = frozenset(each for each in self.memory.of(place) if self.memory.sides.is_array(each))
            self.arguments(call)
            self.memory.write(arrays, call.lineno)
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
            if name in ("from_numpy", "as_tensor"):
                return frozenset(Reference(each.memory) for each in passed)
            return passed
        return base if name == "to" and chain_of(call).links[-1].role is Role.CPU else NOTHING

    def effect(self, call: ast.Call, given: list[References]) -> None:
        """What a function writes, as far as it is told by its name."""
        for place in written_arguments(call):
            if place_of(arguments_of(call)[place]) not in self.memory.containers:
                self.memory.write(given[place], call.lineno)
        effect = effect_on_models(call)
        if effect is not None:
            modules = [module_of(each.memory) for each in given[0]] if clips(call) and given else [()]
            self.affect(effect, call, lambda memory: any(memory[: len(one)] == one for one in modules))

    def affect(self, effect: EffectOnModels, call: ast.Call, is_concerned: Callable[[Memory], bool]) -> None:
        self.on_models.add(effect)
        if effect == "parameters":
            trained = self.memory.matching(lambda memory: is_parameter(memory) and is_concerned(memory))
            if self.deep_copies:
                trained = frozenset(each for each in trained if each.memory[0] not in self.deep_copies)
            self.memory.write(trained, call.lineno)
        elif effect == "grads":
            self.memory.write(self.memory.matching(lambda memory: GRAD in memory and is_concerned(memory)), call.lineno)
        else:
            self.memory.forget(lambda memory: GRAD in memory)

    def keeps(self, method: str, place: Place) -> bool:
        """Whether a method keeps its arguments in its object."""
        if method in _KEEPING:
            return True
        return method in _KEEPING_OF_CONTAINERS and place in self.memory.containers
