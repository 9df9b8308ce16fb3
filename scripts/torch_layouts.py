"""Which functions and methods of torch leave a layout that NumPy does not have, or give another such one."""

from __future__ import annotations

import warnings
from collections import defaultdict

import torch
from torch.utils._pytree import tree_leaves
from torch_generated_calls import LEFT_OUT
from torch_names import canonical_names, public_attributes

_DENSE = torch.tensor([[1.0, 0.5], [0.0, 1.0]])
_MAKERS = {
    **dict.fromkeys(("to_sparse_coo", "to_sparse_csr", "to_sparse_csc", "to_mkldnn"), ()),
    **dict.fromkeys(("to_sparse_bsr", "to_sparse_bsc"), ((1, 1),)),
}
_ARGUMENTS = (
    *((), (2,), (0.5,), (0,), (0, 0), (1, 0), (0, 1), (0, 0, 1), ((2,),)),
    *(("cpu",), (_DENSE,), (0, torch.tensor([0])), (_DENSE > 0,)),
)
_OWNERS = ("torch", "torch.Tensor", "torch.sparse", "torch.nn.functional")


def keeping_layout() -> tuple[str, ...]:
    """The last names of those that were seen to give such a matrix of such a one, and never anything dense."""
    layouts: defaultdict[str, set[bool]] = defaultdict(set)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value, name in canonical_names()[0].items():
            owner, _, last = name.rpartition(".")
            if owner in _OWNERS and value.__doc__ and not last.startswith("__") and not LEFT_OUT.match(last):
                layouts[last].update(_are_dense(value))
        for name in public_attributes():
            layouts[name].update(_are_dense(lambda tensor, name=name: getattr(tensor, name)))
    return tuple(sorted(name for name, dense in layouts.items() if dense == {False}))


def _are_dense(function: object) -> set[bool]:
    found = set()
    for maker, blocks in _MAKERS.items():
        for arguments in _ARGUMENTS:
            tensor = getattr(_DENSE, maker)(*blocks)
            try:
                result = function(tensor, *arguments)  # type: ignore[operator]
            except Exception:
                continue  # of some layouts, and with some arguments, only
            found |= {leaf.layout is torch.strided for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)}
    return found
