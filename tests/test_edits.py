"""Which operations repair a chain, and where in the text they are made."""

from __future__ import annotations

import ast
import sys
from typing import TYPE_CHECKING

import pytest
from chain_repair import conversions_of, fix_of, fixes_of, repair
from hypothesis import given
from hypothesis import strategies as st

from tonumpy.findings import Edit, Fix, Position
from tonumpy.text.candidates import call_span
from tonumpy.text.source import Source

if TYPE_CHECKING:
    from tonumpy.facts import Certainty, Fact
    from tonumpy.findings import Style


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("x.detach().cpu().numpy()", id="complete"),
        pytest.param("x.cpu().detach().numpy()", id="complete the other way round"),
        pytest.param("x.data.cpu().numpy()", id="complete with .data"),
        pytest.param("x.detach().to('cpu').numpy()", id="complete with .to"),
        pytest.param("x.numpy(force=True)", id="forced"),
        pytest.param("x.numpy", id="no call"),
        pytest.param("s = 'x.numpy()'  # x.numpy()", id="in a string and a comment"),
    ],
)
@pytest.mark.parametrize("style", ["links", "force"])
def test_unchanged(text: str, style: Style) -> None:
    assert repair(text, style) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x.numpy()", "x.detach().cpu().numpy()", id="bare"),
        pytest.param("x.detach().numpy()", "x.detach().cpu().numpy()", id="detached"),
        pytest.param("x.cpu().numpy()", "x.detach().cpu().numpy()", id="on the CPU"),
        pytest.param("x.to('cpu').numpy()", "x.detach().to('cpu').numpy()", id="to the CPU"),
        pytest.param(
            "x.to(torch.device('cpu'), torch.float32).numpy()",
            "x.detach().to(torch.device('cpu'), torch.float32).numpy()",
            id="to the CPU and a dtype",
        ),
        pytest.param("x.data.numpy()", "x.data.cpu().numpy()", id=".data"),
        pytest.param("x.data[0].numpy()", "x.data[0].cpu().numpy()", id=".data and an index"),
        pytest.param("x.cpu().cuda().numpy()", "x.cpu().cuda().detach().cpu().numpy()", id="moved away again"),
        pytest.param("x.detach().cuda().numpy()", "x.detach().cuda().cpu().numpy()", id="detached, then moved"),
        pytest.param("x.numpy(force=False)", "x.detach().cpu().numpy(force=False)", id="arguments are kept"),
    ],
)
def test_links(text: str, expected: str) -> None:
    assert repair(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x.cpu()[0].numpy()", "x.detach().cpu()[0].numpy()", id="number"),
        pytest.param("x.cpu()[:, -1].numpy()", "x.detach().cpu()[:, -1].numpy()", id="slices"),
        pytest.param("x.cpu().view(n, -1).T.numpy()", "x.detach().cpu().view(n, -1).T.numpy()", id="shapes"),
        pytest.param("x.cpu().mul(w).numpy()", "x.cpu().mul(w).detach().numpy()", id="the operand may require grad"),
        pytest.param("x.cpu()[k].numpy()", "x.cpu()[k].detach().numpy()", id="the base may be a mapping"),
        pytest.param("x.to('cpu')['a'].numpy()", "x.to('cpu')['a'].detach().numpy()", id="the base is a mapping"),
        pytest.param("x.to('cpu').boxes.numpy()", "x.to('cpu').boxes.detach().numpy()", id="the base is no tensor"),
        pytest.param("x.cpu().grad.numpy()", "x.cpu().grad.detach().numpy()", id="a detached copy has no grad"),
        pytest.param(
            "x.cpu().requires_grad_().numpy()", "x.cpu().requires_grad_().detach().numpy()", id="grad after .cpu()"
        ),
        pytest.param("(await x.cpu()).numpy()", "(await x.cpu()).detach().numpy()", id="await in between"),
        pytest.param("(await x.cpu()).T.numpy()", "(await x.cpu()).T.detach().numpy()", id="await before a link"),
    ],
)
def test_detach_goes_before_the_copy_only_where_that_is_certain_to_be_a_tensors(text: str, expected: str) -> None:
    assert repair(f"async def f():\n    return {text}\n") == f"async def f():\n    return {expected}\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("x.numpy()", "x.numpy(force=True)", id="bare"),
        pytest.param("x.cpu().numpy()", "x.cpu().numpy(force=True)", id="links are kept"),
        pytest.param("x.data.numpy()", "x.data.numpy(force=True)", id=".data is kept"),
        pytest.param("x.numpy(force=False)", "x.numpy(force=True)", id="keyword"),
        pytest.param("x.numpy( force = False, )", "x.numpy( force = True, )", id="keyword with its layout"),
        pytest.param("x.numpy(  # why\n)", "x.numpy(force=True  # why\n)", id="comment in the brackets"),
        pytest.param("(x.numpy) (), y.numpy()", "(x.numpy) (force=True), y.numpy(force=True)", id="brackets"),
        pytest.param("x.numpy(force=flag)", "x.detach().cpu().numpy(force=flag)", id="a choice is not lost"),
        pytest.param("x.numpy(**k)", "x.detach().cpu().numpy(**k)", id="two stars"),
    ],
)
def test_force(text: str, expected: str) -> None:
    assert repair(text, "force") == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(
            "y = (\n    model(a)\n    .numpy()\n)",
            "y = (\n    model(a)\n    .detach()\n    .cpu()\n    .numpy()\n)",
            id="one link a line",
        ),
        pytest.param(
            "y = (\n    model(a)\n    .cpu()\n    .numpy()\n)",
            "y = (\n    model(a)\n    .detach()\n    .cpu()\n    .numpy()\n)",
            id="one link a line, before .cpu()",
        ),
        pytest.param(
            "y = (\n\tx  # the input\n\t# then\n\t.numpy()  # done\n)",
            "y = (\n\tx  # the input\n\t# then\n\t.detach()\n\t.cpu()\n\t.numpy()  # done\n)",
            id="comments stay with their lines",
        ),
        pytest.param(
            "y = (model(a).cpu()\n     .numpy())",
            "y = (model(a).detach().cpu()\n     .numpy())",
            id="a link on the first line",
        ),
        pytest.param(
            "y = (model(a).detach()\n     .numpy())",
            "y = (model(a).detach()\n     .cpu()\n     .numpy())",
            id="a link on the second line",
        ),
        pytest.param(
            "y = x \\\n    .numpy()",
            "y = x \\\n    .detach() \\\n    .cpu() \\\n    .numpy()",
            id="backslash",
        ),
        pytest.param(
            "y = (x  # C:\\\n  .numpy())",
            "y = (x  # C:\\\n  .detach()\n  .cpu()\n  .numpy())",
            id="a comment that ends in a backslash",
        ),
        pytest.param(
            "y = (x\r\n  .numpy())\r\n",
            "y = (x\r\n  .detach()\r\n  .cpu()\r\n  .numpy())\r\n",
            id="CRLF",
        ),
        pytest.param("y = (x\r  .numpy())\r", "y = (x\r  .detach()\r  .cpu()\r  .numpy())\r", id="lone CR"),
        pytest.param("y = (x\n.numpy())", "y = (x\n.detach()\n.cpu()\n.numpy())", id="no indentation"),
        pytest.param(
            "y = (\n  a\n  + b\n).numpy()", "y = (\n  a\n  + b\n).detach().cpu().numpy()", id="closing bracket"
        ),
        pytest.param(
            "y = (\n  (a + b\n  ) .numpy())", "y = (\n  (a + b\n  ) .detach().cpu().numpy())", id="bracket and space"
        ),
        pytest.param("y = f(\n  a\n).cpu(\n).numpy()", "y = f(\n  a\n).detach().cpu(\n).numpy()", id="split brackets"),
        pytest.param(
            "y = (a.cpu().\n  numpy()), b.numpy()",
            "y = (a.detach().cpu().\n  numpy()), b.detach().cpu().numpy()",
            id="a dot that ends its line",
        ),
        pytest.param("a .numpy()", "a .detach().cpu().numpy()", id="space before the dot"),
        pytest.param("if 1:\n\x0c    y = x.numpy()", "if 1:\n\x0c    y = x.detach().cpu().numpy()", id="form feed"),
    ],
)
def test_layout_is_kept(text: str, expected: str) -> None:
    assert repair(text) == expected


FULL = ".detach().cpu().numpy()"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("y = (a + b){}", id="group"),
        pytest.param("y = [v{} for v in xs if v{}.any()]", id="comprehension"),
        pytest.param("f = lambda v=a{}: v{}", id="lambda"),
        pytest.param("@deco(a{})\ndef f(v=b{}) -> c{}: ...", id="decorator, default and annotation"),
        pytest.param("if (y := x){}.any(): pass", id="walrus"),
        pytest.param("async def f():\n    return await x{}, (await x){}", id="await"),
        pytest.param("f(a{}.sum() + b{}, g(c{})){}", id="nested"),
        pytest.param("a{} + a{}; a{}", id="repeated"),
        pytest.param("é = ü{}; 漢 = a{}", id="not ASCII"),
        pytest.param("x = '" + "€" * 5000 + "', a{}", id="long line"),
        pytest.param("a[b{}:c{}]{}", id="subscripts"),
        pytest.param("-a{} ** b{}", id="operators"),
        pytest.param("print(*a{}, **b{})", id="stars"),
        pytest.param("match a{}:\n    case [b] if b{}: c{}", id="match"),
        pytest.param("try: a{}\nexcept E: b{}\nelse: c{}\nfinally: d{}", id="try"),
        pytest.param("with a{} as b, c{}: d{}", id="with"),
        pytest.param("class C(a{}, k=b{}): c = d{}", id="class"),
        pytest.param("for a in b{}: c{}\nelse: d{}", id="for"),
        pytest.param("x: t = a{}  # type: ignore", id="annotated"),
        pytest.param("'x'{}; b''{}; ...{}; 1.{}; 1.0{}.a{}", id="literals"),
        pytest.param("f'{a{}}'", id="f-string"),
        pytest.param("f'{a{}} a.numpy() {a{}!r:>10}'", id="f-string with the same text outside"),
        pytest.param("f'{{{a{}}}}' 'é' f'é{a{}}'", id="f-strings side by side"),
        pytest.param("f'{a:{b{}}}'", id="format specification"),
        pytest.param("f'{f\"{a{}}\"} {a{}}'", id="nested f-string"),
        pytest.param("f'{d[\"k\"]{}} {(lambda: a{})()}'", id="quotes and a lambda in an f-string"),
        pytest.param('y = f"""\né {a{}}\n  {\n b{}\n}\n"""', id="f-string of several lines"),
        pytest.param("y = (f'a'\n  f'é{a{}}'  # c\n  rf'\\d{b{}}')", id="f-strings over several lines"),
        pytest.param("y = f'\\N{EM DASH} \\x41 {a{}}'", id="f-string with escapes"),
    ],
)
def test_everywhere(text: str) -> None:
    assert repair(text.replace("{}", ".numpy()")) == text.replace("{}", FULL)
    assert repair(text.replace("{}", ".numpy()"), "force") == text.replace("{}", ".numpy(force=True)")


@pytest.mark.skipif(sys.version_info < (3, 12), reason="Python 3.12 lifts the limits of f-strings")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("f'{d['k']{}} {f'{a{}}'}'", id="the same quotes"),
        pytest.param("f'{a{}  # c\n + b{}}'", id="comment and line break"),
        pytest.param("f'{'\\n'.join(a{})}'", id="backslash"),
    ],
)
def test_in_the_f_strings_of_python_3_12(text: str) -> None:
    assert repair(text.replace("{}", ".numpy()")) == text.replace("{}", FULL)


def test_a_chain_of_several_lines_in_an_f_string() -> None:
    text = 'f"""{\n  a\n  .numpy()}"""'
    assert repair(text) == 'f"""{\n  a\n  .detach()\n  .cpu()\n  .numpy()}"""'


@pytest.mark.parametrize(
    "text", ["f'{a.numpy()=}'", "f'{a.numpy() = !r}'", "f'{(a.numpy())=}'", "f'{f(a.numpy())=}'", "f'{b=} {a.numpy()}'"]
)
def test_an_f_string_that_prints_its_own_source_is_left(text: str) -> None:
    (fix,) = fixes_of(text)
    assert fix.applicability == "display-only"
    assert fix.edits


@pytest.mark.parametrize("text", ["f'{a.numpy()==b}'", "f'a={a.numpy()}'"])
def test_an_f_string_with_another_equals_sign_is_not(text: str) -> None:
    assert fixes_of(text)[0].applicability == "safe"


def test_edits_count_code_points() -> None:
    (fix,) = fixes_of("é = 1\nüü = x.cpu().numpy()")
    place = Position(2, 7)
    assert fix == Fix("safe", "Add `.detach()`", (Edit(place, place, ".detach()"),))


@pytest.mark.parametrize("known", [False, None])
def test_the_data_of_what_may_be_no_tensor_is_kept(known: Fact) -> None:
    source = Source.from_text("batch.data.numpy()", "example.py")
    (conversion,) = conversions_of(source, data_of_tensor=known)
    place = Position(1, 11)
    fix = Fix("safe", "Add `.detach().cpu()`", (Edit(place, place, ".detach().cpu()"),))
    assert fix_of(conversion, source) == fix


def test_the_edits_of_data() -> None:
    (fix,) = fixes_of("x.data.numpy()")
    assert fix.message == "Add `.cpu()`"
    assert fix.edits == (Edit(Position(1, 7), Position(1, 7), ".cpu()"),)


@pytest.mark.parametrize(
    ("certainty", "applicability"), [("tensor", "safe"), ("likely", "safe"), ("possible", "unsafe")]
)
def test_applicability(certainty: Certainty, applicability: str) -> None:
    (fix,) = fixes_of("x.numpy()", certainty=certainty)
    assert fix.applicability == applicability


def test_messages() -> None:
    assert [fixes_of(text)[0].message for text in ("x.numpy()", "x.detach().numpy()")] == [
        "Add `.detach().cpu()`",
        "Add `.cpu()`",
    ]
    assert fixes_of("x.numpy()", "force")[0].message == "Use `.numpy(force=True)`"


def spans_of(text: str, tree: ast.Module | None = None) -> list[tuple[Position, Position]]:
    source = Source.from_text(text, "example.py", tree)
    return [call_span(each.site, source) for each in conversions_of(source)]


def test_the_span_goes_from_the_name_to_the_closing_bracket() -> None:
    assert spans_of("é = (ü\n  .numpy(\n))") == [(Position(2, 4), Position(3, 2))]
    assert spans_of("f'é{ü.numpy()}'") == [(Position(1, 7), Position(1, 14))]


def test_a_name_in_other_characters_has_the_place_of_its_call_and_no_edits() -> None:
    text = "x.\N{FULLWIDTH LATIN SMALL LETTER N}umpy(); y.numpy()"
    assert [fix.applicability for fix in fixes_of(text)] == ["display-only", "safe"]
    assert spans_of(text)[0] == (Position(1, 1), Position(1, 10))
    assert repair(text) == "x.\N{FULLWIDTH LATIN SMALL LETTER N}umpy(); y.detach().cpu().numpy()"


@pytest.mark.parametrize("wrong", [0, 3, 400], ids=["one place twice", "another text", "outside the line"])
@pytest.mark.parametrize("row", [1, 7])
def test_wrong_positions_in_an_f_string_are_not_trusted(wrong: int, row: int) -> None:
    """As the first releases of Python 3.10 and 3.11 give them: for the second expression the place of the first."""
    text = "y = f'{a.numpy()} {a.numpy()}'"
    tree = ast.parse(text)
    first, second = (field.value for field in ast.walk(tree) if isinstance(field, ast.FormattedValue))
    for node, model in zip(ast.walk(second), ast.walk(first), strict=True):
        if isinstance(node, ast.expr) and isinstance(model, ast.expr):
            node.col_offset, node.end_col_offset = model.col_offset + wrong, (model.end_col_offset or 0) + wrong
            node.lineno = node.end_lineno = row
    source = Source.from_text(text, "example.py", tree)
    last = conversions_of(source)[1]
    assert fix_of(last, source) == Fix("display-only", "Add `.detach().cpu()`", ())
    assert call_span(last.site, source) == (Position(1, 5), Position(1, 31))


def test_a_place_outside_the_f_string_is_not_trusted() -> None:
    text = "f'{a.numpy()}', b.numpy()"
    tree = ast.parse(text)
    inside, outside = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    if inside.col_offset > outside.col_offset:
        inside, outside = outside, inside
    inside.col_offset, inside.end_col_offset = outside.col_offset, outside.end_col_offset
    assert spans_of(text, tree) == [(Position(1, 1), Position(1, 15)), (Position(1, 19), Position(1, 26))]


@given(st.text("ab( \té中😀", max_size=12), st.sampled_from(["", "\n", "\nabc"]))
def test_columns_of_bytes_are_columns_of_characters(line: str, after: str) -> None:
    """Also of a byte inside of a character, which ast names in some f-strings, and of one behind the line."""
    source = Source.from_text(line + after, "x.py")
    data = source.line(1).encode()
    for column in range(len(data) + 3):
        characters = len(data[:column].decode(errors="replace"))
        expected = column if source.line(1).isascii() else characters
        assert source.ast_position(1, column) == (1, expected + 1)
