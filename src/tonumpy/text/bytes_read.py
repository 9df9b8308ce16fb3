"""Whether code reads the bytes or the dtype of an array: another dtype then changes what it writes."""

from __future__ import annotations

import ast

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import own_expressions, statements_of, walk

if TYPE_CHECKING:
    from tonumpy.text.candidates import Candidate

_ATTRIBUTES = frozenset(
    "tobytes tofile tostring nbytes itemsize dtype data dump dumps view newbyteorder byteswap".split()
)
# What takes a buffer: of struct, hashlib, zlib, base64, sockets and Python itself.
_FUNCTIONS = frozenset(
    "pack_into frombuffer memoryview bytes bytearray md5 sha1 sha224 sha256 sha384 sha512 blake2b blake2s update crc32"
    " adler32 xxh64 xxh3_64 xxh32 compress b64encode send sendall write".split()
)


def are_bytes_read(candidate: Candidate) -> bool:
    """Of the array that a candidate makes: in its statement, or by the name that this binds it to."""
    statement = candidate.statement
    names: set[str] = set()
    if isinstance(statement, ast.Assign) and statement.value is candidate.call:
        names = {each.id for each in statement.targets if isinstance(each, ast.Name)}
    within = statements_of(candidate.scopes[-1].body) if names else [statement]
    return any(
        _reads(node, candidate.call, names) for each in within for part in own_expressions(each) for node in walk(part)
    )


def _reads(node: ast.AST, call: ast.Call, names: set[str]) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _ATTRIBUTES and _is_array(node.value, call, names)
    if isinstance(node, ast.Call):
        is_of_bytes = last_name(node.func) in _FUNCTIONS
        return is_of_bytes and any(_is_array(each, call, names) for each in node.args)
    return False


def _is_array(node: ast.expr, call: ast.Call, names: set[str]) -> bool:
    return node is call or (isinstance(node, ast.Name) and node.id in names)
