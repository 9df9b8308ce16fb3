"""What inference knows of a value: frozen descriptions, and `join`, which keeps only what two paths agree on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tonumpy.inference.frameworks import foreign_root

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tonumpy.conversions import Certainty, Fact
    from tonumpy.inference.project import Module

MAX_MEMBERS = 6
TOO_MANY = "too many kinds of value"


class Nothing(NamedTuple):
    """No value at all: the item of an empty list, the result of a call that is still being worked out."""


NOTHING = Nothing()


class Tensor(NamedTuple):
    """A torch tensor. `likely`: only its own words say so, in a module where torch is the only array framework.

    `possible`: only words say so that another framework of the module has too.
    """

    on_cpu: Fact = None
    requires_grad: Fact = None
    dtype: str | None = None  # "int64", ... or "integral" where only that is known
    certainty: Certainty = "tensor"
    is_number: bool = False  # may have no dimensions: the one kind of CPU tensor that mixes with an accelerator's
    layout: str | None = None  # "Sparse", "SparseCsr", "Mkldnn", ... as torch's messages name them; never "Strided"
    bit: Literal["conjugate", "negative"] | None = None  # the one that is set, unless it comes from an accelerator
    is_item: bool = False  # of another tensor, by iteration or by an index
    is_sent: bool = False  # on one path at least to an accelerator, or to a device that is chosen at run time
    is_given: bool = False  # made of nothing but data and annotated parameters and attributes, and sent nowhere since
    origins: frozenset[str] = frozenset()  # the names under which tensors were first held that this may be, or view


class Unknown(NamedTuple):
    """Nothing is known of the kind; what is known of the device and grad of tensors in it, and why it is unknown.

    `is_no_tensor`: a test has shown that it is no tensor itself, though it may hold some.
    """

    why: str
    on_cpu: Fact = None
    requires_grad: Fact = None
    is_no_tensor: bool = False


class Plain(NamedTuple):
    """Surely not a torch tensor, nor does anything torch come out of it: an array, a number, a string, a shape."""

    what: str


class Constant(NamedTuple):
    """A literal: a string, a number, True, False or None."""

    value: Any


class Foreign(NamedTuple):
    """A value of another framework (or of a class that mimics one): whatever is done with it stays foreign."""

    root: str


class Device(NamedTuple):
    """A torch.device, or what `.device` gives."""

    is_cpu: Fact
    type: str | None = None
    is_chosen: bool = False  # by the code, at run time: the CPU on one machine, an accelerator on another


class Symbol(NamedTuple):
    """A name of a library that is not read: `torch.nn.functional`, `numpy.asarray`."""

    name: str


class Sequence(NamedTuple):
    """A list, tuple, set or iterator: its items where their number is known, and the join of all of them.

    `fields` names the items of a named tuple: `x.max(0).values`.
    """

    items: tuple[Value, ...] | None
    element: Value
    fields: tuple[str, ...] = ()


class Mapping(NamedTuple):
    """A dict: the values under literal keys, and the join of the values under all other keys."""

    entries: tuple[tuple[Any, Value], ...]
    other: Value = NOTHING

    def get(self, key: object) -> Value:
        return next((value for name, value in self.entries if name == key), self.other)

    def values(self) -> tuple[Value, ...]:
        return (*(value for _, value in self.entries), self.other)


class Function(NamedTuple):
    """A function or lambda that can be entered: where it is defined and the frame whose variables it sees."""

    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    module: Module
    owner: Class | None  # the class whose method it is
    closure: Any = None  # flow.Frame of the enclosing function; compared by identity
    is_bare: bool = False  # as its decorators are given it


class Class(NamedTuple):
    """A class of the repository."""

    node: ast.ClassDef
    module: Module


class Instance(NamedTuple):
    """An object of a class of the repository, with the arguments it was built from where they are known.

    The facts are those of an nn.Module's parameters: on the CPU where it was built in sight and not moved since.
    `dtype` is what it was cast to as a whole.
    `written` are the attributes that somebody else than its class has assigned: the class does not tell of these.
    `real` is the object itself where `super()` looks at it as one of a base: its methods work on that.
    """

    cls: Class
    arguments: Arguments | None = None
    on_cpu: Fact = None
    requires_grad: Fact = None
    written: frozenset[str] = frozenset()
    dtype: str | None = None
    real: Instance | None = None


class LibraryObject(NamedTuple):
    """An object of a library class: `torch.nn.Linear(...)`. The facts are those of the tensors it holds."""

    name: str
    on_cpu: Fact = None
    requires_grad: Fact = None
    arguments: Arguments | None = None
    dtype: str | None = None


class Method(NamedTuple):
    """`receiver.name` before it is called, where the receiver is not an object of the repository."""

    receiver: Value
    name: str


class BoundMethod(NamedTuple):
    """A method of the repository bound to its object."""

    function: Function
    receiver: Value


class ModuleValue(NamedTuple):
    """A module of the repository, as `import package.module` binds it."""

    module: Module


class Annotation(NamedTuple):
    """What a name stands for that is written in annotations, `Batch = dict[str, Tensor]`: what it promises."""

    promised: Value


class Union(NamedTuple):
    """One of several descriptions that have no join of their own."""

    members: tuple[Value, ...]


class Arguments(NamedTuple):
    """The arguments of a call as far as they are known; `has_star` where a * or ** hides some.

    `starred` is the join of those that a * hides; `hides_names`: a ** may hide some that are given by name, and
    `under_names` is what is known of the tensors among these, NOTHING where their device is not.
    """

    positional: tuple[Value, ...]
    named: tuple[tuple[str, Value], ...] = ()
    has_star: bool = False
    starred: Value = NOTHING
    hides_names: bool = False
    under_names: Value = NOTHING

    def named_value(self, name: str) -> Value | None:
        return next((value for key, value in self.named if key == name), None)

    def get(self, position: int, name: str) -> Value | None:
        """The argument that is given by position or by name."""
        return self.positional[position] if position < len(self.positional) else self.named_value(name)

    def values(self) -> tuple[Value, ...]:
        return (*self.positional, *(value for _, value in self.named))

    def all_values(self) -> tuple[Value, ...] | None:
        """With what a ** hides, where something is known of it; None where not, or where a * hides some."""
        if not self.has_star:
            return self.values()
        is_known = isinstance(self.starred, Nothing) and not isinstance(self.under_names, Nothing)
        return (*self.values(), self.under_names) if is_known else None


NO_ARGUMENTS = Arguments(())

Value = (
    Nothing
    | Tensor
    | Unknown
    | Plain
    | Constant
    | Foreign
    | Device
    | Symbol
    | Sequence
    | Mapping
    | Function
    | Class
    | Instance
    | LibraryObject
    | Method
    | BoundMethod
    | ModuleValue
    | Annotation
    | Union
)

NONE = Constant(None)
_NUMBERS = frozenset("int float len number".split())


def is_number(value: Value) -> bool:
    """Surely a Python number: what a sum starts with."""
    if isinstance(value, Constant):
        return isinstance(value.value, (int, float))
    return isinstance(value, Plain) and value.what in _NUMBERS


DATASET = "a dataset"  # another reason: what is taken out of it, by number or one after the other, is on the CPU
SENT = "method to"  # another: what `.to(...)` of an unknown object gives; all that it holds may be on some device
SAVED = (
    "what has been saved"  # why a value is unknown: in a file may be anything, but what is put under a key is detached
)


_CERTAINTIES: tuple[Certainty, ...] = ("tensor", "likely", "possible")


def weaker(first: Certainty, second: Certainty) -> Certainty:
    return max(first, second, key=_CERTAINTIES.index)


def stronger(first: Certainty, second: Certainty) -> Certainty:
    return min(first, second, key=_CERTAINTIES.index)


def join_fact(first: Fact, second: Fact) -> Fact:
    return first if first is second else None


def same(first: Value | None, second: Value | None) -> bool:
    """Equality that tells Constant(1) from Plain(1): named tuples of different classes may compare equal."""
    return first is second or (type(first) is type(second) and first == second)


def symbol(name: str) -> Value:
    """A library's name; another framework's is foreign."""
    root = foreign_root(name)
    if root is not None:
        return Foreign(root)
    return Symbol(name)


def definition(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef,
    module: Module,
    owner: Class | None,
    closure: object,
) -> Value:
    if isinstance(node, ast.ClassDef):
        return Class(node, module)
    return Function(node, module, owner, closure)


def members(value: Value) -> tuple[Value, ...]:
    return value.members if isinstance(value, Union) else (value,)


def may_be(value: Value, kinds: type | tuple[type, ...]) -> bool:
    """Whether a value is of these kinds, or may be."""
    return any(isinstance(member, kinds) for member in members(value))


def join(first: Value, second: Value) -> Value:
    """The description of a value that is either of the two; it claims no fact that only one of them has."""
    if same(first, second) or isinstance(second, Nothing):
        return first
    if isinstance(first, Nothing):
        return second
    found: list[Value] = []
    for value in (*members(first), *members(second)):
        for index, other in enumerate(found):
            merged = _merge(other, value)
            if merged is not None:
                found[index] = merged
                break
        else:
            found.append(value)
    if len(found) == 1:
        return found[0]
    if len(found) > MAX_MEMBERS:
        cpu, grad = tensor_facts(found[0])
        for value in found[1:]:
            other_cpu, other_grad = tensor_facts(value)
            cpu, grad = join_fact(cpu, other_cpu), join_fact(grad, other_grad)
        return Unknown(TOO_MANY, cpu, grad)
    return Union(tuple(found))


def join_all(values: Iterable[Value]) -> Value:
    """The join of all of them; NOTHING where there are none."""
    joined: Value = NOTHING
    for value in values:
        joined = join(joined, value)
    return joined


_PLAIN = (Plain, Constant)
# What they give is a function, or a class, that is made of their arguments.
KEPT_CALLS = frozenset(("collections.namedtuple", "functools.partial"))


def _merge(first: Value, second: Value) -> Value | None:
    """The join of two descriptions of one class; None where they stay apart."""
    if same(first, second):
        return first
    if type(first) is not type(second) and not (isinstance(first, _PLAIN) and isinstance(second, _PLAIN)):
        return None
    if isinstance(first, Tensor) and isinstance(second, Tensor):
        return Tensor(
            join_fact(first.on_cpu, second.on_cpu),
            join_fact(first.requires_grad, second.requires_grad),
            join_dtype(first.dtype, second.dtype),
            weaker(first.certainty, second.certainty),
            first.is_number or second.is_number,
            first.layout if first.layout == second.layout else None,
            first.bit if first.bit == second.bit else None,
            first.is_item and second.is_item,
            first.is_sent or second.is_sent,
            all(tensor.is_given or tensor.requires_grad is False for tensor in (first, second)),
            first.origins | second.origins,
        )
    if isinstance(first, Unknown) and isinstance(second, Unknown):
        return Unknown(
            first.why,
            join_fact(first.on_cpu, second.on_cpu),
            join_fact(first.requires_grad, second.requires_grad),
            first.is_no_tensor and second.is_no_tensor,
        )
    if isinstance(first, _PLAIN) and isinstance(second, _PLAIN):
        if isinstance(first, Constant) and isinstance(second, Constant) and NONE in (first, second):
            return None  # None is told apart by tests, so it stays beside other values
        if NONE in (first, second):
            return None
        return _wider_plain(first, second)
    if isinstance(first, Device) and isinstance(second, Device):
        is_chosen = first.is_chosen or second.is_chosen or {first.is_cpu, second.is_cpu} == {True, False}
        kind = first.type if first.type == second.type else None
        return Device(join_fact(first.is_cpu, second.is_cpu), kind, is_chosen)
    if isinstance(first, Sequence) and isinstance(second, Sequence):
        if _are_told_apart(first, second):
            return None
        items = None
        if first.items is not None and second.items is not None and len(first.items) == len(second.items):
            items = tuple(join(one, other) for one, other in zip(first.items, second.items, strict=True))
        fields = first.fields if first.fields == second.fields else ()
        return Sequence(items, join(first.element, second.element), fields)
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        return _join_mappings(first, second)
    if isinstance(first, LibraryObject) and isinstance(second, LibraryObject) and first.name == second.name:
        if first.name in KEPT_CALLS:
            return None
        return LibraryObject(
            first.name,
            join_fact(first.on_cpu, second.on_cpu),
            join_fact(first.requires_grad, second.requires_grad),
            _join_made_from(first, second),
            first.dtype if first.dtype == second.dtype else None,
        )
    if isinstance(first, Instance) and isinstance(second, Instance) and first.cls == second.cls:
        return Instance(
            first.cls,
            _join_made_from(first, second),
            join_fact(first.on_cpu, second.on_cpu),
            join_fact(first.requires_grad, second.requires_grad),
            first.written | second.written,
            first.dtype if first.dtype == second.dtype else None,
        )
    return None


def join_arguments(first: Arguments, second: Arguments) -> Arguments:
    """Both are arguments of the same call, so they have the same shape, unless a * took them apart differently."""
    if len(first.positional) != len(second.positional) or [k for k, _ in first.named] != [k for k, _ in second.named]:
        return Arguments((), (), has_star=True, hides_names=True)
    positional = tuple(join(one, other) for one, other in zip(first.positional, second.positional, strict=True))
    named = tuple((name, join(one, other)) for (name, one), (_, other) in zip(first.named, second.named, strict=True))
    has_star = first.has_star or second.has_star
    hides_names = first.hides_names or second.hides_names
    is_known = isinstance(first.under_names, Unknown) and isinstance(second.under_names, Unknown)
    under_names = join(first.under_names, second.under_names) if is_known else NOTHING
    return Arguments(positional, named, has_star, join(first.starred, second.starred), hides_names, under_names)


def _join_made_from(first: LibraryObject | Instance, second: LibraryObject | Instance) -> Arguments | None:
    """What one of two objects of a class was made from; None of one that is wrapped again and again, as in a loop."""
    if first.arguments is None or second.arguments is None:
        return None
    if first.arguments == second.arguments:
        return first.arguments
    joined = join_arguments(first.arguments, second.arguments)
    return None if joined.has_star or _is_made_of_its_like(first, joined) else joined


def _is_made_of_its_like(value: LibraryObject | Instance, arguments: Arguments) -> bool:
    """Whether an object of the same class is among what it was made from, or what that was made from."""
    waiting = list(arguments.values())
    while waiting:
        for each in held_in(waiting.pop()):
            if isinstance(each, LibraryObject) and isinstance(value, LibraryObject) and each.name == value.name:
                return True
            if isinstance(each, Instance):
                if isinstance(value, Instance) and each.cls == value.cls:
                    return True
                waiting.extend(() if each.arguments is None else each.arguments.values())
    return False


def _are_told_apart(first: Sequence, second: Sequence) -> bool:
    """Whether a flag in two tuples says which of them it is: `return torch.from_numpy(x), True`, `return x, False`."""
    return any(
        {one, other} == {Constant(True), Constant(False)}
        for one, other in zip(first.items or (), second.items or (), strict=False)
        if isinstance(one, Constant) and isinstance(other, Constant)
    )


def _wider_plain(first: Plain | Constant, second: Plain | Constant) -> Value | None:
    if is_number(first) and is_number(second):
        return Plain("number")
    if isinstance(first, Constant) and isinstance(second, Constant):
        return None if type(first.value) is type(second.value) is str else Plain("constant")
    return Plain(first.what if isinstance(first, Plain) else "constant")


def _join_mappings(first: Mapping, second: Mapping) -> Mapping:
    one, other = dict(first.entries), dict(second.entries)
    entries = tuple((key, join(one.get(key, first.other), other.get(key, second.other))) for key in {**one, **other})
    return Mapping(entries, join(first.other, second.other))


def updated(first: Mapping, second: Value) -> Mapping:
    """A dict with what another has: under the keys of the other what stands there, where these are known."""
    if not isinstance(second, Mapping):
        second = Mapping((), Unknown("value of a dict"))
    entries = {key: join(value, second.other) for key, value in first.entries}
    return Mapping((*{**entries, **dict(second.entries)}.items(),), join(first.other, second.other))


def join_dtype(first: str | None, second: str | None) -> str | None:
    if first == second:
        return first
    return "integral" if is_integral(first) and is_integral(second) else None


_INTEGRAL = frozenset(
    (
        "integral",
        "bool",
        "uint8",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint16",
        "uint32",
        "uint64",
        "short",
        "int",
        "long",
    )
)


def is_integral(dtype: str | None) -> bool:
    """Integers and booleans: tensors of these never require grad."""
    return dtype in _INTEGRAL


_FLOATING = frozenset(
    (
        "float16",
        "float32",
        "float64",
        "bfloat16",
        "half",
        "float",
        "double",
        "complex",
        "complex32",
        "complex64",
        "complex128",
        "chalf",
        "cfloat",
        "cdouble",
        "float8_e4m3fn",
        "float8_e4m3fnuz",
        "float8_e5m2",
        "float8_e5m2fnuz",
        "float8_e8m0fnu",
        "float4_e2m1fn_x2",
        "qint8",
        "qint32",
        "quint8",
        "quint4x2",
        "quint2x4",
    )
)


def is_dtype_name(name: str) -> bool:
    return name in _INTEGRAL or name in _FLOATING


def truth_of(value: Value) -> Fact:
    """What a literal True or False says; None of anything else."""
    return value.value if isinstance(value, Constant) and isinstance(value.value, bool) else None


def dtype_of(value: Value | None) -> str | None:
    """The name of a dtype argument: `torch.long` gives "long"; None where it is not known."""
    if isinstance(value, Symbol):
        name = value.name.rpartition(".")[2]
        return name if is_dtype_name(name) else None
    return None


def is_real(dtype: str | None) -> bool:
    """A floating point dtype in which torch computes: 16 bits or more."""
    return dtype in ("float16", "float32", "float64", "bfloat16", "half", "float", "double")


def is_complex(dtype: str | None) -> bool:
    """A complex dtype, or "complex" where only that is known."""
    return dtype is not None and dtype.startswith(("complex", "chalf", "cfloat", "cdouble"))


def tensor_facts(value: Value) -> tuple[Fact, Fact]:
    """`on_cpu` and `requires_grad` of the tensors in a value; values without tensors hold both promises."""
    if isinstance(value, (Tensor, Unknown, LibraryObject)):
        return value.on_cpu, value.requires_grad
    if isinstance(value, Sequence):
        return tensor_facts(value.element)
    if isinstance(value, Mapping):
        return joined_facts(value.values())
    if isinstance(value, Union):
        return joined_facts(value.members)
    if isinstance(value, (Instance, Class, Function, BoundMethod, Method, ModuleValue)):
        return None, None
    return True, False


def joined_facts(values: Iterable[Value]) -> tuple[Fact, Fact]:
    cpu: Fact = True
    grad: Fact = False
    for value in values:
        if isinstance(value, (Nothing, Plain, Constant, Foreign, Device, Symbol)):
            continue
        other_cpu, other_grad = tensor_facts(value)
        cpu, grad = join_fact(cpu, other_cpu), join_fact(grad, other_grad)
    return cpu, grad


def with_facts(value: Value, on_cpu: Fact = None, requires_grad: Fact = None) -> Value:
    """The value with facts that have been learnt about the tensors in it; what is None stays as it was."""
    if isinstance(value, (Tensor, Unknown, LibraryObject)):
        return value._replace(
            on_cpu=value.on_cpu if on_cpu is None else on_cpu,
            requires_grad=value.requires_grad if requires_grad is None else requires_grad,
        )
    if isinstance(value, Sequence):
        items = None if value.items is None else tuple(with_facts(item, on_cpu, requires_grad) for item in value.items)
        return Sequence(items, with_facts(value.element, on_cpu, requires_grad))
    if isinstance(value, Mapping):
        entries = tuple((key, with_facts(entry, on_cpu, requires_grad)) for key, entry in value.entries)
        return Mapping(entries, with_facts(value.other, on_cpu, requires_grad))
    if isinstance(value, Union):
        return Union(tuple(with_facts(member, on_cpu, requires_grad) for member in value.members))
    return value


def unless_it_requires_grad(
    value: Value, given: Arguments = NO_ARGUMENTS, around: frozenset[str] = frozenset()
) -> Value:
    """What a call gives, with every tensor in it that is not known to require grad taken for one that does not.

    What an argument may be, or a view of one, was not made by the call, nor were the variables `around` the function.
    """
    if isinstance(value, Tensor) and any(name.startswith(_ARGUMENT) or name in around for name in value.origins):
        return value
    if isinstance(value, Unknown) and any(value in members(argument) for argument in given.values()):
        return value
    if isinstance(value, (Tensor, Unknown)):
        return value if value.requires_grad is not None else value._replace(requires_grad=False)
    return mapped(value, lambda part: unless_it_requires_grad(part, given, around))


def with_origin(value: Value, name: str) -> Value:
    """The value with its name on every tensor in it that has been held by no name yet."""
    if isinstance(value, Tensor):
        return value if value.origins else value._replace(origins=frozenset((name,)))
    return mapped(value, lambda part: with_origin(part, name))


def without_origins(arguments: Arguments) -> Arguments:
    """As a function sees them: what it makes of them does not depend on the names that its caller has for them."""
    return arguments._replace(
        positional=tuple(_without_origins(value) for value in arguments.positional),
        named=tuple((name, _without_origins(value)) for name, value in arguments.named),
        starred=_without_origins(arguments.starred),
    )


def _without_origins(value: Value) -> Value:
    return _with_origins(value, frozenset())


def _with_origins(value: Value, origins: frozenset[str]) -> Value:
    if isinstance(value, Tensor):
        return value if value.origins == origins else value._replace(origins=origins)
    return mapped(value, lambda part: _with_origins(part, origins))


_ARGUMENT = "<argument "  # no name of a variable begins so


def as_given(arguments: Arguments) -> Arguments:
    """As a function sees them: the tensors in them come from an argument, whatever its caller calls them."""
    return arguments._replace(
        positional=tuple(
            _with_origins(value, frozenset((f"{_ARGUMENT}{place}>",)))
            for place, value in enumerate(arguments.positional)
        ),
        named=tuple(
            (name, _with_origins(value, frozenset((f"{_ARGUMENT}{name}>",)))) for name, value in arguments.named
        ),
        starred=_with_origins(arguments.starred, frozenset((f"{_ARGUMENT}*>",))),
    )


def handed_back(result: Value, arguments: Arguments) -> Value:
    """What a function gave, as its caller sees it: what came from an argument has the names that the argument has."""
    if isinstance(result, Tensor):
        if not result.origins:
            return result
        places = {f"{_ARGUMENT}{place}>": value for place, value in enumerate(arguments.positional)}
        places.update((f"{_ARGUMENT}{name}>", value) for name, value in arguments.named)
        places[f"{_ARGUMENT}*>"] = arguments.starred
        names = (_origins_in(places[place]) for place in result.origins & places.keys())
        return result._replace(origins=frozenset[str]().union(*names))
    return mapped(result, lambda part: handed_back(part, arguments))


def _origins_in(value: Value) -> frozenset[str]:
    if isinstance(value, Tensor):
        return value.origins
    parts = _parts(value) if isinstance(value, (Sequence, Mapping, Union)) else ()
    return frozenset[str]().union(*map(_origins_in, parts))


def after_change(value: Value, changed: Tensor) -> Value:
    """A value after a tensor that may be, or view, one in it has got or lost its grad; itself where none may."""
    if isinstance(value, Tensor):
        is_concerned = value.requires_grad is not changed.requires_grad and value.origins & changed.origins
        is_given = value.is_given and changed.is_given
        return value._replace(requires_grad=None, is_given=is_given) if is_concerned else value
    return mapped(value, lambda part: after_change(part, changed))


def after_part_changed(value: Value, part: LibraryObject | Instance) -> Value:
    """A value after a module that may be in it has been moved, frozen or thawed; itself where none may be."""
    if isinstance(value, LibraryObject) and value.arguments is not None:
        held = held_in(*value.arguments.values(), value.arguments.starred)
        is_concerned = any(_is_like(each, part) for each in held)
        return value._replace(on_cpu=None, requires_grad=None) if is_concerned else value
    return mapped(value, lambda inner: loosened(inner) if _is_like(inner, part) else after_part_changed(inner, part))


def held_in(*values: Value) -> Iterator[Value]:
    """The values, and what is held by them: the parts of containers, and what objects of libraries were made of."""
    waiting = list(values)
    while waiting:
        each = waiting.pop()
        yield each
        if isinstance(each, LibraryObject):
            waiting.extend(() if each.arguments is None else each.arguments.values())
        elif isinstance(each, (Sequence, Mapping, Union)):
            waiting.extend(_parts(each))


def _is_like(value: Value, part: LibraryObject | Instance) -> bool:
    """Whether it may be the same object, whatever has been done to it."""
    if isinstance(value, LibraryObject) and isinstance(part, LibraryObject):
        return value.name == part.name and value.arguments == part.arguments
    return isinstance(value, Instance) and isinstance(part, Instance) and value.cls == part.cls


def loosened(value: Value) -> Value:
    """A module, or modules in a container, one of which has been moved, frozen or thawed."""
    if isinstance(value, (LibraryObject, Instance)):
        return value._replace(on_cpu=None, requires_grad=None)
    return mapped(value, loosened)


def _parts(value: Sequence | Mapping | Union) -> tuple[Value, ...]:
    if isinstance(value, Sequence):
        return (value.element, *(value.items or ()))
    return value.values() if isinstance(value, Mapping) else value.members


def mapped(value: Value, change: Callable[[Value], Value]) -> Value:
    """A container or union with each part changed; itself where all parts stay the same."""
    if not isinstance(value, (Sequence, Mapping, Union)):
        return value
    parts = _parts(value)
    changed = tuple(change(part) for part in parts)
    if all(new is old for new, old in zip(changed, parts, strict=True)):
        return value
    if isinstance(value, Sequence):
        return Sequence(None if value.items is None else changed[1:], changed[0], value.fields)
    if isinstance(value, Mapping):
        entries = tuple((key, new) for (key, _), new in zip(value.entries, changed, strict=False))
        return Mapping(entries, changed[-1])
    return Union(changed)


def sequence_of(items: list[Value] | tuple[Value, ...]) -> Sequence:
    return Sequence(tuple(items), join_all(items))
