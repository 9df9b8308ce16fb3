"""From a call to what it writes: functions and methods by their names, optimizers, and the functions of the module.

Each function of the module is run over once, by walk.py, with its parameters as names of memory.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.grad_contexts import GRAD_DECORATORS
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import SCOPES

if TYPE_CHECKING:
    from typing import Literal

    from tonumpy.inference.memory.regions import Names, References

    EffectOnModels = Literal["parameters", "grads", "no grads"]
    from collections.abc import Sequence

_DECORATORS = frozenset(("staticmethod", "classmethod", *GRAD_DECORATORS))  # others may do anything


class Effects(NamedTuple):
    """The effects of one call, in terms of its parameters: what it gives back and writes, and what their attributes
    hold then, of which those `rebound` hold nothing else. `converted` is what it writes through a conversion of its
    own, of which its caller knows nothing; of a function that gives nothing back, that is what it is there for.

    `on_models` may concern what it is given, and what it knows by these `names`.
    """

    returned: References
    written: References
    converted: References
    held: Names
    rebound: frozenset[tuple[str, ...]]
    on_models: frozenset[EffectOnModels]
    names: frozenset[str]

    @property
    def hands_on_arrays(self) -> bool:
        """Whether the caller gets to see what a conversion gives, or what is written through it."""
        return any(each.conversion is not None for each in self.returned.union(self.converted, *self.held.values()))


class Callee(NamedTuple):
    """A function of the module, and the class whose method it is."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None

    @property
    def takes_object(self) -> bool:
        return self.owner is not None and "staticmethod" not in map(decorator_name, self.node.decorator_list)


def is_called_as_it_is(function: ast.FunctionDef) -> bool:
    """Whether a call of its name runs its body, whatever decorates it."""
    return all(decorator_name(decorator) in _DECORATORS for decorator in function.decorator_list)


def named_once(body: Sequence[ast.stmt]) -> dict[str, ast.stmt]:
    """The functions and classes whose names nothing else in the body has."""
    definitions = [each for each in body if isinstance(each, SCOPES)]
    times = Counter(each.name for each in definitions)
    return {each.name: each for each in definitions if times[each.name] == 1}


def decorator_name(decorator: ast.expr) -> str | None:
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)


# NumPy's functions that write their first argument, and methods of arrays.
_OF_NUMPY = frozenset("copyto put place putmask put_along_axis fill_diagonal".split())
METHODS_OF_ARRAYS = frozenset("sort fill put partition setfield byteswap".split())

# Functions of torch.distributed that write their first argument, which the documentation calls the output.
_COLLECTIVES = frozenset(
    "all_reduce broadcast reduce scatter recv irecv all_gather all_gather_into_tensor all_gather_single reduce_scatter"
    " reduce_scatter_tensor reduce_scatter_single all_to_all all_to_all_single".split()
)
_DISTRIBUTED = r"(^|\.)(dist|distributed)$"

_OPTIMIZER = r"(?i)(^|[._])opt(im|imizer)?s?(_|$|\d)|optim"
_CLIPPING = frozenset("clip_grad_norm_ clip_grad_value_ clip_grad_norm".split())


def written_arguments(call: ast.Call) -> list[int]:
    """The numbers of the arguments, those by name after the others, that the function writes."""
    outputs = [number for number, keyword in enumerate(call.keywords, len(call.args)) if keyword.arg == "out"]
    return [0, *outputs] if call.args and _writes_first(call) else outputs


def _writes_first(call: ast.Call) -> bool:
    name = last_name(call.func)
    owner = (path_of(call.func) or "").rpartition(".")[0]
    if name == "shuffle":  # of random, numpy.random and generators
        return True
    if owner in ("np", "numpy"):
        return name in _OF_NUMPY or (name == "nan_to_num" and _is_given(call, "copy", 1, False))
    if name == "at":  # np.add.at(array, indices, values)
        return owner.partition(".")[0] in ("np", "numpy")
    if name in _COLLECTIVES:
        return re.search(_DISTRIBUTED, owner) is not None
    return owner.endswith("init") and (name or "").endswith("_")  # nn.init.zeros_(weight)


def writes_itself(method: str) -> bool:
    """Whether a method of tensors writes its tensor: `zero_`."""
    if not method.endswith("_") or method.endswith("__"):
        return False
    operator = torch_api.tensor_method(method)
    return operator is not None and "self" in operator.writes and method not in ("requires_grad_", "detach_")


def effect_on_models(call: ast.Call) -> EffectOnModels | None:
    """What a call does that does not name the tensors: "parameters" or "grads" are written, or grads are dropped."""
    name = last_name(call.func)
    if name == "step" and isinstance(call.func, ast.Attribute):
        is_optimizer = re.search(_OPTIMIZER, path_of(call.func.value) or "")
        return "parameters" if is_optimizer or has_optimizer(call) else None  # `scaler.step(optimizer)`
    if name == "zero_grad":
        return "grads" if _is_given(call, "set_to_none", 0, False) else "no grads"
    if name == "unscale_" or clips(call):
        return "grads"
    return "no grads" if name == "backward" else None  # it makes new ones, or adds to those that are there


def has_optimizer(call: ast.Call) -> bool:
    """Whether it is given one."""
    return any(re.search(_OPTIMIZER, path_of(each) or "") for each in call.args)


def clips(call: ast.Call) -> bool:
    """Whether it writes the grads of the parameters that it is given."""
    return last_name(call.func) in _CLIPPING


def _is_given(call: ast.Call, name: str, position: int, value: object) -> bool:
    given = [keyword.value for keyword in call.keywords if keyword.arg == name] or call.args[position : position + 1]
    return any(isinstance(node, ast.Constant) and node.value is value for node in given)
