"""Parses a text, but the long functions and classes in it only when they are first looked into.

This saves memory, as modules that files follow are kept: 134 MB in place of 200 at the most for diffusers, 67 in place
of 85 for detectron2; no time. The tree is the one that `ast.parse` gives, node for node and place for place; only an
error inside a function shows no earlier than the function is looked into.

Where somebody watches, each definition that is looked into is told, and may be hidden again: it is told again then when
it is looked into next, but not parsed again. So the cache knows which definitions of a module a result rests on: after
an edit in one function of detectron2's config.py a run takes 0.1 seconds of CPU, and 4.3 where the whole module counts.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.text.long_strings import comment_in_line, long_strings

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Watch = Callable[[ast.stmt], None]

MIN_LENGTH = 400  # characters of a definition that is worth the while
_METHODS = "    "  # the indentation of the methods that may be left out; those with another are parsed at once


class _Part(NamedTuple):
    """A text, or a definition in it: from offset to offset, with the row and the indentation where it starts.

    `parse` is given the text of a definition behind as many newlines as give its nodes their rows. Where it gives None,
    the definition is taken for an empty one; what it raises is raised where the definition is looked into. `watch` is
    told of a definition that is looked into.
    """

    text: str
    parse: Callable[[str], ast.Module | None]
    watch: Watch | None
    start: int
    stop: int
    row: int = 1
    indent: str = ""


class _Stub(NamedTuple):
    """A definition that is left out at first, what stands in its place, and where its last token ends."""

    part: _Part
    content: str
    end_row: int
    end_column: int  # in UTF-8 bytes


def parse_on_demand(
    text: str, parse: Callable[[str], ast.Module | None], watch: Watch | None = None
) -> ast.Module | None:
    """The tree; None where the text cannot be taken apart with certainty, or not be parsed without its definitions.

    `parse` and `watch` are described under `_Part`.
    """
    return None if "\r" in text or "\f" in text else _outline(_Part(text, parse, watch, 0, len(text)), "")


def _outline(part: _Part, indent: str) -> ast.Module | None:
    """The tree of a part, the definitions with this indentation in it deferred."""
    stubs = {stub.part.row: stub for stub in _stubs_in(part, indent)}
    if not stubs:
        return None
    pieces = ["\n" * (part.row - 1)]
    at = part.start
    for left_out, content, *_ in stubs.values():
        newlines = part.text.count("\n", left_out.start, left_out.stop)
        pieces += (part.text[at : left_out.start], content, "\n" * newlines)
        at = left_out.stop
    pieces.append(part.text[at : part.stop])
    try:
        tree = ast.parse("".join(pieces))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    holder = tree.body[0] if indent else tree
    assert isinstance(holder, (ast.Module, ast.ClassDef))
    nodes = [node for node in holder.body if node.lineno in stubs and type(node) in _DEFERRED]
    if len(nodes) != len(stubs):
        return None
    for node in nodes:
        stub = stubs[node.lineno]
        node.end_lineno, node.end_col_offset = stub.end_row, stub.end_column
        vars(node)["_part"] = stub.part
        node.__class__ = _DEFERRED[type(node)]
    return tree


def look_into(node: ast.AST) -> None:
    """Make a deferred node the one that ast gives; others stay as they are."""
    plain = PLAIN.get(type(node)) if isinstance(node, ast.stmt) else None
    if plain is None or not isinstance(node, ast.stmt):
        return
    state = vars(node)
    part: _Part = state["_part"]
    if "_is_hidden" in state:
        del state["_is_hidden"]
        node.__class__ = plain
    else:
        tree = _outline(part, _METHODS) if plain is ast.ClassDef and not part.indent else None
        whole = tree.body[0] if tree else _definition(part)
        node.__class__ = plain
        if part.watch is None:
            del state["_part"]
        if whole is not None:
            state.update({field: value for field, value in vars(whole).items() if field not in _KNOWN})
    if part.watch is not None:
        part.watch(node)


def hide_again(nodes: Iterable[ast.stmt]) -> None:
    """Have those that were told to have been looked into be told once more, when they are looked into next."""
    for node in nodes:
        if type(node) in _DEFERRED:
            vars(node)["_is_hidden"] = True
            node.__class__ = _DEFERRED[type(node)]


def watched_in(body: list[ast.stmt]) -> list[ast.stmt]:
    """The definitions in a body that are told where they are looked into."""
    return [node for node in body if "_part" in vars(node)]


def part_of(node: ast.stmt) -> tuple[int, int]:
    """The offsets of a watched definition and of the place where the next begins, or what is behind it."""
    part: _Part = vars(node)["_part"]
    return part.start, part.stop


def _definition(part: _Part) -> ast.stmt | None:
    text = part.text[part.start - len(part.indent) : part.stop]
    if not part.indent:
        tree = part.parse("\n" * (part.row - 1) + text)
        return tree.body[0] if tree else None
    tree = part.parse(f"{(part.row - 2) * chr(10)}class _:\n{text}")
    if tree is None:
        return None
    (around,) = tree.body
    assert isinstance(around, ast.ClassDef)
    return around.body[0]


def _stubs_in(part: _Part, indent: str) -> list[_Stub]:
    text, stubs = part.text, []
    row, counted = part.row, part.start
    for match, stop, code in _definitions(part, indent):
        start = match.start("kind")
        end = _end_of_code(text, start, stop, code) if stop - start >= MIN_LENGTH else None
        if end is None or end - start < MIN_LENGTH or text[end - 1] in ";\\":
            continue  # a semicolon is no part of a definition for ast, and a backslash draws the next line to it
        row += text.count("\n", counted, start)
        counted = start
        content = f"{match['kind']} {match['name']}{':' if match['kind'] == 'class' else '():'}0"
        end_row = row + text.count("\n", start, end)
        last_line = text[text.rfind("\n", 0, end) + 1 : end]
        left_out = part._replace(start=start, stop=stop, row=row, indent=indent)
        stubs.append(_Stub(left_out, content, end_row, len(last_line.encode(errors="replace"))))
    return stubs


@cache
def _beginning(indent: str) -> re.Pattern[str]:
    """The beginning of a line that is indented no further, and is no end of a bracket, with the definition that may
    stand there."""
    definition = r"(?P<kind>(?:async )?def|class) (?P<name>\w+)(?=[ ]*[(:\[])"
    return re.compile(rf"\n[ ]{{0,{len(indent)}}}(?=[^\s#)\]}}])(?:(?<=\n{indent}){definition})?")


def _definitions(part: _Part, indent: str) -> list[tuple[re.Match[str], int, int]]:
    """Those with this indentation: each with the offset where it stops, and one behind the last long string in it.

    None at all where it is uncertain what is code and what a string.
    """
    strings = long_strings(part.text, part.start, part.stop)
    if strings is None:
        return []
    found = []
    definition: re.Match[str] | None = None
    code = part.start
    for start, stop in (*strings, (part.stop, part.stop)):
        for match in _beginning(indent).finditer(part.text, code, min(start + 1, part.stop)):
            place = match.start()
            if place and part.text[place - 1] == "\\":
                return []
            if definition is not None:
                found.append((definition, place + 1, max(code, definition.start("kind"))))
            definition = match if match["kind"] else None
        code = stop
    if definition is not None:
        found.append((definition, part.stop, max(strings[-1][1] if strings else 0, definition.start("kind"))))
    return found


def _end_of_code(text: str, start: int, stop: int, code: int) -> int | None:
    """Where the last token ends that is no comment; behind `code` stands no long string. None where uncertain."""
    end = _end_of_text(text, start, stop)
    while True:
        comment = comment_in_line(text, max(text.rfind("\n", code, end) + 1, code), end)
        if comment is None or comment == -1:
            return None if comment is None else end
        end = _end_of_text(text, start, comment)


def _end_of_text(text: str, start: int, stop: int) -> int:
    """Without the blanks at its end, and without a look at the rest."""
    while stop > start and text[stop - 1].isspace():
        stop -= 1
    return stop


# What is known of a definition before it is looked into.
_KNOWN = frozenset("name decorator_list lineno col_offset end_lineno end_col_offset __class__ __dict__ _fields".split())


def _attribute(node: ast.stmt, name: str) -> object:
    if name not in _KNOWN:
        look_into(node)
    return object.__getattribute__(node, name)


class _Function(ast.FunctionDef):
    __slots__ = ()
    __getattribute__ = _attribute


class _Coroutine(ast.AsyncFunctionDef):
    __slots__ = ()
    __getattribute__ = _attribute


class _Class(ast.ClassDef):
    __slots__ = ()
    __getattribute__ = _attribute


_DEFERRED: dict[type[ast.stmt], type[ast.stmt]] = {
    ast.FunctionDef: _Function,
    ast.AsyncFunctionDef: _Coroutine,
    ast.ClassDef: _Class,
}
# The classes of nodes that are not looked into yet, with those that they become.
PLAIN = {deferred: plain for plain, deferred in _DEFERRED.items()}
