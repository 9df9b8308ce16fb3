"""Python's builtins, and the methods of lists and dicts."""

from __future__ import annotations

from collections.abc import Callable

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.members import attribute_of, item_of
from tonumpy.engine.knowledge.operands import combine
from tonumpy.engine.values.joins import join, join_all, sequence_of, under_a_key, updated
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import (
    EMPTY,
    NONE,
    NOTHING,
    SOME_CLASS,
    Arguments,
    Constant,
    Instance,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Unknown,
    Value,
    is_number,
)

_COPIES = frozenset("list tuple set frozenset sorted reversed iter".split())
_PLAIN = frozenset(
    "len int float str bool bytes repr isinstance issubclass hasattr id hash round divmod ord chr hex oct bin callable"
    " input open format all any complex bytearray memoryview dir slice object".split()
)
_CHANGING = frozenset("append extend insert add update clear remove appendleft extendleft discard sort reverse".split())


def call_builtin(frame: Frame, name: str, arguments: Arguments) -> Value:
    """A builtin function or class."""
    given = arguments.positional
    if name in _PLAIN:
        return NonTensor(name)
    if name in _GIVEN_NOTHING:
        return _GIVEN_NOTHING[name]
    if name == "dict":
        return _dict(frame, arguments)
    if not given and arguments.has_star and name == "zip":
        return _unzipped(frame, arguments.starred)
    if not given:
        return Sequence((), EMPTY) if name in _COPIES and not arguments.has_star else Unknown(Reason.CALL)
    found = _BUILTINS[name](frame, given) if name in _BUILTINS else None
    if found is not None:
        return found
    if name not in _COPIES:
        return frame.fresh(Reason.CALL)
    first = given[0]
    if isinstance(first, Sequence):
        return Sequence(first.items if name in ("list", "tuple", "iter") else None, first.element)
    return Sequence(None, item_of(frame, first))


def _unzipped(frame: Frame, rows: Value) -> Value:
    """`zip(*rows)`."""
    if isinstance(rows, Sequence) and rows.items is not None:
        return sequence_of([Sequence(None, each) for each in rows.items])
    return Sequence(None, Sequence(None, item_of(frame, rows)))


def _next(frame: Frame, given: tuple[Value, ...]) -> Value:
    return join_all(each for each in (item_of(frame, given[0]), *given[1:]) if each != NONE)


def _extreme(frame: Frame, given: tuple[Value, ...]) -> Value:
    return join_all(each for each in ([item_of(frame, given[0])] if len(given) == 1 else given) if each != NONE)


def _zip(frame: Frame, given: tuple[Value, ...]) -> Value:
    return Sequence(None, sequence_of([item_of(frame, each) for each in given]))


def _enumerate(frame: Frame, given: tuple[Value, ...]) -> Value:
    return Sequence(None, sequence_of((NonTensor("int"), item_of(frame, given[0]))))


def _map(frame: Frame, given: tuple[Value, ...]) -> Value:
    function, *rest = given
    if len(rest) == 1 and isinstance(rest[0], Sequence) and rest[0].items is not None and len(rest[0].items) <= 8:
        return sequence_of([frame.call(function, Arguments((each,))) for each in rest[0].items])
    return Sequence(None, frame.call(function, Arguments(tuple(item_of(frame, each) for each in rest))))


def _filter(frame: Frame, given: tuple[Value, ...]) -> Value | None:
    return Sequence(None, item_of(frame, given[1])) if len(given) == 2 else None


def _sum(frame: Frame, given: tuple[Value, ...]) -> Value:
    return combine((item_of(frame, given[0]), *given[1:2]), frame.mode)


def _getattr(frame: Frame, given: tuple[Value, ...]) -> Value | None:
    if len(given) < 2:
        return None
    names = [each.value for each in members(given[1]) if isinstance(each, Constant) and isinstance(each.value, str)]
    if len(names) != len(members(given[1])):
        return None
    return _instead_of(join_all(attribute_of(frame, given[0], each) for each in names), *given[2:3])


_GIVEN_NOTHING: dict[str, Value] = {
    "print": NONE,
    "range": Sequence(None, NonTensor("int")),
    "vars": Mapping((), Unknown(Reason.ATTRIBUTE)),
}
_BUILTINS: dict[str, Callable[[Frame, tuple[Value, ...]], Value | None]] = {
    "next": _next,
    "min": _extreme,
    "max": _extreme,
    "zip": _zip,
    "enumerate": _enumerate,
    "map": _map,
    "filter": _filter,
    "sum": _sum,
    "abs": lambda frame, given: combine(given, frame.mode),
    "pow": lambda frame, given: combine(given, frame.mode),
    "getattr": _getattr,
    "type": lambda _, given: given[0].cls if isinstance(given[0], Instance) else SOME_CLASS,
    "staticmethod": lambda _, given: given[0],
}


def _instead_of(found: Value, default: Value = NOTHING) -> Value:
    is_option = isinstance(default, Constant) and is_number(default) and default.value != 0
    return NonTensor("number") if is_option and isinstance(found, Unknown) else join(found, default)


def _dict(frame: Frame, arguments: Arguments) -> Value:
    entries: list[tuple[object, Value]] = []
    other: Value = NOTHING
    for value in arguments.positional:
        if isinstance(value, Mapping):
            entries, other = list(value.entries), value.other
        else:
            pair = item_of(frame, value)
            items = pair.items if isinstance(pair, Sequence) else None
            other = join(other, items[1] if items is not None and len(items) == 2 else item_of(frame, pair))
    if arguments.has_star:
        other = join(other, Unknown(Reason.CONTENT))
    return updated(Mapping(tuple(entries), other), Mapping(arguments.named))


def call_collection(frame: Frame, name: str, arguments: Arguments) -> Value:
    """A class of the module collections."""
    if name == "OrderedDict":
        return _dict(frame, arguments)
    if name == "defaultdict":
        factory = arguments.get(0, "default_factory")
        made = NOTHING if factory in (None, NONE) else frame.call(factory, Arguments(()))
        return Mapping((), made)
    if name == "deque":
        return call_builtin(frame, "list", Arguments(arguments.positional[:1]))
    return NonTensor(name) if name == "Counter" else Unknown(Reason.CALL)


def call_method(frame: Frame, receiver: Sequence | Mapping, name: str, arguments: Arguments) -> Value:
    """The result of a method of a list, dict, tuple or set."""
    found = (
        _call_of_dict(frame, receiver, name, arguments.positional)
        if isinstance(receiver, Mapping)
        else _call_of_list(receiver, name)
    )
    if found is not None:
        return found
    if name == "numpy":
        return NonTensor("numpy")
    return NONE if name in _CHANGING else Unknown(Reason.METHOD)


def _call_of_list(receiver: Sequence, name: str) -> Value | None:
    if name in ("pop", "popleft", "__getitem__", "__next__"):
        return receiver.element
    if name in ("copy", "reverse", "sort"):
        return Sequence(None, receiver.element)
    return NonTensor("int") if name in ("index", "count") else None


def _call_of_dict(frame: Frame, receiver: Mapping, name: str, given: tuple[Value, ...]) -> Value | None:
    if name in ("get", "pop", "setdefault") and given:
        return _taken_from(frame, receiver, name, given)
    if name in ("items", "keys", "values"):
        pair = NonTensor("key"), join_all(receiver.values())
        items = Sequence(pair, join_all(pair)) if name == "items" else pair[name == "values"]
        return Sequence(None, items)
    if name == "copy":
        return receiver
    return Unknown(Reason.CONTENT) if name in ("to", "cpu", "cuda") else None


def _taken_from(frame: Frame, receiver: Mapping, name: str, given: tuple[Value, ...]) -> Value:
    key = given[0].value if isinstance(given[0], Constant) else None
    found = join_all(receiver.values()) if key is None else receiver.get(key)
    if isinstance(found, Nothing) and (name != "setdefault" or len(given) == 1):
        found = Unknown(Reason.CONTENT)
    if key is not None and all(known != key for known, _ in receiver.entries):
        found = frame.named(under_a_key(found), str(key))
    return _instead_of(found, *given[1:2])


def changed(frame: Frame, receiver: Sequence | Mapping, name: str, arguments: Arguments) -> Value | None:
    """The container after a method that changes it; None where it stays as it was."""
    given = arguments.positional
    if isinstance(receiver, Sequence):
        return _changed_list(frame, receiver, name, given)
    if name == "update":
        for value in (*given, Mapping(arguments.named)):
            receiver = updated(receiver, _dict(frame, Arguments((value,))))
        return receiver
    if name != "setdefault" or len(given) != 2:
        return None
    key, value = given
    if not isinstance(key, Constant):
        return Mapping(receiver.entries, join(receiver.other, value))
    kept = tuple((known, held) for known, held in receiver.entries if known != key.value)
    return Mapping((*kept, (key.value, join(receiver.get(key.value), value))), receiver.other)


_ADDED = {"append": 1, "add": 1, "appendleft": 1, "insert": 2}  # how many arguments they take, the item last
_ADDED_FROM = ("extend", "update", "extendleft")


def _changed_list(frame: Frame, receiver: Sequence, name: str, given: tuple[Value, ...]) -> Value | None:
    if _ADDED.get(name) == len(given):
        return Sequence(None, join(receiver.element, given[-1]))
    if name in _ADDED_FROM and len(given) == 1:
        return Sequence(None, join(receiver.element, item_of(frame, given[0])))
    if name == "clear":
        return Sequence((), EMPTY)
    return Sequence(None, receiver.element) if name in ("pop", "remove", "sort", "reverse", "popleft") else None


def stored(container: Value, index: Value, value: Value) -> Value:
    """The container after `container[index] = value`."""
    if isinstance(container, Mapping):
        if isinstance(index, Constant):
            kept = tuple((key, entry) for key, entry in container.entries if key != index.value)
            return Mapping((*kept, (index.value, value)), container.other)
        return Mapping(container.entries, join(container.other, value))
    if isinstance(container, Sequence):
        return Sequence(None, join(container.element, value))
    return container
