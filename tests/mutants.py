"""Rewriters that are broken on purpose: a fixture and what tonumpy makes of it in, a wrong repair out."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

Mutant = Callable[[str, str], str]


def does_nothing(original: str, repaired: str) -> str:  # noqa: ARG001
    return original


def drops_detach(original: str, repaired: str) -> str:  # noqa: ARG001
    return re.sub(r"\.detach\(\)(\s*(?=\.))?", "", repaired)


def drops_cpu(original: str, repaired: str) -> str:  # noqa: ARG001
    return re.sub(r"\.cpu\(\)(\s*(?=\.))?|\.to\((device=)?\"cpu\"\)", "", repaired)


def drops_casts(original: str, repaired: str) -> str:  # noqa: ARG001
    """Without what makes of a dtype, a layout or a bit one that NumPy knows."""
    return re.sub(r"\.(float|cfloat|dequantize|to_dense|resolve_\w+)\(\)(?=\s*\.)", "", repaired)


def repairs_only_the_first(original: str, repaired: str) -> str:
    """Every conversion after the first stays as it was."""
    before, after = (list(re.finditer(r"\.numpy\(", text)) for text in (original, repaired))
    if not before:  # there was none: arguments have been converted
        return original
    return repaired[: after[0].end()] + original[before[0].end() :]


def links_the_wrong_receiver(original: str, repaired: str) -> str:  # noqa: ARG001
    """`model(x.detach().cpu()).numpy()` for `model(x).detach().cpu().numpy()`, or `x.numpy().detach().cpu()`."""
    return ast.unparse(_LinksTheWrongReceiver().visit(ast.parse(repaired)))


def copies(original: str, repaired: str) -> str:  # noqa: ARG001
    return repaired.replace(".numpy()", ".numpy().copy()")


def casts(original: str, repaired: str) -> str:  # noqa: ARG001
    return repaired.replace(".numpy()", ".double().numpy()")


def same_code(one: str, other: str) -> bool:
    return ast.dump(ast.parse(one)) == ast.dump(ast.parse(other))


class _LinksTheWrongReceiver(ast.NodeTransformer):
    def visit_Call(self, call: ast.Call) -> ast.expr:
        self.generic_visit(call)
        if not (isinstance(call.func, ast.Attribute) and call.func.attr == "numpy"):
            return call
        receiver = call.func.value
        while isinstance(receiver, ast.Call) and isinstance(receiver.func, ast.Attribute) and not receiver.args:
            if receiver.func.attr not in ("detach", "cpu"):
                break
            receiver = receiver.func.value
        call.func.value = receiver
        if isinstance(receiver, ast.Call) and receiver.args and not isinstance(receiver.args[0], ast.Constant):
            receiver.args[0] = _linked(receiver.args[0])
            return call
        return _linked(call)


def _linked(value: ast.expr) -> ast.expr:
    for method in ("detach", "cpu"):
        value = ast.Call(ast.Attribute(value, method, ast.Load()), [], [])
    return value
