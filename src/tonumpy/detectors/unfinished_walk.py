"""From a function to the places where a tensor is read on the host before its copy is known to have arrived.

A forward walk over the statements: which names hold the result of an asynchronous copy, and which of these copies no
synchronisation has finished. What blocks on another tensor finishes them too.
"""

from __future__ import annotations

import ast
from itertools import chain, islice, zip_longest
from typing import TYPE_CHECKING

from tonumpy.detectors import unfinished_calls as words
from tonumpy.detectors.unfinished_calls import NONE, Copies, Copy, Helpers, Read, State, alone, keyed
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.bindings import OBJECTS, arguments_of, root_name
from tonumpy.text.candidates import Site
from tonumpy.text.names import ACCELERATORS, is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import TRIES, children_of, own_expressions, walk

if TYPE_CHECKING:
    from tonumpy.detectors.unfinished_calls import Program
    from tonumpy.text.candidates import Scope

MAX_NODES = 20_000  # that one function's walk may look at
_CONTAINERS = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp)


class Walk:
    """The walk over one function, or over a module's own body. `returned`: the copies that it returns on their way.
    `helpers`: the functions of the module that return some, by the scope around and their names."""

    def __init__(self, program: Program, scopes: tuple[Scope, ...], helpers: Helpers) -> None:
        self._program = program
        self._scopes = scopes
        self._helpers = helpers
        self.reads: dict[tuple[int, int], Read] = {}
        self.returned: Copies = NONE
        self._state = State()
        self._is_reached = True
        self._statement: ast.stmt | None = None
        self._string: ast.expr | None = None
        self._left: list[State] = []  # where a loop was left, or begun anew, from its middle
        self._on_device: set[str] = set()  # names of what is, or is made of, a tensor that is copied to the host
        self._containers: set[str] = set()  # names of lists and the like that the function makes
        self._looked_at = 0

    def run(self) -> Walk:
        copies = self._program.copies
        sources = (copies[id(each)].source for each in walk(self._scopes[-1]) if id(each) in copies)
        self._on_device.update(name for each in sources if (name := root_name(each)) is not None)
        try:
            self._block(self._scopes[-1].body)
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
        return self

    def _block(self, body: list[ast.stmt]) -> None:
        for at, statement in enumerate(body):
            if not self._is_reached or self._looked_at > MAX_NODES:
                return
            self._statement = statement
            view = words.view_waited_for(statement, islice(body, at + 1, None))
            if view is not None:
                self._bind(view[0], self._value(view[1]), view[1])
            else:
                self._do(statement)

    def _do(self, statement: ast.stmt) -> None:
        match statement:
            case ast.Assign() | ast.AnnAssign():
                self._assign(statement)
            case ast.AugAssign() if self._is_container(statement.target):
                self._put(path_of(statement.target), self._value(statement.value))
            case ast.AugAssign():
                self._operation(statement)
            case ast.Assert():
                self._test(statement.test)
            case ast.If():
                self._if(statement)
            case ast.For() | ast.AsyncFor() | ast.While():
                self._loop(statement)
            case ast.With() | ast.AsyncWith():
                self._with(statement)
            case ast.Match():
                self._value(statement.subject)
                self._branches(*(each.body for each in statement.cases))
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                self._leave(statement)
            case _ if isinstance(statement, TRIES):
                self._branches([*statement.body, *statement.orelse], *(each.body for each in statement.handlers))
                self._block(statement.finalbody)
            case _:
                for each in own_expressions(statement):
                    self._value(each)

    def _assign(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> Copies:
        held = self._value(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            if node.value is not None:
                self._bind(target, held, node.value)
        return held

    def _leave(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Return):
            held = self._value(statement.value)
            self.returned |= {each for each in held if each._replace(is_keyed=False) in self._state.pending}
        elif not isinstance(statement, ast.Raise):
            self._left.append(self._state)
        self._is_reached = False

    def _if(self, statement: ast.If) -> None:
        self._test(statement.test)
        before = frozenset(self._state.pending)
        ends = self._branches(statement.body, statement.orelse)
        if len(ends) == 2 and not statement.orelse:
            # What one branch waits for, it is taken to need to wait for: `if device.type == "cuda":`.
            self._state.wait(before - ends[0].pending.keys())

    def _branches(self, *blocks: list[ast.stmt]) -> list[State]:
        before, ends = self._state, []
        for block in blocks:
            self._state, self._is_reached = State(before), True
            self._block(block)
            ends += [self._state] if self._is_reached else []
        self._state, self._is_reached = State(*ends), bool(ends)
        return ends

    def _loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        around, self._left = self._left, []
        held = NONE if isinstance(statement, ast.While) else self._value(statement.iter)
        before = State(self._state)
        for _ in range(2):
            if isinstance(statement, ast.While):
                self._test(statement.test)
            else:
                self._bind_round(statement.target, held, statement.iter)
            self._block(statement.body)
            self._left += [self._state] if self._is_reached else []
            self._state, self._is_reached = State(before, *self._left), True
        if isinstance(statement, ast.While):
            self._test(statement.test)
        self._left = around
        self._block(statement.orelse)

    def _with(self, statement: ast.With | ast.AsyncWith) -> None:
        for item in statement.items:
            held = self._value(item.context_expr)
            if item.optional_vars is not None:
                self._bind(item.optional_vars, held, item.context_expr)
        self._block(statement.body)
        for item in statement.items:  # a context manager may wait when it is left
            if isinstance(item.context_expr, ast.Call):
                self._call_unknown(item.context_expr.func)

    def _bind(self, target: ast.expr, held: Copies, value: ast.expr) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            for each, part in zip_longest(target.elts, parts if len(parts) == len(target.elts) else ()):
                self._bind(each, self._value(part), part or value)
        elif isinstance(target, ast.Subscript):
            self._put(path_of(target.value), keyed(alone(held), is_keyed=True))
        elif (name := path_of(target)) is not None:
            self._bind_name(name, held, value)

    def _bind_name(self, name: str, held: Copies, value: ast.expr) -> None:
        names, function = self._state.names, value.func if isinstance(value, ast.Call) else None
        for path in [each for each in names if each.startswith((f"{name}.", f"{name}:"))]:
            del names[path]
        names[name] = held
        is_made = function is not None and last_name(function) in words.MAKING
        is_there = not held and self._is_on_device(value)
        (self._containers.add if is_made or isinstance(value, _CONTAINERS) else self._containers.discard)(name)
        (self._on_device.add if is_there else self._on_device.discard)(name)

    def _bind_round(self, target: ast.expr, held: Copies, iterable: ast.expr) -> None:
        """The target of a loop to what it gets of an iterable."""
        name = last_name(iterable.func) if isinstance(iterable, ast.Call) else None
        if name in ("enumerate", "items") and isinstance(target, ast.Tuple):
            self._bind(target.elts[0], NONE, iterable)
            target = target.elts[-1]
        self._bind(target, alone(held), iterable)

    def _put(self, name: str | None, held: Copies) -> None:
        """Into a container that the function has made, which is known as a whole: one other item, and nothing is known
        of the items any more."""
        if name is not None and name in self._containers:
            self._state.names[name] = self._state.names.get(name, NONE) | held if held else NONE
            self._containers -= set() if held else {name}

    def _value(self, node: ast.expr | None) -> Copies:
        """The copies that the value is, or holds."""
        self._looked_at += 1
        if node is None or self._looked_at > MAX_NODES:
            return NONE
        match node:
            case ast.Constant() | ast.Lambda():
                return NONE
            case ast.Name():
                return self._state.names.get(node.id, NONE)
            case ast.Attribute():
                known = self._state.names.get(path_of(node) or "")
                held = self._value(node.value) if known is None else known
                return NONE if known is None and node.attr in words.PLAIN else held
            case ast.Subscript():
                return self._item(node)
            case ast.Call():
                return self._call(node)
            case ast.List() | ast.Tuple() | ast.Set() | ast.Dict():
                return self._written_out(node)
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                return self._comprehension(node)
            case ast.Await() | ast.Starred():
                return self._value(node.value)
            case ast.NamedExpr():
                return self._assign(node)
            case ast.IfExp():
                self._test(node.test)
                return self._value(node.body) | self._value(node.orelse)
            case ast.BoolOp():
                return NONE.union(*map(self._value, node.values))
            case ast.Yield() | ast.YieldFrom():
                self._value(node.value)
                self._state.doubt()  # what goes on with it reads it, and may wait before it comes back
                return NONE
        return self._operation(node)

    def _item(self, node: ast.Subscript) -> Copies:
        held, index = self._value(node.value), node.slice
        self._read(self._value(index), index)
        is_inverse = isinstance(index, ast.UnaryOp) and isinstance(index.op, ast.Invert)
        if is_inverse or isinstance(index, (ast.Compare, ast.List)):
            self._read(held, node)  # by a mask
        # Of several copies only one stands at a place.
        is_one = not isinstance(index, ast.Constant) or len({each.call for each in held}) == 1
        return keyed(held, is_keyed=False) if is_one else NONE

    def _written_out(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Copies:
        """A container that holds copies alone."""
        parts = [alone(self._value(each)) for each in (node.values if isinstance(node, ast.Dict) else node.elts)]
        return keyed(NONE.union(*parts) if all(parts) else NONE, is_keyed=isinstance(node, ast.Dict))

    def _comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Copies:
        for each in node.generators:
            self._bind_round(each.target, self._value(each.iter), each.iter)
            for test in each.ifs:
                self._test(test)
        item = node.value if isinstance(node, ast.DictComp) else node.elt
        return keyed(alone(self._value(item)), is_keyed=isinstance(node, ast.DictComp))

    def _operation(self, node: ast.AST) -> Copies:
        """Arithmetic, a comparison, an f-string: the operands are read, but for tests of identity, and of keys."""
        around, self._string = self._string, node if isinstance(node, ast.JoinedStr) else self._string
        for child in children_of(node):
            if isinstance(child, ast.expr):
                held = self._value(child)
                if not words.is_of_identity(node) and not self._is_container(child):
                    self._read(held, child)
                if isinstance(node, ast.FormattedValue) and self._is_on_device(child):
                    self._state.wait()
        self._string = around
        return NONE

    def _test(self, node: ast.expr) -> None:
        """A branch on a tensor that is on a device waits for it."""
        plain = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(plain, ast.BoolOp):
            for each in plain.values:
                self._test(each)
            return
        held = self._value(node)
        if not self._is_container(plain):
            self._read(held, node)
        if not held and not words.is_of_identity(plain) and self._is_on_device(plain):
            self._state.wait()

    def _is_container(self, node: ast.expr) -> bool:
        return isinstance(node, _CONTAINERS) or path_of(node) in self._containers

    def _call(self, call: ast.Call) -> Copies:
        function, name = call.func, last_name(call.func) or ""
        if id(call) in self._program.copies:
            return self._copy(call)
        if name in words.FILLING and isinstance(function, ast.Attribute) and call.args:
            self._put(path_of(function.value), alone(self._value(call.args[-1])))
            return NONE
        parts = (each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each] for each in arguments_of(call))
        given = [(each, self._value(each)) for each in chain.from_iterable(parts)]
        if words.waits(name):
            event = path_of(function.value) if isinstance(function, ast.Attribute) else None
            self._state.wait(self._state.names.get(f"{event}:"))
            return NONE
        called = [function, *(call.args if name in words.MAPPING else ())]
        if returned := NONE.union(*map(self._returned_by, called)):
            self._call_unknown(function)
            return self._state.begun(each._replace(through=call) for each in returned)
        is_of_library = (path_of(function) or "").partition(".")[0] in self._program.libraries
        if name in words.PASSING or (is_of_library and name in words.VIEWS):
            return alone(NONE.union(*(held for _, held in given)))
        if isinstance(function, ast.Attribute) and not is_of_library:
            return self._method(call, function, given)
        if name in words.NOT_READING:
            return NONE
        is_builtin = isinstance(function, ast.Name) and name in words.READING_BUILTINS
        if is_builtin or is_of_library:
            for node, held in given:
                self._read(alone(held), node)
            if (is_builtin or name in words.BLOCKING) and any(self._is_on_device(each) for each, _ in given):
                self._state.wait()
        else:
            self._call_unknown(function)
        return NONE

    def _call_unknown(self, function: ast.expr) -> None:
        """A function of the module may wait by its text, and another one in doubt."""
        if last_name(function) in self._program.waiting and root_name(function) not in self._program.libraries:
            self._state.wait()
        elif not words.is_harmless(function):
            self._state.doubt()

    def _returned_by(self, function: ast.expr) -> Copies:
        """The copies that a function of the module, or a method of the class around, returns before they arrive."""
        owner, _, name = (path_of(function) or "").rpartition(".")
        is_method = owner in OBJECTS
        for scope in reversed(self._scopes if is_method or not owner else ()):
            if isinstance(scope, ast.ClassDef) == is_method and (scope, name) in self._helpers:
                return self._helpers[scope, name]
        return NONE

    def _copy(self, call: ast.Call) -> Copies:
        assert isinstance(call.func, ast.Attribute)
        copy, receiver = self._program.copies[id(call)], self._value(call.func.value)
        if copy.written is None and receiver:
            return receiver  # it is on the host already
        made = self._state.begun([Copy(call)])
        owner = None if copy.written is None else path_of(copy.written) or root_name(copy.written)
        if owner is not None and owner not in self._program.libraries:
            self._state.names[owner] = self._state.names.get(owner, NONE) | made
        return made

    def _method(self, call: ast.Call, function: ast.Attribute, given: list[tuple[ast.expr, Copies]]) -> Copies:
        held, name = self._value(function.value), function.attr
        is_of_tensor = torch_api.tensor_method(name) is not None
        for node, copies in given if is_of_tensor and name not in words.QUIET else ():
            self._read(copies, node)
        if name == "record":
            self._state.names[f"{path_of(function.value)}:"] = frozenset(self._state.pending)
        to = next((each.value for each in call.keywords if each.arg == "device"), next(iter(call.args), None))
        is_moved = name == "to" and to is not None and not is_dtype(to)
        is_to_host = is_moved and to is not None and is_cpu_literal(to)
        if not held:
            if name in words.BLOCKING or is_to_host or (name == "numpy" and call.keywords):
                self._state.wait()
            elif not is_of_tensor:
                self._call_unknown(function)
            return NONE
        if name in words.PLAIN or name in ACCELERATORS or (is_moved and not is_to_host):
            return NONE
        is_view = is_to_host or name in words.VIEWS or name in words.QUIET or name.endswith("_")
        if not is_view and is_of_tensor:
            self._read(held, call, is_by_method=True)
            return NONE
        return keyed(held, is_keyed=False)

    def _read(self, held: Copies, node: ast.expr, *, is_by_method: bool = False) -> None:
        pending = self._state.pending
        others = len({each.call for each in pending}) > 1
        wanted = keyed(held, is_keyed=False)
        for copy in [each for each in pending if each in wanted]:
            is_doubtful, key = pending.pop(copy), (id(copy.call), id(node))
            if key not in self.reads or (self.reads[key].is_doubtful and not is_doubtful):
                assert self._statement is not None
                call = node if isinstance(node, ast.Call) else copy.call
                site = Site(call, self._scopes, (), self._statement, self._string)
                self.reads[key] = Read(copy, node, site, is_doubtful, others, is_by_method)

    def _is_on_device(self, node: ast.expr) -> bool:
        """True if a value is, or is made of, what is copied to the host: not its shape, nor a test of what it is."""
        stack: list[ast.AST] = [node]
        while stack:
            part = stack.pop()
            name = last_name(part.func) if isinstance(part, ast.Call) else None
            is_plain = isinstance(part, ast.Attribute) and part.attr in words.PLAIN
            if is_plain or id(part) in self._program.copies or name in words.NOT_READING or name in words.BLOCKING:
                continue
            path = path_of(part) if isinstance(part, (ast.Name, ast.Attribute)) else None
            if path in self._on_device and not self._state.names.get(path or ""):
                return True
            stack += children_of(part)
        return False
