"""Reads frames of the running program: whether they are the user's own (not of Python, a library or tonumpy), the
source range they are at, the names that hold a converted tensor, and whether `torch.compile` would compile them.

In compiled code torch implements `.numpy()` and NumPy, and raises neither for grad nor for a device. Real arrays are
used in functions under `torch.compiler.disable`, in libraries that torch does not compile (scikit-learn, pandas), and
by NumPy functions that torch does not implement.
"""

from __future__ import annotations

import ast
import functools
import gc
import linecache
import os
import site
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from types import FrameType
from typing import Any, Literal, TypeVar

from tonumpy.boundary.foreign import lies_in_foreign
from tonumpy.observed.sighting import Spot, is_at
from tonumpy.text.candidates import is_in_row
from tonumpy.text.names import spelling_of
from tonumpy.text.syntax import own_expressions, walk

Kind = Literal["itself", "items", "values"]  # the tensor, or a list or dict that contains it
# As the code spells it: `losses`, `self.losses`, `batch['x']`; "" if it has no name there.
Name = tuple[str, Kind]
Line = tuple[str, int]

UNKNOWN = object()
_MOST = 2_000  # items of a list or dict that are searched
_SEQUENCES = ("list", "range", "sorted", "str", "tuple")
_TABLES = ("_parameters", "_buffers")  # where a torch.nn.Module keeps its parameters and buffers
_MAX_BYTES = 2_000_000  # of one file


def own_frame(depth: int) -> FrameType | None:
    """The innermost frame of the user's own code, at any distance."""
    return next((each for each in outward(sys._getframe(depth + 1)) if is_own(each.f_code.co_filename)), None)


def outward(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frame and its callers, innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def place_of(frame: FrameType) -> Spot:
    """The source range that a frame is evaluating; on Python 3.10 the row only."""
    if sys.version_info >= (3, 11) and frame.f_lasti >= 0:  # mypy reads this test, and no name for it
        place = next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), None)
        if place is not None and place[0] is not None:
            return Spot(place[0], *place[1:])
    return Spot(frame.f_lineno or 0)


@functools.cache
def tree_of(filename: str) -> ast.Module | None:
    """The syntax tree of a file, cached; None if it cannot be read or parsed."""
    try:
        if filename.endswith(".ipynb"):  # `linecache` has the cells' code since they were compiled
            return ast.parse("".join(linecache.getlines(filename)))
        with open(filename, "rb") as stream:
            text = stream.read(_MAX_BYTES + 1)
        return ast.parse(text) if len(text) <= _MAX_BYTES else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return None


_Node = TypeVar("_Node", bound=ast.expr | ast.stmt)


def node_at(frame: FrameType, kind: type[_Node]) -> _Node | None:
    """The node of a kind that the frame is evaluating; on Python 3.10, which knows only the row, the single one in the
    row."""
    spot, tree = place_of(frame), tree_of(frame.f_code.co_filename)
    nodes = () if tree is None else walk(tree)
    near = [each for each in nodes if isinstance(each, kind) and is_in_row(each, spot.row)]
    if spot.column is None:
        return near[0] if len(near) == 1 else None
    return next((each for each in near if is_at(each, spot)), None)


def value_of(node: ast.expr, frame: FrameType) -> Any:  # noqa: ANN401
    """The value of a name, an attribute, or an item of a list or dict; else UNKNOWN. Calls no code of the program."""
    match node:
        case ast.Name(name):
            spaces: list[Any] = [frame.f_locals, frame.f_globals]
        case ast.Attribute(owner, name):
            own = getattr(value_of(owner, frame), "__dict__", {})
            spaces = [own, *(own[table] for table in _TABLES if type(own.get(table)) is dict)]
        case ast.Subscript(owner, ast.Constant(name)):
            held: Any = value_of(owner, frame)
            if type(held) in (list, tuple) and len(held) <= _MOST:
                held = dict(enumerate(held))
            spaces = [held] if type(held) is dict else []
        case ast.Call(ast.Name(name)) if name in _SEQUENCES:
            return ()
        case ast.List() | ast.Tuple() | ast.Constant() | ast.ListComp():
            return ()
        case _:
            return UNKNOWN
    return next((space[name] for space in spaces if name in space), UNKNOWN)


def names_of(tensor: object, frame: FrameType) -> tuple[Name, ...]:
    """The names, attributes and items in the running statement that are the tensor, or a list or dict containing it."""
    found: dict[str, Kind] = {}
    for part in _running(frame):
        spelling = spelling_of(part)
        kind = None if spelling is None else _kind(value_of(part, frame), tensor)
        if spelling is not None and kind is not None:
            found[spelling] = kind
    return tuple(found.items())


def _running(frame: FrameType) -> Iterator[ast.expr]:
    """The expressions of the innermost statement that a frame is executing."""
    tree, row = tree_of(frame.f_code.co_filename), place_of(frame).row
    nodes = () if tree is None else walk(tree)
    near = [each for each in nodes if isinstance(each, ast.stmt) and is_in_row(each, row)]
    if near:
        statement = max(near, key=lambda each: (each.lineno, each.col_offset))
        for expression in own_expressions(statement):
            yield from (each for each in walk(expression) if isinstance(each, ast.expr))


def holder_of(tensor: object) -> Name:
    """The container of a tensor without a name, by its referrers: a list or dict just returned by a call, or none."""
    kinds = {type(each) for each in gc.get_referrers(tensor)}
    return "", "items" if kinds & {list, tuple, set, frozenset} else "values" if dict in kinds else "itself"


def _kind(value: object, tensor: object) -> Kind | None:
    """How a value holds the tensor, compared by identity: a tensor's `==` would run another torch operator."""
    if value is tensor:
        return "itself"
    if type(value) in (list, tuple) and len(value) <= _MOST:  # type: ignore[arg-type]
        return "items" if any(each is tensor for each in value) else None  # type: ignore[attr-defined]
    if type(value) is dict and len(value) <= _MOST:
        return "values" if any(each is tensor for each in value.values()) else None
    return None


_HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_INSTALLED = tuple(f"{os.sep}{name}{os.sep}" for name in ("site-packages", "dist-packages"))
_WRITTEN_BY_TORCH = "torchinductor_"  # the folder into which torch.compile writes code


@functools.cache
def is_own(filename: str) -> bool:
    """True if the file is the user's own; a relative name is resolved in the working folder of the first call."""
    if not filename or filename.startswith("<"):
        return False
    path = os.path.abspath(filename)
    if any(part in path for part in (*_INSTALLED, _WRITTEN_BY_TORCH)) or path.startswith(_library_folders()):
        return False
    named = getattr(sys.modules.get("__main__"), "__file__", None)  # the program is the user's, wherever it is
    is_program = named is not None and path == os.path.abspath(named)
    return os.path.isfile(path) and (is_program or not lies_in_foreign(path))


@functools.cache
def is_of_torch(filename: str) -> bool:
    """True for a file of torch or tonumpy: their frames lie between a call of a tensor's method and the method."""
    path = os.path.abspath(filename)
    return path.startswith(os.path.join(_HERE, "")) or f"{os.sep}torch{os.sep}" in path


@functools.cache
def _library_folders() -> tuple[str, ...]:
    paths = sysconfig.get_paths()
    folders = {paths[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    folders.add(site.getusersitepackages())
    folders.add(os.path.dirname(os.__file__))
    folders.add(_HERE)
    real = {os.path.realpath(folder) for folder in folders}
    return tuple(os.path.join(folder, "") for folder in folders | real if folder != sys.prefix)


def failure_of(error: BaseException) -> tuple[str, Line | None]:
    """The fields of `spool.Failure`: the error's type, and the innermost line of the user's code in its traceback."""
    traceback, place = error.__traceback__, None
    while traceback is not None:
        filename = traceback.tb_frame.f_code.co_filename
        place = (os.path.abspath(filename), traceback.tb_lineno) if is_own(filename) else place
        traceback = traceback.tb_next
    return "" if isinstance(error, SystemExit) else type(error).__name__, place


def in_one_line(message: str) -> str:
    """The first line of a message; if it quotes a worker's traceback, also its last line, the worker's error."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    if len(lines) < 2:
        return "".join(lines)
    return f"{lines[0]} ... {lines[-1]}" if "Traceback (most recent call last):" in message else f"{lines[0]} ..."


def place_of_caller() -> str:
    """The innermost line of the user's code that is running: "train.py:9"."""
    frame = own_frame(1)
    return "an unknown place" if frame is None else shown(frame.f_code.co_filename, frame.f_lineno)


def shown(filename: str, row: int) -> str:
    return f"{shown_path(filename)}:{row}"


def shown_path(path: str) -> str:
    """The path relative to the working folder, if it lies inside; else in full."""
    relative = os.path.relpath(path)
    return path if relative.startswith(os.pardir) else relative


class _Here(threading.local):
    """A stack per thread: whether each nested `calling` block runs as compiled code."""

    calls: tuple[bool, ...] = ()


here = _Here()


def is_compiled() -> bool:
    """True if `torch.compile` would have compiled the innermost running code."""
    if not here.calls or not here.calls[-1]:
        return False
    frame = innermost()
    return frame is not None and not _is_left_alone(frame.f_code.co_filename)


@contextmanager
def calling(is_compiled: bool) -> Iterator[None]:
    before = here.calls
    here.calls = (*before, is_compiled)
    try:
        yield
    finally:
        here.calls = before


def innermost() -> FrameType | None:
    """The innermost frame that is neither torch's nor tonumpy's: the code that converts."""
    return next((each for each in outward(sys._getframe(1)) if not is_of_torch(each.f_code.co_filename)), None)


@functools.cache
def _is_left_alone(filename: str) -> bool:
    import torch._dynamo.trace_rules as trace_rules  # start-up

    return bool(trace_rules.check_file(filename, is_inlined_call=True).skipped)
