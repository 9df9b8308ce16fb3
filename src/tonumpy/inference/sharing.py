"""A function and its conversions in; where memory that an array and a tensor share is written, and the other read, out.

The function is run over in order, loops until nothing new comes round, with nothing known but which names may refer to
the same memory (memory.py): by assignment, by views, and by `.numpy()` and `torch.from_numpy` on the CPU. What a
function of the repository does with what it is given is followed (effects.py); and so is what those do that call one of
the same module which hands on an array.
"""

from __future__ import annotations

import ast
import itertools
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.candidates import find_calls
from tonumpy.chains import Role, chain_of, last_name
from tonumpy.inference.analysis import Analysis
from tonumpy.inference.effects import (
    Callee,
    Effects,
    Given,
    as_given,
    callee_of,
    functions_in,
    given_by,
    imported_callee,
)
from tonumpy.inference.memory import (
    GRAD,
    NOTHING,
    PARAMETERS,
    Item,
    Memory,
    Names,
    Place,
    Reference,
    References,
    Write,
    is_member,
    is_parameter,
    module_of,
    overlap,
    selected,
    steps_of_index,
)
from tonumpy.inference.symbols import arguments_of, bound_names, names_in, parameter_names
from tonumpy.inference.writes import (
    METHODS_OF_ARRAYS,
    EffectOnModels,
    clips,
    effect_on_models,
    has_optimizer,
    writes_itself,
    written_arguments,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tonumpy.candidates import Candidate, Scope, Site
    from tonumpy.inference.names import ModuleNames
    from tonumpy.inference.project import Module
    from tonumpy.source import Source

_Handed = tuple[ast.Call, ast.Call | None]  # a conversion, and the call through which its array has come

MAX_DEPTH = 3  # of calls, from the function that is called or to those who call
MAX_PASSES = 4  # of a loop: what goes round it is settled after two, in a loop of loops after three


class Overwritten(NamedTuple):
    """Where shared memory is written, and where it is read then; `kept_in` names the attribute where it is kept.

    `through`: the call of the function that holds the conversion, where that stands in another one than the rest.
    """

    write: int
    read: int
    kept_in: str | None = None
    through: ast.Call | None = None

    @property
    def tensor(self) -> str:
        """As a message names it."""
        return "the tensor" if self.through is None else f"the tensor of line {self.through.lineno}"


class Sharing(NamedTuple):
    """For the call of each conversion: writes to the tensor that show in the array, and to the array in the tensor.

    Several where the array is handed to several functions.
    """

    of_tensors: dict[ast.Call, list[Overwritten]]
    of_arrays: dict[ast.Call, list[Overwritten]]


# Of tensors and arrays alike, where both have it.
_VIEWS = frozenset(
    "view view_as reshape ravel flatten squeeze unsqueeze transpose t swapaxes permute expand narrow select values"
    " diagonal unbind chunk split".split()
)
_VIEWING_ATTRIBUTES = frozenset("T mT H mH real flat".split())
_OF_THE_SAME = _VIEWING_ATTRIBUTES | {"data"}
_THE_SAME = frozenset("detach cpu contiguous".split())  # or a copy
_VIEWS_AND_COPIES = _VIEWS | _THE_SAME
_PLAIN = frozenset("shape dtype device ndim size dim numel nbytes itemsize stride is_cuda requires_grad".split())
_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict tuple".split())
_PASSING = frozenset("list tuple reversed enumerate zip iter sorted from_numpy as_tensor asarray asanyarray".split())
_TRIES = (ast.Try, ast.TryStar) if sys.version_info >= (3, 11) else (ast.Try,)
_PARAMETERS = frozenset("parameters named_parameters state_dict buffers named_buffers".split())
_CALL = re.compile(r"(\w+)[ \t]*\(")
_PAIRS = frozenset("items named_parameters named_buffers".split())  # of a name and what it stands for


def sharing_of(module: Module, candidates: Sequence[Candidate]) -> Sharing:
    """What is written through the memory that each candidate may share."""
    analysis = Analysis()
    functions = _Functions(module, frozenset(candidate.call for candidate in candidates), analysis.names)
    try:
        return _sharing_of(functions, candidates, module.source)
    finally:
        functions.close()
        analysis.close()


def _sharing_of(functions: _Functions, candidates: Sequence[Candidate], source: Source) -> Sharing:
    whole = Sharing({}, {})
    waiting = {id(each.scopes[-1]): each.scopes for each in candidates}
    done: set[int] = set()
    for _ in range(MAX_DEPTH):
        names = set()
        for scopes in waiting.values():
            node, owner = scopes[-1], _owner(scopes)
            try:
                walk = functions.walk(node, owner, 0)
            except RecursionError:
                continue  # nested too deeply: nothing is said of it
            _add(walk.of_tensors, whole.of_tensors)
            _add(walk.of_arrays, whole.of_arrays)
            if isinstance(node, ast.FunctionDef) and functions.effects(Callee(node, owner), 0).hands_on_arrays:
                names.add(node.name)
        done |= waiting.keys()
        callers = [site.scopes for site in _calls_of(names, source)] if names else []
        waiting = {id(scopes[-1]): scopes for scopes in callers if id(scopes[-1]) not in done}
    return whole


def _owner(scopes: Sequence[Scope]) -> ast.ClassDef | None:
    around = scopes[-2] if len(scopes) > 1 else None
    return around if isinstance(around, ast.ClassDef) else None


def _add(found: dict[_Handed, Overwritten], to: dict[ast.Call, list[Overwritten]]) -> None:
    for (conversion, _), overwritten in found.items():
        to.setdefault(conversion, []).append(overwritten)


def _calls_of(names: set[str], source: Source) -> list[Site]:
    """The calls of functions of these names."""
    rows = {source.position_at(each.start()).row for each in _CALL.finditer(source.text) if each[1] in names}
    return find_calls(source, sorted(rows), lambda call: last_name(call.func) in names)


class _Functions:
    """The functions of a module, each run over when its effects are asked for."""

    def __init__(self, module: Module, conversions: frozenset[ast.Call], names: ModuleNames) -> None:
        self.conversions = conversions
        self._module = module
        self._names = names
        self._elsewhere: dict[str, _Functions] = {}
        self._by_name: dict[str, ast.FunctionDef] | None = None
        self._walks: dict[tuple[int, int], _Walk] = {}
        self._effects: dict[tuple[int, int], Effects] = {}

    def close(self) -> None:
        """Drop what was found, which refers back to this object, as `Analysis.close` does and for the same reason."""
        for each in self._elsewhere.values():
            each.close()
        vars(self).clear()

    def callee(self, call: ast.Call, owner: ast.ClassDef | None) -> Callee | None:
        if self._by_name is None:
            self._by_name = functions_in(self._module.tree.body)
        return callee_of(call, self._by_name, owner)

    def imported(self, call: ast.Call) -> Callee | None:
        return imported_callee(call, self._module, self._names)

    def walk(self, node: Scope, owner: ast.ClassDef | None, depth: int) -> _Walk:
        """`depth` counts the calls that have led here."""
        key = id(node), depth
        if key not in self._walks:
            walk = _Walk(self, owner, depth)
            walk.run(node.body)
            self._walks[key] = walk
        return self._walks[key]

    def effects(self, callee: Callee, depth: int) -> Effects:
        key = id(callee.node), depth
        if key not in self._effects:
            home = self._functions_of(callee.module)
            self._effects[key] = home.walk(callee.node, callee.owner, depth).effects(callee.node)
        return self._effects[key]

    def _functions_of(self, module: Module | None) -> _Functions:
        """What another module converts is its own: an array that comes from there is new memory here."""
        if module is None:
            return self
        known = self._elsewhere.get(module.filename)
        if known is None:
            known = self._elsewhere[module.filename] = _Functions(module, frozenset(), self._names)
        return known


class _Walk:
    def __init__(self, functions: _Functions, owner: ast.ClassDef | None, depth: int) -> None:
        self.functions = functions
        self.owner = owner
        self.depth = depth
        self.names: Names = {}
        self.containers: set[Place] = set()
        self.counters: dict[str, Item] = {}
        self.made: set[str] = set()  # the names of new memory
        self.of_tensors: dict[_Handed, Overwritten] = {}
        self.of_arrays: dict[_Handed, Overwritten] = {}
        self.is_reached = True
        self.left: list[list[Names]] = []  # what holds where the loops around are left or go on
        # For those who call it:
        self.is_generator = False
        self.ends: list[Names] = []
        self.returned: References = NOTHING
        self.written: set[Memory] = set()
        self.rebound: set[Place] = set()
        self.on_models: set[EffectOnModels] = set()

    def run(self, body: Sequence[ast.stmt]) -> None:
        self.block(body)
        if self.is_reached:
            self.leave()

    def leave(self) -> None:
        """What an object keeps at the end is there to be read."""
        self.ends.append(self.names)
        for place, references in self.names.items():
            if place[0] == "self" and len(place) > 1:
                self.note(references, 0, "".join(place))

    def effects(self, node: ast.FunctionDef) -> Effects:
        """What it does, as the function `node`, to what it is given."""
        parameters = () if self.is_generator else parameter_names(node.args)
        on_models = frozenset(() if self.is_generator else self.on_models)

        def seen(references: References) -> References:
            return frozenset(each._replace(written=None) for each in references if each.memory[0] in parameters)

        attributes = {
            place: seen(held)
            for place, held in self.joined(self.ends).items()
            if place[0] in parameters and len(place) > 1 and held != frozenset((Reference(place),))
        }
        return Effects(
            seen(self.returned),
            frozenset(memory for memory in self.written if memory[0] in parameters),
            {place: held for place, held in attributes.items() if place in self.rebound},
            {place: held for place, held in attributes.items() if place not in self.rebound},
            on_models,
            frozenset(names_in(node).difference(parameters) if on_models else ()),
        )

    # Names

    def of(self, place: Place) -> References:
        """What a place refers to: what it was bound to, or that part of what the place around it refers to."""
        return _held(self.names, place, self.containers)

    def note(self, references: References, row: int, kept_in: str | None = None) -> None:
        """That they are read."""
        for reference in references:
            if reference.written is None:
                continue
            write = reference.written
            if reference.conversion is not None:
                found = Overwritten(write.row, row, kept_in, reference.through)
                self.of_tensors.setdefault((reference.conversion, reference.through), found)
            elif write.conversion is not None and kept_in is None:
                found = Overwritten(write.row, row, None, write.through)
                self.of_arrays.setdefault((write.conversion, write.through), found)

    def write(self, references: References, row: int) -> None:
        """Everything else that refers to the same memory has been written then.

        Not what is the tensor on one path and the array on another: `x = x.numpy()` in a branch. And who writes an
        array that nobody holds, as in `rng.shuffle(x.numpy())`, means the tensor.
        """
        both = {each.memory for each in references if each.conversion is None}
        both &= {each.memory for each in references if each.conversion is not None}
        held = {each.conversion for references in self.names.values() for each in references} | {None}
        writes = [
            Write(row, each.memory, each.conversion, each.through)
            for each in references
            if each.memory not in both and each.conversion in held
        ]
        if not writes:
            return
        self.written.update(write.memory for write in writes)

        def after(reference: Reference) -> Reference:
            for write in writes:
                is_other_side = (reference.conversion is None) is not (write.conversion is None)
                if is_other_side and overlap(reference.memory, write.memory):
                    return reference._replace(written=write)
            return reference

        for write in writes:  # the tensor may not have been bound to a name of its own since
            place = _place_of_memory(write.memory)
            if write.conversion is not None and place is not None:
                self.names.setdefault(place, self.of(place))
        self.names = {place: frozenset(map(after, held)) for place, held in self.names.items()}

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
        place = _place(target)
        if place is not None and not (isinstance(target, ast.Subscript) and place[:-1] in self.containers):
            self.bind_place(place, references, (target.lineno, target.col_offset), value)
        elif isinstance(target, ast.Subscript):
            self.store(target, references)

    def bind_place(
        self, place: Place, references: References, at: tuple[int, int], value: ast.expr | None = None
    ) -> None:
        self.rebound.add(place)
        root, length = place[0], len(place)
        for name in [name for name in self.names if name[0] == root and len(name) > length and name[:length] == place]:
            del self.names[name]
        is_container = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)) or (
            isinstance(value, ast.Call) and getattr(value.func, "id", None) in _CONTAINERS
        )
        (self.containers.add if is_container else self.containers.discard)(place)
        self.counters.pop(place[0], None)
        if not references:
            # New memory. What the same code has made before is another's, and nobody's to write any more.
            made = f"new {at} {''.join(place)}"
            if made in self.made:
                self.forget(lambda memory: memory[0] == made)
            self.made.add(made)
            references = frozenset((Reference((made,)),))
        self.names[place] = references

    def forget(self, is_gone: Callable[[Memory], bool]) -> None:
        """Nobody writes such memory any more."""
        for place, held in self.names.items():
            if any(is_gone(each.memory) and not each.written for each in held):
                self.names[place] = frozenset(each for each in held if each.written or not is_gone(each.memory))

    def store(self, target: ast.Subscript, references: References) -> None:
        """`x[...] = value`: kept in a container, copied into a tensor or array."""
        self.value(target.slice)
        base: ast.expr = target
        while isinstance(base, ast.Subscript):
            base = base.value
        place = _place(base)
        if place is not None and place in self.containers:
            self.names[place] = self.of(place) | references
        else:
            self.write(self.assigned(target), target.lineno)

    def assigned(self, target: ast.expr) -> References:
        """What `target[...] = value` or `target += value` writes: by an index of any kind."""
        if isinstance(target, ast.Subscript) and steps_of_index(target.slice, self.counters) is None:
            target = target.value
        return self.refer(target, writes=True)

    # Expressions

    def refer(self, node: ast.expr, *, writes: bool = False) -> References:
        """What an expression refers to; what is read on the way is noted, but not yet the expression itself.

        `writes`: to be written, so nothing is read, and only names and views refer to anything.
        """
        if isinstance(node, ast.Attribute) and node.attr in _PLAIN:
            return NOTHING
        place = _place(node)
        if place is not None:
            return self.of(place)
        if isinstance(node, ast.Attribute):
            base = self.refer(node.value, writes=writes)
            if node.attr in _VIEWING_ATTRIBUTES:
                return _viewed(base, node.attr, ())
            return base if node.attr == "data" else selected(base, (f".{node.attr}",))
        if isinstance(node, ast.Subscript):
            base, steps = self.refer(node.value, writes=writes), steps_of_index(node.slice, self.counters)
            if not writes:
                self.value(node.slice)
            if steps is None:
                if not writes:
                    self.note(base, node.lineno)
                return NOTHING
            return base if _place(node.value) in self.containers else selected(base, steps)
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
            self.note(references, node.lineno)
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
        before = dict(self.names)
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
                self.names.pop((name,), None)
                self.counters.pop(name, None)
                if (name,) in before:
                    self.names[(name,)] = before[(name,)]
        return references

    def enter(self, loop: tuple[int, int], target: ast.expr, iterable: ast.expr, *, is_entered: bool) -> None:
        """Bind what a loop takes out of what it goes through, in another round of it or when it is entered."""
        self.names = {
            place: frozenset(each.in_another_round(loop, is_entered=is_entered) for each in held)
            for place, held in self.names.items()
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
            self.counters[target.id] = Item(loop, is_kept=True)

    def is_kept(self, iterable: ast.expr) -> bool:
        """Whether to go through it once more is to find the same tensors."""
        is_model = isinstance(iterable, ast.Call) and last_name(iterable.func) in _PARAMETERS
        return is_model or isinstance(iterable, (ast.List, ast.Tuple)) or _place(iterable) in self.containers

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
        if isinstance(call.func, ast.Name) and (call.func.id,) in self.names:
            return None  # another function of that name
        callee = self.functions.callee(call, self.owner)
        if callee is None and self.shares(nodes):
            callee = self.functions.imported(call)
        if callee is None:
            return None
        effects = self.functions.effects(callee, self.depth + 1)
        values = [Given(value, _place(node)) for node, value in zip(nodes, self.arguments(call), strict=True)]
        if isinstance(call.func, ast.Attribute) and callee.owner is not None:
            values.insert(0, Given(self.refer(call.func.value, writes=True), _place(call.func.value)))
        given = given_by(callee, call, values)

        def here(references: Iterable[Reference]) -> References:
            return frozenset(known for each in references for known in as_given(each, given, call))

        self.write(here(map(Reference, effects.written)), call.lineno)
        known = {each.memory[0] for value in given.values() for each in value.references}
        known |= {each.memory[0] for name in effects.names for each in self.of((name,))}
        for effect in effects.on_models:
            self.affect(effect, call, lambda memory: has_optimizer(call) or memory[0] in known)
        for place, held in (*effects.bound.items(), *effects.kept.items()):
            around = given[place[0]].place if place[0] in given else None
            if around is not None:
                target = (*around, *place[1:])
                if place in effects.bound:
                    self.bind_place(target, here(held), (call.lineno, call.col_offset))
                else:
                    self.names[target] = self.names.get(target, NOTHING) | here(held)
        return here(effects.returned)

    def shares(self, nodes: Iterable[ast.expr]) -> bool:
        """Whether an array is held that shares memory with some of what a call is given."""
        given = {each.memory[0] for node in nodes for each in self.refer(node, writes=True)}
        held = (each for held in self.names.values() for each in held if each.conversion is not None)
        return bool(given) and any(each.memory[0] in given for each in held)

    def method(self, call: ast.Call, function: ast.Attribute) -> References:
        name, place = function.attr, _place(function.value)
        if name in _PLAIN:
            return NOTHING
        if place is not None and self.keeps(name, place):
            kept = NOTHING.union(*self.arguments(call))
            if kept:
                self.names[place] = (self.of(place) if place in self.names else NOTHING) | kept
            return NOTHING
        if name == "load_state_dict":
            modules = [each.memory for each in self.refer(function.value, writes=True)]
            self.arguments(call)
            self.write(self.held_of(lambda memory: any(memory[: len(one)] == one for one in modules)), call.lineno)
            return NOTHING
        if name in _PARAMETERS:
            return selected(self.refer(function.value), (PARAMETERS,))
        if writes_itself(name) and not written_arguments(call):
            references = self.refer(function.value, writes=True)
            self.arguments(call)
            self.write(references, call.lineno)
            return references
        if name in METHODS_OF_ARRAYS and place is not None and place not in self.containers:
            arrays = frozenset(each for each in self.of(place) if each.conversion is not None)
            self.arguments(call)
            self.write(arrays, call.lineno)
            return NOTHING
        if name in _VIEWS_AND_COPIES:
            references = self.refer(call)
            self.note(references, call.lineno)
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
            if _place(arguments_of(call)[place]) not in self.containers:
                self.write(given[place], call.lineno)
        effect = effect_on_models(call)
        if effect is not None:
            modules = [module_of(each.memory) for each in given[0]] if clips(call) and given else [()]
            self.affect(effect, call, lambda memory: any(memory[: len(one)] == one for one in modules))

    def affect(self, effect: EffectOnModels, call: ast.Call, is_concerned: Callable[[Memory], bool]) -> None:
        self.on_models.add(effect)
        if effect == "parameters":
            self.write(self.held_of(lambda memory: is_parameter(memory) and is_concerned(memory)), call.lineno)
        elif effect == "grads":
            self.write(self.held_of(lambda memory: GRAD in memory and is_concerned(memory)), call.lineno)
        else:
            self.forget(lambda memory: GRAD in memory)

    def held_of(self, is_wanted: Callable[[Memory], bool]) -> References:
        """The tensors of which a name holds the memory, or an array that shares it."""
        memories = {each.memory for held in self.names.values() for each in held}
        return frozenset(Reference(memory) for memory in memories if is_wanted(memory))

    def keeps(self, method: str, place: Place) -> bool:
        """Whether a method keeps its arguments in its object."""
        if method in _KEEPING:
            return True
        return method in _KEEPING_OF_CONTAINERS and place in self.containers

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
                self.left[-1].append(self.names)
            self.is_reached = False
        elif isinstance(statement, ast.Raise):
            self.is_reached = False
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self.names.pop(_place(target) or (), None)

    def augment(self, statement: ast.AugAssign) -> None:
        given = self.value(statement.value)
        place = _place(statement.target)
        if place is None or place not in self.containers:
            self.write(self.assigned(statement.target), statement.lineno)
        else:
            self.names[place] = self.of(place) | given

    def branches(self, *blocks: Sequence[ast.stmt]) -> None:
        before, ends = self.names, []
        for block in blocks:
            self.names, self.is_reached = dict(before), True
            self.block(block)
            if self.is_reached:
                ends.append(self.names)
        self.is_reached = bool(ends)
        self.names = self.joined(ends)

    def loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        for number in range(MAX_PASSES):
            before, self.names = self.names, dict(self.names)
            self.left.append([before])
            if isinstance(statement, ast.While):
                self.value(statement.test)
            else:
                loop = (statement.lineno, statement.col_offset)
                self.enter(loop, statement.target, statement.iter, is_entered=number == 0)
            self.block(statement.body)
            ends = self.left.pop()
            if self.is_reached:
                ends.append(self.names)
            self.is_reached = True
            self.names = self.joined(ends)
            if self.names == before:
                break
        self.block(statement.orelse)

    def joined(self, ends: list[Names]) -> Names:
        """What holds after one of several ways; most places hold the same after all of them."""
        found: Names = {}
        for place in {place for end in ends for place in end}:
            held = ends[0].get(place)
            if held is None or any(end.get(place) is not held for end in ends):
                held = NOTHING.union(*(_held(end, place, self.containers) for end in ends))
            found[place] = held
        return found


def _held(names: Names, place: Place, containers: set[Place]) -> References:
    if place in names:
        return names[place]
    around = place[:-1]
    if not around:
        return frozenset((Reference(place),))
    held = _held(names, around, containers)
    return held if around in containers else selected(held, place[-1:])


def _place(node: ast.expr) -> Place | None:
    """Names, their attributes and what stands under literal keys: `batch["image"].mask`; None for anything else."""
    if isinstance(node, ast.Name):
        return (node.id,)
    if isinstance(node, ast.Attribute):
        place = _place(node.value)
        if place is None or place in (("self",), ("cls",)) or node.attr not in _OF_THE_SAME:
            return None if place is None else (*place, f".{node.attr}")
        return place if node.attr == "data" else None  # the tensor without its grad
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        place = _place(node.value)
        return None if place is None else (*place, f"[{node.slice.value!r}]")
    return None


def _place_of_memory(memory: Memory) -> Place | None:
    """Where a name for memory begins that is not one of a loop's items."""
    if any(isinstance(step, Item) for step in memory):
        return None
    steps = itertools.takewhile(is_member, memory[1:])
    return (str(memory[0]), *map(str, steps))


def _viewed(references: References, view: str, arguments: Sequence[ast.expr]) -> References:
    """What a view refers to. NumPy's `flatten` copies; torch's does only where it has to."""
    if view == "flatten":
        references = frozenset(each for each in references if each.conversion is None)
    if view in _THE_SAME or not references:
        return references
    return selected(references, (f"{view}({', '.join(map(ast.unparse, arguments))})",))
