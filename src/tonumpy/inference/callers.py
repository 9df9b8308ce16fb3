"""A function whose every call is in sight in; what its parameters are given, and grad mode at its calls, out."""

from __future__ import annotations

import ast

from tonumpy.candidates import spans_any
from tonumpy.chains import last_name
from tonumpy.inference.environment import GRAD_CONTEXTS
from tonumpy.inference.frame import Targets
from tonumpy.inference.joins import join
from tonumpy.inference.symbols import arguments_of, decorator_names, names_read, read_name
from tonumpy.inference.values import (
    NOTHING,
    Constant,
    Function,
    Instance,
    Plain,
    Tensor,
    Unknown,
    Value,
    held_in,
    join_fact,
    mapped,
    members,
    tensor_facts,
)
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.syntax import FUNCTIONS, children_of

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Items

    from tonumpy.conversions import Fact
    from tonumpy.inference.analysis import Analysis
    from tonumpy.inference.project import Module

MAX_CALLS = 24  # of one function; more are not looked at
MAX_DEPTH = 4  # callers of callers


class Reference(NamedTuple):
    """A place that names a function; `call` is None where it is passed on without being called."""

    call: ast.Call | None
    scopes: tuple[ast.AST, ...]
    statement: ast.stmt
    is_attribute: bool  # `model.name`, which is no function of the module
    is_submitted: bool = False  # to an executor, which calls it with the other arguments: `pool.submit(f, x)`
    passed_to: ast.Call | None = None  # what it is an argument of, and may call it: `self.scored(f)`


class Entry(NamedTuple):
    """What a function is given, by parameter, and in which state of torch it is entered."""

    arguments: dict[str, Value]
    grad_mode: Fact
    autocast: Value = NOTHING


OUT_OF_SIGHT = Entry({}, None)


class Callers:
    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._depth = 0

    def of(self, module: Module, scopes: Items[ast.AST], function: Function) -> Entry:
        """The join of all calls; where some may be out of sight, what is detached in all others."""
        node = function.node
        assert isinstance(node, FUNCTIONS)
        if self._depth >= MAX_DEPTH:
            return OUT_OF_SIGHT
        are_all_in_sight = all_calls_are_in_sight(module, scopes)
        if not are_all_in_sight and not _is_called_in_its_module(module, node):
            return OUT_OF_SIGHT
        is_nested = len(scopes) > 1 and isinstance(scopes[-2], FUNCTIONS)
        is_method = len(scopes) > 1 and isinstance(scopes[-2], ast.ClassDef)
        references = [
            reference
            for reference in _references(module, node, scopes[-2] if is_method else None)
            if not is_nested or scopes[-2] in reference.scopes  # others of this name are not in its scope
        ]
        passed_on = [reference for reference in references if reference.call is None]
        if not references or len(references) > MAX_CALLS or not _may_be_followed(passed_on):
            return OUT_OF_SIGHT
        if is_method and not are_all_in_sight and not all(_is_on_self(each, scopes[-2]) for each in references):
            return OUT_OF_SIGHT  # what else has a method of this name is not known
        self._depth += 1
        try:
            entry = self._join(module, function, references)
        finally:
            self._depth -= 1
            self._analysis.watched.pop(id(node), None)
        return entry if are_all_in_sight else _only_what_is_detached(entry, _is_free if is_method else _is_detached)

    def _join(self, module: Module, function: Function, references: list[Reference]) -> Entry:
        by_scope: dict[int, list[Reference]] = {}
        for reference in references:
            by_scope.setdefault(id(reference.scopes[-1]), []).append(reference)
        joined: dict[str, Value] = {}
        modes: list[Fact] = []
        autocasts: list[Value] = []
        for group in by_scope.values():
            calls = {reference.call: reference for reference in group if reference.call is not None}
            passed_to = [reference.passed_to for reference in group if reference.passed_to is not None]
            targets = Targets(
                frozenset(map(id, (*calls, *passed_to))), frozenset(id(reference.statement) for reference in group)
            )
            names = {name for reference in group for name in names_read(reference.statement)}
            if passed_to:
                self._analysis.watched[id(function.node)] = []
            frame = self._analysis.entry_frame(module, group[0].scopes, targets, names)
            if passed_to:
                entries = self._analysis.watched[id(function.node)]
                if not entries:
                    return OUT_OF_SIGHT  # no code in sight calls it
                for entry in entries:
                    _add_arguments(joined, entry.arguments)
                    modes.append(entry.grad_mode)
                    autocasts.append(entry.autocast)
            for call, reference in calls.items():
                seen = frame.observations.get(id(call))
                if seen is None:
                    if self._analysis.is_exhausted:
                        return OUT_OF_SIGHT
                    continue  # the flow does not reach this call
                receiver = _first_argument(function) if reference.is_attribute else None
                given = seen.arguments
                if reference.is_submitted:
                    given = given._replace(positional=given.positional[1:])
                _add_arguments(joined, self._analysis.bind_arguments(function, receiver, given))
                # Each thread has a grad mode of its own, which is on when it begins.
                modes.append(True if reference.is_submitted else seen.grad_mode)
                autocasts.append(NOTHING if reference.is_submitted else seen.autocast)
        if not modes:
            return OUT_OF_SIGHT
        mode = modes[0]
        for other in modes[1:]:
            mode = join_fact(mode, other)
        return Entry(joined, mode, autocasts[0] if len(set(autocasts)) == 1 else NOTHING)


def _add_arguments(joined: dict[str, Value], given: dict[str, Value]) -> None:
    for name, value in given.items():
        joined[name] = join(joined[name], value) if name in joined else value


def _may_be_followed(passed_on: list[Reference]) -> bool:
    """Whether a function is passed on nowhere, or at one place as an argument: of two, one may be out of sight."""
    return not passed_on or (len(passed_on) == 1 and passed_on[0].passed_to is not None)


def _first_argument(function: Function) -> Value | None:
    """What a method is given that does not stand between the brackets of its calls."""
    kinds = decorator_names(function.node)
    if function.owner is None or "staticmethod" in kinds:
        return None
    return function.owner if "classmethod" in kinds else Instance(function.owner)


def places_that_name(module: Module, name: str) -> list[Reference]:
    """Every place in a module that names something whose name, or the last part of it, is this."""
    search = _Search(name, module.source.rows_with_name(name), [])
    _collect(module.tree.body, (module.tree,), search)
    return search.found


class _Search(NamedTuple):
    """What is looked for, in which rows (only statements that span one are entered), and what has been found so far."""

    name: str
    rows: list[int]
    found: list[Reference]


def may_be_asked(module: Module, scopes: Items[ast.AST]) -> bool:
    """Whether the innermost scope is a function whose callers, all or some, are in its module."""
    node = scopes[-1]
    if not isinstance(node, FUNCTIONS):
        return False
    return all_calls_are_in_sight(module, scopes) or _is_called_in_its_module(module, node)


def are_all_modules(module: Module, scopes: Items[ast.AST]) -> bool:
    """Whether nothing but the bodies of modules call a function, as `main()` under a main guard: these cost little."""
    node = scopes[-1]
    if len(scopes) != 2 or not isinstance(node, FUNCTIONS) or not all_calls_are_in_sight(module, scopes):
        return False
    return all(isinstance(each.scopes[-1], ast.Module) for each in _references(module, node, None))


def are_decorated_without_grad(module: Module, scopes: Items[ast.AST]) -> bool:
    """Whether all calls of a function in its module are in functions that run with grad mode off, as decorators say."""
    node = scopes[-1]
    if not module.speaks_of_grad_mode or len(scopes) > 3 or not isinstance(node, FUNCTIONS) or node.name == "forward":
        return False
    owner = scopes[-2] if len(scopes) > 2 else None
    found = [] if isinstance(owner, FUNCTIONS) else _references(module, node, owner)
    return bool(found) and all(
        reference.call is not None
        and not reference.is_submitted
        and (owner is None or _is_on_self(reference, owner))
        and _keeps_grad_mode_off(module, reference.scopes[-1])
        for reference in found
    )


def _keeps_grad_mode_off(module: Module, scope: ast.AST) -> bool:
    if not isinstance(scope, FUNCTIONS) or not any(GRAD_CONTEXTS.get(each) == "off" for each in decorator_names(scope)):
        return False
    text = module.source.text_of(scope)
    return not any(word in text for word, mode in GRAD_CONTEXTS.items() if mode != "off")


def all_calls_are_in_sight(module: Module, scopes: Items[ast.AST]) -> bool:
    """Of the innermost scope, which is a function."""
    node = scopes[-1]
    assert isinstance(node, FUNCTIONS)
    if len(scopes) > 1 and isinstance(scopes[-2], FUNCTIONS):
        return True
    if any(not _keeps_calls_in_sight(decorator) for decorator in node.decorator_list):
        return False
    if node.name.startswith("_") and not node.name.endswith("__"):
        return True
    if module.is_test:
        return True
    if not module.is_script:
        return False
    # A class in a package is there for others too, whatever the module shows when it is run, and so is what `__all__`
    # lists; not so the methods that do a part of its own work.
    is_method = len(scopes) > 1 and isinstance(scopes[-2], ast.ClassDef)
    is_for_others = module.lists(scopes[1]) or (is_method and module.is_in_package)
    return not is_for_others or (is_method and is_called_on_self_alone(module, scopes[-2], node))


def is_called_on_self_alone(module: Module, owner: ast.AST, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the other methods of its class call a method, and nobody else in the module names one like it."""
    found = _references(module, node, owner)
    return bool(found) and all(_is_on_self(reference, owner) for reference in found)


def is_called_on_others(module: Module, owner: ast.AST, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether somebody in the module calls a method, or one like it, on anything but `self`."""
    return not all(_is_on_self(reference, owner) for reference in _references(module, node, owner))


def _references(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef, owner: ast.AST | None) -> list[Reference]:
    """The places that may mean a function, or a method of the class `owner`, outside of it.

    Its own recursive calls pass on what it was given.
    """
    named = places_that_name(module, node.name)
    return [reference for reference in named if node not in reference.scopes and _may_mean(reference, owner)]


def _is_called_in_its_module(module: Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a public function or method is called in its module as well as by others."""
    if node.name == "forward" or node.name.startswith("__"):
        return False  # it is called without its name
    return len(module.source.rows_with_name(node.name)) > 1 and all(map(_keeps_calls_in_sight, node.decorator_list))


def _may_mean(reference: Reference, owner: ast.AST | None) -> bool:
    """Whether a place that says the name of a function may mean that function; `owner` is the class of a method.

    A method is an attribute, but in the body of its class; elsewhere its name alone is that of some variable.
    """
    return reference.is_attribute == (owner is not None) or reference.scopes[-1] is owner


def _is_on_self(reference: Reference, owner: ast.AST) -> bool:
    """Whether a method is called by its own class: `self.name(...)`."""
    function = reference.call and reference.call.func
    return owner in reference.scopes and isinstance(function, ast.Attribute) and read_name(function.value) == "self"


def _only_what_is_detached(entry: Entry, is_enough: Callable[[Value], bool]) -> Entry:
    """What does not require grad in any call in the module: others who call the function detach it too.

    One that is only given what is on the CPU, and detaches it itself, may well be given something else by them.
    """
    detached = {name: _wherever_unknown(value) for name, value in entry.arguments.items() if is_enough(value)}
    mode = False if entry.grad_mode is False else None
    return Entry(detached, mode) if detached or mode is False else OUT_OF_SIGHT


def at_best(module: Module, declared: Entry) -> Entry:
    """The most that calls can show of a function that others call as well: all that it is given is detached, and grad
    mode is off where its module speaks of that."""
    arguments: dict[str, Value] = {
        name: value if isinstance(value, Instance) else Tensor(requires_grad=False)  # `self` stays
        for name, value in declared.arguments.items()
    }
    return declared._replace(arguments=arguments, grad_mode=False if module.speaks_of_grad_mode else declared.grad_mode)


def _is_detached(value: Value) -> bool:
    """Of a function that others call as well: surely a tensor without grad."""
    tensors = [member for member in members(value) if not isinstance(member, (Plain, Constant))]
    return bool(tensors) and all(isinstance(member, Tensor) and member.requires_grad is False for member in tensors)


def _is_free(value: Value) -> bool:
    """Of a method that only its class calls: whatever may be a tensor or hold some, but none that requires grad."""
    return tensor_facts(value)[1] is False and any(isinstance(part, (Tensor, Unknown)) for part in held_in(value))


def _wherever_unknown(value: Value) -> Value:
    """That something is on the CPU is believed of tensors, and not of what may be anything: a batch of some loader."""
    return value._replace(on_cpu=None) if isinstance(value, Unknown) else mapped(value, _wherever_unknown)


def _keeps_calls_in_sight(decorator: ast.expr) -> bool:
    """Decorators that do not register the function with somebody else who calls it."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return name in _DECORATORS  # fmt: skip


def _collect(statements: list[ast.stmt], scopes: tuple[ast.AST, ...], search: _Search) -> None:
    for statement in statements:
        if not spans_any(statement, search.rows):
            continue
        inner = (*scopes, statement) if isinstance(statement, (ast.ClassDef, *FUNCTIONS)) else scopes
        for field, value in ast.iter_fields(statement):
            _collect_field(value, inner if field == "body" else scopes, statement, search)


def _collect_field(value: object, scopes: tuple[ast.AST, ...], statement: ast.stmt, search: _Search) -> None:
    if isinstance(value, list):
        if value and isinstance(value[0], ast.stmt):
            _collect(value, scopes, search)
            return
        for item in value:
            _collect_field(item, scopes, statement, search)
    elif isinstance(value, (ast.ExceptHandler, ast.match_case)):
        for _, part in ast.iter_fields(value):
            _collect_field(part, scopes, statement, search)
    elif isinstance(value, ast.AST):
        _collect_expression(value, scopes, statement, search)


def _collect_expression(root: ast.AST, scopes: tuple[ast.AST, ...], statement: ast.stmt, search: _Search) -> None:
    called: set[int] = set()
    given_to: dict[int, ast.Call] = {}  # the call that an argument stands in
    stack = [root]
    while stack:
        node = stack.pop()
        if isinstance(node, ast.Call):
            given_to.update((id(argument), node) for argument in arguments_of(node))
            function, is_submitted = node.func, False
            if node.args and last_name(function) == "submit" and last_name(node.args[0]) == search.name:
                function, is_submitted = node.args[0], True
            if last_name(function) == search.name:
                called.add(id(function))
                is_attribute = isinstance(function, ast.Attribute)
                search.found.append(Reference(node, scopes, statement, is_attribute, is_submitted))
        elif (
            isinstance(node, (ast.Name, ast.Attribute))
            and last_name(node) == search.name
            and id(node) not in called
            and isinstance(node.ctx, ast.Load)
        ):
            is_attribute = isinstance(node, ast.Attribute)
            passed_to = given_to.get(id(node))
            search.found.append(Reference(None, scopes, statement, is_attribute, passed_to=passed_to))
        stack.extend(children_of(node))


# Decorators that leave the parameters of a function as they are.
_DECORATORS = frozenset(
    "staticmethod classmethod no_grad inference_mode enable_grad cache lru_cache wraps contextmanager jit script"
    " torch_compile compile rank_zero_only on_main_process main_process_only override final typechecked beartype"
    " jaxtyped".split()
)
