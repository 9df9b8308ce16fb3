"""Turns a repair's operations into text edits at the places of their nodes, in code of one line or several."""

import ast
import re
from collections.abc import Iterable

from tonumpy.conversions import Conversion, ImplicitConversion, MethodConversion
from tonumpy.engine.values.dtypes import is_widened_safely
from tonumpy.findings import Applicability, Edit, Fix, Position
from tonumpy.repair.operations import (
    AddCopy,
    AddLinks,
    Convert,
    DataToDetach,
    MakeFalse,
    Operation,
    RemoveLink,
    describe,
)
from tonumpy.text.candidates import Candidate, is_placed
from tonumpy.text.names import last_name
from tonumpy.text.source import Source

# The gap between an expression and the dot or bracket that follows it: space, closing brackets, comments and line
# breaks; the group `newline` is the last of these, with the backslash of a continued line.
_GAP = re.compile(r"(?:[ \t\f)]|(?P<newline>\\?(?:\r\n|\r|\n))|#[^\r\n]*)*")
_SPACE = " \t\f"
_OF_DTYPE = frozenset(("float", "cfloat", "dequantize"))  # links that change the bytes of the array
_READS_BYTES = r"tobytes|tofile|tostring|nbytes|itemsize|hashlib|struct|memoryview|bytearray|sendall|\.write\("


class MisplacedError(Exception):
    """The text at a node's position is not as expected, so ast's position may be wrong."""


def plan_fix(conversion: Conversion, operations: tuple[Operation, ...], source: Source) -> Fix | None:
    """The fix that performs a repair; without edits if its place in the text is not certain.

    None if there are no operations.
    """
    if not operations:
        return None
    message = describe(operations)
    try:
        if not _is_placed(conversion, source):
            raise MisplacedError
        edits = plan_edits(operations, source)
    except MisplacedError:
        return Fix("display-only", message, ())
    applicability = _applicability(conversion, operations, source)
    return Fix(applicability, message + _note(conversion, operations, applicability), edits)


def plan_edits(operations: Iterable[Operation], source: Source) -> tuple[Edit, ...]:
    """The edits of composed operations, in source order."""
    return tuple(sorted(edit for operation in operations for edit in _edits(operation, source)))


def _is_placed(conversion: Conversion, source: Source) -> bool:
    if isinstance(conversion, MethodConversion):
        return is_placed(conversion.site, source)
    return conversion.site.string is None


def _applicability(conversion: Conversion, operations: tuple[Operation, ...], source: Source) -> Applicability:
    if isinstance(conversion, ImplicitConversion):
        return "safe" if conversion.keeps_value and not _may_keep_objects(conversion.site.call) else "unsafe"
    if isinstance(conversion, MethodConversion) and _is_echoed(conversion.site, source):
        return "display-only"
    if _changes_what_is_read(conversion, operations, source):
        return "unsafe"
    return "unsafe" if conversion.certainty == "possible" else "safe"


def _note(conversion: Conversion, operations: tuple[Operation, ...], applicability: Applicability) -> str:
    """The caveat of an unsafe repair, in the message; empty if there is none."""
    if applicability != "unsafe":
        return ""
    widened = {method for each in operations if isinstance(each, (AddLinks, Convert)) for method in each.methods}
    if "float" in widened and not is_widened_safely(conversion.dtype):
        return "; a float64 tensor would lose precision"
    if any(isinstance(each, Convert) and each.method == "tolist" for each in operations):
        return "; equal values then count as one, formerly each tensor by itself"
    return ""


def _changes_what_is_read(conversion: Conversion, operations: tuple[Operation, ...], source: Source) -> bool:
    """True if the array gets another dtype, in a file that reads bytes, or one that may not represent its values."""
    widens = any(isinstance(each, AddLinks) and not _OF_DTYPE.isdisjoint(each.methods) for each in operations)
    return widens and (source.says(_READS_BYTES) or not is_widened_safely(conversion.dtype))


def _edits(operation: Operation, source: Source) -> tuple[Edit, ...]:
    if isinstance(operation, AddLinks):
        return (_add_links(operation, source),)
    if isinstance(operation, DataToDetach):
        return (Edit(_name_start(operation.subject, source), _span(operation.subject, source)[1], "detach()"),)
    if isinstance(operation, RemoveLink):
        return _remove_link(operation, source)
    if isinstance(operation, (Convert, AddCopy)):
        return _append_links(operation, source)
    if isinstance(operation, MakeFalse):
        return (_replaced(operation.subject, "False", source),)
    return (_force(operation.subject, source),)


def _append_links(operation: Convert | AddCopy, source: Source) -> tuple[Edit, ...]:
    argument = operation.subject
    start, end = _span(argument, source)
    if isinstance(argument, (ast.Name, ast.Attribute, ast.Subscript, ast.Call)):
        return (Edit(end, end, operation.links),)
    return Edit(start, start, "("), Edit(end, end, f"){operation.links}")


def _add_links(operation: AddLinks, source: Source) -> Edit:
    """The edit that inserts links before the dot, each on a line of its own if the dot starts a line."""
    text = source.text
    base_end = _end(operation.before.value, source)
    gap = _gap(text, base_end)
    dot = gap.end()
    name = source.offset(_name_start(operation.before, source))
    if text[dot : dot + 1] != "." or _gap(text, dot + 1).end() != name:
        raise MisplacedError
    separator, newline = "", gap["newline"]
    if newline:
        indentation = text[gap.end("newline") : dot]
        if not indentation.strip(_SPACE):
            separator = (" " if newline.startswith("\\") else "") + newline + indentation
    place = source.position_at(dot)
    return Edit(place, place, "".join(f".{method}(){separator}" for method in operation.methods))


def _remove_link(operation: RemoveLink, source: Source) -> tuple[Edit, ...]:
    """The edits that remove a link, with the line break before it; MisplacedError if a comment would be lost.

    The brackets of `(x.detach)()` stay: `(x)`.
    """
    function, text = operation.function, source.text
    base_end, function_end = _end(function.value, source), _end(function, source)
    gap, behind = _gap(text, base_end)[0], _gap(text, function_end)[0]
    if "#" in gap + behind:
        raise MisplacedError
    start, end = source.position_at(base_end + gap.rfind(")") + 1), _span(operation.subject, source)[1]
    if ")" not in behind:
        return (Edit(start, end, ""),)
    bracket = source.position_at(function_end + behind.rfind(")") + 1)
    return Edit(start, _span(function, source)[1], ""), Edit(bracket, end, "")


def _force(call: ast.Call, source: Source) -> Edit:
    """The edit that puts `force=True` into empty brackets, or in place of the only argument."""
    text = source.text
    bracket = _gap(text, _end(call.func, source)).end()
    if text[bracket : bracket + 1] != "(":
        raise MisplacedError
    if call.keywords:
        return _replaced(call.keywords[0].value, "True", source)
    if call.args:
        return _replaced(call.args[0], "force=True", source)
    place = source.position_at(bracket + 1)
    return Edit(place, place, "force=True")


def _is_echoed(candidate: Candidate, source: Source) -> bool:
    """True if the call may be in an `f"{x.numpy()=}"`, which prints its own source, or in a template string
    `t"{x.numpy()}"`, which keeps it: an edit would change that text."""
    string = candidate.string
    return string is not None and (
        type(string).__name__ == "TemplateStr" or re.search(r"=\s*[}!:]", source.text_of(string)) is not None
    )


def _replaced(node: ast.expr, content: str, source: Source) -> Edit:
    return Edit(*_span(node, source), content)


def _span(node: ast.expr, source: Source) -> tuple[Position, Position]:
    return source.node_start(node), source.node_end(node)


def _end(node: ast.expr, source: Source) -> int:
    return source.extent(node)[1]


def _name_start(attribute: ast.Attribute, source: Source) -> Position:
    start = source.name_start(attribute)
    if start is None:
        raise MisplacedError
    return start


def _gap(text: str, offset: int) -> re.Match[str]:
    match = _GAP.match(text, offset)
    assert match is not None  # it matches nothing at all, too
    return match


# Functions whose second positional argument is the dtype.
_DTYPE_SECOND = frozenset("array asarray asanyarray ascontiguousarray asfortranarray asarray_chkfinite".split())
_TYPES = ("float", "int", "bool", "complex")


def _may_keep_objects(call: ast.AST) -> bool:
    """True if a call's dtype is `object` or not known: `np.array([t, u], dtype=object)` keeps the tensors
    themselves."""
    if not isinstance(call, ast.Call):
        return False
    dtype = next((each.value for each in call.keywords if each.arg == "dtype"), None)
    if dtype is None and last_name(call.func) in _DTYPE_SECOND and len(call.args) > 1:
        dtype = call.args[1]
    if dtype is None:  # `**options` may hold one
        return any(each.arg is None for each in call.keywords)
    if isinstance(dtype, ast.Constant):
        return str(dtype.value).lstrip("<>=|").startswith(("o", "O"))
    if isinstance(dtype, ast.Attribute):  # `np.float32`
        return last_name(dtype.value) not in ("np", "numpy") or dtype.attr in ("object_", "dtype")
    return not isinstance(dtype, ast.Name) or dtype.id not in _TYPES
