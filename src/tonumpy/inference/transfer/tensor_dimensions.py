"""How many dimensions what torch gives has, where the call says so: a loss has none, `x.flatten()` has one.

What a rule claims of a tensor without dimensions is asked of this, and not of `is_number`, which is true of what may
have none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.values.values import Constant, NonTensor, Sequence, Tensor, Value, is_number

if TYPE_CHECKING:
    from tonumpy.engine.values.values import Arguments

# Without a dimension given they leave none; with one given, one less.
_REDUCING = frozenset(
    "sum mean prod max min amax amin argmax argmin median nanmean nansum nanmedian std var norm all any"
    " count_nonzero trace dot vdot".split()
)
_LOSSES = frozenset(
    "cross_entropy nll_loss mse_loss l1_loss smooth_l1_loss huber_loss kl_div binary_cross_entropy"
    " binary_cross_entropy_with_logits hinge_embedding_loss soft_margin_loss cosine_embedding_loss"
    " margin_ranking_loss triplet_margin_loss gaussian_nll_loss poisson_nll_loss".split()
)
_OF_ONE = frozenset("flatten ravel arange linspace logspace randperm range unique bincount".split())
_KEEPING = frozenset(
    "clone contiguous float double half int long bool abs exp log sqrt sigmoid tanh relu softmax log_softmax round"
    " clamp clip neg square sign floor ceil isnan isfinite isinf logical_not cumsum argsort zeros_like ones_like"
    " rand_like randn_like empty_like full_like roll flip".split()
)
_MADE_OF_SIZES = frozenset("zeros ones rand randn empty".split())
_FROM_DATA = ("tensor", "as_tensor", "asarray")


def with_dimensions_known(name: str, operand: Value | None, arguments: Arguments, result: Tensor) -> Tensor:
    """The result of a function or method of torch; `arguments` are those behind the tensor that it works on."""
    if arguments.has_star:
        return result
    found = _dimensions(name.rpartition(".")[2], operand, arguments)
    return result if found == result.dimensions else result._replace(dimensions=found)


def _dimensions(name: str, operand: Value | None, arguments: Arguments) -> int | None:
    own = operand.dimensions if isinstance(operand, Tensor) else None
    if name in _REDUCING:
        return _of_reduction(own, arguments)
    if name in _LOSSES:
        return _of_loss(arguments)
    if name in _KEEPING:
        return own
    if name == "unsqueeze":
        return None if own is None else own + 1
    return _of_arguments(name, operand, arguments)


def _of_loss(arguments: Arguments) -> int | None:
    given = arguments.named_value("reduction")
    is_usual = given is None or (isinstance(given, Constant) and given.value in ("mean", "sum"))
    return 0 if is_usual and arguments.named_value("reduce") is None else None


def _of_arguments(name: str, operand: Value | None, arguments: Arguments) -> int | None:
    """Where they alone say it, whatever a tensor had before: `x.view(2, 3)`, `torch.arange(5)`."""
    if name in ("view", "reshape"):
        return len(arguments.positional) if arguments.positional and all(map(is_number, arguments.positional)) else None
    if name in _OF_ONE:
        return 1 if not arguments.positional or name not in ("flatten", "unique") else None
    if name in _FROM_DATA:
        return _of_data(operand)
    if name in _MADE_OF_SIZES:
        return _of_sizes(operand, arguments)
    return None


def _of_reduction(own: int | None, arguments: Arguments) -> int | None:
    if not arguments.positional and not any(name in ("dim", "axis", "keepdim") for name, _ in arguments.named):
        return 0
    dim = arguments.get(0, "dim")
    is_one = isinstance(dim, Constant) and type(dim.value) is int and len(arguments.positional) < 2
    is_kept = arguments.named_value("keepdim") is not None
    return own - 1 if own and is_one and not is_kept else None


def _of_data(data: Value | None) -> int | None:
    if isinstance(data, Tensor):
        return data.dimensions
    if isinstance(data, NonTensor) and data.what in ("number", "int", "float", "bool"):
        return 0
    if isinstance(data, Constant):
        return 0 if is_number(data) else None
    if isinstance(data, Sequence) and data.items:
        return _of_items(data.items)
    return None


def _of_items(items: tuple[Value, ...]) -> int | None:
    """Of a list of these, which all must have the same: one more than they have."""
    inner = {_of_data(each) for each in items}
    depth = inner.pop()
    return None if inner or depth is None else depth + 1


def _of_sizes(first: Value | None, arguments: Arguments) -> int | None:
    if isinstance(first, Sequence):
        return None if first.items is None else len(first.items)
    sizes = [] if first is None else [first, *arguments.positional]
    return len(sizes) if len(sizes) > 1 and all(map(is_number, sizes)) else None
