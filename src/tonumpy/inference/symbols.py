"""Syntax in; the names that a module, class or function binds out, and which names a binding depends on."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple, TypeGuard

from tonumpy.inference.syntax import children_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)


_NONE: frozenset[str] = frozenset()


class Import(NamedTuple):
    """One name that an import statement binds. `level` counts the dots of a relative import."""

    module: str
    level: int
    name: str | None  # None: the module itself is bound, as `import a.b as c` does
    binds_root: bool = False  # `import a.b` binds `a`


class Closures(NamedTuple):
    """The inner functions that change variables of the function around them, and where they may do so."""

    changes: dict[str, frozenset[str]]  # the name of an inner function -> the variables that it changes
    at: dict[int, frozenset[str]]  # the id of a statement -> the variables that inner functions may change there
    given_away: dict[int, list[ast.expr]]  # the id of a statement -> the inner functions that somebody else may call


class Flow(NamedTuple):
    """How the names of one function (or module) body depend on each other, whatever the order of its statements.

    `sources` gives for each name the names that its values are made of; a name stands for its attributes too.
    """

    local_names: frozenset[str]
    outer_names: frozenset[str]  # declared global or nonlocal
    sources: dict[str, set[str]]
    times_bound: dict[str, int]  # how many statements bind a name, parameters counted, `flag = False` not
    shared_names: frozenset[str] = frozenset()  # declared nonlocal further in: these may change at any call
    switched: frozenset[tuple[str, bool]] = frozenset()  # `flag = False`
    setting_mode: frozenset[str] = frozenset()  # what contexts that may set grad mode are made of: always of interest
    closures: Closures | None = None  # None where no inner function changes a variable of this one

    def slice(self, names: Iterable[str]) -> set[str]:
        """All names that the values of `names` may depend on, themselves included."""
        return reachable({*names, *self.setting_mode}, self.sources)


def reachable(names: Iterable[str], following: dict[str, set[str]]) -> set[str]:
    """The names, those that follow them, those that follow these, and so on."""
    reached = set(names)
    waiting = list(reached)
    while waiting:
        new = following.get(waiting.pop(), _NONE) - reached
        reached |= new
        waiting += new
    return reached


def statements_of(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a scope, those of its branches and loops included, those of nested scopes not."""
    stack = list(reversed(body))
    while stack:
        statement = stack.pop()
        yield statement
        if isinstance(statement, _SCOPES):
            continue
        for block in reversed(list(blocks_of(statement))):
            stack.extend(reversed(block))


def blocks_of(statement: ast.stmt) -> Iterator[list[ast.stmt]]:
    for field in ("body", "orelse", "finalbody"):
        block = getattr(statement, field, None)
        if block:
            yield block
    for handler in getattr(statement, "handlers", ()):
        yield handler.body
    for case in getattr(statement, "cases", ()):
        yield case.body


_OBJECTS = ("self", "cls")


def names_in(node: ast.AST) -> set[str]:
    """The names that an expression reads, those of the lambdas and comprehensions in it included.

    An attribute of `self` counts as a name of its own, `self.x`: else everything in a class would hang together.
    """
    found: set[str] = set()
    stack = [node]
    while stack:
        inner = stack.pop()
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute) and isinstance(inner.value, ast.Name) and inner.value.id in _OBJECTS:
            found.add(f"{inner.value.id}.{inner.attr}")
        else:
            stack.extend(children_of(inner))
    return found


def root_name(node: ast.expr) -> str | None:
    """`a` for `a`, `a.b`, `a[0].c` and `a.b()`; `self.a` for `self.a.b`."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in _OBJECTS:
            return f"{node.value.id}.{node.attr}"
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, ast.Await)):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            return None


def path_of(node: ast.expr) -> str | None:
    """`self.a.b` for an attribute path on a name, else None."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    return ".".join((node.id, *reversed(parts)))


def element_path(container: str, index: ast.expr) -> str | None:
    """`batch[key]`, the place that a loop over the keys of a container goes through, else None."""
    return f"{container}[{index.id}]" if isinstance(index, ast.Name) else None


def key_path(container: str, index: ast.expr) -> str | None:
    """`batch.['image']`, the place under a literal key, of which tests may show something; None for other indices."""
    if isinstance(index, ast.Constant) and isinstance(index.value, str) and "." not in index.value:
        return f"{container}.[{index.value!r}]"
    return None


def rewritten_element(loop: ast.For | ast.AsyncFor) -> tuple[str, str] | None:
    """The container and the element's path for `for key in batch: batch[key] = ...`; None for any other loop."""
    source: ast.expr = loop.iter
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and len(source.args) == 1:
        source = source.args[0]  # list(batch), sorted(batch.items())
    target: ast.expr = loop.target
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Attribute) and not source.args:
        if source.func.attr == "items" and isinstance(target, ast.Tuple):
            target = target.elts[0]
        elif source.func.attr != "keys":
            return None
        source = source.func.value
    container = path_of(source)
    element = None if container is None else element_path(container, target)
    if container is None or element is None:
        return None
    for statement in statements_of(loop.body):
        if isinstance(statement, (ast.Break, ast.Continue)):
            return None
        if isinstance(statement, ast.Assign):
            for to in statement.targets:
                if not isinstance(to, ast.Subscript) or path_of(to.value) != container:
                    continue
                if element_path(container, to.slice) == element:
                    return container, element
    return None


def bound_names(target: ast.expr) -> Iterator[str]:
    """The names that assigning to a target binds or changes: `a` for `a`, `a.x = ...` and `a[0] = ...` alike."""
    if isinstance(target, (ast.Tuple, ast.List)):
        for item in target.elts:
            yield from bound_names(item)
    else:
        name = root_name(target)
        if name is not None:
            yield name


def registered(call: ast.Call) -> tuple[ast.Attribute, ast.expr] | None:
    """What `self.register_buffer("mean", x)` does, as the target and the value of `self.mean = x`."""
    function, given = (
        call.func,
        [*call.args, *(each.value for each in call.keywords if each.arg in ("tensor", "param"))],
    )
    if not isinstance(function, ast.Attribute) or function.attr not in ("register_buffer", "register_parameter"):
        return None
    if len(given) < 2 or not isinstance(given[0], ast.Constant) or not isinstance(given[0].value, str):
        return None
    return ast.copy_location(ast.Attribute(function.value, given[0].value, ast.Store()), call), given[1]


def imports_of(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, Import]]:
    """The names that an import statement binds; `*` for a star import."""
    if isinstance(statement, ast.Import):
        for alias in statement.names:
            if alias.asname:
                yield alias.asname, Import(alias.name, 0, None)
            else:
                yield alias.name.split(".")[0], Import(alias.name, 0, None, binds_root=True)
    else:
        for alias in statement.names:
            yield alias.asname or alias.name, Import(statement.module or "", statement.level, alias.name)


def flow_of(body: list[ast.stmt], parameters: list[str], *, is_function: bool = True) -> Flow:
    """The dependencies among the names of one body. Linear in its statements."""
    local, outer = set(parameters), set()
    shared: set[str] = set()
    sources: dict[str, set[str]] = {}
    times_bound = dict.fromkeys(parameters, 1)
    switched: set[tuple[str, bool]] = set()
    aliases: dict[str, set[str]] = {}
    written: set[str] = set()
    given: dict[str, set[str]] = {}
    regraded: set[str] = set()
    setting_mode: set[str] = set()
    has_inner = False
    for statement in statements_of(body):
        if isinstance(statement, (ast.Global, ast.Nonlocal)):
            outer.update(statement.names)
            continue
        if isinstance(statement, _SCOPES):
            local.add(statement.name)
            has_inner = True
            sources.setdefault(statement.name, set()).update(names_in(statement))
            shared.update(name for node in walk(statement) if isinstance(node, ast.Nonlocal) for name in node.names)
            continue
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            local.update(name for name, _ in imports_of(statement))
            continue
        setting_mode.update(name for node in _contexts(statement) for name in names_in(node))
        for targets, value in bindings_of(statement):
            names = [name for target in targets for name in bound_names(target)]
            for inner in (inner.id for target in targets for inner in _stored_names(target)):
                local.add(inner)
                if isinstance(value, ast.Constant) and isinstance(value.value, bool):
                    switched.add((inner, value.value))
                else:
                    times_bound[inner] = times_bound.get(inner, 0) + 1
            read = names_in(value) if value is not None else set()
            for target in targets:
                read |= names_in(target)
            for name in names:
                sources.setdefault(name, set()).update(read)
                aliases.setdefault(name, set()).update(_aliased(value))
                if isinstance(value, ast.Call):
                    given.setdefault(name, set()).update(read)
            regraded.update(
                name
                for target in targets
                if isinstance(target, ast.Attribute) and target.attr == "requires_grad"
                for name in bound_names(target)
            )
            if isinstance(statement, ast.AugAssign) or any(not isinstance(target, ast.Name) for target in targets):
                written.update(names)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            # What is called for its effect alone may fill what it is given: `collect(model, outputs)`.
            for name in names_given(statement.value):
                sources.setdefault(name, set()).update(names_in(statement.value))
                written.add(name)
        roots: dict[int, str] = {}  # of the calls further inside a chain: they have the root of the whole
        for expression in own_expressions(statement):
            for node in walk(expression):
                if isinstance(node, ast.Lambda):
                    has_inner = True
                elif isinstance(node, ast.NamedExpr):
                    local.add(node.target.id)
                    sources.setdefault(node.target.id, set()).update(names_in(node.value))
                    aliases.setdefault(node.target.id, set()).update(_aliased(node.value))
                elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                    # A method may change its receiver: `items.append(x)`, `out.copy_(x)`.
                    changed = roots.pop(id(node), None) or root_name(node.func)
                    if changed is not None:
                        further_inside = _next_call(node.func)
                        if further_inside is not None:
                            roots[id(further_inside)] = changed
                        read = {name for argument in arguments_of(node) for name in names_in(argument)}
                        sources.setdefault(changed, set()).update(read)
                        if _is_in_place(node.func):
                            # `y = x.requires_grad_()` is of interest where x is.
                            sources[changed].update(_names_bound(statement))
                            regraded.add(changed)
                        if _is_in_place(node.func) or node.func.attr in _IN_PLACE:
                            written.add(changed)
    closures = _closures_in(body) if has_inner and is_function else None
    for statement in statements_of(body) if closures is not None else ():
        for name in closures.at.get(id(statement), ()) if closures is not None else ():
            sources.setdefault(name, set()).update(names_read(statement))
    for name in written:
        for other in aliases.get(name, ()):
            sources.setdefault(other, set()).add(name)  # what is written under one name shows under the other
    for name in regraded:
        for other in given.get(name, ()):
            sources.setdefault(other, set()).add(name)  # a call may have handed back what it was given
    return Flow(
        frozenset(local - outer),
        frozenset(outer),
        sources,
        times_bound,
        frozenset(shared),
        frozenset(switched),
        frozenset(setting_mode),
        closures,
    )


def _closures_in(body: list[ast.stmt]) -> Closures | None:
    changes: dict[str, frozenset[str]] = {}
    read: dict[str, set[str]] = {}
    statements = list(statements_of(body))
    function: FunctionNode | ast.Lambda
    for statement in statements:
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            name, function = statement.name, statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            if not isinstance(statement.targets[0], ast.Name):
                continue
            name, function = statement.targets[0].id, statement.value
        else:
            continue
        changes[name] = changes.get(name, _NONE) | changed_outside(function)
        read.setdefault(name, set()).update(names_in(function))
    # One that calls another changes what that one does.
    changes = {
        name: changes[name].union(*(changes[other] for other in reachable((name,), read) if other in changes))
        for name in changes
    }
    changes = {name: changed for name, changed in changes.items() if changed}
    at: dict[int, set[str]] = {}
    given_away: dict[int, list[ast.expr]] = {}
    for statement in statements:
        if isinstance(statement, _SCOPES):
            continue
        called: set[int] = set()
        for node in (node for expression in own_expressions(statement) for node in walk(expression)):
            if isinstance(node, ast.Call):
                called.add(id(node.func))
            if isinstance(node, ast.Lambda):
                changed = changed_outside(node).union(*(changes.get(name, _NONE) for name in names_in(node)))
                is_bound = isinstance(statement, ast.Assign) and node is statement.value
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                changed, is_bound = changes.get(node.id, _NONE), False
            else:
                continue
            if changed and not is_bound:
                at.setdefault(id(statement), set()).update(changed)
                if id(node) not in called:
                    given_away.setdefault(id(statement), []).append(node)
    if not at:
        return None
    return Closures(changes, {statement: frozenset(names) for statement, names in at.items()}, given_away)


def changed_outside(function: FunctionNode | ast.Lambda) -> frozenset[str]:
    """The variables of the functions around a function that it puts something into or changes in place."""
    if isinstance(function, ast.Lambda):
        called = (node.func for node in walk(function.body) if isinstance(node, ast.Call))
        methods = (method for method in called if isinstance(method, ast.Attribute))
        found = {root_name(method) for method in methods if _is_in_place(method) or method.attr in _IN_PLACE}
        return frozenset(name for name in found if name is not None) - set(parameter_names(function.args))
    return mutated_names(function) - flow_of_node(function).local_names


def _contexts(statement: ast.stmt) -> Iterator[ast.expr]:
    """Variables that hold contexts, and what decides whether one sets grad mode on or off."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        nodes = [item.context_expr for item in statement.items]
    else:
        nodes = [statement.value] if isinstance(statement, ast.Expr) else []
    for node in nodes:
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name == "enter_context":
                yield node
            elif name in ("set_grad_enabled", "inference_mode"):
                yield from arguments_of(node)
        elif isinstance(node, ast.Name) and isinstance(statement, (ast.With, ast.AsyncWith)):
            yield node


def _names_bound(statement: ast.stmt) -> Iterator[str]:
    for targets, _ in bindings_of(statement):
        for target in targets:
            yield from bound_names(target)


def flow_of_node(node: FunctionNode | ast.Lambda | ast.ClassDef | ast.Module) -> Flow:
    if isinstance(node, ast.Lambda):
        return Flow(frozenset(parameter_names(node.args)), frozenset(), {}, {})
    if isinstance(node, (ast.ClassDef, ast.Module)):
        return flow_of(node.body, [], is_function=False)
    return flow_of(node.body, parameter_names(node.args))


def parameter_names(arguments: ast.arguments) -> list[str]:
    names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return names + [extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra]


def names_returned(node: FunctionNode) -> frozenset[str]:
    """The names that a function's results are made of, those of the functions nested in it included."""
    results = [inner for inner in walk(node) if isinstance(inner, (ast.Return, ast.Yield, ast.YieldFrom))]
    return frozenset(name for result in results for name in names_in(result))


def names_given(call: ast.Call) -> list[str]:
    """The variables, and attributes of `self`, that a call, or one further inside its chain, is given as they are."""
    found: list[str | None] = []
    node: ast.expr = call
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript, ast.Await)):
        if isinstance(node, ast.Call):
            found += map(path_of, arguments_of(node))
            node = node.func
        else:
            node = node.value
    return [path for path in found if path is not None]


def mutated_names(function: FunctionNode) -> frozenset[str]:
    """The variables of a function into which it puts something, or on which it calls a method for its effect."""
    in_place = (node.func.value for node in walk(function) if isinstance(node, ast.Call) and _is_in_place(node.func))
    found = {root_name(tensor) for tensor in in_place}
    for statement in statements_of(function.body):
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            found.update(names_given(statement.value))
            if isinstance(statement.value.func, ast.Attribute):
                targets = [statement.value.func.value]
        elif isinstance(statement, ast.Assign):
            targets = [target for target in statement.targets if isinstance(target, (ast.Attribute, ast.Subscript))]
        elif isinstance(statement, ast.AugAssign):
            targets = [statement.target]
        found.update(map(root_name, targets))
    return frozenset(name for name in found if name is not None)


def _is_in_place(function: ast.expr) -> TypeGuard[ast.Attribute]:
    """`x.requires_grad_`, a method of tensors that changes its tensor."""
    return isinstance(function, ast.Attribute) and function.attr.endswith("_") and not function.attr.endswith("__")


FILLING = frozenset("append appendleft extend extendleft insert add update setdefault".split())  # of containers
# Methods that change a container, or a module, without saying so in their names.
_IN_PLACE = FILLING | {"cuda", "to", "cpu"}


def _aliased(value: ast.expr | None) -> set[str]:
    """The names whose object, or a part of it, an expression may be: `x` for `x`, `x[0]`, `x if flag else y`."""
    if isinstance(value, (ast.Name, ast.Attribute, ast.Subscript)):
        name = root_name(value)
        return set() if name is None else {name}
    if isinstance(value, ast.NamedExpr):
        return {value.target.id, *_aliased(value.value)}
    if isinstance(value, ast.IfExp):
        return _aliased(value.body) | _aliased(value.orelse)
    return {name for part in value.values for name in _aliased(part)} if isinstance(value, ast.BoolOp) else set()


def _stored_names(target: ast.expr) -> Iterator[ast.Name]:
    for node in walk(target):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node


def _next_call(node: ast.expr) -> ast.Call | None:
    """The nearest call of a method further inside a chain."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, ast.Await)):
        node = node.value
    return node if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """Those by position, and behind them those by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def bindings_of(statement: ast.stmt) -> Iterator[tuple[list[ast.expr], ast.expr | None]]:
    """The targets that a statement binds, with the expression they are bound from."""
    if isinstance(statement, ast.Assign):
        yield statement.targets, statement.value
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
        yield [statement.target], statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        member = registered(statement.value)
        if member is not None:
            yield [member[0]], member[1]
    elif isinstance(statement, (ast.For, ast.AsyncFor)):
        yield [statement.target], statement.iter
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for item in statement.items:
            if item.optional_vars is not None:
                yield [item.optional_vars], item.context_expr
    elif isinstance(statement, ast.Delete):
        yield statement.targets, None
    elif isinstance(statement, ast.Match):
        names = [
            ast.Name(name, ast.Store())
            for case in statement.cases
            for node in walk(case.pattern)
            for name in (getattr(node, "name", None), getattr(node, "rest", None))
            if name
        ]
        yield list(names), statement.subject
    elif isinstance(statement, ast.Try):
        for handler in statement.handlers:
            if handler.name:
                yield [ast.Name(handler.name, ast.Store())], handler.type


def names_read(statement: ast.stmt) -> set[str]:
    """The names in a statement without those of the statements inside it."""
    return {name for expression in own_expressions(statement) for name in names_in(expression)}


def own_expressions(statement: ast.stmt) -> Iterator[ast.expr]:
    """The expressions of a statement without those of the statements inside it."""
    for _, value in ast.iter_fields(statement):
        if isinstance(value, ast.expr):
            yield value
        elif isinstance(value, list):
            for item in value:
                if isinstance(item, ast.expr):
                    yield item
                elif isinstance(item, ast.withitem):
                    yield item.context_expr
                elif isinstance(item, ast.keyword):
                    yield item.value
        elif isinstance(value, ast.arguments):
            yield from (default for default in (*value.defaults, *value.kw_defaults) if default is not None)
