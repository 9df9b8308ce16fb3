"""From expressions, targets, calls and imports to the names that they read and bind, by syntax alone."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.torch_words import FILLING, MOVES
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import FUNCTIONS, children_of, own_expressions, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from typing import TypeVar

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
    """`super()`"""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def calls_super(method: ast.Attribute) -> bool:
    """`super().keep`; what a constructor writes, the class knows."""
    return is_super(method.value) and method.attr != "__init__"


def names_in(node: ast.AST, known: Mapping[int, set[str]] = _NONE_KNOWN) -> set[str]:
    """The names that an expression reads, those of the lambdas and comprehensions in it included.

    An attribute of `self` counts as a name of its own, `self.x`: else everything in a class would hang together.
    `known` are those of parts of it, by their ids, which are not gone into then.
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
    """What `self.register_buffer("mean", x)` does, as the target and the value of `self.mean = x`; and torchmetrics'
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
    """What `setattr(a, "mean", x)` or `a.__setattr__("mean", x)` does, as the target and the value of `a.mean = x`."""
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
    """Those of the import statements among them."""
    for statement in statements:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            yield from imports_of(statement)


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
    """What a call gives to each of the parameters; `values` stand for its arguments, those by keyword last, and may
    begin with one for the receiver."""
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


def names_given(call: ast.Call) -> list[str]:
    """The variables, and attributes of `self`, that a call, or one further inside its chain, is given as they are, or
    an item of them."""
    found: list[str | None] = []
    node: ast.expr = call
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript, ast.Await)):
        if isinstance(node, ast.Call):
            for given in arguments_of(node):
                found.append(path_of_holder(given))
                found += map(filled_by, handed_out(given))
            node = node.func
        else:
            node = node.value
    return [path for path in found if path is not None]


def filled_by(node: ast.expr) -> str | None:
    """`rows` of `rows.append`, and of `rows["a"].append`, which is not called: who has it may fill the list."""
    return path_of_holder(node.value) if isinstance(node, ast.Attribute) and node.attr in FILLING else None


def handed_out(node: ast.expr) -> Iterator[ast.Attribute]:
    """Methods such as `rows.append` that are not called, in what a call, a dict or a list is given:
    `list(map(rows.append, xs))`, `{"step": rows.append}`, `[run(x, rows.append) for x in xs]`."""
    if isinstance(node, ast.Attribute):
        if node.attr in FILLING:
            yield node
    elif isinstance(node, (ast.Call, ast.Dict)):
        for part in arguments_of(node) if isinstance(node, ast.Call) else node.values:
            yield from handed_out(part)
    elif isinstance(node, (ast.List, ast.Tuple)):
        for part in node.elts:
            yield from handed_out(part)
    elif isinstance(node, (ast.ListComp, ast.GeneratorExp, ast.SetComp)):
        yield from handed_out(node.elt)


def path_of_holder(node: ast.expr) -> str | None:
    """`self.meters` of `self.meters[key]`, what an item, or an item of one, is taken out of."""
    while isinstance(node, ast.Subscript):
        node = node.value
    return path_of(node)


def words_of_chain(node: ast.expr) -> Iterator[str]:
    """What a chain calls the thing that it begins with: `target`, `batch.target`, `batch["target"]`."""
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)):
        if isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
            yield str(node.slice.value)
        node = node.func if isinstance(node, ast.Call) else node.value
    if isinstance(node, ast.Name):
        yield node.id


def words_given(node: ast.expr) -> Iterator[str]:
    """The names of what a call is given, and its keywords; none of another expression."""
    if isinstance(node, ast.Call):
        yield from names_given(node)
        yield from (keyword.arg for keyword in node.keywords if keyword.arg is not None)


def decorator_names(node: FunctionNode | ast.Lambda | ast.ClassDef) -> set[str]:
    """The last part of each decorator's name; none of a lambda."""
    names = set()
    for decorator in () if isinstance(node, ast.Lambda) else node.decorator_list:
        function = decorator.func if isinstance(decorator, ast.Call) else decorator
        names.add(function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", ""))
    return names


def is_empty_container(node: ast.expr) -> bool:
    """`[]`, `{}`, `dict()`, `defaultdict(list)`"""
    if isinstance(node, ast.Call):
        return not node.keywords and last_name(node.func) in _CONTAINERS and all(map(_is_class, node.args))
    return (isinstance(node, ast.List) and not node.elts) or (isinstance(node, ast.Dict) and not node.values)


_CONTAINERS = frozenset("list dict OrderedDict defaultdict deque".split())


def _is_class(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in _CONTAINERS


def moved_when_made(call: ast.Call) -> list[str]:
    """What an object that is moved at once was made of: `Autoencoder(encoder, decoder).cuda()`."""
    made = call.func.value if isinstance(call.func, ast.Attribute) and call.func.attr in MOVES else None
    if not isinstance(made, ast.Call) or not (last_name(made.func) or "")[:1].isupper():
        return []
    return names_given(made)


def arguments_of(call: ast.Call) -> list[ast.expr]:
    """Those by position, and behind them those by name."""
    return [*call.args, *(keyword.value for keyword in call.keywords)]


def names_read(statement: ast.stmt, known: Mapping[int, set[str]] = _NONE_KNOWN) -> set[str]:
    """The names that a statement reads, those of the statements inside it not counted: what it assigns to is not read,
    but for `counts[i] = x`. `known` as above."""
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    bound = {id(target) for target in targets if _is_bound(target)}
    parts = (part for part in own_expressions(statement) if id(part) not in bound)
    return {name for part in parts for name in names_in(part, known)}


def _is_bound(target: ast.expr) -> bool:
    """Whether a target consists of names, and attributes of `self`, alone."""
    parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
    return all(read_name(part) is not None for part in parts)


def requires_grad_given(statement: ast.stmt) -> Iterator[ast.expr]:
    """What a statement sets a `requires_grad` to."""
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Attribute) and target.attr == "requires_grad":
                yield statement.value
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if last_name(call.func) == "requires_grad_":
            yield next(iter(arguments_of(call)), ast.Constant(True))


def is_false(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


def asks_for_class(test: ast.expr) -> bool:
    """`isinstance(x, np.ndarray)`, `torch.is_tensor(x)`."""
    if not isinstance(test, ast.Call):
        return False
    name = test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", None)
    return (name == "isinstance" and len(test.args) == 2) or (name == "is_tensor" and len(test.args) == 1)
