"""The entry of a function from its callers in the module: the values of its parameters, and grad mode."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from tonumpy.engine.interpreter.frame import Frame, Seen
from tonumpy.engine.knowledge.callbacks import functions_given
from tonumpy.engine.knowledge.grad_contexts import GRAD_DECORATORS
from tonumpy.engine.names.bindings import decorator_names, parameter_names
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.analysis import Analysis
from tonumpy.engine.summaries.pytest_parameters import given_by_pytest
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import PROVED, AllEvidence, Basis, Evidence, Spot, Strength
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.value_facts import (
    believed,
    have_param_taint,
    held_in,
    mapped,
    max_device_taint,
    members,
    resting_on,
    tensor_facts,
    with_evidence,
)
from tonumpy.facts import Fact
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS
from tonumpy.text.uncommented import uncommented

MAX_CALLERS = 12
# Decorators that keep a call of the name a call of the function.
_KEEP_CALLERS = frozenset(
    "staticmethod classmethod cache lru_cache wraps contextmanager jit script compile rank_zero_only override final"
    " typechecked beartype property cached_property".split()
).union(GRAD_DECORATORS)


class Entry(NamedTuple):
    """The entry of a function: its parameters, grad mode, and the evidence for grad mode being off.
    `risky`: the join of the arguments that are on a device or require grad, by parameter.
    """

    values: dict[str, v.Value]
    mode: Fact
    evidence: AllEvidence = PROVED
    risky: Mapping[str, v.Value] = MappingProxyType({})


class Callers:
    """Finds the calls of functions, and joins their arguments."""

    def __init__(self, module: Module, analysis: Analysis, around: Callable[[tuple[ast.AST, ...], int], Frame]) -> None:
        self._module = module
        self._analysis = analysis
        self._around = around
        self._by_name: dict[str, list[Site]] = {}
        self._given: dict[str, list[Site]] = {}

    def entry(self, scopes: tuple[ast.AST, ...], depth: int) -> Entry | None:
        """The entry of the innermost scope from up to `depth` levels of callers; None if the callers do not decide
        it."""
        node = scopes[-1]
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) or _is_called_by_name_alone(node.name):
            return None
        function = self._analysis.function_of(self._module, scopes)
        given = given_by_pytest(self._analysis, function)
        if given:
            return self._of_test(function, given)
        is_closed = self._is_closed(scopes)
        sites = self._sites(scopes)
        if not sites:
            return self._of_callback(scopes, function, depth) if is_closed else None
        if not is_closed and not decorator_names(node) <= _KEEP_CALLERS:
            return None
        is_closed = is_closed and (isinstance(scopes[-2], FUNCTIONS) or not self._is_handed_on(scopes, len(sites)))
        joined = self._joined(scopes, function, sites, depth, is_closed=is_closed)
        if joined is None:
            return None
        if is_closed:  # one risky caller of several suffices to raise, whatever kinds of values the others pass
            told = {
                key: joined.risky.get(key, each) for key, each in joined.values.items() if isinstance(each, v.Union)
            }
            return joined._replace(values={**joined.values, **told})
        return None if node.name == "__init__" else self._by_habit(node, function, joined)

    def _of_test(self, function: v.Function, given: dict[str, v.Value]) -> Entry:
        combined = self._analysis.parameters.combined
        declared = self._analysis.parameters.declared(function)
        values = {key: combined(given[key], each) if key in given else each for key, each in declared.items()}
        return Entry(values, self._analysis.mode_of(function, None))

    def _sites(self, scopes: tuple[ast.AST, ...]) -> list[Site]:
        sites = self._calls_of(_name_called(scopes))
        return [] if len(sites) > MAX_CALLERS else [e for e in sites if not any(s is scopes[-1] for s in e.scopes)]

    def _calls_of(self, name: str) -> list[Site]:
        """The calls of a name, searched once, as each class of a module may have a `forward`."""
        if name not in self._by_name:
            rows = self._module.source.rows_with_name(name)
            self._by_name[name] = find_calls(self._module.source, rows, lambda call: last_name(call.func) == name)
        return self._by_name[name]

    def _calls_given(self, name: str) -> list[Site]:
        """The calls with a name as an argument, searched once, as each cell of a notebook may define the name anew."""
        if name not in self._given:
            rows = self._module.source.rows_with_name(name)
            self._given[name] = find_calls(self._module.source, rows, lambda call: name in map(last_name, call.args))
        return self._given[name]

    def _of_callback(self, scopes: tuple[ast.AST, ...], function: v.Function, depth: int) -> Entry | None:
        """The entry of a function that only a library calls, with an array or a number as first argument."""
        name = _name_called(scopes)
        sites = self._calls_given(name)
        names = parameter_names(function.node.args)
        if len(sites) != 1 or not names or self._is_handed_on(scopes, 1):
            return None
        seen = self._around(sites[0].scopes, depth - 1).seen
        called = None if seen is None else seen.calls.get(id(sites[0].call))
        if called is None or not isinstance(called[0], v.Symbol):
            return None
        if name not in map(last_name, functions_given(sites[0].call, called[0].name)):
            return None
        declared = self._analysis.parameters.declared(function)
        return Entry({**declared, names[0]: v.NonTensor("array", 0)}, self._analysis.mode_of(function, None))

    def _is_handed_on(self, scopes: tuple[ast.AST, ...], calls: int) -> bool:
        """True if the name occurs in other places than its definition and its calls."""
        name = _name_called(scopes)
        return len(re.findall(rf"\b{name}\b", uncommented(self._module.source.text))) > calls + 1

    def _joined(
        self, scopes: tuple[ast.AST, ...], function: v.Function, sites: list[Site], depth: int, *, is_closed: bool
    ) -> Entry | None:
        """The joined entry of a function from some calls; None if one may call another function of the same name."""
        parameters, node = self._analysis.parameters, scopes[-1]
        is_method = len(scopes) > 1 and isinstance(scopes[-2], ast.ClassDef)
        has_receiver = is_method and "staticmethod" not in decorator_names(function.node)
        joined: dict[str, v.Value] = {}
        risky: dict[str, v.Value] = {}
        modes: list[Fact] = []
        for site in sites:
            seen = self._around(site.scopes, depth - 1).seen
            if seen is None or id(site.call) not in seen.calls:
                continue
            record = record_of(seen, site, node)
            if record is None and is_method and not is_closed:
                return None  # another class may have a method of this name
            if record is None:
                continue
            called_on, arguments, mode = record
            receiver = _receiver(called_on, function.owner) if has_receiver else None
            for key, value in parameters.bound(function, receiver, arguments).items():
                joined[key] = join(joined.get(key, v.NOTHING), value)
                if is_at_risk(value, mode):
                    value = resting_on(value, called_at(function, self._module, site))
                    risky[key] = join(risky.get(key, v.NOTHING), value)
            modes.append(mode)
        if not modes:
            return None
        first = parameters.receiver_of(function)
        if first is not None:
            joined[first] = parameters.declared(function)[first]
        return Entry(joined, self._analysis.mode_of(function, common_mode(modes)), risky=risky)

    def _by_habit(
        self, node: ast.FunctionDef | ast.AsyncFunctionDef, function: v.Function, joined: Entry
    ) -> Entry | None:
        """The entry of a public function: callers in its module may raise findings, and lower them by habit alone."""
        where = Spot(self._module.filename, node.lineno, self._module.disabled_habits)
        basis = where.habit("callers-in-module", f"`{node.name}` is public, but its module calls it only without grad")
        if basis is None:
            return None
        declared = self._analysis.parameters.declared(function)
        values = {
            key: joined.risky.get(key) or _without_grad(value, joined.values[key], basis)
            for key, value in declared.items()
        }
        own = self._analysis.mode_of(function, None)
        is_off = own is None and joined.mode is False
        return Entry(values, False if is_off else own, basis.about("grad mode") if is_off else PROVED)

    def _is_closed(self, scopes: tuple[ast.AST, ...]) -> bool:
        """True if all calls of a function are in its module: it is nested, private, or in a test or script."""
        node, module = scopes[-1], self._module
        assert isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        if isinstance(scopes[-2], FUNCTIONS):
            return True
        if not decorator_names(node) <= _KEEP_CALLERS:
            return False
        if node.name.startswith("_") and not node.name.endswith("__"):
            return True
        if module.use.is_test or module.is_notebook:
            return True
        return module.use.is_script and not module.use.is_in_package


def record_of(seen: Seen | None, site: Site, function: ast.AST) -> tuple[v.Value, v.Arguments, Fact] | None:
    """The recorded operands and mode of a call, if it may enter the function."""
    if seen is None or id(function) not in seen.callees.get(id(site.call), ()):
        return None
    return seen.calls.get(id(site.call))


def common_mode(modes: list[Fact]) -> Fact:
    return modes[0] if all(each is modes[0] for each in modes) else None


def is_at_risk(value: v.Value, mode: Fact) -> bool:
    """True if a tensor in the value is on a device, or requires grad where grad mode is on."""
    if isinstance(value, v.Instance):
        return False
    tensors = [each for each in held_in(value) if isinstance(each, (v.Tensor, v.Unknown))]
    if any(each.on_cpu is False or each.device_taint is v.DeviceTaint.CHOSEN for each in tensors):
        return True
    return mode is True and have_param_taint(tensors)


def called_at(function: v.Function, module: Module, site: Site) -> AllEvidence:
    """The evidence for facts of a parameter that come from a call."""
    name, row = getattr(function.node, "name", "function"), site.call.lineno
    return frozenset(
        Evidence(Strength.CALLERS, about, name, "called here", module.filename, row) for about in ("device", "grad")
    )


def _receiver(called_on: v.Value, owner: v.Class | None) -> v.Instance | None:
    made = None if owner is None else v.Instance(owner)
    return called_on if made is not None and isinstance(called_on, v.Instance) else made


def _name_called(scopes: tuple[ast.AST, ...]) -> str:
    node, around = scopes[-1], scopes[-2]
    name: str = getattr(node, "name", "")
    return around.name if name == "__init__" and isinstance(around, ast.ClassDef) else name


def _is_called_by_name_alone(name: str) -> bool:
    """True for `forward` and special methods, which are also called without their name."""
    return name == "forward" or (name.startswith("__") and name != "__init__")


def _without_grad(declared: v.Value, given: v.Value, basis: Basis) -> v.Value:
    """A parameter without grad, by habit, if the known calls pass no grad."""
    if isinstance(declared, (v.Tensor, v.Unknown)):
        if declared.requires_grad is None and tensor_facts(given)[1] is False:
            return believed(declared, basis, requires_grad=False)
        return with_evidence(declared, max_device_taint(members(given)), have_param_taint((given,)))
    return mapped(declared, lambda part: _without_grad(part, given, basis))
