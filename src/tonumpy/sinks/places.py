"""From a text, without a parse, to the offsets of calls that may give a tensor to a sink.

Most files need no parse then: the spelling only ever lets too much through.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.findings import SourceError
from tonumpy.sinks.consumers import library_of, methods_of
from tonumpy.sinks.shapes import Names, consumer_named, is_consumer, may_convert, roots_of
from tonumpy.text.source import parse

if TYPE_CHECKING:
    from collections.abc import Iterator

_IMPORT = re.compile(r"import[ \t]*(\([^)]{0,9999}\)|(?:[^\n\\]|\\\n)*)")
_ALIAS = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_METHOD = re.compile(r"\.(\w+)[ \t]*\(")
_BRACKET = re.compile(r"[()]")
_MAX_DEPTH = 200  # of brackets, for Python's own tokenizer


def places_spelt(text: str) -> list[int]:
    """The offsets of the calls of sinks; none where no call may be wanted. The first that may be is looked for alone:
    once it is there the file is parsed, and the tree tells of the others."""
    names = _names_spelt(text)
    calls = list(_calls_spelt(text, names))
    is_wanted = any(_may_be_wanted(text[place:end], names) for place, end in calls)
    return [place for place, _ in calls] if is_wanted else []


def _names_spelt(text: str) -> Names:
    """Return what the text imports of consumers, or of modules that hold them, in functions too."""
    names = {}
    for match in _IMPORT.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].split()
        module = f"{before[-1]}." if before[-2:-1] == ["from"] else ""
        for name, alias in _ALIAS.findall(match[1]):
            root = name.partition(".")[0]
            if is_consumer(module or name, text):
                names[alias or root] = module + (name if alias else root)
    return names


def _calls_spelt(text: str, names: Names) -> Iterator[tuple[int, int]]:
    """From the name, or the dot before a method, to the closing bracket; brackets in strings mislead it."""
    for name, full in names.items():
        # The name stands first: a search jumps to that, while an assertion before it is tried everywhere.
        for match in re.finditer(rf"{name}(?<![\w.]{name})((?:\.\w+)*)[ \t]*\(", text):
            if consumer_named(full + match[1]):
                yield match.start(), _end_of_call(text, match.end())
        for match in re.finditer(rf"\bmap[ \t]*\(\s*{name}((?:\.\w+)*)[ \t]*,", text):
            if consumer_named(full + match[1]):
                yield match.start(), _end_of_call(text, text.index("(", match.start()) + 1)
    for root in roots_of(names):
        if library_of(root).makes_callables:
            yield from _objects_called(text, [name for name, full in names.items() if full.partition(".")[0] == root])
    methods = {method for root in roots_of(names) for method in methods_of(root)}
    for match in _METHOD.finditer(text) if methods else ():
        if match[1] in methods:
            yield match.start(), _end_of_call(text, match.end())


def _objects_called(text: str, names: list[str]) -> Iterator[tuple[int, int]]:
    """Calls of what is given the result of a call of some names, and of such results themselves."""
    made = "|".join(map(re.escape, names))
    given = {match[1] for match in re.finditer(rf"(\w+)[ \t]*=[ \t]*(?:{made})\b[\w.]*[ \t]*\(", text)}
    for match in re.finditer(r"(?<![\w.])(\w+)[ \t]*\(", text) if given else ():
        if match[1] in given:
            yield match.start(), _end_of_call(text, match.end())
    for match in re.finditer(r"\)[ \t]*\(", text):
        yield match.end(), match.end()  # the whole call stands before that


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
