"""The fix of a whole file: what is verified, what is refused, and that nothing else changes."""

from __future__ import annotations

import codecs
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import pytest
from chain_repair import repair, repairs_of
from hypothesis import given, settings
from hypothesis import strategies as st

from tonumpy.config import Settings
from tonumpy.engine.names.project import Project
from tonumpy.findings import STYLES, Edit, Position, SourceError
from tonumpy.pipeline import Fixed, check, fix
from tonumpy.repair import rewrite as rewriting
from tonumpy.repair.operations import DataToDetach
from tonumpy.repair.rewrite import RewriteError, apply_edits, rewrite
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from tonumpy.findings import Style


def fix_bytes(data: bytes, *, unsafe: bool = False, style: Style = "links") -> tuple[bytes, Fixed]:
    source = Source(data, "example.py")
    fixed = fix(source, Settings(style=style), Project(), unsafe=unsafe)
    return source.encode(fixed.text), fixed


TENSOR = "import torch\n\n\ndef f(x: torch.Tensor):\n    return "


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        pytest.param(b"", b"\n", id="LF"),
        pytest.param(b"", b"", id="no last newline"),
        pytest.param(b"", b"  \n\n\x0c\n \t\n", id="blank lines and a form feed"),
        pytest.param(codecs.BOM_UTF8, "  # é\n".encode(), id="byte order mark"),
        pytest.param(b"# -*- coding: latin-1 -*-\n", "  # é\n".encode("latin-1"), id="latin-1"),
        pytest.param(b"#!/bin/python\n# vim: set fileencoding=cp1252 :\n", "  # €\n".encode("cp1252"), id="cp1252"),
        pytest.param(b"# coding: euc-jp\n", "  # 漢字\n".encode("euc-jp"), id="euc-jp"),
    ],
)
@pytest.mark.parametrize("newline", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_every_other_byte_survives(head: bytes, tail: bytes, newline: bytes) -> None:
    def file(call: bytes) -> bytes:
        return (head + TENSOR.encode() + b"x" + call + tail).replace(b"\n", newline)

    data, fixed = fix_bytes(file(b".numpy()"))
    assert data == file(b".detach().cpu().numpy()")
    assert [finding.code for finding in fixed.applied] == ["TNP101"]
    assert fixed.remaining == []
    assert fix_bytes(data) == (data, Fixed(data.decode(Source(data, "").encoding).removeprefix("\ufeff"), [], []))


def test_bytes_that_the_encoding_does_not_give_back_are_not_rewritten() -> None:
    data = b"# coding: shift_jis_2004\n" + TENSOR.encode() + b"x.numpy()  # \x81\x40\n"
    assert fix_bytes(data)[0] != data  # this codec alone is no reason
    data = b"# coding: iso2022_jp\n" + TENSOR.encode() + b"x.numpy()  # \x1b$B4A\x1b(B\x1b$B;z\x1b(B\n"
    with pytest.raises(SourceError, match="cannot be rewritten: iso2022_jp does not give back the same bytes"):
        fix_bytes(data)


def test_noqa_is_left() -> None:
    text = f"{TENSOR}(\n        x.numpy(),  # noqa: TNP101\n        x.numpy(),\n    )\n"
    data, fixed = fix_bytes(text.encode())
    assert data.decode() == text.replace("x.numpy(),\n", "x.detach().cpu().numpy(),\n")
    assert len(fixed.applied) == 1
    assert fixed.remaining == []


def test_findings_left_are_those_of_the_new_text() -> None:
    text = f"{TENSOR}x.numpy(), f'{{x.numpy()=}}'\n"
    _, fixed = fix_bytes(text.encode(), unsafe=True)
    assert [finding.start for finding in fixed.applied] == [Position(5, 14)]
    assert [finding.start for finding in fixed.remaining] == [Position(5, 43)]
    assert check(Source.from_text(fixed.text, "example.py"), Settings(), Project()) == fixed.remaining


def test_what_may_be_no_tensor_is_repaired_only_on_demand() -> None:
    text = "import torch\n\n\ndef f(x):\n    return x.numpy()\n"
    data, fixed = fix_bytes(text.encode())
    assert data == text.encode()
    assert [finding.fix and finding.fix.applicability for finding in fixed.remaining] == ["unsafe"]
    data, fixed = fix_bytes(text.encode(), unsafe=True)
    assert b"x.detach().cpu().numpy()" in data
    assert fixed.remaining == []


def test_deep_nesting_needs_no_stack() -> None:
    text = "x" + ".view(1)" * 400 + ".numpy()"
    assert repair(text) == "x" + ".view(1)" * 400 + ".detach().cpu().numpy()"


# Rewriters that are broken on purpose: verification must refuse what each of them makes.


class Broken(NamedTuple):
    name: str
    text: str
    wrong: Callable[[str], str]


BROKEN = [
    Broken("nothing done", "x.numpy()", lambda text: text.replace(".detach().cpu()", "")),
    Broken("a link dropped", "x.numpy()", lambda text: text.replace(".detach()", "")),
    Broken("the wrong receiver", "f(x).g(y.cpu()).numpy()", lambda _: "f(x).g(y.detach().cpu()).cpu().numpy()"),
    Broken("one call too many", "x.numpy(), y.cpu", lambda text: text.replace("y.cpu", "y.cpu()")),
    Broken("another order", "x.numpy()", lambda text: text.replace(".detach().cpu()", ".cpu().detach()")),
    Broken("an argument", "x.numpy()", lambda text: text.replace("cpu()", "cpu(0)")),
    Broken("a comment changed", "x.numpy()  # é", lambda text: text.replace("é", "e")),
    Broken("a blank changed", "x = y.numpy()", lambda text: text.replace(" = ", "= ")),
    Broken("the end cut off", "x.numpy()\n", lambda text: text[:-1]),
    Broken("something added", "x.numpy()\n", lambda text: text + "\n"),
    Broken("a constant of another type", "x.numpy(), 1", lambda text: text.replace("1", "1.0")),
    Broken("no syntax", "x.numpy()", lambda text: text.replace(".cpu()", ".cpu(")),
]


@pytest.mark.parametrize("broken", BROKEN, ids=[each.name for each in BROKEN])
def test_a_broken_rewriter_is_refused(broken: Broken, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Source.from_text(broken.text, "example.py")
    repairs = repairs_of(source)
    right = rewrite(source, repairs)
    assert broken.wrong(right) != right
    monkeypatch.setattr(rewriting, "apply_edits", lambda _source, _edits: broken.wrong(right))
    with pytest.raises(RewriteError, match=r"example\.py: not rewritten because of a bug in tonumpy"):
        rewrite(source, repairs)


def insertion(column: int, content: str) -> Edit:
    return Edit(Position(1, column), Position(1, column), content)


@pytest.mark.parametrize(
    ("text", "edits"),
    [
        pytest.param("x.numpy()", (), id="none"),
        pytest.param("x.numpy()", (insertion(2, ".detach()"),), id="one link of two"),
        pytest.param("x.y.numpy()", (insertion(2, ".detach().cpu()"),), id="before another link"),
        pytest.param("f(x).numpy()", (insertion(4, ".detach().cpu()"),), id="inside the brackets"),
        pytest.param("x.numpy()", (insertion(2, ".detach().cpu()"), insertion(10, ";0")), id="and something else"),
        pytest.param("x.numpy()", (insertion(2, ".detach(0).cpu()"),), id="with an argument"),
        pytest.param("x.numpy()", (insertion(2, ".detach.cpu()"),), id="without a call"),
        pytest.param("x.numpy()", (insertion(2, ".detach().cpu("),), id="without a bracket"),
        pytest.param(
            "x.numpy()", (Edit(Position(1, 1), Position(1, 2), "y.detach().cpu()"),), id="with another receiver"
        ),
        pytest.param(
            "x.numpy(), [y]",
            (insertion(2, ".detach().cpu()"), Edit(Position(1, 12), Position(1, 15), "(y,)")),
            id="and another kind of node",
        ),
    ],
)
def test_wrong_edits_are_refused(text: str, edits: tuple[Edit, ...]) -> None:
    """The edits do what they say; the tree tells that it is not what was meant."""
    source = Source.from_text(text, "example.py")
    (repair,) = repairs_of(source)
    assert rewrite(source, [repair])
    with pytest.raises(RewriteError):
        rewrite(source, [repair._replace(edits=edits)])


def test_overlapping_edits_are_refused() -> None:
    source = Source.from_text("x.numpy()", "example.py")
    edits = Edit(Position(1, 1), Position(1, 5), "x"), Edit(Position(1, 3), Position(1, 6), "y")
    with pytest.raises(RewriteError, match="edits overlap at 1:3"):
        apply_edits(source, edits)


@pytest.mark.parametrize("content", ["force=False", "force=1", "force=True, a=0", "a=True", "True", ""])
def test_wrong_force_is_refused(content: str) -> None:
    source = Source.from_text("x.numpy()", "example.py")
    (repair,) = repairs_of(source, "force")
    with pytest.raises(RewriteError):
        rewrite(source, [repair._replace(edits=(insertion(9, content),))])


def test_data_that_is_not_replaced_is_refused() -> None:
    source = Source.from_text("x.data.numpy()", "example.py")
    (repair,) = repairs_of(source)
    data = repair.operations[0].before.value
    asked = repair._replace(operations=(DataToDetach(data), *repair.operations))
    with pytest.raises(RewriteError, match="Attribute at row 1 for Call"):
        rewrite(source, [asked])


# Any nesting and layout. The oracle is a run: every value that is converted must have been detached and copied.


@st.composite
def gaps(draw: st.DrawFn) -> str:
    """What may stand before a dot inside brackets."""
    pieces = ["", "", "", " ", "\t", "\n    ", "\n", "\n\t", " \\\n  ", "  # é .numpy()\n  ", "  # c\\\n", "\x0c"]
    return "".join(draw(st.lists(st.sampled_from(pieces), max_size=2)))


LINKS = (
    "detach() cpu() to('cpu') to(torch.device('cpu')) to(device='cpu',dtype=d) data cuda() squeeze() [0] [k] ['k'] [1:]"
    " mul(k) view(k,-1) T boxes requires_grad_() numpy(force=True) detach_()"
).split()


@st.composite
def chains(draw: st.DrawFn, inner: st.SearchStrategy[str]) -> str:
    base = draw(st.sampled_from(["x", "é", "a.b", "({})", "(-{})", "f({})", "g({},\n{})", "[{}][0]", "(lambda:{})()"]))
    text = base.replace("{}", "\0")
    while "\0" in text:
        text = text.replace("\0", draw(inner), 1)
    for link in draw(st.lists(st.sampled_from(LINKS), max_size=4)):
        text += link if link.startswith("[") else f"{draw(gaps())}.{draw(st.sampled_from(['', '', ' ']))}{link}"
    if draw(st.booleans()):
        text += f"{draw(gaps())}.numpy({draw(st.sampled_from(['', '', '', ' ', 'force=False']))})"
    return text


EXPRESSIONS = st.recursive(st.sampled_from(["x", "é", "x.numpy()", "f(f'é{é.numpy()}{x.cpu().numpy()!r}')"]), chains)


@st.composite
def modules(draw: st.DrawFn) -> str:
    lines = [f"{draw(st.sampled_from(['y', 'é = y', 'a; y']))} = ({draw(EXPRESSIONS)}{draw(gaps())})" for _ in range(2)]
    text = draw(st.sampled_from(["\n", "  # é\n\x0c\n", "; "])).join(lines) + draw(
        st.sampled_from(["", "\n", "  # €\n"])
    )
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n", "\r"])))


class Value:
    """Behaves as a tensor, keeps account of what is done to it and logs each conversion."""

    def __init__(
        self, log: list[tuple[str, bool, bool]], path: str = "", detached: bool = False, on_cpu: bool = False
    ) -> None:
        self.log, self.path, self.detached, self.on_cpu = log, path, detached, on_cpu

    def then(self, step: str, *, detached: bool | None = None, on_cpu: bool | None = None) -> Value:
        detached = self.detached if detached is None else detached
        on_cpu = self.on_cpu if on_cpu is None else on_cpu
        return Value(self.log, self.path + step, detached, on_cpu)

    def detach(self) -> Value:
        return self.then("", detached=True)

    detach_ = detach

    def cpu(self) -> Value:
        return self.then("", on_cpu=True)

    def to(self, device: object = None, dtype: object = None) -> Value:  # noqa: ARG002
        return self.cpu()

    def cuda(self) -> Value:
        return self.then(".cuda", on_cpu=False)

    def requires_grad_(self) -> Value:
        return self.then(".grad", detached=False)

    def numpy(self, force: bool = False) -> Value:
        self.log.append((self.path, force or self.detached, force or self.on_cpu))
        return self.then(".numpy")

    @property
    def data(self) -> Value:
        return self.detach()

    def squeeze(self) -> Value:
        return self.then(".squeeze")

    def mul(self, _other: object) -> Value:
        return self.then(".mul")

    def view(self, *_shape: object) -> Value:
        return self.then(".view")

    def __getitem__(self, _key: object) -> Value:
        return self.then(".item")

    def __neg__(self) -> Value:
        return Value(self.log, f"-{self.path}")

    T = b = boxes = property(squeeze)

    def __repr__(self) -> str:
        return "value"

    __str__ = __repr__

    def __format__(self, _spec: str) -> str:
        return "value"


class Torch:
    @staticmethod
    def device(name: str) -> str:
        return name


def conversions_in(text: str) -> list[tuple[str, bool, bool]]:
    """What each `.numpy()` that runs is called on: its path, whether it is detached and on the CPU."""
    log: list[tuple[str, bool, bool]] = []

    def call(*_values: object) -> Value:
        return Value(log, "f")

    names = {name: Value(log, name) for name in ("x", "é", "a")}
    exec(text, {**names, "f": call, "g": call, "torch": Torch, "d": None, "k": 0})
    return log


def is_subsequence(short: str, long: str) -> bool:
    rest = iter(long)
    return all(character in rest for character in short)


@pytest.mark.slow
@given(modules(), st.sampled_from(STYLES))
@settings(max_examples=300, derandomize=True, deadline=None)
def test_any_nesting_and_layout(text: str, style: Style) -> None:
    before = conversions_in(text)
    new = repair(text, style)
    after = conversions_in(new)
    assert [path for path, _, _ in after] == [path for path, _, _ in before]
    assert all(detached and on_cpu for _, detached, on_cpu in after)
    assert repair(new, style) == new
    assert is_subsequence(text.replace("data", "").replace("False", ""), new)
    assert [text.count(newline) - new.count(newline) > 0 for newline in ("\n", "\r", "#")] == [False] * 3
    assert ("\n" in text) == ("\n" in new)


@given(modules())
@settings(max_examples=40, derandomize=True, deadline=None)
def test_a_second_fix_changes_nothing_and_check_is_silent(text: str) -> None:
    module = "import torch\nx: torch.Tensor\né: torch.Tensor\n" + text
    data, fixed = fix_bytes(module.encode(), unsafe=True)
    assert fixed.remaining == []
    assert fix_bytes(data, unsafe=True)[0] == data
    assert fixed.applied or data == module.encode()
