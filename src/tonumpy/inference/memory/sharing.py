"""Where memory that an array and a tensor share is written, and the other read later, for a file's conversions.

The function is run over in order (walk.py) with nothing known but which names may refer to the same memory
(regions.py): by assignment, by views, and by what shares memory on the CPU (sharers.py). What a function of the module
does with what it is given is followed (effects.py); and so is what those do that call one which hands on an array.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.references import class_around
from tonumpy.inference.memory.call_walk import MAX_DEPTH
from tonumpy.inference.memory.effects import Callee, Effects, is_called_as_it_is, named_once
from tonumpy.inference.memory.sharers import side_of
from tonumpy.inference.memory.walk import Walk
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tonumpy.engine.names.module import Module
    from tonumpy.inference.memory.regions import Side
    from tonumpy.inference.memory.state import Handed, Overwritten
    from tonumpy.text.candidates import Candidate, Scope, Site
    from tonumpy.text.source import Source


class Sharing(NamedTuple):
    """For the call of each conversion: writes to the tensor that show in the array, and to the array in the tensor,
    whichever of the two was there first.

    Several where the array is handed to several functions.
    """

    of_tensors: dict[ast.Call, list[Overwritten]]
    of_arrays: dict[ast.Call, list[Overwritten]]


_CALL = r"\b(\w+)[ \t]*\("


def sharing_of(module: Module, candidates: Sequence[Candidate], sharers: Sequence[Site]) -> Sharing:
    """What is written through the memory that each candidate may share, and each call of another function."""
    candidates = [each for each in candidates if not each.is_unbound]
    conversions: dict[ast.Call, Side] = {each.call: "array" for each in candidates}
    conversions.update((each.call, side_of(each.call)) for each in sharers)
    functions = Functions(module, conversions)
    try:
        return _sharing_of(functions, [*candidates, *sharers], module.source)
    finally:
        functions.close()


def _sharing_of(functions: Functions, candidates: Sequence[Candidate | Site], source: Source) -> Sharing:
    whole = Sharing({}, {})
    waiting = {id(each.scopes[-1]): each.scopes for each in candidates}
    done: set[int] = set()
    for _ in range(MAX_DEPTH):
        names = set()
        for scopes in waiting.values():
            node, owner = scopes[-1], class_around(scopes)
            try:
                walk = functions.walk(node, owner, 0)
            except RecursionError:
                note_cut()
                continue  # nested too deeply: nothing is said of it
            _add(walk.memory.of_tensors, whole.of_tensors)
            _add(walk.memory.of_arrays, whole.of_arrays)
            if isinstance(node, ast.FunctionDef) and functions.effects(Callee(node, owner), 0).hands_on_arrays:
                names.add(node.name)
        done |= waiting.keys()
        callers = [site.scopes for site in _calls_of(names, source)] if names else []
        waiting = {id(scopes[-1]): scopes for scopes in callers if id(scopes[-1]) not in done}
    return whole


def _add(found: dict[Handed, Overwritten], to: dict[ast.Call, list[Overwritten]]) -> None:
    for (conversion, _), overwritten in found.items():
        to.setdefault(conversion, []).append(overwritten)


def _calls_of(names: set[str], source: Source) -> list[Site]:
    """The calls of functions of these names."""
    rows = {source.position_at(each.start()).row for each in re.finditer(_CALL, source.text) if each[1] in names}
    return find_calls(source, sorted(rows), lambda call: last_name(call.func) in names)


class Functions:
    """The functions of a module, each run over when its effects are asked for."""

    def __init__(self, module: Module, conversions: Mapping[ast.Call, Side]) -> None:
        self.conversions = conversions
        self._named = named_once(module.tree.body)
        self._walks: dict[tuple[int, int], Walk] = {}
        self._effects: dict[tuple[int, int], Effects] = {}

    def close(self) -> None:
        """Drop what was found, which refers back to this object, as `Analysis.close` does and for the same reason."""
        vars(self).clear()

    def callee(self, call: ast.Call, owner: ast.ClassDef | None, objects: Mapping[str, ast.ClassDef]) -> Callee | None:
        """What `helper(x)`, `self.helper(x)` and `buffer.helper(x)` call, where that is sure.

        `objects` are names of objects of classes of the module.
        """
        function, cls = call.func, None
        if isinstance(function, ast.Name):
            found = self._named.get(function.id)
        elif isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            name = function.value.id
            cls = objects.get(name) or (owner if name in ("self", "cls") else None)
            found = None if cls is None else named_once(cls.body).get(function.attr)
        else:
            return None
        return Callee(found, cls) if isinstance(found, ast.FunctionDef) and is_called_as_it_is(found) else None

    def class_named(self, name: str | None) -> ast.ClassDef | None:
        """The class of the module that has this name, and nothing else there."""
        cls = self._named.get(name or "")
        return cls if isinstance(cls, ast.ClassDef) else None

    def walk(self, node: Scope, owner: ast.ClassDef | None, depth: int) -> Walk:
        """`depth` counts the calls that have led here."""
        key = id(node), depth
        if key not in self._walks:
            walk = Walk(self, owner, depth)
            walk.run(node.body, getattr(node, "args", None))
            self._walks[key] = walk
        return self._walks[key]

    def effects(self, callee: Callee, depth: int) -> Effects:
        key = id(callee.node), depth
        if key not in self._effects:
            self._effects[key] = self.walk(callee.node, callee.owner, depth).effects(callee.node)
        return self._effects[key]
