"""From a call to the copies that it makes, gives or reads, and to what it waits for."""

from __future__ import annotations

import ast
from abc import abstractmethod

from tonumpy.inference.index.bindings import parameter_names, path_of, root_name
from tonumpy.inference.knowledge import torch_api
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.sinks.unfinished.arrival_expressions import Expressions, owner_of
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES, Copies, Copy, Helper
from tonumpy.text.names import is_cpu_literal, is_dtype, last_name

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_DEPTH = 3  # of calls that are followed


class Calls(Expressions):
    """The part of a walk that is about one call."""

    @abstractmethod
    def _block(self, body: Iterable[ast.stmt]) -> None: ...

    def _call(self, call: ast.Call) -> Copies:
        source = self.spellings.source_of(call, self._scopes)
        if source is not None:
            return self._copy(call, source)
        function = call.func
        name = last_name(function) or ""
        if words.waits(name):
            self._all([*call.args, *(each.value for each in call.keywords)])
            self._synchronize(function)
            return NO_COPIES
        if name in words.MAPPING and call.args:
            return self._mapped(call)
        helper = self.helpers.called(function, self._scopes)
        if helper is not None:
            if self.helpers.makes_copies(helper) or self._is_given_copies(call):
                return self._enter(call, helper)
            if self.helpers.waits(helper):
                self._state.pending.clear()
        if isinstance(function, ast.Attribute) and not self._is_module(function.value):
            return self._method(call, function)
        return self._function(call, name)

    def _known_call(self, call: ast.Call) -> Copies:
        """The copies that a call which was looked at before has given."""
        return frozenset(each for each in self._state.pending if each.call is call or call in each.through)

    def _copy(self, call: ast.Call, source: ast.expr) -> Copies:
        assert isinstance(call.func, ast.Attribute)
        receiver = self._value(call.func.value)
        self._all([*call.args, *(each.value for each in call.keywords)])
        if call.func.attr in ("to", "type") and receiver:
            return receiver  # it is on the host already
        if (root := root_name(source)) is not None:
            self._state.on_device.add(root)
        stream = self._streams[-1] if self._streams else ""
        made = Copy(call, self._scopes, source, self._through, stream)
        self._state.pending[made] = False
        if call.func.attr in ("copy_", "_foreach_copy_"):
            written = call.func.value if call.func.attr == "copy_" else call.args[0]
            self._hold(owner_of(written), frozenset((made,)))
        return frozenset((made,))

    def _is_given_copies(self, call: ast.Call) -> bool:
        given = [*call.args, *(each.value for each in call.keywords)]
        return any(not self._state.pending.keys().isdisjoint(self._value(each, is_known=True)) for each in given)

    def _enter(self, call: ast.Call, helper: Helper) -> Copies:
        node, scopes = helper
        given = [self._value(each) for each in call.args]
        named = {each.arg: self._value(each.value) for each in call.keywords}
        if node in self._entered or len(self._entered) >= MAX_DEPTH:
            return NO_COPIES
        names = [each.arg for each in (*node.args.posonlyargs, *node.args.args)]
        if names[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute):
            names = names[1:]
        bound = dict(zip(names, given, strict=False))
        bound.update((name, held) for name, held in named.items() if name is not None)
        kept = self._scopes, self._state.names, self._statement, self._through, self._returned, self._left
        kept_string, on_device, reached = self._string, self._state.on_device, self._is_reached
        own = {name: held for name, held in self._state.names.items() if name.startswith("self.")}
        self._scopes, self._state.names = scopes, {**own, **bound}
        self._through, self._returned, self._left, self._string = (*self._through, call), NO_COPIES, [], None
        self._state.on_device = set()
        self._entered.append(node)
        self._block(node.body)
        self._entered.pop()
        found = self._returned
        # What the last path has synchronised counts: another may have returned before it.
        self._scopes, self._state.names, self._statement, self._through, self._returned, self._left = kept
        self._string, self._state.on_device, self._is_reached = kept_string, on_device, reached
        for each in call.args:
            if (root := root_name(each)) is not None and found:
                self._state.on_device.add(root)
        return found

    def _mapped(self, call: ast.Call) -> Copies:
        """`tree_map(lambda t: t.to("cpu", non_blocking=True), outputs)`, `map(to_cpu, tensors)`."""
        given = [*call.args, *(each.value for each in call.keywords)]
        helpers = {id(each): found for each in given if (found := self.helpers.called(each, self._scopes)) is not None}
        held = self._all(each for each in given if id(each) not in helpers and not isinstance(each, ast.Lambda))
        for each in given:
            if isinstance(each, ast.Lambda):
                return held | self._of_lambda(each, held)
            if id(each) in helpers and self.helpers.makes_copies(helpers[id(each)]):
                rest = [other for other in call.args if other is not each]
                return held | self._enter(ast.copy_location(ast.Call(each, rest, []), call), helpers[id(each)])
        return held

    def _of_lambda(self, node: ast.Lambda, held: Copies) -> Copies:
        before = dict(self._state.names)
        self._state.names.update(dict.fromkeys(parameter_names(node.args), held))
        found = self._value(node.body)
        self._state.names = before
        return found

    def _method(self, call: ast.Call, function: ast.Attribute) -> Copies:
        held = self._value(function.value)
        given = [*call.args, *(each.value for each in call.keywords)]
        name = function.attr
        if name in words.FILLING:
            self._hold(owner_of(function.value), self._all(given))
            return held if name == "setdefault" else NO_COPIES
        held_by_given = [(each, self._value(each)) for each in given]
        if torch_api.tensor_method(name) is not None and name not in words.QUIET:
            for each, copies in held_by_given:
                self._read(copies, each)
        if name == "record":
            self._recorded[path_of(function.value) or ""] = frozenset(self._state.pending)
        elif name == "wait_stream" and call.args:
            self._state.waited.add(path_of(call.args[0]) or "")
        elif name == "wait_event":
            self._state.waited.update(each.stream for each in self._recorded.get(path_of(call.args[0]) or "", ()))
        if not held:
            self._block_by_method(call, name)
            return NO_COPIES
        if name in words.PLAIN:
            return NO_COPIES
        if name == "to":
            return self._moved(call, held)
        if name in words.VIEWS:
            return held
        if name in words.READING or torch_api.tensor_method(name) is not None:
            if name not in words.QUIET and not name.endswith("_"):
                self._read(held, call)
                return NO_COPIES
            return held
        return held

    def _moved(self, call: ast.Call, held: Copies) -> Copies:
        given = [each.value for each in call.keywords if each.arg == "device"] or call.args[:1]
        if not given or is_dtype(given[0]):
            self._read(held, call)
            return NO_COPIES
        return held if is_cpu_literal(given[0]) else NO_COPIES

    def _block_by_method(self, call: ast.Call, name: str) -> None:
        """What waits for a tensor that is on a device waits for the copies before it as well."""
        is_forced = name == "numpy" and bool(call.keywords)
        given = [each.value for each in call.keywords if each.arg == "device"] or call.args[:1]
        is_moved = name == "to" and bool(given) and is_cpu_literal(given[0])
        if name in words.BLOCKING or is_forced or is_moved:
            self._block_on_stream()
        elif not words.is_harmless(call.func) and torch_api.tensor_method(name) is None:
            self._doubt()

    def _function(self, call: ast.Call, name: str) -> Copies:
        given = [*call.args, *(each.value for each in call.keywords)]
        root = root_name(call.func)
        if isinstance(call.func, ast.Name) and name in words.NOT_READING:
            self._all(given)
            return NO_COPIES
        if isinstance(call.func, ast.Name) and name in words.PASSING:
            return self._all(given)
        self._all(given)
        is_of_torch = root in self.torch
        if is_of_torch and name in words.NOT_READING_IN_TORCH:
            return NO_COPIES
        is_builtin = isinstance(call.func, ast.Name) and name in words.READING_BUILTINS
        if is_of_torch or root in self.arrays or is_builtin:
            for each in given:
                self._read(self._value(each, is_known=True), each)
            if (is_builtin or name in words.BLOCKING) and any(map(self._is_on_device, given)):
                self._block_on_stream()
            return NO_COPIES
        if not words.is_harmless(call.func):
            self._doubt()
        return NO_COPIES

    def _is_module(self, node: ast.expr) -> bool:
        root = root_name(node)
        is_path = path_of(node) is not None and root not in self._state.names
        return is_path and (root in self.arrays or root in self.torch)
