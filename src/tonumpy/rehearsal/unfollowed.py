"""A command that starts a Python -> whether that can follow a rehearsal, and whether it may import torch at all."""

from __future__ import annotations

import ast
import os
import shlex
import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_ALONE = frozenset("IES")  # options of Python under which it takes no notice of PYTHONPATH, or of sitecustomize
_WITH_VALUE = frozenset("WX")
_WITHOUT_TORCH = frozenset({"pip", "ensurepip"})  # modules beside the standard library that start alone and often
_MAX_BYTES = 1_000_000  # of a script that is read


class _Start(NamedTuple):
    """`kind`: "c" and "m" are Python's own options, "" a script, which `value` names."""

    options: frozenset[str]
    kind: str
    value: str


def command_alone(words: object) -> str | None:
    """The command, where it starts a Python that cannot follow and that may import torch."""
    given = _words(words)
    for place, word in enumerate(given):
        if os.path.basename(word).startswith("python"):
            start = _start(given[place + 1 :])
            if start.options & _ALONE and _may_import_torch(start):
                return shlex.join([os.path.basename(word), *given[place + 1 :]])
            return None
        if not isinstance(words, str):
            return None
    return None


def _words(words: object) -> list[str]:
    """A text is a command of the shell, or the name of a program."""
    if isinstance(words, (str, bytes)):
        try:
            return shlex.split(os.fsdecode(words))
        except ValueError:
            return []
    if not isinstance(words, (list, tuple)):
        return []
    try:
        return [os.fsdecode(word) for word in words]
    except TypeError:
        return []


def _start(words: Sequence[str]) -> _Start:
    """As Python reads its command line."""
    options, at = set[str](), 0
    while at < len(words) and words[at][:1] == "-" and words[at] != "-":
        letters = "" if words[at].startswith("--") else words[at][1:]
        following = words[at + 1] if at + 1 < len(words) else ""
        for place, letter in enumerate(letters):
            rest = letters[place + 1 :]
            if letter in "cm":
                return _Start(frozenset(options), letter, rest or following)
            if letter in _WITH_VALUE:
                at += not rest
                break
            options.add(letter)
        at += 1
    return _Start(frozenset(options), "", words[at] if at < len(words) else "")


def _may_import_torch(start: _Start) -> bool:
    """Not where all that it imports is of the standard library."""
    if start.kind == "m":
        return not _is_standard(start.value) and start.value not in _WITHOUT_TORCH
    try:
        text = start.value if start.kind == "c" else _read(start.value)
        tree = ast.parse(text)
    except FileNotFoundError:
        return os.path.isdir(start.value)
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return start.kind != "c"
    named = [name for node in ast.walk(tree) for name in _imported(node)]
    return "torch" in text or not all(map(_is_standard, named))


def _read(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as stream:
        return stream.read(_MAX_BYTES)


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [node.module or ""]
    return []


def _is_standard(name: str) -> bool:
    return name.partition(".")[0] in sys.stdlib_module_names
