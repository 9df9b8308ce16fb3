"""Copies that one method of a class keeps in its object, and another one may read."""

from __future__ import annotations

import ast

from tonumpy.lazy_typing import TYPE_CHECKING
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
    writers = [each for each in home.functions.items() if left.get(each[1].node)]
    for (cls, name), reader in home.functions.items():
        text = home.source.text_of(reader.node) if writers and name != "__init__" else ""
        held: dict[str, Copies] = {}
        for (owner, writer), helper in writers:
            named = {each: copies for each, copies in left[helper.node].items() if each.partition("[")[0] in text}
            if owner == cls and named and not _is_ordered(home, cls, {writer, name}):
                for attribute, copies in named.items():
                    held[attribute] = held.get(attribute, NO_COPIES) | copies
        if held:
            yield reader, held


def _is_ordered(home: Home, cls: str, methods: set[str]) -> bool:
    """Whether a function that calls both, or the one, waits for something: between the two calls, one would think."""
    for (owner, name), helper in home.functions.items():
        if owner == cls and name in methods:
            continue
        functions = [node.func for node in walk(helper.node) if isinstance(node, ast.Call)]
        called = {each.attr for each in functions if isinstance(each, ast.Attribute) and _may_be_of(cls, owner, each)}
        if methods <= called and any(words.waits(last_name(each) or "") for each in functions):
            return True
    return False


def _may_be_of(cls: str, owner: str, method: ast.Attribute) -> bool:
    """Whether a method that is called in another class, or none, may be of the class."""
    return owner == cls or not (isinstance(method.value, ast.Name) and method.value.id == "self")
