"""Python's builtins, and the methods of lists and dicts."""

from __future__ import annotations

from collections.abc import Callable

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.members import attribute_of, item_of
from tonumpy.engine.knowledge.operands import combine
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join, join_all, sequence_of, under_a_key, updated
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members

_COPIES = frozenset("list tuple set frozenset sorted reversed iter".split())
_PLAIN = frozenset(
    "len int float str bool bytes repr isinstance issubclass hasattr id hash round divmod ord chr hex oct bin callable"
    " input open format all any complex bytearray memoryview dir slice object".split()
)
_CHANGING = frozenset("append extend insert add update clear remove appendleft extendleft discard sort reverse".split())


def call_builtin(frame: Frame, name: str, arguments: v.Arguments) -> v.Value:
    """The result of calling a builtin function or class."""
    given = arguments.positional
    if name in _PLAIN:
        return v.NonTensor(name)
    if name in _GIVEN_NOTHING:
        return _GIVEN_NOTHING[name]
    if name == "dict":
        return _dict(frame, arguments)
    if not given and arguments.has_star and name == "zip":
        return _unzipped(frame, arguments.starred)
    if not given:
        return v.Sequence((), v.EMPTY) if name in _COPIES and not arguments.has_star else v.Unknown(Reason.CALL)
    found = _BUILTINS[name](frame, given) if name in _BUILTINS else None
    if found is not None:
        return found
    if name not in _COPIES:
        return frame.fresh(Reason.CALL)
    first = given[0]
    if isinstance(first, v.Sequence):
        return v.Sequence(first.items if name in ("list", "tuple", "iter") else None, first.element)
    return v.Sequence(None, item_of(frame, first))


def _unzipped(frame: Frame, rows: v.Value) -> v.Value:
    """The result of `zip(*rows)`."""
    if isinstance(rows, v.Sequence) and rows.items is not None:
        return sequence_of([v.Sequence(None, each) for each in rows.items])
    return v.Sequence(None, v.Sequence(None, item_of(frame, rows)))


def _next(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    return join_all(each for each in (item_of(frame, given[0]), *given[1:]) if each != v.NONE)


def _extreme(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    return join_all(each for each in ([item_of(frame, given[0])] if len(given) == 1 else given) if each != v.NONE)


def _zip(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    return v.Sequence(None, sequence_of([item_of(frame, each) for each in given]))


def _enumerate(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    return v.Sequence(None, sequence_of((v.NonTensor("int"), item_of(frame, given[0]))))


def _map(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    function, *rest = given
    if len(rest) == 1 and isinstance(rest[0], v.Sequence) and rest[0].items is not None and len(rest[0].items) <= 8:
        return sequence_of([frame.call(function, v.Arguments((each,))) for each in rest[0].items])
    return v.Sequence(None, frame.call(function, v.Arguments(tuple(item_of(frame, each) for each in rest))))


def _filter(frame: Frame, given: tuple[v.Value, ...]) -> v.Value | None:
    return v.Sequence(None, item_of(frame, given[1])) if len(given) == 2 else None


def _sum(frame: Frame, given: tuple[v.Value, ...]) -> v.Value:
    return combine((item_of(frame, given[0]), *given[1:2]), frame.mode)


def _getattr(frame: Frame, given: tuple[v.Value, ...]) -> v.Value | None:
    if len(given) < 2:
        return None
    names = [each.value for each in members(given[1]) if isinstance(each, v.Constant) and isinstance(each.value, str)]
    if len(names) != len(members(given[1])):
        return None
    return _instead_of(join_all(attribute_of(frame, given[0], each) for each in names), *given[2:3])


_GIVEN_NOTHING: dict[str, v.Value] = {
    "print": v.NONE,
    "range": v.Sequence(None, v.NonTensor("int")),
    "vars": v.Mapping((), v.Unknown(Reason.ATTRIBUTE)),
}
_BUILTINS: dict[str, Callable[[Frame, tuple[v.Value, ...]], v.Value | None]] = {
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
    "type": lambda _, given: given[0].cls if isinstance(given[0], v.Instance) else v.SOME_CLASS,
    "staticmethod": lambda _, given: given[0],
}


def _instead_of(found: v.Value, default: v.Value = v.NOTHING) -> v.Value:
    is_option = isinstance(default, v.Constant) and v.is_number(default) and default.value != 0
    return v.NonTensor("number") if is_option and isinstance(found, v.Unknown) else join(found, default)


def _dict(frame: Frame, arguments: v.Arguments) -> v.Value:
    entries: list[tuple[object, v.Value]] = []
    other: v.Value = v.NOTHING
    for value in arguments.positional:
        if isinstance(value, v.Mapping):
            entries, other = list(value.entries), value.other
        else:
            pair = item_of(frame, value)
            items = pair.items if isinstance(pair, v.Sequence) else None
            other = join(other, items[1] if items is not None and len(items) == 2 else item_of(frame, pair))
    if arguments.has_star:
        other = join(other, v.Unknown(Reason.CONTENT))
    return updated(v.Mapping(tuple(entries), other), v.Mapping(arguments.named))


def call_collection(frame: Frame, name: str, arguments: v.Arguments) -> v.Value:
    """The result of calling a class of the module collections."""
    if name == "OrderedDict":
        return _dict(frame, arguments)
    if name == "defaultdict":
        factory = arguments.get(0, "default_factory")
        made = v.NOTHING if factory in (None, v.NONE) else frame.call(factory, v.Arguments(()))
        return v.Mapping((), made)
    if name == "deque":
        return call_builtin(frame, "list", v.Arguments(arguments.positional[:1]))
    return v.NonTensor(name) if name == "Counter" else v.Unknown(Reason.CALL)


def call_method(frame: Frame, receiver: v.Sequence | v.Mapping, name: str, arguments: v.Arguments) -> v.Value:
    """The result of a method of a list, dict, tuple or set."""
    found = (
        _call_of_dict(frame, receiver, name, arguments.positional)
        if isinstance(receiver, v.Mapping)
        else _call_of_list(receiver, name)
    )
    if found is not None:
        return found
    if name == "numpy":
        return v.NonTensor("numpy")
    return v.NONE if name in _CHANGING else v.Unknown(Reason.METHOD)


def _call_of_list(receiver: v.Sequence, name: str) -> v.Value | None:
    if name in ("pop", "popleft", "__getitem__", "__next__"):
        return receiver.element
    if name in ("copy", "reverse", "sort"):
        return v.Sequence(None, receiver.element)
    return v.NonTensor("int") if name in ("index", "count") else None


def _call_of_dict(frame: Frame, receiver: v.Mapping, name: str, given: tuple[v.Value, ...]) -> v.Value | None:
    if name in ("get", "pop", "setdefault") and given:
        return _taken_from(frame, receiver, name, given)
    if name in ("items", "keys", "values"):
        pair = v.NonTensor("key"), join_all(receiver.values())
        items = v.Sequence(pair, join_all(pair)) if name == "items" else pair[name == "values"]
        return v.Sequence(None, items)
    if name == "copy":
        return receiver
    return v.Unknown(Reason.CONTENT) if name in ("to", "cpu", "cuda") else None


def _taken_from(frame: Frame, receiver: v.Mapping, name: str, given: tuple[v.Value, ...]) -> v.Value:
    key = given[0].value if isinstance(given[0], v.Constant) else None
    found = join_all(receiver.values()) if key is None else receiver.get(key)
    if isinstance(found, v.Nothing) and (name != "setdefault" or len(given) == 1):
        found = v.Unknown(Reason.CONTENT)
    if key is not None and all(known != key for known, _ in receiver.entries):
        found = frame.named(under_a_key(found), str(key))
    return _instead_of(found, *given[1:2])


def changed(frame: Frame, receiver: v.Sequence | v.Mapping, name: str, arguments: v.Arguments) -> v.Value | None:
    """The container after a method that changes it; None if the method does not."""
    given = arguments.positional
    if isinstance(receiver, v.Sequence):
        return _changed_list(frame, receiver, name, given)
    if name == "update":
        for value in (*given, v.Mapping(arguments.named)):
            receiver = updated(receiver, _dict(frame, v.Arguments((value,))))
        return receiver
    if name != "setdefault" or len(given) != 2:
        return None
    key, value = given
    if not isinstance(key, v.Constant):
        return v.Mapping(receiver.entries, join(receiver.other, value))
    kept = tuple((known, held) for known, held in receiver.entries if known != key.value)
    return v.Mapping((*kept, (key.value, join(receiver.get(key.value), value))), receiver.other)


_ADDED = {"append": 1, "add": 1, "appendleft": 1, "insert": 2}  # how many arguments they take, the item last
_ADDED_FROM = ("extend", "update", "extendleft")


def _changed_list(frame: Frame, receiver: v.Sequence, name: str, given: tuple[v.Value, ...]) -> v.Value | None:
    if _ADDED.get(name) == len(given):
        return v.Sequence(None, join(receiver.element, given[-1]))
    if name in _ADDED_FROM and len(given) == 1:
        return v.Sequence(None, join(receiver.element, item_of(frame, given[0])))
    if name == "clear":
        return v.Sequence((), v.EMPTY)
    return v.Sequence(None, receiver.element) if name in ("pop", "remove", "sort", "reverse", "popleft") else None


def stored(container: v.Value, index: v.Value, value: v.Value) -> v.Value:
    """The container after `container[index] = value`."""
    if isinstance(container, v.Mapping):
        if isinstance(index, v.Constant):
            kept = tuple((key, entry) for key, entry in container.entries if key != index.value)
            return v.Mapping((*kept, (index.value, value)), container.other)
        return v.Mapping(container.entries, join(container.other, value))
    if isinstance(container, v.Sequence):
        return v.Sequence(None, join(container.element, value))
    return container
