"""Turns the source of a notebook's cell into Python with as many rows: what only IPython knows becomes harmless words.

What is Python stays in its row and column. The escapes are those of IPython's own input transformer: `%magic`,
`%%magic`, `!shell`, `name?`, and `,`, `;` and `/` at the beginning of a line; each only where a logical line begins, or
behind the `=` of an assignment, and neither in a string nor in brackets. Where a magic runs Python (`%time`, `%%time`),
that stays in sight, and `%run other.ipynb` is the star import that it amounts to.
"""

from __future__ import annotations

import ast
import re
import warnings

from tonumpy.text.recursion import note_cut_file

# The cell magics whose cell is Python, as ruff has them; what another runs is its own affair.
_OF_PYTHON = frozenset("capture debug ipytest prun pypy python python3 time timeit".split())

# A cell of one line may leave out the sign of a line magic (`pip install torch`): those that take words.
_AUTOMAGIC = re.compile(
    r"\s*(?:cat|cd|conda|cp|env|ls|load_ext|mamba|matplotlib|micromamba|mkdir|mv|pip|reload_ext|rm|rmdir|set_env|uv)"
    r"[ \t]+\S.*\s*"
)
_MAY_ESCAPE = re.compile(r"^[ \t]*[%!?,;/]|=[ \t]*[%!]|\?[ \t]*(?:[;#].*)?$", re.MULTILINE)
_FIRST_CODE = re.compile(r"^[ \t]*(?:%%(?P<name>\w*)[^\r\n]*|[^\s#])", re.MULTILINE)

_ESCAPE = re.compile(r"[ \t]*(?:[%!?,;/])")
_ASSIGNED = re.compile(r"[ \t]*[%!]")
_HELP = re.compile(r"\?\??[ \t]*;?[ \t]*(?:#[^\r\n]*)?(?=\r|\n|\Z)")
_TO_END_OF_LINE = re.compile(r"[^\r\n]*(?:(?<=\\)(?:\r\n?|\n)[^\r\n]*)*")
_NO_NEWLINE = re.compile(r"[^\r\n]")
_TIMED = re.compile(r"(?P<indent>[ \t]*)(?P<magic>%time(?:it)?[ \t]+)(?P<code>[^-\s].*)")
_RUN = re.compile(r"""[ \t]*%run[ \t]+(?:-\w[ \t]+)*(?P<quote>["']?)(?P<path>[\w./]+)(?P=quote)(?:[ \t]|$)""")
_MODULE = re.compile(r"(?:\./)*(?P<up>(?:\.\./)*)(?P<path>\w+(?:/\w+)*)(?:\.py|\.ipynb)?")

# What decides where a logical line ends, and what may be an escape in it.
_TOKEN = re.compile(
    r"""(?P<string>\"{3}|'{3}|"|')|(?P<open>[(\[{])|(?P<close>[)\]}])|\#[^\r\n]*|\\(?:\r\n|\r|\n)"""
    r"""|(?P<newline>\r\n|\r|\n)|(?P<assign>(?<![=!<>:+\-*/%&|^@])=(?!=))|(?P<help>\?)"""
)
_STRING_ENDS = {
    quote: re.compile(rf"(?:\\(?:\r\n|[\s\S])|(?!{quote})[^\\{excluded}])*(?:{quote})?")
    for quote, excluded in (('"""', ""), ("'''", ""), ('"', "\r\n"), ("'", "\r\n"))
}


def python_of(cell: str) -> str | None:
    """None for a cell that a magic takes for something else than Python."""
    if _AUTOMAGIC.fullmatch(cell) and not _is_python(cell):
        return f"pass{_newlines(cell)}"
    if _MAY_ESCAPE.search(cell) is None:
        return cell
    start = 0
    pieces = []
    first = _FIRST_CODE.search(cell)
    if first and first["name"] is not None:
        if first["name"] not in _OF_PYTHON:
            return None
        pieces = [cell[: first.start()], "pass"]
        start = first.end()
    return "".join(pieces) + _without_escapes(cell, start)


def _without_escapes(text: str, start: int) -> str:
    pieces = []
    at = start  # up to here all is copied
    line = start  # where the logical line begins
    depth = 0
    place = start
    while place < len(text):
        if place == line and _ESCAPE.match(text, place):
            end = _end_of_line(text, place)
            pieces += [text[at:place], _statement(text[place:end])]
            at = place = end
        token = _TOKEN.search(text, place)
        if token is None:
            break
        place = token.end()
        if token["string"]:
            ending = _STRING_ENDS[token["string"]].match(text, place)
            place = ending.end() if ending else place
        elif token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(depth - 1, 0)
        elif token["newline"] and not depth:
            line = place
        elif token["assign"] and not depth and _ASSIGNED.match(text, place):
            end = _end_of_line(text, place)
            pieces += [text[at:place], _assigned(text[place:end])]
            at = place = end
        elif token["help"] and _HELP.match(text, token.start()):
            end = _end_of_line(text, place)
            pieces += [text[at:line], _statement(text[line:end])]
            at = place = end
            depth = 0
    return "".join((*pieces, text[at:]))


def _end_of_line(text: str, start: int) -> int:
    """The offset of the end of the line, with those to which a backslash continues it."""
    match = _TO_END_OF_LINE.match(text, start)
    return match.end() if match else len(text)


def _statement(line: str) -> str:
    """The replacement of a line, with its indentation and its rows: the code that `%time` runs, the import that
    `%run` amounts to, or nothing."""
    timed = _TIMED.fullmatch(line)
    if timed and _is_python(timed["code"]):
        return f"{timed['indent']}0;{' ' * (len(timed['magic']) - 2)}{timed['code']}"
    indent = line[: len(line) - len(line.lstrip(" \t"))]
    run = _RUN.match(line)
    module = _MODULE.fullmatch(run["path"]) if run else None
    if module and all(name.isidentifier() for name in module["path"].split("/")):
        level = "." * (1 + module["up"].count("/"))
        return f"{indent}from {level}{module['path'].replace('/', '.')} import *{_newlines(line)}"
    return f"{indent}pass{_newlines(line)}"


def _assigned(text: str) -> str:
    """The replacement of a magic behind the `=` of an assignment: the code that `%time` runs, or a name."""
    timed = _TIMED.fullmatch(text)
    if timed and "timeit" not in timed["magic"] and _is_python(f"_ = {timed['code'].strip()}"):
        return f"{timed['indent']}{' ' * len(timed['magic'])}{timed['code']}"
    return f" __{_newlines(text)}"


def _newlines(text: str) -> str:
    return _NO_NEWLINE.sub("", text)


def _is_python(code: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(code)
    except (RecursionError, MemoryError):
        note_cut_file(None)
        return False
    except (SyntaxError, ValueError):
        return False
    return True
