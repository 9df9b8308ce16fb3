"""The call graph upwards: from a function to the join of the arguments and grad modes of all calls of it."""

from __future__ import annotations

import ast
import re
import sys
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge.callbacks import caller_of
from tonumpy.engine.names.bindings import Import, decorator_names, defaults_of, parameter_names
from tonumpy.engine.names.class_bodies import fields_of_record, members_defined
from tonumpy.engine.names.references import (
    class_around,
    constructions_of,
    is_on_self,
    read_by_calls,
    references_to,
)
from tonumpy.engine.values.evidence import PROVED, Spot, cut_off, of_made
from tonumpy.engine.values.evidence import joined as joined_of
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.value_facts import join_fact, resting_on
from tonumpy.engine.values.values import Class, Constant, Function, Instance, NonTensor, Symbol, Tensor, Value
from tonumpy.inference.habits import callers_in_module
from tonumpy.inference.summaries.budget import (
    MAX_CALLER_DEPTH,
    MAX_CALLER_DEPTH_IN_REPOSITORY,
    MAX_CALLERS,
    MAX_CALLERS_IN_REPOSITORY,
)
from tonumpy.inference.summaries.caller_evidence import said_of_all
from tonumpy.inference.summaries.closed_world import (
    all_callers_are_known,
    all_objects_are_known,
    is_called_in_its_module,
    is_special,
    keeps_callers_known,
)
from tonumpy.inference.summaries.entry import OUT_OF_SIGHT, Entry
from tonumpy.inference.summaries.known_callers import (
    given_by_all,
    is_detached,
    is_free,
    only_what_is_detached,
)
from tonumpy.inference.summaries.repository_callers import calls_in_repository
from tonumpy.inference.transfer.targets import Targets
from tonumpy.text.names import path_of, qualified_name
from tonumpy.text.syntax import FUNCTIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from tonumpy.engine.names.module import Module
    from tonumpy.engine.names.references import Reference
    from tonumpy.engine.values.evidence import AllEvidence, Aspect

    Place = tuple[Module, Reference]
    About = Callable[[Aspect], AllEvidence]
    from collections.abc import Callable
    from collections.abc import Sequence as Items

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.engine.values.evidence import AllEvidence, Basis
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis
    from tonumpy.inference.summaries.users import Calls
    from tonumpy.inference.transfer.frame import Frame


_MADE_OF_OTHERS = re.compile(r"(?<![\w.])replace\(|dataclasses\.replace\(")


def _left_out(module: Module, node: FunctionNode, bound: str, what: str) -> Entry:
    """What is known of a function whose callers are not followed, though some are in sight."""
    return Entry({}, None, left_out=cut_off(bound, what, module.filename, node.lineno))


class _Joined(NamedTuple):
    """The join of the calls that have been evaluated so far."""

    arguments: dict[str, list[Value]]  # what each gives a parameter
    modes: list[Fact]
    evidence: list[AllEvidence]  # of the modes

    def add(
        self,
        given: dict[str, Value],
        mode: Fact,
        evidence: AllEvidence = PROVED,
    ) -> None:
        """Join one call: its arguments by parameter, its grad mode, and the evidence for that."""
        for name, value in given.items():
            self.arguments.setdefault(name, []).append(value)
        self.modes.append(mode)
        self.evidence.append(evidence)


class Callers:
    """Entries of functions, joined over their call sites; each call site is evaluated in its own scope."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._depth = 0
        self._constructors: dict[ast.ClassDef, Function] = {}  # of dataclasses, which have none in their text

    def of(self, module: Module, scopes: Items[ast.AST], function: Function) -> Entry:
        """The entry joined over all calls of a function; if some calls may be out of sight, only facts that hold for
        all detached arguments are kept."""
        node = function.node
        assert isinstance(node, FUNCTIONS)
        most = MAX_CALLER_DEPTH_IN_REPOSITORY if self._analysis.looks_everywhere else MAX_CALLER_DEPTH
        if self._depth >= most:
            if not references_to(module, scopes):
                return OUT_OF_SIGHT
            self._analysis.budget.cut()
            what = f"callers of `{node.name}` are not followed beyond {most} levels"
            return _left_out(module, node, "depth", what)
        are_all_in_sight = all_callers_are_known(module, scopes)
        owner = class_around(scopes)
        if owner is not None and node.name == "__init__":
            return self._constructed(module, function, owner)
        if owner is not None and is_special(node.name):
            return OUT_OF_SIGHT  # no call names it
        if self._analysis.looks_everywhere and module is self._analysis.module and not are_all_in_sight:
            entry = self._in_repository(module, scopes, function)
            if entry is not None:
                return entry
        if not are_all_in_sight and not is_called_in_its_module(module, node):
            return OUT_OF_SIGHT
        references = references_to(module, scopes)
        passed_on = [reference for reference in references if reference.call is None]
        if len(references) > MAX_CALLERS:
            return _left_out(module, node, "callers", f"`{node.name}` is called more than {MAX_CALLERS} times")
        if not references or not _may_be_followed(passed_on):
            return OUT_OF_SIGHT
        if owner and not are_all_in_sight and not all(is_on_self(each, owner) for each in references):
            return OUT_OF_SIGHT  # what else has a method of this name is not known
        entry = self.join(function, [(module, each) for each in references])
        if are_all_in_sight:
            return entry
        return only_what_is_detached(entry, is_free if owner else is_detached, speaking_for_others(module, scopes))

    def _constructed(self, module: Module, function: Function, owner: ast.ClassDef) -> Entry:
        """What the calls of a class in its module give its constructor, as parameters of which it says nothing itself;
        others may make its objects as well. Those of torch's modules are sizes and layers, most often."""
        assert isinstance(function.node, FUNCTIONS)
        if self._analysis.kinds.is_module(Class(owner, module)):
            return OUT_OF_SIGHT
        undescribed = _undescribed(function.node)
        calls = constructions_of(module, owner) if undescribed else []
        if not calls or len(calls) > MAX_CALLERS:
            return OUT_OF_SIGHT
        entry = self.join(function, [(module, each) for each in calls])
        plain = {name: value for name, value in entry.arguments.items() if name in undescribed}
        return only_what_is_detached(entry._replace(arguments=plain), is_detached, _speaking(module, owner.name, calls))

    def given_to_fields(self, cls: Class) -> Mapping[str, Value]:
        """What the calls of a dataclass or NamedTuple give its fields, where all of them are in sight."""
        module, owner = cls.module, cls.node
        fields = {} if "__init__" in members_defined(owner).methods else fields_of_record(owner)
        if not fields or self._depth >= MAX_CALLER_DEPTH or not all_objects_are_known(module, owner):
            return {}
        calls = constructions_of(module, owner)
        if not calls or len(calls) > MAX_CALLERS or _MADE_OF_OTHERS.search(module.source.text):
            return {}
        if owner not in self._constructors:
            self._constructors[owner] = Function(_constructor_of(owner, fields), module, cls)
        return self.join(self._constructors[owner], [(module, each) for each in calls]).arguments

    def _in_repository(self, module: Module, scopes: Items[ast.AST], function: Function) -> Entry | None:
        """The join of the calls in all files of the repository; None where one may be out of sight."""
        assert isinstance(function.node, FUNCTIONS)
        found = self._calls_to_follow(module, scopes, function)
        if found is None:
            return None
        meant: list[Place] = []

        def is_meant(caller: Module, call: Reference, receiver: Value) -> Fact:
            answer = True if found.is_meant is None else found.is_meant(receiver)
            if answer:
                meant.append((caller, call))
            return answer

        entry = self.join(function, found.places, is_meant)
        if entry is OUT_OF_SIGHT:
            return None
        told = [each for each in found.places if each in meant or each[1].call is None or each[1].is_submitted]
        users = found.stand_for(caller for caller, _ in meant)
        return said_of_all(entry, function.node.name, told, users, module.disabled_habits)

    def _calls_to_follow(self, module: Module, scopes: Items[ast.AST], function: Function) -> Calls | None:
        """The calls in all files of the repository, where all are in sight and not too many."""
        assert isinstance(function.node, FUNCTIONS)
        if not all(map(keeps_callers_known, function.node.decorator_list)):
            return None
        found = calls_in_repository(self._analysis, module, scopes, function)
        if found is None or len(found.places) > MAX_CALLERS_IN_REPOSITORY:
            return None
        return found if _may_be_followed([each for _, each in found.places if each.call is None]) else None

    def join(
        self,
        function: Function,
        references: Items[tuple[Module, Reference]],
        is_meant: Callable[[Module, Reference, Value], Fact] | None = None,
    ) -> Entry:
        """The join of some calls; where `is_meant` is asked, of those whose receivers have the function as a method."""
        by_scope: dict[int, list[tuple[Module, Reference]]] = {}
        for module, reference in references:
            by_scope.setdefault(id(reference.scopes[-1]), []).append((module, reference))
        joined = _Joined({}, [], [])
        self._depth += 1
        self._analysis.budget.enter(self._depth + len(self._analysis.active))
        try:
            for group in sorted(by_scope.values(), key=_place_of_calls):
                if not self._add_calls(joined, function, group[0][0], [each for _, each in group], is_meant):
                    return OUT_OF_SIGHT
        finally:
            self._depth -= 1
            self._analysis.watched.pop(id(function.node), None)
        if not joined.modes:
            return OUT_OF_SIGHT
        mode = joined.modes[0]
        for other in joined.modes[1:]:
            mode = join_fact(mode, other)
        # What is given with a text is kept under it: `history.add("loss", loss)`, `history.add("steps", 3)`.
        together = join_all if any(map(_are_texts, joined.arguments.values())) else given_by_all
        arguments = {name: together(values) for name, values in joined.arguments.items()}
        return Entry(arguments, mode, joined_of(joined.evidence))

    def _add_calls(
        self,
        joined: _Joined,
        function: Function,
        module: Module,
        group: list[Reference],
        is_meant: Callable[[Module, Reference, Value], Fact] | None,
    ) -> bool:
        """Add the calls in one scope; False where some cannot be followed."""
        calls = {reference.call: reference for reference in group if reference.call is not None}
        passed_to = [reference.passed_to for reference in group if reference.passed_to is not None]
        if any(_never_calls(module, group[0].scopes, each) for each in passed_to):
            return False  # as the run would show, which costs far more
        targets = Targets(
            frozenset(map(id, (*calls, *passed_to))), frozenset(id(reference.statement) for reference in group)
        )
        asks_for_function = bool(passed_to) or getattr(function.node, "name", "") == "__call__"
        names, receivers = read_by_calls(group, asks_for_function=asks_for_function)
        if passed_to:
            self._analysis.watched[id(function.node)] = []
        frame = self._analysis.entries.frame(module, group[0].scopes, targets, names, bound=receivers)
        if passed_to:
            entries = self._analysis.watched[id(function.node)]
            optimised = None if entries else _given_by_library(function, frame, passed_to)
            if optimised is not None:
                joined.add(optimised.arguments, optimised.grad_mode)
                return True
            if not entries:
                return False  # no code in sight calls it
            for entry in entries:
                joined.add(entry.arguments, entry.grad_mode, entry.evidence)
        for call, reference in calls.items():
            seen = frame.seen.observations.get(id(call))
            if seen is None:
                if self._analysis.budget.cuts_short():
                    return False
                continue  # the flow does not reach this call
            if is_meant is not None and not reference.is_submitted:
                meant = is_meant(module, reference, seen.receiver)
                if meant is None:
                    return False
                if not meant:
                    continue
            is_bound = reference.is_attribute or getattr(function.node, "name", "") == "__init__"
            receiver = _first_argument(function) if is_bound else None
            given = seen.arguments
            if reference.is_submitted:
                given = given._replace(positional=given.positional[1:])
            bound = self._analysis.parameters.bind_arguments(function, receiver, given)
            if seen.evidence:
                bound = {name: resting_on(value, of_made(seen.evidence)) for name, value in bound.items()}
            if reference.is_submitted:  # each thread has a grad mode of its own, which is on when it begins
                joined.add(bound, True, seen.evidence)
            else:
                joined.add(bound, seen.grad_mode, seen.evidence)
        return True


# The libraries that call what they are given where that is in sight, as their rows say: `transforms.Lambda(function)`.
_CALLING = frozenset(("torch", "torchvision", "torchaudio", "monai", "scipy")) | sys.stdlib_module_names


def _never_calls(module: Module, scopes: Items[ast.AST], call: ast.Call) -> bool:
    """Whether a function is given to a library, in whose code nobody follows it: `Trainer(metrics=metrics)`."""
    function, inside = call.func, (path_of(call.func) or "").partition(".")[1:]
    while isinstance(function, ast.Attribute):
        function = function.value
    if not isinstance(function, ast.Name) or not isinstance(scopes[-1], ast.Module):
        return False
    bindings = module.names.bindings.get(function.id, [])
    imports = [each for each in bindings if isinstance(each, Import)]
    return (
        bool(imports)
        and len(imports) == len(bindings)
        and function.id not in module.names.global_writers
        and all(
            not each.level and each.module.partition(".")[0] not in _CALLING and module.resolve(each) is None
            for each in imports
        )
        and all(caller_of("".join((each.full_name, *inside))) is None for each in imports)
    )


def _are_texts(values: list[Value]) -> bool:
    """Whether calls give several texts."""
    return len({each.value for each in values if isinstance(each, Constant) and isinstance(each.value, str)}) > 1


def _given_by_library(function: Function, frame: Frame, passed_to: list[ast.Call]) -> Entry | None:
    """How a library calls what it is given: the first argument is an array, or a number."""
    parameters = parameter_names(function.node.args)
    for call in passed_to:
        seen = frame.seen.observations.get(id(call))
        if seen is not None and isinstance(seen.receiver, Symbol) and parameters:
            called = seen.receiver.name
            called = f"{called}.{call.func.attr}" if isinstance(call.func, ast.Attribute) else called
            if caller_of(called) is not None:
                return Entry({parameters[0]: NonTensor("numpy.ndarray")}, seen.grad_mode)
    return None


def _place_of_calls(group: list[tuple[Module, Reference]]) -> tuple[str, tuple[str, ...]]:
    """Of calls in one scope: the file and the names of the scopes."""
    module, reference = group[0]
    return module.filename, qualified_name(reference.scopes)


def _may_be_followed(passed_on: list[Reference]) -> bool:
    """Whether a function is passed on nowhere, or at one place as an argument: of two, one may be out of sight."""
    return not passed_on or (len(passed_on) == 1 and passed_on[0].passed_to is not None)


def _constructor_of(owner: ast.ClassDef, fields: dict[str, ast.AnnAssign]) -> ast.FunctionDef:
    """The one that a dataclass gets, as far as its parameters go."""
    given = [("self", None), *((name, each.annotation) for name, each in fields.items())]
    row, column = owner.lineno, owner.col_offset
    parameters = [ast.arg(name, annotation, lineno=row, col_offset=column) for name, annotation in given]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    return ast.FunctionDef("__init__", arguments, [], [], lineno=row, col_offset=column)


def _undescribed(node: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The parameters without an annotation and without a default."""
    given = node.args
    parameters = (*given.posonlyargs, *given.args, *given.kwonlyargs)[1:]  # without `self`
    names = {each.arg for each in parameters if each.annotation is None}
    return names - {name for name, _ in defaults_of(given)}


def _first_argument(function: Function) -> Value | None:
    """What a method is given that does not stand between the brackets of its calls."""
    kinds = decorator_names(function.node)
    if function.owner is None or "staticmethod" in kinds:
        return None
    return function.owner if "classmethod" in kinds else Instance(function.owner)


def speaking_for_others(module: Module, scopes: Items[ast.AST]) -> Basis | None:
    """The basis of the habit callers-in-module: calls in the module stand for calls elsewhere. None if the habit is
    off."""
    node = scopes[-1]
    assert isinstance(node, FUNCTIONS)
    return _speaking(module, node.name, references_to(module, scopes))


def _speaking(module: Module, name: str, calls: Items[Reference]) -> Basis | None:
    rows = [each.statement.lineno for each in calls]
    return callers_in_module.basis(name, rows, Spot(module.filename, rows[0], module.disabled_habits))


def optimistic_entry(module: Module, declared: Entry) -> Entry:
    """The most favourable entry of a function that others call too: every argument a tensor without grad, and grad mode
    off if the module mentions grad mode. If even this entry changes no finding, callers need not be evaluated."""
    arguments: dict[str, Value] = {
        name: value if isinstance(value, Instance) else Tensor(requires_grad=False)  # `self` stays
        for name, value in declared.arguments.items()
    }
    grad_mode = False if module.words.speaks_of_grad_mode else declared.grad_mode
    return declared._replace(arguments=arguments, grad_mode=grad_mode)
