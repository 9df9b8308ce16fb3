"""Transfer functions of calls: from the value of a callee and its arguments to the result."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import arrays, torch_api
from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS
from tonumpy.engine.knowledge.methods import OF_ARRAYS_ALONE, OF_DICTS_AND_TENSORS, OF_LISTS_AND_TENSORS
from tonumpy.engine.knowledge.symbols import symbol
from tonumpy.engine.names.frameworks import IMPORTING
from tonumpy.engine.values.aliases import unless_it_requires_grad, with_unknown_grad, without_origins
from tonumpy.engine.values.evidence import of_cuts
from tonumpy.engine.values.joins import KEPT_CALLS, join, join_all
from tonumpy.engine.values.origins import kind_begun_anew
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import left_open, stronger, tensor_facts
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    DeviceTaint,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Method,
    ModuleValue,
    NonTensor,
    Nothing,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.inference.transfer import autocast, library_values, python_builtins, records
from tonumpy.inference.transfer.annotations import made_by_typing
from tonumpy.inference.transfer.call_results import (
    device_made,
    fresh,
    imported,
    in_company,
    is_loaded_by_dataset,
    left_by_test,
    left_where_it_was,
    made_by,
)
from tonumpy.inference.transfer.devices import cpu_of_device, device_after_to
from tonumpy.inference.transfer.grad_modes import mode_of_context, mode_of_objects, under_context
from tonumpy.inference.transfer.habit_heuristics import LOADER, asked_for_as, held_by_dataset
from tonumpy.inference.transfer.members import attribute_of, item_of, subscript_of
from tonumpy.inference.transfer.torch_operators import (
    TORCH_WORDS,
    call_tensor_method,
    call_torch_function,
    on_default_device,
)
from tonumpy.inference.transfer.unknown_methods import call_unknown
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame


def call_value(frame: Frame, function: Value, arguments: Arguments) -> Value:
    """The result of calling a value."""
    if isinstance(function, Union):
        return join_all(call_value(frame, member, arguments) for member in function.members if member != NONE)
    if isinstance(function, (Function, BoundMethod, Instance)):
        other = asked_for_as(arguments)
        if other is not None:
            return other
        result = left_where_it_was(frame, arguments, _call_of_repository(frame, function, arguments))
        if not frame.module.use.is_test_on_cpu:
            return result
        return left_by_test(result, frame.habit("program-on-cpu", "the test names no device but the CPU"))
    if isinstance(function, Class):
        own = frame.analysis.own_promises.call_of_repository(frame, function, arguments)
        return _construct(frame, function, arguments) if own is None else own
    if isinstance(function, Symbol):
        made = call_symbol(frame, function.name, arguments)
        return kind_begun_anew(made) if frame.analysis.tells_origins and function.name.startswith("torch.") else made
    if isinstance(function, Method):
        return call_method(frame, function.receiver, function.name, arguments)
    if isinstance(function, LibraryObject) and function.name.rpartition(".")[2] in GRAD_CONTEXTS:
        return under_context(mode_of_objects(function), arguments) or fresh(Reason.CALL, frame, arguments)
    if isinstance(function, LibraryObject) and function.name in KEPT_CALLS:
        return python_builtins.call_kept(frame, function, arguments)
    if isinstance(function, LibraryObject):
        full_name = f"{function.name}.__call__"
        own = frame.analysis.own_promises.call_of_library(frame, full_name, function, arguments)
        if own is not None:
            return own
        result = made_by(frame, function, arguments, library_values.call_object(frame, function, "__call__", arguments))
        result = left_where_it_was(frame, arguments, result)
        if library_values.is_container(function):
            return result  # each of its layers has been cast
        return autocast.of_product(frame, function.name, autocast.without_narrow_dtype(frame, result))
    if isinstance(function, (OtherFramework, NonTensor)):
        return function
    if isinstance(function, Nothing):
        return NOTHING
    if isinstance(function, Unknown):
        result = made_by(frame, function, arguments, fresh(Reason.CALL, frame, arguments))
        return left_open(result, of_cuts(function.evidence))
    if isinstance(function, Tensor) and function.certainty != "tensor":
        return call_value(frame, _as_module(function), arguments)
    return fresh(Reason.CALL, frame, arguments)


def _as_module(value: Tensor) -> LibraryObject:
    """What only its words made a tensor, `load(path).requires_grad_(False)`, and what is used as no tensor can be."""
    return LibraryObject("torch.nn.Module", value.on_cpu, value.requires_grad, dtype=value.dtype)


def _call_of_repository(frame: Frame, function: Function | BoundMethod | Instance, arguments: Arguments) -> Value:
    promised = frame.analysis.own_promises.call_of_repository(frame, function, arguments)
    if promised is not None:
        return promised
    if isinstance(function, Function):
        return frame.analysis.functions.call_function(function, None, arguments, frame.grad_mode)
    if isinstance(function, BoundMethod):
        result = _call_of_method(frame, function, arguments)
        return in_company(frame, arguments, made_by(frame, function.receiver, arguments, result))
    for name in ("__call__", "forward"):
        method = frame.analysis.classes.method(function.cls, name)
        if method is not None:
            result = frame.analysis.functions.call_function(method, function, arguments, frame.grad_mode)
            return autocast.of_module(frame, function, made_by(frame, function, arguments, result))
    return made_by(frame, function, arguments, library_values.call_inherited(frame, function, "__call__", arguments))


def _call_of_method(frame: Frame, method: BoundMethod, arguments: Arguments) -> Value:
    """What an object that was not built in sight gives may be what one of a class gives that extends its own."""
    function, receiver = method
    call = frame.analysis.functions.call_function
    result = call(function, receiver, arguments, frame.grad_mode)
    if not isinstance(receiver, Instance) or not isinstance(function.node, FUNCTIONS):
        return result
    if receiver.arguments is not None or receiver.real is not None:
        return result  # it was built in sight, or `super()` looks at it as one of a base
    for other in frame.analysis.classes.overriding(receiver.cls, function.node.name):
        assert other.owner is not None
        result = join(result, call(other, receiver._replace(cls=other.owner), arguments, frame.grad_mode))
    return result


def _construct(frame: Frame, cls: Class, arguments: Arguments) -> Value:
    root = frame.analysis.kinds.is_foreign(cls)
    if root is not None and frame.analysis.classes.method(cls, "numpy") is None:
        return OtherFramework(root)
    if frame.analysis.kinds.makes_tensors(cls):
        return Tensor()
    declared = frame.analysis.kinds.typed_dict(cls)
    if declared is not None:
        return _typed(frame, declared, python_builtins.call(frame, "dict", arguments))
    known = None if arguments.has_star else without_origins(arguments)
    if not frame.analysis.kinds.is_module(cls):
        return Instance(cls, known)
    device = on_default_device(arguments, frame.default_on_cpu).named_value("device")
    is_obscure = frame.analysis.modules.is_moved_when_built(cls, arguments)
    return Instance(cls, known, None if is_obscure else cpu_of_device(device), None)


def _typed(frame: Frame, declared: Mapping, made: Value) -> Mapping:
    """A dict of a TypedDict: what it was made of, with the kinds that the class says."""
    entries = dict(declared.entries)
    for key, value in made.entries if isinstance(made, Mapping) else ():
        entries[key] = frame.analysis.parameters.combine_annotation(value, entries.get(key, value))
    return Mapping(tuple(entries.items()))


def call_symbol(frame: Frame, name: str, arguments: Arguments) -> Value:
    """A call of a library's function or class."""
    if name == "builtins.__import__":
        return imported(frame, arguments.get(0, "name"), is_root=True)
    if name.startswith("builtins."):
        return python_builtins.call(frame, name[len("builtins.") :], arguments)
    own = frame.analysis.own_promises.call_of_library(frame, name, None, arguments)
    if own is not None:
        return own
    promised = library_values.call_function(frame, name, arguments)
    if promised is not None:
        return held_by_dataset(promised, frame) if is_loaded_by_dataset(frame, promised) else promised
    if name.rpartition(".")[2] in IMPORTING:
        return imported(frame, arguments.get(0, "name"))
    if name == "pytest.param":
        return python_builtins.parameter_set(arguments)
    if name == "parameterized.param" and not arguments.has_star:
        return LibraryObject(name, arguments=arguments)
    if name == "torch.device":
        return device_made(arguments.get(0, "type"))
    if name == "torch.is_grad_enabled" and frame.grad_mode is not None:
        return Constant(frame.grad_mode)
    if name == "torch.is_inference_mode_enabled" and frame.grad_mode:
        return Constant(False)  # where it is, grad mode is off
    if name.startswith("torch."):
        if name.startswith("torch.Tensor.") and arguments.positional:
            rest = arguments._replace(positional=arguments.positional[1:])
            return call_method(frame, arguments.positional[0], name.rpartition(".")[2], rest)
        result = call_torch_function(name, arguments, frame.grad_mode, frame.default_on_cpu, frame.evidence_of_default)
        if result is not None:
            return autocast.of_product(frame, name, autocast.without_narrow_dtype(frame, result))
    annotation = made_by_typing(name, arguments)
    if annotation is not None:
        return annotation
    short = name.rpartition(".")[2]
    if name.startswith("torch.") and short in GRAD_CONTEXTS:
        wrapped = under_context(mode_of_context(short, None), arguments)
        return wrapped or LibraryObject(name, arguments=None if arguments.has_star else arguments)
    if name in KEPT_CALLS:
        return LibraryObject(name, arguments=None if arguments.has_star else arguments)
    if name == "dataclasses.asdict" and (made := records.as_dict(arguments.get(0, "obj"))) is not None:
        return made
    if name.startswith("collections."):
        return python_builtins.collection(frame, name[len("collections.") :], arguments)
    if library_values.gives_plain_values(name):
        if not name.startswith("numpy."):
            return NonTensor(name)
        of_number = arrays.gives_number(name[6:], arguments)
        return NonTensor("number" if of_number else name, arrays.made_by_numpy(name[6:], arguments))
    if short[:1].isupper() and not name.startswith("torch.ops."):  # `torch.ops.aten.index.Tensor` is an overload
        return library_values.construct(name, arguments, frame.default_on_cpu)
    return fresh(Reason.CALL, frame, arguments)


# What of a table or column is none any more.
_OUT_OF_TABLES = {"tolist": "list", "to_list": "list", "item": "number", "to_numpy": "numpy.ndarray"}
_CASTS_ITSELF = ("bfloat16", "to", "type", "cpu", "detach", "cuda", "clone")
_WITH_METHODS_IN_SIGHT = (Symbol, Class, ModuleValue, Instance)


def call_method(frame: Frame, receiver: Value, name: str, arguments: Arguments) -> Value:
    """What `receiver.name(...)` gives."""
    result = _call_method(frame, receiver, name, arguments)
    if isinstance(result, Unknown):
        # Whatever it is that has been brought there, or detached.
        if name == "cpu" or (name == "to" and device_after_to(None, arguments) is True):
            return result._replace(on_cpu=True, device_taint=DeviceTaint.NONE)
        if name == "detach":
            return result._replace(requires_grad=False)
    return result


def _call_method(frame: Frame, receiver: Value, name: str, arguments: Arguments) -> Value:
    if name == "__getitem__" and len(arguments.positional) == 1 and not isinstance(receiver, _WITH_METHODS_IN_SIGHT):
        return subscript_of(frame, receiver, arguments.positional[0], is_slice=False)
    if isinstance(receiver, Union):
        return join_all(call_method(frame, member, name, arguments) for member in _members_with_method(receiver, name))
    if isinstance(receiver, Tensor):
        result = call_tensor_method(receiver, name, arguments, frame.grad_mode)
        if result is None and receiver.certainty != "tensor":
            return call_method(frame, _as_module(receiver), name, arguments)
        if result is None:
            return fresh(Reason.METHOD, frame, arguments)
        if isinstance(result, Tensor) and name in TORCH_WORDS - frame.module.frameworks.shared_words:
            result = result._replace(certainty=stronger(result.certainty, "likely"))
        return result if name in _CASTS_ITSELF else autocast.without_narrow_dtype(frame, result)
    if isinstance(receiver, Unknown):
        return call_unknown(frame, receiver, name, arguments)
    if name == "_asdict" and (made := records.as_dict(receiver)) is not None:
        return made
    if isinstance(receiver, Symbol):
        return call_value(frame, symbol(f"{receiver.name}.{name}"), arguments)
    if isinstance(receiver, Class) and name == "apply" and frame.analysis.kinds.is_operator(receiver):
        return _apply_operator(frame, receiver, arguments)
    if isinstance(receiver, (ModuleValue, Class)):
        return call_value(frame, attribute_of(frame, receiver, name), arguments)
    if isinstance(receiver, Instance):
        method = attribute_of(frame, receiver, name)
        own = frame.analysis.own_promises.call_of_method(frame, receiver, name, arguments)
        if own is not None and not isinstance(method, BoundMethod):
            return own
        if isinstance(method, Method):
            return library_values.call_inherited(frame, receiver, name, arguments)
        if isinstance(method, BoundMethod):
            method = method._replace(receiver=frame.analysis.modules.moved_by_itself(method.receiver, name))
        return call_value(frame, method, arguments)
    if isinstance(receiver, (Sequence, Mapping)):
        return python_builtins.call_container_method(frame, receiver, name, arguments)
    if isinstance(receiver, LibraryObject):
        full_name = f"{receiver.name}.{name}"
        own = frame.analysis.own_promises.call_of_library(frame, full_name, receiver, arguments)
        return own or left_where_it_was(frame, arguments, library_values.call_object(frame, receiver, name, arguments))
    if isinstance(receiver, OtherFramework):
        if receiver.root == "keras" and name == "detach":
            return Tensor(None, False, None, "likely")  # of Keras's backends, only torch has such a method
        return receiver
    if isinstance(receiver, Constant):
        return python_builtins.call_constant_method(receiver, name, arguments)
    if isinstance(receiver, NonTensor):
        held = receiver.dimensions
        dimensions = None if held is None else arrays.made_by_method(held, name, arguments)
        if name in _OUT_OF_TABLES and receiver.what.startswith("pandas."):
            return NonTensor(_OUT_OF_TABLES[name])
        if "." in receiver.what:  # what a library's object gives is the library's too: `figure.add_subplot()`
            return receiver if held is None else receiver._replace(dimensions=dimensions)
        if name in TORCH_WORDS:  # a key, most often, taken for a text or number: they have no such method
            return call_unknown(frame, Unknown(Reason.CONTENT), name, arguments)
        return NonTensor(f"result of {name}", dimensions)
    if isinstance(receiver, Nothing):
        return NOTHING
    if name in ("__next__", "next"):
        return item_of(frame, receiver)
    return fresh(Reason.of_method(name), frame, arguments)


def _apply_operator(frame: Frame, operator: Class, arguments: Arguments) -> Value:
    """An operator of one's own is run without grad; what it gives requires grad if a tensor does that it is given.

    https://docs.pytorch.org/docs/stable/notes/extending.html#extending-torch-autograd
    """
    classes = frame.analysis.classes
    forward = classes.method(operator, "forward")
    if forward is None:
        return fresh(Reason.METHOD, frame, arguments)
    has_context = classes.method(operator, "setup_context") is None
    positional = (Unknown(Reason.SYNTAX), *arguments.positional) if has_context else arguments.positional
    made = frame.analysis.functions.call_function(forward, None, arguments._replace(positional=positional), False)
    given = [*arguments.values(), *([arguments.starred] if arguments.has_star else [])]
    are_known = not arguments.hides_names and not any(isinstance(each, Nothing) for each in given)
    if frame.grad_mode is False or (are_known and all(tensor_facts(each)[1] is False for each in given)):
        return unless_it_requires_grad(made)
    return with_unknown_grad(made)


def _members_with_method(receiver: Union, method: str) -> list[Value]:
    """The members of a union that have the method: None has none, and a list, dict, text or number has not what tensors
    have.

    A tensor has not what arrays alone have. Nor has torch's DataLoader any to be called, so that beside an object of
    the repository's own it is not the one.
    """
    given = [member for member in receiver.members if member != NONE]
    if any(isinstance(member, Instance) for member in given):
        given = [each for each in given if not (isinstance(each, LibraryObject) and each.name == LOADER)]
    if method in OF_ARRAYS_ALONE:
        return [each for each in given if not isinstance(each, Tensor)] or given
    if method not in TORCH_WORDS and torch_api.tensor_method(method) is None:
        return given
    without: tuple[type, ...] = tuple(kind for kind, methods in _SHARED_WITH_TENSORS.items() if method not in methods)
    if method in TORCH_WORDS:
        without += (NonTensor,)
    return [member for member in given if not isinstance(member, without)] or given


_SHARED_WITH_TENSORS: dict[type, tuple[str, ...]] = {Sequence: OF_LISTS_AND_TENSORS, Mapping: OF_DICTS_AND_TENSORS}
