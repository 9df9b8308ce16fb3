"""Transfer functions of Python's builtins and containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.methods import OF_TEXT, TESTS_OF_TEXT
from tonumpy.engine.knowledge.operands import combine
from tonumpy.engine.values.joins import join, join_all, sequence_of, under_a_key, updated
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    SOME_CLASS,
    Arguments,
    Constant,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Symbol,
    Union,
    Unknown,
    Value,
    is_number,
)
from tonumpy.inference.transfer.habit_heuristics import apply_name_habits
from tonumpy.inference.transfer.members import attribute_of, item_of, resolve
from tonumpy.inference.transfer.records import as_dict

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.inference.transfer.frame import Frame

_COPIES = frozenset("list tuple set frozenset sorted reversed iter".split())
_PLAIN = frozenset(
    "len int float str bool bytes repr isinstance issubclass hasattr id hash round divmod ord"
    " chr hex oct bin callable print input open format all any complex bytearray memoryview dir slice"
    " object".split()
)


def call(frame: Frame, name: str, arguments: Arguments) -> Value:
    """A builtin function or class."""
    given = arguments.positional
    if name in _PLAIN:
        return NONE if name == "print" else NonTensor(name)
    if name == "range":
        return Sequence(None, NonTensor("int"))
    if name == "dict":
        return _dict(frame, arguments)
    if not given:
        if name == "zip" and arguments.has_star:
            return _transposed(frame, arguments.starred)
        return Sequence((), NOTHING) if name in _COPIES else Unknown(Reason.CALL)
    if name in _COPIES:
        return _copied(frame, name, given[0])
    made = _CALLED[name](frame, given) if name in _CALLED else None
    return Unknown(Reason.CALL, None, False if frame.grad_mode is False else None) if made is None else made


def _copied(frame: Frame, name: str, value: Value) -> Sequence:
    if not isinstance(value, Sequence):
        return Sequence(None, item_of(frame, value))
    keeps_order = name in ("list", "tuple", "iter")
    return Sequence(value.items if keeps_order else None, value.element)


def _next(frame: Frame, given: tuple[Value, ...]) -> Value:
    return join_all(value for value in (item_of(frame, given[0]), *given[1:]) if value != NONE)


def _one_of(frame: Frame, given: tuple[Value, ...]) -> Value:
    values = [item_of(frame, given[0])] if len(given) == 1 else given
    return join_all(value for value in values if value != NONE)


def _zip(frame: Frame, given: tuple[Value, ...]) -> Value:
    items = tuple(item_of(frame, value) for value in given)
    return Sequence(None, Sequence(items, join_all(items)))


def _enumerate(frame: Frame, given: tuple[Value, ...]) -> Value:
    pair = (NonTensor("int"), item_of(frame, given[0]))
    return Sequence(None, Sequence(pair, join_all(pair)))


def _map(frame: Frame, given: tuple[Value, ...]) -> Value:
    function, *rest = given
    if len(rest) == 1 and isinstance(rest[0], Sequence) and rest[0].items is not None:
        return sequence_of([frame.evaluator.call(frame, function, Arguments((item,))) for item in rest[0].items])
    items = tuple(item_of(frame, value) for value in rest)
    return Sequence(None, frame.evaluator.call(frame, function, Arguments(items)))


def _filter(frame: Frame, given: tuple[Value, ...]) -> Value | None:
    return Sequence(None, item_of(frame, given[1])) if len(given) == 2 else None


def _sum(frame: Frame, given: tuple[Value, ...]) -> Value:
    return combine((item_of(frame, given[0]), *given[1:2]), frame.grad_mode)


# What a module gets from torch by a name that is told at run time, where it speaks of bfloat16.
_SOME_DTYPE = Union((Symbol("torch.bfloat16"), NonTensor("dtype")))


def _getattr(frame: Frame, given: tuple[Value, ...]) -> Value | None:
    names = list(filter(str.isidentifier, _words(given[1]))) if len(given) >= 2 else []
    if not names:
        return _SOME_DTYPE if given[:1] == (Symbol("torch"),) and frame.module.text.says("holds", "bfloat16") else None
    return _instead_of(join_all(resolve(frame, attribute_of(frame, given[0], each)) for each in names), *given[2:3])


def _type(_: Frame, given: tuple[Value, ...]) -> Value | None:
    if len(given) != 1:
        return None
    return given[0].cls if isinstance(given[0], Instance) else SOME_CLASS


_CALLED: dict[str, Callable[[Frame, tuple[Value, ...]], Value | None]] = {
    "staticmethod": lambda _, given: given[0],
    "next": _next,
    "min": _one_of,
    "max": _one_of,
    "zip": _zip,
    "enumerate": _enumerate,
    "map": _map,
    "filter": _filter,
    "sum": _sum,
    "abs": lambda frame, given: combine(given, frame.grad_mode),
    "pow": lambda frame, given: combine(given, frame.grad_mode),
    "getattr": _getattr,
    "type": _type,
    "vars": lambda _, given: as_dict(given[0]) or Mapping((), Unknown(Reason.ATTRIBUTE)),
}


def _words(value: Value) -> list[str]:
    """The strings, one of which a value is; none where it may be something else."""
    found = [each.value for each in members(value) if isinstance(each, Constant) and isinstance(each.value, str)]
    return found if len(found) == len(members(value)) else []


def is_option(default: Value) -> bool:
    """Whether what it stands in for is a number: `options.get("steps", 1000)`. Sums of tensors begin with nought."""
    return isinstance(default, Constant) and is_number(default) and default.value != 0


def _instead_of(found: Value, default: Value = NOTHING) -> Value:
    return NonTensor("number") if is_option(default) and isinstance(found, Unknown) else join(found, default)


def _transposed(frame: Frame, row: Value) -> Value:
    """`zip(*rows)`: a sequence for each place in a row."""
    if isinstance(row, Sequence) and row.items is not None:
        return sequence_of([Sequence(None, item) for item in row.items])
    return Sequence(None, Sequence(None, item_of(frame, row)))


def _pairs(value: Sequence) -> list[tuple[object, Value]] | None:
    """The keys of a list of pairs with what stands under them; None where one is not in sight."""
    found: list[tuple[object, Value]] = []
    for pair in (None,) if value.items is None else value.items:
        if not isinstance(pair, Sequence) or pair.items is None or len(pair.items) != 2:
            return None
        key, entry = pair.items
        if not isinstance(key, Constant):
            return None
        found.append((key.value, entry))
    return found


def _dict(frame: Frame, arguments: Arguments) -> Value:
    other: Value = NOTHING
    entries: list[tuple[object, Value]] = []
    for value in arguments.positional:
        if isinstance(value, Mapping):
            entries, other = list(value.entries), value.other
        elif isinstance(value, Sequence) and (pairs := _pairs(value)) is not None:
            entries += pairs
        elif isinstance(value, Sequence):
            pair = value.element
            other = join(
                other,
                pair.items[1]
                if isinstance(pair, Sequence) and pair.items and len(pair.items) == 2
                else item_of(frame, pair),
            )
        else:
            other = join(other, item_of(frame, value) if isinstance(value, Unknown) else Unknown(Reason.CONTENT))
    if arguments.has_star:
        other = join(other, Unknown(Reason.CONTENT))
    return updated(Mapping(tuple(entries), other), Mapping(arguments.named))


def collection(frame: Frame, name: str, arguments: Arguments) -> Value:
    """A class of the module collections."""
    if name == "OrderedDict":
        return _dict(frame, arguments)
    if name == "defaultdict":
        made = _made_for_missing(frame, arguments.get(0, "default_factory"))
        return updated(Mapping((), made), _dict(frame, arguments._replace(positional=arguments.positional[1:])))
    if name == "deque":
        return call(frame, "list", Arguments(arguments.positional[:1]))
    return NonTensor(name) if name == "Counter" else Unknown(Reason.CALL)


def _made_for_missing(frame: Frame, factory: Value | None) -> Value:
    """What a defaultdict holds under a key that nothing was stored under."""
    return NOTHING if factory in (None, NONE) else resolve(frame, frame.evaluator.call(frame, factory, Arguments(())))


def call_kept(frame: Frame, made: LibraryObject, arguments: Arguments) -> Value:
    """A call of `partial(f, x)`, or of `namedtuple("Point", "x y")`."""
    if made.arguments is None or not made.arguments.positional:
        return Unknown(Reason.CALL)
    first, *rest = made.arguments.positional
    if made.name == "collections.namedtuple":
        return _named_tuple(rest[0] if rest else made.arguments.named_value("field_names"), arguments)
    given = dict((*made.arguments.named, *arguments.named))
    merged = arguments._replace(positional=(*rest, *arguments.positional), named=tuple(given.items()))
    return frame.evaluator.call(frame, first, merged)


def _named_tuple(fields: Value | None, arguments: Arguments) -> Value:
    names: list[object] = []
    if isinstance(fields, Constant) and isinstance(fields.value, str):
        names += fields.value.replace(",", " ").split()
    elif isinstance(fields, Sequence) and fields.items is not None:
        names += [field.value for field in fields.items if isinstance(field, Constant)]
    items = [arguments.get(position, str(name)) for position, name in enumerate(names)]
    known = tuple(Unknown(Reason.CONTENT) if item is None else item for item in items)
    return Sequence(known, join_all(known), tuple(map(str, names))) if names else Unknown(Reason.CONTENT)


PARAMETER_SET = ("values", "marks", "id")


def parameter_set(arguments: Arguments) -> Sequence:
    """`pytest.param(1, 2, id="small")`."""
    values = Unknown(Reason.PARAMETER) if arguments.has_star else sequence_of(arguments.positional)
    items = (values, NonTensor("marks"), NonTensor("str"))
    return Sequence(items, join_all(items), PARAMETER_SET)


def call_constant_method(receiver: Constant, name: str, arguments: Arguments) -> Value:
    """`device.lower()`, `device.startswith("cuda")`."""
    text, given = receiver.value, arguments.positional
    if isinstance(text, str) and not arguments.named and not arguments.has_star:
        if name in OF_TEXT and not given:
            return Constant(getattr(text, name)())
        if name in TESTS_OF_TEXT and len(given) == 1:
            asked = given[0].items if isinstance(given[0], Sequence) else given
            parts = [each.value for each in asked or () if isinstance(each, Constant)]
            if asked and len(parts) == len(asked) and all(isinstance(part, str) for part in parts):
                return Constant(any(getattr(text, name)(part) for part in parts))
    return NonTensor(f"result of {name}")


def call_container_method(frame: Frame, receiver: Sequence | Mapping, name: str, arguments: Arguments) -> Value:
    """The result of a method of a list, dict, tuple or set."""
    given = arguments.positional
    if isinstance(receiver, Mapping):
        inner = join_all(receiver.values())
        if name == "items":
            return Sequence(None, Sequence((NonTensor("key"), inner), join(NonTensor("key"), inner)))
        if name == "values":
            return Sequence(None, inner)
        if name == "keys":
            return Sequence(None, NonTensor("key"))
        if name in ("get", "pop", "setdefault") and given:
            found = receiver.get(given[0].value) if isinstance(given[0], Constant) else inner
            if isinstance(found, Nothing) and (name != "setdefault" or len(given) == 1):
                found = Unknown(Reason.CONTENT)
            if isinstance(given[0], Constant) and all(key != given[0].value for key, _ in receiver.entries):
                found = apply_name_habits(under_a_key(found), str(given[0].value), frame)
            return _instead_of(found, *given[1:2])
        if name == "copy":
            return receiver
        if name in ("to", "cpu", "cuda"):
            return Unknown(Reason.CONTENT)
    else:
        if name in ("pop", "popleft", "__getitem__", "__next__", "next"):  # iterators are read as what they go through
            return receiver.element
        if name in ("copy", "reverse", "sort"):
            return Sequence(None, receiver.element)
        if name in ("index", "count"):
            return NonTensor("int")
        if name == "numpy":
            return NonTensor("numpy")
    return NONE if name in _CHANGING else Unknown(Reason.METHOD)


_CHANGING = frozenset(
    "append extend insert add update clear remove appendleft extendleft discard sort reverse pop".split()
)


def changed_container(frame: Frame, receiver: Sequence | Mapping, name: str, arguments: Arguments) -> Value | None:
    """The container after a method that changes it; None where it stays as it was."""
    given = arguments.positional
    if isinstance(receiver, Sequence):
        if name in ("append", "add", "appendleft") and len(given) == 1:
            return Sequence(None, join(receiver.element, given[0]))
        if name == "insert" and len(given) == 2:
            return Sequence(None, join(receiver.element, given[1]))
        if name in ("extend", "update", "extendleft") and len(given) == 1:
            return Sequence(None, join(receiver.element, item_of(frame, given[0])))
        if name == "clear":
            return Sequence((), NOTHING)
        return Sequence(None, receiver.element) if name in ("pop", "remove", "sort", "reverse", "popleft") else None
    if name == "update":
        for value in (*given, Mapping(arguments.named)):
            receiver = updated(receiver, _dict(frame, Arguments((value,))))
        return receiver
    if name == "setdefault" and len(given) == 2:
        if isinstance(given[0], Constant):
            kept = tuple((key, value) for key, value in receiver.entries if key != given[0].value)
            return Mapping((*kept, (given[0].value, join(receiver.get(given[0].value), given[1]))), receiver.other)
        return Mapping(receiver.entries, join(receiver.other, given[1]))
    return None
