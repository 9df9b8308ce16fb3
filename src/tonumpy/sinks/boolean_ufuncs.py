"""From a source to where the result of a boolean ufunc is inverted or used as an index, as implicit conversions.

NumPy hands the result of a ufunc of a CPU tensor back as a tensor, and torch makes uint8 of booleans on that way.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property

from tonumpy.conversions import ImplicitConversion, Mask
from tonumpy.inference.index.bindings import imports_among
from tonumpy.inference.knowledge.arrays import dimensions_of
from tonumpy.inference.knowledge.chains import Chain
from tonumpy.inference.lattice.value_facts import members
from tonumpy.inference.lattice.values import Tensor, is_number
from tonumpy.inference.summaries.budget import MAX_STATEMENTS_OF_SINKS
from tonumpy.inference.summaries.driver import observe
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text import candidates
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import path_of
from tonumpy.text.prefilter import BOOLEAN_UFUNCS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import SCOPES, children_of, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from tonumpy.facts import Certainty
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.values import Value
    from tonumpy.inference.summaries.driver import Observations
    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

# By the full name: what torch calls the same function, empty where it has none.
_UFUNCS = {
    **{f"numpy.{name}": name for name in BOOLEAN_UFUNCS if name not in ("equal", "contains_xy", "intersects_xy")},
    "numpy.equal": "eq",  # `torch.equal` gives one bool
    "shapely.contains_xy": "",
    "shapely.intersects_xy": "",
}
# Methods after which a mask of 0 and 1 is one still.
_KEEPING = frozenset("all any clone contiguous cpu detach flatten ravel reshape squeeze t transpose view".split())
_REDUCING = frozenset("all any sum item float int long tolist nonzero bool double".split())
_JOINING = (ast.BitAnd, ast.BitOr, ast.BitXor)


class _Use(NamedTuple):
    """A mask that is inverted, or that is the index of `container`; `around`: what the inverse is the index of, and
    `is_alone`: or a method of its own is called. `calls` are the ufuncs that the mask is made of."""

    node: ast.UnaryOp | ast.Subscript
    calls: tuple[ast.Call, ...]
    scopes: tuple[Scope, ...]
    statement: ast.stmt
    around: ast.Subscript | None
    is_alone: bool


def infer_masks(module: Module) -> list[ImplicitConversion]:
    """What is taken for a mask and is none, in the order of the text."""
    source = module.source
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code
    uses = list(_Uses(source).found())
    if not uses:
        return []
    wanted = {id(call) for use in uses for call in use.calls}
    rows = sorted({call.lineno for use in uses for call in use.calls})
    observed = observe(module, find_calls(source, rows, lambda call: id(call) in wanted), MAX_STATEMENTS_OF_SINKS)
    likely = [use for use in uses if any(_certainty(call, observed) for call in use.calls)]
    indexed = {id(each): each for use in likely if (each := _subscript(use)) is not None}
    rows = sorted({each.lineno for each in indexed.values()})
    sites = candidates.find_operations(source, rows, (ast.Subscript,), lambda node: id(node) in indexed)
    containers = observe(module, sites, MAX_STATEMENTS_OF_SINKS) if sites else {}
    names = _names_of(source)
    found = [_conversion(use, observed, containers, names) for use in likely]
    return [each for each in found if each is not None]


def _conversion(
    use: _Use, observed: Observations, containers: Observations, names: dict[str, str]
) -> ImplicitConversion | None:
    subscript = _subscript(use)
    seen = None if subscript is None else containers.get(id(subscript))
    is_array = seen is not None and dimensions_of(seen.receiver) is not None
    is_tensor = seen is not None and any(isinstance(each, Tensor) for each in members(seen.receiver))
    if isinstance(use.node, ast.Subscript) and not is_array:
        return None  # as an index of a tensor it is a mask still
    call, certainty = next((call, sure) for call in use.calls if (sure := _certainty(call, observed)) is not None)
    in_torch = () if is_array else _in_torch(use.calls, observed, names)
    is_direct = call in walk(use.node)  # else the name may be used elsewhere, too
    how: Literal["inverted", "index"] = "index" if isinstance(use.node, ast.Subscript) else "inverted"
    tensors = tuple(node for each in use.calls for node in _tensors_given(each, observed))
    return ImplicitConversion(
        Site(call, use.scopes, (), use.statement, None),
        path_of(call.func) or "",
        use.node,
        Chain(()),
        certainty,
        on_cpu=True,
        is_sent=False,
        requires_grad=False,
        grad_mode=None,
        dtype=None,
        layout=None,
        bit=None,
        of_items=None,
        keeps_value=bool(in_torch) and is_direct and (is_tensor or use.is_alone),
        mask=Mask(how, in_torch, tensors),
    )


def _in_torch(
    calls: tuple[ast.Call, ...], observed: Observations, names: dict[str, str]
) -> tuple[tuple[ast.Call, str], ...]:
    """The functions of torch that can stand for all of them; nothing where one is given what is no tensor."""
    if names.get("torch") != "torch":
        return ()
    found = []
    for call in calls:
        seen, counterpart = observed.get(id(call)), _UFUNCS[_full_name(call, names)]
        given = () if seen is None else seen.arguments.positional
        are_all = all(_tensor(value) is not None or is_number(value) for value in given)
        if not given or not are_all or call.keywords or not counterpart:
            return ()
        found.append((call, f"torch.{counterpart}"))
    return tuple(found)


def _tensors_given(call: ast.Call, observed: Observations) -> list[ast.expr]:
    seen = observed.get(id(call))
    given = () if seen is None else seen.arguments.positional
    return [node for node, value in zip(call.args, given, strict=False) if _tensor(value) is not None]


def _subscript(use: _Use) -> ast.Subscript | None:
    return use.node if isinstance(use.node, ast.Subscript) else use.around


def _tensor(value: Value) -> Tensor | None:
    """The tensor that NumPy can convert, if the value is one."""
    tensors = [each for each in members(value) if isinstance(each, Tensor)]
    others = [each for each in members(value) if not isinstance(each, Tensor) and not is_number(each)]
    if len(tensors) != 1 or others:
        return None
    return None if tensors[0].on_cpu is False or tensors[0].requires_grad else tensors[0]


def _certainty(call: ast.Call, observed: Observations) -> Certainty | None:
    """How sure it is that a ufunc is given a tensor, and does not raise for it."""
    seen = observed.get(id(call))
    found = () if seen is None else [each for value in seen.arguments.positional if (each := _tensor(value))]
    return found[0].certainty if found and found[0].certainty != "possible" else None


def _names_of(source: Source) -> dict[str, str]:
    imports = imports_among(statements_of(source.tree.body))
    return {name: each.full_name for name, each in imports if not each.level}


def _full_name(call: ast.Call, names: dict[str, str]) -> str:
    root, dot, rest = (path_of(call.func) or "").partition(".")
    return names.get(root, "") + dot + rest


class _Uses:
    """The uses of masks in one source, by spelling alone."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._masks: dict[str, tuple[ast.Call, ...]] = {}  # of the scope at hand

    def found(self) -> Iterator[_Use]:
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
        return _names_of(self._source)

    def _is_ufunc(self, call: ast.Call) -> bool:
        return _full_name(call, self._names) in _UFUNCS

    def _in_scope(self, scopes: tuple[Scope, ...]) -> Iterator[_Use]:
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

    def _of_target(self, target: ast.expr, scopes: tuple[Scope, ...], statement: ast.stmt) -> Iterator[_Use]:
        is_new = not any(part is target for part in own_expressions(statement))
        return self._in_expression(target, scopes, statement) if is_new else iter(())

    def _in_expression(self, root: ast.expr, scopes: tuple[Scope, ...], statement: ast.stmt) -> Iterator[_Use]:
        stack: list[tuple[ast.AST, ast.AST | None]] = [(root, None)]
        while stack:
            node, above = stack.pop()
            if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Invert):
                calls = self._made_of(node.operand)
                if calls:
                    around = above if isinstance(above, ast.Subscript) and above.slice is node else None
                    is_alone = isinstance(above, ast.Attribute) and above.attr in _REDUCING
                    yield _Use(node, calls, scopes, statement, around, is_alone)
                    continue
            if isinstance(node, ast.Subscript):
                calls = self._made_of(node.slice)
                if calls:
                    yield _Use(node, calls, scopes, statement, None, is_alone=False)
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
