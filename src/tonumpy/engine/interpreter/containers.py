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
    without_arguments = _GIVEN_NOTHING.get(name)
    if without_arguments is not None:
        return without_arguments
    if name == "dict":
        return _dict(frame, arguments)
    if name == "zip" and arguments.has_star and not given:
        row = arguments.starred
        if isinstance(row, Sequence) and row.items is not None:
            return sequence_of([Sequence(None, each) for each in row.items])
        return Sequence(None, Sequence(None, item_of(frame, row)))
    if not given:
        return Sequence((), EMPTY) if name in _COPIES and not arguments.has_star else Unknown(Reason.CALL)
    caller = _BUILTINS.get(name)
    found = None if caller is None else caller(frame, given)
    if found is not None:
        return found
    if name in _COPIES:
        first = given[0]
        if isinstance(first, Sequence):
            return Sequence(first.items if name in ("list", "tuple", "iter") else None, first.element)
        return Sequence(None, item_of(frame, first))
    return Unknown(Reason.CALL, None, False if frame.mode is False else None)


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
    given = arguments.positional
    if isinstance(receiver, Mapping):
        inner = join_all(receiver.values())
        if name == "items":
            pair = (NonTensor("key"), inner)
            return Sequence(None, Sequence(pair, join_all(pair)))
        if name == "values":
            return Sequence(None, inner)
        if name == "keys":
            return Sequence(None, NonTensor("key"))
        if name in ("get", "pop", "setdefault") and given:
            key = given[0].value if isinstance(given[0], Constant) else None
            found = receiver.get(key) if key is not None else inner
            if isinstance(found, Nothing) and (name != "setdefault" or len(given) == 1):
                found = Unknown(Reason.CONTENT)
            if key is not None and all(known != key for known, _ in receiver.entries):
                found = frame.named(under_a_key(found), str(key))
            return _instead_of(found, *given[1:2])
        if name == "copy":
            return receiver
        if name in ("to", "cpu", "cuda"):
            return Unknown(Reason.CONTENT)
    else:
        if name in ("pop", "popleft", "__getitem__", "__next__"):
            return receiver.element
        if name in ("copy", "reverse", "sort"):
            return Sequence(None, receiver.element)
        if name in ("index", "count"):
            return NonTensor("int")
    if name == "numpy":
        return NonTensor("numpy")
    return NONE if name in _CHANGING else Unknown(Reason.METHOD)


def changed(frame: Frame, receiver: Sequence | Mapping, name: str, arguments: Arguments) -> Value | None:
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
            return Sequence((), EMPTY)
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
