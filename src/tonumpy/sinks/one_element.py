"""A tensor of one element as the index of an array: NumPy takes it for an integer, and the result loses an axis.

Only what a model says of one row is looked for: `names[net(x.unsqueeze(0)).argmax(1)]`. A model is taken to keep the
first dimension, so one row in is one row out.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.names.syntax_lowering import stored_in
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import indices_of, statements_of

if TYPE_CHECKING:
    from tonumpy.text.candidates import OperationSite
    from tonumpy.text.source import Source

_WORDS = re.compile(r"unsqueeze\(|None[\],]|newaxis|view\(1|reshape\(1|(?:zeros|ones|randn?|empty)\(1,")
_NAMES_OF_TEXTS = re.compile(r"name|class|label|categor|word|vocab|tag|species|token", re.IGNORECASE)
_MAX_STEPS = 20  # from an index back to what it is made of
_FUNCTION_MODULES = ("torch", "torch.nn.functional", "F")
_KEEPING_SHAPE = frozenset(
    "softmax log_softmax sigmoid tanh relu exp log double float long int to cpu cuda detach clone contiguous".split()
)
_PAIRS = frozenset("max min topk".split())  # of values and indices
_MADE_OF_SIZES = frozenset("zeros ones rand randn empty".split())


class OneElementIndices:
    """The indices of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._may_hold = _WORDS.search(source.text) is not None

    def holds(self, index: ast.expr, array: ast.expr, site: OperationSite) -> bool:
        """True if an array of texts is looked up by what a model says of one row."""
        return self._may_hold and self._holds_texts(array) and _is_best_of_row(index, site.scopes[-1].body, _MAX_STEPS)

    def _holds_texts(self, array: ast.expr) -> bool:
        name = last_name(array) or ""
        if _NAMES_OF_TEXTS.search(name):
            return True
        given = stored_in(self._source.tree.body, name) if isinstance(array, ast.Name) else []
        lists = [each.args[0] for each in given if isinstance(each, ast.Call) and each.args]
        return any(isinstance(each, ast.List) and all(map(_is_text, each.elts)) for each in lists)


def _is_best_of_row(node: ast.expr, body: list[ast.stmt], steps: int) -> bool:
    """True for `x.argmax(1)`, `x.max(1)[1]` and `x.topk(1).indices` of one row, itself or under a name."""
    if steps == 0:
        return False
    if isinstance(node, ast.Name):
        given = _bound_once(node.id, body)
        return given is not None and _is_best_of_row(given, body, steps - 1)
    if isinstance(node, (ast.Subscript, ast.Attribute)):  # `[1]`, `.indices`
        is_second = node.attr == "indices" if isinstance(node, ast.Attribute) else _number(node.slice) == 1
        is_of_pair = isinstance(node.value, ast.Call) and last_name(node.value.func) in _PAIRS
        return is_second and is_of_pair and _is_best_of_row(node.value, body, steps)
    if not isinstance(node, ast.Call):
        return False
    name, (row, args) = last_name(node.func) or "", _operand_of(node)
    if name in _KEEPING_SHAPE:
        return row is not None and _is_best_of_row(row, body, steps - 1)
    if row is None or name not in _PAIRS | {"argmax", "argmin"}:
        return False
    named = {each.arg: each.value for each in node.keywords}
    if name == "topk":
        is_one = _number(args[0] if args else named.get("k")) == 1
    else:
        is_one = _number(args[0] if args else named.get("dim", named.get("axis"))) in (1, -1)
    return is_one and "keepdim" not in named and _is_one_row(row, body, steps - 1)


def _is_one_row(node: ast.expr, body: list[ast.stmt], steps: int) -> bool:
    """True for `x.unsqueeze(0)`, `x[None]`, `x.view(1, -1)`, `torch.zeros(1, 4)`, and what a model makes of one."""
    if steps == 0:
        return False
    if isinstance(node, ast.Name):
        given = _bound_once(node.id, body)
        return given is not None and _is_one_row(given, body, steps - 1)
    if isinstance(node, ast.Subscript):
        first = indices_of(node.slice)[0]
        return (isinstance(first, ast.Constant) and first.value is None) or last_name(first) == "newaxis"
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.MatMult) and _is_one_row(node.left, body, steps - 1)
    if not isinstance(node, ast.Call):
        return False
    name, (row, args) = last_name(node.func) or "", _operand_of(node)
    if name in _MADE_OF_SIZES:
        return len(node.args) > 1 and _number(node.args[0]) == 1
    if name in ("unsqueeze", "view", "reshape"):
        return bool(args) and _number(args[0]) == (0 if name == "unsqueeze" else 1)
    if name in _KEEPING_SHAPE:
        return row is not None and _is_one_row(row, body, steps - 1)
    is_model = not (path_of(node.func) or "").startswith(("torch.", "np.", "F.")) and len(node.args) == 1
    return is_model and _is_one_row(node.args[0], body, steps - 1)


def _bound_once(name: str, body: list[ast.stmt]) -> ast.expr | None:
    """Return what a name is bound to if one assignment of the scope binds it; of a pair that is its second part."""
    stores = [each for each in statements_of(body) if any(_stores(name, node) for node in ast.walk(each))]
    match stores:
        case [ast.Assign([ast.Name()], value)]:
            return value
        case [ast.Assign([ast.Tuple([_, ast.Name(second)])], ast.Call() as call)] if second == name:
            return call if last_name(call.func) in _PAIRS else None
    return None


def _stores(name: str, node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _operand_of(call: ast.Call) -> tuple[ast.expr | None, list[ast.expr]]:
    """Return the tensor that a method or function works on, and the further arguments."""
    function = call.func
    if isinstance(function, ast.Attribute) and path_of(function.value) not in _FUNCTION_MODULES:
        return function.value, call.args
    return (call.args[0], call.args[1:]) if call.args else (None, [])


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _number(node: ast.expr | None) -> int | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _number(node.operand)
        return None if inner is None else -inner
    return node.value if isinstance(node, ast.Constant) and type(node.value) is int else None
