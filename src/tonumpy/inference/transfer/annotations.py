"""From an annotation to the value that it promises."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tonumpy.engine.names.frameworks import foreign_root
from tonumpy.engine.values.joins import join, join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    SOME_CLASS,
    Annotation,
    Arguments,
    Class,
    Device,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.text.names import last_name
from tonumpy.text.recursion import note_cut

_PLAIN = frozenset("int float bool str bytes complex slice range bytearray object_".split())
_SEQUENCES = frozenset(
    "list List tuple Tuple set Set frozenset FrozenSet Sequence MutableSequence Iterable Iterator Collection"
    " Generator deque AsyncIterator AsyncIterable Deque".split()
)
_MAPPINGS = frozenset("dict Dict Mapping MutableMapping OrderedDict defaultdict DefaultDict".split())
_WRAPPERS = frozenset("Annotated Final ClassVar Required NotRequired ReadOnly".split())
# The function that makes one is often written for the class.
_ARRAYS = ("ndarray", "NDArray")  # nobody annotates one without dimensions
_TENSOR_NAMES = frozenset(
    "torch.Tensor torch._tensor.Tensor torch.tensor torch.FloatTensor torch.DoubleTensor torch.HalfTensor"
    " torch.autograd.Variable torchtyping.TensorType".split()
)
_TENSORS_OF_MODULES = frozenset(
    f"torch.nn.{module}{name}"
    for module in ("", "parameter.")
    for name in ("Parameter", "Buffer", "UninitializedParameter", "UninitializedBuffer", "UninitializedTensorMixin")
)
_INTEGER_TENSORS = {
    "torch.LongTensor": "int64",
    "torch.IntTensor": "int32",
    "torch.ShortTensor": "int16",
    "torch.ByteTensor": "uint8",
    "torch.CharTensor": "int8",
    "torch.BoolTensor": "bool",
}
_JAXTYPING_INTEGERS = frozenset("Int Int8 Int16 Int32 Int64 UInt UInt8 Integer Bool Shaped_".split())
_JAXTYPING = frozenset("Float Float32 Float64 Float16 BFloat16 Num Shaped Inexact Complex Real".split())

_MODULES_OF_TYPES = frozenset("typing typing_extensions collections.abc jaxtyping".split())

Resolve = Callable[[ast.expr], Value]


def value_of_annotation(node: ast.expr | None, resolve: Resolve) -> Value:
    """What a parameter, variable or result with this annotation is; Unknown where the annotation does not say.

    `resolve` evaluates the names in it.
    """
    if node is None:
        return Unknown(Reason.ANNOTATION)
    if isinstance(node, ast.Constant):
        if node.value is None:
            return NONE
        if isinstance(node.value, str):
            try:
                return value_of_annotation(ast.parse(node.value.strip(), mode="eval").body, resolve)
            except (RecursionError, MemoryError):
                note_cut()
                return Unknown(Reason.ANNOTATION)
            except (SyntaxError, ValueError):
                return Unknown(Reason.ANNOTATION)
        return Unknown(Reason.ANNOTATION)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return join(value_of_annotation(node.left, resolve), value_of_annotation(node.right, resolve))
    if isinstance(node, ast.Subscript):
        return _subscripted(node, resolve)
    value = value_of_class(resolve(node))
    dtype = _INTEGER_TENSORS.get(f"torch.{last_name(node)}")
    if dtype is not None and isinstance(value, Tensor):
        return Tensor(None, False, dtype)  # `LongTensor = torch.Tensor` in a module of types
    return value


# Of whose classes no object is or holds a tensor.
_PLAIN_ROOTS = (
    *("numpy.", "pandas.", "PIL.", "pathlib.", "scipy.", "builtins.", "matplotlib.", "h5py.", "sklearn.", "netCDF4."),
    *("zarr.", "xarray."),
)


def value_of_class(cls: Value) -> Value:
    """An object of a class, given what the class's name evaluates to."""
    if isinstance(cls, Class):
        return Instance(cls)
    if isinstance(cls, Annotation):
        return cls.promised
    if isinstance(cls, (OtherFramework, Mapping)):  # a dict stands for its TypedDict
        return cls
    if not isinstance(cls, Symbol):
        return Unknown(Reason.ANNOTATION)
    full, short = cls.name, cls.name.rpartition(".")[2]
    if full in _TENSOR_NAMES:
        return Tensor(is_given=True)
    if full in _INTEGER_TENSORS:
        return Tensor(None, False, _INTEGER_TENSORS[full])
    if full in _TENSORS_OF_MODULES:
        return Tensor(None, None)
    if full == "torch.device":
        return Device(None)
    root = foreign_root(full)
    if root:
        return OtherFramework(root)
    if full == "torch.dtype":
        return NonTensor("dtype")
    if full.startswith("numbers."):
        return NonTensor("number")
    if full.startswith(_PLAIN_ROOTS) or full == "torch.Size":
        return _builtin(short) if full.startswith("builtins.") else NonTensor(full, 1 if short in _ARRAYS else None)
    if full.startswith(("typing.", "collections.")):
        return _typing(short)
    if full.startswith(("torch.", "torchvision.")):
        return LibraryObject(full)
    return LibraryObject(full) if "." in full else Unknown(Reason.ANNOTATION)


def makes_annotation(generic: Value) -> bool:
    """Whether what stands in brackets behind a value makes an annotation of it: `Union[...]`, `dict[...]`."""
    if not isinstance(generic, Symbol):
        return False
    module, _, name = generic.name.rpartition(".")
    return module in _MODULES_OF_TYPES or (module == "builtins" and name in _SEQUENCES | _MAPPINGS)


def alternatives(left: Value, right: Value) -> Annotation | None:
    """What `np.ndarray | torch.Tensor` stands for; None where the operands are no classes that are known."""
    found = [value_of_class(each) if each != NONE else NONE for each in (left, right)]
    if any(isinstance(each, (Unknown, LibraryObject)) for each in found) or found == [NONE, NONE]:
        return None
    return Annotation(join_all(found))


def made_by_typing(name: str, arguments: Arguments) -> Annotation | None:
    """What `TypeVar("T", Tensor, ndarray)` and `NewType("Tokens", Tensor)` stand for; None for other functions."""
    module, _, function = name.rpartition(".")
    if module not in _MODULES_OF_TYPES or function not in ("TypeVar", "NewType"):
        return None
    bound = arguments.named_value("bound")
    classes = arguments.positional[1:] if bound is None else (bound,)
    return Annotation(join_all(map(value_of_class, classes)) if classes else Unknown(Reason.ANNOTATION))


def _builtin(name: str) -> Value:
    if name in _SEQUENCES:
        return Sequence(None, Unknown(Reason.ITEM))
    if name in _MAPPINGS:
        return Mapping((), Unknown(Reason.ANNOTATION))
    if name == "type":
        return SOME_CLASS
    return NonTensor(name) if name in _PLAIN else Unknown(Reason.ANNOTATION)


def _typing(name: str) -> Value:
    if name in _SEQUENCES | _MAPPINGS:
        return _builtin(name)
    if name in ("Callable", "Hashable", "Text", "AnyStr", "SupportsInt", "SupportsFloat"):
        return Unknown(Reason.ANNOTATION) if name == "Callable" else NonTensor(name)
    return Unknown(Reason.ANNOTATION)


def _subscripted(node: ast.Subscript, resolve: Resolve) -> Value:
    name = last_name(node.value)
    parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
    if name == "Optional":
        return join(value_of_annotation(parts[0], resolve), NONE)
    if name == "Union":
        return join_all(value_of_annotation(part, resolve) for part in parts)
    if name in _WRAPPERS:
        return value_of_annotation(parts[0], resolve)
    if name == "Literal":
        return NonTensor("literal")
    if name in ("tuple", "Tuple"):
        return _tuple(parts, resolve)
    if name in _SEQUENCES:
        return Sequence(None, value_of_annotation(parts[0], resolve))
    if name in _MAPPINGS:
        return Mapping((), value_of_annotation(parts[-1], resolve))
    if name == "Callable":
        return Unknown(Reason.ANNOTATION)
    if (name in _JAXTYPING or name in _JAXTYPING_INTEGERS) and len(parts) == 2:
        array = value_of_annotation(parts[0], resolve)
        if isinstance(array, Tensor) and name in _JAXTYPING_INTEGERS:
            return Tensor(None, False, "integral")
        return array
    return value_of_annotation(node.value, resolve)


def _tuple(parts: list[ast.expr], resolve: Resolve) -> Value:
    if len(parts) == 2 and isinstance(parts[1], ast.Constant) and parts[1].value is Ellipsis:
        return Sequence(None, value_of_annotation(parts[0], resolve))
    items = [value_of_annotation(part, resolve) for part in parts if not _is_empty_tuple(part)]
    return sequence_of(items) if items else Sequence((), NOTHING)


def _is_empty_tuple(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple) and not node.elts
