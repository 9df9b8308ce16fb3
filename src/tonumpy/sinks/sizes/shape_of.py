"""From an expression to what is known of its shape, by the function that it stands in alone.

What a call of another function of the file gives is not known, and a model is taken to keep the first dimension.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.syntax_lowering import stored_in, stored_in_attributes
from tonumpy.sinks.risk_parts import part_given
from tonumpy.sinks.sizes.reaching import ReachingStores
from tonumpy.sinks.sizes.shapes_known import (
    NUMBER,
    ROW,
    UNKNOWN,
    One,
    Shape,
    first_of,
    of_sizes,
    squeezed,
    unsqueezed,
    with_one,
    without,
)
from tonumpy.sinks.sizes.spelt_sizes import (
    called_in,
    dim_at,
    dim_in,
    function_named,
    is_new_axis,
    is_of_one_row,
    is_single_loader,
    keeps_dim,
    number_in,
    numbers_given,
    sizes_in,
)
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import indices_of, statements_of, walk

if TYPE_CHECKING:
    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

_MAX_STEPS = 40  # from an index back to what it is made of
_TORCH = ("torch", "F", "nn")
_KEEPING = frozenset(
    "softmax log_softmax sigmoid tanh relu gelu exp log abs neg float double half long int bool to type cpu cuda detach"
    " clone contiguous requires_grad_ clamp clip round floor ceil argsort sqrt square cumsum normalize nan_to_num flip"
    " logical_not isnan isfinite detach_ softmin cumprod".split()
)
_REDUCING = frozenset("argmax argmin sum mean prod any all amax amin logsumexp std var".split())
_PAIRING = frozenset("max min median mode".split())  # values and indices, where a dimension is given
_MADE_OF_SIZES = frozenset("zeros ones rand randn empty".split())
_OF_DATA = frozenset("tensor as_tensor asarray from_numpy array LongTensor IntTensor FloatTensor".split())
_ROWS = frozenset("arange linspace randperm".split())
_NUMBERS = frozenset("int float bool len item randrange index".split())
_FLAT = frozenset(("flatten", "ravel"))


class Shapes:
    """Of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._bodies: dict[Scope, ReachingStores] = {}

    def shape_of(self, node: ast.expr, statement: ast.stmt, scope: Scope) -> Shape:
        """What is known of a tensor where a statement begins in a scope."""
        if scope not in self._bodies:
            self._bodies[scope] = ReachingStores(scope.body)
        reader = _Reader(self._source, self._bodies[scope], numbers=numbers_given(scope))
        return reader.shape(node, statement)


class _Reader:
    """Of one tensor; `given`: what a function that is followed is given; `numbers`: its parameters that are numbers."""

    def __init__(
        self,
        source: Source,
        stores: ReachingStores,
        given: dict[str, Shape] | None = None,
        numbers: frozenset[str] = frozenset(),
    ) -> None:
        self._source = source
        self._numbers = numbers
        self._stores = stores
        self._given = given
        self._left = _MAX_STEPS

    def shape(self, node: ast.expr, at: ast.stmt) -> Shape:
        self._left -= 1
        if self._left < 0:
            return UNKNOWN
        if isinstance(node, ast.Name):
            return self._of_name(node, at)
        if isinstance(node, ast.Call):
            return self._of_call(node, at)
        if isinstance(node, ast.Subscript):
            return self._of_subscript(node, at)
        if isinstance(node, ast.Attribute):
            return self._of_attribute(node, at)
        if isinstance(node, ast.UnaryOp):
            return self.shape(node.operand, at)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return Shape(is_first_one=self.shape(node.left, at).is_first_one)
        if isinstance(node, (ast.BinOp, ast.Compare)):
            left, right = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.left, node.comparators[0])
            return self._of_operands(left, right, at)
        if isinstance(node, ast.Constant):
            return NUMBER if isinstance(node.value, (int, float)) else UNKNOWN
        return self._of_list(node, at) if isinstance(node, (ast.List, ast.Tuple)) else UNKNOWN

    def _of_operands(self, left: ast.expr, right: ast.expr, at: ast.stmt) -> Shape:
        """Beside a number a tensor keeps its shape; of two nothing is known."""
        if self._is_number(right):
            return self.shape(left, at)
        return self.shape(right, at) if self._is_number(left) else UNKNOWN

    def _is_number(self, node: ast.expr) -> bool:
        is_parameter = isinstance(node, ast.Name) and node.id in self._numbers and not self._stores.gives(node.id)
        return is_parameter or isinstance(node, ast.Constant)

    def _of_list(self, node: ast.List | ast.Tuple, at: ast.stmt) -> Shape:
        if any(isinstance(each, ast.Starred) for each in node.elts) or not node.elts:
            return UNKNOWN
        first = node.elts[0]
        inner = self.shape(first, at)
        if isinstance(first, ast.Call) and last_name(first.func) in _NUMBERS:
            inner = NUMBER
        elif inner.rank is None and not isinstance(first, (ast.List, ast.Tuple, ast.Call, ast.Subscript)):
            inner = NUMBER  # a name that stands in such a list is a number's, mostly
        if len(node.elts) == 1:
            return unsqueezed(inner, 0)
        return Shape(None if inner.rank is None else inner.rank + 1)

    def _of_name(self, node: ast.Name, at: ast.stmt) -> Shape:
        if self._given is not None and node.id in self._given and not self._stores.gives(node.id):
            return self._given[node.id]
        given = self._stores.given_to(node.id, at)
        if given is None or given.store.value is None:
            return UNKNOWN
        store, statement = given
        if store.how == "whole":
            return self.shape(given.store.value, statement)
        if store.how == "item":
            return self._of_item(given.store.value, node.id, statement)
        if store.how == "part" and isinstance(statement, ast.Assign):
            return self._of_part(given.store.value, part_given(statement.targets, store.target), statement)
        return UNKNOWN

    def _of_part(self, value: ast.expr, part: str, at: ast.stmt) -> Shape:
        """`values, indices = x.max(1)`; `x, y = batch`"""
        if isinstance(value, ast.Call) and part in ("[0]", "[1]"):
            pair = self._of_pair(value, at)
            if pair is not None:
                return pair
        whole = self.shape(value, at)
        if isinstance(value, ast.Call) and whole.rank is None and whole.is_first_one:
            return Shape(is_first_one=True, most=One.BY_SECOND)  # of a model that gives several
        return Shape(is_first_one=True) if whole.is_batch else UNKNOWN

    def _of_item(self, value: ast.expr, name: str, statement: ast.stmt) -> Shape:
        """What a loop goes through: of a loader, a batch."""
        target = statement.target if isinstance(statement, (ast.For, ast.AsyncFor)) else None
        if isinstance(value, ast.Call) and last_name(value.func) in ("enumerate", "tqdm") and value.args:
            if last_name(value.func) == "enumerate":
                target = target.elts[1] if isinstance(target, ast.Tuple) and len(target.elts) == 2 else None
            value = value.args[0]
            if isinstance(value, ast.Call) and last_name(value.func) in ("tqdm", "enumerate") and value.args:
                value = value.args[0]
        if target is None or "DataLoader(" not in self._source.text or not self._gives_single(value, statement):
            return UNKNOWN
        if isinstance(target, ast.Name) and target.id == name:
            return Shape(is_first_one=True, is_batch=True)
        is_among = any(isinstance(each, ast.Name) and each.id == name for each in walk(target))
        return Shape(is_first_one=True) if is_among else UNKNOWN

    def _gives_single(self, node: ast.expr, at: ast.stmt) -> bool:
        """Whether it is a loader whose batches have one item."""
        if isinstance(node, ast.Name):
            given = self._stores.given_to(node.id, at)
            made = [] if given is None else [given.store.value]
            if given is None:
                made = stored_in(self._source.tree.body, node.id)
        elif isinstance(node, ast.Attribute):
            made = stored_in_attributes(self._source.tree, node.attr)
        else:
            made = [node]
        return bool(made) and all(is_single_loader(each) for each in made)

    def _of_attribute(self, node: ast.Attribute, at: ast.stmt) -> Shape:
        if isinstance(node.value, ast.Call) and node.attr in ("indices", "values"):
            pair = self._of_pair(node.value, at)
            if pair is not None:
                return pair
        if node.attr in ("T", "mT"):
            return self.shape(node.value, at)._replace(is_first_one=False)
        return self.shape(node.value, at) if node.attr in ("logits", "data") else UNKNOWN

    def _of_subscript(self, node: ast.Subscript, at: ast.stmt) -> Shape:
        index = node.slice
        if isinstance(node.value, ast.Call) and isinstance(index, ast.Constant):
            pair = self._of_pair(node.value, at)
            if pair is not None:
                return pair
        whole = self.shape(node.value, at)
        if whole.is_batch:
            return Shape(is_first_one=True)
        if isinstance(index, ast.Constant) and index.value == "logits":
            return whole
        return _indexed(whole, indices_of(index))

    def _of_call(self, call: ast.Call, at: ast.stmt) -> Shape:
        if any(isinstance(each, ast.Starred) for each in call.args):
            return UNKNOWN
        name, root = last_name(call.func) or "", (path_of(call.func) or "").partition(".")[0]
        if root in _TORCH or root in ("np", "numpy"):
            return self._of_function(name, call, at)
        if isinstance(call.func, ast.Attribute) and torch_api.is_of_tensors(name):
            return self._of_method(name, call, call.func.value, call.args, at)
        if isinstance(call.func, ast.Attribute) and name == "sample":
            return self._of_sample(call.func.value, at)
        return self._of_model(call, name, at)

    def _of_model(self, call: ast.Call, name: str, at: ast.stmt) -> Shape:
        """A model keeps the first dimension; of a function of the file what it returns is looked at, if that is one."""
        if not call.args or not isinstance(call.func, (ast.Name, ast.Attribute)):
            return UNKNOWN
        if name not in ("forward", "__call__") and f"def {name}(" in self._source.text:
            function = function_named(name, self._source.tree.body) if self._given is None else None
            return UNKNOWN if function is None else self._returned(function, call, at)
        return Shape(is_first_one=self.shape(call.args[0], at).is_first_one)

    def _returned(self, function: ast.FunctionDef, call: ast.Call, at: ast.stmt) -> Shape:
        last = function.body[-1]
        returns = [each for each in statements_of(function.body) if isinstance(each, ast.Return)]
        if returns != [last] or last.value is None:  # type: ignore[attr-defined]
            return UNKNOWN
        names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
        names = names[1:] if names[:1] == ["self"] else names
        given = dict.fromkeys(names, UNKNOWN)
        given.update((name, self.shape(each, at)) for name, each in zip(names, call.args, strict=False))
        given.update((each.arg, self.shape(each.value, at)) for each in call.keywords if each.arg is not None)
        reader = _Reader(self._source, ReachingStores(function.body), given, numbers_given(function))
        return reader.shape(last.value, last)  # type: ignore[attr-defined]

    def _of_sample(self, node: ast.expr, at: ast.stmt) -> Shape:
        """Of `Categorical(probs)`, which is given by a name, or stands there."""
        if isinstance(node, ast.Name):
            given = self._stores.given_to(node.id, at)
            if given is None or given.store.value is None:
                return UNKNOWN
            node, at = given.store.value, given.statement
        if not isinstance(node, ast.Call) or last_name(node.func) != "Categorical":
            return UNKNOWN
        probabilities = [*node.args, *(each.value for each in node.keywords if each.arg in ("probs", "logits"))]
        return without(self.shape(probabilities[0], at), -1) if probabilities else UNKNOWN

    def _of_function(self, name: str, call: ast.Call, at: ast.stmt) -> Shape:
        if name in _MADE_OF_SIZES:
            return of_sizes(sizes_in(call.args))
        if name == "randint":
            sizes = [each.value for each in call.keywords if each.arg == "size"] or call.args[1:][-1:]
            return of_sizes(sizes_in(sizes)) if sizes and isinstance(sizes[0], (ast.Tuple, ast.List)) else UNKNOWN
        if name == "full":
            return of_sizes(sizes_in(call.args[:1]))
        if name in _ROWS:
            return ROW
        if not call.args:
            return UNKNOWN
        if name in _OF_DATA:
            return self.shape(call.args[0], at)
        if name == "cdist":
            return Shape(is_first_one=self.shape(call.args[0], at).is_first_one)
        if name == "expand_dims":
            dim = dim_at(call, 1)
            return UNKNOWN if dim is None else unsqueezed(self.shape(call.args[0], at), dim)
        return self._of_method(name, call, call.args[0], call.args[1:], at)

    def _of_method(self, name: str, call: ast.Call, owner: ast.expr, args: list[ast.expr], at: ast.stmt) -> Shape:
        """Of a method, or the function of this name, whose arguments behind the tensor are `args`."""
        first = args[0] if args else None
        if name in _KEEPING:
            return self.shape(owner, at)
        if name in _REDUCING or name == "multinomial":
            return self._reduced(name, call, owner, args, at)
        if name in _PAIRING:
            return NUMBER if first is None and not call.keywords else UNKNOWN
        if name in ("view", "reshape"):
            return self._viewed(owner, args, at)
        if name == "unsqueeze" and (dim := dim_in(call, args)) is not None:
            return unsqueezed(self.shape(owner, at), dim)
        if name == "squeeze":
            dim = dim_in(call, args)
            return UNKNOWN if dim is None and (args or call.keywords) else squeezed(self.shape(owner, at), dim)
        if name in _FLAT:
            whole = self.shape(owner, at)
            if first is None:
                return Shape(1, whole.one == One.SURE, whole.one)
            return Shape(2, whole.is_first_one, whole.one) if number_in(first) == 1 else UNKNOWN
        return UNKNOWN

    def _reduced(self, name: str, call: ast.Call, owner: ast.expr, args: list[ast.expr], at: ast.stmt) -> Shape:
        whole = self.shape(owner, at)
        if name == "multinomial":  # takes one dimension, or two
            if not args or number_in(args[0]) != 1:
                return UNKNOWN
            return Shape(None, True, One.SURE) if whole.is_first_one else with_one(whole, -1)
        if not args and not call.keywords:
            return NUMBER
        dim = dim_in(call, args)
        return UNKNOWN if dim is None else (with_one if keeps_dim(call, args) else without)(whole, dim)

    def _of_pair(self, call: ast.Call, at: ast.stmt) -> Shape | None:
        """What values and indices of `x.max(1)`, `torch.topk(x, 1)` have; None of another call."""
        name, root = last_name(call.func) or "", (path_of(call.func) or "").partition(".")[0]
        if name not in _PAIRING and name not in ("topk", "sort"):
            return None
        is_function = root in _TORCH
        if not is_function and not isinstance(call.func, ast.Attribute):
            return None
        if is_function and not call.args:
            return UNKNOWN
        owner = call.args[0] if is_function else call.func.value  # type: ignore[attr-defined]
        args = call.args[1:] if is_function else call.args
        if name == "sort":
            return self.shape(owner, at)
        if name == "topk":
            count = args[0] if args else next((each.value for each in call.keywords if each.arg == "k"), None)
            dim = dim_in(call, args[1:]) if len(args) > 1 or call.keywords else -1
            whole = self.shape(owner, at)
            if count is not None and number_in(count) == 1:
                return with_one(whole, -1 if dim is None else dim)
            return Shape(whole.rank, whole.is_first_one)
        dim = dim_in(call, args)
        return UNKNOWN if dim is None else (with_one if keeps_dim(call, args) else without)(self.shape(owner, at), dim)

    def _viewed(self, owner: ast.expr, args: list[ast.expr], at: ast.stmt) -> Shape:
        given = list(args[0].elts) if len(args) == 1 and isinstance(args[0], (ast.Tuple, ast.List)) else args
        if not given or (len(given) == 1 and number_in(given[0]) is None):
            return UNKNOWN
        sizes = [number_in(each) for each in given]
        whole = self.shape(owner, at)
        if len(given) == 1 or all(each == 1 for each in sizes):
            return Shape(1, whole.one == One.SURE, whole.one) if sizes == [-1] else of_sizes(sizes)
        is_kept = whole.is_first_one and last_name(called_in(given[0])) in ("size", "shape")
        return Shape(len(given), sizes[0] == 1 or is_kept, whole.one)


def _indexed(whole: Shape, parts: list[ast.expr]) -> Shape:
    """`x[None]`, `x[:1]`, `x[0]`, `x[:, 0]`."""
    shape, dim = whole, 0
    for part in parts:
        if is_new_axis(part):
            shape, dim = unsqueezed(shape, dim), dim + 1
        elif isinstance(part, ast.Slice):
            if is_of_one_row(part):
                shape = with_one(shape, dim)
            elif part.lower is not None or part.upper is not None or part.step is not None:
                shape = shape._replace(one=One.UNKNOWN, is_first_one=shape.is_first_one and dim > 0)
            dim += 1
        elif number_in(part) is not None:
            row = Shape(None, shape.is_first_one) if shape.rank is None else without(shape, dim)
            shape = row if dim else first_of(shape)
        elif isinstance(part, ast.Constant) and part.value is Ellipsis:
            return shape if part is parts[-1] else UNKNOWN
        else:
            return UNKNOWN
    return shape
