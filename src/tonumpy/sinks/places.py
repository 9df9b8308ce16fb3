"""A text in; the offsets of the calls out that may give a tensor to another library's function where that may raise.

Without a parse, which most files then need not: the spelling only ever lets too much through.
"""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from functools import cache

from tonumpy.findings import SourceError
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.consumers import methods_of
from tonumpy.sinks.shapes import Names, consumer_named, may_convert, roots_of
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.source import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.sinks.trouble import Trouble

_IMPORT = re.compile(r"import[ \t]*(\([^)]{0,9999}\)|(?:[^\n\\]|\\\n)*)")
_ALIAS = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_BRACKET = re.compile(r"[()]")
_MAX_DEPTH = 200  # of brackets, for Python's own tokenizer


def places_spelt(text: str, trouble: Trouble) -> list[int]:
    """The offsets of calls that may be wanted; `trouble` is that of the text."""
    names = _names_spelt(text)
    calls = list(_calls_spelt(text, names))
    if not calls:
        return []
    functions = _Functions(text)
    concerned = set(map(functions.around, trouble.begins))

    def may_be_concerned(place: int, call: str) -> bool:
        function = functions.around(place)
        return None in concerned or function in concerned or bool(concerned and (function is None or "self" in call))

    return [
        place
        for place, end in calls
        if may_be_concerned(place, text[place:end]) and _may_be_wanted(text[place:end], names)
    ]


def _names_spelt(text: str) -> Names:
    """What the text imports of consumers, or of modules that hold them, in functions too."""
    names = {}
    for match in _IMPORT.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].split()
        module = f"{before[-1]}." if before[-2:-1] == ["from"] else ""
        for name, alias in _ALIAS.findall(match[1]):
            root = name.partition(".")[0]
            if (module or name).partition(".")[0] in CONSUMERS:
                names[alias or root] = module + (name if alias else root)
    return names


def _calls_spelt(text: str, names: Names) -> Iterator[tuple[int, int]]:
    """From the name, or the dot before a method, to the closing bracket; brackets in strings mislead it."""
    for name, full in names.items():
        for match in re.finditer(rf"(?<![\w.]){name}((?:\.\w+)*)[ \t]*\(", text):
            if consumer_named(full + match[1]):
                yield match.start(), _end_of_call(text, match.end())
    methods = sorted(method for root in roots_of(names) for method in methods_of(root))
    if methods:
        for match in re.finditer(rf"\.(?:{'|'.join(methods)})[ \t]*\(", text):
            yield match.start(), _end_of_call(text, match.end())


def _end_of_call(text: str, start: int) -> int:
    depth = 1
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if not depth or depth > _MAX_DEPTH:
            return match.end()
    return len(text)


def _may_be_wanted(call: str, names: Names) -> bool:
    if call.count("(") > _MAX_DEPTH:
        return True  # nor is it one call
    try:
        (statement,) = parse(f"_{call}" if call.startswith(".") else call, "").body
    except (SourceError, ValueError):
        return True
    return (
        not isinstance(statement, ast.Expr)
        or not isinstance(statement.value, ast.Call)
        or may_convert(statement.value, names)
    )


class _Functions:
    """Where the functions of a text are, by their indentation."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: list[int] = []  # those of `def`
        self._indents: list[int] = []
        self._before: list[int] = []  # the number of the last one before it that stands further to the left, or -1
        self._outermost: dict[int, int | None] = {}
        self._ends: dict[int, int] = {}
        for match in _DEFINITION.finditer(text):
            line = text.rfind("\n", 0, match.start()) + 1
            if text[line : match.start()].strip() in ("", "async"):
                indent = self._indent(line)
                self._before.append(self._last_left_of(indent, len(self._lines) - 1))
                self._lines.append(line)
                self._indents.append(indent)

    def around(self, place: int) -> int | None:
        """The line of the outermost function around a place; None for the module's or a class's own code, or where it
        is not clear. The line of a `def` itself is taken for a part of the function."""
        line = self._text.rfind("\n", 0, place) + 1
        last = bisect_right(self._lines, line) - 1
        if last >= 0 and self._lines[last] == line:
            return self._outermost_of(last)
        return self._enclosing(line, self._indent(line), last)

    def _outermost_of(self, number: int) -> int | None:
        if number not in self._outermost:
            line = self._lines[number]
            outer = self._enclosing(line, self._indents[number], number - 1)
            self._outermost[number] = line if outer is None else outer
        return self._outermost[number]

    def _enclosing(self, line: int, indent: int, last: int) -> int | None:
        last = self._last_left_of(indent, last)
        return None if last < 0 or self._end(last) < line else self._outermost_of(last)

    def _last_left_of(self, indent: int, number: int) -> int:
        while number >= 0 and self._indents[number] >= indent:
            number = self._before[number]
        return number

    def _end(self, number: int) -> int:
        """Where other code begins that stands no further to the right."""
        if number not in self._ends:
            found = _dedented(self._indents[number]).search(self._text, self._lines[number])
            self._ends[number] = found.start() + 1 if found else len(self._text)
        return self._ends[number]

    def _indent(self, line: int) -> int:
        at = line
        while self._text[at : at + 1] in (" ", "\t"):
            at += 1
        return at - line


_DEFINITION = re.compile(r"def[ \t]")


@cache
def _dedented(indent: int) -> re.Pattern[str]:
    """The beginning of a line, but not of one that ends a bracket or is a comment."""
    return re.compile(rf"\n[ \t]{{0,{indent}}}[^\s)\]}}#]")
