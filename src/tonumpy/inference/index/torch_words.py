"""Words of torch's by which syntax alone tells what is meant: contexts of grad mode, views, moves, what fills."""

from __future__ import annotations

from tonumpy.text.names import ACCELERATORS

# What torch's contexts set it to. By their own names, for a module may import torch in ways that are not followed, or
# wrap them: nobody calls so what does something else.
GRAD_CONTEXTS = {"no_grad": "off", "inference_mode": "off", "enable_grad": "on", "set_grad_enabled": "unknown"}

# Those that are told by a flag, and what they are where it is True.
TOLD_BY_FLAG = {"inference_mode": "off", "set_grad_enabled": "on"}
# Those that decorate functions, and leave what these take and give.
GRAD_DECORATORS = ("no_grad", "inference_mode", "enable_grad")
GRAD_SETTERS = ("set_grad_enabled", "_set_grad_enabled")  # called as statements, they hold from there on

# Methods of tensors that give another view of the same memory, or of a copy where there can be none.
VIEWING = frozenset(
    "view view_as reshape ravel flatten unflatten squeeze unsqueeze transpose t swapaxes permute movedim expand"
    " expand_as narrow select unfold values diagonal unbind chunk split".split()
)

FILLING = frozenset("append appendleft extend extendleft insert add update setdefault".split())  # of containers

MOVING = ACCELERATORS | {"to"}  # methods that may bring an object elsewhere
MOVES = MOVING | {"cpu"}  # of modules

# Methods that change a container, or a module, without saying so in their names.
IN_PLACE = FILLING | MOVES

CASTS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16", "type": None}


def changes_module_in_place(name: str) -> bool:
    return name in MOVES or name in CASTS or name in ("requires_grad_", "set_format")
