"""A function in; what each of its statements does to the memory that its names hold, in order, out.

Loops are run until nothing new comes round. Nothing is known of values but which memory they may refer to.
"""

from __future__ import annotations

import ast
import sys

from tonumpy.inference.index.bindings import arguments_of, bound_names, names_in, parameter_names, path_of
from tonumpy.inference.index.torch_words import VIEWING
from tonumpy.inference.knowledge.chains import Role, chain_of
from tonumpy.inference.memory.effects import Effects, Given, as_given, given_by
from tonumpy.inference.memory.held import HeldMemory
from tonumpy.inference.memory.regions import (
    GRAD,
    NOTHING,
    PARAMETERS,
    VIEWING_ATTRIBUTES,
    Item,
    Memory,
    Names,
    Place,
    Reference,
    References,
    is_parameter,
    module_of,
    place_of,
    selected,
    steps_of_index,
)
from tonumpy.inference.memory.writes import (
    METHODS_OF_ARRAYS,
    clips,
    effect_on_models,
    has_optimizer,
    writes_itself,
    written_arguments,
)
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Protocol

    from tonumpy.inference.memory.effects import Callee
    from tonumpy.inference.memory.writes import EffectOnModels

    class Functions(Protocol):
        """What a walk asks of the functions of its module and of others."""

        conversions: frozenset[ast.Call]

        def callee(
            self, call: ast.Call, owner: ast.ClassDef | None, objects: dict[str, ast.ClassDef] | None = None
        ) -> Callee | None: ...

        def class_named(self, name: str | None) -> ast.ClassDef | None: ...

        def imported(self, call: ast.Call) -> Callee | None: ...

        def effects(self, callee: Callee, depth: int) -> Effects: ...


MAX_DEPTH = 3  # of calls, from the function that is called or to those who call
MAX_PASSES = 4  # of a loop: what goes round it is settled after two, in a loop of loops after three

# Of tensors and arrays alike, where both have it.
_THE_SAME = frozenset("detach cpu contiguous".split())  # or a copy
_VIEWS_AND_COPIES = VIEWING | _THE_SAME
_PLAIN = frozenset("shape dtype device ndim size dim numel nbytes itemsize stride is_cuda requires_grad".split())
_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_PASSING = frozenset("list tuple reversed enumerate zip iter sorted from_numpy as_tensor asarray asanyarray".split())
_TRIES = (ast.Try, ast.TryStar) if sys.version_info >= (3, 11) else (ast.Try,)
_PARAMETERS = frozenset("parameters named_parameters state_dict buffers named_buffers".split())
_PAIRS = frozenset("items named_parameters named_buffers".split())  # of a name and what it stands for


class Walk:
    """One function run over in order; `depth` counts the calls that have led here."""

    def __init__(self, functions: Functions, owner: ast.ClassDef | None, depth: int) -> None:
        self.functions = functions
        self.owner = owner
        self.depth = depth
        self.memory = HeldMemory()
        self.objects: dict[str, ast.ClassDef] = {}  # the names of objects of classes of the module
        self.is_reached = True
        self.left: list[list[Names]] = []  # what holds where the loops around are left or go on
        # For those who call it:
        self.is_generator = False
        self.ends: list[Names] = []
        self.returned: References = NOTHING
        self.on_models: set[EffectOnModels] = set()

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
            frozenset(memory for memory in self.memory.written if memory[0] in parameters),
            {place: held for place, held in attributes.items() if place in self.memory.rebound},
            {place: held for place, held in attributes.items() if place not in self.memory.rebound},
            on_models,
            frozenset(names_in(node).difference(parameters) if on_models else ()),
        )

    def bind(self, target: ast.expr, references: References, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            if len(parts) == len(target.elts):
                given = [self.value(part) for part in parts]
            else:
                has_star = any(isinstance(part, ast.Starred) for part in target.elts)
                given = [selected(references, () if has_star else (index,)) for index in range(len(target.elts))]
                parts = []
            for index, part in enumerate(target.elts):
                self.bind(part, given[index], parts[index] if parts else None)
            return
        if isinstance(target, ast.Starred):
            self.bind(target.value, references, None)
            return
        place = place_of(target)
        if isinstance(target, ast.Name):
            made = path_of(value.func) if isinstance(value, ast.Call) else None
            cls = self.functions.class_named(made)
            self.objects.pop(target.id, None)
            if cls is not None:
                self.objects[target.id] = cls
        if place is not None and not (isinstance(target, ast.Subscript) and place[:-1] in self.memory.containers):
            self.memory.bind_place(place, references, (target.lineno, target.col_offset), value)
        elif isinstance(target, ast.Subscript):
            self.store(target, references)

    def store(self, target: ast.Subscript, references: References) -> None:
        """`x[...] = value`: kept in a container, copied into a tensor or array."""
        self.value(target.slice)
        base = target.value
        while isinstance(base, ast.Subscript) and place_of(base) not in self.memory.containers:
            base = base.value
        place = place_of(base)
        if place is not None and place in self.memory.containers:
            self.memory.names[place] = self.memory.of(place) | references
        else:
            self.memory.write(self.assigned(target), target.lineno)

    def assigned(self, target: ast.expr) -> References:
        """What `target[...] = value` or `target += value` writes: by an index of any kind."""
        if isinstance(target, ast.Subscript) and steps_of_index(target.slice, self.memory.counters) is None:
            target = target.value
        return self.refer(target, writes=True)

    # Expressions

    def refer(self, node: ast.expr, *, writes: bool = False) -> References:
        """What an expression refers to; what is read on the way is noted, but not yet the expression itself.

        `writes`: to be written, so nothing is read, and only names and views refer to anything.
        """
        if isinstance(node, ast.Attribute) and node.attr in _PLAIN:
            return NOTHING
        place = place_of(node)
        if place is not None:
            return self.memory.of(place)
        if isinstance(node, ast.Attribute):
            base = self.refer(node.value, writes=writes)
            if node.attr in VIEWING_ATTRIBUTES:
                return _viewed(base, node.attr, ())
            return base if node.attr == "data" else selected(base, (f".{node.attr}",))
        if isinstance(node, ast.Subscript):
            base, steps = self.refer(node.value, writes=writes), steps_of_index(node.slice, self.memory.counters)
            if not writes:
                self.value(node.slice)
            if steps is None:
                if not writes:
                    self.memory.note(base, node.lineno)
                return NOTHING
            return base if place_of(node.value) in self.memory.containers else selected(base, steps)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _VIEWS_AND_COPIES:
            base = self.refer(node.func.value, writes=writes)
            if not writes:
                self.arguments(node)
            return _viewed(base, node.func.attr, node.args)
        is_in_place = isinstance(node, ast.Call) and writes_itself(last_name(node.func) or "")  # `x.mul_(2).add_(1)`
        return self.value(node) if is_in_place or not writes else NOTHING

    def value(self, node: ast.expr | None) -> References:
        """The memory that a value may refer to; everything that is read on the way is noted."""
        if node is None or isinstance(node, (ast.Constant, ast.Lambda)):
            return NOTHING
        if isinstance(node, (ast.Name, ast.Attribute, ast.Subscript)):
            references = self.refer(node)
            self.memory.note(references, node.lineno)
            return references
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return self.comprehension(node)
        if isinstance(node, ast.NamedExpr):
            references = self.value(node.value)
            self.bind(node.target, references, node.value)
            return references
        self.is_generator |= isinstance(node, (ast.Yield, ast.YieldFrom))
        parts = [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.Await, ast.Starred)):
            return NOTHING.union(*parts)
        return NOTHING

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> References:
        before = dict(self.memory.names)
        for generator in node.generators:
            loop = (generator.iter.lineno, generator.iter.col_offset)
            self.enter(loop, generator.target, generator.iter, is_entered=True)
            for condition in generator.ifs:
                self.value(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
            references = self.value(node.value)
        else:
            references = self.value(node.elt)
        for generator in node.generators:
            for name in bound_names(generator.target):
                self.memory.names.pop((name,), None)
                self.memory.counters.pop(name, None)
                if (name,) in before:
                    self.memory.names[(name,)] = before[(name,)]
        return references

    def enter(self, loop: tuple[int, int], target: ast.expr, iterable: ast.expr, *, is_entered: bool) -> None:
        """Bind what a loop takes out of what it goes through, in another round of it or when it is entered."""
        self.memory.names = {
            place: frozenset(each.in_another_round(loop, is_entered=is_entered) for each in held)
            for place, held in self.memory.names.items()
        }
        self.take(loop, target, iterable)

    def take(self, loop: tuple[int, int], target: ast.expr, iterable: ast.expr) -> None:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        name = last_name(iterable.func) if isinstance(iterable, ast.Call) else None
        if isinstance(iterable, ast.Call) and iterable.args:
            if name == "enumerate" and len(parts) == 2:
                self.count(loop, parts[0])
                self.take(loop, parts[1], iterable.args[0])
                return
            if name == "zip" and len(parts) == len(iterable.args):
                for part, argument in zip(parts, iterable.args, strict=True):
                    self.take(loop, part, argument)
                return
        items = selected(self.value(iterable), (Item(loop, self.is_kept(iterable)),))
        if name == "range":
            self.count(loop, target)
        elif name in _PAIRS and len(parts) == 2:
            self.bind(parts[0], NOTHING, None)
            self.bind(parts[1], items, None)
        else:
            self.bind(target, items, None)

    def count(self, loop: tuple[int, int], target: ast.expr) -> None:
        """A name of the number of the round: what it selects is another part each time."""
        self.bind(target, NOTHING, None)
        if isinstance(target, ast.Name):
            self.memory.counters[target.id] = Item(loop, is_kept=True)

    def is_kept(self, iterable: ast.expr) -> bool:
        """Whether to go through it once more is to find the same tensors."""
        is_model = isinstance(iterable, ast.Call) and last_name(iterable.func) in _PARAMETERS
        return is_model or isinstance(iterable, (ast.List, ast.Tuple)) or place_of(iterable) in self.memory.containers

    def call(self, call: ast.Call) -> References:
        function = call.func
        if call in self.functions.conversions:
            assert isinstance(function, ast.Attribute)
            tensors = self.value(function.value)
            return frozenset(Reference(each.memory, call) for each in tensors if each.conversion is None)
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
        if callee is None and self.shares(nodes):
            callee = self.functions.imported(call)
        if callee is None:
            return None
        effects = self.functions.effects(callee, self.depth + 1)
        values = [Given(value, place_of(node)) for node, value in zip(nodes, self.arguments(call), strict=True)]
        if isinstance(call.func, ast.Attribute) and callee.owner is not None:
            values.insert(0, Given(self.refer(call.func.value, writes=True), place_of(call.func.value)))
        given = given_by(callee, call, values)

        def here(references: Iterable[Reference]) -> References:
            return frozenset(known for each in references for known in as_given(each, given, call))

        self.memory.write(here(map(Reference, effects.written)), call.lineno)
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
                    self.memory.names[target] = self.memory.names.get(target, NOTHING) | here(held)
        return here(effects.returned)

    def shares(self, nodes: Iterable[ast.expr]) -> bool:
        """Whether an array is held that shares memory with some of what a call is given."""
        given = {each.memory[0] for node in nodes for each in self.refer(node, writes=True)}
        held = (each for held in self.memory.names.values() for each in held if each.conversion is not None)
        return bool(given) and any(each.memory[0] in given for each in held)

    def method(self, call: ast.Call, function: ast.Attribute) -> References:
        name, place = function.attr, place_of(function.value)
        if name in _PLAIN:
            return NOTHING
        if place is not None and self.keeps(name, place):
            kept = NOTHING.union(*self.arguments(call))
            if kept:
                self.memory.names[place] = (self.memory.of(place) if place in self.memory.names else NOTHING) | kept
            return NOTHING
        if name == "load_state_dict":
            modules = [each.memory for each in self.refer(function.value, writes=True)]
            self.arguments(call)
            self.memory.write(
                self.memory.matching(lambda memory: any(memory[: len(one)] == one for one in modules)), call.lineno
            )
            return NOTHING
        if name in _PARAMETERS:
            return selected(self.refer(function.value), (PARAMETERS,))
        if name in ("items", "values") and not call.args and isinstance(function.value, ast.Call):
            return self.value(function.value)  # `net.state_dict().items()`
        if writes_itself(name) and not written_arguments(call):
            references = self.refer(function.value, writes=True)
            self.arguments(call)
            self.memory.write(references, call.lineno)
            return references
        if name in METHODS_OF_ARRAYS and place is not None and place not in self.memory.containers:
            arrays = frozenset(each for each in self.memory.of(place) if each.conversion is not None)
            self.arguments(call)
            self.memory.write(arrays, call.lineno)
            return NOTHING
        if name in _VIEWS_AND_COPIES:
            references = self.refer(call)
            self.memory.note(references, call.lineno)
            return references
        base = self.value(function.value)
        given = self.arguments(call)
        self.effect(call, given)
        if name in _PASSING and place in (("torch",), ("np",), ("numpy",)):
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
            self.memory.write(
                self.memory.matching(lambda memory: is_parameter(memory) and is_concerned(memory)), call.lineno
            )
        elif effect == "grads":
            self.memory.write(self.memory.matching(lambda memory: GRAD in memory and is_concerned(memory)), call.lineno)
        else:
            self.memory.forget(lambda memory: GRAD in memory)

    def keeps(self, method: str, place: Place) -> bool:
        """Whether a method keeps its arguments in its object."""
        if method in _KEEPING:
            return True
        return method in _KEEPING_OF_CONTAINERS and place in self.memory.containers

    def arguments(self, call: ast.Call) -> list[References]:
        return [self.value(argument) for argument in arguments_of(call)]

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if not self.is_reached:
                return
            self.statement(statement)

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
            self.branches(statement.body, statement.orelse)
        elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            self.loop(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                references = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, references, item.context_expr)
            self.block(statement.body)
        elif isinstance(statement, _TRIES):
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
            self.memory.names[place] = self.memory.of(place) | given

    def branches(self, *blocks: Sequence[ast.stmt]) -> None:
        before, ends = self.memory.names, []
        for block in blocks:
            self.memory.names, self.is_reached = dict(before), True
            self.block(block)
            if self.is_reached:
                ends.append(self.memory.names)
        self.is_reached = bool(ends)
        self.memory.names = self.memory.joined(ends)

    def loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        for number in range(MAX_PASSES):
            before, self.memory.names = self.memory.names, dict(self.memory.names)
            self.left.append([before])
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
            self.memory.names = self.memory.joined(ends)
            if self.memory.names == before:
                break
        self.block(statement.orelse)


def _viewed(references: References, view: str, arguments: Sequence[ast.expr]) -> References:
    """What a view refers to. NumPy's `flatten` copies; torch's does only where it has to."""
    if view == "flatten":
        references = frozenset(each for each in references if each.conversion is None)
    if view in _THE_SAME or not references:
        return references
    return selected(references, (f"{view}({', '.join(map(ast.unparse, arguments))})",))
