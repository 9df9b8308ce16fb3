"""Copies that one method of a class keeps in its object, and another one may read."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.sinks.unfinished import stream_words as words
from tonumpy.sinks.unfinished.arrival_state import NO_COPIES, Copies
from tonumpy.text.names import last_name
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tonumpy.sinks.unfinished.homes import Helper, Home


def between_methods(
    home: Home, left: Mapping[ast.AST, Mapping[str, Copies]]
) -> Iterator[tuple[Helper, dict[str, Copies]]]:
    """The methods that name an attribute which is left with copies on their way, with the copies that they may meet."""
    writers = {
        (_class_around(each), name): {path: held for path, held in left[each.node].items() if path.startswith("self.")}
        for (_, name), each in home.functions.items()
        if left.get(each.node)
    }
    for (cls, name), reader in home.functions.items():
        if writers and name != "__init__":
            held = _met_by(home, reader, cls, name, writers)
            if held:
                yield reader, held


def _class_around(function: Helper) -> str:
    return next((each.name for each in reversed(function.scopes) if isinstance(each, ast.ClassDef)), "")


def _met_by(
    home: Home, reader: Helper, cls: str, name: str, writers: Mapping[tuple[str, str], Mapping[str, Copies]]
) -> dict[str, Copies]:
    """The copies that methods of its class leave in attributes which it names, if nothing waits between the two."""
    text = home.source.text_of(reader.node)
    held: dict[str, Copies] = {}
    for (owner, writer), left in writers.items():
        named = {each: copies for each, copies in left.items() if each.partition("[")[0] in text}
        if owner == cls and named and not _is_ordered(home, cls, {writer, name}):
            for attribute, copies in named.items():
                held[attribute] = held.get(attribute, NO_COPIES) | copies
    return held


def _is_ordered(home: Home, cls: str, methods: set[str]) -> bool:
    """Whether a function that calls both, or the one, waits for something: between the two calls, one would think."""
    for (owner, name), helper in home.functions.items():
        if (owner != cls or name not in methods) and _calls_and_waits(helper, owner, cls, methods):
            return True
    return False


def _calls_and_waits(caller: Helper, owner: str, cls: str, methods: set[str]) -> bool:
    """Whether a function, of a class `owner` or none, calls these methods of the class, and what waits."""
    functions = [node.func for node in walk(caller.node) if isinstance(node, ast.Call)]
    called = {each.attr for each in functions if isinstance(each, ast.Attribute) and _may_be_of(cls, owner, each)}
    return methods <= called and any(words.waits(last_name(each) or "") for each in functions)


def _may_be_of(cls: str, owner: str, method: ast.Attribute) -> bool:
    """Whether a method that is called in another class, or none, may be of the class."""
    return owner == cls or not (isinstance(method.value, ast.Name) and method.value.id == "self")
