"""What each form of Python's syntax stores."""

from __future__ import annotations

import ast

import pytest

from tonumpy.engine.names.syntax_lowering import stores_of


@pytest.mark.parametrize(
    ("code", "stores"),
    [
        ("x = v", "x <- v"),
        ("x = y = v", "x <- v, y <- v"),
        ("a, [b, c] = v", "a <- v, b <- v, c <- v"),
        ("a, [b, c] = v, (w, u)", "a <- v, b <- w, c <- u"),
        ("a, (b, c) = v, w", "a <- v, b <- w, c <- w"),
        ("a, *b = v", "a <- v, b <- v"),
        ("a, *b = v, w", "a <- v, b <- w"),
        ("a, b = *v, w", "a <- (*v, w), b <- (*v, w)"),
        ("self.x.y[0] = v", "self.x.y[0] <- v"),
        ("x: T = v", "x <- v"),
        ("x: T", ""),
        ("x[0] @= v", "x[0] <- v"),
        ("for x in v: pass", "x <- v"),
        ("for a, self.b in v: pass", "a <- v, self.b <- v"),
        ("async for x in v: pass", "x <- v"),
        ("with (v as x, w as (y, z), u): pass", "x <- v, y <- w, z <- w"),
        ("async with v as x.y: pass", "x.y <- v"),
        ("setattr(a, 'x', v)", "a.x <- v"),
        ("self.register_buffer('x', v)", "self.x <- v"),
        ("self.register_parameter(name='x', param=v)", "self.x <- v"),
        ("match v:\n case x: pass", "x <- v"),
        ("match v:\n case [a, *b] | {'k': a, **b}: pass", "a <- v, b <- v, b <- v, a <- v"),
        ("match v:\n case C(x=C() as a): pass", "a <- v"),
        *((code, "") for code in ("del x", "import a.b", "global x", "return x", "x == v", "while x: y = v")),
        ("try: pass\nexcept v as x: pass", ""),
    ],
)
def test_stores(code: str, stores: str) -> None:
    found = stores_of(ast.parse(code).body[0])
    assert ", ".join(f"{ast.unparse(each.target)} <- {ast.unparse(each.value)}" for each in found) == stores


def test_the_place_of_a_name_without_a_node_is_that_of_the_syntax_around_it() -> None:
    (match,) = ast.parse("match v:\n    case [x]:\n        pass").body
    (store,) = stores_of(match)
    assert (store.target.lineno, store.target.col_offset) == (2, 10)
