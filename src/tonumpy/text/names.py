"""Recognizes expressions by their names alone, and quotes them."""

import ast
from collections.abc import Sequence
from itertools import islice

_MOST_NODES = 40  # of quoted code: ast.unparse recurses
_LONGEST = 50
# Methods of tensors and modules that move them to an accelerator; torch_npu and others add their own.
ACCELERATORS = frozenset("cuda xpu npu hpu mtia ipu".split())


def is_cpu_literal(node: ast.expr) -> bool:
    """True for `"cpu"`, `"cpu:0"`, `torch.device("cpu")`, `torch.device("cpu", 0)`, `torch.device(type="cpu")`."""
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
    """True for `torch.float32`, `float`, `x.dtype`: an argument of `.to` that keeps the device."""
    return last_name(node) in _DTYPES or last_name(node) == "dtype"


def last_name(node: ast.expr) -> str | None:
    """`c` for `c` and for `a.b.c`."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else None


def qualified_name(scopes: Sequence[ast.AST]) -> tuple[str, ...]:
    """The names of nested scopes, outermost first. Functions are processed in the order of these names: so their order
    in the text does not decide which of them a limit cuts off."""
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
    """The name by which a run records an expression that holds a tensor: `self.losses`, `batch['x']`; else None."""
    if isinstance(node, ast.Subscript):
        holder = spelling_of(node.value)
        return f"{holder}[{node.slice.value!r}]" if holder and isinstance(node.slice, ast.Constant) else None
    if isinstance(node, ast.Attribute):
        holder = spelling_of(node.value)
        return f"{holder}.{node.attr}" if holder else None
    return node.id if isinstance(node, ast.Name) else None


def quoted(node: ast.expr) -> str | None:
    """Code in backticks, as a message quotes it; None if it is too long or not printable."""
    if len(list(islice(ast.walk(node), _MOST_NODES))) == _MOST_NODES:
        return None
    code = ast.unparse(node)
    return f"`{code}`" if len(code) <= _LONGEST and code.isprintable() and "`" not in code else None
