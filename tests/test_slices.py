"""What of a body is run for what is asked of it: the rows that a slice keeps."""

from __future__ import annotations

import ast
import textwrap

import pytest

from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.slices import Slicer
from tonumpy.inference.summaries.functions import FunctionSummaries
from tonumpy.pipeline import check
from tonumpy.text.source import Source


def _kept(body: str, row: int, names: str, bound: str = "") -> tuple[list[int], list[int]]:
    """The rows that are kept for `names` in a row of a function, its `def` being row 0, and those that are unread."""
    tree = ast.parse("def f(self, x, y):\n" + textwrap.indent(textwrap.dedent(body).strip("\n"), "    "))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    statements = [each for each in ast.walk(function) if isinstance(each, ast.stmt)]
    targets = frozenset(id(each) for each in statements if each.lineno == row + 1)
    found = Slicer(function).at(targets, names.split(), bound.split())
    assert found.statements is not None
    rows = sorted({each.lineno - 1 for each in statements if id(each) in found.statements})
    return rows, sorted({each.lineno - 1 for each in statements if id(each) in found.unread})


@pytest.mark.parametrize(
    ("body", "row", "names", "bound", "kept", "unread"),
    [
        pytest.param("v = V(y)\nv.draw(y)\nout = v.show(x)", 3, "x v", "", [1, 2, 3], [3], id="asked for all of it"),
        pytest.param("v = V(y)\nv.draw(y)\nout = v.show(x)", 3, "x", "v", [1, 3], [3], id="for which it is"),
        pytest.param("v = V(y)\nv = W(v)\nv.show(x)", 3, "x", "v", [1, 2, 3], [3], id="a receiver made of another"),
        pytest.param("out = a(y)\nout = b(x)", 2, "x", "", [2], [2], id="what is only assigned to"),
        pytest.param("for z in x:\n    out = f(z)", 2, "z", "", [1, 2], [2], id="in a loop, read by nobody"),
        pytest.param("z = x\nwhile y:\n    z = f(z)", 3, "z", "", [1, 2, 3], [], id="in a loop, read the next time"),
        pytest.param("a = x[0]\nout = y.draw(a.to(y))\nf(x)", 3, "x", "", [1, 2, 3], [3], id="moved in what is unread"),
        pytest.param("b = np.array(y)\na = np.array(x)\nf(a)", 3, "a", "", [2, 3], [3], id="functions of a library"),
        pytest.param("cv2.show(y)\na = cv2.read(x)\nf(a)", 3, "a", "", [2, 3], [3], id="called for its effect"),
        pytest.param("np = []\nnp.append(y)\nf(np)", 3, "np", "", [1, 2, 3], [3], id="a variable called like one"),
    ],
)
def test_kept_rows(body: str, row: int, names: str, bound: str, kept: list[int], unread: list[int]) -> None:
    assert _kept(body, row, names, bound) == (kept, unread)


def test_what_is_called_on_what_is_moved_is_not_asked_for() -> None:
    """`v` of `out = v.draw(a.to(y))`: what that gives is read nowhere."""
    body = "v = V(1)\nv.fill(2)\na = x[0]\nout = v.draw(a.to(y))\nf(x)"
    assert _kept(body, 5, "x") == ([3, 4, 5], [5])


@pytest.mark.parametrize(
    "caller",
    [
        "return [_shown(x) for x in items]",
        "return max({_shown(x) for x in items})",
        "for x in items:\n        yield _shown(x)",
    ],
)
def test_to_see_what_a_call_is_given_it_is_not_followed(caller: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What `_shown` gives is read nowhere."""
    followed: list[str] = []

    def run_body(_: FunctionSummaries, function: object, *arguments: object) -> object:
        followed.append(function.node.name)  # type: ignore[attr-defined]
        return original(_, function, *arguments)  # type: ignore[arg-type]

    original = FunctionSummaries._run_body
    monkeypatch.setattr(FunctionSummaries, "_run_body", run_body)
    text = (
        f"import torch\n\ndef _shown(x):\n    return x.numpy()\n\ndef show(items: list[torch.Tensor]):\n    {caller}\n"
    )
    found = check(Source(text.encode(), "show.py"), Settings(), Project())
    assert [each.start.row for each in found] == [4]
    assert "on a tensor" in found[0].message  # it was seen what it is given
    assert followed == []
