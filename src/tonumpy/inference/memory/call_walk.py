"""From a call to the memory that its result may be, once it has had its effect.

A conversion is one, as are functions of the module and methods; of all others the name says what they write.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.chains import Role, chain_of
from tonumpy.engine.names.bindings import arguments_of, given_to, parameter_names
from tonumpy.inference.memory.effects import (
    METHODS_OF_ARRAYS,
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
    is_cast_in_place,
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

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from tonumpy.inference.memory.effects import Callee, EffectOnModels, Effects
    from tonumpy.inference.memory.regions import Memory, Place, Side

    Given = tuple[Place | None, References]  # to a parameter: the place that holds it, if any, and what it refers to

MAX_DEPTH = 3  # of calls, from the function that is called or to those who call
_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_FILLING = frozenset("copy_ fill_ zero_ normal_ uniform_ random_ exponential_ bernoulli_".split())
_PASSING = frozenset(
    "list tuple reversed enumerate zip iter sorted memoryview from_numpy as_tensor asarray asanyarray".split()
)


class CallWalk(ExpressionWalk):
    """The calls of one run over a function."""

    def call(self, call: ast.Call) -> References:
        """What a call gives, once it has had its effect."""
        side = self.functions.conversions.get(call)
        if side is not None:
            return self.convert(call, side)
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

    def convert(self, call: ast.Call, side: Side) -> References:
        source = converted_by(call)
        references = self.value(source)
        for argument in arguments_of(call):
            if argument is not source:
                self.value(argument)
        if side == "tensor":
            self.memory.arrays.update(each.memory[:1] for each in references if each.side is None)
        made = (each.converted(call, side, self.memory.path) for each in references if shares(call, each))
        return frozenset(each for each in made if each is not None)

    def arguments(self, call: ast.Call) -> list[References]:
        given = [self.value(argument) for argument in arguments_of(call)]
        self.handed.update(each.memory[0] for references in given for each in references)
        return given

    # Functions of the module.

    def follow(self, call: ast.Call) -> References | None:
        """What a function of the module gives back, once it has had its effect; None for any other."""
        callee = self.callee(call)
        if callee is None:
            return None
        effects = self.functions.effects(callee, self.depth + 1)
        values = list(zip(map(place_of, arguments_of(call)), self.arguments(call), strict=True))
        if isinstance(call.func, ast.Attribute) and callee.takes_object:
            values.insert(0, (place_of(call.func.value), self.refer(call.func.value, writes=True)))
        given = given_to(parameter_names(callee.node.args), call, values)

        def here(references: Iterable[Reference]) -> References:
            return frozenset(known for each in references for known in self.as_given(each, given, call))

        self.memory.write(here(effects.written), call.lineno)
        self.memory.write_within(frozenset(each for each in here(effects.converted) if each.conversion), call)
        self.affect_known(effects, given, call)
        for place, held in effects.held.items():
            around = given[place[0]][0] if place[0] in given else None
            if around is not None:
                target = (*around, *place[1:])
                if place in effects.rebound:
                    self.memory.bind_place(target, here(held), (call.lineno, call.col_offset))
                else:
                    self.memory.hold(target, self.memory.names.get(target, NOTHING) | here(held))
        returned = here(effects.returned)
        self.memory.note(returned, call.lineno)
        return returned

    def callee(self, call: ast.Call) -> Callee | None:
        """The function of the module that is called, where it may be followed."""
        is_spread = any(keyword.arg is None for keyword in call.keywords) or any(
            isinstance(node, ast.Starred) for node in arguments_of(call)
        )
        is_local = isinstance(call.func, ast.Name) and (call.func.id,) in self.memory.names
        if self.depth >= MAX_DEPTH or is_spread or is_local:
            return None
        return self.functions.callee(call, self.owner, self.objects)

    def as_given(self, reference: Reference, given: Mapping[str, Given], call: ast.Call) -> Iterable[Reference]:
        """What a reference of a function's is in terms of what it is given; nothing for memory of its own."""
        place, known = given.get(str(reference.memory[0]), (None, NOTHING))
        steps = reference.memory[1:]
        while place is not None and steps and str(steps[0])[0] == ".":  # what is held there may have been written
            place, steps = (*place, str(steps[0])), steps[1:]
            known = self.memory.of(place)
        for each in selected(known, steps):
            if reference.conversion is None:
                yield each
            elif reference.side is not None:
                made = each.converted(reference.conversion, reference.side, self.memory.path, call)
                if made is not None:
                    yield made

    def affect_known(self, effects: Effects, given: Mapping[str, Given], call: ast.Call) -> None:
        """The effects on models: on those that the function is given, or knows by its own names."""
        known = {each.memory[0] for _, references in given.values() for each in references}
        known |= {each.memory[0] for name in effects.names for each in self.memory.of((name,))}
        for effect in effects.on_models:
            self.affect(effect, call, lambda memory: has_optimizer(call) or memory[0] in known)

    # Methods, by their names.

    def method(self, call: ast.Call, function: ast.Attribute) -> References:
        if function.attr in PLAIN:
            return NOTHING
        place = place_of(function.value)
        for kind in (self.keeping, self.of_module, self.writing):
            references = kind(call, function, place)
            if references is not None:
                return references
        if function.attr in VIEWS_AND_COPIES or is_cast_in_place(call):
            references = self.refer(call)
            self.memory.note(references, call.lineno)
            return references
        return self.other_method(call, function, place)

    def keeping(self, call: ast.Call, function: ast.Attribute, place: Place | None) -> References | None:
        """Of what keeps its arguments: `found.append(x)`."""
        is_container = place in self.memory.containers
        is_keeping = function.attr in _KEEPING or (function.attr in _KEEPING_OF_CONTAINERS and is_container)
        if place is None or not is_keeping:
            return None
        kept = NOTHING.union(*self.arguments(call))
        if kept:
            self.memory.hold(place, (self.memory.of(place) if place in self.memory.names else NOTHING) | kept)
        return NOTHING

    def of_module(self, call: ast.Call, function: ast.Attribute, place: Place | None) -> References | None:
        """Of an `nn.Module`, and of the dict that one gives: `net.state_dict().items()`."""
        del place
        if function.attr == "load_state_dict":
            modules = [each.memory for each in self.refer(function.value, writes=True)]
            self.arguments(call)
            self.memory.write(self.memory.matching(lambda memory: _is_in(memory, modules)), call.lineno)
            return NOTHING
        if function.attr in PARAMETER_METHODS:
            model = self.refer(function.value)
            self.handed.update(each.memory[0] for each in model)
            return selected(model, (PARAMETERS,))
        if function.attr in ("items", "values") and not call.args and isinstance(function.value, ast.Call):
            return self.value(function.value)
        return None

    def writing(self, call: ast.Call, function: ast.Attribute, place: Place | None) -> References | None:
        """Of a tensor or an array that writes itself: `x.zero_()`, `array.sort()`."""
        if writes_itself(function.attr) and not written_arguments(call):
            references = self.refer(function.value, writes=True)
            self.arguments(call)
            self.memory.write(references, call.lineno, fills=function.attr in _FILLING)
            return references
        if function.attr not in METHODS_OF_ARRAYS or place is None or place in self.memory.containers:
            return None
        held = self.memory.of(place)
        self.arguments(call)
        arrays = self.memory.arrays
        is_array = (each for each in held if each.side == "array" or (not each.side and each.memory[:1] in arrays))
        self.memory.write(frozenset(is_array), call.lineno)
        return NOTHING

    def other_method(self, call: ast.Call, function: ast.Attribute, place: Place | None) -> References:
        base = self.value(function.value)
        given = self.arguments(call)
        self.effect(call, given)
        if function.attr in _PASSING and place in LIBRARIES:
            passed: References = NOTHING.union(*given)
            is_of_torch = function.attr in ("from_numpy", "as_tensor")
            return frozenset(Reference(each.memory) for each in passed) if is_of_torch else passed
        return base if function.attr == "to" and chain_of(call).links[-1].role is Role.CPU else NOTHING

    # What is known of a call by its name alone.

    def effect(self, call: ast.Call, given: list[References]) -> None:
        """What a function writes, as far as it is told by its name."""
        for place in written_arguments(call):
            if place_of(arguments_of(call)[place]) not in self.memory.containers:
                self.memory.write(given[place], call.lineno, fills=True)
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
