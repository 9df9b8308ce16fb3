"""Parts of objects, as risks are followed through them.

What stands under one key or attribute is not what stands under another. A part is written as it is read: `.name` for an
attribute, `['key']` and `[0]` for items, `[]` for any item; None is the whole object. One part is told at a time: of
`a.b.c`, first `.c` of `a.b`, then `.b` of `a`.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    Part = str | None
    _Held = tuple[ast.expr, Part]

ITEM = "[]"
CALLED = "()"  # what a call of it gives: of functions alone, as what holds data is not called
ANYWHERE = "*"  # where a value is put by a method, nobody knows under which name


def part_read(index: ast.expr) -> Part:
    """What a subscript reads: a slice is the whole."""
    if isinstance(index, ast.Constant) and isinstance(index.value, (str, int)):
        return f"[{index.value!r}]"
    return None if isinstance(index, ast.Slice) else ITEM


def part_written(index: ast.expr) -> str:
    return part_read(index) or ITEM


def may_hold(put: str, read: Part) -> bool:
    """Whether what is put in one place may be what is read from another; attributes are followed by their names."""
    if read is None or read == CALLED:
        return read is None
    if put == ANYWHERE:
        return True
    return put[0] == read[0] == "[" and (put == read or ITEM in (put, read))


def held_in(node: ast.expr, part: Part) -> Iterator[_Held]:
    """The expressions that a literal keeps in a part of it."""
    if isinstance(node, ast.Dict):
        yield from _held_in_dict(node, part)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        is_all = part is None or part[0] != "[" or any(isinstance(each, ast.Starred) for each in node.elts)
        yield from ((each, None) for at, each in enumerate(node.elts) if is_all or may_hold(f"[{at}]", part))


def _held_in_dict(node: ast.Dict, part: Part) -> Iterator[_Held]:
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            yield value, part
        elif may_hold(part_written(key), part):
            yield value, None


def part_given(targets: list[ast.expr], target: ast.expr) -> str:
    """The part of a value that one of several targets gets: `a, b = value`."""
    for each in targets:
        if isinstance(each, (ast.Tuple, ast.List)) and not any(isinstance(one, ast.Starred) for one in each.elts):
            for place, one in enumerate(each.elts):
                if one is target:
                    return f"[{place}]"
    return ITEM
