"""Decides how the code around a call treats an error of the call: a test expects it, a handler recovers from it.

`with pytest.raises(RuntimeError): leaf.numpy()` must raise, so a repair would break the test.
`try: x.numpy()` / `except RuntimeError: x.detach().cpu().numpy()` needs no repair.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache, partial
from typing import Literal

from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, TRIES, statements_of, walk
from tonumpy.text.tree_paths import path_to

Catches = Callable[[ast.expr], bool]
Path = Sequence[ast.AST]
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
_LEAVING = (ast.Return, ast.Continue, ast.Break)
_MAX_FOLLOWED = 3  # steps from a function to its calls, from a name to its value, and so on
_MAX_USES = 40  # of a function: more cost time, and are not in a test


def treatment(path: Path, catches: Catches) -> Treatment | None:
    """How the code around the last node of a path treats an error raised there; None if the error leaves the path.

    `catches` is a predicate: whether an expression for an exception class, or a tuple of them, covers the error. A
    function around the node may be called from anywhere: outside of it only code that expects errors counts, not a
    handler.
    """
    is_called_here = True
    for depth in range(len(path) - 2, -1, -1):
        node, inner = path[depth], path[depth + 1]
        found: Treatment | None = None
        if isinstance(node, _WITHS):
            found = _of_contexts(node, inner, path, catches)
        elif isinstance(node, ast.Call):
            found = "wanted" if _runs(node, inner, path[-1]) and _expects(node, path, catches) else None
        elif isinstance(node, TRIES) and is_called_here:
            handler = _handler_around(node, inner, catches)
            if handler is not None:
                found = _of_handler(node, handler, path, depth)
                catches = catches if _raises_same(handler) else _catches_all
        elif isinstance(node, (*SCOPES, ast.Module)) and isinstance(inner, ast.stmt):
            found = "wanted" if any(_expects(mark, path, catches) for mark in _marks_of(node)) else None
            is_called_here &= not isinstance(node, SCOPES)
        if found is not None:
            return found
    return None


def _catches_all(_: ast.expr) -> bool:
    return True


def _runs(call: ast.Call, inner: ast.AST, end: ast.AST) -> bool:
    """True if a call gets a function that contains the place: `pytest.raises(RuntimeError, lambda: x.numpy())`."""
    given = inner.value if isinstance(inner, ast.keyword) else inner
    is_named = given is end and isinstance(given, (ast.Name, ast.Attribute))
    return given is not call.func and (is_named or isinstance(given, ast.Lambda))


def _handler_around(statement: ast.Try | ast.TryStar, inner: ast.AST, catches: Catches) -> ast.ExceptHandler | None:
    """The first handler that catches an error raised by `inner`, if that is in the `try` block; else None."""
    handlers = statement.handlers if inner in statement.body else []
    return next((each for each in handlers if each.type is None or catches(each.type)), None)


@lru_cache(maxsize=4)  # rules and phrases ask repeatedly about one conversion; more would keep trees in memory
def errors_made_good(scope: ast.AST, call: ast.AST) -> frozenset[str]:
    """Those of `OF_GRAD` and `OF_DEVICE` for which a handler in a scope converts in another way."""
    path = path_to(scope, call)
    if not any(isinstance(node, TRIES) for node in path):
        return frozenset()
    errors = (OF_GRAD, OF_DEVICE)
    return frozenset(each for each in errors if treatment(path, catcher(path, frozenset((each,)))) == "made good")


class WantedErrors:
    """Finds the calls of a module whose errors are expected."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self._tree, self._text = tree, text

    def wants(self, call: ast.AST, errors: frozenset[str]) -> bool:
        """True if the code expects one of these errors from a call, or from some call of its enclosing function."""
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
        """The uses of the innermost function around a node; for a lambda, also in the list that a loop iterates over,
        those of the names that it is bound to."""
        for depth in range(len(path) - 2, 0, -1):
            node = path[depth]
            if isinstance(node, FUNCTIONS) and isinstance(path[depth + 1], ast.stmt):
                kind = ast.Attribute if isinstance(path[depth - 1], ast.ClassDef) else ast.Name
                uses = [each for each in self._loads.get(node.name, ()) if isinstance(each, kind)]
                return uses if len(uses) <= _MAX_USES else []
            if isinstance(node, ast.Lambda) or _goes_through(node, path[-1]):
                own = {id(each) for each in walk(_scope_of(path[:depth]))}
                uses = [each for name in _names_given(path[: depth + 1]) for each in self._loads.get(name, ())]
                return [each for each in uses if id(each) in own]
        return []

    @cached_property
    def _loads(self) -> dict[str, list[ast.Name | ast.Attribute]]:
        """The reads of names and attributes, by name."""
        found: dict[str, list[ast.Name | ast.Attribute]] = {}
        for node in walk(self._tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found.setdefault(last_name(node) or "", []).append(node)
        return found


def _goes_through(node: ast.AST, name: ast.AST) -> bool:
    """True if `name` is the `jobs` of the loop `for job in jobs`."""
    return isinstance(node, _LOOPS) and node.iter is name and isinstance(name, ast.Name)


def _names_given(around: Path) -> set[str]:
    """The names that a lambda is bound to: by an assignment, a loop, or the `parametrize` mark of a test."""
    statement = _statement_of(around)
    if isinstance(statement, (ast.Assign, *_LOOPS)):
        return _names_bound(statement)
    texts = [each for mark in getattr(statement, "decorator_list", ()) for each in walk(mark)]
    return {name for each in texts if isinstance(each, ast.Constant) for name in re.findall(r"\w+", str(each.value))}


def _is_job(path: Path) -> bool:
    """True for a lambda among the items that a loop iterates over: `for job in (lambda: x.numpy(), ...)`."""
    around = path[: next((at for at, each in enumerate(path) if isinstance(each, ast.Lambda)), 0)]
    return isinstance(_statement_of(around), _LOOPS)


def _statement_of(path: Path) -> ast.AST | None:
    return next((each for each in reversed(path) if isinstance(each, ast.stmt)), None)


def _scope_of(path: Path) -> ast.AST:
    return next(each for each in reversed(path) if isinstance(each, (*SCOPES, ast.Module)))


def catcher(path: Path, errors: frozenset[str]) -> Catches:
    """A predicate: whether an expression names a class that covers one of the errors, resolved in a path's scopes."""
    return partial(_catches, path, tuple(getattr(builtins, each) for each in errors if hasattr(builtins, each)))


def _catches(path: Path, raised: tuple[type, ...], kind: ast.expr) -> bool:
    return any(_covers(each, raised) for each in _meanings(kind, path))


def _covers(kind: ast.expr | None, raised: tuple[type, ...]) -> bool:
    if not isinstance(kind, (ast.Name, ast.Attribute)):
        return not isinstance(kind, ast.Constant)  # `ERRORS[device]` may be any class
    path = path_of(kind) or ""
    if path.startswith(("self.", "cls.")):
        return True
    cls = getattr(builtins, path.removeprefix("builtins."), None)  # None for a library's class
    return isinstance(cls, type) and any(issubclass(each, cls) for each in raised)


def _meanings(code: ast.expr, path: Path, followed: int = 0) -> Iterator[ast.expr | None]:
    """Yield the parts of a tuple or a conditional expression, with names replaced by their values; None for a value
    that may be anything: of a parameter or a loop variable."""
    if isinstance(code, (ast.Tuple, ast.List, ast.Set, ast.Starred, ast.BinOp, ast.IfExp)):
        for part in ast.iter_child_nodes(code):
            if isinstance(part, ast.expr) and part is not getattr(code, "test", None):
                yield from _meanings(part, path, followed)
        return
    values = _values_of(code.id, path) if isinstance(code, ast.Name) else []
    for value in values if followed < _MAX_FOLLOWED else ():
        if value is None:
            yield None
        else:
            yield from _meanings(value, path, followed + 1)
    if not values:
        yield code


def _values_of(name: str, path: Path) -> list[ast.expr | None]:
    """The values of a name in the innermost scope of a path that binds it; None for an unknown one."""
    for scope in reversed(path):
        if isinstance(scope, (*FUNCTIONS, ast.Lambda)) and any(each.arg == name for each in _parameters(scope)):
            return [None]
        if isinstance(scope, (*SCOPES, ast.Module)):
            found = _values_bound(scope).get(name)
            if found is not None:
                return found
    return []


@lru_cache(
    maxsize=4
)  # handlers of one scope ask for their classes one after the other; more would keep trees in memory
def _values_bound(scope: ast.AST) -> dict[str, list[ast.expr | None]]:
    """The values that each name is bound to by the statements of a scope; None for an item of a loop."""
    found: dict[str, list[ast.expr | None]] = {}
    for each in statements_of(scope.body):  # type: ignore[attr-defined]
        for name in _names_bound(each):
            found.setdefault(name, []).append(each.value if isinstance(each, ast.Assign) else None)
    return found


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> list[ast.arg]:
    return [each for each in walk(function.args) if isinstance(each, ast.arg)]


def _names_bound(statement: ast.AST) -> set[str]:
    """The names that the targets of an assignment or a loop bind."""
    targets = getattr(statement, "targets", [getattr(statement, "target", None)])
    return {each.id for target in targets if target is not None for each in walk(target) if isinstance(each, ast.Name)}


def _of_contexts(statement: ast.With | ast.AsyncWith, inner: ast.AST, path: Path, catches: Catches) -> Treatment | None:
    """The treatment of an error in a `with` by its items, and by `stack.enter_context(..)` before the error."""
    in_order = [*statement.items, *statement.body]
    for each in reversed(in_order[: in_order.index(inner)]):
        context = each.context_expr if isinstance(each, ast.withitem) else getattr(each, "value", None)
        if context is None or not (isinstance(each, ast.withitem) or _called(each) == "enter_context"):
            continue
        if _expects(context, path, catches):
            return "wanted"
        if isinstance(context, ast.Call) and last_name(context.func) == "suppress" and any(map(catches, context.args)):
            return "wanted" if any(map(_fails, _following(statement.body, inner))) else "dropped"
    return None


def _expects(code: ast.expr, path: Path, catches: Catches) -> bool:
    """True if a context manager, a call that runs a function, or a mark expects an error: directly, through a name, or
    through a function of the module: `with raises_for_grad():`, `check_raises(f)`."""
    return any(_waits(each, path, catches) for each in _meanings(code, path) if each is not None)


def _waits(code: ast.expr, path: Path, catches: Catches) -> bool:
    nodes = list(walk(code))
    called = {id(node.func) for node in nodes if isinstance(node, ast.Call)}
    if any(_is_expecting(node, catches) for node in nodes if id(node) not in called):
        return True
    if not isinstance(code, ast.Call):
        return False
    return any(_is_for_errors(each, code, catches) for each in _functions_called(code, path))


def _functions_called(call: ast.Call, path: Path) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of the module that a call may run; for `self.check()` methods of the enclosing classes."""
    name = last_name(call.func)
    kind = ast.Module if isinstance(call.func, ast.Name) else ast.ClassDef
    if kind is ast.Module or path_of(call.func) in (f"self.{name}", f"cls.{name}"):
        for scope in (each for each in path if isinstance(each, kind)):
            yield from (each for each in scope.body if isinstance(each, FUNCTIONS) and each.name == name)


def _is_expecting(node: ast.AST, catches: Catches) -> bool:
    """True for `pytest.raises(RuntimeError)`, `xfail(raises=RuntimeError)`, `expectedFailure` and the like; without a
    class they expect any error. False for `xfail` with a condition or `strict=False`: that test may pass."""
    if not isinstance(node, ast.Call):
        return isinstance(node, (ast.Name, ast.Attribute)) and last_name(node) in ("expectedFailure", "xfail")
    name, named = last_name(node.func), {keyword.arg: keyword.value for keyword in node.keywords}
    if name == "xfail":
        if "raises" in named:
            return catches(named["raises"])
        strict = named.get("strict")
        return strict.value is True if isinstance(strict, ast.Constant) else not (node.args or "condition" in named)
    kinds = [*node.args[:1], *(named[each] for each in _CLASS_KEYWORDS if each in named)]
    return name in _EXPECT and (not kinds or catches(kinds[0]))


def _is_for_errors(function: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call, catches: Catches) -> bool:
    """True if a function, with the arguments of this call, expects an error, or calls its parameter and expects that to
    raise."""
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    names = names[1:] if isinstance(call.func, ast.Attribute) else names  # `self`
    given = dict(zip(reversed(names), reversed(function.args.defaults), strict=False))
    given.update(zip(names, call.args, strict=False))
    given.update((each.arg, each.value) for each in call.keywords if each.arg)

    def catches_given(kind: ast.expr) -> bool:
        return catches(given.get(kind.id, kind) if isinstance(kind, ast.Name) else kind)

    for node in walk(function):
        if _is_expecting(node, catches_given):
            return True
        is_called = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names
        if is_called and treatment(path_to(function, node), catches_given) in ("wanted", "answered"):
            return True
    return False


def _of_handler(
    statement: ast.Try | ast.TryStar, handler: ast.ExceptHandler, path: Path, depth: int
) -> Treatment | None:
    """The treatment by a handler; None if it raises again."""
    raised_in = path[depth + 1]
    statements = list(statements_of(handler.body))
    kinds = {type(each) for each in statements}
    after = _following(statement.body, raised_in)
    behind = [] if kinds.isdisjoint(_LEAVING) else _first_behind(statement, path[depth - 1])
    if any(map(_fails, (*after, *statement.orelse, *behind))):
        return "wanted"
    is_general = _is_general(handler.type)
    if _makes_good(handler, is_general=is_general):
        return "made good"
    if ast.Raise in kinds:
        return None
    if _is_unused(raised_in, path) or (ast.Return in kinds and not after and not is_general):
        return "answered"
    if ast.Assert in kinds or any(_called(each).startswith("assert") for each in statements):
        return "wanted"
    flags = _flags_in(statements).difference(*map(_names_bound, statements_of(statement.body)))
    around_all = getattr(_scope_of(path[: depth + 1]), "body", [])
    return "wanted" if any(_asks_for(each, flags) for each in statements_of(around_all)) else "dropped"


def _flags_in(statements: list[ast.stmt]) -> set[str]:
    """The names that statements set to anything but `None`, `False` and the like."""
    return {name for each in statements if not _is_off(getattr(each, "value", None)) for name in _names_bound(each)}


def _is_general(kind: ast.expr | None) -> bool:
    """True for `except:`, `except Exception:` and the like."""
    names = map(last_name, kind.elts if isinstance(kind, ast.Tuple) else [kind] if kind is not None else [])
    return kind is None or not _GENERAL.isdisjoint(names)


def _is_off(value: ast.AST | None) -> bool:
    """True for `None`, `False` and the like."""
    return isinstance(value, ast.Constant) and not value.value


def _first_behind(statement: ast.stmt, around: ast.AST) -> list[ast.stmt]:
    """The statement after one in its block, as a list; empty if it is the last."""
    blocks = (getattr(around, name, []) for name in ("body", "orelse"))
    return [each for block in blocks for each in _following(block, statement)][:1]


def _following(block: object, statement: ast.AST) -> list[ast.stmt]:
    """The statements of a block after one of them; empty if it is not in the block."""
    return block[block.index(statement) + 1 :] if isinstance(block, list) and statement in block else []


def _fails(statement: ast.AST) -> bool:
    """True if a statement always fails: `raise`, `assert False`, `self.fail(..)`."""
    if isinstance(statement, ast.Assert):
        return _is_off(statement.test)
    return isinstance(statement, ast.Raise) or _called(statement) == "fail"


def _asks_for(statement: ast.stmt, flags: set[str]) -> bool:
    """True if a statement fails unless one of the flags is true: `assert raised`, `if not raised: raise ..`."""
    if isinstance(statement, ast.If):
        return any(map(_fails, statement.body)) and _denies(statement.test) and _reads(statement.test, flags)
    if isinstance(statement, ast.Assert):
        return not _denies(statement.test) and _reads(statement.test, flags)
    is_assertion = _called(statement).startswith("assert") and _called(statement) not in ("assertFalse", "assertIsNone")
    return is_assertion and _reads(statement, flags)


def _denies(test: ast.expr) -> bool:
    """True for `not x`, `x is None` and the like."""
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[-1], (ast.Is, ast.Eq)) and _is_off(test.comparators[-1])
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _reads(code: ast.AST, names: set[str]) -> bool:
    return any(isinstance(each, ast.Name) and each.id in names for each in walk(code))


def _called(statement: ast.AST) -> str:
    """The name of the function that a statement calls; empty if it calls none."""
    call = statement.value if isinstance(statement, (ast.Expr, ast.Assign)) else None
    return (last_name(call.func) or "") if isinstance(call, ast.Call) else ""


def _is_unused(statement: ast.AST, path: Path) -> bool:
    """True if a statement only converts, and nothing uses its value."""
    if not isinstance(statement, (ast.Expr, ast.Assign)) or statement.value is not path[-1]:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    names = {each.id if isinstance(each, ast.Name) else None for each in targets}
    return None not in names and names.isdisjoint(_names_read(_scope_of(path)))


@lru_cache(maxsize=4)  # as of `_values_bound`
def _names_read(scope: ast.AST) -> frozenset[str]:
    names = (each for each in walk(scope) if isinstance(each, ast.Name))
    return frozenset(each.id for each in names if isinstance(each.ctx, ast.Load))


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


@lru_cache(maxsize=2)  # a module may contain thousands of functions
def _marks_of(scope: ast.AST) -> list[ast.expr]:
    """The decorators of a function or class, and the `pytestmark` of a class or module."""
    statements = [] if isinstance(scope, FUNCTIONS) else getattr(scope, "body", [])
    assigned = [each for each in statements if isinstance(each, ast.Assign) and "pytestmark" in _names_bound(each)]
    return [*getattr(scope, "decorator_list", ()), *(each.value for each in assigned)]
