"""From the targets of assignments and loops to the copies that names hold from there on."""

from __future__ import annotations

import ast
from abc import abstractmethod
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import root_name
from tonumpy.sinks.unfinished import parts
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES, Copies, State
from tonumpy.text.names import last_name, path_of

if TYPE_CHECKING:
    from tonumpy.sinks.unfinished.arrival_state import Ahead, Copy, Read
    from tonumpy.sinks.unfinished.homes import Home
    from tonumpy.text.candidates import Scope


class Names:
    """The part of a walk that is about what names hold, with all that a walk knows."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._is_away = False  # in a function of another file, whose reads are told there
        self.reads: dict[tuple[int, int], Read] = {}
        self._state = State({}, {}, set())
        self._is_reached = True
        self._scopes: tuple[Scope, ...] = ()
        self._statement: ast.stmt | None = None
        self._string: ast.expr | None = None
        self._through: tuple[ast.Call, ...] = ()
        self._entered: list[ast.AST] = []
        self._returned: Copies = NO_COPIES
        self._returns: list[State] = []
        self._yielded: dict[Copy, bool] | None = None  # what a generator has handed out on its way, each with doubts
        self._ahead: dict[Copy, Ahead] = {}
        self._given: dict[str, ast.expr] = {}  # what a call has given the parameters of the function
        self._arrays_of: dict[str, str] = {}  # arrays in the memory of a pinned tensor, each with its name
        self._streams: list[str] = []
        self._recorded: dict[str, Copies] = {}
        self._left: list[State] = []  # where a loop was left, or begun anew, from its middle
        self._known_arrays: set[str] = set()
        self._containers: set[str] = set()  # names of lists and the like, of which a test asks whether they are empty
        self._flags: set[str] = set()  # names that are given True or False
        self._parts: set[str] = set()  # names of parts of what holds copies, and other things maybe
        self._copied: frozenset[str] = frozenset()  # the names of what is copied somewhere in the function
        self._given_by: dict[int, Copies] = {}  # what calls have given when they were last looked at, by their ids
        self._properties: dict[int, ast.Call] = {}  # calls that stand for what asks for a property, by the ids of that
        self._iterated: dict[
            int, Copies
        ] = {}  # what objects that were gone through hand out, by the ids of their nodes
        self.records_made: dict[ast.Call, dict[str, Copies]] = {}  # in the function itself, with what fields hold
        self.handed: set[ast.AST] = set()  # functions that were given what holds copies, on their way or not
        self._owners: set[str] = set()  # what some attributes of are among the names
        self._looked_at = 0

    @abstractmethod
    def _value(self, node: ast.expr | None, *, is_known: bool = False) -> Copies: ...
    @abstractmethod
    def _all_drawn(self, held: Copies) -> Copies: ...
    @abstractmethod
    def _read(self, held: Copies, node: ast.expr, *, by_arrays: bool = False, is_by_method: bool = False) -> None: ...
    @abstractmethod
    def _is_on_device(self, node: ast.expr) -> bool: ...

    def _bind(self, target: ast.expr, held: Copies, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            self._bind_parts(target.elts, held, value)
            return
        name = path_of(target) if isinstance(target, (ast.Name, ast.Attribute)) else None
        if name is not None:
            self._bind_name(name, held, value)
        elif isinstance(target, ast.Subscript):
            self._bind_item(target, held, value)

    def _bind_parts(self, targets: list[ast.expr], held: Copies, value: ast.expr) -> None:
        """Each target to its part of a tuple that is written there, or of a record; else each to all that the value
        holds."""
        written = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
        if len(written) == len(targets):
            for target, part in zip(targets, written, strict=True):
                self._bind(target, self._value(part, is_known=True), part)
            return
        if any(each.is_ahead for each in held):
            held = self._all_drawn(held)
        fields = self._home.records.fields_among({each.field.partition(".")[0] for each in held}, len(targets))
        is_starred = any(isinstance(each, ast.Starred) for each in targets)
        is_plain = fields or (parts.has_positions(held) and not is_starred)
        if not is_plain:
            held = parts.of_item(held)
        for at, target in enumerate(targets):
            item = parts.of_field(held, fields[at]) if fields else parts.of_position(held, at) if is_plain else held
            self._bind(target.value if isinstance(target, ast.Starred) else target, item, value)
            if isinstance(target, ast.Name) and not is_plain and not _tells_parts(value):
                self._parts.add(target.id)

    def _bind_item(self, target: ast.Subscript, held: Copies, value: ast.expr) -> None:
        if self._is_array(target):
            self._read(held, value)  # an array takes the values
            return
        place, owner = place_of(target), owner_of(target.value)
        if place is not None and place != owner:
            self._state.names[place] = held
            self._hold(f"{owner}[]", parts.in_dict(held, literal(target.slice) or ""))
        else:
            self._hold(owner, held)

    def _is_array(self, node: ast.expr) -> bool:
        root = root_name(node)
        return root in self._known_arrays or root in self._arrays_of or root in self._home.array_attributes

    def _bind_name(self, name: str, held: Copies, value: ast.expr) -> None:
        names = self._state.names
        for place in [each for each in names if each.startswith((f"{name}[", f"{name}."))]:
            del names[place]
        names[name] = held
        self._note_owner(name)
        self._given.pop(name, None)
        self._recorded.pop(name, None)  # it is another event
        self._parts.discard(name)
        if isinstance(value, ast.Dict) and held:
            self._bind_keys(name, value)
        self._note_kind(name, value)
        has_arrived = isinstance(value, ast.Call) and last_name(value.func) == "cpu"
        (self._state.on_host.add if has_arrived else self._state.on_host.discard)(name)
        if not held and self._is_on_device(value):
            self._state.on_device.add(name)
        elif name not in self._copied:
            self._state.on_device.discard(name)

    def _note_kind(self, name: str, value: ast.expr) -> None:
        """Whether a name is given a flag, a container, or an array."""
        if isinstance(value, ast.Constant) and isinstance(value.value, bool):
            self._flags.add(name)
        if isinstance(value, _CONTAINERS) or (isinstance(value, ast.Call) and last_name(value.func) in _MAKERS):
            self._containers.add(name)
        self._note_array(name, value)

    def _note_array(self, name: str, value: ast.expr) -> None:
        """Whether a name is given an array, and the pinned tensor whose memory that shares."""
        self._arrays_of.pop(name, None)
        method = value.func if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) else None
        if method is not None and method.attr == "numpy" and self._home.spellings.is_pinned(method.value):
            self._arrays_of[name] = owner_of(method.value) or ""
        if isinstance(value, ast.Call) and root_name(value.func) in self._home.arrays:
            self._known_arrays.add(name)
        else:
            self._known_arrays.discard(name)

    def _bind_keys(self, name: str, value: ast.Dict) -> None:
        for key, part in zip(value.keys, value.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._state.names[f"{name}[{key.value!r}]"] = self._value(part, is_known=True)

    def _hold(self, name: str | None, held: Copies) -> None:
        if name is not None and held:
            self._state.names[name] = self._state.names.get(name, NO_COPIES) | held
            self._note_owner(name)

    def _note_owner(self, name: str) -> None:
        while (dot := name.rfind(".")) > 0:
            name = name[:dot]
            self._owners.add(name)


_CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.Tuple, ast.ListComp, ast.DictComp, ast.SetComp)
_MAKERS = frozenset("list dict set tuple deque defaultdict OrderedDict".split())


def place_of(node: ast.Subscript) -> str | None:
    """`batch['a']` for a literal key; the container itself for others; None for items of what a call gives."""
    owner = path_of(node.value)
    if owner is None:
        return None if _is_of_call(node) else root_name(node)
    key = literal(node.slice)
    return owner if key is None else f"{owner}[{key!r}]"


def literal(key: ast.expr) -> str | None:
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _is_of_call(node: ast.expr) -> bool:
    """`x.to(y)[0]`: what a call gives is no part of `x`."""
    while isinstance(node, (ast.Subscript, ast.Attribute)):
        node = node.value
    return isinstance(node, ast.Call)


def _tells_parts(value: ast.expr) -> bool:
    """`found.items()`, `zip(a, b)`: what holds copies and what does not stand apart there."""
    return isinstance(value, ast.Call) and last_name(value.func) in ("items", "enumerate", "zip")


def owner_of(node: ast.expr) -> str | None:
    return path_of(node) or root_name(node)
