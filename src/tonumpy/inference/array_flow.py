"""What the names of a function are made of, by names alone, and in the order of no statement.

An array comes from a conversion where an expression holds one or the other.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.names.bindings import Import, arguments_of, is_false, parameters_of, read_name, root_name
from tonumpy.engine.names.references import functions_named, references_to
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from tonumpy.engine.names.module import Module
    from tonumpy.text.candidates import Scope

OF_LOSSES = ("Loss", "Criterion")
INTO_TORCH = frozenset("from_numpy tensor as_tensor asarray Tensor FloatTensor DoubleTensor new_tensor".split())
# What has no gradient to lose: positions, counts, truths.
OF_INTEGERS = frozenset(
    "argmax argmin argsort argwhere nonzero where searchsorted digitize bincount len range shape size ndim dtype device"
    " linear_sum_assignment isnan isfinite any all int bool int64 int32 long".split()
)
_FILL = frozenset("append appendleft extend insert".split())
_LOSS = re.compile(r"loss|criterion|cross_entropy|kl_div")
# Methods that make of a tensor one of the same values.
_OF_SHAPE = frozenset("to cpu cuda float double view reshape flatten squeeze unsqueeze t permute expand clone".split())
_FLAG = "requires_grad"
MAX_PASSES = 8  # over the assignments of one function


class Names:
    """The expressions of a function, or of a module's own body, and what its names are made of."""

    def __init__(self, scope: Scope) -> None:
        statements = [each for each in statements_of(scope.body) if not isinstance(each, SCOPES)]
        self.parts: dict[str, list[ast.expr]] = {}
        self._columns: dict[int, int] = {}  # by the id of what is bound: where its statement begins
        self.returned: list[ast.expr] = []
        self.calls: list[ast.Call] = []
        self.grad_read: set[str] = set()  # the names of which `.grad` is read
        self._parameters = parameters_of(scope)
        self._scope = scope
        for statement in statements:
            for name, value in _bound(statement):
                self.parts.setdefault(name, []).append(value)
                self._columns[id(value)] = statement.col_offset
            if isinstance(statement, ast.Return) and statement.value is not None:
                self.returned.append(statement.value)
            for part in own_expressions(statement):
                for node in walk(part):
                    if isinstance(node, ast.Call):
                        self.calls.append(node)
                    elif isinstance(node, ast.Attribute) and node.attr == "grad" and isinstance(node.value, ast.Name):
                        self.grad_read.add(node.value.id)

    def made_of(self, nodes: set[int]) -> set[str]:
        """The names that are bound to what holds one of the nodes, or one of these names again."""
        found: set[str] = set()
        more: set[str] = set()
        asked: Collection[int | str] = nodes
        for _ in range(MAX_PASSES):
            near = {name for key in asked for name in self._bound_to.get(key, ())} - found
            more = {name for name in near if any(holds(value, nodes, found) for value in self.parts[name])}
            if not more:
                break
            found |= more
            asked = more
        return found

    def makers_of(self, node: ast.expr) -> list[ast.expr]:
        """It, or what the name that it begins with is bound to."""
        return [node, *self.parts.get(root_name(node) or "", ())]

    @cached_property
    def _bound_to(self) -> dict[int | str, set[str]]:
        """By the id of an expression, or by a name: the names that are bound to what it is somewhere in."""
        found: dict[int | str, set[str]] = {}
        for name, values in self.parts.items():
            for node in (node for value in values for node in walk(value)):
                found.setdefault(id(node), set()).add(name)
                if isinstance(node, ast.Name):
                    found.setdefault(node.id, set()).add(name)
        return found

    def calls_with(self, nodes: set[int], names: set[str]) -> list[ast.Call]:
        """The calls around the nodes and around where the names are read, in their order: so few are asked further that
        a function with many conversions costs no more for each."""
        around, read = self._around
        found: dict[int, ast.Call] = {}
        for node in (*nodes, *(id(each) for name in names for each in read.get(name, ()))):
            call = around.get(node)
            while call is not None and id(call) not in found:
                found[id(call)] = call
                call = around.get(id(call))
        return sorted(found.values(), key=lambda call: self._places[id(call)])

    def returned_with(self, nodes: set[int], names: set[str]) -> list[tuple[ast.expr, str]]:
        """What is returned that holds one of the nodes, with "", or one of the names, with the name."""
        above, read = self._above
        starts = [(each, "") for each in nodes]
        starts += [(id(each), name) for name in names for each in read.get(name, ())]
        found = []
        for start, name in starts:
            node, passes = start, True
            while passes and node in above:
                node, passes = above[node]
            if passes and node in self._return_places:
                found.append((self._return_places[node], name))
        return [(self.returned[place], name) for place, name in sorted(found)]

    @cached_property
    def _return_places(self) -> dict[int, int]:
        return {id(value): place for place, value in enumerate(self.returned)}

    @cached_property
    def _above(self) -> tuple[dict[int, tuple[int, bool]], dict[str, list[ast.Name]]]:
        """For each expression within what is returned: the one around it, and whether that is made of it, by their ids;
        and where names are read there."""
        above: dict[int, tuple[int, bool]] = {}
        read: dict[str, list[ast.Name]] = {}
        for value in self.returned:
            for node in walk(value):
                if isinstance(node, ast.Name):
                    read.setdefault(node.id, []).append(node)
                made_of = {id(part) for part in parts_that_make(node)}
                for child in children_of(node):
                    above[id(child)] = id(node), id(child) in made_of
        return above, read

    @cached_property
    def _places(self) -> dict[int, int]:
        return {id(call): place for place, call in enumerate(self.calls)}

    @cached_property
    def _around(self) -> tuple[dict[int, ast.Call], dict[str, list[ast.Name]]]:
        """The innermost call around each expression, and where names are read."""
        around: dict[int, ast.Call] = {}
        read: dict[str, list[ast.Name]] = {}
        for call in self.calls:
            waiting: list[ast.AST] = list(children_of(call))
            while waiting:
                node = waiting.pop()
                around[id(node)] = call
                if isinstance(node, ast.Name):
                    read.setdefault(node.id, []).append(node)
                if not isinstance(node, ast.Call):  # those within are entered as calls themselves
                    waiting += children_of(node)
        return around, read

    def held_at(self, row: int, made: set[str], nodes: set[int]) -> set[str]:
        """Of the names that are made of the nodes, those that are by what was last bound to them before a row."""
        return {name for name in made if self._is_made_at(name, row, made, nodes)}

    def _is_made_at(self, name: str, row: int, made: set[str], nodes: set[int]) -> bool:
        before = [value for value in self.parts[name] if value.lineno <= row]
        last = max((value.lineno for value in before), default=0)
        return not before or any(holds(value, nodes, made) for value in before if value.lineno == last)

    def is_made_alone(self, module: Module, value: ast.expr, nodes: set[int], names: set[str]) -> bool:
        """True if a value is made of the nodes, by these names, and of nothing else that may have a gradient."""
        if not holds(value, nodes, names):
            return False
        learning = [root for root in self._roots(module, value, nodes) if _may_learn(module, root, self._parameters)]
        return not learning or (self.is_made_to_learn(nodes, names) and all(map(self._is_compared, learning)))

    def is_made_to_learn(self, nodes: set[int], names: set[str]) -> bool:
        """Whether one of the nodes is made to require grad, as `backward` raises where nothing else in a loss does."""
        return not self._set_to_learn.isdisjoint(names) or any(
            id(call) in nodes or any(holds(each, nodes, names) for each in (call.func, *_put_in_variable(call)))
            for call in self.calls
            if is_set_to_learn(call)
        )

    @cached_property
    def _set_to_learn(self) -> set[str]:
        """The names that `x.requires_grad = True` speaks of."""
        assignments = (each for each in statements_of(self._scope.body) if isinstance(each, ast.Assign))
        stores = (store for each in assignments if not is_false(each.value) for store in each.targets)
        set_here = (store.value for store in stores if isinstance(store, ast.Attribute) and store.attr == _FLAG)
        return {each.id for each in set_here if isinstance(each, ast.Name)}

    def are_read_after(self, names: set[str], row: int) -> bool:
        """True if one of the names is read as it is after a row: `x`, and not `x.mean()`."""
        nodes = [node for statement in self._scope.body for node in walk(statement)] if names else []
        owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        reads = (node for node in nodes if isinstance(node, ast.Name) and id(node) not in owners)
        return any(node.id in names and node.lineno > row for node in reads)

    def _is_compared(self, root: ast.Name | ast.Call) -> bool:
        """Whether it is a parameter that a loss function is given, itself or after methods of tensors."""
        return isinstance(root, ast.Name) and root.id in self._parameters and id(root) in self._given_to_losses

    @cached_property
    def _given_to_losses(self) -> set[int]:
        losses = (call for call in self.calls if _LOSS.search(last_name(call.func) or ""))
        return {id(each) for call in losses for part in arguments_of(call) if (each := _with_methods(part)) is not None}

    def _roots(self, module: Module, value: ast.expr, nodes: set[int]) -> Iterator[ast.Name | ast.Call]:
        """The names that a value is made of, and that the function does not bind, and the calls that make or call what
        may learn; what is in the nodes is not gone into."""
        waiting: list[ast.AST] = [value]
        seen: set[str] = set()
        while waiting:
            node = waiting.pop()
            if id(node) in nodes:
                continue
            if isinstance(node, ast.Call):
                is_loss = _is_loss_called(node.func)
                if self._may_learn(module, node, nodes):
                    yield node
                waiting += arguments_of(node) if is_loss else children_of(node)
            elif not isinstance(node, ast.Name):
                waiting += children_of(node)
            elif node.id not in self.parts:
                yield node
            elif node.id not in seen:
                seen.add(node.id)
                waiting += self._held_last(node, value.col_offset, nodes) or self.parts[node.id]

    def _held_last(self, node: ast.Name, column: int, nodes: set[int]) -> list[ast.expr]:
        """Return what was last bound to a name, if that is one of the nodes, and no branch around may be passed over:
        `loss = torch.tensor(loss, requires_grad=True)` after `loss = net(x)`."""
        before = [each for each in self.parts[node.id] if each.lineno < node.lineno]
        last = max(before, key=lambda each: each.lineno, default=None)
        is_sure = last is not None and self._columns[id(last)] <= column and holds(last, nodes, set())
        return [last] if is_sure and last is not None else []

    def _may_learn(self, module: Module, call: ast.Call, nodes: set[int]) -> bool:
        """True if it makes something that requires grad of other things than the nodes, or calls what a name holds, or
        a function of the module."""
        function = call.func
        if any(functions_named(module, last_name(function) or "")):
            return True
        if isinstance(function, ast.Name) and function.id in self.parts and not _is_loss_called(function):
            return not all(_makes_loss(value) for value in self.parts[function.id])
        if isinstance(function, ast.Call):
            return not _makes_loss(function)
        if is_set_to_learn(call) or last_name(function) == "Parameter":
            return not holds(call, nodes, self.made_of(nodes))
        return False


def _is_loss_called(function: ast.expr) -> bool:
    """`criterion(...)`, `self.loss(...)`: it has nothing to learn, most often."""
    name = (read_name(function) or "").removeprefix("self.").lower()
    return "loss" in name or "criterion" in name


def _makes_loss(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (last_name(node.func) or "").endswith(OF_LOSSES)


def _with_methods(node: ast.expr) -> ast.Name | None:
    """`y` of `y`, `y[0]` and `y.flatten().double()`"""
    while not isinstance(node, ast.Name):
        if isinstance(node, ast.Subscript):
            node = node.value
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _OF_SHAPE:
            node = node.func.value
        else:
            return None
    return node


def _put_in_variable(call: ast.Call) -> list[ast.expr]:
    return call.args[:1] if last_name(call.func) == "Variable" else []


def is_set_to_learn(call: ast.Call) -> bool:
    """`torch.tensor(x, requires_grad=True)`, `x.requires_grad_()`"""
    is_set = any(each.arg == _FLAG and not is_false(each.value) for each in call.keywords)
    return is_set or last_name(call.func) == "requires_grad_"


def _may_learn(module: Module, name: ast.Name | ast.Call, parameters: Collection[str]) -> bool:
    """Not what is imported or defined, nor what is called a label. A parameter hides what the module binds."""
    if isinstance(name, ast.Call):
        return True
    bound = module.names.bindings.get(name.id)
    if bound and name.id not in parameters:
        return not all(isinstance(each, (Import, *SCOPES)) for each in bound)
    is_data = is_named("label-name", name.id) or is_named("loader-name", name.id)
    return not is_data and name.id not in module.names.imports_in_functions


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    if isinstance(statement, ast.Expr):
        yield from _put_in(statement.value)
    for target, value in targets_with_values(statement):
        if isinstance(target, ast.Name):
            yield target.id, value


def targets_with_values(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """What an assignment or a loop binds, each element of a tuple by itself, with what it is made of."""
    if isinstance(statement, ast.Assign):
        targets, value = statement.targets, statement.value
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
        targets, value = [statement.target], statement.value
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        targets, value = [statement.target], statement.iter
    else:
        return
    for target in targets:
        elements = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        values = value.elts if isinstance(value, ast.Tuple) and len(value.elts) == len(elements) else None
        for position, element in enumerate(elements):
            yield element, value if values is None or len(elements) == 1 else values[position]


def _put_in(node: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """`parts.append(x)`: the list is made of it, too."""
    function = node.func if isinstance(node, ast.Call) and node.args else None
    if isinstance(function, ast.Attribute) and function.attr in _FILL and isinstance(function.value, ast.Name):
        assert isinstance(node, ast.Call)
        yield function.value.id, node.args[-1]


def holds(value: ast.expr, nodes: set[int], names: Collection[str]) -> bool:
    """Whether a value is made of a node, or of a name: not by a comparison, as an index, or by what gives integers."""
    waiting: list[ast.AST] = [value]
    while waiting:
        node = waiting.pop()
        if id(node) in nodes or (isinstance(node, ast.Name) and node.id in names):
            return True
        waiting += parts_that_make(node)
    return False


def parts_that_make(node: ast.AST) -> list[ast.AST]:
    """The parts that a value is made of."""
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Call) and last_name(node.func) in OF_INTEGERS:
        return []
    if isinstance(node, ast.Compare) or (isinstance(node, ast.Attribute) and node.attr in OF_INTEGERS):
        return []
    return children_of(node)


def brings_back(call: ast.Call, nodes: set[int], names: Collection[str]) -> bool:
    if last_name(call.func) not in INTO_TORCH or not call.args or not holds(call.args[0], nodes, names):
        return False
    dtypes = [last_name(keyword.value) for keyword in call.keywords if keyword.arg == "dtype"]
    return not any(dtype in OF_INTEGERS for dtype in dtypes)


def trained(calls: list[ast.Call]) -> Iterator[tuple[ast.expr, int]]:
    """What gradients are asked of: `loss.backward()`, `accelerator.backward(loss)`."""
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "manual_backward"):
            yield (call.args[0] if call.args else call.func.value), call.lineno


def callers_of(module: Module, scopes: tuple[Scope, ...]) -> Iterator[tuple[Names, ast.Call]]:
    """The calls of a function in its module, each with the names of the function, or module, that it stands in."""
    if not isinstance(scopes[-1], FUNCTIONS):
        return
    for reference in references_to(module, scopes):
        if reference.call is not None and isinstance(reference.scopes[-1], (ast.Module, *FUNCTIONS)):
            yield module.derived(Names, reference.scopes[-1]), reference.call
