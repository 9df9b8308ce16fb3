"""Tells how the code around a call treats an error that the call raises: a test wants it, a handler makes it good.

`with pytest.raises(RuntimeError): leaf.numpy()` is there to raise, and a repair would break the test.
`try: x.numpy()` / `except RuntimeError: x.detach().cpu().numpy()` needs no repair.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Literal

from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES, TRIES, statements_of, walk
from tonumpy.text.tree_paths import path_to

Catches = Callable[[ast.expr], bool]
Path = Sequence[ast.AST]
Treatment = Literal["wanted", "answered", "made good", "dropped"]

OF_GRAD = "RuntimeError"  # Can't call numpy() on Tensor that requires grad
OF_DEVICE = "TypeError"  # can't convert cuda:0 device type tensor to numpy
_MAY_WANT = re.compile(r"raises|Raises|except|xfail|expectedFailure")

_EXPECTING = re.compile(r"raises|Raises")  # in the name of a function, one's own too
_CLASS_KEYWORDS = ("expected_exception", "exception", "exception_class")
_CONVERT = frozenset("numpy asarray array tolist item cpu detach to cuda".split())
_GENERAL = frozenset(("Exception", "BaseException"))


def treatment(path: Path, catches: Catches) -> Treatment | None:
    """Tell how the code around the last node of a path treats an error raised there; None if it leaves the path.

    `catches` tells of the expression for a class of errors, or a tuple of such, whether it covers the error. A function
    around the node may be called from anywhere: beyond it only what is there for errors counts, and no handler.
    """
    is_called_here = True
    for depth in range(len(path) - 2, -1, -1):
        node, inner = path[depth], path[depth + 1]
        found: Treatment | None = None
        if isinstance(node, (ast.With, ast.AsyncWith)):
            found = _of_contexts(node, inner, catches)
        elif isinstance(node, ast.Call):  # `pytest.raises(RuntimeError, lambda: x.numpy())`
            is_run = isinstance(inner, ast.Lambda) or (
                inner is path[-1] and inner is not node.func and isinstance(inner, (ast.Name, ast.Attribute))
            )
            found = "wanted" if is_run and _expects(node, catches) else None
        elif isinstance(node, TRIES) and is_called_here and inner in node.body:
            handler = next((each for each in node.handlers if each.type is None or catches(each.type)), None)
            if handler is not None:
                found = _of_handler(node, handler, path, depth)
                if found is None and not _raises_same(handler):
                    catches = _catches_all
        elif isinstance(node, (*SCOPES, ast.Module)) and isinstance(inner, ast.stmt):
            found = "wanted" if any(_expects(mark, catches) for mark in _marks_of(node)) else None
            is_called_here = is_called_here and not isinstance(node, SCOPES)
        if found is not None:
            return found
    return None


def _catches_all(_: ast.expr) -> bool:
    return True


@lru_cache(maxsize=4)  # rules and phrases ask many times of one conversion; more would keep trees in memory
def errors_made_good(scope: ast.AST, call: ast.AST) -> frozenset[str]:
    """`OF_GRAD`, `OF_DEVICE`, both or neither: the errors for which a handler in a scope converts in another way."""
    path = path_to(scope, call)
    if not any(isinstance(node, TRIES) for node in path):
        return frozenset()
    return frozenset(each for each in (OF_GRAD, OF_DEVICE) if treatment(path, _catcher((each,))) == "made good")


def wants_error(tree: ast.Module, text: str, call: ast.AST, errors: frozenset[str]) -> bool:
    """True if the code of a module wants one of these errors from a call."""
    if _MAY_WANT.search(text) is None:
        return False
    return treatment(path_to(tree, call), _catcher(tuple(errors))) in ("wanted", "answered")


def _catcher(errors: tuple[str, ...]) -> Catches:
    """Return a function that tells whether an expression names a class, or several, that cover one of some errors."""
    return partial(_covers, tuple(getattr(builtins, each) for each in errors if hasattr(builtins, each)))


def _covers(raised: tuple[type, ...], kind: ast.expr) -> bool:
    if isinstance(kind, ast.Tuple):
        return any(_covers(raised, each) for each in kind.elts)
    name = last_name(kind) or ""
    cls = getattr(builtins, name, None)
    if isinstance(cls, type):
        return any(issubclass(each, cls) for each in raised)
    is_class = name[:1].isupper() and not name.isupper()  # of somebody's own; `ERRORS` and `self.error` may be any
    return not is_class and not isinstance(kind, ast.Constant)


def _of_contexts(statement: ast.With | ast.AsyncWith, inner: ast.AST, catches: Catches) -> Treatment | None:
    """The treatment by the items of a `with` of an error behind them."""
    in_order = [*statement.items, *statement.body]
    for item in reversed(in_order[: in_order.index(inner)]):
        context = item.context_expr if isinstance(item, ast.withitem) else None
        if context is not None and _expects(context, catches):
            return "wanted"
        if isinstance(context, ast.Call) and last_name(context.func) == "suppress" and any(map(catches, context.args)):
            return "wanted" if any(map(_fails, _following(statement.body, inner))) else "dropped"
    return None


def _expects(code: ast.expr, catches: Catches) -> bool:
    """True if a context, a call that runs a function, or a mark is there for an error."""
    nodes = list(walk(code))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return any(_is_expecting(node, catches) for node in nodes if id(node) not in called)


def _is_expecting(node: ast.AST, catches: Catches) -> bool:
    """True for `pytest.raises(RuntimeError)`, `xfail(raises=RuntimeError)`, `expectedFailure` and the like; without a
    class they wait for any error. Not for `xfail` with a condition or with `strict=False`: that test may pass."""
    if not isinstance(node, ast.Call):
        return isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) in ("expectedFailure", "xfail")
    name, named = last_name(node.func) or "", {keyword.arg: keyword.value for keyword in node.keywords}
    if name == "xfail":
        if "raises" in named:
            return catches(named["raises"])
        strict = named.get("strict")
        return strict.value is True if isinstance(strict, ast.Constant) else not (node.args or "condition" in named)
    kinds = [*node.args[:1], *(named[each] for each in _CLASS_KEYWORDS if each in named)]
    is_class_given = bool(kinds) and not isinstance(kinds[0], ast.Lambda)
    return _EXPECTING.search(name) is not None and (not is_class_given or catches(kinds[0]))


def _of_handler(
    statement: ast.Try | ast.TryStar, handler: ast.ExceptHandler, path: Path, depth: int
) -> Treatment | None:
    """None where the handler raises again."""
    raised_in, around = path[depth + 1], path[depth - 1]
    statements = list(statements_of(handler.body))
    after = _following(statement.body, raised_in)
    behind = []
    if any(isinstance(each, (ast.Return, ast.Continue, ast.Break)) for each in statements):
        behind = [each for name in ("body", "orelse") for each in _following(getattr(around, name, []), statement)[:1]]
    if any(_fails(each) for each in (*after, *statement.orelse, *behind)):
        return "wanted"
    kind = handler.type
    names = {last_name(each) for each in (kind.elts if isinstance(kind, ast.Tuple) else [kind]) if each is not None}
    is_general = kind is None or not names.isdisjoint(_GENERAL)
    if _makes_good(handler, is_general=is_general):
        return "made good"
    if any(isinstance(each, ast.Raise) for each in statements):
        return None
    returns = not after and any(isinstance(each, ast.Return) for each in statements)
    if _is_unused(raised_in, path) or (returns and not is_general):
        return "answered"
    return "wanted" if any(isinstance(each, ast.Assert) for each in statements) else "dropped"


def _following(block: object, statement: ast.AST) -> list[ast.stmt]:
    """The statements of a block behind one of it; none where it is not there."""
    return block[block.index(statement) + 1 :] if isinstance(block, list) and statement in block else []


def _fails(statement: ast.AST) -> bool:
    """True if the statement fails whenever it runs: `raise`, `assert False`, `self.fail(..)`."""
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    call = getattr(statement, "value", None)
    return isinstance(statement, ast.Raise) or (isinstance(call, ast.Call) and last_name(call.func) == "fail")


def _is_unused(statement: ast.AST, path: Path) -> bool:
    """True if nothing uses the value of a statement that only converts."""
    if not isinstance(statement, (ast.Expr, ast.Assign)) or statement.value is not path[-1]:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {each.id if isinstance(each, ast.Name) else None for each in targets}
    scope = next(each for each in reversed(path) if isinstance(each, (*SCOPES, ast.Module)))
    nodes = [each for each in walk(scope) if isinstance(each, ast.Name)]
    return None not in names and names.isdisjoint(each.id for each in nodes if isinstance(each.ctx, ast.Load))


def _makes_good(handler: ast.ExceptHandler, *, is_general: bool) -> bool:
    nodes = [node for statement in handler.body for node in walk(statement)]
    called = {last_name(node.func) for node in nodes if isinstance(node, ast.Call)}
    if "numpy" in called:
        return True
    raises = any(isinstance(node, ast.Raise) for node in nodes)
    return not is_general and not raises and not called.isdisjoint(_CONVERT)


def _raises_same(handler: ast.ExceptHandler) -> bool:
    raised = [each.exc for each in statements_of(handler.body) if isinstance(each, ast.Raise)]
    return all(each is None or (isinstance(each, ast.Name) and each.id == handler.name) for each in raised)


@lru_cache(maxsize=2)  # a module may hold thousands of functions
def _marks_of(scope: ast.AST) -> list[ast.expr]:
    """The decorators of a function or class, and the `pytestmark` of a class or module."""
    statements = [] if isinstance(scope, FUNCTIONS) else getattr(scope, "body", [])
    assigned = [
        each for each in statements if isinstance(each, ast.Assign) and last_name(each.targets[0]) == "pytestmark"
    ]
    return [*getattr(scope, "decorator_list", ()), *(each.value for each in assigned)]
