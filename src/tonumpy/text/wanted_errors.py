"""How the code around a call treats an error that the call raises: a test wants it, a handler makes it good.

`with pytest.raises(RuntimeError): leaf.numpy()` is there to raise, and a repair would break the test.
`try: x.numpy()` / `except RuntimeError: x.detach().cpu().numpy()` needs no repair.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING

from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, TRIES, statements_of, walk
from tonumpy.text.tree_paths import path_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Literal

    Catches = Callable[[ast.expr], bool]
    Path = Sequence[ast.AST]
    # "wanted": the code fails without the error; "answered": the error is the only use of the call; "made good": the
    # handler converts in another way; "dropped": the program goes on without it.
    Treatment = Literal["wanted", "answered", "made good", "dropped"]

OF_GRAD = "RuntimeError"  # Can't call numpy() on Tensor that requires grad
OF_DEVICE = "TypeError"  # can't convert cuda:0 device type tensor to numpy
_MAY_WANT = re.compile(r"raises|Raises|failUnless|except|xfail|expectedFailure")

_EXPECT = frozenset(
    "raises assertRaises assertRaisesRegex assertRaisesRegexp assertRaisesMessage assert_raises assert_raises_regex"
    " raises_regex failUnlessRaises RaisesExc RaisesGroup".split()
)
_CLASS_KEYWORDS = ("expected_exception", "exception", "exception_class")
_CONVERT = frozenset("numpy asarray array tolist item cpu detach to cuda".split())
_GENERAL = frozenset(("Exception", "BaseException"))
_WITHS = (ast.With, ast.AsyncWith)
_LOOPS = (ast.For, ast.AsyncFor)
_MAX_FOLLOWED = 3  # from a function to the calls of it, and so on
_MAX_USES = 40  # of a function: more cost time, and are not of a test


def treatment(path: Path, catches: Catches) -> Treatment | None:
    """How the code around the last node of a path treats an error raised there; None if the error leaves the path.

    `catches` tells of the expression for a class of errors, or a tuple of such, whether it covers the error. A function
    around the node may be called from anywhere: beyond it only what is there for errors counts, and no handler.
    """
    is_called_here = True
    for depth in range(len(path) - 2, -1, -1):
        node, inner = path[depth], path[depth + 1]
        found: Treatment | None = None
        if isinstance(node, _WITHS):
            found = _of_contexts(node, inner, path[: depth + 1], catches)
        elif isinstance(node, ast.Call):
            found = "wanted" if _is_run_for_error(node, inner, path, catches) else None
        elif isinstance(node, TRIES) and is_called_here and any(each is inner for each in node.body):
            handler = next((each for each in node.handlers if each.type is None or catches(each.type)), None)
            if handler is not None:
                found = _of_handler(node, handler, path, depth)
                if found is None and not _raises_same(handler):
                    catches = _catches_all
        elif isinstance(node, (*SCOPES, ast.Module)) and isinstance(inner, ast.stmt):
            found = "wanted" if _is_marked(node, catches) else None
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
    errors = (OF_GRAD, OF_DEVICE)
    return frozenset(each for each in errors if treatment(path, catcher(path, frozenset((each,)))) == "made good")


class WantedErrors:
    """The calls of a module whose errors are wanted."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self._tree, self._text = tree, text

    def wants(self, call: ast.AST, errors: frozenset[str]) -> bool:
        """True if the code wants one of these errors from a call, or from one call of the function that it is in."""
        return _MAY_WANT.search(self._text) is not None and self._wants(path_to(self._tree, call), errors, 0)

    def _wants(self, path: Path, errors: frozenset[str], followed: int) -> bool:
        found = treatment(path, catcher(path, errors))
        if found is not None or followed == _MAX_FOLLOWED:
            return found == "wanted" or (found == "answered" and not followed)
        uses = [path_to(self._tree, use) for use in self._uses(path)]
        if not followed and _is_job(path) and any(treatment(use, catcher(use, errors)) is not None for use in uses):
            return True
        return any(self._wants(use, errors, followed + 1) for use in uses)

    def _uses(self, path: Path) -> list[ast.Name | ast.Attribute]:
        """The uses of the innermost function around a node; for a lambda, or lambdas that a loop goes through, those of
        the names that it gets there."""
        for depth in range(len(path) - 1, 0, -1):
            node = path[depth]
            if isinstance(node, FUNCTIONS) and depth + 1 < len(path) and isinstance(path[depth + 1], ast.stmt):
                kind = ast.Attribute if isinstance(path[depth - 1], ast.ClassDef) else ast.Name
                uses = [each for each in self._loads.get(node.name, ()) if isinstance(each, kind)]
                return uses if len(uses) <= _MAX_USES else []
            is_gone_through = isinstance(node, _LOOPS) and node.iter is path[-1]  # by `for job in jobs`
            if isinstance(node, ast.Lambda) or (is_gone_through and isinstance(path[-1], ast.Name)):
                own = {id(each) for each in walk(_scope_of(path[:depth]))}
                names = _names_given(path[: depth + 1])
                return [each for name in names for each in self._loads.get(name, ()) if id(each) in own]
        return []

    @cached_property
    def _loads(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        """The places where a name or an attribute is read, by the name."""
        found: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in walk(self._tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found.setdefault(last_name(node) or "", []).append(node)
        return found


def _names_given(around: Path) -> set[str]:
    """The names of the variables, of an assignment, a loop or the cases of a test, that a lambda becomes."""
    statement = next(each for each in reversed(around) if isinstance(each, ast.stmt))
    if isinstance(statement, (ast.Assign, *_LOOPS)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        return {each.id for target in targets for each in walk(target) if isinstance(each, ast.Name)}
    texts = [each for mark in getattr(statement, "decorator_list", ()) for each in walk(mark)]
    return {name for each in texts if isinstance(each, ast.Constant) for name in re.findall(r"\w+", str(each.value))}


def _is_job(path: Path) -> bool:
    """True for a lambda that a loop goes through to call it: `for job in (lambda: x.numpy(), ...)`."""
    around = path[: next((at for at, each in enumerate(path) if isinstance(each, ast.Lambda)), 0)]
    statement = next((each for each in reversed(around) if isinstance(each, ast.stmt)), None)
    return isinstance(statement, _LOOPS)


def catcher(path: Path, errors: frozenset[str]) -> Catches:
    """Tells whether an expression names a class that covers one of some errors, by what the scopes of a path say."""
    raised = tuple(cls for each in errors if (cls := _builtin(each)) is not None)
    return partial(_catches, path, raised)  # no closure that calls itself: it would keep the tree till a collection


def _catches(path: Path, raised: tuple[type, ...], kind: ast.expr, depth: int = 0) -> bool:
    if isinstance(kind, (ast.Tuple, ast.List, ast.Set, ast.Starred, ast.BinOp, ast.IfExp)):
        parts = [part for part in ast.iter_child_nodes(kind) if part is not getattr(kind, "test", None)]
        return any(_catches(path, raised, each, depth) for each in parts if isinstance(each, ast.expr))
    if isinstance(kind, ast.Attribute):  # `builtins.Exception`; those of libraries are others
        return path_of(kind) == f"builtins.{kind.attr}" and _covers(_builtin(kind.attr), raised)
    if not isinstance(kind, ast.Name):
        return not isinstance(kind, ast.Constant)  # `ERRORS[device]` may be any
    if (cls := _builtin(kind.id)) is not None:
        return _covers(cls, raised)
    values = _values_of(kind.id, path)
    is_followed = depth < _MAX_FOLLOWED
    return is_followed and (values is None or any(_catches(path, raised, each, depth + 1) for each in values))


def _builtin(name: str) -> type | None:
    found = getattr(builtins, name, None)
    return found if isinstance(found, type) else None


def _covers(cls: type | None, raised: tuple[type, ...]) -> bool:
    return cls is not None and any(issubclass(each, cls) for each in raised)


def _values_of(name: str, path: Path) -> list[ast.expr] | None:
    """The expressions that a name is bound to in the innermost scope of a path that binds it; None if it may be
    anything: a parameter, or what a loop goes through."""
    for scope in reversed(path):
        if name in _parameters(scope):
            return None
        if isinstance(scope, (*SCOPES, ast.Module)):
            found = [each for each in statements_of(scope.body) if _binds(each, name)]
            if found:
                values = [each.value for each in found if isinstance(each, ast.Assign)]
                return values if len(values) == len(found) else None
    return []


def _parameters(scope: ast.AST) -> set[str]:
    arguments = walk(scope.args) if isinstance(scope, (*FUNCTIONS, ast.Lambda)) else ()
    return {each.arg for each in arguments if isinstance(each, ast.arg)}


def _binds(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = [each for target in targets if target is not None for each in walk(target)]
    return any(isinstance(each, ast.Name) and each.id == name for each in names)


def _scope_of(path: Path) -> ast.AST:
    return next(each for each in reversed(path) if isinstance(each, (*SCOPES, ast.Module)))


def _of_contexts(statement: ast.With | ast.AsyncWith, inner: ast.AST, path: Path, catches: Catches) -> Treatment | None:
    """The treatment by the items of a `with` of an error in its body, or in an item behind them."""
    places = [at for at, item in enumerate(statement.items) if item is inner]
    contexts = [each.context_expr for each in (statement.items[: places[0]] if places else statement.items)]
    for call in reversed([*contexts, *_entered_before(statement, inner)]):
        if _expects(call, path, catches):
            return "wanted"
        if isinstance(call, ast.Call) and last_name(call.func) == "suppress" and any(map(catches, call.args)):
            return "wanted" if any(map(_fails, _following(statement.body, inner))) else "dropped"
    return None


def _entered_before(statement: ast.With | ast.AsyncWith, inner: ast.AST) -> list[ast.expr]:
    """The contexts that the statements before one in its block enter: `stack.enter_context(pytest.raises(..))`."""
    at = next((at for at, each in enumerate(statement.body) if each is inner), 0)
    calls = [each.value for each in statement.body[:at] if isinstance(each, (ast.Expr, ast.Assign))]
    entered = [each for each in calls if isinstance(each, ast.Call) and last_name(each.func) == "enter_context"]
    return [each for call in entered for each in call.args[:1]]


def _expects(context: ast.expr, path: Path, catches: Catches, followed: int = 0) -> bool:
    """True if a context waits for an error, itself or by the name that it has."""
    if isinstance(context, ast.Name) and followed < _MAX_FOLLOWED:
        values = _values_of(context.id, path)
        if values is None:  # a parameter: of what `parametrize` gives
            values = [each for node in path if isinstance(node, FUNCTIONS) for each in node.decorator_list]
        return any(_expects(each, path, catches, followed + 1) for each in values)
    return any(_is_expecting(each, catches) for each in walk(context)) or _expects_inside(context, path, catches)


def _expects_inside(call: ast.AST, path: Path, catches: Catches) -> bool:
    """True for a function of the module that waits for an error: `with raises_for_grad():`, `check_raises(f)`; or that
    calls its parameter to see whether that raises."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    functions = [each for each in getattr(path[0], "body", ()) if isinstance(each, FUNCTIONS)]
    named = [each for each in functions if each.name == call.func.id]
    return any(
        _is_expecting(node, catches) or _is_try_out(node, each, catches) for each in named for node in walk(each)
    )


def _is_try_out(node: ast.AST, function: ast.AST, catches: Catches) -> bool:
    is_called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _parameters(function)
    return is_called and treatment(path_to(function, node), catches) in ("wanted", "answered")


def _is_expecting(node: ast.AST, catches: Catches) -> bool:
    """True for `pytest.raises(RuntimeError)` and the like; without a class they wait for any error."""
    if not isinstance(node, ast.Call) or last_name(node.func) not in _EXPECT:
        return False
    kinds = [*node.args[:1], *(each.value for each in node.keywords if each.arg in _CLASS_KEYWORDS)]
    return not kinds or catches(kinds[0])


def _is_run_for_error(call: ast.Call, inner: ast.AST, path: Path, catches: Catches) -> bool:
    """`pytest.raises(RuntimeError, lambda: x.numpy())`; other arguments are evaluated before."""
    is_name = inner is path[-1] and isinstance(inner, (ast.Name, ast.Attribute))
    if inner is call.func or not (is_name or isinstance(inner, ast.Lambda)):
        return False
    is_class = last_name(call.func) in _EXPECT and bool(call.args) and inner is call.args[0]
    return not is_class and (_is_expecting(call, catches) or _expects_inside(call, path, catches))


def _of_handler(
    statement: ast.Try | ast.TryStar, handler: ast.ExceptHandler, path: Path, depth: int
) -> Treatment | None:
    """None where the handler raises again."""
    raised_in, around = path[depth + 1], path[depth - 1]
    statements = list(statements_of(handler.body))
    after, behind = _following(statement.body, raised_in), list[ast.AST]()
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
    is_tested = any(isinstance(each, ast.Assert) or _called(each).startswith("assert") for each in statements)
    return "wanted" if is_tested else "dropped"


def _following(block: object, statement: ast.AST) -> list[ast.AST]:
    """The statements of a block behind one of it; none where it is not there."""
    if not isinstance(block, list):  # the body of a lambda
        return []
    places = [at for at, each in enumerate(block) if each is statement]
    return list(block[places[0] + 1 :]) if places else []


def _fails(statement: ast.AST) -> bool:
    """True if the statement fails whenever it runs: `raise`, `assert False`, `self.fail(..)`."""
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    return isinstance(statement, ast.Raise) or _called(statement) == "fail"


def _called(statement: ast.AST) -> str:
    call = statement.value if isinstance(statement, ast.Expr) else None
    return (last_name(call.func) or "") if isinstance(call, ast.Call) else ""


def _is_unused(statement: ast.AST, path: Path) -> bool:
    """True if nothing uses the value of a statement that only converts."""
    if not isinstance(statement, (ast.Expr, ast.Assign)) or statement.value is not path[-1]:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {each.id if isinstance(each, ast.Name) else None for each in targets}
    nodes = [each for each in walk(_scope_of(path)) if isinstance(each, ast.Name)]
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


def _is_marked(scope: ast.AST, catches: Catches) -> bool:
    """True for `xfail` and the like on a function or class, one of its cases, or as `pytestmark` of class or module."""
    marks: Iterable[ast.expr] = getattr(scope, "decorator_list", ())
    if not isinstance(scope, FUNCTIONS):
        marks = (*marks, *_pytestmark(scope))
    nodes = [node for mark in marks for node in walk(mark)]
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    return any(_is_wanting(node, catches) for node in nodes if id(node) not in called)


@lru_cache(maxsize=2)  # a module may hold thousands of functions
def _pytestmark(scope: ast.Module | ast.ClassDef) -> list[ast.expr]:
    marks = [each for each in scope.body if isinstance(each, ast.Assign)]
    return [each.value for each in marks if any(last_name(target) == "pytestmark" for target in each.targets)]


def _is_wanting(mark: ast.AST, catches: Catches) -> bool:
    """True for `xfail`, `xfail(raises=RuntimeError)`, `expectedFailure`, and `raises(RuntimeError)` of nose; not with a
    condition or with `strict=False`, where the test may pass."""
    if isinstance(mark, (ast.Name, ast.Attribute)):
        return last_name(mark) in ("expectedFailure", "xfail")
    if not isinstance(mark, ast.Call) or last_name(mark.func) != "xfail":
        return _is_expecting(mark, catches)
    named = {keyword.arg: keyword.value for keyword in mark.keywords}
    if "raises" in named:
        return catches(named["raises"])
    strict = named.get("strict")
    return strict.value is True if isinstance(strict, ast.Constant) else not (mark.args or "condition" in named)
