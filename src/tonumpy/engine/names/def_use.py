"""Def-use: from a body to the dependencies among its names, whatever the order of its statements (flow-insensitive)."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge.grad_contexts import TOLD_BY_FLAG
from tonumpy.engine.names.aliases import _next_call, aliased
from tonumpy.engine.names.bindings import (
    FunctionNode,
    arguments_of,
    bound_names,
    is_empty_container,
    moved_when_made,
    names_given,
    names_in,
    parameter_names,
    root_name,
)
from tonumpy.engine.names.changes import (
    hand_up,
    is_in_place,
    lambdas_among,
    makes_function,
    mutated_names,
    touched_in,
)
from tonumpy.engine.names.dict_uses import DictUses
from tonumpy.engine.names.syntax_lowering import Lowered, lowered
from tonumpy.engine.names.torch_words import IN_PLACE, MOVES
from tonumpy.text.names import path_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tonumpy.engine.names.syntax_lowering import Store

_SCOPES_AND_LAMBDAS = (*SCOPES, ast.Lambda)
_NONE: frozenset[str] = frozenset()

Definition = FunctionNode | ast.ClassDef


class Closures(NamedTuple):
    """The inner functions that change variables of the function around them, and where they may do so."""

    changes: dict[str, frozenset[str]]  # the name of an inner function -> the variables that it changes
    at: dict[int, frozenset[str]]  # the id of a statement -> the variables that inner functions may change there
    given_away: dict[int, list[ast.expr]]  # the id of a statement -> the inner functions that somebody else may call


class DefUse(NamedTuple):
    """The dependencies among the names of one function (or module) body.

    `sources` maps each name to the names that its values are computed from; a name stands for its attributes too.
    """

    local_names: frozenset[str]
    outer_names: frozenset[str]  # declared global or nonlocal
    sources: dict[str, set[str]]
    times_bound: dict[str, int]  # how many statements bind a name, parameters counted, `flag = False` not
    shared_names: frozenset[str] = frozenset()  # declared nonlocal further in: these may change at any call
    switched: dict[tuple[str, bool], int] = {}  # noqa: RUF012  # `flag = False`, and the last row where it is
    setting_mode: frozenset[str] = frozenset()  # what contexts that may set grad mode are made of: always of interest
    closures: Closures | None = None  # None where no inner function changes a variable of this one
    uses: dict[int, Lowered] = {}  # noqa: RUF012  # by the id of a statement; definitions have none
    is_function: bool = True  # whose variables what is defined in it sees; those of a class it does not see
    not_entered: tuple[Definition, ...] = ()  # the definitions whose names are not yet among the sources
    # By the id of a statement: what was made as an empty list or dict, and is given to somebody there who may fill it.
    filled: dict[int, frozenset[str]] = {}  # noqa: RUF012
    dict_uses: DictUses = DictUses([], is_function=True)

    def has_keys(self, name: str) -> bool:
        """True for a variable with one definition and a use that only a dict supports."""
        return self.times_bound.get(name) == 1 and name in self.dict_uses.names

    def sources_of(self, names: Iterable[str]) -> frozenset[str]:
        """The transitive closure of `sources` over `names`, themselves included."""
        reached = reachable({*names, *self.setting_mode}, self.sources)
        waiting = self.not_entered
        while entered := [each for each in waiting if each.name in reached]:
            waiting = tuple(each for each in waiting if each.name not in reached)
            reached = reachable(reached.union(*map(names_in, entered)), self.sources)
        return frozenset(reached)


def reachable(names: Iterable[str], following: dict[str, set[str]]) -> set[str]:
    """The transitive closure of `following` over `names`."""
    reached = set(names)
    waiting = list(reached)
    while waiting:
        new = following.get(waiting.pop(), _NONE) - reached
        reached |= new
        waiting += new
    return reached


def def_use(
    body: list[ast.stmt], parameters: list[str], *, is_function: bool = True, enters_definitions: bool = True
) -> DefUse:
    """The dependencies among the names of one body. Linear in its statements."""
    found = _Collected(parameters, is_function=is_function, enters_definitions=enters_definitions)
    for statement in statements_of(body):
        found.add(statement)
    closures = _closures_in(body) if found.has_inner and is_function else None
    for statement in statements_of(body) if closures is not None else ():
        for name in closures.at.get(id(statement), ()) if closures is not None else ():
            found.depends(name, found.uses[id(statement)].reads)
    filled = _filled(found.uses, found.made_empty)
    for at, containers in filled.items():
        for name in containers:
            found.depends(name, found.uses[at].reads)
    found.follow_calls()
    found.follow_aliases()
    return DefUse(
        frozenset(found.local - found.outer),
        frozenset(found.outer),
        found.sources,
        found.times_bound,
        frozenset(found.shared),
        found.switched,
        frozenset(found.setting_mode),
        closures,
        found.uses,
        is_function,
        tuple(found.not_entered),
        filled,
        DictUses(body, is_function=is_function),
    )


class _Collected:
    """What the statements of one body say of its names, statement by statement."""

    def __init__(self, parameters: list[str], *, is_function: bool, enters_definitions: bool) -> None:
        self._is_function = is_function
        self._enters_definitions = enters_definitions
        self.local, self.outer = set(parameters), set[str]()
        self.shared: set[str] = set()
        self.sources: dict[str, set[str]] = {}
        self.times_bound = dict.fromkeys(parameters, 1)
        self.switched: dict[tuple[str, bool], int] = {}
        self.setting_mode: set[str] = set()
        self.has_inner = False
        self.uses: dict[int, Lowered] = {}
        self.not_entered: list[Definition] = []
        self.made_empty: set[str] = set()
        self._aliases: dict[str, set[str]] = {}
        self._written: set[str] = set()
        self._given: dict[str, set[str]] = {}  # what a call has given for a name, or a loop goes through for it
        self._altered: set[str] = set()
        self._given_to_libraries: list[tuple[str, set[str]]] = []

    def depends(self, name: str, names: Iterable[str]) -> None:
        self.sources.setdefault(name, set()).update(names)

    def add(self, statement: ast.stmt) -> None:
        if isinstance(statement, (ast.Global, ast.Nonlocal)):
            self.outer.update(statement.names)
            return
        if isinstance(statement, _SCOPES_AND_LAMBDAS):
            self._add_definition(statement)
            return
        use = self.uses[id(statement)] = lowered(statement)
        self.has_inner = self.has_inner or use.makes_lambda
        self.setting_mode.update(name for node in _contexts(statement) for name in names_in(node))
        for store in use.stores:
            self._add_store(store, statement, use)
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            # What is called for its effect alone may fill what it is given: `collect(model, outputs)`.
            for name in names_given(statement.value):
                self.depends(name, use.reads)
                self._written.add(name)
        for generator in use.generators:
            for name in bound_names(generator.target):
                self._given.setdefault(name, set()).update(names_in(generator.iter))
        roots: dict[int, str] = {}  # of the calls further inside a chain: they have the root of the whole
        for call in use.calls:
            if isinstance(call.func, ast.Attribute):
                # A method may change its receiver: `items.append(x)`, `out.copy_(x)`.
                changed = roots.pop(id(call), None) or root_name(call.func)
                further_inside = None if changed is None else _next_call(call.func)
                if changed is not None and further_inside is not None:
                    roots[id(further_inside)] = changed
                if changed is not None:
                    self._add_method(call, call.func, changed, statement, use)

    def _add_definition(self, statement: Definition) -> None:
        self.local.add(statement.name)
        self.has_inner = True
        if self._enters_definitions:
            self.depends(statement.name, names_in(statement))
        else:
            self.not_entered.append(statement)
        if self._is_function:  # a module's own variables are not what `nonlocal` speaks of, nor are those of a class
            nonlocals = (node for node in walk(statement) if isinstance(node, ast.Nonlocal))
            self.shared.update(name for node in nonlocals for name in node.names)

    def _add_store(self, store: Store, statement: ast.stmt, use: Lowered) -> None:
        name, value = store.root, store.value
        if store.binds:
            self.local.add(name)
        if store.how == "imported":
            return
        if isinstance(value, ast.Constant) and isinstance(value.value, bool) and store.binds:
            key = name, value.value
            self.switched[key] = max(statement.lineno, self.switched.get(key, 0))
        elif store.binds:
            self.times_bound[name] = self.times_bound.get(name, 0) + 1
        if value is not None and is_empty_container(value):
            self.made_empty.add(name)
        self.depends(name, use.reads)
        self._aliases.setdefault(name, set()).update(aliased(value))
        if isinstance(value, ast.Call):
            self._given.setdefault(name, set()).update(use.reads)
        if isinstance(store.target, ast.Attribute) and store.target.attr == "requires_grad":
            self._altered.add(name)
        if store.how == "augmented" or not store.rebinds:
            self._written.add(name)

    def _add_method(
        self, call: ast.Call, method: ast.Attribute, changed: str, statement: ast.stmt, use: Lowered
    ) -> None:
        given = {name for argument in arguments_of(call) for name in names_in(argument)}
        if changed in LIBRARIES:
            self._given_to_libraries.append((changed, given))
        else:
            self.depends(changed, given)
        if is_in_place(method):
            # `y = x.requires_grad_()` is of interest where x is.
            self.depends(changed, (each.root for each in use.stores))
            self._altered.add(changed)
        if is_in_place(method) or method.attr in IN_PLACE:
            self._written.add(changed)
        if method.attr in MOVES and isinstance(statement, ast.Expr):
            self._altered.add(changed)
        for name in moved_when_made(call):
            self.depends(name, (each.root for each in use.stores))

    def follow_calls(self) -> None:
        """What is called like a library is a variable all the same where it gets a value here."""
        for name, given in self._given_to_libraries:
            if name in self.times_bound:
                self.depends(name, given)

    def follow_aliases(self) -> None:
        """What is written or altered under one name shows under the others of the object."""
        for name in self._written:
            for other in self._aliases.get(name, ()):
                self.depends(other, (name,))
        waiting = list(self._altered)
        while waiting:
            name = waiting.pop()
            # A call may have handed back what it was given, and a loop goes through what it goes through.
            for other in self._given.get(name, _NONE) | self._aliases.get(name, _NONE):
                self.depends(other, (name,))
                if other not in self._altered:
                    self._altered.add(other)
                    waiting.append(other)


def _filled(uses: dict[int, Lowered], containers: set[str]) -> dict[int, frozenset[str]]:
    """Which containers each statement gives to what it calls, itself or further inside: `add_hook(recorder(found))`."""
    found = {}
    for at, use in uses.items():
        if not containers.isdisjoint(use.reads):
            # The containers first: to find the root of every link of a chain would be quadratic in its length.
            given = {
                name
                for call in use.calls
                for name in containers.intersection(_given_as_they_are(call))
                if root_name(call.func) not in _FILL_NOTHING
            }
            if given:
                found[at] = frozenset(given)
    return found


# What a module of a library is called everywhere: its functions leave nothing in it that hangs together with what they
# are given.
LIBRARIES = frozenset("torch nn F np numpy pd plt cv2 math os".split())
_FILL_NOTHING = LIBRARIES.union(
    "len print zip enumerate sum sorted list tuple set dict max min any all isinstance reversed map filter str"
    " repr".split()
)


def _given_as_they_are(call: ast.Call) -> Iterator[str]:
    """Not with one star or two, which give a copy."""
    for argument in (*call.args, *(keyword.value for keyword in call.keywords if keyword.arg)):
        path = path_of(argument)
        if path is not None:
            yield path


def _closures_in(body: list[ast.stmt]) -> Closures | None:
    changes: dict[str, frozenset[str]] = {}
    read: dict[str, set[str]] = {}
    makers: set[str] = set()  # of functions
    statements = list(statements_of(body))
    function: FunctionNode | ast.Lambda
    for statement in statements:
        if isinstance(statement, FUNCTIONS):
            name, function = statement.name, statement
        elif isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
            if not isinstance(statement.targets[0], ast.Name):
                continue
            name, function = statement.targets[0].id, statement.value
        else:
            continue
        changes[name] = changes.get(name, _NONE) | changed_outside(function)
        makers.update((name,) if makes_function(function) else ())
        read.setdefault(name, set()).update(names_in(function))
    hand_up(changes, read)
    changes = {name: changed for name, changed in changes.items() if changed}
    at: dict[int, set[str]] = {}
    given_away: dict[int, list[ast.expr]] = {}
    for statement in statements:
        if isinstance(statement, _SCOPES_AND_LAMBDAS):
            continue
        called: dict[int, ast.Call] = {}  # by the id of the function
        nodes = [node for expression in own_expressions(statement) for node in walk(expression)]
        lambdas = lambdas_among(nodes)
        for node in nodes:
            if isinstance(node, ast.Call):
                called[id(node.func)] = node
            if isinstance(node, ast.Lambda):
                names, touched = lambdas[id(node)]
                changed = frozenset(touched).difference(parameter_names(node.args))
                changed = changed.union(*(changes[name] for name in changes.keys() & names))
                is_bound = isinstance(statement, ast.Assign) and node is statement.value
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                changed, is_bound = changes.get(node.id, _NONE), False
            else:
                continue
            if changed and not is_bound:
                at.setdefault(id(statement), set()).update(changed)
                given = called.get(id(node), node)
                if given is node or root_name(node) in makers:  # what a call of it gives may be an inner function
                    given_away.setdefault(id(statement), []).append(given)
    if not at:
        return None
    return Closures(changes, {statement: frozenset(names) for statement, names in at.items()}, given_away)


def changed_outside(function: FunctionNode | ast.Lambda) -> frozenset[str]:
    """The variables of the functions around a function that it puts something into or changes in place."""
    if isinstance(function, ast.Lambda):
        return frozenset(touched_in(function.body, {})).difference(parameter_names(function.args))
    # Not by `def_use_of`, which asks what the functions in this one change for each anew.
    own = def_use(function.body, parameter_names(function.args), is_function=False, enters_definitions=False)
    inner = [each for each in statements_of(function.body) if isinstance(each, FUNCTIONS)]
    return mutated_names(function).union(*map(changed_outside, inner)) - own.local_names


def _contexts(statement: ast.stmt) -> Iterator[ast.expr]:
    """Variables that hold contexts, or what makes them, and what decides whether one sets grad mode on or off."""
    if isinstance(statement, (ast.With, ast.AsyncWith)):
        nodes = [item.context_expr for item in statement.items]
    else:
        nodes = [statement.value] if isinstance(statement, ast.Expr) else []
    for node in nodes:
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", None))
            if name == "enter_context":
                yield node
            elif name in TOLD_BY_FLAG:
                yield from arguments_of(node)
            elif isinstance(node.func, ast.Name) and isinstance(statement, (ast.With, ast.AsyncWith)):
                yield node.func
        elif isinstance(node, ast.Name) and isinstance(statement, (ast.With, ast.AsyncWith)):
            yield node


def def_use_of(node: FunctionNode | ast.Lambda | ast.ClassDef | ast.Module) -> DefUse:
    """The dependencies of a function, class or module."""
    if isinstance(node, ast.Lambda):
        return DefUse(frozenset(parameter_names(node.args)), frozenset(), {}, {})
    if isinstance(node, (ast.ClassDef, ast.Module)):
        return def_use(node.body, [], is_function=False)
    return def_use(node.body, parameter_names(node.args))


def def_use_of_module(tree: ast.Module) -> DefUse:
    """The same for a module of which little is asked: its definitions, most of a text, are not parsed for it."""
    return def_use(tree.body, [], is_function=False, enters_definitions=False)
