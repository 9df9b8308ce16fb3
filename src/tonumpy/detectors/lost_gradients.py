"""Finds where torch trains on values that are computed from a conversion's array.
By names alone, regardless of the order of statements: a name depends on all values bound to it, and a value comes from
a conversion if its expression contains the conversion or such a name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from functools import lru_cache

from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.names.bindings import Import, arguments_of, is_false, parameters_of, read_name, root_name
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.text.candidates import Candidate, Scope, class_around, find_calls
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of, walk

_MAX_PASSES = 8  # over the assignments of one function
_OF_LOSSES = ("Loss", "Criterion")
_INTO_TORCH = frozenset("from_numpy tensor as_tensor asarray Tensor FloatTensor DoubleTensor new_tensor".split())
# Functions whose results have no gradient to lose: positions, counts, booleans.
_OF_INTEGERS = frozenset(
    "argmax argmin argsort argwhere nonzero where searchsorted digitize bincount len range shape size ndim dtype device"
    " linear_sum_assignment isnan isfinite any all int bool int64 int32 long".split()
)
_FILL = frozenset("append appendleft extend insert".split())
# Networks that follow another or only predict: no gradient passes through them.
_ASKED_ALONE = re.compile(r"(?:^|_)(?:targets?|targ|teacher|ema|frozen|old|ref|reference)(?:_|\d|$)")
# Methods of tensors that arrays and numbers lack.
_OF_TENSORS = frozenset(
    "backward contiguous cpu cuda detach expand expand_as gather log_softmax masked_fill new_tensor permute"
    " requires_grad_ softmax to type_as unsqueeze view".split()
)
_RETURNING_TENSORS = ("forward", "training_step")  # torch trains on their results, or feeds them to the next layer
_KEEPING = frozenset("save is_tensor isinstance type".split())  # functions of torch that compute nothing


class _Names:
    """The values bound to each name of a function or module body, with its calls and returned expressions."""

    def __init__(self, scope: Scope) -> None:
        self.parts: dict[str, list[ast.expr]] = {}
        self.returned: list[ast.expr] = []
        self.calls: list[ast.Call] = []
        self.grad_read: set[str] = set()  # the names whose `.grad` is read
        self.parameters = parameters_of(scope)
        for statement in statements_of(scope.body):
            if isinstance(statement, SCOPES):
                continue
            for name, value in _bound(statement):
                self.parts.setdefault(name, []).append(value)
            if isinstance(statement, ast.Return) and statement.value is not None:
                self.returned.append(statement.value)
            for node in (node for part in own_expressions(statement) for node in walk(part)):
                if isinstance(node, ast.Call):
                    self.calls.append(node)
                elif isinstance(node, ast.Attribute) and node.attr == "grad" and isinstance(node.value, ast.Name):
                    self.grad_read.add(node.value.id)

    def made_of(self, nodes: set[int]) -> set[str]:
        return made_of(self.parts, nodes)

    def back_in_torch(self, nodes: set[int]) -> set[int]:
        """The ids of calls that make tensors of arrays that come from some nodes."""
        arrays = self.made_of(nodes)
        return {id(each) for each in self.calls if _brings_back(each, nodes, arrays)}

    def trained(self) -> Iterator[tuple[ast.expr, int]]:
        """Yield each loss and its row: `loss.backward()`, `accelerator.backward(loss)`."""
        for call in self.calls:
            if isinstance(call.func, ast.Attribute) and call.func.attr in ("backward", "manual_backward"):
                yield (call.args[0] if call.args else call.func.value), call.lineno


def loses_gradient(module: Module, candidate: Candidate) -> int | None:
    """The row of a call of `backward`, or of the `return` of a loss, that depends on the array of a conversion alone;
    None if there is none."""
    if not _may_train_on_arrays(module.source.text):
        return None
    scopes = candidate.scopes
    names = module.derived(_Names, scopes[-1])
    if any(map(_is_of_target, (candidate.receiver, *names.parts.get(root_name(candidate.receiver) or "", ())))):
        return None
    nodes = {id(candidate.call)}
    returned = names.back_in_torch(nodes)
    row = _row_of_training(module, names, returned, nodes)
    if row is not None or not returned:
        return row
    rows = [value.lineno for value in names.returned if _is_made_alone(module, names, value, returned, nodes)]
    owner = class_around(scopes)
    is_loss = owner is not None and owner.name.endswith(_OF_LOSSES) and getattr(scopes[-1], "name", "") == "forward"
    callers = ((each, {id(call)}) for each, call in _callers_of(module, scopes))
    if rows and (is_loss or any(_row_of_training(module, each, called, called) for each, called in callers)):
        return rows[0]
    return None


@lru_cache(maxsize=1)  # one text may hold any number of candidates
def _may_train_on_arrays(text: str) -> bool:
    trains = "backward(" in text or any(f"{word}(" in text for word in _OF_LOSSES)
    return trains and any(f"{word}(" in text for word in _INTO_TORCH)


def _row_of_training(module: Module, names: _Names, tensors: set[int], arrays: set[int]) -> int | None:
    """The row that trains on a loss made of these tensors alone; None if there is none."""
    rows = (row for loss, row in names.trained() if _is_made_alone(module, names, loss, tensors, arrays))
    return next(rows, None) if tensors else None


def _is_made_alone(module: Module, names: _Names, value: ast.expr, tensors: set[int], arrays: set[int]) -> bool:
    """True if a value is made of tensors that come from some arrays, and nothing else in it may have a gradient.
    False if such a tensor is itself optimized: an attacked input, or weights updated by hand or by an optimizer.
    """
    made = names.made_of(tensors)
    if not holds(value, tensors, made) or not names.grad_read.isdisjoint(made):
        return False
    given = (node for call in names.calls for each in _learnt(call) for node in walk(each))
    if any(isinstance(node, ast.Name) and node.id in made for node in given):
        return False
    return not any(_may_learn(module, names, root) for root in _roots(module, names, value, tensors | arrays))


def _roots(module: Module, names: _Names, value: ast.expr, nodes: set[int]) -> Iterator[ast.Name | ast.Call]:
    """Yield the free names that a value is made of, and the calls that may have parameters, without entering
    `nodes`."""
    waiting: list[ast.AST] = [value]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if id(node) in nodes:
            continue
        if isinstance(node, ast.Name):
            if node.id not in names.parts:
                yield node
            elif node.id not in seen:
                seen.add(node.id)
                waiting += names.parts[node.id]
        elif isinstance(node, ast.Call) and _calls_learner(module, names, node):
            yield node
        else:
            is_loss = isinstance(node, ast.Call) and _is_loss_called(node.func)
            waiting += arguments_of(node) if is_loss and isinstance(node, ast.Call) else children_of(node)


def _calls_learner(module: Module, names: _Names, call: ast.Call) -> bool:
    """True if a call makes a tensor that requires grad, or calls a variable, another call's result or a function of the
    module; losses aside."""
    function = call.func
    if f"def {last_name(function)}(" in module.source.text:
        return True
    if isinstance(function, ast.Name) and function.id in names.parts:
        return not _is_loss_called(function) and not all(map(_makes_loss, names.parts[function.id]))
    if isinstance(function, ast.Call):
        return not _makes_loss(function)
    is_asked = any(each.arg == "requires_grad" and not is_false(each.value) for each in call.keywords)
    return is_asked or last_name(function) == "Parameter"


def _may_learn(module: Module, names: _Names, root: ast.Name | ast.Call) -> bool:
    """False for a name that is imported, defined, or named like a label or loader. A parameter shadows the module's
    binding."""
    if isinstance(root, ast.Call):
        return True
    bound = module.names.bindings.get(root.id)
    if bound and root.id not in names.parameters:
        return not all(isinstance(each, (Import, *SCOPES)) for each in bound)
    is_data = is_named("label-name", root.id) or is_named("loader-name", root.id)
    return not is_data and root.id not in module.names.imports_in_functions


def _learnt(call: ast.Call) -> Iterator[ast.expr]:
    """Yield the tensors that a call optimizes or takes gradients for: `torch.autograd.grad(loss, w)`, `Adam([w])`."""
    name = last_name(call.func) or ""
    if name in ("grad", "backward"):
        yield from (each.value for each in call.keywords if each.arg == "inputs")
        yield from call.args[1:2] if name == "grad" else ()
    elif name[:1].isupper() and name not in _INTO_TORCH and name != "Variable" and not name.endswith(_OF_LOSSES):
        yield from call.args[:1]


def _is_of_target(made_by: ast.expr) -> bool:
    """True for the result of a network that only predicts: `self.target_net(x)[0].detach()`."""
    node, called = made_by, ""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        if isinstance(node, ast.Call):
            called = last_name(node.func) or ""
        node = node.func if isinstance(node, ast.Call) else node.value
    return _ASKED_ALONE.search(called.lower()) is not None


def _is_loss_called(function: ast.expr) -> bool:
    """True for `criterion(...)` and `self.loss(...)`, which mostly have no parameters."""
    name = (read_name(function) or "").removeprefix("self.").lower()
    return "loss" in name or "criterion" in name


def _makes_loss(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and (last_name(node.func) or "").endswith(_OF_LOSSES)


def used_by_torch(module: Module, node: ast.AST, scopes: tuple[Scope, ...]) -> int | None:
    """The line where torch uses the result of a call or operator, whose gradient a conversion would cut; None if there
    is none."""
    if isinstance(node, ast.Call) and last_name(node.func) in _OF_INTEGERS:
        return None  # positions and counts have no gradient to lose
    names, nodes = module.derived(_Names, scopes[-1]), {id(node)}
    used = _row_of_use(module, names, nodes)
    if used is not None:
        return used
    made = names.made_of(nodes)
    first = next((each for each in names.returned if holds(each, nodes, made)), None)
    if first is None:
        return None
    if getattr(scopes[-1], "name", "") in _RETURNING_TENSORS and class_around(scopes) is not None:
        return first.lineno
    found = (_row_of_use(module, each, {id(call)}) for each, call in _callers_of(module, scopes))
    return next((row for row in found if row is not None), None)


def _row_of_use(module: Module, names: _Names, nodes: set[int]) -> int | None:
    made = names.made_of(nodes)
    rows = [call.lineno for call in names.calls if _is_use(module, call, nodes, made)]
    rows += [row for loss, row in names.trained() if holds(loss, nodes, made)]
    return next(iter(rows), None)


def _is_use(module: Module, call: ast.Call, nodes: set[int], names: set[str]) -> bool:
    if _brings_back(call, nodes, names):
        return True
    if isinstance(call.func, ast.Attribute) and call.func.attr in _OF_TENSORS:
        return holds(call.func.value, nodes, names)
    root = (path_of(call.func) or "").partition(".")[0]  # `torch.stack` and `F.relu`
    bound = module.names.bindings.get(root, ())
    is_of_torch = any(isinstance(each, Import) and each.module.partition(".")[0] == "torch" for each in bound)
    is_use = is_of_torch and last_name(call.func) not in _KEEPING | _OF_INTEGERS
    return is_use and any(holds(each, nodes, names) for each in call.args if not isinstance(each, ast.Dict))


def _callers_of(module: Module, scopes: tuple[Scope, ...]) -> Iterator[tuple[_Names, ast.Call]]:
    """Yield the calls in the module by a function's name, each with the names of its own function."""
    name = getattr(scopes[-1], "name", "")
    rows = module.source.rows_with_name(name) if name else []
    for site in find_calls(module.source, rows, lambda call: last_name(call.func) == name):
        if scopes[-1] not in site.scopes and isinstance(site.scopes[-1], (ast.Module, *FUNCTIONS)):
            yield module.derived(_Names, site.scopes[-1]), site.call


def _bound(statement: ast.stmt) -> Iterator[tuple[str, ast.expr]]:
    match statement:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method), [*_, last])) if method in _FILL:
            yield name, last  # `parts.append(x)`: the list depends on `x` too
    yield from ((each.target.id, each.value) for each in stores_of(statement) if isinstance(each.target, ast.Name))


def made_of(parts: dict[str, list[ast.expr]], nodes: set[int]) -> set[str]:
    """The names that are bound to a value with one of the nodes in it, or with another of these names."""
    found: set[str] = set()
    for _ in range(_MAX_PASSES):
        left = ((name, values) for name, values in parts.items() if name not in found)
        more = {name for name, values in left if any(holds(value, nodes, found) for value in values)}
        if not more:
            break
        found |= more
    return found


def holds(value: ast.AST, nodes: set[int], names: Collection[str]) -> bool:
    """True if a value depends on a node, name or path other than by a comparison, an index or a function that returns
    integers."""
    waiting = [value]
    while waiting:
        node = waiting.pop()
        if id(node) in nodes or (isinstance(node, (ast.Name, ast.Attribute)) and path_of(node) in names):
            return True
        waiting += _parts_that_make(node)
    return False


def _parts_that_make(node: ast.AST) -> list[ast.AST]:
    """The parts of an expression that its value depends on, by that rule."""
    if isinstance(node, ast.Subscript):
        return [node.value]
    if isinstance(node, ast.Call) and last_name(node.func) in _OF_INTEGERS:
        return []
    if isinstance(node, ast.Compare) or (isinstance(node, ast.Attribute) and node.attr in _OF_INTEGERS):
        return []
    return children_of(node)


def _brings_back(call: ast.Call, nodes: set[int], names: Collection[str]) -> bool:
    """True if a call makes a tensor of a value that depends on a node or name."""
    if last_name(call.func) not in _INTO_TORCH or not call.args or not holds(call.args[0], nodes, names):
        return False
    dtypes = [last_name(keyword.value) for keyword in call.keywords if keyword.arg == "dtype"]
    return not any(dtype in _OF_INTEGERS for dtype in dtypes)
