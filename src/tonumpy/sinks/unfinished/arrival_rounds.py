"""From what is gone through, a container, a generator or an iterator, to the copies that each round gets.

A generator is walked where it is called, and hands out the copies that are on their way where it yields them. They are
made when the next is asked for, so what waits before that waits for none of them.
"""

from __future__ import annotations

import ast
from abc import abstractmethod
from typing import TYPE_CHECKING

from tonumpy.sinks.unfinished import parts
from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.sinks.unfinished.arrival_names import Names
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES, Ahead, Copies
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tonumpy.sinks.unfinished.arrival_state import Copy
    from tonumpy.sinks.unfinished.homes import Helper


class Rounds(Names):
    """The part of a walk that is about what is gone through."""

    @abstractmethod
    def _enter(self, call: ast.Call, helper: Helper) -> Copies: ...
    @abstractmethod
    def _doubt(self) -> None: ...

    def _iterable(self, node: ast.expr, *, is_known: bool = False) -> Copies:
        """What is held by something that is gone through."""
        held = self._value(node, is_known=is_known)
        if is_known:
            return held | self._iterated.get(id(node), NO_COPIES)
        found = self._iterated[id(node)] = NO_COPIES if held else self._of_iterator(node)
        return held | found

    def _bind_loop(self, target: ast.expr, held: Copies, iterable: ast.expr) -> None:
        """The target of a loop to what that gets of an iterable, which holds copies."""
        name = last_name(iterable.func) if isinstance(iterable, ast.Call) else None
        targets = target.elts if isinstance(target, (ast.Tuple, ast.List)) else []
        given = iterable.args if isinstance(iterable, ast.Call) else []
        if name in ("zip", "zip_longest") and len(given) == len(targets):
            for each, part in zip(targets, given, strict=True):
                self._bind_loop(each, self._iterable(part, is_known=True), part)
        elif name == "enumerate" and given and len(targets) == 2:
            self._bind(targets[0], NO_COPIES, _NUMBER)
            self._bind_loop(targets[1], self._iterable(given[0], is_known=True), given[0])
        elif name == "items" and len(targets) == 2:
            self._bind(targets[0], NO_COPIES, _NUMBER)
            self._bind(targets[1], parts.iterated(held), iterable)
        else:
            self._bind(target, self._drawn(parts.iterated(held)), iterable)

    def _is_waited_for_at_last(self, yielded: Mapping[Copy, bool], helper: Helper) -> bool:
        """Whether a generator may wait for what it has handed out, when it goes on."""
        pending = {each._replace(is_old=False) for each in self._state.pending}
        return self._home.waits(helper) or any(each.itself not in pending for each in yielded)

    def _leave_out(self, yielded: Iterable[Copy], left: Mapping[str, Copies]) -> None:
        """What a generator hands out, and keeps nowhere else, is not on its way before it is asked for."""
        kept = {each.itself for held in left.values() for each in held}
        for each in yielded:
            for copy in (each.itself, each.itself._replace(is_old=True)):
                if copy not in kept:
                    self._state.pending.pop(copy, None)

    def _of_iterator(self, node: ast.expr) -> Copies:
        """What an object of a class of the module hands out, where it is gone through."""
        cls = self._home.receivers.class_of(node, self._scopes)
        methods = [self._home.receivers.method(cls, name) for name in words.ITERATING] if cls is not None else []
        method = next(filter(None, methods), None)
        helper = None if method is None else self._home.functions[method[:2]]
        if method is None or helper is None or not self._home.makes_copies(helper):
            return NO_COPIES
        function = ast.Attribute(node, method.name, ast.Load())
        call = self._properties.setdefault(id(node), ast.copy_location(ast.Call(function, [], []), node))
        found = self._enter(call, helper)
        if method.name == "__iter__":
            return found
        pending = self._state.pending
        on_their_way = {each: pending[each.itself] for each in parts.in_list(found) if each.itself in pending}
        return self._made_ahead(on_their_way, waits=self._home.waits(helper))

    def _passed_on(self, given: Iterable[ast.expr], name: str) -> Copies:
        held = NO_COPIES.union(*map(self._iterable, given))
        if name in ("next", "anext") and any(each.is_ahead for each in held):
            return self._drawn(parts.iterated(held))
        return self._all_drawn(held) if name in words.GOING_THROUGH else held

    def _made_ahead(self, held: Mapping[Copy, bool], *, waits: bool) -> Copies:
        """Copies that are made when the next is asked for, each with whether it may have arrived then."""
        found = {each._replace(is_old=False, is_ahead=True): doubt for each, doubt in held.items()}
        self._ahead.update((each.itself, Ahead(doubt, waits)) for each, doubt in found.items())
        return frozenset(found)

    def _drawn(self, held: Copies) -> Copies:
        """The next is asked for: its copies are on their way from here on."""
        self._went_on(held)
        found = set()
        for each in held:
            drawn = each._replace(is_old=False, is_ahead=False) if each.is_ahead else each
            if each.is_ahead:
                self._state.pending[drawn.itself] = self._ahead[each._replace(is_old=False).itself].is_doubtful
                self._state.made.add(drawn.itself)
            found.add(drawn)
        return frozenset(found)

    def _went_on(self, held: Copies) -> None:
        """What hands these out was asked again, or has come to its end, and may have waited for those before."""
        for each in held:
            if each.is_ahead and self._ahead[each._replace(is_old=False).itself].waits:
                for is_old in (False, True):
                    self._state.pending.pop(each._replace(is_old=is_old, is_ahead=False).itself, None)

    def _starred(self, node: ast.Starred) -> Copies:
        held = self._iterable(node.value)
        return self._all_drawn(parts.iterated(held)) if any(each.is_ahead for each in held) else held

    def _all_drawn(self, held: Copies) -> Copies:
        drawn = self._drawn(held)
        self._went_on(held)
        return drawn

    def _handed_out(self, node: ast.Yield | ast.YieldFrom) -> Copies:
        """What goes on with it reads it, and may wait before it does, and before it comes back."""
        held, all_held, yielded = NO_COPIES, NO_COPIES, self._yielded or {}
        if isinstance(node, ast.YieldFrom):
            all_held = parts.iterated(self._iterable(node.value))
            held = self._drawn(all_held)
        elif node.value is not None:
            held = self._value(node.value)
        for each in parts.in_list(held):
            doubt = self._state.pending.get(each.itself)
            if doubt is not None:
                new = each._replace(is_old=False)
                yielded[new] = doubt and yielded.get(new, True)
        self._yielded = yielded
        self._went_on(all_held)
        self._doubt()
        return NO_COPIES


_NUMBER = ast.Constant(0)
