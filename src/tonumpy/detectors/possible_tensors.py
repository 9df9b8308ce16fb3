"""Whether an expression may hold a tensor at risk: inference runs only if it may.
The search goes backwards through the variables, attributes, calls and returns of the module by name, regardless of
order, branches and objects, so that it over-approximates.
"""

from __future__ import annotations

import ast
import re
from functools import cached_property

from tonumpy.detectors.nodes import Nodes
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.libraries.rows import gives_plain_values
from tonumpy.engine.knowledge.methods import GIVE_NO_TENSOR_BY_SPELLING, OF_CONTAINERS
from tonumpy.engine.names.bindings import (
    OBJECTS,
    arguments_of,
    defaults_of,
    imports_of,
    is_false,
    parameter_names,
    root_name,
)
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import ACCELERATORS, is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.prefilter import LACKED_BY_NUMPY
from tonumpy.text.source import Source
from tonumpy.text.syntax import FUNCTIONS, SCOPES, children_of, statements_of, walk

_Scopes = tuple[ast.AST, ...]
_Step = tuple[ast.expr, _Scopes]  # an expression, and its enclosing scopes

_PLAIN_ATTRIBUTES = frozenset("shape dtype ndim size device name requires_grad".split())
_PLAIN_CALLS = frozenset(
    "len range int float str bool round repr print isinstance type id ord input open hasattr format set_seed".split()
)
_NO_TENSORS = frozenset("manual_seed Generator device no_grad is_tensor is_available device_count".split())
_PASSING = frozenset(
    "list tuple set dict sorted reversed zip enumerate max min sum abs iter next map filter asdict vars".split()
)
_OF_MODULES = frozenset("state_dict buffers named_buffers modules children eval train sample rsample log_prob".split())
_GIVING_GRAD = frozenset("Parameter requires_grad_ backward parameters named_parameters from_pretrained".split())
_PUTTING = re.compile(r"_?(add|append|extend|insert|update|put|push|store|setdefault|collect|register)")
_PLAIN_TYPES = frozenset("int float str bool bytes ndarray Path DataFrame Series Figure Axes Namespace".split())
_NUMBERING = frozenset("enumerate items named_parameters named_buffers named_modules named_children".split())
_MODELS = ("model", "net", "network", "loss", "criterion")
_FORMS = tuple(word.strip(".(") for word in LACKED_BY_NUMPY)


class _Scope:
    """The bindings of a module, class or function: parameters, imports, and the values of its variables."""

    def __init__(self, node: ast.AST) -> None:
        self.parameters: dict[str, ast.arg] = {}
        self.given: dict[str, list[ast.expr]] = {}
        self.attributes: list[tuple[str, ast.expr]] = []
        self.imported: dict[str, str] = {}
        self.returned: list[ast.expr] = []
        self.globals: set[str] = set()
        if isinstance(node, FUNCTIONS):
            taken = node.args
            for each in (*taken.posonlyargs, *taken.args, *taken.kwonlyargs, taken.vararg, taken.kwarg):
                if each is not None:
                    self.parameters[each.arg] = each
            for name, default in defaults_of(taken):
                self._give(name, default)
        for statement in statements_of(node.body):  # type: ignore[attr-defined]
            self._collect(statement)

    def _give(self, name: str, value: ast.expr) -> None:
        self.given.setdefault(name, []).append(value)

    def _collect(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            self.imported.update((name, each.module) for name, each in imports_of(statement) if not each.level)
        elif isinstance(statement, ast.Return):
            self.returned += () if statement.value is None else (statement.value,)
        elif isinstance(statement, ast.Global):
            self.globals.update(statement.names)
        elif isinstance(statement, ast.Expr):
            value = statement.value
            if isinstance(value, (ast.Yield, ast.YieldFrom)):
                self.returned += () if value.value is None else (value.value,)
            elif isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
                self._put(value, value.func)
        else:
            number = _number_in(statement)
            for store in stores_of(statement):
                if store.target is not number:
                    self._store(store.target, store.value)

    def _store(self, target: ast.expr, value: ast.expr) -> None:
        """Record a store into a name, or into each object on the path to an attribute or item."""
        if isinstance(target, ast.Attribute) and target.attr == "requires_grad" and not is_false(value):
            value = target
        while isinstance(target, (ast.Attribute, ast.Subscript, ast.Starred, ast.Call)):
            if isinstance(target, ast.Attribute):
                self.attributes.append((target.attr, value))
            target = target.func if isinstance(target, ast.Call) else target.value
        if isinstance(target, ast.Name) and target.id not in OBJECTS:
            self._give(target.id, value)

    def _put(self, call: ast.Call, method: ast.Attribute) -> None:
        """Record the stores of `x.append(y)`, `x.requires_grad_()` or `x.cuda()`."""
        given = arguments_of(call) if _PUTTING.match(method.attr) or method.attr.endswith("_") else []
        for each in (call, *given):
            self._store(method.value, each)

    def bind_within(self, node: ast.AST) -> None:
        """Add the bindings of comprehensions, lambdas and `:=`."""
        for each in walk(node):
            if isinstance(each, ast.comprehension):
                for inner in walk(each.target):
                    if isinstance(inner, ast.Name):
                        self._give(inner.id, each.iter)
            elif isinstance(each, ast.NamedExpr):
                self._give(each.target.id, each.value)
            elif isinstance(each, ast.Lambda):
                self.parameters.update((one.arg, one) for one in each.args.args if one.arg not in self.parameters)


class PossibleTensors:
    """The search in one source; `reaches` is the query."""

    def __init__(self, source: Source) -> None:
        self.nodes = Nodes(source)
        self._source = source
        self._scopes: dict[ast.AST, _Scope] = {}
        self._searched: set[ast.AST] = set()  # the scopes whose expressions were searched
        self._calls: dict[str, list[_Step]] = {}
        self._in_vain: dict[bool, set[object]] = {True: set(), False: set()}

    def reaches(self, node: ast.expr, scopes: _Scopes, *, at_risk: bool = True) -> bool:
        """True if an expression in the innermost of some scopes may hold a tensor; with `at_risk`, one that may require
        grad, be on a device or have a property that NumPy lacks."""
        waiting: list[_Step] = [(node, tuple(scopes))]
        seen: set[object] = set()
        while waiting:
            each, around = waiting.pop()
            key = (each.id, around[-1]) if isinstance(each, ast.Name) else each
            if key in seen or key in self._in_vain[at_risk]:
                continue
            seen.add(key)
            found = self._steps(each, around, at_risk=at_risk)
            if found is None:
                return True
            waiting += found
        self._in_vain[at_risk] |= seen
        return False

    def given_in(self, name: str, scope: ast.AST) -> list[ast.expr]:
        """The expressions that a scope itself stores in a variable."""
        return self._scope(scope).given.get(name, [])

    def _steps(self, node: ast.expr, scopes: _Scopes, *, at_risk: bool) -> list[_Step] | None:
        """The expressions that a value is made of; None if it may be such a tensor itself."""
        if isinstance(node, ast.Name):
            return self._steps_of_name(node.id, scopes, at_risk=at_risk)
        if isinstance(node, ast.Call):
            return self._steps_of_call(node, scopes, at_risk=at_risk)
        if isinstance(node, ast.Attribute):
            return self._steps_of_attribute(node, scopes, at_risk=at_risk)
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return []
        if isinstance(node, ast.DictComp):
            return [(node.value, scopes)]
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
            return [(node.elt, scopes)]
        if isinstance(node, ast.Subscript):
            return [(node.value, scopes)]
        parts = node.values if isinstance(node, ast.Dict) else children_of(node)
        return [(each, scopes) for each in parts if isinstance(each, ast.expr)]

    def _scope(self, node: ast.AST) -> _Scope:
        if node not in self._scopes:
            self._scopes[node] = _Scope(node)
        return self._scopes[node]

    def _steps_of_name(self, name: str, scopes: _Scopes, *, at_risk: bool) -> list[_Step] | None:
        for depth in range(len(scopes), 0, -1):
            node, around = scopes[depth - 1], scopes[:depth]
            if isinstance(node, ast.ClassDef) and depth < len(scopes):
                continue
            scope = self._scope_with(name, node)
            given: list[_Step] = [(each, around) for each in scope.given.get(name, ())]
            if name in scope.parameters:
                of_callers = self._given(name, around, at_risk=at_risk)
                return None if of_callers is None else given + of_callers
            if given:
                return given + (self._written_elsewhere(name) if isinstance(node, ast.Module) else [])
            if name in scope.imported:
                return []
        return self._written_elsewhere(name)

    def _scope_with(self, name: str, node: ast.AST) -> _Scope:
        """The bindings of a scope, with those in its expressions if nothing else binds the name."""
        scope = self._scope(node)
        if name not in scope.given and name not in scope.parameters and node not in self._searched:
            self._searched.add(node)
            for part in [each for each in node.body if not isinstance(each, SCOPES)]:  # type: ignore[attr-defined]
                scope.bind_within(part)
        return scope

    def _written_elsewhere(self, name: str) -> list[_Step]:
        if not self._has_globals:
            return []
        return [
            (each, around)
            for around in self._all_scopes
            for each in self._scope(around[-1]).given.get(name, ())
            if name in self._scope(around[-1]).globals
        ]

    def _given(self, name: str, scopes: _Scopes, *, at_risk: bool) -> list[_Step] | None:
        """The arguments passed to a parameter; None if its annotation names a tensor, or unknown callers may pass one.
        Unknown callers count only with `at_risk`.
        """
        open_: list[_Step] | None = None if at_risk else []
        function, around = scopes[-1], scopes[-2] if len(scopes) > 1 else None
        if not isinstance(function, FUNCTIONS) or name not in (names := parameter_names(function.args)):
            return open_  # of a lambda
        written = _written(self._scope(function).parameters[name].annotation)
        if "Tensor" in written:
            return None
        cls = around if isinstance(around, ast.ClassDef) else None
        if (cls is not None and name in OBJECTS) or written.rpartition(".")[2] in _PLAIN_TYPES:
            return []
        if cls is not None and function.name == "forward" and cls.bases:
            return open_
        called = function.name if cls is None or function.name != "__init__" else cls.name
        at = names.index(name) - (cls is not None and names[0] in OBJECTS)
        found = self._given_by_calls(called, name, at)
        return open_ if found is None or self._is_handed_on(called) else found

    def _given_by_calls(self, called: str, name: str, at: int) -> list[_Step] | None:
        """The arguments that calls pass to a parameter at a position; None if the function is passed on as a value."""
        found = self._made_by(name)  # a fixture of pytest
        for step in self._calls_of(called):
            call, where = step
            assert isinstance(call, ast.Call)
            if last_name(call.func) != called:
                return None
            found += [(each, where) for each in _given_in(call, name, at)]
        return found

    def _calls_of(self, name: str) -> list[_Step]:
        if name not in self._calls:
            rows = sorted(set(self._source.rows_with_name(name)))
            sites = find_calls(self._source, rows, lambda call: _names(call, name))
            self._calls[name] = [(site.call, site.scopes) for site in sites]
        return self._calls[name]

    def _is_handed_on(self, name: str) -> bool:
        """True if a function is stored, returned or registered, so that calls may use another name."""
        pattern = rf"(?:=|return|:)[ \t]*(?:self\.|cls\.)?{name}[ \t]*(?:$|[,\]}}\n])"
        lines = map(self._source.line, self._source.rows_with_name(name))  # else the whole text is searched
        return any(re.search(pattern, each) for each in lines) and self._source.says(pattern)

    def _steps_of_attribute(self, node: ast.Attribute, scopes: _Scopes, *, at_risk: bool) -> list[_Step] | None:
        if isinstance(node.ctx, ast.Store):
            return None  # `x.requires_grad = True`, recorded as a store in `x`
        is_plain = node.attr in _PLAIN_ATTRIBUTES and not (at_risk and self._speaks_of_forms)
        if is_plain or self._is_plain(node, scopes):
            return []
        if node.attr in ("weight", "bias") or (at_risk and any(word in node.attr for word in _FORMS)):
            return None
        is_own = isinstance(node.value, ast.Name) and node.value.id in OBJECTS
        if is_own and "LightningModule" in self._source.text:
            return None
        found = [*self._attributes.get(node.attr, ()), *self._made_by(node.attr)]
        return found if is_own else [*found, (node.value, scopes)]

    @cached_property
    def _speaks_of_forms(self) -> bool:
        """True if something may have a dtype or layout that NumPy lacks: `self.dtype = torch.bfloat16`."""
        return any(word in self._source.text for word in _FORMS)

    @cached_property
    def _all_scopes(self) -> list[_Scopes]:
        found: list[_Scopes] = []
        waiting: list[_Scopes] = [(self._source.tree,)]
        while waiting:
            around = waiting.pop()
            found.append(around)
            inner = statements_of(around[-1].body)  # type: ignore[attr-defined]
            waiting += [(*around, each) for each in inner if isinstance(each, SCOPES)]
        return found

    @cached_property
    def _attributes(self) -> dict[str, list[_Step]]:
        """The values stored in attributes of any object, and in declared fields of classes, by attribute name."""
        found: dict[str, list[_Step]] = {}
        for around in self._all_scopes:
            scope = self._scope(around[-1])
            for name, value in scope.attributes:
                found.setdefault(name, []).append((value, around))
            if isinstance(around[-1], ast.ClassDef):
                for name, values in scope.given.items():
                    found.setdefault(name, []).extend((each, around) for each in values)
                for each in around[-1].body:
                    if isinstance(each, ast.AnnAssign) and isinstance(each.target, ast.Name):
                        calls = self._calls_of(around[-1].name)
                        given = [(one, where) for call, where in calls for one in arguments_of(call)]  # type: ignore[arg-type]
                        found.setdefault(each.target.id, []).extend(given)
        return found

    @cached_property
    def _words_defined(self) -> frozenset[str]:
        """The names behind `def`, from the text: most names are not among them, which saves searching all scopes."""
        return frozenset(re.findall(r"def (\w+)", self._source.text))

    @cached_property
    def _has_globals(self) -> bool:
        return "global " in self._source.text

    @cached_property
    def _functions(self) -> dict[str, list[_Scopes]]:
        found: dict[str, list[_Scopes]] = {}
        for around in self._all_scopes:
            if isinstance(around[-1], SCOPES):
                found.setdefault(around[-1].name, []).append(around)
        return found

    def _made_by(self, name: str) -> list[_Step]:
        """The expressions that functions of this name return."""
        functions = self._functions.get(name, ()) if name in self._words_defined else ()
        return [(each, around) for around in functions for each in self._scope(around[-1]).returned]

    def _is_plain(self, node: ast.expr, scopes: _Scopes) -> bool:
        """True if an expression belongs to a library that returns no tensors."""
        module = self._imported(root_name(node) or "", scopes)
        return module is not None and gives_plain_values(module)

    def _imported(self, root: str, scopes: _Scopes) -> str | None:
        found = (self._scope(each).imported.get(root) for each in reversed(scopes))
        return next((each for each in found if each is not None), "torch" if root in ("F", "nn", "torch") else None)

    def _steps_of_call(self, call: ast.Call, scopes: _Scopes, *, at_risk: bool) -> list[_Step] | None:
        name = last_name(call.func) or ""
        receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
        if _gives_no_tensor(call, name, receiver) or self._is_plain(call.func, scopes):
            return []
        if _is_risky(name):
            return None
        if receiver is not None and (name == "to" or name in ACCELERATORS):
            return [(receiver, scopes)] if at_risk and _stays(call, name) else None
        given = [(each, scopes) for each in arguments_of(call)]
        if self._is_of_torch(call, scopes):
            is_open = not at_risk or name[:1].isupper() or _is_chosen(call)
            return [] if name in _NO_TENSORS else None if is_open else given
        return self._steps_of_own(name, receiver, given, scopes, at_risk=at_risk)

    def _steps_of_own(
        self, name: str, receiver: ast.expr | None, given: list[_Step], scopes: _Scopes, *, at_risk: bool
    ) -> list[_Step] | None:
        """The expressions that the result of a call by name may come from, if no library's name decides."""
        if receiver is None and name in _PASSING:
            return given
        classes = self._classes(name)
        if name[:1].isupper() or not name or classes:  # a class: a module of torch by its bases, or unknown
            is_open = at_risk and (not classes or any(each.bases for each in classes))
            return None if is_open else given
        if receiver is not None and _is_method_of_tensors(name):
            return [*self._made_by(name), (receiver, scopes)] if at_risk or not _makes_tensors(name) else None
        return self._steps_of_function(name, scopes, is_method=receiver is not None, at_risk=at_risk)

    def _is_of_torch(self, call: ast.Call, scopes: _Scopes) -> bool:
        root = (path_of(call.func) or "").partition(".")[0]
        return (self._imported(root, scopes) or "").partition(".")[0] == "torch"

    def _classes(self, name: str) -> list[ast.ClassDef]:
        return [each[-1] for each in self._functions.get(name, ()) if isinstance(each[-1], ast.ClassDef)]

    def _steps_of_function(self, name: str, scopes: _Scopes, *, is_method: bool, at_risk: bool) -> list[_Step] | None:
        """The expressions that the result of a function or method of this name may come from."""
        if any(name in self._scope(each).parameters for each in scopes):
            return None  # a caller passes a function or a module
        if is_method:
            stored: list[_Step] | None = self._attributes.get(name, [])
        else:
            stored = self._steps_of_name(name, scopes, at_risk=at_risk)
        if stored is None or (is_method and any(isinstance(each, ast.Name) for each, _ in stored)):
            return None  # the same, stored by a constructor
        if any(isinstance(each, ast.Call) and (last_name(each.func) or "")[:1].isupper() for each, _ in stored):
            return None  # an object is called, as modules are
        return [*self._made_by(name), *stored]


def _written(annotation: ast.expr | None) -> str:
    return "" if annotation is None else ast.unparse(annotation)


def _is_risky(name: str) -> bool:
    """True if the name of a function suggests a result that requires grad, or has a property that NumPy lacks."""
    return name in _GIVING_GRAD or name.lower().endswith(_MODELS) or any(word in name for word in _FORMS)


def _is_method_of_tensors(name: str) -> bool:
    return torch_api.is_of_tensors(name) or name in OF_CONTAINERS or name in _OF_MODULES


def _makes_tensors(name: str) -> bool:
    """True if only tensors have a method of this name."""
    return torch_api.is_of_tensors(name) and name not in OF_CONTAINERS and not _PUTTING.match(name)


def _number_in(statement: ast.stmt) -> ast.expr | None:
    """The loop target that gets numbers or names: `at` in `for at, x in enumerate(xs)`."""
    match statement:
        case ast.For(ast.Tuple([first, _]), ast.Call(function)) if last_name(function) in _NUMBERING:
            return first
    return None


def _given_in(call: ast.Call, parameter: str, at: int) -> list[ast.expr]:
    """The arguments that a call passes to a parameter by name or position; all arguments if a `*` hides positions."""
    named = [each.value for each in call.keywords if each.arg in (parameter, None)]
    if any(isinstance(each, ast.Starred) for each in call.args):
        return arguments_of(call)
    return [*named, *call.args[at : at + 1]]


def _names(call: ast.Call, name: str) -> bool:
    return last_name(call.func) == name or any(last_name(each) == name for each in arguments_of(call))


def _is_chosen(call: ast.Call) -> bool:
    """True if an argument sets a device other than the CPU, or requires_grad."""
    return any(
        (each.arg == "device" and not is_cpu_literal(each.value))
        or (each.arg == "requires_grad" and not is_false(each.value))
        for each in call.keywords
    )


def _stays(call: ast.Call, name: str) -> bool:
    """True if a move is to the CPU, or to another dtype alone."""
    given = [*call.args, *(each.value for each in call.keywords if each.arg == "device")]
    names = [last_name(each) or "" for each in given]
    are_dtypes = all(is_dtype(each) or "dtype" in name for each, name in zip(given, names, strict=True))
    are_dtypes = are_dtypes and not any(word in name for word in _FORMS for name in names)
    return name == "to" and (are_dtypes or any(map(is_cpu_literal, given)))


def _gives_no_tensor(call: ast.Call, name: str, receiver: ast.expr | None) -> bool:
    """True for a builtin, or a method name, that never returns a tensor."""
    if receiver is None:
        return name in _PLAIN_CALLS
    is_text = name == "split" and call.args and not isinstance(getattr(call.args[0], "value", ""), str)
    return name in GIVE_NO_TENSOR_BY_SPELLING and not is_text
