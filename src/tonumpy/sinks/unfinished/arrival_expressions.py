"""From an expression to the copies that its value is or holds, and to what it reads of them."""

from __future__ import annotations

import ast
from abc import abstractmethod
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import parameter_names, root_name
from tonumpy.sinks.unfinished import parts
from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.sinks.unfinished.arrival_names import literal, owner_of, place_of
from tonumpy.sinks.unfinished.arrival_rounds import Rounds
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES, Copies, Read
from tonumpy.text.candidates import Site
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import children_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from tonumpy.sinks.unfinished.arrival_state import Copy

MAX_NODES = 20_000  # that one function's walk may look at


class Expressions(Rounds):
    """The part of a walk that is about one expression."""

    @abstractmethod
    def _call(self, call: ast.Call) -> Copies: ...
    @abstractmethod
    def _property(self, node: ast.Attribute) -> Copies | None: ...
    @abstractmethod
    def _known_call(self, call: ast.Call) -> Copies: ...

    def _value(self, node: ast.expr | None, *, is_known: bool = False) -> Copies:
        """The copies that the value is, or holds. `is_known`: it was evaluated before, and reads nothing again."""
        if node is None or self._looked_at > MAX_NODES:
            return NO_COPIES
        self._looked_at += 1
        if isinstance(node, ast.Call):
            return self._known_call(node) if is_known else self._call(node)
        step = _STEPS.get(type(node), Expressions._operation)
        return step(self, node)

    def _name(self, node: ast.Name) -> Copies:
        return self._held_by(node.id)

    def _held_by(self, name: str) -> Copies:
        """What a name holds: a value, items of it, and attributes."""
        names = self._state.names
        if name not in self._owners:
            return names.get(name, NO_COPIES) | names.get(f"{name}[]", NO_COPIES)
        stored = {place[len(name) + 1 :]: place for place in names if place.startswith(f"{name}.") and "[" not in place}
        held = names.get(name, NO_COPIES) | names.get(f"{name}[]", NO_COPIES)
        kept = frozenset(each for each in held if each.field not in stored)
        return kept.union(*(parts.in_field(names[place], attribute) for attribute, place in stored.items()))

    def _no_copies(self, _: ast.Constant | ast.Lambda) -> Copies:
        return NO_COPIES

    def _items(self, node: ast.List | ast.Tuple | ast.Set) -> Copies:
        if isinstance(node, ast.Tuple) and not any(isinstance(each, ast.Starred) for each in node.elts):
            held = (parts.in_tuple(self._value(each), at) for at, each in enumerate(node.elts))
            return NO_COPIES.union(*held)
        return parts.in_list(self._all(node.elts))

    def _dict(self, node: ast.Dict) -> Copies:
        self._all(each for each in node.keys if each is not None)
        found = NO_COPIES
        for key, value in zip(node.keys, node.values, strict=True):
            held = self._value(value)
            found |= held if key is None else parts.in_dict(held, literal(key) or "")
        return found

    def _awaited(self, node: ast.Await) -> Copies:
        return self._value(node.value)

    def _named(self, node: ast.NamedExpr) -> Copies:
        held = self._value(node.value)
        self._bind(node.target, held, node.value)
        return held

    def _either(self, node: ast.IfExp) -> Copies:
        self._test(node.test)
        decided = self._decided(node.test)
        found = NO_COPIES if decided is False else self._value(node.body)
        return found if decided else found | self._value(node.orelse)

    def _decided(self, test: ast.expr) -> bool | None:
        """What a flag is that the call at hand has given the function, or its default."""
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            inverse = self._decided(test.operand)
            return None if inverse is None else not inverse
        told = self._given.get(test.id) if isinstance(test, ast.Name) else None
        return told.value if isinstance(told, ast.Constant) and isinstance(told.value, bool) else None

    def _any_of(self, node: ast.BoolOp) -> Copies:
        return self._all(node.values)

    def _operation(self, node: ast.expr) -> Copies:
        """Arithmetic, a comparison: the operands are read, but for tests of identity, and of the keys of a dict."""
        is_of_identity = isinstance(node, ast.Compare) and all(
            isinstance(each, (ast.Is, ast.IsNot, ast.In, ast.NotIn)) for each in node.ops
        )
        for child in children_of(node):
            if isinstance(child, ast.expr):
                held = self._value(child)
                if not is_of_identity:
                    self._read(held, child)
        return NO_COPIES

    def _text(self, node: ast.JoinedStr) -> Copies:
        around, self._string = self._string, self._string or node
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                self._read(self._value(part.value), part.value)
                if self._is_on_device(part.value):
                    self._block_on_stream()
        self._string = around
        return NO_COPIES

    def _all(self, nodes: Iterable[ast.expr]) -> Copies:
        found = NO_COPIES
        for node in nodes:
            found |= self._value(node)
        return found

    def _attribute(self, node: ast.Attribute) -> Copies:
        path = path_of(node)
        if path in self._state.names:
            return self._state.names[path]
        held = self._value(node.value)
        if node.attr in words.PLAIN:
            return NO_COPIES
        is_kept = any(each.field.partition(".")[0] == node.attr for each in held)
        of_property = None if is_kept else self._property(node)
        return parts.of_field(held, node.attr) if of_property is None else of_property

    def _item(self, node: ast.Subscript) -> Copies:
        place, owner = place_of(node), owner_of(node.value)
        if place is None or place == owner:
            held = self._value(node.value)
        elif place in self._state.names:
            return self._state.names[place]
        else:
            held = self._state.names.get(owner or "", NO_COPIES)
        if not isinstance(node.slice, ast.Slice):
            held = _at(node.slice, held)
        index = self._value(node.slice)
        self._read(index, node.slice)
        if isinstance(node.slice, (ast.Compare, ast.List, ast.UnaryOp)) and not _is_number(node.slice):
            self._read(held, node)
        return held

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Copies:
        held = NO_COPIES
        for each in node.generators:
            held |= (iterable := self._iterable(each.iter))
            self._bind_loop(each.target, iterable, each.iter)
            for test in each.ifs:
                self._test(test)
        if isinstance(node, ast.DictComp):
            self._value(node.key)
            found = parts.in_dict(self._value(node.value))
        else:
            found = parts.in_list(self._value(node.elt))
        self._went_on(held)
        return found

    def _of_lambda(self, node: ast.Lambda, held: Copies) -> Copies:
        before = dict(self._state.names)
        self._state.names.update(dict.fromkeys(parameter_names(node.args), held))
        found = self._value(node.body)
        self._state.names = before
        return found

    def _test(self, node: ast.expr) -> None:
        """A branch on a tensor that is on a device waits for it."""
        plain = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(plain, (ast.Name, ast.Attribute)) and path_of(plain) in self._containers:
            return
        held = self._value(node)
        self._read(held, node)
        is_of_identity = isinstance(plain, ast.Compare) and isinstance(
            plain.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn)
        )
        if not held and not is_of_identity and self._is_on_device(plain):
            self._block_on_stream()

    def _read(self, held: Copies, node: ast.expr, *, by_arrays: bool = False, is_by_method: bool = False) -> None:
        if isinstance(node, ast.Name) and node.id in self._parts and not by_arrays:
            return  # `if is_last:` after `copied, is_last = kept[0]`
        others = len({id(each.call) for each in self._state.pending}) > 1
        state = self._state
        for each in held:
            copy = each.itself
            if copy not in state.pending or each.field or (copy, each.part) in state.parts_read:
                continue
            if each.part:
                doubt = state.pending[copy]
                state.parts_read.add((copy, each.part))
            else:
                doubt = state.pending.pop(copy)
            if not self._is_away:
                self._note_read(copy, node, doubt, others, is_by_method)

    def _note_read(self, copy: Copy, node: ast.expr, is_doubtful: bool, others: bool, is_by_method: bool) -> None:
        """Of the reads of a copy at one place, one without doubt counts before one with."""
        key = id(copy.call), id(node)
        assert self._statement is not None
        call = node if isinstance(node, ast.Call) else copy.call
        site = Site(call, self._scopes, (), self._statement, self._string)
        if key not in self.reads or (self.reads[key].is_doubtful and not is_doubtful):
            self.reads[key] = Read(copy, node, site, is_doubtful, others, is_by_method)

    def _synchronize(self, function: ast.expr) -> None:
        """Of all, of an event that was recorded before some of them, or of a stream that has none of them."""
        owner = path_of(function.value) if isinstance(function, ast.Attribute) else None
        if owner in self._recorded:
            for copy in self._recorded[owner or ""]:
                self._state.pending.pop(copy, None)
        elif isinstance(function, ast.Attribute) and "current_stream" in ast.dump(function.value):
            self._block_on_stream()
        else:
            self._state.pending.clear()

    def _order_streams(self, call: ast.Call, function: ast.Attribute) -> None:
        """An event that is recorded, and a stream that waits for one or for another stream."""
        name = function.attr
        if name == "record":
            self._recorded[path_of(function.value) or ""] = frozenset(self._state.pending)
        elif name == "wait_stream" and call.args:
            self._state.waited.add(path_of(call.args[0]) or "")
        elif name == "wait_event":
            self._state.waited.update(each.stream for each in self._recorded.get(path_of(call.args[0]) or "", ()))

    def _block_on_stream(self) -> None:
        here = self._streams[-1] if self._streams else ""
        for copy in list(self._state.pending):
            if copy.stream == here or copy.stream in self._state.waited:
                del self._state.pending[copy]

    def _doubt(self) -> None:
        for copy in self._state.pending:
            self._state.pending[copy] = True

    def _is_on_device(self, node: ast.expr) -> bool:
        """Whether a value is, or is made of, what is copied to the host: not its shape, nor a test of what it is."""
        stack: list[ast.AST] = [node]
        while stack:
            part = stack.pop()
            if isinstance(part, ast.Attribute) and part.attr in words.PLAIN:
                continue
            if isinstance(part, ast.Call) and self._leaves_device(part):
                continue
            path = path_of(part) if isinstance(part, (ast.Name, ast.Attribute)) else None
            if path in self._state.on_device and not self._state.names.get(path or ""):
                return True
            stack += children_of(part)
        return False

    def _leaves_device(self, call: ast.Call) -> bool:
        """Whether what a call gives is on the host, whatever it is given."""
        name = last_name(call.func)
        is_on_host = name in words.NOT_READING or name in words.PLAIN or name in words.BLOCKING
        return is_on_host or self._home.spellings.source_of(call, self._scopes, self._given) is not None

    def _is_module(self, node: ast.expr) -> bool:
        root = root_name(node)
        is_path = path_of(node) is not None and root not in self._state.names
        return is_path and (root in self._home.arrays or root in self._home.torch)


# What a walk does at an expression of each kind but calls; others are operations.
_STEPS: dict[type[ast.expr], Callable[[Expressions, Any], Copies]] = {
    ast.Name: Expressions._name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._item,
    **dict.fromkeys((ast.Constant, ast.Lambda), Expressions._no_copies),
    **dict.fromkeys((ast.List, ast.Tuple, ast.Set), Expressions._items),
    ast.Dict: Expressions._dict,
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp), Expressions._comprehension),
    ast.Starred: Expressions._starred,
    ast.Await: Expressions._awaited,
    ast.NamedExpr: Expressions._named,
    ast.IfExp: Expressions._either,
    ast.BoolOp: Expressions._any_of,
    ast.JoinedStr: Expressions._text,
    **dict.fromkeys((ast.Yield, ast.YieldFrom), Expressions._handed_out),
}


def _at(index: ast.expr, held: Copies) -> Copies:
    key = index.value if isinstance(index, ast.Constant) else None
    if isinstance(key, int) and key >= 0:
        return parts.of_position(held, key)
    return parts.of_key(held, key) if isinstance(key, str) else parts.of_item(held)


def _is_number(node: ast.expr) -> bool:
    return isinstance(node, ast.UnaryOp) and isinstance(node.operand, ast.Constant)
