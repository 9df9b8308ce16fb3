"""The values of parameters: by their annotations, defaults and names, or by the arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection

from tonumpy.engine.interpreter import habit_values, library
from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.knowledge.habits import is_named
from tonumpy.engine.knowledge.libraries.rows import bases_of
from tonumpy.engine.names.bindings import decorator_names, defaults_of, parameter_names
from tonumpy.engine.names.frameworks import foreign_root
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.shared import Analysis
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join, join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import with_evidence, with_facts_of
from tonumpy.text.names import last_name

_PLAIN = frozenset("int float bool str bytes complex slice range bytearray object_".split())
_SEQUENCES = frozenset(
    "list List tuple Tuple set Set frozenset FrozenSet Sequence MutableSequence Iterable Iterator Collection Generator"
    " deque AsyncIterator AsyncIterable Deque".split()
)
_MAPPINGS = frozenset("dict Dict Mapping MutableMapping OrderedDict defaultdict DefaultDict".split())
# The value of a subscripted annotation, by that of its first part.
_OF_FIRST_PART: dict[str, Callable[[v.Value], v.Value]] = {
    "Optional": lambda value: join(value, v.NONE),
    **dict.fromkeys(("Annotated", "Final", "ClassVar", "Required", "NotRequired", "ReadOnly"), lambda value: value),
    **dict.fromkeys(_SEQUENCES, lambda value: v.Sequence(None, value)),
}
_OF_NO_PART: dict[str, v.Value] = {"Callable": v.Unknown(Reason.ANNOTATION), "Literal": v.NonTensor("literal")}
_TENSORS = frozenset(
    "torch.Tensor torch._tensor.Tensor torch.tensor torch.FloatTensor torch.DoubleTensor torch.HalfTensor"
    " torch.autograd.Variable torchtyping.TensorType".split()
)
_INTEGERS = {"LongTensor": "int64", "IntTensor": "int32", "ShortTensor": "int16", "ByteTensor": "uint8"}
_INTEGERS |= {"CharTensor": "int8", "BoolTensor": "bool"}
_JAXTYPING_INTEGERS = frozenset("Int Int8 Int16 Int32 Int64 UInt UInt8 Integer Bool Shaped_".split())
_JAXTYPING = frozenset("Float Float32 Float64 Float16 BFloat16 Num Shaped Inexact Complex Real".split())
_PLAIN_ROOTS = ("numpy.", "pandas.", "PIL.", "pathlib.", "scipy.", "builtins.", "matplotlib.", "h5py.", "sklearn.")


def _of_library_class(full: str) -> v.Value:
    root, short = full.partition(".")[0], full.rpartition(".")[2]
    if root == "torch" and (made := _of_torch_class(full, short)) is not None:
        return made
    if foreign := foreign_root(full):
        return v.OtherFramework(foreign)
    if root in ("typing", "collections", "builtins") and (made := _of_container(full, short)) is not None:
        return made
    if root == "numbers":
        return v.NonTensor("number")
    if root == "builtins":
        return v.NonTensor(short) if short in _PLAIN else v.Unknown(Reason.ANNOTATION)
    if full.startswith(_PLAIN_ROOTS):
        return v.NonTensor(full, 1 if short in ("ndarray", "NDArray") else None)
    if root in ("typing", "collections") or "." not in full:
        is_text = short in ("Hashable", "Text", "AnyStr", "SupportsInt", "SupportsFloat")
        return v.NonTensor(short) if is_text else v.Unknown(Reason.ANNOTATION)
    return v.Tensor(is_given=True) if full in _TENSORS else v.LibraryObject(full)


def _of_container(full: str, short: str) -> v.Value | None:
    if short in _SEQUENCES:
        return v.Sequence(None, v.Unknown(Reason.ITEM))
    if short in _MAPPINGS:
        return v.Mapping((), v.Unknown(Reason.ANNOTATION))
    return v.SOME_CLASS if full == "builtins.type" else None


def _of_torch_class(full: str, short: str) -> v.Value | None:
    if full in _TENSORS:
        return v.Tensor(is_given=True)
    if short in _INTEGERS:
        return v.Tensor(None, False, _INTEGERS[short])
    if full.startswith("torch.nn.") and short in ("Parameter", "Buffer", "UninitializedParameter"):
        return v.Tensor(None, None)
    if full == "torch.device":
        return v.Device(None)
    return v.NonTensor("dtype" if full == "torch.dtype" else full) if full in ("torch.dtype", "torch.Size") else None


class Parameters:
    """Parameters and annotations of functions in any module of the repository."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._declared: dict[object, dict[str, v.Value]] = {}
        self._annotated: dict[int, v.Value] = {}  # by the ids of annotations
        self._parsed: list[ast.expr] = []

    @staticmethod
    def names(arguments: ast.arguments) -> list[str]:
        return parameter_names(arguments)

    def annotated(self, module: Module, node: ast.expr | None) -> v.Value:
        """The value of a parameter, variable or result with this annotation; Unknown if the annotation does not
        decide."""
        if node is None:
            return v.Unknown(Reason.ANNOTATION)
        known = self._annotated.get(id(node))
        if known is None:
            known = self._annotated[id(node)] = self._annotation(module, node)
        return known

    def _annotation(self, module: Module, node: ast.expr) -> v.Value:
        if isinstance(node, ast.Constant):
            if node.value is None:
                return v.NONE
            if isinstance(node.value, str):
                try:
                    parsed = ast.parse(node.value.strip(), mode="eval").body
                    self._parsed.append(parsed)  # keeps the nodes alive, so that their ids stay unique
                    return self._annotation(module, parsed)
                except (SyntaxError, ValueError):
                    pass
            return v.Unknown(Reason.ANNOTATION)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return join(self.annotated(module, node.left), self.annotated(module, node.right))
        if isinstance(node, ast.Subscript):
            return self._subscripted(module, node)
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return v.Unknown(Reason.ANNOTATION)
        value = self.value_of_class(self._analysis.module_frame(module).value(node))
        dtype = _INTEGERS.get(last_name(node) or "")
        return v.Tensor(None, False, dtype) if dtype is not None and isinstance(value, v.Tensor) else value

    def _subscripted(self, module: Module, node: ast.Subscript) -> v.Value:
        name = last_name(node.value) or ""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if not parts or name in _OF_NO_PART:
            return _OF_NO_PART.get(name, v.Unknown(Reason.ANNOTATION))
        if name in ("tuple", "Tuple") and not (len(parts) == 2 and getattr(parts[1], "value", None) is Ellipsis):
            return sequence_of([self.annotated(module, part) for part in parts])
        if name == "Union":
            return join_all(self.annotated(module, part) for part in parts)
        if name in _MAPPINGS:
            return v.Mapping((), self.annotated(module, parts[-1]))
        if name in _OF_FIRST_PART:
            return _OF_FIRST_PART[name](self.annotated(module, parts[0]))
        if name not in _JAXTYPING | _JAXTYPING_INTEGERS or len(parts) != 2:
            return self.annotated(module, node.value)
        array = self.annotated(module, parts[0])
        is_integral = isinstance(array, v.Tensor) and name in _JAXTYPING_INTEGERS
        return v.Tensor(None, False, "integral") if is_integral else array

    def value_of_class(self, cls: v.Value) -> v.Value:
        """An instance of a class, given the class's value."""
        if isinstance(cls, v.Class):
            return v.Tensor() if self._analysis.classes.makes_tensors(cls) else v.Instance(cls)
        if isinstance(cls, v.Annotation):
            return cls.promised
        if isinstance(cls, (v.OtherFramework, v.Mapping)):
            return cls
        if cls == v.NONE:
            return v.NONE
        return _of_library_class(cls.name) if isinstance(cls, v.Symbol) else v.Unknown(Reason.ANNOTATION)

    def combined(self, seen: v.Value, declared: v.Value) -> v.Value:
        """The value `seen`, with the declared kind if its own kind is unknown."""
        if isinstance(declared, (v.Unknown, v.Nothing)):
            return seen
        if isinstance(seen, v.Union) and any(isinstance(each, v.Unknown) for each in seen.members):
            return join_all(self.combined(each, declared) for each in seen.members)
        if isinstance(seen, v.Tensor) and isinstance(declared, v.Tensor):
            certainty = seen.certainty if declared.certainty != "tensor" else "tensor"
            return seen._replace(dtype=seen.dtype or declared.dtype, certainty=certainty)
        return with_facts_of(declared, seen) if isinstance(seen, v.Unknown) else seen

    def declared(self, function: v.Function) -> dict[str, v.Value]:
        """The value of each parameter by its annotation, default and name."""
        key = (id(function.node), function.owner)
        known = self._declared.get(key)
        if known is None:
            known = self._declared[key] = self._declare(function)
        return known

    def _declare(self, function: v.Function) -> dict[str, v.Value]:
        node, module = function.node, function.module
        frame = self._analysis.module_frame(module)
        frame.row = node.lineno
        found: dict[str, v.Value] = {}
        for parameter in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs):
            found[parameter.arg] = frame.named(self._one_declared(module, parameter), parameter.arg)
        if node.args.vararg:
            found[node.args.vararg.arg] = v.Sequence(None, self._one_declared(module, node.args.vararg))
        if node.args.kwarg:
            found[node.args.kwarg.arg] = v.Unknown(Reason.PARAMETER)
        for name, default in defaults_of(node.args):
            if isinstance(default, ast.Constant) and default.value is None:
                found[name] = join(found[name], v.NONE)
            elif isinstance(found[name], v.Unknown) and isinstance(default, ast.Constant):
                found[name] = v.NonTensor("literal")
        first = self.receiver_of(function)
        if first is not None and function.owner is not None:
            self._declare_method(frame, function, function.owner, first, found)
        elif is_named("collate-function", getattr(node, "name", "")):
            self._take_for_data(frame, found, [each.arg for each in node.args.args[:1]], "collate-function")
        return found

    def _one_declared(self, module: Module, parameter: ast.arg) -> v.Value:
        value = self.annotated(module, parameter.annotation)
        return v.Unknown(Reason.PARAMETER) if isinstance(value, v.Unknown) else value

    def _declare_method(
        self, frame: Frame, function: v.Function, owner: v.Class, first: str, found: dict[str, v.Value]
    ) -> None:
        """Refine the parameters of a method by its class, and by the libraries that call it."""
        classes, name = self._analysis.classes, getattr(function.node, "name", "")
        is_new = name == "__init__" and classes.is_module(owner) and len(classes.ancestors(owner)) == 1
        found[first] = v.Instance(owner, on_cpu=True if is_new else None)
        bases = [each for name in classes.library_bases(owner) for each in bases_of(name)]
        for parameter, value in library.hook_parameters(function, bases).items():
            found[parameter] = _as_passed(found[parameter], value)
        if name == "__call__" and is_named("collate-function", owner.node.name):
            items = [each.arg for each in function.node.args.args[1:2]]
            self._take_for_data(frame, found, items, "collate-function")
        if classes.is_dataset(owner):
            samples = [parameter for parameter in found if is_named("sample-parameter", parameter)]
            self._take_for_data(frame, found, samples, "sample-parameter")

    @staticmethod
    def _take_for_data(frame: Frame, found: dict[str, v.Value], names: list[str], habit: str) -> None:
        for name in names:
            found[name] = habit_values.believe_data(frame, found[name], habit, f"`{name}` is an item of a dataset")

    @staticmethod
    def receiver_of(function: v.Function) -> str | None:
        """The name of a method's `self` parameter; None for plain functions, static and class methods."""
        node = function.node
        if function.owner is None or isinstance(node, ast.Lambda) or node not in function.owner.node.body:
            return None
        if decorator_names(node) & {"staticmethod", "classmethod"}:
            return None
        names = parameter_names(node.args)
        return names[0] if names else None

    def bound(self, function: v.Function, receiver: v.Value | None, arguments: v.Arguments) -> dict[str, v.Value]:
        """The value of each parameter at a call: the argument, else the default, else the declared value."""
        values = dict(self.declared(function))
        positional = list(arguments.positional) if receiver is None else [receiver, *arguments.positional]
        given = _given_to_each(function, positional, arguments, values.keys())
        if not arguments.has_star:
            frame = self._analysis.module_frame(function.module)
            for name, default in defaults_of(function.node.args):
                if name not in given:
                    given[name] = frame.value(default)
        for name, value in given.items():
            if name in values:
                is_self = isinstance(value, v.Instance)
                values[name] = value if is_self else self.combined(value, values[name])
        return values


def _as_passed(declared: v.Value, value: v.Value) -> v.Value:
    """The value of a parameter of a method that a library calls with `value`."""
    taint = value.device_taint if isinstance(value, v.Unknown) else v.DeviceTaint.NONE
    if isinstance(declared, v.Instance):
        return declared._replace(device_taint=max(declared.device_taint, taint))
    return with_evidence(declared, taint, param_taint=False) if taint else value


def _given_to_each(
    function: v.Function, positional: list[v.Value], arguments: v.Arguments, declared: Collection[str]
) -> dict[str, v.Value]:
    """The arguments of a call by the parameters that take them."""
    taken = function.node.args
    names = [parameter.arg for parameter in (*taken.posonlyargs, *taken.args)]
    given: dict[str, v.Value] = dict(zip(names, positional, strict=False))
    if taken.kwarg:
        extra = tuple((name, value) for name, value in arguments.named if name not in declared)
        given[taken.kwarg.arg] = v.Mapping(extra, v.Unknown(Reason.CONTENT) if arguments.has_star else v.NOTHING)
    if taken.vararg:
        rest = positional[len(names) :]
        starred = v.Sequence(None, join_all((*rest, arguments.starred)))
        given[taken.vararg.arg] = starred if arguments.has_star else sequence_of(rest)
    given.update((name, value) for name, value in arguments.named if name in declared)
    if arguments.has_star and not arguments.hides_names and not isinstance(arguments.starred, v.Nothing):
        given.update((name, arguments.starred) for name in names[len(positional) :] if name not in given)
    return given
