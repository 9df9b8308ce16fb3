"""A function and its conversions in; where memory that an array and a tensor share is written, and the other read, out.

The function is run over in order, loops until nothing new comes round, with nothing known but which names may refer to
the same memory: by assignment, by views, and by `.numpy()` and `torch.from_numpy` on the CPU. What another function may
do with what it is given is not followed.
"""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.chains import Role, chain_of
from tonumpy.inference import torch_api
from tonumpy.inference.symbols import bound_names, path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tonumpy.candidates import Candidate

MAX_PASSES = 4  # of a loop: what goes round it is settled after two, in a loop of loops after three


class Overwritten(NamedTuple):
    """Where shared memory is written, and where it is read then; `kept_in` names the attribute where it is kept."""

    write: int
    read: int
    kept_in: str | None = None


class Sharing(NamedTuple):
    """For the call of each conversion: writes to the tensor that show in the array, and to the array in the tensor."""

    of_tensors: dict[ast.Call, Overwritten]
    of_arrays: dict[ast.Call, Overwritten]


class Reference(NamedTuple):
    """Memory that a name may refer to, and the conversion by which it does; None where it holds the tensor.

    `written`: the row in which it was written through the other side since, and by which conversion's array.
    """

    memory: str
    conversion: ast.Call | None = None
    written: tuple[int, ast.Call | None] | None = None


References = frozenset[Reference]
_NONE: References = frozenset()

# Of tensors and arrays alike, where both have it.
_VIEWS = frozenset(
    "detach data cpu view view_as reshape ravel flatten squeeze unsqueeze transpose t swapaxes permute expand narrow"
    " select contiguous T mT H mH real items values flat diagonal unbind chunk split".split()
)
_PLAIN = frozenset("shape dtype device ndim size dim numel nbytes itemsize stride is_cuda requires_grad".split())
_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_CONTAINERS = frozenset("list dict set deque defaultdict OrderedDict tuple".split())
_PASSING = frozenset("list tuple reversed enumerate zip iter sorted from_numpy as_tensor asarray asanyarray".split())
_WRITING_ARRAYS = frozenset("sort fill put partition setfield".split())
_TRIES = (ast.Try, ast.TryStar) if sys.version_info >= (3, 11) else (ast.Try,)
_PARAMETERS = frozenset("parameters named_parameters state_dict buffers named_buffers".split())
_OPTIMIZER = re.compile(r"(^|[._])opt(im|imizer)?s?(_|$|\d)|optim", re.IGNORECASE)


def sharing_of(candidates: Iterable[Candidate]) -> Sharing:
    """What is written through the memory that each candidate may share, function by function."""
    scopes: dict[int, list[Candidate]] = {}
    for candidate in candidates:
        scopes.setdefault(id(candidate.scopes[-1]), []).append(candidate)
    whole = Sharing({}, {})
    for group in scopes.values():
        try:
            found = sharing_in(group[0].scopes[-1].body, [candidate.call for candidate in group])
        except RecursionError:
            continue  # nested too deeply: nothing is said of it
        whole.of_tensors.update(found.of_tensors)
        whole.of_arrays.update(found.of_arrays)
    return whole


def sharing_in(body: Sequence[ast.stmt], conversions: Iterable[ast.Call]) -> Sharing:
    """`conversions` are those that may share memory with a tensor; of the others nothing need be known."""
    return _Walk(frozenset(conversions)).run(body)


class _Walk:
    def __init__(self, conversions: frozenset[ast.Call]) -> None:
        self.conversions = conversions
        self.names: dict[str, References] = {}
        self.containers: set[str] = set()
        self.found = Sharing({}, {})
        self.is_reached = True
        self.left: list[list[dict[str, References]]] = []  # what holds where the loops around are left or go on

    def run(self, body: Sequence[ast.stmt]) -> Sharing:
        self.block(body)
        if self.is_reached:
            self.leave()
        return self.found

    def leave(self) -> None:
        """What an object keeps at the end is there to be read."""
        for name, references in self.names.items():
            if name.startswith("self."):
                self.note(references, 0, name)

    # Names

    def of(self, name: str) -> References:
        return self.names.get(name, frozenset((Reference(name),)))

    def read(self, name: str, row: int) -> References:
        references = self.of(name)
        self.note(references, row)
        return references

    def note(self, references: References, row: int, kept_in: str | None = None) -> None:
        for reference in references:
            if reference.written is None:
                continue
            write, array = reference.written
            if reference.conversion is not None:
                self.found.of_tensors.setdefault(reference.conversion, Overwritten(write, row, kept_in))
            elif array is not None and kept_in is None:
                self.found.of_arrays.setdefault(array, Overwritten(write, row))

    def write(self, references: References, row: int) -> None:
        """Everything else that refers to the same memory has been written then.

        Not what is the tensor on one path and the array on another: `x = x.numpy()` in a branch.
        """
        tensors = {each.memory for each in references if each.conversion is None}
        arrays = {each.memory: each.conversion for each in references if each.conversion is not None}
        for memory in tensors & arrays.keys():
            tensors.remove(memory)
            del arrays[memory]

        def after(reference: Reference) -> Reference:
            if reference.conversion is not None and reference.memory in tensors:
                return reference._replace(written=(row, None))
            if reference.conversion is None and reference.memory in arrays:
                return reference._replace(written=(row, arrays[reference.memory]))
            return reference

        for array in arrays:  # the tensor may not have been bound to a name of its own since
            self.names.setdefault(array, frozenset((Reference(array),)))
        self.names = {name: frozenset(map(after, held)) for name, held in self.names.items()}

    def bind(self, target: ast.expr, references: References, value: ast.expr | None) -> None:
        if isinstance(target, (ast.Tuple, ast.List)):
            parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
            if len(parts) != len(target.elts):
                parts = []
            given = [self.value(part) for part in parts] if parts else [references] * len(target.elts)
            for index, part in enumerate(target.elts):
                self.bind(part, given[index], parts[index] if parts else None)
            return
        if isinstance(target, ast.Starred):
            self.bind(target.value, references, None)
            return
        path = path_of(target)
        if path is not None:
            whole, _, name = path.rpartition(".")
            if name == "data" and whole not in ("self", "cls"):  # the tensor refers to other memory from here on
                path = whole
            self.bind_path(path, references, value, target)
        elif isinstance(target, ast.Subscript):
            self.store(target, references)

    def bind_path(self, path: str, references: References, value: ast.expr | None, target: ast.expr) -> None:
        for name in [name for name in self.names if name.startswith(f"{path}.")]:
            del self.names[name]
        is_container = isinstance(value, (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp)) or (
            isinstance(value, ast.Call) and getattr(value.func, "id", None) in _CONTAINERS
        )
        (self.containers.add if is_container else self.containers.discard)(path)
        if not references:
            # New memory. What the same code has made before is another's, and nobody's to write any more.
            memory = f"new {target.lineno}:{target.col_offset}"
            self.names = {
                name: frozenset(each for each in held if each.memory != memory or each.written)
                for name, held in self.names.items()
            }
            references = frozenset((Reference(memory),))
        self.names[path] = references

    def store(self, target: ast.Subscript, references: References) -> None:
        """`x[...] = value`: kept in a container, copied into a tensor or array."""
        self.value(target.slice)
        base: ast.expr = target
        while isinstance(base, ast.Subscript):
            base = base.value
        path = path_of(base)
        if path is not None and path in self.containers:
            self.names[path] = self.of(path) | references
        else:
            self.write(self.aliases(target.value), target.lineno)

    def aliases(self, node: ast.expr) -> References:
        """What an expression refers to, if it is nothing but names and views; nothing is read by that."""
        path = path_of(node)
        if path is not None and not (isinstance(node, ast.Attribute) and node.attr in _VIEWS):
            return self.of(path)
        if isinstance(node, (ast.Attribute, ast.Subscript)):
            return self.aliases(node.value)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            return _viewed(self.aliases(node.func.value), node.func.attr)
        return _NONE

    # Expressions

    def value(self, node: ast.expr | None) -> References:
        """The memory that a value may refer to; everything that is read on the way is noted."""
        if node is None or isinstance(node, (ast.Constant, ast.Lambda)):
            return _NONE
        if isinstance(node, ast.Name):
            return self.read(node.id, node.lineno)
        if isinstance(node, ast.Attribute):
            return self.attribute(node)
        if isinstance(node, ast.Subscript):
            references = self.value(node.value)
            self.value(node.slice)
            return references if _is_view(node.slice) else _NONE
        if isinstance(node, ast.Call):
            return self.call(node)
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            return self.comprehension(node)
        if isinstance(node, ast.NamedExpr):
            references = self.value(node.value)
            self.bind(node.target, references, node.value)
            return references
        parts = [self.value(child) for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr)]
        if isinstance(node, (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.IfExp, ast.BoolOp, ast.Await, ast.Starred)):
            return _NONE.union(*parts)
        return _NONE

    def attribute(self, node: ast.Attribute) -> References:
        if node.attr in _PLAIN:
            return _NONE
        if node.attr in _VIEWS:
            return self.value(node.value)
        path = path_of(node)
        if path is not None:
            return self.read(path, node.lineno)
        self.value(node.value)
        return _NONE

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> References:
        before = dict(self.names)
        for generator in node.generators:
            self.bind(generator.target, self.value(generator.iter), None)
            for condition in generator.ifs:
                self.value(condition)
        if isinstance(node, ast.DictComp):
            self.value(node.key)
            references = self.value(node.value)
        else:
            references = self.value(node.elt)
        for generator in node.generators:
            for name in bound_names(generator.target):
                self.names.pop(name, None)
                if name in before:
                    self.names[name] = before[name]
        return references

    def call(self, call: ast.Call) -> References:
        function = call.func
        if call in self.conversions:
            assert isinstance(function, ast.Attribute)
            tensors = self.value(function.value)
            return frozenset(Reference(each.memory, call) for each in tensors if each.conversion is None)
        if isinstance(function, ast.Attribute):
            return self.method(call, function)
        name = function.id if isinstance(function, ast.Name) else None
        if name == "len":
            return _NONE
        if name is None:
            self.value(function)
        given = self.arguments(call)
        return _NONE.union(*given) if name in _PASSING else _NONE

    def method(self, call: ast.Call, function: ast.Attribute) -> References:
        name, path = function.attr, path_of(function.value)
        if name in _PLAIN:
            return _NONE
        if path is not None and self.keeps(name, path):
            kept = _NONE.union(*self.arguments(call))
            if kept:
                self.names[path] = (self.of(path) if path in self.names else _NONE) | kept
            return _NONE
        if name == "step" and path is not None and _OPTIMIZER.search(path):
            self.arguments(call)
            self.write(self.held_of(_is_parameter), call.lineno)
            return _NONE
        if name == "load_state_dict" and path is not None:
            self.arguments(call)
            places = f"parameters of {path}", f"{path}."
            self.write(self.held_of(lambda memory: memory.startswith(places)), call.lineno)
            return _NONE
        if path is not None and path.endswith("init") and name.endswith("_") and call.args:  # nn.init.zeros_(weight)
            self.write(self.aliases(call.args[0]), call.lineno)
            return _NONE
        if name in _PARAMETERS and path is not None:
            return frozenset((Reference(f"parameters of {path}"),))
        if _writes_itself(name):
            references = self.aliases(function.value)
            self.arguments(call)
            self.write(references, call.lineno)
            return references
        if name in _WRITING_ARRAYS and path is not None:
            arrays = frozenset(each for each in self.of(path) if each.conversion is not None)
            self.arguments(call)
            self.write(arrays, call.lineno)
            return _NONE
        base = self.value(function.value)
        given = self.arguments(call)
        for keyword in call.keywords:
            if keyword.arg == "out":
                self.write(self.aliases(keyword.value), call.lineno)
        if name in _PASSING and path in ("torch", "np", "numpy"):
            passed: References = _NONE.union(*given)
            if name in ("from_numpy", "as_tensor"):
                return frozenset(Reference(each.memory) for each in passed)
            return passed
        if name == "copyto" and call.args:
            self.write(self.aliases(call.args[0]), call.lineno)
        if name == "to":
            link = chain_of(call).links[-1]
            return base if link.role is Role.CPU else _NONE
        return _viewed(base, name)

    def held_of(self, is_wanted: Callable[[str], bool]) -> References:
        """The tensors of which a name holds the memory, or an array that shares it."""
        memories = {each.memory for held in self.names.values() for each in held}
        return frozenset(Reference(memory) for memory in memories if is_wanted(memory))

    def keeps(self, method: str, path: str) -> bool:
        """Whether a method keeps its arguments in its object."""
        if method in _KEEPING:
            return True
        return method in _KEEPING_OF_CONTAINERS and path in self.containers

    def arguments(self, call: ast.Call) -> list[References]:
        return [self.value(argument) for argument in (*call.args, *(keyword.value for keyword in call.keywords))]

    # Statements

    def block(self, body: Sequence[ast.stmt]) -> None:
        for statement in body:
            if not self.is_reached:
                return
            self.statement(statement)

    def statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Assign):
            references = self.value(statement.value)
            for target in statement.targets:
                self.bind(target, references, statement.value)
        elif isinstance(statement, ast.AnnAssign):
            if statement.value is not None:
                self.bind(statement.target, self.value(statement.value), statement.value)
        elif isinstance(statement, ast.AugAssign):
            self.augment(statement)
        elif isinstance(statement, (ast.Expr, ast.Return)):
            self.value(statement.value)
            if isinstance(statement, ast.Return):
                self.leave()
                self.is_reached = False
        elif isinstance(statement, ast.If):
            self.value(statement.test)
            self.branches(statement.body, statement.orelse)
        elif isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            self.loop(statement)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                references = self.value(item.context_expr)
                if item.optional_vars is not None:
                    self.bind(item.optional_vars, references, item.context_expr)
            self.block(statement.body)
        elif isinstance(statement, _TRIES):
            self.branches([*statement.body, *statement.orelse], *(handler.body for handler in statement.handlers))
            self.block(statement.finalbody)
        elif isinstance(statement, ast.Match):
            self.value(statement.subject)
            self.branches([], *(case.body for case in statement.cases))
        elif isinstance(statement, (ast.Break, ast.Continue)):
            if self.left:
                self.left[-1].append(self.names)
            self.is_reached = False
        elif isinstance(statement, ast.Raise):
            self.is_reached = False
        elif isinstance(statement, ast.Delete):
            for target in statement.targets:
                self.names.pop(path_of(target) or "", None)

    def augment(self, statement: ast.AugAssign) -> None:
        given = self.value(statement.value)
        path = path_of(statement.target)
        if path is None or path not in self.containers:
            self.write(self.aliases(statement.target), statement.lineno)
        else:
            self.names[path] = self.of(path) | given

    def branches(self, *blocks: Sequence[ast.stmt]) -> None:
        before, ends = self.names, []
        for block in blocks:
            self.names, self.is_reached = dict(before), True
            self.block(block)
            if self.is_reached:
                ends.append(self.names)
        self.is_reached = bool(ends)
        self.names = _joined(ends)

    def loop(self, statement: ast.For | ast.AsyncFor | ast.While) -> None:
        for _ in range(MAX_PASSES):
            before = self.names
            self.left.append([before])
            if isinstance(statement, ast.While):
                self.value(statement.test)
            else:
                self.bind(statement.target, self.value(statement.iter), None)
            self.block(statement.body)
            ends = self.left.pop()
            if self.is_reached:
                ends.append(self.names)
            self.is_reached = True
            self.names = _joined(ends)
            if self.names == before:
                break
        self.block(statement.orelse)


def _joined(ends: list[dict[str, References]]) -> dict[str, References]:
    names = {name for end in ends for name in end}
    return {name: _NONE.union(*(end.get(name, frozenset((Reference(name),))) for end in ends)) for name in names}


def _viewed(references: References, method: str) -> References:
    """What the result of a method refers to. NumPy's `flatten` copies; torch's does only where it has to."""
    if method == "flatten":
        return frozenset(each for each in references if each.conversion is None)
    return references if method in _VIEWS else _NONE


def _is_view(index: ast.expr) -> bool:
    """A number, a slice, `...` or None, or several of them: any other index may copy."""
    if isinstance(index, ast.Tuple):
        return all(map(_is_view, index.elts))
    if isinstance(index, ast.UnaryOp):
        return _is_view(index.operand)
    return isinstance(index, ast.Slice) or (isinstance(index, ast.Constant) and not isinstance(index.value, str))


def _writes_itself(method: str) -> bool:
    if not method.endswith("_") or method.endswith("__"):
        return False
    operator = torch_api.tensor_method(method)
    return operator is not None and "self" in operator.writes and method not in ("requires_grad_", "detach_")


def _is_parameter(memory: str) -> bool:
    return memory.startswith("parameters of ") or memory.endswith((".weight", ".bias"))
