"""What each form of Python's syntax stores: a table, and Python's own tables of symbols."""

from __future__ import annotations

import ast
import symtable
import sys
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from tonumpy.engine.names.bindings import parameters_of
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, own_expressions, statements_of

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").rglob("*.py"))


def since(minor: int, *values: str) -> ParameterSet:
    """A row with syntax of Python 3.`minor`."""
    return pytest.param(*values, marks=pytest.mark.skipif(sys.version_info < (3, minor), reason=f"of Python 3.{minor}"))


def stores_in(code: str) -> str:
    """`root <- value (how)` for each; `root*` is changed and not bound."""
    return ", ".join(
        f"{each.root}{'' if each.rebinds else '*'} <- {ast.unparse(each.value) if each.value else '-'} ({each.how})"
        for each in stores_of(ast.parse(code).body[0])
    )


@pytest.mark.parametrize(
    ("code", "stores"),
    [
        ("x = v", "x <- v (whole)"),
        ("x = y = v", "x <- v (whole), y <- v (whole)"),
        ("a, [b, c] = v", "a <- v (part), b <- v (part), c <- v (part)"),
        ("a, [b, c] = v, (w, u)", "a <- v (whole), b <- w (whole), c <- u (whole)"),
        ("a, (b, c) = v, w", "a <- v (whole), b <- w (part), c <- w (part)"),
        ("a, *b = v", "a <- v (part), b <- v (part)"),
        ("a, *b = v, w", "a <- v (whole), b <- w (part)"),
        ("a, b = *v, w", "a <- (*v, w) (part), b <- (*v, w) (part)"),
        ("a.x = v", "a* <- v (whole)"),
        ("self.x = v", "self.x <- v (whole)"),
        ("self.x.y[0] = v", "self.x* <- v (whole)"),
        ("a[i], b = v", "a* <- v (part), b <- v (part)"),
        ("f(x)[0] = v", "f* <- v (whole)"),
        ("(a or b)[0] = v", "* <- v (whole)"),
        ("x: T = v", "x <- v (whole)"),
        ("x: T", "x <- - (declared)"),
        ("x += v", "x <- v (augmented)"),
        ("x[0] @= v", "x* <- v (augmented)"),
        ("for x in v: pass", "x <- v (item)"),
        ("for a, self.b in v, w: pass", "a <- (v, w) (item), self.b <- (v, w) (item)"),
        ("async for x in v: pass", "x <- v (item)"),
        ("with v as x, w: pass", "x <- v (entered)"),
        ("with (v as x, w as (y, z)): pass", "x <- v (entered), y <- w (entered), z <- w (entered)"),
        ("async with v as x.y: pass", "x* <- v (entered)"),
        ("del x, y.z", "x <- - (deleted), y* <- - (deleted)"),
        ("try: pass\nexcept v as x: pass\nexcept w: pass", "x <- v (caught)"),
        ("import a.b, c.d as e", "a <- - (imported), e <- - (imported)"),
        ("from a import b, c as d", "b <- - (imported), d <- - (imported)"),
        ("setattr(a, 'x', v)", "a* <- v (whole)"),
        ("self.__setattr__('x', v)", "self.x <- v (whole)"),
        ("self.register_buffer('x', v)", "self.x <- v (whole)"),
        ("self.register_parameter(name='x', param=v)", "self.x <- v (whole)"),
        ("match v:\n case x: pass", "x <- v (matched)"),
        ("match v:\n case [a, *b] | {'k': a, **b}: pass", ", ".join(f"{x} <- v (matched)" for x in "abba")),
        ("match v:\n case C(x=C() as a): pass", "a <- v (matched)"),
        ("global x", ""),
        ("nonlocal x", ""),
        ("return x", ""),
        ("x == v", ""),
        ("while x: y = v", ""),
        since(11, "try: pass\nexcept* v as x: pass", "x <- v (caught)"),
        since(12, "type x[T] = v", "x <- v (whole)"),
        since(14, "try: pass\nexcept v, w: pass", ""),
    ],
)
def test_stores(code: str, stores: str) -> None:
    assert stores_in(code) == stores


def test_the_place_of_a_name_without_a_node_is_that_of_the_syntax_around_it() -> None:
    (match,) = ast.parse("match v:\n    case [x]:\n        pass").body
    (store,) = stores_of(match)
    assert (store.target.lineno, store.target.col_offset) == (2, 10)


@pytest.mark.parametrize("path", FIXTURES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_python_binds_the_same_names(path: Path) -> None:
    text = path.read_text(encoding="utf-8", errors="replace")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        pytest.skip("not for this Python")
    functions = {(each.name, each.lineno): each for each in ast.walk(tree) if isinstance(each, FUNCTIONS)}
    waiting = [symtable.symtable(text, path.name, "exec")]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        first = functions.get((table.get_name(), table.get_lineno()))  # decorators stand above
        if isinstance(table, symtable.Function) and first is not None and first.name == table.get_name():
            bound = {each.get_name() for each in table.get_symbols() if _is_bound(each)}
            # From Python 3.12 on, some of what comprehensions bind is said to be the function's.
            assert _bound(first) <= bound <= _bound(first) | _bound_by_comprehensions(first)


def _is_bound(symbol: symtable.Symbol) -> bool:
    return symbol.is_parameter() or symbol.is_assigned() or symbol.is_imported()


def _bound(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    found = set(parameters_of(function))
    for each in statements_of(function.body):
        if isinstance(each, SCOPES):
            found.add(each.name)
        else:
            found |= {store.root for store in stores_of(each) if isinstance(store.target, ast.Name)}
            found |= {
                node.target.id
                for part in own_expressions(each)
                for node in ast.walk(part)
                if isinstance(node, ast.NamedExpr)
            }
    return found - {"*"}


def _bound_by_comprehensions(function: ast.AST) -> set[str]:
    targets = [each.target for each in ast.walk(function) if isinstance(each, ast.comprehension)]
    in_targets = (each for target in targets for each in ast.walk(target)) if sys.version_info >= (3, 12) else ()
    return {each.id for each in in_targets if isinstance(each, ast.Name)}
