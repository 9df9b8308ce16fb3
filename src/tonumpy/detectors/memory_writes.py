"""Tells what a call writes, by the name of its function: NumPy's, torch's, and an optimizer's step."""

from __future__ import annotations

import ast
import re

from tonumpy.engine.knowledge import torch_api
from tonumpy.text.names import last_name, path_of

_OF_NUMPY = frozenset("copyto put place putmask put_along_axis fill_diagonal".split())  # write their first argument
METHODS_OF_ARRAYS = frozenset("sort fill put partition setfield byteswap".split())
_OPTIMIZER = r"(?i)(^|[._])opt(im|imizer)?s?(_|$|\d)|optim"


def written_arguments(call: ast.Call) -> list[int]:
    """Return the numbers of the arguments, those by name after the others, that the function writes."""
    outputs = [number for number, keyword in enumerate(call.keywords, len(call.args)) if keyword.arg == "out"]
    return [0, *outputs] if call.args and _writes_first(call) else outputs


def _writes_first(call: ast.Call) -> bool:
    name, owner = last_name(call.func) or "", (path_of(call.func) or "").rpartition(".")[0]
    if name == "shuffle":  # of random, numpy.random and generators
        return True
    if owner in ("np", "numpy"):
        return name in _OF_NUMPY or (name == "nan_to_num" and _copies_not(call))
    if name == "at":  # np.add.at(array, indices, values)
        return owner.partition(".")[0] in ("np", "numpy")
    return owner.endswith("init") and name.endswith("_")  # nn.init.zeros_(weight)


def _copies_not(call: ast.Call) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == "copy"] or call.args[1:2]
    return any(isinstance(node, ast.Constant) and node.value is False for node in given)


def writes_itself(method: str) -> bool:
    """True for a method of tensors that writes its tensor: `zero_`."""
    if not method.endswith("_") or method.endswith("__") or method in ("requires_grad_", "detach_"):
        return False
    operator = torch_api.tensor_method(method)
    return operator is not None and "self" in operator.writes


def steps_optimizer(call: ast.Call) -> bool:
    """True for `optimizer.step()` and `scaler.step(optimizer)`, which write the parameters of a model."""
    if last_name(call.func) != "step" or not isinstance(call.func, ast.Attribute):
        return False
    return re.search(_OPTIMIZER, path_of(call.func.value) or "") is not None or has_optimizer(call)


def has_optimizer(call: ast.Call) -> bool:
    """True if a call is given an optimizer."""
    return any(re.search(_OPTIMIZER, path_of(each) or "") for each in call.args)
