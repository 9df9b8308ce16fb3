"""How the code around a call treats an error that the call raises: a test wants it, a handler makes it good.

`with pytest.raises(RuntimeError): leaf.numpy()` is there to raise, and a repair would break the test.
`try: x.numpy()` / `except RuntimeError: x.detach().cpu().numpy()` needs no repair.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import cached_property, lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, TRIES, statements_of, walk
from tonumpy.text.tree_paths import path_to

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Literal

    Catches = Callable[[ast.expr], bool]
    Path = Sequence[ast.AST]
    Scope = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    # "wanted": the code fails without the error; "answered": the error is the only use of the call; "made good": the
    # handler converts in another way; "dropped": the program goes on without it.
    Treatment = Literal["wanted", "answered", "made good", "dropped"]

OF_GRAD = "RuntimeError"  # Can't call numpy() on Tensor that requires grad
OF_DEVICE = "TypeError"  # can't convert cuda:0 device type tensor to numpy
_MAY_EXPECT = re.compile(r"raises|Raises|failUnless")
_MAY_WANT = re.compile(rf"{_MAY_EXPECT.pattern}|except|xfail|expectedFailure")

_EXPECT = frozenset(
    "raises assertRaises assertRaisesRegex assertRaisesRegexp assertRaisesMessage assert_raises assert_raises_regex"
    " raises_regex failUnlessRaises RaisesExc RaisesGroup".split()
)
_CLASS_KEYWORDS = ("expected_exception", "exception", "exception_class")
_CONVERT = frozenset("numpy asarray array tolist item cpu detach to cuda".split())
_FAILING_CALLS = (("assertTrue", False), ("assert_", False), ("assertFalse", True))
_GENERAL = frozenset(("Exception", "BaseException"))
_WITHS = (ast.With, ast.AsyncWith)
_LOOPS = (ast.For, ast.AsyncFor)
_MAX_FOLLOWED = 3  # from a function to the calls of it, and so on
_MAX_USES = 40  # of a function: more cost time, and are not of a test
_WORDS_OF_TORCH = frozenset(
    "can call numpy tensor tensors that requires require grad use detach instead convert cuda mps xpu meta device type"
    " cpu copy the host memory first has conjugate negative bit set resolve conj neg got unsupported scalartype scalar"
    " bfloat bfloat16 float8 layout sparse coo csr mkldnn dense not strided storage".split()
)


class Expected(NamedTuple):
    """An error that a `pytest.raises(...)` or the like waits for; `kind` is None for every error."""

    kind: ast.expr | None
    match: ast.expr | None


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
            found = _of_callable(node, inner, path, catches)
        elif isinstance(node, TRIES) and is_called_here and any(each is inner for each in node.body):
            handler = next((each for each in node.handlers if each.type is None or catches(each.type)), None)
            if handler is not None:
                found = _of_handler(node, handler, path, depth)
                if found is None:
                    catches = catches if _raises_same(handler) else lambda _: True
        elif isinstance(node, (*SCOPES, ast.Module)) and isinstance(inner, ast.stmt):
            found = _of_marks(node, catches)
            is_called_here = is_called_here and not isinstance(node, SCOPES)
        if found is not None:
            return found
    return None


@lru_cache(maxsize=4)  # rules and phrases ask many times of one conversion; more would keep trees in memory
def errors_made_good(scope: ast.AST, call: ast.AST) -> frozenset[str]:
    """`OF_GRAD`, `OF_DEVICE`, both or neither: the errors for which a handler in a scope converts in another way."""
    if not _holds_handlers(scope):
        return frozenset()
    path = path_to(scope, call)
    if not any(isinstance(node, TRIES) for node in path):
        return frozenset()
    errors = (OF_GRAD, OF_DEVICE)
    return frozenset(each for each in errors if treatment(path, catcher(path, frozenset((each,)))) == "made good")


@lru_cache(maxsize=4)
def _holds_handlers(scope: ast.AST) -> bool:
    return any(isinstance(node, TRIES) for node in walk(scope))


class WantedErrors:
    """The calls of a module whose errors are wanted."""

    def __init__(self, tree: ast.Module, text: str) -> None:
        self._tree, self._text = tree, text

    def wants(self, call: ast.AST, errors: frozenset[str]) -> Literal["always", "sometimes", "never"]:
        """How often the code wants one of these errors from a call; of a function that several calls reach, "sometimes"
        if only some of them want it."""
        if not self._may_want:
            return "never"
        return self._wants(path_to(self._tree, call), errors, 0)

    def _wants(self, path: Path, errors: frozenset[str], followed: int) -> Literal["always", "sometimes", "never"]:
        found = treatment(path, catcher(path, errors))
        if found == "wanted" or (found == "answered" and not followed):
            return "always"
        if found is not None:
            return "never"
        uses, is_handled_enough = self._uses(path)
        if not uses or followed == _MAX_FOLLOWED:
            return "sometimes" if _has_marked_cases(path, catcher(path, errors)) else "never"
        answers = set()
        for use in uses:
            used_at = path_to(self._tree, use)
            is_handled = is_handled_enough and treatment(used_at, catcher(used_at, errors)) is not None
            answers.add("always" if is_handled else self._wants(used_at, errors, followed + 1))
        return "always" if answers == {"always"} else "never" if answers == {"never"} else "sometimes"

    def _uses(self, path: Path) -> tuple[list[ast.AST], bool]:
        """The uses of the innermost function around a node; whether a handler for every error there is enough, as it is
        for the jobs of a loop."""
        for depth in range(len(path) - 1, 0, -1):
            node = path[depth]
            if isinstance(node, FUNCTIONS) and depth + 1 < len(path) and isinstance(path[depth + 1], ast.stmt):
                kind = ast.Attribute if isinstance(path[depth - 1], ast.ClassDef) else ast.Name
                uses: list[ast.AST] = [each for each in self._loads.get(node.name, ()) if isinstance(each, kind)]
                return (uses if len(uses) <= _MAX_USES else []), False
            if isinstance(node, ast.Lambda):
                return _uses_of_lambda(path[:depth])
        return [], False

    @cached_property
    def _may_want(self) -> bool:
        return _MAY_WANT.search(self._text) is not None

    @cached_property
    def _loads(self) -> dict[str, list[ast.AST]]:
        """The places where a name or an attribute is read, by the name; none in a text that waits for no error."""
        found: dict[str, list[ast.AST]] = {}
        if not _MAY_EXPECT.search(self._text):
            return found
        for node in walk(self._tree):
            if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
                found.setdefault(last_name(node) or "", []).append(node)
        return found


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
        if isinstance(scope, (*FUNCTIONS, ast.Lambda)) and name in {
            each.arg for each in walk(scope.args) if isinstance(each, ast.arg)
        }:
            return None
        if isinstance(scope, (*SCOPES, ast.Module)):
            found = [getattr(each, "value", None) for each in statements_of(scope.body) if _binds(each, name)]
            if found:
                return None if None in found else [each for each in found if each is not None]
    return []


def _binds(statement: ast.stmt, name: str) -> bool:
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    return any(each.id == name for target in targets if target is not None for each in _names_in(target))


def _of_contexts(statement: ast.With | ast.AsyncWith, inner: ast.AST, path: Path, catches: Catches) -> Treatment | None:
    """The treatment by the items of a `with` of an error in its body, or in an item behind them."""
    places = [at for at, item in enumerate(statement.items) if item is inner]
    items = statement.items[: places[0]] if places else statement.items
    for item in reversed(items):
        if any(_is_expected(each, catches) for each in _expected_by(item.context_expr, path)):
            return "wanted"
        call = item.context_expr
        if isinstance(call, ast.Call) and last_name(call.func) == "suppress" and any(map(catches, call.args)):
            return "dropped"
    return None


def _expected_by(context: ast.expr, path: Path, followed: int = 0) -> Iterator[Expected]:
    """The errors that a context waits for, itself or by the name that it has."""
    for node in walk(context):
        if isinstance(node, ast.Call):
            if last_name(node.func) in _EXPECT:
                yield _expected(node)
            elif node is context:
                yield from _expected_in_function(node, path)
    if isinstance(context, ast.Name) and followed < _MAX_FOLLOWED:
        values = _values_of(context.id, path)
        if values is None:  # a parameter: of what `parametrize` gives
            values = [each for node in path if isinstance(node, FUNCTIONS) for each in node.decorator_list]
        for value in values:
            yield from _expected_by(value, path, followed + 1)


def _expected_in_function(call: ast.Call, path: Path) -> Iterator[Expected]:
    """The errors that a function of the module waits for: `with raises_for_grad():`, `check_raises(lambda: ...)`."""
    module, name = path[0], last_name(call.func)
    if isinstance(module, ast.Module) and isinstance(call.func, ast.Name):
        for each in module.body:
            if isinstance(each, FUNCTIONS) and each.name == name:
                calls = (node for node in walk(each) if isinstance(node, ast.Call))
                yield from (_expected(node) for node in calls if last_name(node.func) in _EXPECT)


def _expected(call: ast.Call) -> Expected:
    named = {keyword.arg: keyword.value for keyword in call.keywords}
    kinds = [*call.args[:1], *(named[name] for name in _CLASS_KEYWORDS if name in named)]
    match = named.get("match", named.get("expected_regex"))
    if match is None and "egex" in (last_name(call.func) or "") and len(call.args) > 1:
        match = call.args[1]
    return Expected(kinds[0] if kinds else None, match)


def _is_expected(expected: Expected, catches: Catches) -> bool:
    return (expected.kind is None or catches(expected.kind)) and not _speaks_of_others(expected.match)


def _speaks_of_others(match: ast.expr | None) -> bool:
    """True if a pattern has a word that no message of a conversion has."""
    if not isinstance(match, ast.Constant) or not isinstance(match.value, str):
        return False
    words = re.findall(r"[a-z]{3,}[0-9]*", re.sub(r"\\[a-zA-Z]|\(\?[a-zA-Z]+\)", " ", match.value).lower())
    return not all(word in _WORDS_OF_TORCH for word in words)


def _of_callable(call: ast.Call, inner: ast.AST, path: Path, catches: Catches) -> Treatment | None:
    """`pytest.raises(RuntimeError, lambda: x.numpy())`; other arguments are evaluated before."""
    is_name = inner is path[-1] and isinstance(inner, (ast.Name, ast.Attribute))
    if inner is call.func or not (is_name or isinstance(inner, ast.Lambda)):
        return None
    if last_name(call.func) in _EXPECT:
        is_class = bool(call.args) and inner is call.args[0]
        return "wanted" if not is_class and _is_expected(_expected(call), catches) else None
    return "wanted" if any(_is_expected(each, catches) for each in _expected_in_function(call, path)) else None


def _of_handler(
    statement: ast.Try | ast.TryStar, handler: ast.ExceptHandler, path: Path, depth: int
) -> Treatment | None:
    """None where the handler raises again."""
    raised_in = path[depth + 1]
    statements = list(statements_of(handler.body))
    leaves = any(isinstance(each, (ast.Return, ast.Continue, ast.Break)) for each in statements)
    after = _following(statement.body, raised_in)
    around = [getattr(path[depth - 1], name, None) for name in ("body", "orelse", "finalbody")] if leaves else []
    behind = [each for block in around if isinstance(block, list) for each in _following(block, statement)[:1]]
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
    return "wanted" if any(_asserts(each) for each in statements) else "dropped"


def _following(block: Sequence[ast.AST], statement: ast.AST) -> list[ast.AST]:
    """The statements of a block behind one of it; none where it is not there."""
    places = [at for at, each in enumerate(block) if each is statement]
    return list(block[places[0] + 1 :]) if places else []


def _fails(statement: ast.AST) -> bool:
    """True if the statement fails whenever it runs: `raise`, `assert False`, `self.fail(..)`, `assertTrue(False)`."""
    if isinstance(statement, ast.Raise):
        return True
    if isinstance(statement, ast.Assert):
        return isinstance(statement.test, ast.Constant) and not statement.test.value
    name, given = _called(statement)
    return name == "fail" or (name, given) in _FAILING_CALLS


def _asserts(statement: ast.AST) -> bool:
    return isinstance(statement, ast.Assert) or _called(statement)[0].startswith("assert")


def _called(statement: ast.AST) -> tuple[str, object]:
    """The name that a statement calls, and the truth that it gives first, if it gives one."""
    call = statement.value if isinstance(statement, ast.Expr) else None
    if not isinstance(call, ast.Call):
        return "", None
    first = call.args[0] if call.args else None
    truth = first.value if isinstance(first, ast.Constant) and isinstance(first.value, bool) else None
    return last_name(call.func) or "", truth


def _is_unused(statement: ast.AST, path: Path) -> bool:
    """True if nothing uses the value of a statement that only converts."""
    if not isinstance(statement, (ast.Expr, ast.Assign)) or statement.value is not path[-1]:
        return False
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    scope = next(node for node in reversed(path) if isinstance(node, (*SCOPES, ast.Module)))
    return all(isinstance(each, ast.Name) and not _loads_in([scope], {each.id}) for each in targets)


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


def _of_marks(scope: Scope, catches: Catches) -> Treatment | None:
    """The treatment that decorators of a function or class, or the `pytestmark` of a class or module, give to all
    that it runs."""
    marks = [] if isinstance(scope, FUNCTIONS) else _pytestmark(scope)
    marks = [*scope.decorator_list, *marks] if isinstance(scope, SCOPES) else marks
    return "wanted" if any(_is_wanting(each, catches) for each in marks) else None


@lru_cache(maxsize=2)  # a module may hold thousands of functions
def _pytestmark(scope: ast.Module | ast.ClassDef) -> list[ast.expr]:
    found = []
    for statement in scope.body:
        if isinstance(statement, ast.Assign) and any(last_name(each) == "pytestmark" for each in statement.targets):
            value = statement.value
            found += value.elts if isinstance(value, (ast.List, ast.Tuple)) else [value]
    return found


def _is_wanting(mark: ast.expr, catches: Catches) -> bool:
    """`xfail(strict=True)`, `xfail(raises=RuntimeError)`, `expectedFailure`, and `raises(RuntimeError)` of nose."""
    if not isinstance(mark, ast.Call):
        return last_name(mark) == "expectedFailure"
    if last_name(mark.func) in _EXPECT:
        return any(map(catches, mark.args))
    if last_name(mark.func) != "xfail":
        return False
    named = {keyword.arg: keyword.value for keyword in mark.keywords}
    if "raises" in named:
        return catches(named["raises"])
    strict = named.get("strict")
    return isinstance(strict, ast.Constant) and strict.value is True


def _has_marked_cases(path: Path, catches: Catches) -> bool:
    """True if some cases of a test are marked: `pytest.param(x, marks=pytest.mark.xfail(raises=RuntimeError))`."""
    marks = [each for node in path if isinstance(node, FUNCTIONS) for each in node.decorator_list]
    calls = [node for each in marks for node in walk(each) if isinstance(node, ast.Call)]
    return any(_is_wanting(each, catches) for each in calls)


def _uses_of_lambda(around: Path) -> tuple[list[ast.AST], bool]:
    """The uses of a lambda by the name of a variable, of a loop or of a case of a test, and whether it is a loop's."""
    for depth in range(len(around) - 1, -1, -1):
        node = around[depth]
        if isinstance(node, _LOOPS):
            return _loads_in([*node.body, *node.orelse], {each.id for each in _names_in(node.target)}), True
        if isinstance(node, ast.Assign):
            scope = next(each for each in reversed(around) if isinstance(each, (*SCOPES, ast.Module)))
            return _loads_in([scope], {each.id for part in node.targets for each in _names_in(part)}), False
        if isinstance(node, FUNCTIONS):
            decorator = around[depth + 1] if depth + 1 < len(around) else None
            named = decorator.args[:1] if isinstance(decorator, ast.Call) else []
            texts = [each.value for part in named for each in walk(part) if isinstance(each, ast.Constant)]
            names = {name for text in texts if isinstance(text, str) for name in re.findall(r"\w+", text)}
            return _loads_in(node.body, names), False
        if isinstance(node, ast.stmt):
            break
    return [], False


def _names_in(node: ast.AST) -> list[ast.Name]:
    return [each for each in walk(node) if isinstance(each, ast.Name)]


def _loads_in(nodes: Sequence[ast.AST], names: set[str]) -> list[ast.AST]:
    found = [each for node in nodes for each in _names_in(node) if isinstance(each.ctx, ast.Load)]
    return [each for each in found if each.id in names]
