"""The whole way of a file: source -> candidates -> facts -> findings, and on to edits -> new text, verified."""

from __future__ import annotations

from bisect import bisect_left
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.config import OUR_CODES
from tonumpy.conversions import Conversion, ImplicitConversion
from tonumpy.detectors.lost_gradients import loses_gradient
from tonumpy.detectors.memory_walk import sharing_of
from tonumpy.detectors.receivers import infer
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import path_of_module
from tonumpy.engine.names.torch_compiled import compiled_around
from tonumpy.engine.values.evidence import Strength
from tonumpy.findings import CONFIDENCES, Finding, Fix, Ground, Position
from tonumpy.inference.completeness import Complete, complete_candidates
from tonumpy.judgements import (
    Judgement,
    as_safe_as_callers_allow,
    as_the_code_around_has_it,
    never_by_halves,
    node_of,
)
from tonumpy.phrases import CHOSEN
from tonumpy.repair.edit_layout import plan_edits, plan_fix
from tonumpy.repair.operations import compose
from tonumpy.rules import all_rules
from tonumpy.setting_values import ANY_CODE
from tonumpy.text.candidates import call_span, find_candidates
from tonumpy.text.noqa import suppress
from tonumpy.text.prefilter import (
    may_hold_approximations,
    may_hold_comments,
    may_hold_consumers,
    may_hold_copies,
    may_hold_masks,
    may_hold_mixtures,
    may_hold_risks,
    may_hold_sharers,
    may_hold_taken,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator
    from typing import TypeVar

    from tonumpy.config import Settings
    from tonumpy.detectors.memory_regions import Sharing
    from tonumpy.engine.names.project import Project
    from tonumpy.findings import Applicability, Edit, RepairStyle, Sureness
    from tonumpy.observed.observed_conversions import Seen
    from tonumpy.repair.operations import Operation
    from tonumpy.repair.rewrite import Repair
    from tonumpy.rules import Rule
    from tonumpy.sinks.risk_flow import RiskFlow
    from tonumpy.text.candidates import Candidate, Site
    from tonumpy.text.source import Source

    _Judged = TypeVar("_Judged", Conversion, ImplicitConversion, Conversion | ImplicitConversion)

MAX_PASSES = 10  # two are known to be needed


class Fixed(NamedTuple):
    """The result of a fix: the new text, the findings that it repaired and those that are left in the new text.

    `is_settled`: another fix would change nothing. A repaired finding has its place in the text that it was found in.
    `hidden` is how many possible findings are not told, where only certain ones were asked for.
    """

    text: str
    applied: list[Finding]
    remaining: list[Finding]
    is_settled: bool = True
    hidden: int = 0


def check(source: Source, settings: Settings, project: Project) -> list[Finding]:
    """The findings of one file in the order of the text; `noqa` comments are not yet considered (see text/noqa.py).

    Their places are those in the text; `source.placed` makes them those that a user knows.
    """
    return [judgement.finding for judgement in _judge(source, settings, project) if not judgement.is_hidden]


def check_and_count(source: Source, settings: Settings, project: Project) -> tuple[list[Finding], int]:
    """The same, and how many possible findings are hidden where certain ones alone are asked for; `noqa` comments are
    considered in that number."""
    judged = _judge(source, settings, project)
    return [each.finding for each in judged if not each.is_hidden], _count_hidden(source, judged)


def _count_hidden(source: Source, judged: list[Judgement]) -> int:
    """The number of conversions of which only what is hidden would be told."""
    told = {each.finding.start for each in judged if not each.is_hidden}
    hidden = [each.finding for each in judged if each.is_hidden and each.finding.start not in told]
    return len(suppress(source, hidden)) if hidden else 0


def judge(source: Source, settings: Settings, project: Project) -> list[Judgement]:
    """The judgements in the order of the text, less those that a `noqa` comment suppresses."""
    judged = {each.finding: each for each in _judge(source, settings, project) if not each.is_hidden}
    return [judged[finding] for finding in suppress(source, list(judged))]


def repair(source: Source, judgements: Iterable[Judgement]) -> tuple[Edit, ...]:
    """The edits that do what the judgements ask for together; RewriteError where they do anything else as well."""
    from tonumpy.repair.rewrite import rewrite  # start-up

    repairs = _repairs(judgements, source)
    if repairs:
        rewrite(source, repairs)
    return tuple(sorted({edit for each in repairs for edit in each.edits}))


def fix(
    source: Source, settings: Settings, project: Project, *, unsafe: bool, held: Collection[tuple[str, str]] = ()
) -> Fixed:
    """Repair what may be repaired and no `noqa` comment suppresses, until nothing is left to do.

    A repair may be what another waits for: `.data` after `.cpu()` becomes `.detach()`, which then goes before `.cpu()`.
    `held` are the codes and places of findings, as they are reported before, that are neither repaired nor told.
    RewriteError (a SourceError) where the outcome is not exactly what was meant.
    """
    allowed: tuple[Applicability, ...] = ("safe", "unsafe") if unsafe else ("safe",)
    applied: list[Finding] = []
    left_alone: set[int] | None = None  # offsets
    for _ in range(MAX_PASSES):
        judgements = _judge(source, settings, project)
        judged = {each.finding: each for each in judgements if not each.is_hidden}
        kept = suppress(source, list(judged))
        if left_alone is None:
            places = zip(kept, source.placed(kept), strict=True)
            out = [finding for finding, placed in places if (placed.code, placed.place) in held]
            left_alone = {source.offset(finding.start) for finding in out}
            kept = [finding for finding in kept if finding not in out] if out else kept
        else:
            kept = _without(kept, left_alone, source)
        due = [finding for finding in kept if finding.fix and finding.fix.applicability in allowed]
        if not due:
            return Fixed(source.document, applied, source.placed(kept), hidden=_count_hidden(source, judgements))
        from tonumpy.repair.rewrite import rewrite  # start-up

        repairs = _repairs([judged[finding] for finding in due], source)
        applied += source.placed(due)
        edits = sorted({edit for repair in repairs for edit in repair.edits})
        left_alone = _moved(left_alone, edits, source)
        source = source.edited(rewrite(source, repairs), edits)
    remaining = _without(suppress(source, check(source, settings, project)), left_alone or (), source)
    return Fixed(source.document, applied, source.placed(remaining), is_settled=False)


def _without(findings: list[Finding], offsets: Collection[int], source: Source) -> list[Finding]:
    return [finding for finding in findings if source.offset(finding.start) not in offsets] if offsets else findings


def _moved(offsets: Iterable[int], edits: Iterable[Edit], source: Source) -> set[int]:
    """The offsets as they are once the edits are made."""
    spans = [(source.offset(edit.start), source.offset(edit.end), len(edit.content)) for edit in edits]
    return {offset + sum(length - (end - start) for start, end, length in spans if end <= offset) for offset in offsets}


def _repairs(judgements: Iterable[Judgement], source: Source) -> list[Repair]:
    """One repair for each conversion: what the rules that object to it ask for goes together."""
    from tonumpy.repair.rewrite import Repair  # start-up

    asked: dict[int, list[Judgement]] = {}
    repairs = []
    for judgement in judgements:
        if judgement.conversion is not None:
            asked.setdefault(id(judgement.conversion), []).append(judgement)
        elif judgement.finding.fix is not None:
            repairs.append(Repair(None, (), judgement.finding.fix.edits))
    for together in asked.values():
        operations = compose(operation for judgement in together for operation in judgement.operations)
        edits, of_needed = plan_edits(operations, source), together[0].style == "needed"
        repairs.append(Repair(together[0].conversion, operations, edits, of_needed))
    return repairs


def module_of(source: Source, settings: Settings, project: Project) -> Module:
    """The module that is checked, with what its settings say is believed there."""
    doubted = frozenset(settings.disable_habits)
    module = Module(source, project, doubted, promises=settings.promises, sinks=settings.sinks)
    project.at_hand[path_of_module(source.filename)] = module
    return module


def as_believed(conversion: _Judged, settings: Settings) -> _Judged:
    """The facts about a conversion without the habits that are switched off."""
    return conversion.without_habits(settings.disable_habits) if settings.disable_habits else conversion


def _judge(source: Source, settings: Settings, project: Project) -> list[Judgement]:
    """In the order of the text."""
    project.begin_file()
    rules = [rule for rule in all_rules() if settings.selects(rule)]
    of_receivers = [rule for rule in rules if "receivers" in rule.judges]
    of_memory = [rule for rule in rules if "memory" in rule.judges]
    module = module_of(source, settings, project)
    candidates = find_candidates(source) if of_receivers else []
    sharers = _sharers(module) if of_memory and may_hold_sharers(source.text) else []
    sharing = cache(partial(sharing_of, source, candidates, sharers))
    conversions = _receivers(module, candidates, of_receivers, sharing)
    found = list(_judgements(conversions, of_receivers, source, settings))
    if sharers:
        from tonumpy.sinks.shared_memory import infer_sharers  # only for files that may hold such calls: start-up

        found += _judgements(infer_sharers(module, sharers, sharing()), of_memory, source, settings)
    risks = cache(partial(_risks_of, source))
    found += _implicit(module, rules, settings, risks)
    of_taken = [rule for rule in rules if "taken" in rule.judges]
    if of_taken and may_hold_taken(source.text):
        from tonumpy.sinks.taken.inference import infer_taken  # only for files that may hold such: start-up

        taken = infer_taken(module, risks, with_text=settings.confidence == "low")
        raising = {each.finding.start for each in found if each.finding.confidence != "low" and not each.is_hidden}
        of_values = _judgements(taken, of_taken, source, settings)
        found += [each for each in of_values if each.finding.start not in raising]  # what raises gives no other values
    of_masks = [rule for rule in rules if "masks" in rule.judges]
    if of_masks and may_hold_masks(source.text):
        from tonumpy.sinks.boolean_ufuncs import infer_masks  # only for files that may hold such: start-up

        found += _judgements(infer_masks(module), of_masks, source, settings)
    of_copies = [rule for rule in rules if "copies" in rule.judges]
    if of_copies and may_hold_copies(source.text):
        from tonumpy.detectors.unfinished_copies import infer_unfinished  # only where they may be: start-up

        found += _judgements(infer_unfinished(module), of_copies, source, settings)
    of_comments = [rule for rule in rules if "comments" in rule.judges]
    if of_comments and may_hold_comments(source.text.encode(errors="replace")):
        found += _comments(of_comments, source, settings, project)
    told = as_the_code_around_has_it([each for each in found if not each.is_hidden], module)
    found = [*told, *as_the_code_around_has_it([each for each in found if each.is_hidden], module)]
    if "compile" in source.text:
        found = [each for each in found if not _is_compiled(each, source)]
    if settings.observed:
        found = _with_evidence(module, found, settings, settings.observed)
    if any(CHOSEN in each.finding.message for each in found):
        from tonumpy.device_choices import with_device_lines  # only for files that hold such: start-up

        found = with_device_lines(found, module, sharing)
    found.sort(key=lambda judgement: judgement.finding.start)
    project.at_hand.clear()  # a project keeps the trees of others only
    return found


def _is_compiled(judgement: Judgement, source: Source) -> bool:
    """Whether it speaks of what torch.compile makes torch's own: nothing raises there, and gradients pass."""
    code, conversion = judgement.finding.code, judgement.conversion
    if conversion is None or (code.startswith("TNP2") and code != "TNP203"):
        return False
    place = conversion.candidate if isinstance(conversion, Conversion) else conversion.site
    return compiled_around(source, place.scopes, place.call) is not None


def _risks_of(source: Source) -> RiskFlow:
    from tonumpy.sinks.risk_flow import RiskFlow  # only for files that may hold something at risk: start-up

    return RiskFlow(source)


def _implicit(module: Module, rules: list[Rule], settings: Settings, risks: Callable[[], RiskFlow]) -> list[Judgement]:
    """Of what converts a tensor without a `.numpy()` in the text: arguments of functions, operators, indices."""
    source = module.source
    of_arguments = [rule for rule in rules if "arguments" in rule.judges]
    of_operations = [rule for rule in rules if "operations" in rule.judges]
    of_operations += [rule for rule in rules if "taken" in rule.judges]  # an array that takes a tensor for an integer
    hold_consumers = bool(of_arguments or of_operations) and may_hold_consumers(source.text)
    hold_consumers = hold_consumers or (bool(settings.sinks and of_arguments) and may_hold_risks(source.text))
    if not hold_consumers and not (of_operations and may_hold_mixtures(source.text)):
        return []
    found = list[Judgement]()
    if of_arguments and hold_consumers:
        found += _judgements(_arguments(module, risks()), of_arguments, source, settings)
        if may_hold_approximations(source.text):
            from tonumpy.sinks.approximations import infer_approximations  # only for files that hold such: start-up

            found += _judgements(infer_approximations(module, risks), of_arguments, source, settings)
    if of_operations:
        found += _judgements(_operations(module, risks()), of_operations, source, settings)
    return found


def implicit_conversions(module: Module, settings: Settings) -> list[ImplicitConversion]:
    """Those that a check at low confidence finds, whichever codes are selected, in the order of the text."""
    rules = [rule for rule in all_rules() if rule.code.startswith("TNP10")]
    risks = cache(partial(_risks_of, module.source))
    found = (each.conversion for each in _implicit(module, rules, settings._replace(confidence="low"), risks))
    return [each for each in found if isinstance(each, ImplicitConversion)]


def _comments(rules: list[Rule], source: Source, settings: Settings, project: Project) -> Iterator[Judgement]:
    """What rules say of `# noqa` comments: whether there is what they suppress is decided by all other rules."""
    from tonumpy.repair.comments import removal  # only where such a rule is selected: start-up
    from tonumpy.text.noqa_comments import lines_of  # the same: start-up

    of_all = settings._replace(preview=True, select=(ANY_CODE,), ignored_here=())
    of_all = of_all._replace(ignore=tuple(rule.code for rule in rules))
    found = check(source, of_all, project)
    found += [
        each._replace(code=rule.code) for rule in all_rules() for each in found if each.code in rule.stands_in_for
    ]
    suppressed = sorted({(each.start.row, each.code) for each in set(found) - set(suppress(source, found))})
    of_comments = {rule.code for rule in rules}
    for line in lines_of(source) or ():
        for comment in line.comments:
            first, last = comment.rows
            at, stop = bisect_left(suppressed, (first,)), bisect_left(suppressed, (last + 1,))
            of_line = {code for _, code in suppressed[at:stop]}
            ours = [code.code for code in comment.codes if code.code.startswith(OUR_CODES)]
            ours = [code for code in ours if code not in of_comments]
            unused = [code for code in ours if not any(found.startswith(code) for found in of_line)]
            for rule in rules:
                written = [source.text[each.start : each.end] for each in comment.codes if each.code in unused]
                message = rule.check(written)
                if message is not None:
                    codes = ", ".join(written)
                    fix = Fix("safe", f"Remove `{codes}`", removal(source, comment, unused))
                    place = source.position_at(comment.start), source.position_at(comment.end)
                    yield Judgement(Finding(source.filename, rule.code, message, *place, fix), None, ())


def _sharers(module: Module) -> list[Site]:
    from tonumpy.sinks.shared_memory import sharers_in  # only for files that may hold such calls: start-up

    return sharers_in(module)


def _receivers(
    module: Module, candidates: list[Candidate], rules: list[Rule], sharing: Callable[[], Sharing]
) -> list[Conversion]:
    """Nothing is inferred about conversions that are complete as they stand and of no concern to a selected rule."""

    def concerned(among: list[Candidate]) -> set[int]:
        complete = Complete(among, module.source, sharing, partial(loses_gradient, module))
        return {id(each) for rule in rules for each in rule.concerns(complete)} if among else set()

    complete = complete_candidates(module.source, candidates)
    passed_over = {id(candidate) for candidate in complete} - concerned(complete)
    candidates = [candidate for candidate in candidates if id(candidate) not in passed_over]
    return infer(module, candidates, sharing, lambda complete: bool(concerned(complete))) if candidates else []


def _arguments(module: Module, risks: RiskFlow) -> list[ImplicitConversion]:
    from tonumpy.sinks.arguments import infer_implicit  # only for files that may hold such calls: start-up
    from tonumpy.sinks.objectives import find_given  # the same: start-up
    from tonumpy.sinks.stores import find_stores, infer_stores  # the same: start-up

    sites = find_given(module, risks)
    stores = find_stores(module.source, risks)
    given = infer_implicit(module, sites) if sites else []
    return [*given, *infer_stores(module, stores)] if stores else given


def _operations(module: Module, risks: RiskFlow) -> list[ImplicitConversion]:
    from tonumpy.sinks.mixtures import infer_mixtures  # only for files that may hold such operations: start-up
    from tonumpy.sinks.operators import find_operations  # the same: start-up

    sites = find_operations(module.source, risks)
    return infer_mixtures(module, sites) if sites else []


def judge_seen(
    module: Module, settings: Settings, seen: Iterable[Seen], confidence: Sureness = "observed"
) -> list[Judgement]:
    """The judgements of what a run has seen in a file, by the rules that are selected, in the order of the text; `noqa`
    comments are not considered."""
    source = module.source
    # A rule in preview may be wrong about a text; a run has seen it happen.
    asked = settings._replace(preview=True)
    selected = {rule.code for rule in all_rules() if asked.selects(rule)}
    # What one run has not seen is no proof that a link is needless.
    style: RepairStyle = "force" if settings.style == "force" else "links"
    found = []
    for each in seen:
        told = list(_told_of_seen(each, style)) if each.is_ruled else []
        if not told and each.message:
            told = [(each.code, each.message, "", each.operations)]
        for code, message, brief, operations in told:
            if code not in selected:
                continue
            conversion = each.conversion
            span = each.span if conversion is None or code[3] == "2" else span_of(conversion, source)
            fix = None if conversion is None else plan_fix(conversion, operations, source)
            is_trained_on = isinstance(conversion, Conversion) and conversion.trained_in is not None
            if fix and fix.applicability == "safe" and (code[3] == "2" or is_trained_on):
                fix = fix._replace(applicability="unsafe")
            finding = Finding(
                source.filename, code, message, *span, fix, confidence, brief=brief, observed=each.observed
            )
            found.append(Judgement(finding, conversion, operations, style))
    found = never_by_halves(as_safe_as_callers_allow(found, module))  # a run sees tensors, and no other caller's values
    found.sort(key=lambda judgement: judgement.finding.start)
    return found


def _with_evidence(module: Module, judgements: list[Judgement], settings: Settings, path: str) -> list[Judgement]:
    """With what former runs have seen: what was seen to fail is found with high confidence, whatever else is known of
    it, and what was seen to work is told with what is found."""
    from tonumpy.observed.observed_conversions import seen_in  # only where there are observations: start-up
    from tonumpy.observed.record import told_of, words_of, words_of_all  # the same: start-up

    source, told = module.source, told_of(module.source, path)
    failed = judge_seen(module, settings, seen_in(module, [each for each in told.sightings if each.is_refused]), "high")

    def grounded(judgement: Judgement) -> Judgement:
        finding, conversion = judgement.finding, judgement.conversion
        words = None if finding.observed is None else words_of(finding.observed)
        if conversion is not None and node_of(conversion) in told.at:
            words = words_of_all(told.at[node_of(conversion)])
        if words is None:
            return judgement
        ground = Ground("run", "kind", "rehearsal", words, source.filename, finding.start.row)
        return judgement._replace(finding=finding._replace(evidence=(ground, *finding.evidence), observed=None))

    known = {(each.finding.start, each.finding.code) for each in failed}
    rest = [each for each in judgements if (each.finding.start, each.finding.code) not in known]
    return [grounded(each) for each in (*failed, *rest)]


def _told_of_seen(seen: Seen, style: RepairStyle) -> Iterator[tuple[str, str, str, tuple[Operation, ...]]]:
    """By the rules of conversions that raise: code, message, brief and repair."""
    conversion = seen.conversion
    if isinstance(conversion, Conversion):
        kind, is_unbound = "receivers", conversion.candidate.is_unbound
    else:
        kind = "arguments" if conversion is None or conversion.mixture is None else "operations"
        is_unbound = False
    for rule in all_rules():
        concerns = rule.code.startswith("TNP10") and kind in rule.judges
        message = rule.check(conversion) if concerns else None
        if message is not None:
            operations = () if is_unbound else compose(rule.repair(conversion, style))
            if seen.is_sure:
                yield rule.code, message, rule.brief(conversion), operations
            else:
                yield rule.code, message + seen.doubt, "", ()


def _judgements(
    conversions: Iterable[Conversion | ImplicitConversion], rules: list[Rule], source: Source, settings: Settings
) -> Iterator[Judgement]:
    asked, style = CONFIDENCES.index(settings.confidence), settings.repair_style(rules)
    for found in conversions:
        conversion = as_believed(found, settings)
        reported = set[str]()
        for rule in rules:
            if not reported.isdisjoint(rule.stands_in_for):
                continue
            judged, message = conversion, rule.check(conversion)
            confidence = "low" if message is None else rule.confidence(conversion)
            if message is None and asked == CONFIDENCES.index("low"):
                judged = conversion.without_habits()
                message = None if judged is conversion else rule.check(judged)
            if message is not None and not settings.preview and rule.is_preview_kind(judged):
                continue
            if message is not None and (rule.stands_in_for or CONFIDENCES.index(confidence) <= asked):
                reported.add(rule.code)
                is_unbound = isinstance(conversion, Conversion) and conversion.candidate.is_unbound
                operations = () if is_unbound else compose(rule.repair(judged, style))
                fix = plan_fix(judged, operations, source)
                is_trained_on = isinstance(conversion, Conversion) and conversion.trained_in is not None
                if fix and fix.applicability == "safe" and (rule.fix_is_unsafe or is_trained_on):
                    fix = fix._replace(applicability="unsafe")
                span = span_of(conversion, source)
                grounds = (*grounds_of(judged), *rule.related(judged, source.filename))
                finding = Finding(source.filename, rule.code, message, *span, fix, confidence, grounds)
                finding = finding._replace(brief=rule.brief(judged))
                yield Judgement(finding, conversion, operations, style)
            elif message is not None and settings.confidence == "high" and confidence == "medium":
                finding = Finding(source.filename, rule.code, message, *span_of(conversion, source), None, confidence)
                yield Judgement(finding, conversion, (), style, is_hidden=True)


def grounds_of(conversion: Conversion | ImplicitConversion) -> tuple[Ground, ...]:
    """What the facts about a conversion rest on, the weakest first; no habit, which says that all is well, where the
    code shows that it is not."""
    ill = {"device": conversion.on_cpu is False, "grad": conversion.requires_grad is True}
    open_ones = [
        *(["device"] if conversion.on_cpu is not True else []),
        *(["grad"] if conversion.requires_grad is not False else []),
    ]
    told = (
        each
        for each in conversion.evidence
        if (each.strength is not Strength.BUDGET or each.about in open_ones)
        and (each.strength is not Strength.HABIT or not ill.get(each.about, False))
        and (each.about != "dtype" or conversion.dtype is not None)
    )
    pieces = sorted(told, key=lambda each: (-each.strength, each[1:]))
    return tuple(Ground(each.strength.name.lower(), *each[1:]) for each in pieces)


def span_of(conversion: Conversion | ImplicitConversion, source: Source) -> tuple[Position, Position]:
    """From the name `numpy` to the closing bracket; an argument that is converted, or the f-string that holds it."""
    if isinstance(conversion, ImplicitConversion):
        node = conversion.site.string or conversion.argument
        method = None if conversion.copied is None else conversion.copied.method_of(node)
        start = None if method is None else source.name_start(method)
        return start or source.node_start(node), source.node_end(node)
    return call_span(conversion.candidate, source)
