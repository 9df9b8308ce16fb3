"""What operators, indices and assignments do between an array of NumPy and each sort of tensor, as TNP108 has it.

A module is made of a sort: each code in a function of its own. What raises when it is run must be what is reported, and
nothing else; what has a fix must work when that has been made.
"""

from __future__ import annotations

import re
import warnings
from typing import NamedTuple

from tonumpy import check_source, fix_source

DEVICE = "{device}"
_ARITHMETIC = ("+", "-", "*", "//", "%", "**")
_OF_ARRAYS = (
    *(f"a {operator} t" for operator in (*_ARITHMETIC, "/")),
    *(f"t {operator} a" for operator in (*_ARITHMETIC, "/")),
    *(f"{one} {operator} {other}" for operator in ("<", "<=", ">", ">=", "!=", "==") for one, other in ("at", "ta")),
    *(
        "(a * 2) - t",
        "-a - t",
        "a.T - t.T",
        "a[:1] - t",
        "a @ t.T",
        "t.T @ a",
        "np.array(2.0) * t",
        "t * np.array(2.0)",
    ),
    *("a += t", "a -= t", "a *= t", "a /= t", "t += a", "t -= a", "t *= a", "t /= a"),
    *("a[:] = t", "a[a > 2] = t.sum()", "a[..., 0] = t[:, 0]", "a[None] = t", "a[[0, 1]] = t"),
    *("t[:] = a", "t[a > 2] = a[a > 2]"),
    *("(a > 2) & (t > 2)", "(a > 2) | (t > 2)", "(a > 2) ^ (t > 2)"),
)
# With what is one number on one side. A row of an array, `a[0] = t[0]`, is taken for a single place, and not told.
_OF_NUMBERS = (
    *(
        "np.float64(2) * t",
        "t * np.float64(2)",
        "a.mean() * t",
        "t * a.sum()",
        "a[0, 0] * t",
        "t * (np.array(2.0) * 2)",
    ),
    *("a[0, 0] = t[0, 0]", "a[1, 2] = t.sum()", "t[np.array([0, 1])]", "t[np.zeros((2, 3), dtype=bool)]"),
)
_OF_INDICES = ("a[i]", "a[:, i]", "a[i] = 0", "a[i > 0]", "a[i, i]", "a[i[0]]", "a[int(i.sum())]")


class Sort(NamedTuple):
    """How a tensor is made; `unlike` are codes that fail for a reason of their own."""

    name: str
    tensor: str
    unlike: tuple[str, ...] = ()
    mode: str = ""


_NO_COMPLEX = tuple(code for code in _OF_ARRAYS if "//" in code or "%" in code or "<" in code or ">" in code)
_OF_COMPLEX = (*_NO_COMPLEX, "a[0, 0] = t[0, 0]", "a[1, 2] = t.sum()", "a += t", "a -= t", "a *= t", "a /= t")
_OF_SPARSE = (
    *("a == t", "t == a", "a[1, 2] = t.sum()", "a[0, 0] = t[0, 0]", "a[a > 2] = t.sum()", "a[..., 0] = t[:, 0]"),
    *("(a > 2) & (t > 2)", "(a > 2) | (t > 2)", "(a > 2) ^ (t > 2)", "a.T - t.T", "a @ t.T", "t.T @ a"),
    *("t[np.array([0, 1])]", "t[np.zeros((2, 3), dtype=bool)]"),
)
SORTS = (
    Sort("plain", "torch.ones(2, 3)"),
    Sort("whole numbers", "torch.ones(2, 3, dtype=torch.int64)", ("t += a", "t -= a", "t *= a")),
    Sort("requires grad", "torch.ones(2, 3, requires_grad=True)", ("a[0, 0] = t[0, 0]",)),
    Sort("requires grad, inside no_grad", "torch.ones(2, 3, requires_grad=True)", mode="torch.no_grad()"),
    Sort("bfloat16", "torch.ones(2, 3, dtype=torch.bfloat16)"),
    Sort("conjugate bit", "torch.ones(2, 3, dtype=torch.complex64).conj()", _OF_COMPLEX),
    Sort("negative bit", "torch.ones(2, 3, dtype=torch.complex64).conj().imag", ("a[a > 2] = t.sum()",)),
    Sort("sparse", "torch.ones(2, 3).to_sparse()", _OF_SPARSE),
    Sort("on an accelerator", f"torch.ones(2, 3).to('{DEVICE}')"),
    Sort("on an accelerator, inside no_grad", f"torch.ones(2, 3).to('{DEVICE}')", mode="torch.no_grad()"),
)
INDICES = (Sort("plain", "torch.arange(2)"), Sort("on an accelerator", f"torch.arange(2).to('{DEVICE}')"))


class Difference(NamedTuple):
    code: str
    outcome: object
    message: str | None


def differences(sort: Sort, device: str) -> list[Difference]:
    """The codes where what happens is not what is said, or where a repair does not heal."""
    name, codes = ("i", _OF_INDICES) if sort in INDICES else ("t", (*_OF_ARRAYS, *_OF_NUMBERS))
    codes = tuple(code for code in codes if code not in sort.unlike)
    module = _module(sort, name, codes, device)
    rows = {finding.start.row: finding for finding in check_source(module, select=("TNP108",))}
    outcomes = _run(module, len(codes))
    repaired = _run(fix_source(module, select=("TNP108",), unsafe=True), len(codes))
    found = []
    for number, code in enumerate(codes):
        finding = rows.get(_row_of(number))
        is_wrong = isinstance(outcomes[number], (Exception, bool))
        is_healed = finding is None or finding.fix is None or not isinstance(repaired[number], (Exception, bool))
        if is_wrong is (finding is None) or not is_healed:
            outcome = outcomes[number] if is_healed else repaired[number]
            found.append(Difference(code, outcome, finding and finding.message))
    return found


_HEAD = "import numpy as np\nimport torch\n"
_LINES = 6  # of a function


def _module(sort: Sort, name: str, codes: tuple[str, ...], device: str) -> str:
    tensor = sort.tensor.replace(DEVICE, device)
    functions = []
    for number, code in enumerate(codes):
        body = code if re.search(r"(?<![=!<>])=(?!=)", code) else f"return {code}"
        lines = (
            "net = torch.nn.Linear(1, 1)",  # so that it is looked at
            "a = np.ones((2, 3))",
            f"{name} = {tensor}",
            f"with {sort.mode or 'torch.enable_grad()'}:",
            f"    {body}",
        )
        functions.append(f"def f{number}():\n" + "".join(f"    {line}\n" for line in lines))
    return _HEAD + "".join(functions)


def _row_of(number: int) -> int:
    return _HEAD.count("\n") + (number + 1) * _LINES


def _run(module: str, count: int) -> list[object]:
    names: dict[str, object] = {}
    exec(module, names)
    return [_outcome(names[f"f{number}"]) for number in range(count)]


def _outcome(function: object) -> object:
    assert callable(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # NumPy 2 and torch call some of it deprecated, torch a sparse layout beta
        try:
            return function()
        except Exception as error:
            return error


def is_on_accelerator(sort: Sort) -> bool:
    return DEVICE in sort.tensor
