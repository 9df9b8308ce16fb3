"""Evaluates methods of values that are no tensor, or of unknown kind."""

from __future__ import annotations

from tonumpy.engine.interpreter import habit_values
from tonumpy.engine.interpreter.devices import device_after_to
from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.members import subscript_of
from tonumpy.engine.interpreter.torch_calls import TORCH_WORDS, tensor_method
from tonumpy.engine.knowledge import arrays, torch_api
from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.knowledge.methods import (
    GIVE_NO_TENSOR,
    METHODS_OF_TEXT,
    OF_CONTAINERS,
)
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import only
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    dtype_of,
)

_OUT_OF_CONTAINER = {
    "get": Reason.TAKEN_OUT,
    "pop": Reason.TAKEN_OUT,
    "popitem": Reason.TAKEN_OUT,
    "items": Reason.ITEM,
}
_OUT_OF_TABLES = {"tolist": "list", "to_list": "list", "item": "number", "to_numpy": "numpy.ndarray"}
_OTHER_TENSORS: dict[object, v.Value] = {
    "np": v.NonTensor("numpy.ndarray"),
    "tf": v.OtherFramework("tensorflow"),
    "jax": v.OtherFramework("jax"),
}


def call_plain(frame: Frame, receiver: v.NonTensor, name: str, arguments: v.Arguments) -> v.Value:
    held = receiver.dimensions
    dimensions = None if held is None else arrays.made_by_method(held, name)
    if name in _OUT_OF_TABLES and receiver.what.startswith("pandas."):
        return v.NonTensor(_OUT_OF_TABLES[name])
    if "." in receiver.what:
        return receiver if held is None else receiver._replace(dimensions=dimensions)
    if name in TORCH_WORDS:  # mostly a key that was taken for a string or number
        return call_unknown(frame, v.Unknown(Reason.CONTENT), name, arguments)
    return v.NonTensor(f"result of {name}", dimensions)


def call_constant(_: Frame, receiver: v.Constant, name: str, arguments: v.Arguments) -> v.Value:
    given = [each.value for each in arguments.positional if isinstance(each, v.Constant)]
    is_known = len(given) == len(arguments.positional) and not arguments.named and not arguments.has_star
    if isinstance(receiver.value, str) and name in METHODS_OF_TEXT and is_known:
        try:
            return v.Constant(getattr(receiver.value, name)(*given))
        except (TypeError, ValueError):
            pass
    return v.NonTensor("str" if isinstance(receiver.value, str) else f"result of {name}")


def call_unknown(frame: Frame, receiver: v.Unknown, name: str, arguments: v.Arguments) -> v.Value:
    """The result of a method of an unknown value. Torch's method names show a tensor if no other framework has them."""
    frameworks = frame.module.frameworks
    if name in GIVE_NO_TENSOR:
        return v.NonTensor(f"result of {name}", 0 if name == "numpy" and frameworks.only_torch_says else None)
    if name in OF_CONTAINERS:
        return _part_of_container(frame, receiver, name, arguments)
    if name == "split" and _splits_text(arguments):
        return v.Sequence(None, v.NonTensor("str"))
    if frameworks.only_torch_says and (made := _of_module(receiver, name, arguments)) is not None:
        return made
    if is_named("collate-function", name):
        return habit_values.believe_data(
            frame, v.Unknown(Reason.LIBRARY), "collate-function", f"`{name}` makes a batch"
        )
    if torch_api.tensor_method(name) is None and name not in ("cpu", "cuda", "to", "detach"):
        return _of_no_tensor(frame, receiver, name)
    return _of_tensor(frame, receiver, name, arguments)


def _of_tensor(frame: Frame, receiver: v.Unknown, name: str, arguments: v.Arguments) -> v.Value:
    """The result of a method that tensors have."""
    if receiver.is_no_tensor:
        return v.Unknown(receiver.reason, is_no_tensor=True)
    frameworks = frame.module.frameworks
    asked = arguments.named_value("return_tensors")
    if isinstance(asked, v.Constant) and asked.value in _OTHER_TENSORS:
        return _OTHER_TENSORS[asked.value]
    result = tensor_method(receiver, name, arguments, frame.mode)
    if not isinstance(result, v.Tensor):
        return frame.fresh(Reason.of_method(name)) if result is None else result
    if frameworks.only_torch_says and _speaks_torch(frame, name, arguments):
        is_of_module = frame.owner is not None and frame.analysis.classes.is_module(frame.owner)
        is_shared = name in frameworks.shared_words and not is_of_module
        return result._replace(certainty="possible" if is_shared else "likely")
    is_obscure = receiver.reason is Reason.DATASET or (name == "to" and device_after_to(True, arguments) is not True)
    reason = Reason.of_method(name) if is_obscure else receiver.reason
    made = v.Unknown(reason, result.on_cpu, result.requires_grad, evidence=result.evidence)
    return made._replace(device_taint=result.device_taint, param_taint=result.param_taint)


def _splits_text(arguments: v.Arguments) -> bool:
    """True for `line.split(",")`, and not for `x.split(2)`."""
    given = arguments.get(0, "sep")
    is_of_text = given is None or (isinstance(given, v.Constant) and not isinstance(given.value, int))
    return is_of_text and arguments.named_value("split_size") is None


def _of_module(receiver: v.Unknown, name: str, arguments: v.Arguments) -> v.Value | None:
    """The result of a method that only modules of torch have; None for any other."""
    if name in ("eval", "train") and not arguments.values():
        evidence = only(receiver.evidence, "device")
        return v.LibraryObject(
            "torch.nn.Module", receiver.on_cpu, evidence=evidence, device_taint=receiver.device_taint
        )
    if name == "state_dict":
        return v.Mapping((), v.Tensor(receiver.on_cpu, False, device_taint=receiver.device_taint))
    return None


def _of_no_tensor(frame: Frame, receiver: v.Unknown, name: str) -> v.Value:
    """The result of a method that no tensor has."""
    made = frame.fresh(Reason.METHOD)
    if receiver.reason is Reason.DATASET:
        made = made._replace(requires_grad=False)
    return made._replace(
        param_taint=receiver.param_taint and frame.mode is not False and name in ("forward", "__call__")
    )


def _speaks_torch(frame: Frame, name: str, arguments: v.Arguments) -> bool:
    """True if only torch tensors have this method with such arguments."""
    frameworks = frame.module.frameworks
    if name == "cpu" and not frameworks.speaks_of_torch:
        return False
    if name in ("cpu", "cuda", "detach") and frameworks.hands_out_wrappers:
        return False
    if name in TORCH_WORDS or arguments.named_value("dim"):
        return True
    if name in ("sort", "argsort"):
        return bool(arguments.named_value("descending"))
    given_first = (*arguments.positional[:2], arguments.named_value("dtype"))
    return name in ("to", "type") and any(dtype_of(each) is not None for each in given_first)


def _part_of_container(frame: Frame, receiver: v.Unknown, name: str, arguments: v.Arguments) -> v.Value:
    inner = receiver._replace(reason=_OUT_OF_CONTAINER.get(name, Reason.CONTENT), is_no_tensor=name == "copy")
    if receiver.reason is Reason.SAVED and name != "copy":
        inner = receiver._replace(requires_grad=False)
    if name == "items":
        return v.Sequence(None, v.Sequence((v.NonTensor("key"), inner), inner))
    if name in ("get", "pop") and arguments.positional:
        default = arguments.positional[1] if len(arguments.positional) > 1 else None
        if isinstance(default, v.Constant) and isinstance(default.value, (int, float)) and default.value:
            return v.NonTensor("number")
        return subscript_of(frame, receiver._replace(reason=inner.reason), arguments.positional[0], is_slice=False)
    return v.Sequence(None, inner) if name == "values" else inner
