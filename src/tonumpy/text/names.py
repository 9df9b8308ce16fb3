"""Reads expressions by their names alone, and quotes them."""

import ast
from collections.abc import Sequence
from itertools import islice

_MOST_NODES = 40  # of code that is quoted: ast.unparse recurses
_LONGEST = 50
# Methods of tensors and modules that bring them to an accelerator; torch_npu and others add their own.
ACCELERATORS = frozenset("cuda xpu npu hpu mtia ipu".split())


def is_cpu_literal(node: ast.expr) -> bool:
    """`"cpu"`, `"cpu:0"`, `torch.device("cpu")`, `torch.device("cpu", 0)` and `torch.device(type="cpu")`."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.split(":")[0] == "cpu"
    if isinstance(node, ast.Call) and last_name(node.func) == "device":
        named = [keyword.value for keyword in node.keywords if keyword.arg in ("type", "device")]
        given = node.args[:1] or named
        return bool(given) and is_cpu_literal(given[0])
    return False


_DTYPES = frozenset(
    "float float16 float32 float64 half double bfloat16 int int8 int16 int32 int64 long short uint8 bool complex64"
    " complex128 cfloat cdouble".split()
)


def is_dtype(node: ast.expr) -> bool:
    """`torch.float32`, `float`, `x.dtype`: an argument of `.to` that leaves the device alone."""
    return last_name(node) in _DTYPES or last_name(node) == "dtype"


def last_name(node: ast.expr) -> str | None:
    """`c` for `c` and for `a.b.c`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def qualified_name(scopes: Sequence[ast.AST]) -> tuple[str, ...]:
    """The names of some scopes, the outermost first. What is asked of several functions is asked in the order of their
    names: that in which they stand in the text shall not decide where a limit cuts it off."""
    return tuple(getattr(scope, "name", "") for scope in scopes)


def path_of(node: ast.expr) -> str | None:
    """`self.a.b` for an attribute path on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join((node.id, *reversed(parts)))


def spelling_of(node: ast.expr) -> str | None:
    """The name that a run has for what holds a tensor: `self.losses`, `batch['x']`; None for another expression."""
    if isinstance(node, ast.Subscript):
        holder = spelling_of(node.value)
        return f"{holder}[{node.slice.value!r}]" if holder and isinstance(node.slice, ast.Constant) else None
    if isinstance(node, ast.Attribute):
        holder = spelling_of(node.value)
        return f"{holder}.{node.attr}" if holder else None
    return node.id if isinstance(node, ast.Name) else None


def quoted(node: ast.expr) -> str | None:
    """Code as a message quotes it, in backticks; None where it is too long."""
    if len(list(islice(ast.walk(node), _MOST_NODES))) == _MOST_NODES:
        return None
    code = ast.unparse(node)
    return f"`{code}`" if len(code) <= _LONGEST and code.isprintable() and "`" not in code else None
