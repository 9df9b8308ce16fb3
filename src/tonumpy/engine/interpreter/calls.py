"""Evaluates calls and operators by their callee and arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from tonumpy.engine.interpreter import containers, library, representation
from tonumpy.engine.interpreter.devices import cpu_of_device, device_after_to, device_made, may_move_modules
from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.members import attribute_of, subscript_of
from tonumpy.engine.interpreter.torch_calls import TORCH_WORDS, tensor_method, torch_function
from tonumpy.engine.interpreter.unknown_methods import call_constant, call_plain, call_unknown
from tonumpy.engine.knowledge import arrays, torch_api
from tonumpy.engine.knowledge.grad_contexts import GRAD_CONTEXTS
from tonumpy.engine.knowledge.libraries.rows import gives_plain_values
from tonumpy.engine.knowledge.methods import (
    OF_ARRAYS_ALONE,
    OF_DICTS_AND_TENSORS,
    OF_LISTS_AND_TENSORS,
)
from tonumpy.engine.knowledge.operands import combine, result_facts
from tonumpy.engine.knowledge.symbols import symbol
from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.frameworks import IMPORTING
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import KEPT_CALLS, join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import (
    have_param_taint,
    max_device_taint,
    members,
    stronger,
    tensor_facts,
)

_OPERATORS = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "truediv", ast.MatMult: "matmul"}


def call_value(frame: Frame, function: v.Value, arguments: v.Arguments) -> v.Value:
    """The result of calling a value."""
    if isinstance(function, (v.Function, v.BoundMethod, v.Instance, v.Class)):
        own = frame.analysis.own_promises.call_of_repository(frame, function, arguments)
        if own is not None:
            return own
    caller = _CALLED.get(type(function))
    return frame.fresh(Reason.CALL) if caller is None else caller(frame, function, arguments)


def _call_union(frame: Frame, function: v.Union, arguments: v.Arguments) -> v.Value:
    return join_all(call_value(frame, each, arguments) for each in function.members if each != v.NONE)


def _call_instance(frame: Frame, function: v.Instance, arguments: v.Arguments) -> v.Value:
    classes = frame.analysis.classes
    method = classes.method(function.cls, "__call__") or classes.method(function.cls, "forward")
    if method is None:
        bases = classes.library_bases(function.cls)
        made = library.call_inherited(frame, function, bases, "__call__", arguments)
    else:
        made = frame.analysis.enter(frame, method, function, arguments)
    return _made_by(function, arguments, made)


def _call_library_object(frame: Frame, function: v.LibraryObject, arguments: v.Arguments) -> v.Value:
    if function.name in KEPT_CALLS:
        return _call_kept(frame, function, arguments)
    return _made_by(function, arguments, library.call_object(frame, function, "__call__", arguments))


def _call_tensor(frame: Frame, function: v.Tensor, arguments: v.Arguments) -> v.Value:
    """The result of calling a presumed tensor: since it is called, it is a module."""
    if function.certainty == "tensor":
        return frame.fresh(Reason.CALL)
    module = v.LibraryObject("torch.nn.Module", function.on_cpu, function.requires_grad, dtype=function.dtype)
    return call_value(frame, module._replace(device_taint=function.device_taint), arguments)


def _made_by(module: v.Instance | v.LibraryObject, arguments: v.Arguments, result: v.Value) -> v.Value:
    """The result of a module, placed on the CPU if the module and all arguments are there."""
    if not module.on_cpu or arguments.has_star or tensor_facts(result)[0] is not None:
        return result
    if max_device_taint(members(result)) or not result_facts(arguments.values(), None, mixes=True)[0]:
        return result
    parts = (
        each._replace(on_cpu=True) if isinstance(each, (v.Tensor, v.Unknown)) else each for each in members(result)
    )
    return join_all(parts)


def _construct(frame: Frame, cls: v.Class, arguments: v.Arguments) -> v.Value:
    classes = frame.analysis.classes
    root = classes.foreign_root(cls)
    if root is not None and classes.method(cls, "numpy") is None:
        return v.OtherFramework(root)
    if classes.makes_tensors(cls):
        return v.Tensor()
    known = None if arguments.has_star or _is_deep(arguments, 2) else arguments
    if not classes.is_module(cls):
        return v.Instance(cls, known)
    device = arguments.named_value("device")
    is_moved = classes.moves_itself(cls) or may_move_modules(frame)
    cpu = None if is_moved else True if device is None else cpu_of_device(device)
    return v.Instance(cls, known, cpu)


def _is_deep(arguments: v.Arguments, levels: int) -> bool:
    """True if the arguments are objects built from objects, deeper than `levels`; deeper ones are not kept."""
    objects = (each for each in arguments.values() if isinstance(each, (v.Instance, v.LibraryObject)))
    return any(each.arguments is not None and (levels == 0 or _is_deep(each.arguments, levels - 1)) for each in objects)


def call_symbol(frame: Frame, name: str, arguments: v.Arguments) -> v.Value:
    """The result of calling a library's function or class."""
    if name.startswith("builtins."):
        return containers.call_builtin(frame, name[9:], arguments)
    own = frame.analysis.own_promises.call_of_library(frame, name, None, arguments)
    promised = library.call_function(frame, name, arguments) if own is None else own
    if promised is not None:
        return promised
    root, _, rest = name.partition(".")
    short = name.rpartition(".")[2]
    if short in IMPORTING and isinstance(given := arguments.get(0, "name"), v.Constant):
        return frame.analysis.names.import_value(frame.module, Import(str(given.value), 0, None))
    if root == "torch" and rest and (made := _call_torch(frame, name, short, arguments)) is not None:
        return made
    if root in ("typing", "typing_extensions") and (made := _call_typing(frame, name, arguments)) is not None:
        return made
    if name in KEPT_CALLS:
        return v.LibraryObject(name, arguments=None if arguments.has_star else arguments)
    if root == "collections":
        return containers.call_collection(frame, rest, arguments)
    if gives_plain_values(name):
        return _made_by_plain_library(name, arguments)
    is_class = short[:1].isupper() and not name.startswith("torch.ops.")
    return library.construct(frame, name, arguments) if is_class else frame.fresh(Reason.CALL)


def _call_typing(frame: Frame, name: str, arguments: v.Arguments) -> v.Value | None:
    if name.endswith((".TypeVar", ".NewType")):
        bound = arguments.named_value("bound")
        classes = arguments.positional[1:] if bound is None else (bound,)
        return v.Annotation(join_all(map(frame.analysis.parameters.value_of_class, classes)))
    return arguments.positional[1] if name == "typing.cast" and len(arguments.positional) == 2 else None


def _call_torch(frame: Frame, name: str, short: str, arguments: v.Arguments) -> v.Value | None:
    if name == "torch.device":
        return device_made(arguments.get(0, "type"))
    if name == "torch.is_grad_enabled" and frame.mode is not None:
        return v.Constant(frame.mode)
    if name.startswith("torch.Tensor.") and arguments.positional:
        rest = arguments._replace(positional=arguments.positional[1:])
        return call_method(frame, arguments.positional[0], short, rest, None)
    result = torch_function(name, arguments, frame.mode)
    if result is None and short in GRAD_CONTEXTS:
        return v.LibraryObject(name, arguments=None if arguments.has_star else arguments)
    return result


def _made_by_plain_library(name: str, arguments: v.Arguments) -> v.NonTensor:
    if not name.startswith("numpy."):
        return v.NonTensor(name)
    of_number = arrays.gives_number(name[6:], arguments)
    return v.NonTensor("number" if of_number else name, arrays.made_by_numpy(name[6:], arguments))


def _call_kept(frame: Frame, made: v.LibraryObject, arguments: v.Arguments) -> v.Value:
    """The result of calling a `partial(f, x)` or a `namedtuple("Point", "x y")`."""
    if made.arguments is None or not made.arguments.positional:
        return v.Unknown(Reason.CALL)
    first, *rest = made.arguments.positional
    if made.name == "functools.partial":
        named = dict((*made.arguments.named, *arguments.named))
        return frame.call(first, arguments._replace(positional=(*rest, *arguments.positional), named=(*named.items(),)))
    fields = rest[0] if rest else made.arguments.named_value("field_names")
    names: list[str] = []
    if isinstance(fields, v.Constant):
        names = str(fields.value).replace(",", " ").split()
    elif isinstance(fields, v.Sequence):
        names = [str(each.value) for each in fields.items or () if isinstance(each, v.Constant)]
    items = tuple(arguments.get(place, name) or v.Unknown(Reason.CONTENT) for place, name in enumerate(names))
    return v.Sequence(items, join_all(items), tuple(names)) if names else v.Unknown(Reason.CONTENT)


def narrowed_by_method(frame: Frame, receiver: v.Union, name: str) -> v.Value:
    """The members of a union that have the method; None, lists and strings lack those of tensors."""
    given = [each for each in receiver.members if each != v.NONE]
    lacks, without = frame.analysis.classes.lacks, _without_method(name)
    given = [each for each in given if not (isinstance(each, v.Instance) and lacks(each.cls, name))] or given
    return join_all([each for each in given if not isinstance(each, without)] or given)


def _without_method(name: str) -> tuple[type, ...]:
    """The types of values that surely have no method of a name."""
    if name in OF_ARRAYS_ALONE:
        return (v.Tensor,)
    if name not in TORCH_WORDS and torch_api.tensor_method(name) is None:
        return ()
    return (
        *(() if name in OF_LISTS_AND_TENSORS else (v.Sequence,)),
        *(() if name in OF_DICTS_AND_TENSORS else (v.Mapping,)),
        *((v.NonTensor, v.Constant) if name in TORCH_WORDS else ()),
    )


def call_method(frame: Frame, receiver: v.Value, name: str, arguments: v.Arguments, node: ast.Call | None) -> v.Value:
    """The result of `receiver.name(...)`."""
    result = _call_method(frame, receiver, name, arguments, node)
    if isinstance(result, v.Unknown):
        if name == "cpu" or (name == "to" and device_after_to(None, arguments) is True):
            return result._replace(on_cpu=True, device_taint=v.DeviceTaint.NONE)
        if name == "detach":
            return result._replace(requires_grad=False, param_taint=False)
    return result


def _call_method(frame: Frame, receiver: v.Value, name: str, arguments: v.Arguments, node: ast.Call | None) -> v.Value:
    if isinstance(receiver, v.Union):
        return join_all(call_method(frame, each, name, arguments, node) for each in receiver.members)
    if name == "__getitem__" and len(arguments.positional) == 1 and not isinstance(receiver, (v.Instance, v.Class)):
        return subscript_of(frame, receiver, arguments.positional[0], is_slice=False)
    if isinstance(receiver, (v.ModuleValue, v.Class, v.Instance)):
        return _call_member(frame, receiver, name, arguments, node)
    caller = _METHODS.get(type(receiver))
    if caller is not None:
        return caller(frame, receiver, name, arguments)
    return frame.fresh(Reason.METHOD if isinstance(receiver, (v.Function, v.BoundMethod)) else Reason.of_method(name))


def _call_method_of_tensor(frame: Frame, receiver: v.Tensor, name: str, arguments: v.Arguments) -> v.Value:
    result = tensor_method(receiver, name, arguments, frame.mode)
    if result is None and receiver.certainty != "tensor":
        module = v.LibraryObject("torch.nn.Module", receiver.on_cpu, receiver.requires_grad, dtype=receiver.dtype)
        return library.call_object(frame, module, name, arguments)
    if result is None:
        return frame.fresh(Reason.METHOD)
    if isinstance(result, v.Tensor) and name in TORCH_WORDS - frame.module.frameworks.shared_words:
        return result._replace(certainty=stronger(result.certainty, "likely"))
    return result


def _call_member(
    frame: Frame,
    receiver: v.ModuleValue | v.Class | v.Instance,
    name: str,
    arguments: v.Arguments,
    node: ast.Call | None,
) -> v.Value:
    """The result of a module's function or a repository class's method; notes the functions that the call may enter."""
    classes = frame.analysis.classes
    if isinstance(receiver, v.Class) and name == "apply" and classes.is_operator(receiver):
        return _apply_operator(frame, receiver, arguments)
    if isinstance(receiver, v.Instance):
        called = classes.attribute_known(frame, receiver, name)
        if called is None:
            own = frame.analysis.own_promises.call_of_method(frame, receiver, name, arguments)
            if own is not None:
                return own
            return library.call_inherited(frame, receiver, classes.library_bases(receiver.cls), name, arguments)
    else:
        called = attribute_of(frame, receiver, name)
    if frame.seen is not None and node is not None:
        note_callees(frame, node, called)
    return call_value(frame, called, arguments)


def _call_method_of_framework(_: Frame, receiver: v.OtherFramework, name: str, __: v.Arguments) -> v.Value:
    return v.Tensor(None, False, None, "likely") if receiver.root == "keras" and name == "detach" else receiver


def _call_symbol_method(frame: Frame, receiver: v.Symbol, name: str, arguments: v.Arguments) -> v.Value:
    return call_value(frame, symbol(f"{receiver.name}.{name}"), arguments)


def _apply_operator(frame: Frame, operator: v.Class, arguments: v.Arguments) -> v.Value:
    """The result of `apply` of a custom autograd.Function: it may require grad if an argument does."""
    forward = frame.analysis.classes.method(operator, "forward")
    if forward is None:
        return frame.fresh(Reason.METHOD)
    context = () if frame.analysis.classes.method(operator, "setup_context") else (v.Unknown(Reason.SYNTAX),)
    made = frame.analysis.enter(
        frame, forward, None, arguments._replace(positional=(*context, *arguments.positional)), mode=False
    )
    has_none = frame.mode is False or all(tensor_facts(each)[1] is False for each in arguments.values())
    parts = [
        each._replace(requires_grad=False if has_none else None, param_taint=have_param_taint(arguments.values()))
        if isinstance(each, (v.Tensor, v.Unknown))
        else each
        for each in members(made)
    ]
    return join_all(parts)


def operator_value(frame: Frame, operator: ast.operator, left: v.Value, right: v.Value) -> v.Value:
    """The result of a binary operator; by its own method if the left operand's class in the repository has one."""
    name = _OPERATORS.get(type(operator))
    if name is not None and isinstance(left, v.Instance):
        method = frame.analysis.classes.method(left.cls, f"__{name}__")
        if method is not None:
            return frame.analysis.enter(frame, method, left, v.Arguments((right,)))
    made = combine((left, right), frame.mode)
    if isinstance(made, v.Tensor):
        made = representation.of_operator(operator, (left, right), made)
    return without_grad(made) if isinstance(operator, (ast.BitAnd, ast.BitOr, ast.BitXor)) else made


def without_grad(made: v.Value) -> v.Value:
    """The result of a bitwise operator, without grad: torch has these for integers alone. An Unknown stays Unknown, as
    dicts have `|` too."""
    parts = (
        each._replace(requires_grad=False, param_taint=False)
        if isinstance(each, (v.Tensor, v.Unknown)) and each.requires_grad is None
        else each
        for each in members(made)
    )
    return join_all(parts)


def note_callees(frame: Frame, node: ast.Call, called: v.Value) -> None:
    """Note the functions of the repository that a call may enter, so that their callers can be found."""
    for each in members(called):
        function: v.Value | None = each.function if isinstance(each, v.BoundMethod) else each
        if isinstance(function, v.Class):
            function = frame.analysis.classes.method(function, "__init__")
        elif isinstance(function, v.Instance):
            function = frame.analysis.classes.method(function.cls, "forward")
        if isinstance(function, v.Function) and frame.seen is not None:
            frame.seen.callees.setdefault(id(node), set()).add(id(function.node))


_CALLED: dict[type, Callable[[Frame, Any, v.Arguments], v.Value]] = {
    v.Union: _call_union,
    v.Function: lambda frame, function, arguments: frame.analysis.enter(frame, function, None, arguments),
    v.BoundMethod: lambda frame, bound, arguments: frame.analysis.enter(
        frame, bound.function, bound.receiver, arguments
    ),
    v.Class: _construct,
    v.Symbol: lambda frame, function, arguments: call_symbol(frame, function.name, arguments),
    v.Instance: _call_instance,
    v.LibraryObject: _call_library_object,
    v.OtherFramework: lambda _, function, __: function,
    v.NonTensor: lambda _, function, __: function,
    v.Nothing: lambda _, function, __: function,
    v.Tensor: _call_tensor,
}
_METHODS: dict[type, Callable[[Frame, Any, str, v.Arguments], v.Value]] = {
    v.Tensor: _call_method_of_tensor,
    v.Unknown: call_unknown,
    v.Symbol: _call_symbol_method,
    v.Sequence: containers.call_method,
    v.Mapping: containers.call_method,
    v.LibraryObject: library.call_object,
    v.OtherFramework: _call_method_of_framework,
    v.Constant: call_constant,
    v.NonTensor: call_plain,
    v.Nothing: lambda _, receiver, *__: receiver,
}
