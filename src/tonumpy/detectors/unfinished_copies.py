"""From a module to what is read on the host before an asynchronous copy has arrived there (TNP204).

A forward walk over the statements of a function, and of those of the module that it calls, tells which names hold the
result of a copy, and which copies no synchronisation has finished. What blocks on another tensor finishes them too.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from itertools import chain
from typing import NamedTuple

from tonumpy.conversions import Copied, ImplicitConversion
from tonumpy.detectors.async_copies import copied_by, pinned_in, value_of, where_of
from tonumpy.detectors.callees import Callee, Callees
from tonumpy.detectors.forward_walk import ForwardWalk, Names, Place, run_with_callers
from tonumpy.detectors.waiting import view_waited_for, waits
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.names.bindings import arguments_of, full_names, parameters_of, root_name
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.driver import observe
from tonumpy.text.candidates import Scope, Site, find_calls
from tonumpy.text.names import ACCELERATORS, is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.syntax import SCOPES, children_of, walk

# Attributes and methods of a tensor that tell nothing of its values.
_PLAIN = frozenset(
    "shape size dim ndim ndimension numel nelement dtype device is_cuda is_cpu element_size nbytes itemsize stride"
    " layout data_ptr is_pinned is_contiguous requires_grad grad_fn record_stream is_leaf type keys".split()
)
# What gives the same memory, or, of a container, what it holds.
_VIEWS = frozenset(
    "cpu detach data view view_as reshape squeeze unsqueeze flatten ravel permute transpose t T mT expand expand_as"
    " narrow select unbind split chunk swapaxes movedim requires_grad_ pin_memory contiguous real imag diagonal unfold"
    " get items values pop popleft popitem detach_".split()
)
_QUIET = frozenset("copy_ register_hook retain_grad backward".split())
_FILLING = frozenset("append appendleft add extend insert setdefault".split())
# What makes the host wait for the stream of the tensor on a device that it is called on.
_BLOCKING = frozenset("item tolist cpu nonzero argwhere masked_select unique is_nonzero equal".split())
_READING = frozenset("print str repr format float int bool complex round sum max min abs sorted any all".split())
_PASSING = frozenset("list tuple set dict iter next enumerate reversed deque tqdm islice chain".split())
_NOT_READING = frozenset(
    "isinstance len type id hasattr getattr setattr callable hash range super is_tensor numel empty_like zeros_like"
    " ones_like rand_like randn_like stream open slice zip".split()
)
# In the text of a function of the module that may wait.
_SIGNS_OF_WAITING = ("synchronize", ".item(", ".cpu(", ".tolist(", "force=True")
_HARMLESS_ROOTS = frozenset("torch np numpy F nn time logging logger log math os json warnings random tqdm sys".split())
_ON_THE_WAY: Place = ("<on the way>",)  # what has begun, and nothing has waited for since
_IN_DOUBT: Place = ("<in doubt>",)  # of these: what a function out of sight may have waited for


class Copy(NamedTuple):
    """An asynchronous copy, by its call. `is_keyed`: it is a value of a dict, of which a loop gets the keys."""

    call: ast.Call
    is_keyed: bool = False


class Read(NamedTuple):
    """The first read of a copy. `is_doubtful`: a function out of sight was called since, which may have waited.
    `others`: further copies are on their way as well. `is_by_method`: the node calls a method of it."""

    copy: Copy
    node: ast.expr
    site: Site
    is_doubtful: bool
    others: bool
    is_by_method: bool


Copies = frozenset[Copy]
_NONE: Copies = frozenset()


def infer_unfinished(module: Module) -> list[ImplicitConversion]:
    """Return what is read too early, as implicit conversions."""
    source = module.source
    rows = {row for word in ("non_blocking", ", True") for row in source.rows_with(word)}
    sites = find_calls(source, sorted(rows), lambda call: last_name(call.func) in ("to", "copy_"))
    observed = observe(module, sites)
    pinned = pinned_in(source)
    copies = {}
    for site in sites:
        seen = observed.get(id(site.call))
        copied = copied_by(site, seen, pinned)
        if copied is not None:
            copies[id(site.call)] = copied, where_of(value_of(copied, site.call, seen))
    functions = {site.scopes[-1]: site.scopes for site in sites if id(site.call) in copies}
    if not functions:
        return []
    full = {name: full.partition(".")[0] for name, full in full_names(source.tree.body).items()}
    libraries = {name for name, root in full.items() if root == "torch" or root in CONSUMERS}
    texts = ((each.name, source.text_of(each)) for each in walk(source.tree) if isinstance(each, SCOPES))
    waiting = {name for name, text in texts if any(sign in text for sign in _SIGNS_OF_WAITING)}
    callees, reads = Callees(source), dict[tuple[int, int], Read]()
    copied_by_call = {each: node for each, (node, _) in copies.items()}
    run_with_callers(
        lambda scopes: _CopyWalk(callees, scopes, copied_by_call, reads, libraries, waiting),
        functions.values(),
        callees,
    )
    return [
        _conversion(read, is_sure=where == "device" and not read.is_doubtful)
        for read in reads.values()
        if (where := copies[id(read.copy.call)][1]) in ("device", "unknown")
    ]


def _conversion(read: Read, *, is_sure: bool) -> ImplicitConversion:
    call = read.copy.call
    assert isinstance(call.func, ast.Attribute)
    whole = ast.unparse(ast.Call(ast.Name(call.func.attr), call.args, call.keywords))
    return ImplicitConversion(
        read.site,
        f".{whole}".replace("'", '"'),  # `.to("cpu", non_blocking=True)`, without what it is called on
        read.node,
        Chain(()),
        "tensor" if is_sure else "likely",
        on_cpu=False,
        requires_grad=False,
        copied=Copied(call, is_sure, read.others, read.is_by_method),
    )


class _CopyWalk(ForwardWalk[Copy]):
    """The run over one function: which names hold the results of copies, and which of these nothing has waited for."""

    def __init__(
        self,
        functions: Callees,
        scopes: tuple[Scope, ...],
        copied: dict[int, ast.expr],
        reads: dict[tuple[int, int], Read],
        libraries: Collection[str],
        waiting: Collection[str],
    ) -> None:
        super().__init__(functions, scopes)
        self._copied = copied  # what the calls copy, by their ids
        self.reads = reads
        inside = {id(each) for each in walk(scopes[-1])}
        roots = {root_name(node) for call, node in copied.items() if call in inside}
        self._on_device = {root for root in roots if root is not None}  # names of what is copied to the host
        self._libraries = libraries  # the names of torch, and of what reads what it is given
        self._waiting = waiting  # the names of the module's functions and classes that may wait, by their text

    def is_under_way(self) -> bool:
        return bool(self.of(_ON_THE_WAY))

    def leave(self, returned: Copies) -> None:
        self.hands_on |= bool(returned)

    def callee_of(self, call: ast.Call) -> Callee | None:
        """Return the function that a call is followed into: none whose flags may choose whether it waits."""
        callee = super().callee_of(call)
        return None if callee is not None and _is_told_by_flags(callee.node) else callee

    def _wait(self, copies: Copies | None = None) -> None:
        """Take some copies, or all, for arrived."""
        self.names[_ON_THE_WAY] = _NONE if copies is None else self.of(_ON_THE_WAY) - copies

    def _call_unknown(self, function: ast.expr) -> None:
        """A function of the module may wait by its text, and another one in doubt."""
        name, root = last_name(function) or "", root_name(function)
        if name in self._waiting and root not in self._libraries:
            self._wait()
        elif root not in _HARMLESS_ROOTS and name not in _FILLING | _READING | _PASSING | _NOT_READING:
            self.names[_IN_DOUBT] = self.of(_IN_DOUBT) | self.of(_ON_THE_WAY)

    def _look_at(self, held: Copies, node: ast.expr, *, is_by_method: bool = False) -> None:
        """Take copies for read."""
        wanted = frozenset(each._replace(is_keyed=False) for each in held)
        pending = self.of(_ON_THE_WAY)
        for copy in sorted(pending & wanted, key=lambda each: (each.call.lineno, each.call.col_offset)):
            assert self.statement is not None
            callee = self.frames[-1].callee if self.frames else None
            around = self.scopes if callee is None else (self.scopes[0], callee.owner, callee.node)
            scopes = tuple(each for each in around if each is not None)
            call = node if isinstance(node, ast.Call) else copy.call
            site = Site(call, scopes, (), self.statement, self._string)
            is_doubtful, key = copy in self.of(_IN_DOUBT), (id(copy.call), id(node))
            if key not in self.reads or not is_doubtful:
                self.reads[key] = Read(copy, node, site, is_doubtful, len(pending) > 1, is_by_method)
            self._wait(frozenset((copy,)))

    def _may_be_on_device(self, node: ast.expr) -> bool:
        """True if a value is made of what is copied to the host: not its shape, nor a test of what it is."""
        stack: list[ast.AST] = [node]
        while stack:
            part = stack.pop()
            name = last_name(part.func) if isinstance(part, ast.Call) else None
            is_plain = isinstance(part, ast.Attribute) and part.attr in _PLAIN
            if is_plain or id(part) in self._copied or name in _NOT_READING or name in _BLOCKING:
                continue
            if isinstance(part, ast.Name) and part.id in self._on_device and not self.of(self.place(part) or ()):
                return True
            stack += children_of(part)
        return False

    # Statements.

    _string: ast.expr | None = None  # the f-string around

    def block(self, body: Sequence[ast.stmt]) -> None:
        """Run a block. `view = host.numpy()` reads no values where something waits before the array is named again."""
        done = []
        for at, statement in enumerate(body):
            view = view_waited_for(statement, body[at + 1 :])
            done.append(statement if view is None else ast.copy_location(ast.Assign([view[0]], view[1]), statement))
        super().block(done)

    def branches(self, statement: ast.stmt, *blocks: Sequence[ast.stmt]) -> list[Names[Copy]]:
        """Run the branches. One branch of an `if` waits for what needs it: `if device.type == "cuda":`."""
        before = self.of(_ON_THE_WAY)
        ends = super().branches(statement, *blocks)
        if isinstance(statement, ast.If) and len(ends) == 2 and not statement.orelse:
            self._wait(before - ends[0].get(_ON_THE_WAY, _NONE))
        return ends

    def leave_context(self, item: ast.withitem) -> None:
        """A context manager may wait when it is left."""
        if isinstance(item.context_expr, ast.Call):
            self._call_unknown(item.context_expr.func)

    def bind_place(self, place: Place, held: Copies, target: ast.expr, value: ast.expr | None) -> None:  # noqa: ARG002
        self.names[place] = held

    def store(self, target: ast.Subscript, held: Copies) -> None:
        self._put(self.place(target.value), _keyed(_alone(held)))

    def augment(self, statement: ast.AugAssign) -> None:
        if self.place(statement.target) in self.containers:
            self._put(self.place(statement.target), self.value(statement.value))
        else:
            for each in (statement.target, statement.value):
                self._look_at(self.value(each), each)

    def _put(self, place: Place | None, held: Copies) -> None:
        """Put into a container that the function makes: one other item, and nothing is known of the items any more."""
        if place is not None and place in self.containers:
            self.names[place] = self.of(place) | held if held else _NONE
            self.containers -= set() if held else {place}

    def part_of(self, held: Copies, index: int | None) -> Copies:  # noqa: ARG002
        return _NONE

    def item_of(self, iterable: ast.expr) -> Copies:
        return _alone(self.value(iterable))

    def test(self, node: ast.expr) -> None:
        """Look at a branch: one on a tensor that is on a device waits for it."""
        plain = node.operand if isinstance(node, ast.UnaryOp) else node
        if isinstance(plain, ast.BoolOp):
            for each in plain.values:
                self.test(each)
            return
        held = self.value(node)
        if not self._is_container(plain):
            self._look_at(held, node)
        if not held and not _is_of_identity(plain) and self._may_be_on_device(plain):
            self._wait()

    def _is_container(self, node: ast.AST) -> bool:
        is_written_out = isinstance(node, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp))
        return is_written_out or (isinstance(node, ast.expr) and self.place(node) in self.containers)

    # Expressions.

    def read(self, node: ast.Name | ast.Attribute | ast.Subscript) -> Copies:
        place = self.place(node)
        if isinstance(node, ast.Name) or place in self.names:
            return self.of(place or ())
        held = self.value(node.value)
        if isinstance(node, ast.Attribute):
            return _NONE if node.attr in _PLAIN else held
        index = node.slice
        self._look_at(self.value(index), index)
        # Of several copies only one stands at a place.
        return _unkeyed(held) if not isinstance(index, ast.Constant) or len(held) == 1 else _NONE

    def display(self, node: ast.List | ast.Tuple | ast.Set | ast.Dict) -> Copies:
        """Return what a container holds that holds copies alone."""
        parts = [_alone(self.value(each)) for each in (node.values if isinstance(node, ast.Dict) else node.elts)]
        held = _NONE.union(*parts) if all(parts) else _NONE
        return _keyed(held) if isinstance(node, ast.Dict) else held

    def item_made(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> Copies:
        held = _alone(super().item_made(node))
        return _keyed(held) if isinstance(node, ast.DictComp) else held

    def operation(self, node: ast.expr) -> Copies:
        """Look at the operands of arithmetic, a comparison, an f-string: they are read, but for tests of identity."""
        if isinstance(node, (ast.Yield, ast.YieldFrom)):
            self.value(node.value)
            self.names[_IN_DOUBT] = self.of(_ON_THE_WAY)  # what goes on may wait before it comes back
            return _NONE
        around, self._string = self._string, node if isinstance(node, ast.JoinedStr) else self._string
        for child in children_of(node):
            if isinstance(child, ast.expr):
                held = self.value(child)
                if not _is_of_identity(node) and not self._is_container(child):
                    self._look_at(held, child)
                if isinstance(node, ast.FormattedValue) and self._may_be_on_device(child):
                    self._wait()
        self._string = around
        return _NONE

    def call(self, call: ast.Call) -> Copies:
        function, name = call.func, last_name(call.func) or ""
        if id(call) in self._copied:
            return self._begin(call)
        if name in _FILLING and isinstance(function, ast.Attribute) and call.args:
            self._put(self.place(function.value), _alone(self.value(call.args[-1])))
            return _NONE
        parts = (each.elts if isinstance(each, (ast.List, ast.Tuple)) else [each] for each in arguments_of(call))
        callee = self.callee_of(call)
        if callee is not None:
            return self.follow(call, callee)
        given = [(each, self.value(each)) for each in chain.from_iterable(parts)]
        if waits(name):
            self._wait()
            return _NONE
        is_of_library = (path_of(function) or "").partition(".")[0] in self._libraries
        if name in _PASSING or (is_of_library and name in _VIEWS):
            return _alone(_NONE.union(*(held for _, held in given)))
        if isinstance(function, ast.Attribute) and not is_of_library:
            return self._method(call, function, given)
        is_builtin = isinstance(function, ast.Name) and name in _READING
        if name not in _NOT_READING and (is_builtin or is_of_library):
            for node, held in given:
                self._look_at(_alone(held), node)
            if (is_builtin or name in _BLOCKING) and any(self._may_be_on_device(each) for each, _ in given):
                self._wait()
        elif name not in _NOT_READING:
            self._call_unknown(function)
        return _NONE

    def _begin(self, call: ast.Call) -> Copies:
        """Begin a copy. What holds that of the round before knows nothing of this one."""
        assert isinstance(call.func, ast.Attribute)
        receiver, made = self.value(call.func.value), frozenset((Copy(call),))
        if call.func.attr == "to" and receiver:
            return receiver  # it is on the host already
        for place, held in self.names.items():
            self.names[place] = frozenset(each for each in held if each.call is not call)
        self.names[_ON_THE_WAY] = self.of(_ON_THE_WAY) | made
        base = call.func.value.value if isinstance(call.func.value, ast.Subscript) else call.func.value
        memory = self.place(base) if call.func.attr == "copy_" else None
        if memory is not None:
            self.names[memory] = self.of(memory) | made
        return made

    def _method(self, call: ast.Call, function: ast.Attribute, given: list[tuple[ast.expr, Copies]]) -> Copies:
        held, name = self.value(function.value), function.attr
        is_of_tensor = torch_api.tensor_method(name) is not None
        for node, copies in given if is_of_tensor and name not in _QUIET else ():
            self._look_at(copies, node)
        to = next((each.value for each in call.keywords if each.arg == "device"), next(iter(call.args), None))
        is_moved = name == "to" and to is not None and not is_dtype(to)
        is_to_host = is_moved and to is not None and is_cpu_literal(to)
        if not held:
            if name in _BLOCKING or is_to_host or (name == "numpy" and call.keywords):
                self._wait()
            elif not is_of_tensor:
                self._call_unknown(function)
            return _NONE
        if name in _PLAIN or name in ACCELERATORS or (is_moved and not is_to_host):
            return _NONE
        if is_of_tensor and not (is_to_host or name in _VIEWS or name in _QUIET or name.endswith("_")):
            self._look_at(held, call, is_by_method=True)
            return _NONE
        return _unkeyed(held)


def _is_told_by_flags(function: ast.FunctionDef) -> bool:
    """True if a parameter chooses a branch: `if wait:`."""
    tests = (each.test for each in walk(function) if isinstance(each, (ast.If, ast.IfExp)))
    plain = (each.operand if isinstance(each, ast.UnaryOp) else each for each in tests)
    return any(isinstance(each, ast.Name) and each.id in parameters_of(function) for each in plain)


def _is_of_identity(node: ast.AST) -> bool:
    """True for `x is None`, `key in found`."""
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))


def _keyed(copies: Copies) -> Copies:
    """Return copies as the values of a dict."""
    return frozenset(each._replace(is_keyed=True) for each in copies)


def _unkeyed(copies: Copies) -> Copies:
    return frozenset(each._replace(is_keyed=False) for each in copies)


def _alone(copies: Copies) -> Copies:
    """Leave out the values of dicts: a loop over one gets its keys, and a dict in a container is not followed."""
    return frozenset(each for each in copies if not each.is_keyed)
