"""From an expression to the memory it may refer to, and what is bound to it; every read on the way is noted."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import bound_names, is_false
from tonumpy.engine.names.torch_words import VIEWING
from tonumpy.inference.memory.effects import writes_itself
from tonumpy.inference.memory.regions import (
    NOTHING,
    VIEWING_ATTRIBUTES,
    Names,
    References,
    item_of_loop,
    place_of,
    selected,
    steps_of_index,
)
from tonumpy.inference.memory.state import State
from tonumpy.text.names import last_name, path_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Protocol

    from tonumpy.inference.memory.effects import Callee, EffectOnModels, Effects
    from tonumpy.inference.memory.regions import Side

    class Functions(Protocol):
        """What a walk asks of the functions of its module."""

        conversions: Mapping[ast.Call, Side]

        def callee(
            self, call: ast.Call, owner: ast.ClassDef | None, objects: Mapping[str, ast.ClassDef]
        ) -> Callee | None: ...

        def class_named(self, name: str | None) -> ast.ClassDef | None: ...

        def effects(self, callee: Callee, depth: int) -> Effects: ...


_THE_SAME = frozenset("detach cpu contiguous".split())  # or a copy
VIEWS_AND_COPIES = VIEWING | _THE_SAME  # of tensors and arrays alike, where both have it
LIBRARIES = (("torch",), ("np",), ("numpy",))
PLAIN = frozenset("shape dtype device ndim size dim numel nbytes itemsize stride is_cuda requires_grad".split())
PARAMETER_METHODS = frozenset("parameters named_parameters state_dict buffers named_buffers".split())
_PAIRS = frozenset("items named_parameters named_buffers".split())  # of a name and what it stands for
_HOLDING = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.Await, ast.Starred)


class ExpressionWalk:
    """What names hold, and what is bound to them and read of them; calls are walked in call_walk.py.

    `depth` counts the calls that have led here.
    """

    def __init__(self, functions: Functions, owner: ast.ClassDef | None, depth: int) -> None:
        self.functions = functions
        self.owner = owner
        self.depth = depth
        self.memory = State()
        self.objects: dict[str, ast.ClassDef] = {}  # the names of objects of classes of the module
        self.handed: set[str | int] = set()  # the memory of what has been given away: an optimizer may have it
        self.is_reached = True
        self.left: list[list[Names]] = []  # what holds where the loops around are left or go on
        # For those who call it:
        self.is_generator = False
        self.ends: list[Names] = []
        self.returned: References = NOTHING
        self.on_models: set[EffectOnModels] = set()

    # Bindings.

    def bind(self, target: ast.expr, references: References, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            is_each_given = len(parts) == len(target.elts)
            has_star = any(isinstance(part, ast.Starred) for part in target.elts)
            for index, part in enumerate(target.elts):
                given = (
                    self.value(parts[index]) if is_each_given else selected(references, () if has_star else (index,))
                )
                self.bind(part, given, parts[index] if is_each_given else None)
            return
        if isinstance(target, ast.Starred):
            self.bind(target.value, references, None)
            return
        place = place_of(target)
        if isinstance(target, ast.Name):
            cls = self.functions.class_named(path_of(value.func) if isinstance(value, ast.Call) else None)
            self.objects.pop(target.id, None)
            if cls is not None:
                self.objects[target.id] = cls
        if place is not None and not (isinstance(target, ast.Subscript) and place[:-1] in self.memory.containers):
            self.memory.bind_place(place, references, (target.lineno, target.col_offset), value)
        elif isinstance(target, ast.Subscript):  # kept in a container, copied into a tensor or array
            self.value(target.slice)
            base = target.value
            while isinstance(base, ast.Subscript) and place_of(base) not in self.memory.containers:
                base = base.value
            around = place_of(base)
            if around is not None and around in self.memory.containers:
                self.memory.hold(around, self.memory.of(around) | references)
            else:
                self.memory.write(self.assigned(target), target.lineno, fills=True)

    def assigned(self, target: ast.expr) -> References:
        """What `target[...] = value` or `target += value` writes: by an index of any kind."""
        if isinstance(target, ast.Subscript) and steps_of_index(target.slice) is None:
            target = target.value
        return self.refer(target, writes=True)

    def take(self, loop: tuple[int, int], target: ast.expr, iterable: ast.expr) -> None:
        """Bind what a loop takes out of what it goes through; nobody writes what it took in the round before."""
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        name = last_name(iterable.func) if isinstance(iterable, ast.Call) else None
        if isinstance(iterable, ast.Call) and iterable.args:
            if name == "enumerate" and len(parts) == 2:
                self.bind(parts[0], NOTHING, None)
                self.take(loop, parts[1], iterable.args[0])
                return
            if name == "zip" and len(parts) == len(iterable.args):
                for part, argument in zip(parts, iterable.args, strict=True):
                    self.take(loop, part, argument)
                return
        item = item_of_loop(loop)
        self.memory.forget(lambda memory: item in memory)
        items = selected(self.value(iterable), (item,))
        if name in _PAIRS and len(parts) == 2:
            self.bind(parts[0], NOTHING, None)
            self.bind(parts[1], items, None)
        else:
            self.bind(target, NOTHING if name == "range" else items, None)

    # Expressions.

    def refer(self, node: ast.expr, *, writes: bool = False) -> References:
        """What an expression refers to; what is read on the way is noted, but not yet the expression itself.

        `writes`: to be written, so nothing is read, and only names and views refer to anything.
        """
        if isinstance(node, ast.Attribute) and node.attr in PLAIN:
            return NOTHING
        place = place_of(node)
        if place is not None:
            return self.memory.of(place)
        if isinstance(node, ast.Attribute):
            base = self.refer(node.value, writes=writes)
            if node.attr in VIEWING_ATTRIBUTES:
                return selected(base, (f"{node.attr}()",))
            return base if node.attr == "data" else selected(base, (f".{node.attr}",))
        if isinstance(node, ast.Subscript):
            base, steps = self.refer(node.value, writes=writes), steps_of_index(node.slice)
            if not writes:
                self.value(node.slice)
            if steps is None:
                if not writes:
                    self.memory.note(base, node.lineno)
                return NOTHING
            if place_of(node.value) in self.memory.containers:
                return self.memory.taken_out(base, steps)
            is_key = isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str)
            arrays = frozenset(each for each in base if each.conversion is not None) if is_key else NOTHING
            return arrays | selected(base - arrays, steps)  # `kept[0]["x"]`: an array out of a dict, no part of one
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS_AND_COPIES:
            viewed, arguments = node.func.value, node.args
            if place_of(viewed) in LIBRARIES and arguments:  # `torch.squeeze(x)`
                viewed, *arguments = arguments
            base = self.refer(viewed, writes=writes)
            if not writes:
                for argument in (*arguments, *(keyword.value for keyword in node.keywords)):
                    self.value(argument)
            if node.func.attr == "flatten":  # NumPy's copies; torch's does only where it has to
                base = frozenset(each for each in base if each.side != "array")
            view = f"{node.func.attr}({', '.join(map(ast.unparse, arguments))})"
            return base if node.func.attr in _THE_SAME else selected(base, (view,))
        if isinstance(node, ast.Call) and is_cast_in_place(node):
            return self.refer(node.func.value, writes=writes)  # type: ignore[attr-defined]
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
        return NOTHING.union(*parts) if isinstance(node, _HOLDING) else NOTHING

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> References:
        before = dict(self.memory.names)
        for generator in node.generators:
            self.take((generator.iter.lineno, generator.iter.col_offset), generator.target, generator.iter)
            for condition in generator.ifs:
                self.value(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
        references = self.value(node.value if isinstance(node, ast.DictComp) else node.elt)
        for name in (name for generator in node.generators for name in bound_names(generator.target)):
            self.memory.names.pop((name,), None)
            if (name,) in before:
                self.memory.names[(name,)] = before[(name,)]
        return references

    def call(self, call: ast.Call) -> References:
        """What a call gives, once it has had its effect."""
        raise NotImplementedError


def is_cast_in_place(call: ast.Call) -> bool:
    """`array.astype(np.float32, copy=False)`: the array itself where it is of that dtype."""
    is_asked = any(each.arg == "copy" and is_false(each.value) for each in call.keywords)
    return is_asked and isinstance(call.func, ast.Attribute) and call.func.attr == "astype"
