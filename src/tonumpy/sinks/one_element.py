"""A tensor of one element as the index of an array: NumPy takes it for an integer, and the result loses an axis.

Only the function at hand is read. A model is taken to keep the first dimension, so one row in is one row out.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.syntax_lowering import stored_in
from tonumpy.sinks.shapes import may_be_a_tensor_or_mask
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import SCOPES, blocks_of, indices_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.text.candidates import OperationSite
    from tonumpy.text.source import Source

# Without these words nothing is known to have one element.
_WORDS = re.compile(
    r"unsqueeze\(|None[\],]|newaxis|topk\(|keepdim|:[ ]*1\]|-1:\]|\+ ?1\]|ensor\(\[|view\(1|reshape\(1"
    r"|(?:zeros|ones|randn?|empty)\(1,"
)
_NAMES_OF_TEXTS = re.compile(r"name|class|label|categor|word|vocab|tag|species|token", re.IGNORECASE)
_MAX_STEPS = 40  # from an index back to what it is made of
_FUNCTION_MODULES = ("torch", "torch.nn.functional", "F", "np")
_KEEPING_SHAPE = frozenset(
    "softmax log_softmax sigmoid tanh relu gelu exp log abs neg float double half long int bool to type cpu cuda detach"
    " clone contiguous requires_grad_ clamp clip round argsort cumsum normalize nan_to_num flip".split()
)
_REDUCING = frozenset("argmax argmin sum mean prod any all amax amin".split())
_PAIRS = frozenset("max min median mode topk".split())  # of values and indices, where a dimension is given
_MADE_OF_SIZES = frozenset("zeros ones rand randn empty".split())
_MADE_OF_DATA = frozenset("tensor as_tensor LongTensor IntTensor FloatTensor".split())


class _Shape(NamedTuple):
    """`is_row`: a model gave one row, and a dimension of that is reduced, so one element is left if it had two."""

    rank: int | None = None
    is_first_one: bool = False
    is_row: bool = False

    @property
    def is_one_element(self) -> bool:
        return self.rank == 1 and self.is_first_one


_UNKNOWN = _Shape()


class OneElementIndices:
    """The indices of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._may_hold = _WORDS.search(source.text) is not None

    def holds(self, index: ast.expr, array: ast.expr, site: OperationSite) -> bool:
        """True if the index has one element and one dimension at least, as far as the function at hand tells."""
        if not self._may_hold or not may_be_a_tensor_or_mask(index) or _is_bound_within(index, site.statement):
            return False
        shape = _Reader(site.scopes[-1].body).shape(index, site.statement)
        return shape.is_one_element or (shape.is_row and self._holds_texts(array))

    def _holds_texts(self, array: ast.expr) -> bool:
        """True for names of classes: those are looked up by what a model says of one row."""
        name = last_name(array) or ""
        if _NAMES_OF_TEXTS.search(name):
            return True
        given = stored_in(self._source.tree.body, name) if isinstance(array, ast.Name) else []
        lists = [each.args[0] for each in given if isinstance(each, ast.Call) and each.args]
        return any(isinstance(each, ast.List) and all(map(_is_text, each.elts)) for each in lists)


class _Reader:
    """The shapes of expressions in the body of one scope."""

    def __init__(self, body: list[ast.stmt]) -> None:
        self._body = body
        self._steps = 0

    def shape(self, node: ast.expr, at: ast.stmt) -> _Shape:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            return _UNKNOWN
        if isinstance(node, ast.Name):
            return self._of_name(node.id, at)
        if isinstance(node, ast.Call):
            return self._of_call(node, at)
        if isinstance(node, ast.Subscript):
            pair = self._of_pair(node.value, at) if _number(node.slice) in (0, 1) else None
            return pair or _indexed(self.shape(node.value, at), indices_of(node.slice))
        if isinstance(node, ast.Attribute):
            return (self._of_pair(node.value, at) if node.attr in ("values", "indices") else None) or _UNKNOWN
        if isinstance(node, ast.UnaryOp):
            return self.shape(node.operand, at)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return _Shape(is_first_one=self.shape(node.left, at).is_first_one)
        if isinstance(node, ast.Compare) and isinstance(node.comparators[0], ast.Constant):
            return self.shape(node.left, at)
        if isinstance(node, ast.BinOp) and isinstance(node.right, ast.Constant):
            return self.shape(node.left, at)
        return _UNKNOWN

    def _of_name(self, name: str, at: ast.stmt) -> _Shape:
        statement = _statement_before(name, at, self._body)
        if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
            return _UNKNOWN
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return self.shape(statement.value, statement)
        return self._of_pair(statement.value, statement) or _UNKNOWN

    def _of_pair(self, node: ast.expr, at: ast.stmt) -> _Shape | None:
        """The shape of both results of `x.max(1)`, `torch.topk(x, 1)`; None of any other expression."""
        name = last_name(node.func) if isinstance(node, ast.Call) else None
        if not isinstance(node, ast.Call) or name not in _PAIRS:
            return None
        tensor, args = _operand_of(node)
        if tensor is None:
            return _UNKNOWN
        shape = self.shape(tensor, at)
        if name == "topk":
            count = args[0] if args else _named(node, "k")
            dim = _dim(node, args[1:]) if len(args) > 1 or _named(node, "dim") is not None else -1
            return _reduced(shape, dim, keeps=True) if _number(count) == 1 else _UNKNOWN
        return _reduced(shape, _dim(node, args), keeps=_keeps_dim(node, args))

    def _of_call(self, call: ast.Call, at: ast.stmt) -> _Shape:
        name = last_name(call.func) or ""
        tensor, args = _operand_of(call)
        if name in _MADE_OF_SIZES:
            sizes = list(map(_number, call.args))
            return _Shape(len(sizes), sizes[:1] == [1]) if sizes else _UNKNOWN
        if name in _MADE_OF_DATA:
            data = call.args[0] if call.args else None
            is_one = isinstance(data, ast.List) and len(data.elts) == 1 and _is_number_like(data.elts[0])
            return _Shape(1, is_first_one=True) if is_one else _UNKNOWN
        if tensor is None:
            return _UNKNOWN
        if name in _KEEPING_SHAPE:
            return self.shape(tensor, at)
        if name in _REDUCING:
            return _reduced(self.shape(tensor, at), _dim(call, args), keeps=_keeps_dim(call, args))
        if name == "unsqueeze":
            return _unsqueezed(self.shape(tensor, at), _dim(call, args))
        if name in ("view", "reshape"):
            sizes = list(map(_number, args))
            whole = self.shape(tensor, at)
            return whole if sizes == [-1] and whole.is_one_element else _Shape(len(sizes) or None, sizes[:1] == [1])
        if name in ("flatten", "ravel"):
            return _Shape(1, self.shape(tensor, at).is_one_element) if not args and not call.keywords else _UNKNOWN
        is_model = not (path_of(call.func) or "").startswith(("torch.", "np.", "F.")) and len(call.args) == 1
        return _Shape(is_first_one=self.shape(call.args[0], at).is_first_one) if is_model else _UNKNOWN


def _operand_of(call: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
    """The tensor that a method or function works on, and the further arguments."""
    function = call.func
    if isinstance(function, ast.Attribute) and path_of(function.value) not in _FUNCTION_MODULES:
        return function.value, call.args
    return (call.args[0], call.args[1:]) if call.args else (None, [])


def _indexed(shape: _Shape, parts: list[ast.expr]) -> _Shape:
    """The shape of `x[None]`, `x[:1]`, `x[0]`, `x[None, :]`."""
    first, *others = parts
    if any(not isinstance(each, ast.Slice) or each.lower or each.upper for each in others):
        return _UNKNOWN
    if (isinstance(first, ast.Constant) and first.value is None) or last_name(first) == "newaxis":
        return _unsqueezed(shape, 0)
    if isinstance(first, ast.Slice):
        return shape._replace(is_first_one=_is_one_row(first), is_row=False)
    if _number(first) is None or shape.rank in (None, 0, 1):
        return _UNKNOWN
    return _Shape(None if shape.rank is None else shape.rank - 1)


def _is_one_row(part: ast.Slice) -> bool:
    """True for `:1`, `-1:`, `2:3`, `at : at + 1`."""
    lower, upper = part.lower, part.upper
    if part.step is not None or lower is upper is None:
        return False
    if upper is None:
        return _number(lower) == -1
    if lower is None:
        return _number(upper) == 1
    first, last = _number(lower), _number(upper)
    if first is not None and last is not None:
        return last - first == 1 and last != 0 and first * last >= 0
    is_next = isinstance(upper, ast.BinOp) and isinstance(upper.op, ast.Add) and _number(upper.right) == 1
    return is_next and ast.dump(upper.left) == ast.dump(lower)  # type: ignore[attr-defined]


def _unsqueezed(shape: _Shape, dim: int | None) -> _Shape:
    return _Shape(None if shape.rank is None else shape.rank + 1, is_first_one=dim == 0 or shape.rank == 0)


def _reduced(shape: _Shape, dim: int | None, *, keeps: bool) -> _Shape:
    """The shape after a reduction of one dimension to size one, which is kept or dropped."""
    if dim is None:
        return _UNKNOWN
    if shape.rank is None:
        is_row = shape.is_first_one and dim in (1, -1)
        return _Shape(None, shape.is_first_one and dim != 0, is_row=is_row)
    if keeps:
        return _Shape(shape.rank, shape.is_first_one or dim in (0, -shape.rank))
    return _Shape(shape.rank - 1, shape.is_first_one and dim not in (0, -shape.rank))


def _statement_before(name: str, at: ast.stmt, body: list[ast.stmt]) -> ast.stmt | None:
    """The statement that surely gave a name its value where another begins; None where several may have."""
    found: ast.stmt | None = None
    for block, statement in _path_to(at, body):
        for each in block[: block.index(statement)]:
            if name in _stored(each):
                found = each
        if statement is not at and isinstance(statement, (ast.For, ast.AsyncFor, ast.While)):
            found = None if name in _stored(statement) else found
    return found


def _path_to(statement: ast.stmt, body: list[ast.stmt]) -> list[tuple[list[ast.stmt], ast.stmt]]:
    """The blocks around a statement, outermost first, each with the statement in it that leads there."""
    for each in body:
        if each is statement:
            return [(body, each)]
        for block in [] if isinstance(each, SCOPES) else blocks_of(each):
            path = _path_to(statement, block)
            if path:
                return [(body, each), *path]
    return []


def _stored(statement: ast.stmt) -> set[str]:
    return {each.id for each in walk(statement) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}


def _is_bound_within(index: ast.expr, statement: ast.stmt) -> bool:
    """True if a comprehension or lambda of the statement binds a name of the index."""
    read = {each.id for each in walk(index) if isinstance(each, ast.Name)}
    return not read.isdisjoint(_bound_within(statement))


def _bound_within(statement: ast.stmt) -> Iterator[str]:
    for each in walk(statement):
        if isinstance(each, ast.comprehension):
            yield from (part.id for part in walk(each.target) if isinstance(part, ast.Name))
        elif isinstance(each, ast.Lambda):
            yield from (part.arg for part in walk(each.args) if isinstance(part, ast.arg))


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_number_like(node: ast.expr) -> bool:
    """True for what stands in a list of numbers: a constant, a name, an attribute or an operation."""
    return isinstance(node, (ast.Constant, ast.Name, ast.Attribute, ast.BinOp))


def _number(node: ast.expr | None) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None


def _named(call: ast.Call, *names: str) -> ast.expr | None:
    return next((each.value for each in call.keywords if each.arg in names), None)


def _dim(call: ast.Call, args: list[ast.expr]) -> int | None:
    return _number(args[0]) if args else _number(_named(call, "dim", "axis"))


def _keeps_dim(call: ast.Call, args: list[ast.expr]) -> bool:
    given = args[1] if len(args) > 1 else _named(call, "keepdim", "keepdims")
    return isinstance(given, ast.Constant) and given.value is True
