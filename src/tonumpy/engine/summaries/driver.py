"""Runs each body that holds sites once per entry, and returns the observations of all sites in it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeVar

from tonumpy.engine.interpreter.frame import Frame, Observation
from tonumpy.engine.names.bindings import parameter_names
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.analysis import Analysis
from tonumpy.engine.summaries.callers import Callers, Entry
from tonumpy.engine.summaries.callers_elsewhere import CallersElsewhere
from tonumpy.engine.values import values as v
from tonumpy.engine.values.evidence import PROVED, AllEvidence
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import held_in, tensor_facts
from tonumpy.facts import Fact
from tonumpy.findings import Confidence
from tonumpy.text.candidates import Guard, Scope, Site
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import FUNCTIONS, walk


class Asked(Protocol):
    """A place in the code: a call, an operator, a store or a `return`, with the scopes and flags around it."""

    @property
    def call(self) -> ast.AST: ...
    @property
    def scopes(self) -> tuple[Scope, ...]: ...
    @property
    def guards(self) -> tuple[Guard, ...]: ...


class Judged(Protocol):
    """A conversion with its confidence."""

    @property
    def confidence(self) -> Confidence: ...


_Asked = TypeVar("_Asked", bound=Asked)


Observations = dict[int, Observation]  # by the id of the call
MAX_CALLER_DEPTH = 2


class Outcome(NamedTuple):
    """The conversions made of some observations; `is_settled`: none of them can raise."""

    conversions: Sequence[Judged | None]
    is_settled: bool


_CURRENT: list[Driver] = []  # the driver of the last module


def observe(
    module: Module,
    candidates: Sequence[_Asked],
    outcome: Callable[[Sequence[_Asked], Observations], Outcome] | None = None,
) -> Observations:
    """The observation of each site, by the id of its call.

    If the declared parameters do not settle a site, by `outcome`, or if `outcome` is None, callers are analysed too.
    """
    driver = _driver_of(module)
    groups: dict[tuple[int, tuple[Guard, ...]], list[_Asked]] = {}
    for candidate in candidates:
        scope = candidate.scopes[-1]
        flags = tuple(each for each in candidate.guards if driver.is_fixed(scope, each.name))
        groups.setdefault((id(scope), flags), []).append(candidate)
    observed: Observations = {}
    for (_, flags), group in groups.items():
        observed.update(driver.observed(group, {name: bool(holds) for name, holds in flags}, outcome))
    return observed


def _driver_of(module: Module) -> Driver:
    """The driver of a module; it is kept until another module is queried."""
    if not _CURRENT or _CURRENT[0].module is not module:
        while _CURRENT:
            _CURRENT.pop().close()
        _CURRENT.append(Driver(module))
    return _CURRENT[0]


class Driver:
    """Runs the bodies of one module, each from each entry once."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._analysis = Analysis(module)
        self._callers = Callers(module, self._analysis, self._around)
        self._elsewhere = CallersElsewhere(module, self._analysis, self._run_elsewhere)
        self._others: dict[int, Frame] = {}  # runs of bodies in other files
        self._declared: dict[tuple[int, tuple[tuple[str, bool], ...], bool], Frame] = {}
        self._called: dict[tuple[int, tuple[tuple[str, bool], ...], bool], tuple[Entry, Frame] | None] = {}
        self._stores: dict[int, Counter[str]] = {}  # how often a body binds each name
        self._in_progress: set[int] = set()
        self._is_shallow = False  # the query is about arguments: far more bodies, with less to find in each

    def close(self) -> None:
        """Drop all results: the parts refer to each other, and the garbage collector is off during a run."""
        for frame in self._analysis.closures:
            frame.close()
        for part in (self._analysis, self._callers, self._elsewhere, self):
            vars(part).clear()

    def is_fixed(self, scope: ast.AST, name: str) -> bool:
        """True if a body binds a flag exactly once (a parameter, or one assignment), so that all tests of it agree."""
        known = self._stores.get(id(scope))
        if known is None:
            nodes = list(walk(scope))
            switches = {id(each.targets[0]) for each in nodes if isinstance(each, ast.Assign) and _is_switch(each)}
            stored = (each for each in nodes if isinstance(each, ast.Name) and not isinstance(each.ctx, ast.Load))
            known = self._stores[id(scope)] = Counter(each.id for each in stored if id(each) not in switches)
            if isinstance(scope, FUNCTIONS):
                known.update(parameter_names(scope.args))
        return known[name] == 1

    def observed(
        self,
        group: list[_Asked],
        flags: Mapping[str, bool],
        outcome: Callable[[Sequence[_Asked], Observations], Outcome] | None,
    ) -> Observations:
        """The observations of the sites in one body, under assumed values of some flags."""
        scopes = group[0].scopes
        self._is_shallow = outcome is None
        try:
            seen = _observations(self._run_declared(scopes, flags), group)
            if not isinstance(scopes[-1], FUNCTIONS):
                return seen
            # pytest's values may show a dtype even if device and grad are settled.
            if outcome is not None and not self.module.use.holds_tests and outcome(group, seen).is_settled:
                return seen
            if outcome is None and not any(map(_is_open, seen.values())):
                return seen
            called = self._run_called(scopes, MAX_CALLER_DEPTH, flags)
        except RecursionError:
            note_cut()
            return {
                id(each.call): Observation(v.Unknown(Reason.CUT_SHORT), (), v.Arguments(()), None) for each in group
            }
        if called is not None:
            entry, frame = called
            told = _observations(frame, group, entry.evidence)
            seen = {key: _proved(seen.get(key), each) for key, each in told.items()}
        return seen if outcome is None else {**seen, **self._raised(group, seen, flags, outcome)}

    def _raised(
        self,
        group: list[_Asked],
        seen: Observations,
        flags: Mapping[str, bool],
        outcome: Callable[[Sequence[_Asked], Observations], Outcome],
    ) -> Observations:
        """The observations of sites that get high confidence by callers in other files."""
        open_ones = [each for each in group if _confidence(outcome([each], seen)) != "high"]
        if not open_ones or outcome(open_ones, seen).is_settled:
            return {}
        try:
            risky = self._elsewhere.risky(group[0].scopes)
            if risky is None:
                return {}
            self._analysis.begin()
            frame = self._analysis.run(self.module, group[0].scopes, risky.values, risky.mode, flags)
        except RecursionError:
            note_cut()
            return {}
        told = _observations(frame, open_ones)
        return {
            id(each.call): told[id(each.call)]
            for each in open_ones
            if id(each.call) in told and _confidence(outcome([each], told)) == "high"
        }

    def _run_elsewhere(self, module: Module, site: Site) -> Frame:
        """The run of a body in another file, with its declared parameters."""
        node = site.scopes[-1]
        if id(node) not in self._others:
            self._analysis.begin(is_shallow=True)
            values, mode = self._declared_entry(module, site.scopes)
            self._others[id(node)] = self._analysis.run(module, site.scopes, values, mode, is_shallow=True)
        return self._others[id(node)]

    def _declared_entry(self, module: Module, scopes: tuple[ast.AST, ...]) -> tuple[dict[str, v.Value], Fact]:
        if not isinstance(scopes[-1], FUNCTIONS):
            return {}, True if isinstance(scopes[-1], ast.Module) else None
        function = self._analysis.function_of(module, scopes)
        return self._analysis.parameters.declared(function), self._analysis.mode_of(function, None)

    def _around(self, scopes: tuple[ast.AST, ...], depth: int) -> Frame:
        """The run of a body that holds a call; with the entry from its own callers if that is known."""
        called = self._run_called(scopes, depth, {}) if isinstance(scopes[-1], FUNCTIONS) else None
        return self._run_declared(scopes, {}) if called is None else called[1]

    def _run_declared(self, scopes: tuple[ast.AST, ...], flags: Mapping[str, bool]) -> Frame:
        """The run of a body with its declared parameters."""
        node = scopes[-1]
        key = (id(node), tuple(flags.items()))
        known = self._declared.get((*key, False)) or (self._declared.get((*key, True)) if self._is_shallow else None)
        if known is None:
            analysis = self._analysis
            analysis.begin(is_shallow=self._is_shallow)
            values, mode = self._declared_entry(self.module, scopes)
            known = analysis.run(self.module, scopes, values, mode, flags, is_shallow=self._is_shallow)
            self._declared[(*key, self._is_shallow)] = known
        return known

    def _run_called(
        self, scopes: tuple[ast.AST, ...], depth: int, flags: Mapping[str, bool]
    ) -> tuple[Entry, Frame] | None:
        """The entry from callers and the run with it; None if the callers do not decide the entry."""
        node = scopes[-1]
        key = (id(node), tuple(flags.items()))
        for each in ((*key, self._is_shallow), (*key, False)):
            if each in self._called:
                return self._called[each]
        if id(node) in self._in_progress or depth <= 0:
            return None
        self._in_progress.add(id(node))
        try:
            entry = self._callers.entry(scopes, depth)
        finally:
            self._in_progress.discard(id(node))
        found = None
        if entry is not None:
            self._analysis.begin(is_shallow=self._is_shallow)
            made = self._analysis.run(self.module, scopes, entry.values, entry.mode, flags, is_shallow=self._is_shallow)
            found = entry, made
        self._called[(*key, self._is_shallow)] = found
        return found


def _confidence(outcome: Outcome) -> Confidence | None:
    (conversion,) = outcome.conversions
    return None if conversion is None else conversion.confidence


def _is_open(seen: Observation) -> bool:
    """True if callers may add facts to an observation."""
    values = (seen.receiver, *seen.arguments.values(), seen.arguments.starred)
    held = (each for value in values for each in held_in(value))
    return any(isinstance(each, (v.Tensor, v.Unknown)) or each == v.NonTensor("literal") for each in held)  # a default


def _is_switch(node: ast.Assign) -> bool:
    """True for `flag = False`, which has not run where the flag holds."""
    return isinstance(node.value, ast.Constant) and isinstance(node.value.value, bool)


def _proved(alone: Observation | None, told: Observation) -> Observation:
    """Drop the evidence for grad mode if the declared entry alone shows that mode is off or no operand requires
    grad."""
    if alone is None or not told.evidence:
        return told
    values = (alone.receiver, *alone.arguments.values())
    is_so = alone.grad_mode is False or all(tensor_facts(each)[1] is False for each in values)
    return told._replace(evidence=PROVED) if is_so else told


def _observations(frame: Frame, group: Sequence[Asked], evidence: AllEvidence = PROVED) -> Observations:
    seen = frame.seen
    assert seen is not None
    found: Observations = {}
    for site in group:
        record = seen.calls.get(id(site.call))
        if record is not None:
            receiver, arguments, mode = record
            if isinstance(receiver, v.Nothing) and receiver.is_content:
                receiver = v.Unknown(Reason.CONTENT)  # other code filled the list that is empty here
            links = tuple((id(node), seen.values[id(node)]) for node in _chain(site.call) if id(node) in seen.values)
            found[id(site.call)] = Observation(receiver, links, arguments, mode, evidence if mode is False else PROVED)
    return found


def _chain(node: ast.AST) -> list[ast.expr]:
    """The parts of the receiver of a call, the innermost first."""
    found: list[ast.expr] = []
    inner = node.func.value if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) else None
    while inner is not None:
        found.append(inner)
        if isinstance(inner, ast.Call):
            inner = inner.func.value if isinstance(inner.func, ast.Attribute) else inner.func
        else:
            inner = inner.value if isinstance(inner, (ast.Attribute, ast.Subscript)) else None
    return found[::-1]
