"""Tells what the names of a function are made of, by names alone, and in the order of no statement.

An array comes from a conversion where an expression holds one or the other.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.names.bindings import Import, arguments_of, is_false, parameters_of, read_name, root_name
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.references import functions_named, references_to
from tonumpy.text.candidates import Scope
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of, walk

OF_LOSSES = ("Loss", "Criterion")
INTO_TORCH = frozenset("from_numpy tensor as_tensor asarray Tensor FloatTensor DoubleTensor new_tensor".split())
# What has no gradient to lose: positions, counts, truths.
OF_INTEGERS = frozenset(
    "argmax argmin argsort argwhere nonzero where searchsorted digitize bincount len range shape size ndim dtype device"
    " linear_sum_assignment isnan isfinite any all int bool int64 int32 long".split()
)
MAX_PASSES = 8  # over the assignments of one function
_FILL = frozenset("append appendleft extend insert".split())
_LOSS = re.compile(r"loss|criterion|cross_entropy|kl_div")


class Names:
    """The expressions of a function, or of a module's own body, and what its names are made of."""

    def __init__(self, scope: Scope) -> None:
        self.parts: dict[str, list[ast.expr]] = {}
        self.returned: list[ast.expr] = []
        self.calls: list[ast.Call] = []
        self.grad_read: set[str] = set()  # the names of which `.grad` is read
        self._parameters = parameters_of(scope)
        self._columns: dict[int, int] = {}  # by the id of what is bound: where its statement begins
        for statement in statements_of(scope.body):
            if isinstance(statement, SCOPES):
                continue
            for name, value in _bound(statement):
                self.parts.setdefault(name, []).append(value)
                self._columns[id(value)] = statement.col_offset
            if isinstance(statement, ast.Return) and statement.value is not None:
                self.returned.append(statement.value)
            for node in (node for part in own_expressions(statement) for node in walk(part)):
                if isinstance(node, ast.Call):
                    self.calls.append(node)
                elif isinstance(node, ast.Attribute) and node.attr == "grad" and isinstance(node.value, ast.Name):
                    self.grad_read.add(node.value.id)

    def made_of(self, nodes: set[int]) -> set[str]:
        """Return the names that are bound to what holds one of the nodes, or one of these names again."""
        found: set[str] = set()
        for _ in range(MAX_PASSES):
            left = ((name, values) for name, values in self.parts.items() if name not in found)
            more = {name for name, values in left if any(holds(value, nodes, found) for value in values)}
            if not more:
                break
            found |= more
        return found

    def held_at(self, row: int, made: set[str], nodes: set[int]) -> set[str]:
        """Return those names that are made of the nodes by what was last bound to them before a row."""
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
        return not learning or (self.requires_grad(nodes, names) and all(map(self._is_compared, learning)))

    def requires_grad(self, nodes: set[int], names: set[str]) -> bool:
        """True if a node is made to require grad, as `backward` raises where nothing else in a loss does."""
        calls = (call for call in self.calls if is_set_to_learn(call))
        return any(id(call) in nodes or holds(call.func, nodes, names) for call in calls)

    def _is_compared(self, root: ast.expr) -> bool:
        """True for a parameter that a loss function is given."""
        losses = (call for call in self.calls if _LOSS.search(last_name(call.func) or ""))
        given = (root_name(part) for call in losses for part in arguments_of(call))
        return isinstance(root, ast.Name) and root.id in self._parameters and root.id in given

    def _roots(self, module: Module, value: ast.expr, nodes: set[int]) -> Iterator[ast.Name | ast.Call]:
        """Yield the names that a value is made of and that the function does not bind, and the calls that may learn;
        what is in the nodes is not gone into."""
        waiting: list[ast.AST] = [value]
        seen: set[str] = set()
        while waiting:
            node = waiting.pop()
            if id(node) in nodes:
                continue
            if isinstance(node, ast.Name):
                if node.id not in self.parts:
                    yield node
                elif node.id not in seen:
                    seen.add(node.id)
                    # `loss = torch.tensor(loss, requires_grad=True)` after `loss = net(x)`, and in no branch
                    last = max(self.parts[node.id], key=lambda each: each.lineno)
                    is_sure = self._columns[id(last)] <= value.col_offset and holds(last, nodes, set())
                    waiting += [last] if is_sure else self.parts[node.id]
            elif isinstance(node, ast.Call) and self._calls_learner(module, node, nodes):
                yield node
            else:
                is_loss = isinstance(node, ast.Call) and _is_loss_called(node.func)
                waiting += arguments_of(node) if is_loss and isinstance(node, ast.Call) else children_of(node)

    def _calls_learner(self, module: Module, call: ast.Call, nodes: set[int]) -> bool:
        """True if a call makes what requires grad of other things than the nodes, or calls what a name holds, or a
        function of the module."""
        function = call.func
        if any(functions_named(module, last_name(function) or "")):
            return True
        if isinstance(function, ast.Name) and function.id in self.parts:
            return not _is_loss_called(function) and not all(map(_makes_loss, self.parts[function.id]))
        if isinstance(function, ast.Call):
            return not _makes_loss(function)
        makes_leaf = is_set_to_learn(call) or last_name(function) == "Parameter"
        return makes_leaf and not holds(call, nodes, self.made_of(nodes))


def _is_loss_called(function: ast.expr) -> bool:
    """True for `criterion(...)`, `self.loss(...)`: it has nothing to learn, most often."""
    name = (read_name(function) or "").removeprefix("self.").lower()
    return "loss" in name or "criterion" in name


def _makes_loss(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (last_name(node.func) or "").endswith(OF_LOSSES)


def is_set_to_learn(call: ast.Call) -> bool:
    """True for `torch.tensor(x, requires_grad=True)` and `x.requires_grad_()`."""
    is_set = any(each.arg == "requires_grad" and not is_false(each.value) for each in call.keywords)
    return is_set or last_name(call.func) == "requires_grad_"


def _may_learn(module: Module, root: ast.Name | ast.Call, parameters: Collection[str]) -> bool:
    """False for what is imported or defined, and what is called a label. A parameter hides what the module binds."""
    if isinstance(root, ast.Call):
        return True
    bound = module.names.bindings.get(root.id)
    if bound and root.id not in parameters:
        return not all(isinstance(each, (Import, *SCOPES)) for each in bound)
    is_data = is_named("label-name", root.id) or is_named("loader-name", root.id)
    return not is_data and root.id not in module.names.imports_in_functions


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method), [*_, last])) if method in _FILL:
            yield name, last  # `parts.append(x)`: the list is made of it, too
    for target, value in targets_with_values(statement):
        if isinstance(target, ast.Name):
            yield target.id, value


def targets_with_values(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what an assignment or a loop binds, each element of a tuple by itself, with what it is made of."""
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


def holds(value: ast.expr, nodes: set[int], names: Collection[str]) -> bool:
    """True if a value is made of a node, or of a name: not by a comparison, as an index, or by what gives integers."""
    waiting: list[ast.AST] = [value]
    while waiting:
        node = waiting.pop()
        if id(node) in nodes or (isinstance(node, ast.Name) and node.id in names):
            return True
        waiting += parts_that_make(node)
    return False


def parts_that_make(node: ast.AST) -> list[ast.AST]:
    """Return the parts that a value is made of."""
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Call) and last_name(node.func) in OF_INTEGERS:
        return []
    if isinstance(node, ast.Compare) or (isinstance(node, ast.Attribute) and node.attr in OF_INTEGERS):
        return []
    return children_of(node)


def brings_back(call: ast.Call, nodes: set[int], names: Collection[str]) -> bool:
    """True if a call makes a tensor of what holds a node or a name."""
    if last_name(call.func) not in INTO_TORCH or not call.args or not holds(call.args[0], nodes, names):
        return False
    dtypes = [last_name(keyword.value) for keyword in call.keywords if keyword.arg == "dtype"]
    return not any(dtype in OF_INTEGERS for dtype in dtypes)


def trained(calls: list[ast.Call]) -> Iterator[tuple[ast.expr, int]]:
    """Yield what gradients are asked of, and the row: `loss.backward()`, `accelerator.backward(loss)`."""
    for call in calls:
        if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "manual_backward"):
            yield (call.args[0] if call.args else call.func.value), call.lineno


def callers_of(module: Module, scopes: tuple[Scope, ...]) -> Iterator[tuple[Names, ast.Call]]:
    """Yield the calls of a function in its module, each with the names of the function, or module, around it."""
    for reference in references_to(module, scopes) if isinstance(scopes[-1], FUNCTIONS) else ():
        if reference.call is not None and isinstance(reference.scopes[-1], (ast.Module, *FUNCTIONS)):
            yield module.derived(Names, reference.scopes[-1]), reference.call
