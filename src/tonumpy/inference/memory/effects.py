"""From a call of a repository function to its effects: which arguments it writes, binds and keeps, and what it returns.

Each function is run over once, by walk.py, with its parameters as names of memory; the effects on these are translated
to the arguments here.
"""

from __future__ import annotations

import ast
import re

from tonumpy.inference.index.bindings import given_to, parameter_names, path_of
from tonumpy.inference.knowledge import torch_api
from tonumpy.inference.knowledge.grad_contexts import GRAD_DECORATORS
from tonumpy.inference.memory.regions import Names, Place, Reference, References, further
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.names import last_name
from tonumpy.text.syntax import SCOPES

if TYPE_CHECKING:
    from typing import Literal

    EffectOnModels = Literal["parameters", "grads", "no grads"]
    from collections.abc import Iterator, Mapping, Sequence

    from tonumpy.inference.memory.regions import Side

_DECORATORS = frozenset(("staticmethod", "classmethod", *GRAD_DECORATORS))  # others may do anything


class Effects(NamedTuple):
    """The effects of one call. `bound` are attributes of its arguments that get a new value, `kept` those to which one
    is added.

    `on_models` may concern what it is given, and what it knows by these `names`.
    """

    returned: References
    written: References
    bound: Names
    kept: Names
    on_models: frozenset[EffectOnModels]
    names: frozenset[str]

    @property
    def hands_on_arrays(self) -> bool:
        """Whether the caller gets to see what a conversion gives."""
        seen = self.returned.union(*self.bound.values(), *self.kept.values())
        return any(each.conversion is not None for each in seen)


class Callee(NamedTuple):
    """A function of the module, and the class whose method it is."""

    node: ast.FunctionDef
    owner: ast.ClassDef | None


class Given(NamedTuple):
    """What a parameter is given; `place` is where that stands, if it is a name or an attribute.

    `sides`: of its references, whether they are to an array or a tensor, where that is known.
    """

    references: References
    place: Place | None
    sides: Mapping[Reference, Side | None] | None = None


def callee_of(call: ast.Call, functions: Mapping[str, ast.FunctionDef], owner: ast.ClassDef | None) -> Callee | None:
    """`helper(x)` and `self.helper(x)`, where it is sure what is called."""
    function, found = call.func, None
    if isinstance(function, ast.Name):
        owner, found = None, functions.get(function.id)
    elif isinstance(function, ast.Attribute) and owner is not None and path_of(function.value) in ("self", "cls"):
        found = functions_in(owner.body).get(function.attr)
    return None if found is None or not is_called_as_it_is(found) else Callee(found, owner)


def is_called_as_it_is(function: ast.FunctionDef) -> bool:
    """Whether a call of its name runs its body, whatever decorates it."""
    return all(_name_of(decorator) in _DECORATORS for decorator in function.decorator_list)


def functions_in(body: Sequence[ast.stmt]) -> dict[str, ast.FunctionDef]:
    """Those whose names nothing else in the body has."""
    definitions = [each for each in body if isinstance(each, SCOPES)]
    names = [each.name for each in definitions]
    return {
        each.name: each for each in definitions if isinstance(each, ast.FunctionDef) and names.count(each.name) == 1
    }


def _name_of(decorator: ast.expr) -> str | None:
    return last_name(decorator.func if isinstance(decorator, ast.Call) else decorator)


def given_by(callee: Callee, call: ast.Call, values: Sequence[Given]) -> dict[str, Given]:
    """What each parameter is given; `values` are those of the receiver of a method and of the arguments."""
    parameters = parameter_names(callee.node.args)
    is_static = any(_name_of(decorator) == "staticmethod" for decorator in callee.node.decorator_list)
    if callee.owner is not None and is_static:
        values = values[1:]
    return given_to(parameters, call, values)


def as_given(reference: Reference, given: Mapping[str, Given], call: ast.Call) -> Iterator[Reference]:
    """What a reference of the function's is in terms of what it is given; nothing for memory of its own."""
    known = given.get(str(reference.memory[0]))
    for each in known.references if known else ():
        memory = further(each.memory, reference.memory[1:])
        if reference.conversion is None:
            yield each._replace(memory=memory, written=None)
        elif reference.side is not None:
            converted = each._replace(memory=memory).converted(reference.conversion, reference.side, call)
            if converted is not None:
                yield converted


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
