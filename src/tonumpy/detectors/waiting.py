"""Names of functions that make the host wait for a device, or that read the values of a tensor."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from tonumpy.text.names import last_name
from tonumpy.text.syntax import walk

# Attributes and methods that do not depend on a tensor's values.
PLAIN = frozenset(
    "shape size dim ndim ndimension numel nelement dtype device is_cuda is_cpu element_size nbytes itemsize stride"
    " layout data_ptr is_pinned is_contiguous requires_grad grad_fn is_leaf type keys".split()
)
# Methods that make the host wait for the stream of their tensor on a device.
BLOCKING = frozenset("item tolist cpu nonzero argwhere masked_select unique is_nonzero equal".split())
PRINTING = frozenset("print str repr format float int bool complex round abs".split())
NOT_READING = frozenset(
    "isinstance len type id hasattr getattr setattr callable hash range super is_tensor numel empty_like zeros_like"
    " ones_like rand_like randn_like stream open slice Event Stream device no_grad empty zeros ones record wait_stream"
    " wait_event".split()
)
_WAITING = frozenset("sync synchronize barrier query sleep monitored_barrier".split())


def waits(name: str) -> bool:
    """True if a function of this name makes the host wait, or queries whether the work is done."""
    lower = name.lower()
    return lower in _WAITING or "synchronize" in lower or lower.startswith("sync_") or lower.endswith("_sync")


def view_waited_for(statement: ast.stmt, following: Iterable[ast.stmt]) -> tuple[ast.Name, ast.expr] | None:
    """The name and the tensor of `view = host.numpy()`, which reads no values, if a following statement of the block
    waits before one names the array."""
    match statement:
        case ast.Assign([ast.Name() as target], ast.Call(ast.Attribute(tensor, "numpy"), [], [])):
            for each in following:
                if any(isinstance(node, ast.Name) and node.id == target.id for node in walk(each)):
                    break
                call = each.value if isinstance(each, ast.Expr) else None
                if isinstance(call, ast.Call) and waits(last_name(call.func) or ""):
                    return target, tensor
    return None
