"""Finds reads on the host of an asynchronous copy that may not have arrived there (TNP204), in one function.
The search follows the text from the copy to the first expression that reads it or may wait, and stops at a branch or
loop: an expression that is not known to do neither counts as waiting.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from tonumpy.conversions import EarlyRead
from tonumpy.detectors.registry import Search
from tonumpy.detectors.waiting import BLOCKING, NOT_READING, PLAIN, PRINTING, view_waited_for, waits
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.bindings import arguments_of, full_names, parameters_of, read_name
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values import values as v
from tonumpy.engine.values.value_facts import members, truth_of
from tonumpy.facts import Fact
from tonumpy.text.candidates import Site, find_calls, is_in_row
from tonumpy.text.names import ACCELERATORS, is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import SCOPES, blocks_of, children_of, own_expressions

KIND = "copies"

_VIEWS = frozenset(
    "view view_as reshape ravel squeeze unsqueeze transpose t swapaxes permute movedim expand expand_as narrow select"
    " unfold diagonal unbind chunk split detach cpu contiguous".split()
)
_QUIET = frozenset("register_hook retain_grad record_stream".split())
_QUIET_CONTEXTS = frozenset("no_grad inference_mode enable_grad stream autocast nullcontext open".split())
_Block = tuple[ast.AST, Sequence[ast.stmt], int]  # a block, its statement or scope, and an index in it


def find(search: Search) -> list[EarlyRead]:
    """The reads that come too early, in the order of the sites."""
    module = search.module
    source = module.source
    rows = {row for word in ("non_blocking", ", True") for row in source.rows_with(word)}
    sites = find_calls(source, sorted(rows), lambda call: last_name(call.func) == "to")
    observed = observe(module, sites)
    roots = {name: full.partition(".")[0] for name, full in full_names(source.tree.body).items()}
    readers = {name for name, root in roots.items() if root == "torch" or root in CONSUMERS}
    copies, found = {each.call for each in sites}, []
    for site in sites:
        seen = observed.get(id(site.call))
        if seen is None or not _begins(site, seen) or (is_sure := _is_on_device(seen.receiver)) is False:
            continue
        following = _Search(site, readers, copies)
        read = following.first()
        if read is not None:
            is_read_by_method = not following.holds(read)
            found.append(_early_read(site, read, is_sure=is_sure is True, is_read_by_method=is_read_by_method))
    return found


def _early_read(site: Site, read: ast.expr, *, is_sure: bool, is_read_by_method: bool) -> EarlyRead:
    whole = ast.unparse(ast.Call(ast.Name("to"), site.call.args, site.call.keywords))
    return EarlyRead(
        site=site._replace(call=read) if isinstance(read, ast.Call) else site,
        certainty="tensor" if is_sure else "likely",
        on_cpu=False,
        requires_grad=False,
        function=f".{whole}".replace("'", '"'),  # `.to("cpu", non_blocking=True)`, without receiver
        argument=read,
        copy=site.call,
        is_read_by_method=is_read_by_method,
    )


class _Search:
    """The search for the first read of one copy. `readers` are the imported names of torch and of libraries that read
    their arguments, `copies` all calls that do not wait."""

    def __init__(self, site: Site, readers: Collection[str], copies: Collection[ast.Call]) -> None:
        self._site, self._readers, self._copies = site, readers, copies
        self._held = {id(site.call)}  # the nodes that evaluate to the copy, or a view of it
        self._names = set[str]()  # the names of the copy and its views
        self._has_begun = False

    def first(self) -> ast.expr | None:
        """The first expression that reads the copy; None if something may wait before, or nothing reads it."""
        try:
            return next(self._events(), None)
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
            return None

    def holds(self, node: ast.expr) -> bool:
        """True if a node evaluates to the copy itself, or a view of it."""
        return id(node) in self._held

    def _events(self) -> Iterator[ast.expr | None]:
        """Yield each expression that reads the copy, and None for each that may wait."""
        scope = self._site.scopes[-1]
        for around, block, at in _blocks_to(self._site.statement, scope, scope.body):
            for number in range(at if not self._has_begun else at + 1, len(block)):
                yield from self._of_statement(block[number], block[number + 1 :])
            if isinstance(around, ast.With) and not _is_quiet(around):
                yield None  # its exit may wait

    def _of_statement(self, statement: ast.stmt, following: Sequence[ast.stmt]) -> Iterator[ast.expr | None]:
        view = view_waited_for(statement, following)
        if view is not None and path_of(view[1]) in self._names:
            self._names.add(view[0].id)
            return
        for each in own_expressions(statement):
            yield from self._of(each)
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                self._bind(target, is_held=id(statement.value) in self._held)
        elif isinstance(statement, ast.AugAssign):
            yield from self._read(statement.target)
            yield from self._read(statement.value)
        elif isinstance(statement, ast.With):
            for number, inner in enumerate(statement.body):
                yield from self._of_statement(inner, statement.body[number + 1 :])
            if not _is_quiet(statement):
                yield None
        elif not isinstance(statement, ast.Expr):
            yield None

    def _bind(self, target: ast.expr, *, is_held: bool) -> None:
        path = path_of(target)
        if path is not None:
            (self._names.add if is_held else self._names.discard)(path)

    def _of(self, node: ast.AST) -> Iterator[ast.expr | None]:
        """Yield the events of an expression, in the order of its evaluation."""
        if isinstance(node, (ast.Lambda, ast.Yield, ast.YieldFrom, ast.Await)):
            yield None
        inner = (event for child in children_of(node) for event in self._of(child))
        if isinstance(node, ast.JoinedStr):  # its parts have no positions of their own
            yield from (event and node for event in inner)
        else:
            yield from inner
        if not self._has_begun:
            self._has_begun = node is self._site.call
        else:
            yield from self._at(node)

    def _at(self, node: ast.AST) -> Iterator[ast.expr | None]:
        """Yield the events of a node after those of its parts."""
        match node:
            case ast.Name(ctx=ast.Load()) | ast.Attribute(ctx=ast.Load()) if path_of(node) in self._names:
                self._held.add(id(node))
            case ast.Attribute(base) if id(base) in self._held and node.attr not in PLAIN:
                self._held.add(id(node))
            case ast.Subscript(base, index):
                yield from self._read(index)
                if id(base) in self._held:
                    self._held.add(id(node))
            case ast.Call():
                yield from self._call(node)
            case ast.BinOp() | ast.UnaryOp() | ast.FormattedValue():
                for each in children_of(node):
                    yield from self._read(each)

    def _read(self, node: ast.AST) -> Iterator[ast.expr]:
        if id(node) in self._held and isinstance(node, ast.expr):
            yield node

    def _call(self, call: ast.Call) -> Iterator[ast.expr | None]:
        name, function = last_name(call.func) or "", call.func
        if isinstance(function, ast.Attribute) and id(function) in self._held:
            yield from self._method(call, name)
            return
        if name in NOT_READING and not waits(name):
            return
        is_reader = name in PRINTING or (path_of(function) or "").partition(".")[0] in self._readers
        for argument in arguments_of(call) if is_reader else ():
            for part in getattr(argument, "elts", [argument]):
                yield from self._read(part)
        is_of_tensor = isinstance(function, ast.Attribute) and torch_api.tensor_method(name) is not None
        if self._may_wait(call, name) or not (is_reader or is_of_tensor):
            yield None

    def _may_wait(self, call: ast.Call, name: str) -> bool:
        if name == "to":
            return call not in self._copies and any(map(is_cpu_literal, arguments_of(call)))
        return waits(name) or name in BLOCKING or (name in PRINTING and bool(call.args))

    def _method(self, call: ast.Call, name: str) -> Iterator[ast.expr | None]:
        """Yield the events of a method of the copy."""
        is_moved = name in ACCELERATORS or (name == "to" and bool(call.args) and not is_dtype(call.args[0]))
        if name in _VIEWS or (is_moved and is_cpu_literal(call.args[0] if call.args else call)):
            self._held.add(id(call))
        elif torch_api.tensor_method(name) is None or is_moved:
            yield None  # it may have gone back to the device
        elif name not in _QUIET | PLAIN:
            yield call


def _blocks_to(statement: ast.stmt, owner: ast.AST, block: Sequence[ast.stmt]) -> list[_Block]:
    """The blocks that contain a statement, innermost first."""
    for at, each in enumerate(block):
        if each is statement:
            return [(owner, block, at)]
        for inner in () if isinstance(each, SCOPES) or not is_in_row(each, statement.lineno) else blocks_of(each):
            if found := _blocks_to(statement, each, inner):
                return [*found, (owner, block, at)]
    return []


def _is_quiet(statement: ast.With) -> bool:
    contexts = (getattr(item.context_expr, "func", item.context_expr) for item in statement.items)
    return all(last_name(each) in _QUIET_CONTEXTS for each in contexts)


def _begins(site: Site, seen: Observation) -> bool:
    """True if `x.to(...)` copies to the host without waiting, independent of the function's parameters."""
    call, given = site.call, seen.arguments
    parameters = parameters_of(site.scopes[-1])
    if given.has_star or any(read_name(each) in parameters for each in arguments_of(call)):
        return False
    asked = given.get(2 if len(call.args) > 2 or (call.args[1:] and is_dtype(call.args[1])) else 1, "non_blocking")
    to = given.named_value("device") or given.get(0, "other")
    is_asked = asked is not None and all(truth_of(each) is True for each in members(asked))
    return is_asked and to is not None and all(map(_is_host, members(to)))


def _is_host(value: v.Value) -> bool:
    if isinstance(value, v.Constant):
        return isinstance(value.value, str) and value.value.partition(":")[0] == "cpu"
    return (
        isinstance(value, (v.Device, v.Tensor))
        and (value.is_cpu if isinstance(value, v.Device) else value.on_cpu) is True
    )


def _is_on_device(value: v.Value) -> Fact:
    """True if the copied tensor is known to be on a device, None if it may be; False for modules too."""
    tensors = [each for each in members(value) if isinstance(each, (v.Tensor, v.Unknown))]
    if any(each.on_cpu is False or each.device_taint >= v.DeviceTaint.CHOSEN for each in tensors):
        return True
    return False if all(each.on_cpu for each in tensors) else None
