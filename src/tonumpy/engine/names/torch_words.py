"""Names of torch's methods by which syntax alone tells what is meant: views, moves, casts, what fills."""

from __future__ import annotations

from tonumpy.text.names import ACCELERATORS

# Methods of tensors that give another view of the same memory, or of a copy where there can be none.
VIEWING = frozenset(
    "view view_as reshape ravel flatten unflatten squeeze unsqueeze transpose t swapaxes permute movedim expand"
    " expand_as narrow select unfold values diagonal unbind chunk split".split()
)

MOVING = ACCELERATORS | {"to"}  # methods that may bring an object elsewhere
MOVES = MOVING | {"cpu"}  # of modules


CASTS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16", "type": None}


def changes_module_in_place(name: str) -> bool:
    return name in MOVES or name in CASTS or name in ("requires_grad_", "set_format")
