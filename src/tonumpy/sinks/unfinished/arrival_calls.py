"""From a call to the copies that it makes, gives or reads, and to what it waits for."""

from __future__ import annotations

import ast
from abc import abstractmethod
from itertools import chain
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.bindings import defaults_of, root_name
from tonumpy.sinks.unfinished import parts
from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.sinks.unfinished.arrival_expressions import Expressions
from tonumpy.sinks.unfinished.arrival_names import literal, owner_of
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES, Copies, Copy
from tonumpy.text.names import is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.sinks.unfinished.homes import Helper
    from tonumpy.text.candidates import Scope

MAX_DEPTH = 5  # of calls that are followed
# What belongs to the function that is walked.
_OF_ONE_FUNCTION = (
    *("_scopes", "_statement", "_string", "_through", "_given", "_home", "_is_away"),
    *("_returned", "_yielded", "_returns", "_left", "_is_reached", "_parts", "_flags", "_containers", "_known_arrays"),
)


class Calls(Expressions):
    """The part of a walk that is about one call."""

    @abstractmethod
    def _block(self, body: Iterable[ast.stmt]) -> None: ...

    def _call(self, call: ast.Call) -> Copies:
        found = self._given_by[id(call)] = self._evaluated(call)
        return found

    def _evaluated(self, call: ast.Call) -> Copies:
        source = self._home.spellings.source_of(call, self._scopes, self._given)
        if source is not None:
            return self._copy(call, source)
        function = call.func
        name = last_name(function) or ""
        if words.waits(name):
            self._all(_given(call))
            self._synchronize(function)
            return NO_COPIES
        if name in words.MAPPING and call.args:
            return self._mapped(call)
        fields = self._home.records.given(call)
        if fields is not None:
            return self._made(call, fields)
        helper = self._home.called(function, self._scopes, call)
        if helper is not None and self._is_followed(call, helper):
            self.handed.add(helper.node)
            return self._enter(call, helper)
        found = self._call_out_of_sight(call, name)
        if helper is not None and self._home.waits(helper):
            self._state.pending.clear()
        if helper is not None and any(self._value(each, is_known=True) for each in _given(call)):
            self.handed.add(helper.node)
        return found

    def _made(self, call: ast.Call, fields: list[tuple[str, ast.expr]]) -> Copies:
        """A record by its fields."""
        held = {name: self._value(value) for name, value in fields}
        if not self._entered:
            self.records_made[call] = {name: copies for name, copies in held.items() if copies}
        return NO_COPIES.union(*(parts.in_field(copies, name) for name, copies in held.items()))

    def _call_out_of_sight(self, call: ast.Call, name: str) -> Copies:
        """What is not followed is known by its name alone."""
        if words.passes_on(call.func):
            return self._passed_on(_given(call), name)
        if isinstance(call.func, ast.Attribute) and not self._is_module(call.func.value):
            return self._method(call, call.func)
        return self._function(call, name)

    def _known_call(self, call: ast.Call) -> Copies:
        """The copies that a call which was looked at before has given."""
        return self._given_by.get(id(call), NO_COPIES)

    def _copy(self, call: ast.Call, source: ast.expr) -> Copies:
        assert isinstance(call.func, ast.Attribute)
        receiver = self._value(call.func.value)
        self._all(_given(call))
        if call.func.attr in ("to", "type") and receiver:
            return receiver  # it is on the host already
        if (root := root_name(source)) is not None:
            self._state.on_device.add(root)
        stream = self._streams[-1] if self._streams else ""
        filename = self._home.source.filename if self._is_away else ""
        made = Copy(call, self._scopes, source, self._through, stream, filename=filename)
        self._state.pending[made] = False
        self._state.made.add(made)
        written = written_by(call)
        if written is not None:
            self._hold_in_memory(written, frozenset((made,)))
        return frozenset((made,))

    def _hold_in_memory(self, written: ast.expr, held: Copies) -> None:
        """A copy is in what it is written to, and in the arrays that share the memory."""
        owner = owner_of(written)
        arrays = (*self._arrays_of.items(), *self._home.array_attributes.items())
        for name in (owner, *(array for array, tensor in arrays if tensor == owner)):
            self._hold(name, held)

    def _is_followed(self, call: ast.Call, helper: Helper) -> bool:
        """Whether a helper makes copies, or is given some."""
        if self._home.makes_copies(helper):
            return True
        pending = self._state.pending.keys()
        if any(map(self._makes_copy, _given(call))):
            return True
        owner = object_of(call)
        of_object = _renamed(self._state.names, owner, owner).values() if owner in self._owners else ()
        receiver = [call.func.value] if isinstance(call.func, ast.Attribute) else []
        given = (self._value(each, is_known=True) for each in (*receiver, *_given(call)))
        return any(each.is_ahead or each.itself in pending for each in chain.from_iterable(chain(of_object, given)))

    def _makes_copy(self, node: ast.expr) -> bool:
        """`read(x.to("cpu", non_blocking=True))`"""
        if not isinstance(node, ast.Call):
            return False
        helper = self._home.called(node.func, self._scopes, node)
        is_copy = self._home.spellings.source_of(node, self._scopes, self._given) is not None
        return is_copy or (helper is not None and self._home.makes_copies(helper))

    def _enter(self, call: ast.Call, helper: Helper) -> Copies:
        if helper.node in self._entered or len(self._entered) >= MAX_DEPTH:
            return NO_COPIES
        if helper.is_guessed:
            self._doubt()
        found = self._returned_by(call, helper)
        if helper.is_guessed:
            self._doubt()
            self._ahead.update(
                (each.itself, self._ahead[each.itself]._replace(is_doubtful=True)) for each in found if each.is_ahead
            )
        for each in call.args:
            if (root := root_name(each)) is not None and found:
                self._state.on_device.add(root)
        return found

    def _returned_by(self, call: ast.Call, helper: Helper) -> Copies:
        """The copies that a helper returns: its body is walked with names of its own, and what it puts into its object
        is kept."""
        node = helper.node
        bound, given = self._bound(call, node), self._told_by(call, node)
        kept = {name: getattr(self, name) for name in _OF_ONE_FUNCTION}
        names, on_device = self._state.names, self._state.on_device
        owner = "" if is_constructor(node) else object_of(call)
        own = {**self._attributes_of(call), **_renamed(names, owner, "self")}
        around = self._scopes
        if helper.home is None:
            own.update(self._shared(names, helper.scopes, around))
        self._scopes, self._through, self._given = helper.scopes, (*self._through, call), given
        self._returned, self._yielded, self._returns, self._left, self._string = NO_COPIES, None, [], [], None
        self._parts, self._flags, self._containers, self._known_arrays = set(), set(), set(), set()
        if helper.home is not None:
            self._home, self._is_away = helper.home, True
        self._state.names, self._state.on_device = {**own, **bound}, set()
        for name in own:
            self._note_owner(name)
        self._entered.append(node)
        self._block(node.body)
        self._entered.pop()
        found = self._held_by("self") if is_constructor(node) else self._returned
        self._join_returns()
        yielded = self._yielded
        if yielded is not None:
            found = self._made_ahead(yielded, waits=self._is_waited_for_at_last(yielded, helper))
        for name, value in kept.items():
            setattr(self, name, value)
        left = _renamed(self._state.names, "self", owner)
        if helper.home is None:
            left.update(self._shared(self._state.names, helper.scopes, around))
        for name, held in left.items():
            names[name] = held
            self._note_owner(name)
        self._state.names, self._state.on_device = names, on_device
        self._leave_out(yielded or (), left)
        return found

    def _shared(
        self, names: Mapping[str, Copies], inner: tuple[Scope, ...], outer: tuple[Scope, ...]
    ) -> dict[str, Copies]:
        """What both functions, or the module, know by the same names."""
        return {name: held for name, held in names.items() if self._home.is_shared(name, inner, outer)}

    def _attributes_of(self, call: ast.Call) -> dict[str, Copies]:
        """What the attributes of the object hold whose method is called, as far as its value tells that."""
        found: dict[str, Copies] = {}
        if isinstance(call.func, ast.Attribute):
            held = self._value(call.func.value, is_known=True)
            for name in {each.field.partition(".")[0] for each in held if each.field}:
                found[f"self.{name}"] = parts.of_field(frozenset(each for each in held if each.field), name)
        return found

    def _property(self, node: ast.Attribute) -> Copies | None:
        """What a property gives, if it is one of a class of the module; else None."""
        helper = self._home.property_of(node, self._scopes)
        if helper is None:
            return None
        call = self._properties.setdefault(id(node), ast.copy_location(ast.Call(node, [], []), node))
        return self._enter(call, helper) if self._is_followed(call, helper) else NO_COPIES

    def _join_returns(self) -> None:
        """What has been copied on a path that returned before the last one; what the last has waited for counts."""
        last = self._state
        for each in self._returns:
            for copy, doubt in each.pending.items():
                if copy not in last.made:
                    last.pending[copy] = doubt

    def _told_by(self, call: ast.Call, function: FunctionNode) -> dict[str, ast.expr]:
        """The expressions that a call gives the parameters of a function, or that these are given by default."""
        given = dict(defaults_of(function.args))
        given.update(zip(_places_given(call, function), call.args, strict=False))
        given.update((each.arg, each.value) for each in call.keywords if each.arg is not None)
        return {name: self._home.spellings.told_by(value, self._scopes, self._given) for name, value in given.items()}

    def _bound(self, call: ast.Call, function: FunctionNode) -> dict[str, Copies]:
        """What the parameters of a function hold, by what a call gives them."""
        given = [self._value(each) for each in call.args]
        named = {each.arg: self._value(each.value) for each in call.keywords}
        bound = dict(zip(_places_given(call, function), given, strict=False))
        bound.update((name, held) for name, held in named.items() if name is not None)
        return bound

    def _mapped(self, call: ast.Call) -> Copies:
        """`tree_map(lambda t: t.to("cpu", non_blocking=True), outputs)`, `map(to_cpu, tensors)`."""
        functions: list[tuple[ast.expr, Helper | None]] = []
        held = NO_COPIES
        for each in _given(call):
            helper = self._home.called(each, self._scopes)
            if helper is None and not isinstance(each, ast.Lambda):
                held |= self._iterable(each)
            else:
                functions.append((each, helper))
        if any(each.is_ahead for each in held):
            held = self._all_drawn(parts.iterated(held))
        for each, helper in functions:
            if isinstance(each, ast.Lambda):
                return held | self._of_lambda(each, held)
            if helper is not None and self._home.makes_copies(helper):
                rest = [other for other in call.args if other is not each]
                return held | self._enter(ast.copy_location(ast.Call(each, rest, []), call), helper)
        return held

    def _method(self, call: ast.Call, function: ast.Attribute) -> Copies:
        held = frozenset(each for each in self._value(function.value) if not each.field)
        name = function.attr
        if name in words.FILLING:
            given = self._all(_given(call))
            given = self._all_drawn(given) if name in words.FILLING_BY_MANY else parts.in_list(given)
            self._hold(owner_of(function.value), given)
            return parts.of_item(held) if name == "setdefault" else NO_COPIES
        held_by_given = [(each, self._value(each)) for each in _given(call)]
        if torch_api.tensor_method(name) is not None and name not in words.QUIET:
            for each, copies in held_by_given:
                self._read(copies, each)
        self._order_streams(call, function)
        if not held:
            self._block_by_method(call, name)
            return NO_COPIES
        return self._given_by_method(call, name, held)

    def _given_by_method(self, call: ast.Call, name: str, held: Copies) -> Copies:
        """The copies in what a method of one, or of a container of them, gives; it may read them."""
        if name in words.PLAIN:
            return NO_COPIES
        if name in ("__next__", "__anext__"):
            return self._drawn(parts.iterated(held))
        if name == "to":
            return self._moved(call, held)
        if name in words.OF_DICTS:
            return self._of_dict(call, name, held)
        if name == "copy" and self._is_array(call.func):
            self._read(held, call, is_by_method=True)
            return NO_COPIES
        if name in words.VIEWS or name in words.QUIET or name.endswith("_"):
            return held
        if name in words.READING or torch_api.tensor_method(name) is not None:
            self._read(held, call, is_by_method=True)
            return NO_COPIES
        return held

    def _of_dict(self, call: ast.Call, name: str, held: Copies) -> Copies:
        if name == "keys":
            return NO_COPIES
        if name in ("items", "values"):
            return parts.values_of(held)
        key = literal(call.args[0]) if call.args else None
        return parts.of_item(held) if key is None else parts.of_key(held, key)

    def _moved(self, call: ast.Call, held: Copies) -> Copies:
        given = _device_given(call)
        if not given or is_dtype(given[0]):
            self._read(held, call, is_by_method=True)
            return NO_COPIES
        return held if is_cpu_literal(given[0]) else NO_COPIES

    def _block_by_method(self, call: ast.Call, name: str) -> None:
        """What waits for a tensor that is on a device waits for the copies before it as well."""
        if self._is_of_host(call):
            return
        is_forced = name == "numpy" and bool(call.keywords)
        given = _device_given(call)
        is_moved = name == "to" and bool(given) and is_cpu_literal(given[0])
        if name in words.BLOCKING or is_forced or is_moved:
            self._block_on_stream()
        elif not words.is_harmless(call.func) and torch_api.tensor_method(name) is None:
            self._doubt()

    def _is_of_host(self, call: ast.Call) -> bool:
        """Whether a method is called on what has arrived: `mask.any().item()`."""
        if root_name(call.func) not in self._state.on_host:
            return False
        called = (each.func for each in walk(call.func) if isinstance(each, ast.Call))
        return not any(last_name(each) in words.QUIET for each in called)

    def _function(self, call: ast.Call, name: str) -> Copies:
        root, builtin = root_name(call.func), name if isinstance(call.func, ast.Name) else ""
        self._all(_given(call))
        if builtin in words.NOT_READING or (root in self._home.torch and name in words.NOT_READING_IN_TORCH):
            return NO_COPIES
        if builtin in words.READING_BUILTINS:
            self._read_given(call, is_blocking=True, is_gone_through=builtin in words.READING_ITEMS)
        elif root in self._home.torch or root in self._home.arrays:
            self._read_given(call, is_blocking=name in words.BLOCKING, by_arrays=root in self._home.arrays)
        elif not words.is_harmless(call.func):
            self._doubt()
        return NO_COPIES

    def _read_given(
        self, call: ast.Call, *, is_blocking: bool, by_arrays: bool = False, is_gone_through: bool = False
    ) -> None:
        """What a function is given is read; one that `is_blocking` waits for what of it is on a device."""
        for each in _given(call):
            held = self._iterable(each, is_known=True)
            held = self._drawn(parts.iterated(held)) if is_gone_through else held
            self._read(held, each, by_arrays=by_arrays)
        if is_blocking and any(map(self._is_on_device, _given(call))):
            self._block_on_stream()


def written_by(call: ast.Call) -> ast.expr | None:
    """The memory that a copy is written to, where that is given."""
    assert isinstance(call.func, ast.Attribute)
    if call.func.attr == "copy_":
        return call.func.value
    if call.func.attr == "_foreach_copy_":
        return call.args[0]
    return next((each.value for each in call.keywords if each.arg == "out"), None)


def is_constructor(function: FunctionNode) -> bool:
    return function.name == "__init__"


def _places_given(call: ast.Call, function: FunctionNode) -> list[str]:
    """The names of the parameters that a call gives arguments by position."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    is_method = isinstance(call.func, ast.Attribute) or is_constructor(function)
    return names[1:] if is_method and names[:1] in (["self"], ["cls"]) else names


def object_of(call: ast.Call) -> str:
    """What the method that is called has as `self`; a function within one has the same."""
    return (path_of(call.func.value) or "") if isinstance(call.func, ast.Attribute) else "self"


def _renamed(names: Mapping[str, Copies], before: str, after: str) -> dict[str, Copies]:
    """What attributes of an object hold, with the object under another name."""
    if not before or not after:
        return {}
    return {f"{after}{name[len(before) :]}": held for name, held in names.items() if name.startswith(f"{before}.")}


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(each.value for each in call.keywords)]


def _device_given(call: ast.Call) -> list[ast.expr]:
    """What `.to(...)` is given as the device, or for it: one node, or none."""
    return [each.value for each in call.keywords if each.arg == "device"] or call.args[:1]
