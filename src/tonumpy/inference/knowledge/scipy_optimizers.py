"""SciPy's optimizers, which call what they are given with an array or a number, and make arrays of what it gives.

Measured on SciPy 1.17: all of `scipy.optimize` that calls a function, given first or under one of the names below.
"""

from __future__ import annotations

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

OPTIMIZERS = "scipy.optimize"
# By the letters of sinks/consumers.py: it hides NumPy's own TypeError, but for a gradient's RuntimeError.
ERRORS = (("d", "ValueError"), ("b", "ValueError"), ("s", "ValueError"))
_NAMES = ("fun", "func", "f", "jac", "fprime")


def is_optimizer(full_name: str) -> bool:
    """True for the full name of a function of `scipy.optimize`."""
    return full_name.startswith(f"{OPTIMIZERS}.")


def functions_given(call: ast.Call) -> list[ast.expr]:
    """What stands in a call of one where a function is expected."""
    return [*call.args[:1], *(each.value for each in call.keywords if each.arg in _NAMES)]
