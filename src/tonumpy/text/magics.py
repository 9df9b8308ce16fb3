"""Turns the source of a notebook's cell into Python with as many rows: IPython syntax becomes harmless code.

Python code keeps its row and column. The escapes are those of IPython's own input transformer: `%magic`, `%%magic`,
`!shell`, `name?`, and `,`, `;` and `/` at the beginning of a line, or after the `=` of an assignment; each only where
Python's parser rejects it. The code that a magic runs (`%time`, `%%time`) is kept, and `%run other.ipynb` becomes the
equivalent star import.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from itertools import accumulate

from tonumpy.findings import SourceError
from tonumpy.text.source import NEWLINE, parse

# The cell magics whose cell is Python, as in ruff.
_OF_PYTHON = frozenset("capture debug ipytest prun pypy python python3 time timeit".split())

# The line magics that a cell of one line may call without the sign (`pip install torch`): those that take words.
_AUTOMAGIC = re.compile(
    r"\s*(?:cat|cd|conda|cp|env|ls|load_ext|mamba|matplotlib|micromamba|mkdir|mv|pip|reload_ext|rm|rmdir|set_env|uv)"
    r"[ \t]+\S.*\s*"
)
_FIRST_CODE = re.compile(r"^(?P<indent>[ \t]*)(?:%%(?P<name>\w*)[^\r\n]*|[^\s#])", re.MULTILINE)
_ESCAPE = re.compile(r"[ \t]*[%!?,;/]|.*=[ \t]*[%!]|.*\?[ \t]*;?[ \t]*(?:#.*)?[\r\n]*\Z")
_ASSIGNED = re.compile(r"(?P<target>.*?[^=]=)(?P<magic>[ \t]*[%!].*)", re.DOTALL)
# Lines, each with its continuations after a backslash.
_LINES = re.compile(r"(?:[^\r\n\\]|\\(?:\r\n?|\n)?)*(?:\r\n?|\n|\Z)")
_NO_NEWLINE = re.compile(r"[^\r\n]")
_TIMED = re.compile(r"(?P<indent>[ \t]*)(?P<magic>%time(?:it)?[ \t]+)(?P<code>[^-\s].*[\r\n]*)")
_RUN = re.compile(r"""[ \t]*%run[ \t]+(?:-\w[ \t]+)*(?P<quote>["']?)(?P<path>[\w./]+)(?P=quote)(?:[ \t]|$)""")
_MODULE = re.compile(r"(?:\./)*(?P<up>(?:\.\./)*)(?P<path>\w+(?:/\w+)*)(?:\.py|\.ipynb)?")


_MOST = 50  # escapes in a cell, up to which Python's parser is asked about each


def python_of(cell: str) -> str | None:
    """The cell as Python; None if a cell magic runs it as another language."""
    if _AUTOMAGIC.fullmatch(cell) and _row_of_error(cell):
        return f"pass{_newlines(cell)}"
    first = _FIRST_CODE.search(cell)
    if first and first["name"] is not None:
        if first["name"] not in _OF_PYTHON:
            return None
        cell = f"{cell[: first.start()]}pass{cell[first.end() :]}"
    return _without_escapes(_LINES.findall(cell))


def _without_escapes(lines: list[str]) -> str:
    """The joined lines, with those escapes replaced that are syntax errors: others are in strings or continue a line
    above."""
    rows = accumulate((len(NEWLINE.findall(line)) for line in lines), initial=0)  # before each line
    escapes = [(row, number) for number, row in enumerate(rows) if number < len(lines) and _ESCAPE.match(lines[number])]
    asks = len(escapes) <= _MOST
    while escapes and (row := _row_of_error("".join(lines)) if asks else len(lines) + 1):
        at = bisect_left(escapes, (row,)) - 1
        if at < 0:
            break
        _, number = escapes.pop(at)
        lines[number] = _replaced(lines[number])
    return "".join(lines)


def _replaced(line: str) -> str:
    assigned = _ASSIGNED.fullmatch(line) if line.lstrip(" \t")[:1] not in ("%", "!", "?", ",", ";", "/") else None
    return assigned["target"] + _assigned(assigned["magic"]) if assigned else _statement(line)


def _statement(line: str) -> str:
    """The replacement of an escaped line, with its indentation and rows: the code that `%time` runs, the import that
    is equivalent to `%run`, or `pass`."""
    timed = _TIMED.fullmatch(line)
    if timed and not _row_of_error(timed["code"]):
        return f"{timed['indent']}0;{' ' * (len(timed['magic']) - 2)}{timed['code']}"
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    run = _RUN.match(line)
    module = _MODULE.fullmatch(run["path"]) if run else None
    if module and all(name.isidentifier() for name in module["path"].split("/")):
        level = "." * (1 + module["up"].count("/"))
        return f"{indent}from {level}{module['path'].replace('/', '.')} import *{_newlines(line)}"
    return f"{indent}pass{_newlines(line)}"


def _assigned(text: str) -> str:
    """The replacement of a magic after the `=` of an assignment: the code that `%time` runs, or the name `__`."""
    timed = _TIMED.fullmatch(text)
    if timed and "timeit" not in timed["magic"] and not _row_of_error(f"_ = {timed['code'].strip()}"):
        return f"{timed['indent']}{' ' * len(timed['magic'])}{timed['code']}"
    return f" __{_newlines(text)}"


def _newlines(text: str) -> str:
    return _NO_NEWLINE.sub("", text)


def _row_of_error(code: str) -> int:
    """The row of the syntax error that Python's parser finds; 0 if there is none."""
    first = _FIRST_CODE.search(code)
    indented = "if 1:\n" if first and first["indent"] else ""
    try:
        parse(indented + code, "")
    except SourceError as error:
        assert error.position is not None
        return max(error.position.row - len(indented[-1:]), 1)
    return 0
