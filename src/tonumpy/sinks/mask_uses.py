"""From a source to the uses of the results of boolean ufuncs as masks, by spelling alone."""

from __future__ import annotations

import ast
import re
from collections import Counter
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import arguments_of, decorator_names, defaults_of, given_to, imports_among
from tonumpy.engine.names.references import class_around
from tonumpy.sinks.scope_bindings import bound_in, keyed_in, pairs_of_keys, place_of
from tonumpy.text.candidates import find_calls, find_operations
from tonumpy.text.names import last_name, path_of
from tonumpy.text.prefilter import BOOLEAN_UFUNCS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, indices_of, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

    _Calls = tuple["Ufunc", ...]

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
_FILLING = frozenset("masked_fill masked_fill_ masked_select masked_scatter masked_scatter_".split())
# Parameters that are ufuncs by default: `def clean(x, test=np.isnan):`
_DEFAULTS = re.compile(rf"\b(\w+)[^=\w\n]*=[ \t]*(?:\w+\.)*(?:{'|'.join(BOOLEAN_UFUNCS)})[ \t]*[,)]")
_MOST_CALLERS = 24  # of one function
_JOINING = (ast.BitAnd, ast.BitOr, ast.BitXor)


class Ufunc(NamedTuple):
    """A ufunc's call. Where that is of what a function is given: the call of the function, and its arguments there."""

    call: ast.Call
    outer: ast.Call | None = None
    given: tuple[ast.expr, ...] = ()


class Use(NamedTuple):
    """A mask that is inverted, that is an index, or that a call fills or selects by; `around`: what the inverse is the
    index of, and `is_alone`: or a method of its own is called. `calls` are the ufuncs that the mask is made of."""

    node: ast.UnaryOp | ast.Subscript | ast.Call
    calls: _Calls
    scopes: tuple[Scope, ...]
    statement: ast.stmt
    around: ast.Subscript | None
    is_alone: bool


class Uses:
    """The uses of masks in one source, by spelling alone."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._scope: tuple[Scope, ...] = ()  # the one at hand
        self._masks: dict[str, _Calls] = {}  # of that
        self._bound: dict[Scope, dict[str, list[ast.expr]]] = {}
        # What functions return, by the class or module around.
        self._helpers: dict[tuple[int, str], tuple[_Calls, ast.FunctionDef | ast.AsyncFunctionDef]] = {}
        self._kept: dict[int, dict[str, _Calls]] = {}  # attributes of self that hold masks, by the class
        self._given: dict[Scope, dict[str, _Calls]] = {}  # parameters that are given masks
        self._keys: dict[str, _Calls] = {}  # literal keys under which there is nothing else

    def found(self) -> Iterator[Use]:
        scopes = self._scopes_calling(BOOLEAN_UFUNCS, self._is_ufunc)
        if defaults := {match[1] for match in _DEFAULTS.finditer(self._source.text)}:
            scopes |= self._scopes_calling(defaults, lambda call: path_of(call.func) in defaults)
        try:
            scopes |= self._note_keys([*scopes.values()])
            for each in scopes.values():
                self._note_helper(each)
            if self._helpers:
                names = {name.rpartition(".")[2].partition("[")[0] for _, name in self._helpers}
                scopes |= self._scopes_calling(names, lambda call: last_name(call.func) in names)
            for each in [each for each in scopes.values() if class_around(each) is not None]:
                scopes |= self._note_attributes(each)
            scopes |= self._note_parameters([*scopes.values()])
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
        rows = self._rows_calling(names)
        return {id(site.scopes[-1]): site.scopes for site in find_calls(self._source, rows, is_wanted)}

    def _rows_calling(self, names: Iterable[str]) -> list[int]:
        pattern = re.compile(rf"\b(?:{'|'.join(names)})\(")
        return sorted({self._source.position_at(each.start()).row for each in pattern.finditer(self._source.text)})

    def _note_keys(self, scopes: list[tuple[Scope, ...]]) -> dict[int, tuple[Scope, ...]]:
        """The literal keys under which the file puts masks alone; the scopes that use them."""
        made: dict[str, list[_Calls]] = {}
        for each in scopes:
            self._enter(each)
            for key, value in keyed_in(each[-1]):
                made.setdefault(key, []).append(self._made_of(value))
        keys = {key for key, found in made.items() if all(found)}
        if not keys:
            return {}
        written = Counter(key for node in walk(self._source.tree) for key, _ in pairs_of_keys(node))
        self._keys = {key: _joined(made[key]) for key in keys if written[key] == len(made[key])}
        rows = [row for row, line in enumerate(self._source.text.splitlines(), 1) if any(key in line for key in keys)]
        sites = find_operations(self._source, rows, (ast.Subscript,), self._is_keyed)
        return {id(site.scopes[-1]): site.scopes for site in sites}

    def _is_keyed(self, node: ast.Subscript) -> bool:
        return isinstance(node.slice, ast.Constant) and node.slice.value in self._keys

    def _note_helper(self, scopes: tuple[Scope, ...]) -> None:
        """Whether a function returns masks alone: `def invalid(x): return np.isnan(x)`."""
        function = scopes[-1]
        if not isinstance(function, FUNCTIONS) or isinstance(scopes[-2], FUNCTIONS):
            return
        self._enter(scopes)
        statements = [each for each in statements_of(function.body) if isinstance(each, ast.Return)]
        owner = class_around(scopes)
        name = function.name if owner is None else f"self.{function.name}"
        returned = [each.value for each in statements if each.value is not None]
        if not returned or len(returned) != len(statements):
            return
        self._note_returned(id(owner), name, returned, function)
        pairs = [each.elts for each in returned if isinstance(each, ast.Tuple)]
        if len(pairs) == len(returned) and len({*map(len, pairs)}) == 1:
            for at, parts in enumerate(zip(*pairs, strict=True)):
                self._note_returned(id(owner), f"{name}[{at}]", parts, function)

    def _note_returned(
        self, owner: int, name: str, returned: Iterable[ast.expr], function: ast.FunctionDef | ast.AsyncFunctionDef
    ) -> None:
        made = [*map(self._made_of, returned)]
        if all(made):
            self._helpers[owner, name] = _joined(made), function

    def _note_attributes(self, scopes: tuple[Scope, ...]) -> dict[int, tuple[Scope, ...]]:
        """The attributes of self that methods give masks alone; the methods of such a class."""
        owner = class_around(scopes)
        if owner is None or id(owner) in self._kept:
            return {}
        methods = {id(each): (*scopes[:-1], each) for each in owner.body if isinstance(each, FUNCTIONS)}
        kept: dict[str, list[_Calls]] = {}
        for method in methods.values():
            self._enter(method)
            for name, values in self._bound_in(method[-1]).items():
                if name.startswith("self."):
                    kept.setdefault(name, []).extend(self._made_of(value) for value in values)
        for each in owner.body:
            if isinstance(each, FUNCTIONS) and "property" in decorator_names(each):
                returned = self._helpers.get((id(owner), f"self.{each.name}"))
                kept[f"self.{each.name}"] = [returned[0] if returned else ()]
        self._kept[id(owner)] = {name: _joined(made) for name, made in kept.items() if all(made)}
        return methods if self._kept[id(owner)] else {}

    def _note_parameters(self, scopes: list[tuple[Scope, ...]]) -> dict[int, tuple[Scope, ...]]:
        """The parameters that all calls of a function of the module give masks alone; the functions."""
        top = self._source.tree.body
        functions = {each.name: each for each in top if isinstance(each, FUNCTIONS)}
        given: dict[str, list[dict[str, _Calls]]] = {}
        for each in scopes:
            self._enter(each)
            statements = (each for each in statements_of(each[-1].body) if not isinstance(each, SCOPES))
            parts = (node for statement in statements for part in own_expressions(statement) for node in walk(part))
            for call in (each for each in parts if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)):
                if (function := functions.get(call.func.id)) is not None:  # type: ignore[attr-defined]
                    made = ((name, self._made_of(node)) for name, node in _given_by(call, function))
                    given.setdefault(function.name, []).append({name: calls for name, calls in made if calls})
        for name, calls in given.items():
            always = set(calls[0]).intersection(*calls[1:])
            if always and len(re.findall(rf"\b{name}\b", self._source.text)) == len(calls) + 1:
                self._given[functions[name]] = {each: _joined(call[each] for call in calls) for each in always}
        return {id(each): (self._source.tree, each) for each in self._given}

    @cached_property
    def names(self) -> dict[str, str]:
        """The full names of what the module imports, by its own."""
        imports = imports_among(statements_of(self._source.tree.body))
        return {name: each.full_name for name, each in imports if not each.level}

    def full_name(self, call: ast.Call) -> str:
        """Of what is called."""
        return self._full_name_of(call.func)

    def _full_name_of(self, node: ast.expr) -> str:
        root, dot, rest = (path_of(node) or "").partition(".")
        return self.names.get(root, "") + dot + rest

    def _is_ufunc(self, call: ast.Call) -> bool:
        return self.full_name(call) in UFUNCS or self._is_default_ufunc(call.func)

    def _is_default_ufunc(self, node: ast.expr) -> bool:
        """What is called is a parameter of the function at hand that is a ufunc by default: `test=np.isnan`."""
        function = self._scope[-1] if self._scope else None
        if not isinstance(node, ast.Name) or not isinstance(function, FUNCTIONS):
            return False
        default = dict(defaults_of(function.args)).get(node.id)
        return default is not None and self._full_name_of(default) in UFUNCS

    def is_given_to_torch(self, node: ast.expr, scopes: tuple[Scope, ...]) -> bool:
        """Whether it is what `torch.from_numpy` is given where it comes from: an array."""
        place = path_of(node) or ""
        if isinstance(node, ast.Name):
            return _is_converted(place, scopes[-1]) and place not in self._bound_in(scopes[-1])
        owner, found = class_around(scopes), []
        for method in owner.body if owner is not None and place.startswith("self.") else ():
            if isinstance(method, FUNCTIONS):
                bound = self._bound_in(method)
                found += [(each, method, bound) for each in bound.get(place, ())]
        return bool(found) and all(
            isinstance(each, ast.Name) and each.id not in bound and _is_converted(each.id, method)
            for each, method, bound in found
        )

    def _enter(self, scopes: tuple[Scope, ...]) -> None:
        """Make it the scope at hand: the places that are given masks alone in it, and the attributes in its class."""
        self._scope, self._masks = scopes, dict(self._kept.get(id(class_around(scopes)), {}))
        self._masks |= self._given.get(scopes[-1], {})
        bound = self._bound_in(scopes[-1])
        for name, values in [*bound.items(), *bound.items()]:  # twice, as a name may be bound to a later one
            made = [self._made_of(value) for value in values]
            if all(made):
                self._masks[name] = _joined(made)
            elif not name.startswith("self."):
                self._masks.pop(name, None)

    def _bound_in(self, scope: Scope) -> dict[str, list[ast.expr]]:
        """What the scope binds, which is asked for in each step of the search."""
        if scope not in self._bound:
            self._bound[scope] = bound_in(scope)
        return self._bound[scope]

    def _in_scope(self, scopes: tuple[Scope, ...]) -> Iterator[Use]:
        statements = [each for each in statements_of(scopes[-1].body) if not isinstance(each, SCOPES)]
        self._enter(scopes)
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
                calls = _joined(map(self._made_of, indices_of(node.slice)))
                if calls:
                    yield Use(node, calls, scopes, statement, None, is_alone=False)
            if isinstance(node, ast.Call) and last_name(node.func) in _FILLING:
                calls = _joined(map(self._made_of, [*node.args[:2], *(each.value for each in node.keywords)]))
                if calls:
                    yield Use(node, calls, scopes, statement, None, is_alone=True)
            stack.extend((child, node) for child in children_of(node) if not isinstance(child, SCOPES))

    def _made_of(self, node: ast.expr) -> _Calls:
        """The ufuncs whose result the value is, if it is one."""
        if (place := place_of(node)) in self._masks:
            return self._masks[place or ""]
        if isinstance(node, ast.BinOp) and isinstance(node.op, _JOINING):
            return self._made_of(node.left) + self._made_of(node.right)
        if isinstance(node, ast.Call):
            if self._is_ufunc(node):
                inner = tuple(call for each in node.args for call in self._made_of(each))
                return inner or (Ufunc(node),)
            function = node.func
            if helper := self._returned_by(node):
                return helper
            if isinstance(function, ast.Attribute) and function.attr in _KEEPING:
                return self._made_of(function.value)
        if isinstance(node, ast.Subscript):
            at = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(at, str):
                return self._keys.get(at, ())
            part = f"[{at}]" if isinstance(at, int) else ""
            return self._returned_by(node.value, part) or self._made_of(node.value)
        if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
            return self._made_of(node.elt)
        if isinstance(node, (ast.List, ast.Tuple)):
            made = [*map(self._made_of, node.elts)]
            return _joined(made) if all(made) else ()
        return ()

    def _returned_by(self, node: ast.expr, part: str = "") -> _Calls:
        """What a function of the file returns, or a part of that."""
        if not isinstance(node, ast.Call):
            return ()
        name = (path_of(node.func) or "") + part
        found = self._helpers.get((id(class_around(self._scope)), name)) or self._helpers.get((id(None), name))
        return () if found is None else tuple(self._of_given(each, node, found[1]) for each in found[0])

    def _of_given(
        self, ufunc: Ufunc, call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
    ) -> Ufunc:
        """With a call of the function that it stands in, if it is of what that is given."""
        parts = ufunc.call.args if ufunc.outer is None else ufunc.given
        bound = {} if isinstance(function, ast.Lambda) else self._bound_in(function)
        names = {each.id for each in parts if isinstance(each, ast.Name) and each.id not in bound}
        given = tuple(node for name, node in _given_by(call, function) if name in names)
        return Ufunc(ufunc.call, call, given) if given else ufunc

    def of_callers(self, use: Use, ufunc: Ufunc) -> list[Ufunc]:
        """With each call, by its name, of the function or named lambda that the use stands in."""
        function: Scope | ast.Lambda = use.scopes[-1]
        name = getattr(function, "name", "")
        if isinstance(use.statement, ast.Assign) and isinstance(use.statement.value, ast.Lambda):
            function, name = use.statement.value, path_of(use.statement.targets[0]) or ""
        if ufunc.outer is not None or not isinstance(function, (*FUNCTIONS, ast.Lambda)):
            return []
        rows = self._rows_calling([name]) if name.isidentifier() else []
        sites = find_calls(self._source, rows, lambda call: last_name(call.func) == name)
        found = [self._of_given(ufunc, site.call, function) for site in islice(sites, _MOST_CALLERS)]
        return [each for each in found if each.outer is not None]


def _joined(made: Iterable[_Calls]) -> _Calls:
    return tuple(call for each in made for call in each)


def _given_by(
    call: ast.Call, function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
) -> Iterator[tuple[str, ast.expr]]:
    """The names of the parameters with what a call gives for them; nothing where a `*` hides that."""
    if any(isinstance(each, ast.Starred) for each in call.args):
        return
    names = [each.arg for each in (*function.args.posonlyargs, *function.args.args)]
    is_static = any(last_name(each) == "staticmethod" for each in getattr(function, "decorator_list", ()))
    if names[:1] in (["self"], ["cls"]) and isinstance(call.func, ast.Attribute) and not is_static:
        del names[0]
    yield from given_to(names, call, arguments_of(call)).items()


def _is_converted(name: str, function: Scope) -> bool:
    """`torch.from_numpy(name)`"""
    calls = (each for each in walk(function) if isinstance(each, ast.Call) and last_name(each.func) == "from_numpy")
    return any(isinstance(part, ast.Name) and part.id == name for each in calls for part in each.args)
