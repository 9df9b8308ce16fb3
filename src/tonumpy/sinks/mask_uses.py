"""From a source to the uses of the results of boolean ufuncs as masks, by spelling alone."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from tonumpy.inference.index.bindings import imports_among
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import path_of
from tonumpy.text.prefilter import BOOLEAN_UFUNCS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import SCOPES, children_of, own_expressions, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

# By the full name: what torch calls the same function, empty where it has none.
UFUNCS = {
    **{f"numpy.{name}": name for name in BOOLEAN_UFUNCS if name not in ("equal", "contains_xy", "intersects_xy")},
    "numpy.equal": "eq",  # `torch.equal` gives one bool
    "shapely.contains_xy": "",
    "shapely.intersects_xy": "",
}
# Methods after which a mask of 0 and 1 is one still.
_KEEPING = frozenset("all any clone contiguous cpu detach flatten ravel reshape squeeze t transpose view".split())
_REDUCING = frozenset("all any sum item float int long tolist nonzero bool double".split())
_JOINING = (ast.BitAnd, ast.BitOr, ast.BitXor)


class Use(NamedTuple):
    """A mask that is inverted, or that is the index of `container`; `around`: what the inverse is the index of, and
    `is_alone`: or a method of its own is called. `calls` are the ufuncs that the mask is made of."""

    node: ast.UnaryOp | ast.Subscript
    calls: tuple[ast.Call, ...]
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
        self._masks: dict[str, tuple[ast.Call, ...]] = {}  # of the scope at hand

    def found(self) -> Iterator[Use]:
        pattern = re.compile(rf"\b(?:{'|'.join(BOOLEAN_UFUNCS)})\(")
        rows = sorted({self._source.position_at(each.start()).row for each in pattern.finditer(self._source.text)})
        sites = find_calls(self._source, rows, self._is_ufunc)
        scopes = {id(site.scopes[-1]): site.scopes for site in sites}
        for each in scopes.values():
            try:
                yield from self._in_scope(each)
            except RecursionError:  # a chain of hundreds of calls
                note_cut()

    @cached_property
    def _names(self) -> dict[str, str]:
        return names_of(self._source)

    def _is_ufunc(self, call: ast.Call) -> bool:
        return full_name(call, self._names) in UFUNCS

    def _in_scope(self, scopes: tuple[Scope, ...]) -> Iterator[Use]:
        statements = [each for each in statements_of(scopes[-1].body) if not isinstance(each, SCOPES)]
        self._masks = {}
        bound: dict[str, list[ast.expr]] = {}
        for statement in statements:
            if isinstance(statement, ast.Assign):
                for target in statement.targets:
                    if isinstance(target, ast.Name):
                        bound.setdefault(target.id, []).append(statement.value)
        for name, values in bound.items():
            made = [self._made_of(value) for value in values]
            if all(made):
                self._masks[name] = tuple(call for each in made for call in each)
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

    def _made_of(self, node: ast.expr) -> tuple[ast.Call, ...]:
        """The ufuncs whose result the value is, if it is one."""
        if isinstance(node, ast.Name):
            return self._masks.get(node.id, ())
        if isinstance(node, ast.BinOp) and isinstance(node.op, _JOINING):
            return self._made_of(node.left) + self._made_of(node.right)
        if isinstance(node, ast.Call):
            if self._is_ufunc(node):
                inner = tuple(call for each in node.args for call in self._made_of(each))
                return inner or (node,)
            function = node.func
            if isinstance(function, ast.Attribute) and function.attr in _KEEPING:
                return self._made_of(function.value)
        if isinstance(node, ast.Subscript):
            return self._made_of(node.value)
        return ()
