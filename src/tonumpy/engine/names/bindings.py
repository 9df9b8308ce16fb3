"""The names that expressions, targets, calls and imports read or bind, by syntax alone."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from tonumpy.text.syntax import FUNCTIONS, children_of, statements_of

_T = TypeVar("_T")

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef


class Import(NamedTuple):
    """One name that an import statement binds. `level` counts the dots of a relative import."""

    module: str
    level: int
    name: str | None  # None: the module itself is bound, as `import a.b as c` does
    binds_root: bool = False  # `import a.b` binds `a`

    @property
    def full_name(self) -> str:
        """The dotted name of what is bound, as an absolute import names it."""
        return self.module.partition(".")[0] if self.binds_root else ".".join(filter(None, (self.module, self.name)))


SELF = "self"
OBJECTS = (SELF, "cls")
_NONE_KNOWN: Mapping[int, set[str]] = {}


def is_name(node: ast.expr, name: str | None) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def is_super(node: ast.AST) -> bool:
    """True for `super()`."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def calls_super(method: ast.Attribute) -> bool:
    """True for `super().keep`, but not `super().__init__`: the class's summary covers constructors."""
    return is_super(method.value) and method.attr != "__init__"


def names_in(node: ast.AST, known: Mapping[int, set[str]] = _NONE_KNOWN) -> set[str]:
    """The names that an expression reads, those of the lambdas and comprehensions in it included.

    An attribute of `self` counts as one name, `self.x`: else all attributes of a class would depend on each other.
    `known` are the names in subexpressions, by their ids; these are not walked.
    """
    found: set[str] = set()
    stack = [node]
    while stack:
        inner = stack.pop()
        if known and id(inner) in known:
            found |= known[id(inner)]
        elif isinstance(inner, ast.Name):  # as most are
            found.add(inner.id)
        elif isinstance(inner, ast.Attribute) and (name := read_name(inner)) is not None:
            found.add(name)
        else:
            stack += children_of(inner)
    return found


def read_name(node: ast.AST) -> str | None:
    """`a` for a name, `self.a` for an attribute of `self`, None for any other expression."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in OBJECTS:
        return f"{node.value.id}.{node.attr}"
    return None


def root_name(node: ast.expr) -> str | None:
    """`a` for `a`, `a.b`, `a[0].c` and `a.b()`; `self.a` for `self.a.b`."""
    while True:
        if isinstance(node, ast.Name):
            return node.id
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in OBJECTS:
            return f"{node.value.id}.{node.attr}"
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred, ast.Await)):
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
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
    """`self.register_buffer("mean", x)` as the target and value of `self.mean = x`; also torchmetrics'
    `self.add_state("mean", default=x)`."""
    function, named = call.func, {each.arg: each.value for each in call.keywords}
    given = [*call.args, *(named[name] for name in _REGISTERED if name in named)]
    if not isinstance(function, ast.Attribute) or function.attr not in _REGISTERING:
        return None
    if function.attr == "add_state" and named.keys().isdisjoint(("default", "dist_reduce_fx")):
        return None
    return _set(call, function.value, *given[:2])


# torch.nn.Module's, and GPyTorch's `parameter`: https://docs.gpytorch.ai/en/stable/module.html
_REGISTERED = ("name", "tensor", "param", "parameter", "default")
_REGISTERING = ("register_buffer", "register_parameter", "add_state")


def set_by_call(call: ast.Call) -> tuple[ast.Attribute, ast.expr] | None:
    """`setattr(a, "mean", x)` or `a.__setattr__("mean", x)` as the target and value of `a.mean = x`."""
    function, given = call.func, call.args
    if isinstance(function, ast.Attribute) and function.attr == "__setattr__":
        if len(given) == 2:
            owner = ast.copy_location(ast.Name(SELF, ast.Load()), call) if calls_super(function) else function.value
            given = [owner, *given]
    elif not isinstance(function, ast.Name) or function.id != "setattr":
        return None
    return _set(call, *given) if len(given) == 3 else None


def _set(call: ast.Call, owner: ast.expr, *given: ast.expr) -> tuple[ast.Attribute, ast.expr] | None:
    if len(given) < 2 or not isinstance(given[0], ast.Constant) or not isinstance(given[0].value, str):
        return None
    return ast.copy_location(ast.Attribute(owner, given[0].value, ast.Store()), call), given[1]


def imports_among(statements: Iterable[ast.stmt]) -> Iterator[tuple[str, Import]]:
    """The names that the import statements among these bind."""
    for statement in statements:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from imports_of(statement)


def full_names(body: list[ast.stmt]) -> dict[str, str]:
    """The full names of a module's absolute imports, by their local names."""
    return {name: each.full_name for name, each in imports_among(statements_of(body)) if not each.level}


def in_full(path: str, names: Mapping[str, str]) -> str:
    """A path with its first name replaced by the full name of its import: `numpy.isnan` for `np.isnan`."""
    root, dot, rest = path.partition(".")
    return names.get(root, "") + dot + rest


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


def parameter_names(arguments: ast.arguments) -> list[str]:
    names = [parameter.arg for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]
    return names + [extra.arg for extra in (arguments.vararg, arguments.kwarg) if extra]


def given_to(names: Sequence[str], call: ast.Call, values: Sequence[_T]) -> dict[str, _T]:
    """The values that a call passes to each parameter. `values` are those of its arguments, keywords last, and may
    begin with the receiver's."""
    by_position = len(values) - len(call.keywords)
    found = dict(zip(names, values[:by_position], strict=False))
    found.update({str(each.arg): value for each, value in zip(call.keywords, values[by_position:], strict=True)})
    return found


def defaults_of(arguments: ast.arguments) -> list[tuple[str, ast.expr]]:
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    found = [(parameter.arg, default) for parameter, default in zip(with_default, arguments.defaults, strict=True)]
    found += [
        (parameter.arg, default)
        for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default is not None
    ]
    return found


def parameters_of(scope: ast.AST) -> frozenset[str]:
    """The names of a function's parameters; none of another scope."""
    return frozenset(parameter_names(scope.args)) if isinstance(scope, FUNCTIONS) else frozenset()


def words_of_chain(node: ast.expr) -> Iterator[str]:
    """The names and literal keys in a chain, outermost first: `target` and `batch` in `batch["target"].cpu()`."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield str(node.slice.value)
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def decorator_names(node: FunctionNode | ast.Lambda | ast.ClassDef) -> set[str]:
    """The last part of each decorator's name; none of a lambda."""
    names = set()
    for decorator in () if isinstance(node, ast.Lambda) else node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.add(function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", ""))
    return names


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """The arguments of a call, first the positional ones, then the keywords."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False
