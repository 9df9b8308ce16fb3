"""Tells if code reads the bytes or the dtype of an array: another dtype then changes what it writes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tonumpy.text.candidates import Candidate

_OF_BYTES = frozenset("tobytes tofile tostring nbytes itemsize".split())
_ATTRIBUTES = _OF_BYTES | frozenset("dtype data dump dumps view newbyteorder byteswap".split())
# What takes a buffer: of struct, hashlib, zlib, base64, sockets and Python itself.
_FUNCTIONS = frozenset(
    "pack pack_into frombuffer memoryview bytes bytearray md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s update"
    " crc32 adler32 xxh64 xxh3_64 xxh32 compress b64encode send sendall write".split()
)
# What gives an array of the same dtype, as a method or a function of NumPy.
_KEEPING = frozenset(
    "copy reshape ravel flatten squeeze transpose swapaxes ascontiguousarray asarray array stack concatenate vstack"
    " hstack expand_dims atleast_1d atleast_2d repeat take".split()
)
MAX_PASSES = 3  # from a name to the next that it is bound to


def are_bytes_read(candidate: Candidate) -> bool:
    """True if the bytes of the array that a candidate makes are read, by a name in its function or in a function of
    the module that is given it."""
    within = list(statements_of(candidate.scopes[-1].body))
    names = _names_of(candidate.call, within)
    functions = {each.name: each for each in statements_of(candidate.scopes[0].body) if isinstance(each, FUNCTIONS)}
    parts = (part for each in (within if names else [candidate.statement]) for part in own_expressions(each))
    return any(_reads(node, candidate.call, names, functions) for part in parts for node in walk(part))


def _names_of(call: ast.Call, within: list[ast.stmt]) -> set[str]:
    names: set[str] = set()
    for _ in range(MAX_PASSES):
        bindings = (binding for each in within for binding in _bindings(each))
        bound = {name for target, value in bindings if _is_array(value, call, names) and (name := path_of(target))}
        if bound <= names:
            break
        names |= bound
    return names


def _bindings(statement: ast.stmt) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield each target that a statement binds with its value: for loops and comprehensions, the items of it."""
    if isinstance(statement, ast.Assign):
        yield from ((target, statement.value) for target in statement.targets)
    elif isinstance(statement, ast.AnnAssign) and statement.value is not None:
        yield statement.target, statement.value
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield statement.target, statement.iter
    for part in own_expressions(statement):
        yield from ((each.target, each.iter) for each in walk(part) if isinstance(each, ast.comprehension))


def _reads(node: ast.AST, call: ast.Call, names: set[str], functions: Mapping[str, ast.stmt]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _ATTRIBUTES and _is_array(node.value, call, names)
    if not isinstance(node, ast.Call) or not any(_is_array(each, call, names) for each in node.args):
        return False
    entered = functions.get(node.func.id) if isinstance(node.func, ast.Name) else None
    if entered is not None:
        return any(isinstance(each, ast.Attribute) and each.attr in _OF_BYTES for each in walk(entered))
    return last_name(node.func) in _FUNCTIONS


def _is_array(node: ast.expr, call: ast.Call, names: set[str]) -> bool:
    """True if it is the array, one of the same dtype that is made of it, or holds it."""
    if node is call or (bool(names) and path_of(node) in names):
        return True
    return any(_is_array(each, call, names) for each in _of_same_dtype(node))


def _of_same_dtype(node: ast.expr) -> list[ast.expr]:
    """The parts of an expression whose dtype it keeps: `x` for `x[0]`, `[x]` and `x.copy()`."""
    if isinstance(node, (ast.Subscript, ast.Starred)):
        return [node.value]
    if isinstance(node, (ast.List, ast.Tuple)):
        return node.elts
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return [node.elt]
    if isinstance(node, ast.Call) and last_name(node.func) in _KEEPING:
        of_method = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        return [*of_method, *node.args]
    return []
