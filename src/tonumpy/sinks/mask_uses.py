"""From a source to the uses of the results of boolean ufuncs as masks, by spelling alone."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from tonumpy.inference.index.bindings import imports_among
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import last_name, path_of
from tonumpy.text.prefilter import BOOLEAN_UFUNCS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, own_expressions, statements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

    _Calls = tuple[ast.Call, ...]

# By the full name: what torch calls the same function, empty where it has none.
UFUNCS = {
    **{f"numpy.{name}": name for name in BOOLEAN_UFUNCS if name not in ("equal", "contains_xy", "intersects_xy")},
    "numpy.equal": "eq",  # `torch.equal` gives one bool
    "shapely.contains_xy": "",
    "shapely.intersects_xy": "",
}
# Methods after which a mask of 0 and 1 is one still.
_KEEPING = frozenset("all any clone contiguous cpu detach flatten numpy ravel reshape squeeze t transpose view".split())
_REDUCING = frozenset("all any sum item float int long tolist nonzero bool double".split())
_JOINING = (ast.BitAnd, ast.BitOr, ast.BitXor)


class Use(NamedTuple):
    """A mask that is inverted, or that is the index of `container`; `around`: what the inverse is the index of, and
    `is_alone`: or a method of its own is called. `calls` are the ufuncs that the mask is made of."""

    node: ast.UnaryOp | ast.Subscript
    calls: _Calls
    scopes: tuple[Scope, ...]
    statement: ast.stmt
    around: ast.Subscript | None
    is_alone: bool


def names_of(source: Source) -> dict[str, str]:
    imports = imports_among(statements_of(source.tree.body))
    return {name: each.full_name for name, each in imports if not each.level}


def full_name(call: ast.Call, names: dict[str, str]) -> str:
    root, dot, rest = (path_of(call.func) or "").partition(".")
    return names.get(root, "") + dot + rest


class Uses:
    """The uses of masks in one source, by spelling alone."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scope: tuple[Scope, ...] = ()  # the one at hand
        self._masks: dict[str, _Calls] = {}  # of that
        self._helpers: dict[tuple[int, str], _Calls] = {}  # what functions return, by the class or module around
        self._kept: dict[int, dict[str, _Calls]] = {}  # attributes of self that hold masks, by the class

    def found(self) -> Iterator[Use]:
        scopes = self._scopes_calling(BOOLEAN_UFUNCS, self._is_ufunc)
        try:
            for each in scopes.values():
                self._note_helper(each)
            if self._helpers:
                names = {name.rpartition(".")[2] for _, name in self._helpers}
                scopes |= self._scopes_calling(names, lambda call: last_name(call.func) in names)
            for each in [each for each in scopes.values() if _class_of(each) is not None]:
                scopes |= self._note_attributes(each)
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
        for each in scopes.values():
            try:
                yield from self._in_scope(each)
            except RecursionError:
                note_cut()

    def _scopes_calling(
        self, names: Iterable[str], is_wanted: Callable[[ast.Call], bool]
    ) -> dict[int, tuple[Scope, ...]]:
        pattern = re.compile(rf"\b(?:{'|'.join(names)})\(")
        rows = sorted({self._source.position_at(each.start()).row for each in pattern.finditer(self._source.text)})
        return {id(site.scopes[-1]): site.scopes for site in find_calls(self._source, rows, is_wanted)}

    def _note_helper(self, scopes: tuple[Scope, ...]) -> None:
        """Whether a function returns masks alone: `def invalid(x): return np.isnan(x)`."""
        function = scopes[-1]
        if not isinstance(function, FUNCTIONS) or isinstance(scopes[-2], FUNCTIONS):
            return
        self._masks = self._masks_in(scopes)
        statements = [each for each in statements_of(function.body) if isinstance(each, ast.Return)]
        made = [self._made_of(each.value) for each in statements if each.value is not None]
        if made and len(made) == len(statements) and all(made):
            owner = _class_of(scopes)
            name = function.name if owner is None else f"self.{function.name}"
            self._helpers[id(owner), name] = tuple(call for each in made for call in each)

    def _note_attributes(self, scopes: tuple[Scope, ...]) -> dict[int, tuple[Scope, ...]]:
        """The attributes of self that methods give masks alone; the methods of such a class."""
        owner = _class_of(scopes)
        if owner is None or id(owner) in self._kept:
            return {}
        methods = {id(each): (*scopes[:-1], each) for each in owner.body if isinstance(each, FUNCTIONS)}
        kept: dict[str, list[_Calls]] = {}
        for method in methods.values():
            self._masks = self._masks_in(method)
            for name, values in _bound_in(method[-1]).items():
                if name.startswith("self."):
                    kept.setdefault(name, []).extend(self._made_of(value) for value in values)
        self._kept[id(owner)] = {
            name: tuple(call for each in made for call in each) for name, made in kept.items() if all(made)
        }
        return methods if self._kept[id(owner)] else {}

    @cached_property
    def _names(self) -> dict[str, str]:
        return names_of(self._source)

    def _is_ufunc(self, call: ast.Call) -> bool:
        return full_name(call, self._names) in UFUNCS

    def _masks_in(self, scopes: tuple[Scope, ...]) -> dict[str, _Calls]:
        """The places that are given masks alone in a scope, and the attributes that are in its class."""
        self._scope, self._masks = scopes, dict(self._kept.get(id(_class_of(scopes)), {}))
        bound = _bound_in(scopes[-1])
        for name, values in [*bound.items(), *bound.items()]:  # twice, as a name may be bound to a later one
            made = [self._made_of(value) for value in values]
            if all(made):
                self._masks[name] = tuple(call for each in made for call in each)
            elif not name.startswith("self."):
                self._masks.pop(name, None)
        return self._masks

    def _in_scope(self, scopes: tuple[Scope, ...]) -> Iterator[Use]:
        statements = [each for each in statements_of(scopes[-1].body) if not isinstance(each, SCOPES)]
        self._masks = self._masks_in(scopes)
        for statement in statements:
            for part in own_expressions(statement):
                yield from self._in_expression(part, scopes, statement)
            if isinstance(statement, (ast.Assign, ast.AugAssign)):
                targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
                yield from (use for each in targets for use in self._of_target(each, scopes, statement))

    def _of_target(self, target: ast.expr, scopes: tuple[Scope, ...], statement: ast.stmt) -> Iterator[Use]:
        is_new = not any(part is target for part in own_expressions(statement))
        return self._in_expression(target, scopes, statement) if is_new else iter(())

    def _in_expression(self, root: ast.expr, scopes: tuple[Scope, ...], statement: ast.stmt) -> Iterator[Use]:
        stack: list[tuple[ast.AST, ast.AST | None]] = [(root, None)]
        while stack:
            node, above = stack.pop()
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
                calls = self._made_of(node.operand)
                if calls:
                    around = above if isinstance(above, ast.Subscript) and above.slice is node else None
                    is_alone = isinstance(above, ast.Attribute) and above.attr in _REDUCING
                    yield Use(node, calls, scopes, statement, around, is_alone)
                    continue
            if isinstance(node, ast.Subscript):
                calls = self._made_of(node.slice)
                if calls:
                    yield Use(node, calls, scopes, statement, None, is_alone=False)
            stack.extend((child, node) for child in children_of(node) if not isinstance(child, SCOPES))

    def _made_of(self, node: ast.expr) -> _Calls:
        """The ufuncs whose result the value is, if it is one."""
        if (place := _place_of(node)) in self._masks:
            return self._masks[place or ""]
        if isinstance(node, ast.BinOp) and isinstance(node.op, _JOINING):
            return self._made_of(node.left) + self._made_of(node.right)
        if isinstance(node, ast.Call):
            if self._is_ufunc(node):
                inner = tuple(call for each in node.args for call in self._made_of(each))
                return inner or (node,)
            function = node.func
            helper = self._helpers.get((id(_class_of(self._scope)), path_of(function) or ""))
            helper = helper or self._helpers.get((id(None), path_of(function) or ""))
            if helper is not None:
                return helper
            if isinstance(function, ast.Attribute) and function.attr in _KEEPING:
                return self._made_of(function.value)
        if isinstance(node, ast.Subscript):
            return self._made_of(node.value)
        return ()


def _bound_in(scope: Scope) -> dict[str, list[ast.expr]]:
    """All that a scope binds to each name, attribute of self and item under a literal key, in the order of the text."""
    bound: dict[str, list[ast.expr]] = {}
    for statement in statements_of(scope.body):
        if isinstance(statement, ast.Assign):
            pairs = [pair for target in statement.targets for pair in _pairs(target, statement.value)]
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)) and statement.value is not None:
            pairs = [(statement.target, statement.value)]
        elif isinstance(statement, (ast.For, ast.AsyncFor)):
            pairs = _pairs(statement.target, statement.iter)
        else:
            pairs = []
        for target, value in pairs:
            if (place := _place_of(target)) is not None:
                bound.setdefault(place, []).append(value)
    return bound


def _pairs(target: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Each name of an assignment with what it is bound to; with the whole value where its part is not written there."""
    if not isinstance(target, (ast.Tuple, ast.List)):
        return [(target, value)]
    parts = value.elts if isinstance(value, (ast.Tuple, ast.List)) else []
    if len(parts) != len(target.elts):
        parts = [ast.Tuple([value], ast.Load())] * len(target.elts)
    return [pair for each, part in zip(target.elts, parts, strict=True) for pair in _pairs(each, part)]


def _place_of(node: ast.expr) -> str | None:
    """`mask`, `self.mask`, `batch['mask']`."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
        owner = path_of(node.value)
        return None if owner is None else f"{owner}[{node.slice.value!r}]"
    return path_of(node) if isinstance(node, (ast.Name, ast.Attribute)) else None


def _class_of(scopes: tuple[Scope, ...]) -> ast.ClassDef | None:
    """The class whose method a function is."""
    return scopes[-2] if len(scopes) > 1 and isinstance(scopes[-2], ast.ClassDef) else None
