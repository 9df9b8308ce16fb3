"""The driver: from candidates to observations (the value each works on), by evaluating the functions that hold them."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import names_read
from tonumpy.engine.names.flags import is_fixed_flag
from tonumpy.engine.values.evidence import PROVED, cut_off
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import evidence_in, have_param_taint, left_open, members, tensor_facts
from tonumpy.engine.values.values import Arguments, Instance, Tensor, Unknown
from tonumpy.inference.habits import callers_in_module, collate_function
from tonumpy.inference.summaries.analysis import Analysis
from tonumpy.inference.summaries.budget import MAX_STATEMENTS, MAX_STATEMENTS_ELSEWHERE
from tonumpy.inference.summaries.callers import optimistic_entry
from tonumpy.inference.summaries.closed_world import all_callers_are_known, may_be_asked
from tonumpy.inference.summaries.repository_callers import Mentions
from tonumpy.inference.transfer.targets import Observation, Targets
from tonumpy.text.recursion import note_cut

if TYPE_CHECKING:
    from collections.abc import Callable
    from collections.abc import Sequence as Items
    from typing import Protocol, TypeVar

    from tonumpy.engine.names.module import Module
    from tonumpy.engine.values.values import Value
    from tonumpy.inference.summaries.entry import Entry
    from tonumpy.text.candidates import Candidate, Guard, OperationSite, ReturnSite, Scope, Site

    _Asked = TypeVar("_Asked", "Candidate", "Site | ReturnSite", "OperationSite", "Site | OperationSite")

    class Judged(Protocol):
        """A conversion, with what is known of it."""

        @property
        def grad_is_proved(self) -> bool: ...
        @property
        def device_is_proved(self) -> bool: ...
        @property
        def is_settled(self) -> bool: ...


Observations = dict[int, Observation]  # by the id of the call


class Outcome(NamedTuple):
    """The conversions that some observations give."""

    conversions: Items[Judged | None]
    is_settled: bool  # none of them can raise, and nothing else about them counts


def observe(
    module: Module,
    candidates: Items[_Asked],
    limit: int = MAX_STATEMENTS,
    outcome: Callable[[Items[_Asked], Observations], Outcome] | None = None,
) -> Observations:
    """The observation of each candidate, by the id of its call; `limit` bounds the statements per function.

    Each function with candidates is evaluated once for each set of flags that guard them, since `if is_numpy: return
    x.numpy()` holds under the same flag further up. Stages, each only if the one before left a candidate open: the
    declared entry; callers in the module; callers in the repository. Callers cost far more than all else.

    `outcome` judges observations.
    """
    observed: Observations = {}
    mentions = Mentions(module)
    queries = _Queries(module, limit)
    for guards, group in _by_function(module, candidates):
        most = _limit_of(group, limit)
        seen = queries.ask(partial(_observe_group, module, group, guards, most, outcome))
        observed.update(seen)
        if outcome is None or (outcome(group, seen).is_settled and not _are_told_by_own_callers(seen)):
            continue
        if _may_be_settled_elsewhere(outcome, group, seen) and mentions.may_show(group[0].scopes):
            module.project.followed.begin_query()
            everywhere = Analysis(module, looks_everywhere=True)
            try:
                observed.update(_with_repository(group, guards, outcome, seen, everywhere))
            finally:
                everywhere.close()
    queries.close()
    return observed


class _Queries:
    """One query per function with candidates. An answer depends on no earlier query: queries share an analysis only
    while no limit could make a difference; the first one for which a limit could is repeated alone."""

    def __init__(self, module: Module, limit: int) -> None:
        self._module = module
        self._least = limit // 2  # that a run may spend
        self._shared: Analysis | None = None

    def ask(self, query: Callable[[Analysis], Observations]) -> Observations:
        """The observations of `query`, asked with the shared analysis, or alone if a limit was near."""
        is_alone = self._shared is None
        if self._shared is None:
            self._module.project.followed.begin_query()
            self._shared = Analysis(self._module)
        self._shared.budget.begin_query()
        seen = query(self._shared)
        if self._shared.budget.is_ample(self._least) and not self._module.project.followed.has_refused:
            return seen
        self.close()
        return seen if is_alone else self.ask(query)

    def close(self) -> None:
        """Drop the shared analysis."""
        if self._shared is not None:
            self._shared.close()
            self._shared = None


def _limit_of(group: Items[_Asked], limit: int) -> int:
    """The statements of a script or of all cells of a notebook stand in one scope: there `limit` is that of each
    statement with a candidate, within what a query may spend. A function's candidates share it."""
    if not isinstance(group[0].scopes[-1], ast.Module):
        return limit
    return max(limit, min(limit * len({id(each.statement) for each in group}), MAX_STATEMENTS))


def _by_function(module: Module, candidates: Items[_Asked]) -> list[tuple[dict[str, bool], list[_Asked]]]:
    groups: dict[tuple[int, tuple[Guard, ...]], list[_Asked]] = {}
    for candidate in candidates:
        scope = candidate.scopes[-1]
        guards = tuple(guard for guard in candidate.guards if is_fixed_flag(module, scope, *guard))
        groups.setdefault((id(scope), guards), []).append(candidate)
    return [(dict(guards), group) for (_, guards), group in groups.items()]


class _Runs:
    """The runs of one function for its candidates, from one entry or another. No two functions within a function, which
    would know of each other: compiled they would keep all of it until the garbage is collected."""

    def __init__(self, analysis: Analysis, module: Module, group: list[_Asked], guards: dict[str, bool]) -> None:
        statements = {id(candidate.statement): candidate.statement for candidate in group}
        self._analysis = analysis
        self._module = module
        self._scopes = group[0].scopes
        self._guards = guards
        self._targets = Targets(frozenset(id(candidate.call) for candidate in group), frozenset(statements))
        self._names = {name for statement in statements.values() for name in names_read(statement)}

    def observed(self, entry: Entry | None, limit: int) -> Observations:
        self._analysis.refuel(limit)
        frames = self._analysis.entries
        frame = frames.frame(self._module, self._scopes, self._targets, self._names, self._guards, entry)
        return frame.seen.observations

    def proved(self, found: Observations, limit: int, alone: Observations | None = None) -> Observations:
        """What would be so with grad mode on as well does not rest on what is said of that. `alone` is what is seen
        from the declared entry, where that has been worked out."""
        if not any(each.evidence for each in found.values()):
            return found
        if alone is None:
            alone = self.observed(self._analysis.entries.declared(self._module, self._scopes), limit)
        return {
            call: each._replace(evidence=PROVED) if call in alone and _has_no_grad(alone[call]) else each
            for call, each in found.items()
        }


def _observe_group(
    module: Module,
    group: list[_Asked],
    guards: dict[str, bool],
    limit: int,
    outcome: Callable[[Items[_Asked], Observations], Outcome] | None,
    analysis: Analysis,
    entry: Entry | None = None,
) -> Observations:
    scopes = group[0].scopes
    runs = _Runs(analysis, module, group, guards)
    analysis.refuel(limit)
    try:
        if analysis.looks_everywhere or not may_be_asked(module, scopes):
            return runs.observed(entry, limit)
        alone = None
        if outcome is not None and not _is_known_by_name(scopes):
            declared = analysis.entries.declared(module, scopes)
            alone = runs.observed(declared, limit)
            shown = outcome(group, alone)
            if shown.is_settled:
                return runs.proved(alone, limit, alone)
            if not module.words.may_leave_grad_mode_off and not all_callers_are_known(module, scopes):
                best = outcome(group, runs.observed(optimistic_entry(module, declared), limit))
                if best.conversions == shown.conversions:
                    return runs.proved(alone, limit, alone)
        # Callers are followed half as far: what they show beyond that has changed no finding on 160 real files.
        return runs.proved(runs.observed(None, limit // 2), limit, alone)
    except RecursionError:
        analysis.budget.cut()
        return {id(candidate.call): _too_deep(module, candidate.call.lineno) for candidate in group}


def _too_deep(module: Module, row: int) -> Observation:
    """What is known where the code is nested too deeply."""
    note_cut()
    cut = cut_off("depth", "the code is nested too deeply", module.filename, row)
    return Observation(left_open(Unknown(Reason.CUT_SHORT), cut), (), Arguments(()), None)


def _with_repository(
    group: list[_Asked],
    guards: dict[str, bool],
    outcome: Callable[[Items[_Asked], Observations], Outcome],
    seen: Observations,
    analysis: Analysis,
) -> Observations:
    """The observations `seen`, replaced by those under repository callers for candidates that these prove safe; also
    for those that calls in the module spoke for by habit, if repository callers show parameter taint."""
    module, scopes = analysis.module, group[0].scopes
    if not _are_told_by_own_callers(seen):
        best = _most_optimistic_entry(analysis.entries.declared(module, scopes))
        hoped = _observe_group(module, group, guards, MAX_STATEMENTS_ELSEWHERE, None, analysis, best)
        if not any(_cannot_raise(outcome, each, hoped) > _cannot_raise(outcome, each, seen) for each in group):
            return seen
    more = _observe_group(module, group, guards, MAX_STATEMENTS_ELSEWHERE, None, analysis)
    found = dict(seen)
    for candidate in group:
        key = id(candidate.call)
        if key not in more:
            continue
        is_settled = _cannot_raise(outcome, candidate, more) and not _cannot_raise(outcome, candidate, seen)
        is_told = key not in seen or _are_told_by_own_callers({key: seen[key]})
        if is_settled or (is_told and have_param_taint((more[key].receiver,))):
            found[key] = more[key]
        elif key in seen and _may_have_grad(more[key].receiver) and more[key].grad_mode is not False:
            found[key] = seen[key]._replace(may_have_grad=True)
    return found


def _may_have_grad(value: Value) -> bool:
    """Whether what callers give is surely a tensor, and nothing shows that it requires no grad."""
    if have_param_taint((value,)):
        return True
    tensors = (each for each in members(value) if isinstance(each, Tensor) and each.certainty == "tensor")
    return any(each.requires_grad is not False for each in tensors)


def _may_be_settled_elsewhere(
    outcome: Callable[[Items[_Asked], Observations], Outcome], group: Items[_Asked], seen: Observations
) -> bool:
    """True if repository callers may change an observation: some candidate can raise.

    They may spend half of all else.
    """
    if _are_told_by_own_callers(seen):
        return True
    return any(id(each.call) not in seen or not _cannot_raise(outcome, each, seen) for each in group)


def _most_optimistic_entry(declared: Entry) -> Entry:
    """The most favourable entry: every argument a tensor on the CPU without grad, and grad mode off. `self` stays, as
    callers of other methods may speak for what it holds."""
    arguments: dict[str, Value] = {
        name: value if isinstance(value, Instance) else Tensor(on_cpu=True, requires_grad=False)
        for name, value in declared.arguments.items()
    }
    return declared._replace(arguments=arguments, grad_mode=False)


def _cannot_raise(
    outcome: Callable[[Items[_Asked], Observations], Outcome], candidate: _Asked, seen: Observations
) -> bool:
    (conversion,) = outcome([candidate], seen).conversions
    return conversion is None or (conversion.grad_is_proved and conversion.device_is_proved)


def _are_told_by_own_callers(seen: Observations) -> bool:
    """Whether the callers in its module speak for those in other files, of some candidate."""
    grounds = (ground for each in seen.values() for ground in each.evidence | evidence_in(each.receiver))
    return any(ground.id == callers_in_module.ID for ground in grounds)


def _has_no_grad(seen: Observation) -> bool:
    if seen.grad_mode is False:
        return True
    return all(tensor_facts(each)[1] is False for each in (seen.receiver, *seen.arguments.values()))


def _is_known_by_name(scopes: Items[Scope]) -> bool:
    """Whether what a function is given is a guess from what it, or its class, is called; its callers know better."""
    return any(collate_function.is_meant(scope.name) for scope in scopes[-2:] if not isinstance(scope, ast.Module))
