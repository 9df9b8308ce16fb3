"""Copies that a function leaves in a field of an object, and another one may read of an object of unknown class.

Only fields that hold nothing else count: one class of the module has it, and all that is stored there is such a copy,
or None. Where a function in sight has been handed objects that hold copies, what the walk of its caller says holds.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import OBJECTS
from tonumpy.sinks.unfinished import parts
from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from tonumpy.sinks.unfinished.arrival_state import Copies
    from tonumpy.sinks.unfinished.homes import Helper, Home

_NOT_NAMED = frozenset("Any object list List tuple Tuple Sequence Iterable Iterator dict Dict".split())


class Field(NamedTuple):
    """A field of a class, with the copies that functions of these names leave in it."""

    cls: str
    copies: Copies
    writers: frozenset[str]


def read_elsewhere(
    home: Home,
    left: Mapping[ast.AST, Mapping[str, Copies]],
    made: Mapping[ast.AST, Mapping[ast.Call, Mapping[str, Copies]]],
    handed: Collection[ast.AST],
) -> Iterator[tuple[Helper, dict[str, Copies]]]:
    """The functions that read such a field of a parameter, with the copies that parameters hold then. `left` are the
    copies in attributes of objects, `made` those in records, by the functions that end with them on their way."""
    fields = _fields(home, left, made)
    for (owner, _), reader in home.functions.items() if fields else ():
        if reader.node in handed:
            continue
        text = home.source.text_of(reader.node)
        held: dict[str, Copies] = {}
        for name, field in fields.items():
            if owner != field.cls and f".{name}" in text:
                for each in _parameters(reader, field.cls):
                    held[each] = held.get(each, NO_COPIES) | parts.in_field(field.copies, name)
        if held:
            yield reader, held


def read_by_name(
    home: Home, left: Mapping[ast.AST, Mapping[str, Copies]]
) -> Iterator[tuple[Helper, dict[str, Copies]]]:
    """The functions that name what others leave copies in, if no function in sight calls both."""
    module = (home.source.tree,)
    writers = [each for each in home.functions.values() if left.get(each.node)]
    for reader in home.functions.values() if writers else ():
        text = home.source.text_of(reader.node)
        held: dict[str, Copies] = {}
        for writer in writers:
            for name, copies in left[writer.node].items():
                root = name.partition("[")[0].partition(".")[0]
                is_read = root != "self" and root in text and home.is_shared(name, writer.scopes, module)
                if is_read and home.is_shared(name, reader.scopes, module) and not _are_called(home, writer, reader):
                    held[name] = held.get(name, NO_COPIES) | copies
        if held:
            yield reader, held


def _are_called(home: Home, writer: Helper, reader: Helper) -> bool:
    """Whether one function, or the module, calls both, or the reader the writer: its walk tells."""
    of_writer = home.callers.get(writer.node.name, set())
    return reader.node in of_writer or not of_writer.isdisjoint(home.callers.get(reader.node.name, set()))


def _parameters(reader: Helper, cls: str) -> Iterator[str]:
    """Those that may be objects of a class, or hold some."""
    arguments = reader.node.args
    for each in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        named = {_word_of(node) for node in walk(each.annotation)} if each.annotation is not None else set()
        if each.arg not in OBJECTS and (not named or any(cls in name for name in named) or named <= _NOT_NAMED):
            yield each.arg


def _word_of(node: ast.AST) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return (last_name(node) or "") if isinstance(node, ast.expr) else ""


def _fields(
    home: Home,
    left: Mapping[ast.AST, Mapping[str, Copies]],
    made: Mapping[ast.AST, Mapping[ast.Call, Mapping[str, Copies]]],
) -> dict[str, Field]:
    found: dict[str, list[Field]] = {}
    for (cls, method), helper in home.functions.items():
        for path, copies in left.get(helper.node, {}).items():
            name = path.removeprefix("self.")
            if cls and name.isidentifier():
                found.setdefault(name, []).append(Field(cls, copies, frozenset((method,))))
    for function, calls in made.items():
        writer = frozenset((function.name,)) if isinstance(function, FUNCTIONS) else frozenset[str]()
        for call, fields in calls.items():
            for name, copies in fields.items():
                if not copies:
                    continue
                found.setdefault(name, []).append(Field(last_name(call.func) or "", copies, writer))
    joined = {name: _joined(each) for name, each in found.items() if len({field.cls for field in each}) == 1}
    calls_made = {call: fields for calls in made.values() for call, fields in calls.items()}
    kept = {name: each for name, each in joined.items() if _holds_copies_alone(home, name, each, calls_made)}
    kept = {name: each for name, each in kept.items() if not _is_waited_for(home, each.writers)}
    return {**kept, **_given_by_properties(home, kept)}


def _joined(fields: list[Field]) -> Field:
    copies = NO_COPIES.union(*(each.copies for each in fields))
    return Field(fields[0].cls, copies, frozenset[str]().union(*(each.writers for each in fields)))


def _holds_copies_alone(home: Home, name: str, field: Field, made: Mapping[ast.Call, Mapping[str, Copies]]) -> bool:
    if any(name in fields for cls, fields in home.records.fields.items() if cls != field.cls):
        return False
    for (owner, _), helper in home.functions.items():
        for path, values in home.receivers.bound_in(helper.node).items():
            if path.endswith(f".{name}"):
                is_of_other = path == f"self.{name}" and owner != field.cls
                if is_of_other or not all(_is_copy_or_none(home, each, helper) for each in values):
                    return False
    if field.cls not in home.records.fields:
        return True
    calls = (
        each for each in walk(home.source.tree) if isinstance(each, ast.Call) and last_name(each.func) == field.cls
    )
    return all(_is_given_copy_or_none(home, each, name, made) for each in calls)


def _is_copy_or_none(home: Home, value: ast.expr | None, helper: Helper) -> bool:
    if value is None or (isinstance(value, ast.Constant) and value.value is None):
        return value is not None
    is_copy = isinstance(value, ast.Call) and home.spellings.source_of(value, helper.scopes) is not None
    return is_copy or home.spellings.is_pinned(value)


def _is_given_copy_or_none(
    home: Home, call: ast.Call, name: str, made: Mapping[ast.Call, Mapping[str, Copies]]
) -> bool:
    given = dict(home.records.given(call) or ()).get(name)
    return given is None or (isinstance(given, ast.Constant) and given.value is None) or name in made.get(call, {})


def _is_waited_for(home: Home, writers: frozenset[str]) -> bool:
    """Whether a function that calls one of them waits for something."""
    for (_, name), helper in home.functions.items():
        if name not in writers:
            called = home.called_in(helper.node)
            if not called.isdisjoint(writers) and any(map(words.waits, called)):
                return True
    return False


def _given_by_properties(home: Home, fields: Mapping[str, Field]) -> dict[str, Field]:
    """The same under the names of properties that give no more than a field."""
    found = {}
    for (cls, name), helper in home.functions.items():
        last = helper.node.body[-1]
        value = last.value if name in home.receivers.properties and isinstance(last, ast.Return) else None
        if isinstance(value, ast.Attribute) and value.attr in fields and fields[value.attr].cls == cls:
            found[name] = fields[value.attr]
    return found
