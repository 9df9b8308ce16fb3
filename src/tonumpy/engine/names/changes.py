"""Escapes and mutations by syntax: from a function or statement to the names whose objects it changes or keeps."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.torch_words import FILLING, IN_PLACE, MOVES
from tonumpy.text.syntax import FUNCTIONS, children_of, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import TypeGuard

    from tonumpy.engine.names.syntax_lowering import Lowered
from tonumpy.engine.names.bindings import FunctionNode, bound_names, names_given, names_in, root_name
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.text.names import path_of


def mutated_names(function: FunctionNode) -> frozenset[str]:
    """The variables of a function into which it puts something, or on which it calls a method for its effect."""
    found: set[str | None] = {*written_names(function)}
    for statement in statements_of(function.body):
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            found.update(names_given(statement.value))
            if isinstance(statement.value.func, ast.Attribute):
                found.add(root_name(statement.value.func.value))
    return frozenset(filter(None, found))


def written_names(function: FunctionNode) -> frozenset[str]:
    """The variables of a function to which it writes in place, or to whose parts it does."""
    in_place = (node.func.value for node in walk(function) if isinstance(node, ast.Call) and is_in_place(node.func))
    changed = {root_name(tensor) for tensor in in_place}
    stores = [store for statement in statements_of(function.body) for store in stores_of(statement)]
    changed.update(each.root for each in stores if each.how == "augmented" or not isinstance(each.target, ast.Name))
    for each in reversed(stores):  # inner loops first
        if each.how == "item" and each.value is not None and each.root in changed:
            changed.update(names_in(each.value))
    return frozenset(filter(None, changed))


def kept_names(function: FunctionNode) -> frozenset[str]:
    """The variables of a function into which something may be put after it has returned: by a function within it, or
    through an attribute that holds what they hold."""
    found: set[str | None] = set()
    for node in walk(function):
        if node is not function and isinstance(node, FUNCTIONS):
            found |= mutated_names(node)
        elif isinstance(node, ast.Lambda):
            methods = [each.func for each in walk(node.body) if isinstance(each, ast.Call)]
            found |= {
                root_name(each.value) for each in methods if isinstance(each, ast.Attribute) and each.attr in FILLING
            }
        elif isinstance(node, ast.Assign) and any(isinstance(target, ast.Attribute) for target in node.targets):
            found |= names_in(node.value)
    return frozenset(name for name in found if name is not None)


def makes_function(function: FunctionNode | ast.Lambda) -> bool:
    """Whether there is a function or lambda within it, which it may give."""
    return any(isinstance(each, (*FUNCTIONS, ast.Lambda)) for each in walk(function) if each is not function)


def is_in_place(function: ast.expr) -> TypeGuard[ast.Attribute]:
    """`x.requires_grad_`, a method of tensors that changes its tensor."""
    return isinstance(function, ast.Attribute) and function.attr.endswith("_") and not function.attr.endswith("__")


def names_changed(statement: Lowered) -> Iterator[str]:
    """What methods are called on that change it, wherever that is (`a.append(x) if flag else b.append(x)`), and what it
    was taken out of: `[net.cuda() for net in nets]`."""
    for _, name in _changes_in(statement):
        yield name


def _changes_in(statement: Lowered) -> Iterator[tuple[ast.Call, str]]:
    passed: set[int] = set()  # those further inside a chain that has been gone through
    for call in statement.calls:
        name = _root_of_changed(call.func, passed) if id(call) not in passed and _changes(call.func) else None
        if name is not None:
            yield call, name
            for generator in statement.generators:
                source = root_name(generator.iter) if name in set(bound_names(generator.target)) else None
                if source is not None:
                    yield call, source


def changes_apart(value: ast.expr, statement: Lowered) -> dict[ast.expr, set[str]]:
    """The same of a statement that makes names of a value, by the part of the value that does it: what is changed is so
    whatever is done with the rest. Where that depends on the rest, in a conditional or a comprehension, it is the whole
    value."""
    found: dict[ast.expr, set[str]] = {}
    apart: set[int] | None = None
    for call, name in _changes_in(statement):
        if apart is None:
            apart = _calls_apart(value)
        found.setdefault(call if id(call) in apart else value, set()).add(name)
    return found


def _calls_apart(value: ast.expr) -> set[int]:
    """The calls in an expression that are certainly made in it, with the names that it finds."""
    found: set[int] = set()
    stack: list[ast.AST] = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            found.add(id(node))
        if not isinstance(node, _DECIDING):
            stack += children_of(node)
    return found


_DECIDING = (
    ast.IfExp,
    ast.BoolOp,
    ast.Lambda,
    ast.ListComp,
    ast.SetComp,
    ast.DictComp,
    ast.GeneratorExp,
    ast.NamedExpr,
)


def _root_of_changed(method: ast.Attribute, passed: set[int]) -> str | None:
    """`a` of `a.append`, `a.b[0].append` and `a.eval().cuda`, and not of `a.b().cuda`, which is called on something
    else; what is done in place to a tensor (`a.view(-1).zero_`) may be done to what it views."""
    node = method.value
    while isinstance(node, (ast.Call, ast.Attribute, ast.Subscript)) and path_of(node) is None:
        if isinstance(node, ast.Call):
            passed.add(id(node))
            gives_itself = isinstance(node.func, ast.Attribute) and node.func.attr in _GIVING_THEMSELVES
            if not gives_itself and not is_in_place(method):
                return None
            node = node.func
        else:
            node = node.value
    return root_name(node)


_GIVING_THEMSELVES = frozenset(("eval", "train", "get", "setdefault", *MOVES))


def changes_something(node: ast.expr) -> bool:
    return any(isinstance(each, ast.Call) and _changes(each.func) for each in walk(node))


def _changes(method: ast.expr) -> TypeGuard[ast.Attribute]:
    return is_in_place(method) or (isinstance(method, ast.Attribute) and method.attr in IN_PLACE)


def lambdas_among(nodes: list[ast.AST]) -> dict[int, tuple[set[str], set[str]]]:
    """The names that each lambda reads, and those that it puts something into or changes in place, by its id; the nodes
    have the outer before the inner, each of which is gone through once."""
    names: dict[int, set[str]] = {}
    touched: dict[int, set[str]] = {}
    for node in reversed(nodes):
        if isinstance(node, ast.Lambda):
            touched[id(node)] = touched_in(node.body, touched)
            names[id(node)] = names_in(node, names)
    return {each: (read, touched[each]) for each, read in names.items()}


class NamesInLambdas:
    """The names that each lambda of a module reads; those of one that stands in another come with that one's."""

    def __init__(self, _tree: ast.Module) -> None:
        self._known: dict[int, set[str]] = {}

    def of(self, node: ast.Lambda) -> set[str]:
        if id(node) not in self._known:
            self._known.update((each, names) for each, (names, _) in lambdas_among(list(walk(node))).items())
        return self._known[id(node)]


def touched_in(root: ast.expr, known: Mapping[int, set[str]]) -> set[str]:
    """What methods are called on that change it; `known` are those in lambdas further inside."""
    found: set[str | None] = set()
    stack: list[ast.AST] = [root]
    while stack:
        node = stack.pop()
        if id(node) in known:
            found |= known[id(node)]
            continue
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            method = node.func
            if is_in_place(method) or method.attr in IN_PLACE:
                found |= {root_name(method), path_of(method.value)}
        stack += children_of(node)
    return {name for name in found if name is not None}


def hand_up(changes: dict[str, frozenset[str]], read: dict[str, set[str]]) -> None:
    """A function that calls another changes what that one does."""
    callers: dict[str, list[str]] = {}
    for name, names in read.items():
        for called in names & changes.keys():
            callers.setdefault(called, []).append(name)
    waiting = [name for name, changed in changes.items() if changed]
    while waiting:
        name = waiting.pop()
        for caller in callers.get(name, ()):
            if not changes[name] <= changes[caller]:
                changes[caller] |= changes[name]
                waiting.append(caller)
