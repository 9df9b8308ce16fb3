"""The whole way of a file: source -> candidates -> facts -> findings, and on to edits -> new text, verified."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from typing import NamedTuple, TypeVar

from tonumpy.config import OUR_CODES, Settings
from tonumpy.conversions import ArgumentConversion, Conversion, MethodConversion
from tonumpy.detectors.completeness import Complete
from tonumpy.detectors.lost_gradients import loses_gradient
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.registry import Search, all_detectors
from tonumpy.device_choices import with_device_lines
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project, path_of_module
from tonumpy.engine.names.torch_transforms import compiled_around
from tonumpy.findings import CONFIDENCES, Applicability, Edit, Finding, Fix
from tonumpy.judgements import Judgement, as_the_code_around_has_it, grounds_of, planned, with_evidence
from tonumpy.phrases import CHOSEN
from tonumpy.repair.comments import removal
from tonumpy.repair.edit_layout import plan_edits
from tonumpy.repair.operations import compose
from tonumpy.repair.rewrite import Repair, rewrite
from tonumpy.rules import Rule, all_rules
from tonumpy.setting_values import ANY_CODE
from tonumpy.text.candidates import Candidate
from tonumpy.text.noqa import lines_of, suppress
from tonumpy.text.prefilter import kinds_in
from tonumpy.text.source import Source

_Judged = TypeVar("_Judged", bound=Conversion)

MAX_PASSES = 10  # two are known to be needed


class Fixed(NamedTuple):
    """The result of a fix: the new text, the findings that it repaired and those that remain in the new text.
    `is_settled`: another fix would change nothing. A repaired finding keeps its place in the text before its repair.
    """

    text: str
    applied: list[Finding]
    remaining: list[Finding]
    is_settled: bool = True


def check(source: Source, settings: Settings, project: Project) -> list[Finding]:
    """The findings of one file in the order of the text; `noqa` comments are not yet considered (see text/noqa.py).

    Their places are those in the text; `source.placed` makes them those that a user knows.
    """
    return [judgement.finding for judgement in _judge(source, settings, project)]


def judge(source: Source, settings: Settings, project: Project) -> list[Judgement]:
    """The judgements in the order of the text, less those that a `noqa` comment suppresses."""
    judged = {each.finding: each for each in _judge(source, settings, project)}
    return [judged[finding] for finding in suppress(source, list(judged))]


def repair(source: Source, judgements: Iterable[Judgement]) -> tuple[Edit, ...]:
    """The edits that perform the repairs of all judgements; RewriteError if they would change anything else."""
    repairs = _repairs(judgements, source)
    if repairs:
        rewrite(source, repairs)
    return tuple(sorted({edit for each in repairs for edit in each.edits}))


def fix(
    source: Source, settings: Settings, project: Project, *, unsafe: bool, held: Collection[tuple[str, str]] = ()
) -> Fixed:
    """Apply all allowed repairs that no `noqa` comment suppresses, until nothing changes.

    One repair may enable another: `.data` after `.cpu()` becomes `.detach()`, which then moves before `.cpu()`. `held`:
    the codes and places of reported findings that must not be repaired; if there are any, the others are repaired in
    one pass, as places move. RewriteError (a SourceError) if the outcome is not exactly as intended.
    """
    allowed: tuple[Applicability, ...] = ("safe", "unsafe") if unsafe else ("safe",)
    applied: list[Finding] = []
    for number in range(MAX_PASSES):
        judged = {each.finding: each for each in _judge(source, settings, project)}
        kept = suppress(source, list(judged))
        due = [
            finding
            for finding, placed in zip(kept, map(source.placed, kept), strict=True)
            if finding.fix and finding.fix.applicability in allowed and (placed.code, placed.place) not in held
        ]
        if not due or (held and number):
            return Fixed(source.document, applied, list(map(source.placed, kept)))
        repairs = _repairs([judged[finding] for finding in due], source)
        applied += map(source.placed, due)
        edits = sorted({edit for repair in repairs for edit in repair.edits})
        source = source.edited(rewrite(source, repairs), edits)
    remaining = suppress(source, check(source, settings, project))
    return Fixed(source.document, applied, list(map(source.placed, remaining)), is_settled=False)


def _repairs(judgements: Iterable[Judgement], source: Source) -> list[Repair]:
    """One repair for each conversion, composed of the operations of all rules that object to it."""
    asked: dict[int, list[Judgement]] = {}
    repairs = []
    for judgement in judgements:
        if judgement.conversion is not None:
            asked.setdefault(id(judgement.conversion), []).append(judgement)
        elif judgement.finding.fix is not None:
            repairs.append(Repair((), judgement.finding.fix.edits))
    for together in asked.values():
        operations = compose(operation for judgement in together for operation in judgement.operations)
        repairs.append(Repair(operations, plan_edits(operations, source)))
    return repairs


def module_of(source: Source, settings: Settings, project: Project) -> Module:
    """The module under check, with the habits, promises and sinks of its settings."""
    doubted = frozenset(settings.disable_habits)
    module = Module(source, project, doubted, promises=settings.promises, sinks=settings.sinks)
    project.at_hand[path_of_module(source.filename)] = module
    return module


def as_believed(conversion: _Judged, settings: Settings) -> _Judged:
    """The facts about a conversion without the habits that are switched off."""
    return conversion.without_habits(settings.disable_habits) if settings.disable_habits else conversion


def _judge(source: Source, settings: Settings, project: Project) -> list[Judgement]:
    """Return the judgements in the order of the text."""
    project.begin_file()
    rules = _rules_by_kind(source, settings)
    module = module_of(source, settings, project)

    def concerned(among: list[Candidate], sharing: Callable[[], Sharing]) -> set[int]:
        complete = Complete(among, source, sharing, partial(loses_gradient, module))
        of_receivers = rules.get("receivers", ()) if among else ()
        return {id(each) for rule in of_receivers for each in rule.concerns(complete)}

    search = Search(module, frozenset(rules), concerned)
    found = list[Judgement]()
    for detector in all_detectors():
        if detector.kind in rules:
            judged = _judgements(detector.find(search), rules[detector.kind], source, settings)
            if detector.gives_way:
                certain = {each.finding.start for each in found if each.finding.confidence != "low"}
                judged = (each for each in judged if each.finding.start not in certain)
            found += judged
    if "comments" in rules:
        found += _comments(rules["comments"], source, settings, project)
    found = as_the_code_around_has_it(found, module)
    if "compile" in source.text:
        found = [each for each in found if not _is_compiled(each, source)]
    if settings.observed:
        found = with_evidence(module, found, settings, settings.observed)
    if any(CHOSEN in each.finding.message for each in found):
        found = with_device_lines(found, module)
    found.sort(key=lambda judgement: judgement.finding.start)
    project.at_hand.clear()  # a project keeps the trees of others only
    return found


def _rules_by_kind(source: Source, settings: Settings) -> dict[str, list[Rule]]:
    """The selected rules by the kind they judge, for the kinds that the text may contain."""
    kinds = set(kinds_in(source.text))
    if "risks" in kinds and settings.sinks:
        kinds.add("arguments")
    selected = [rule for rule in all_rules() if settings.selects(rule)]
    found = {kind: [rule for rule in selected if kind in rule.judges] for kind in kinds}
    return {kind: rules for kind, rules in found.items() if rules}


def _is_compiled(judgement: Judgement, source: Source) -> bool:
    """True if torch.compile compiles the surrounding code, where conversions do not raise and gradients pass."""
    code, conversion = judgement.finding.code, judgement.conversion
    if conversion is None or (code.startswith("TNP2") and code != "TNP203"):
        return False
    return compiled_around(source, conversion.site.scopes, conversion.site.call) is not None


def argument_conversions(module: Module, settings: Settings) -> list[ArgumentConversion]:
    """The conversions of arguments and operands that a check at low confidence finds with all TNP10x rules."""
    of_all = settings._replace(confidence="low", select=("TNP10",), ignore=(), ignored_here=())
    rules = _rules_by_kind(module.source, of_all)
    search = Search(module, frozenset(rules))
    of_arguments = [each for each in all_detectors() if each.kind in rules and each.kind in ("arguments", "operations")]
    found = (
        judgement.conversion
        for each in of_arguments
        for judgement in _judgements(each.find(search), rules[each.kind], module.source, of_all)
    )
    return [each for each in found if isinstance(each, ArgumentConversion)]


def _comments(rules: list[Rule], source: Source, settings: Settings, project: Project) -> Iterator[Judgement]:
    """Judge `# noqa` comments by the findings of all other rules."""
    of_comments = tuple(rule.code for rule in rules)
    suppressed = _suppressed(of_comments, source, settings, project)
    for line in lines_of(source) or ():
        at, stop = bisect_left(suppressed, (line.rows[0],)), bisect_left(suppressed, (line.rows[1] + 1,))
        used = {code for _, code in suppressed[at:stop]}
        for comment in line.comments:
            unused = [code for code in comment.codes if _is_unused(code.code, of_comments, used)]
            written = [source.text[code.start : code.end] for code in unused]
            for rule in rules:
                message = rule.check(written)
                if message is not None:
                    edits = removal(source, comment, [code.code for code in unused])
                    place = source.position_at(comment.start), source.position_at(comment.end)
                    fix = Fix("safe", f"Remove `{', '.join(written)}`", edits)
                    yield Judgement(Finding(source.filename, rule.code, message, *place, fix), None, ())


def _is_unused(code: str, of_comments: tuple[str, ...], used: set[str]) -> bool:
    """True if a code in a comment is this tool's, and the comment suppresses no finding with it."""
    is_ours = code.startswith(OUR_CODES) and code not in of_comments
    return is_ours and not any(each.startswith(code) for each in used)


def _suppressed(
    of_comments: tuple[str, ...], source: Source, settings: Settings, project: Project
) -> list[tuple[int, str]]:
    """The sorted rows and codes of all findings that a comment suppresses, by all rules, selected or not."""
    of_all = settings._replace(preview=True, select=(ANY_CODE,), ignored_here=())
    found = check(source, of_all._replace(ignore=of_comments), project)
    stood_for = [(rule.code, each) for rule in all_rules() for each in found if each.code in rule.stands_in_for]
    found += [each._replace(code=code) for code, each in stood_for]
    return sorted({(each.start.row, each.code) for each in set(found) - set(suppress(source, found))})


def _judgements(
    conversions: Iterable[Conversion], rules: list[Rule], source: Source, settings: Settings
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
            if message is None or (not settings.preview and rule.is_preview_kind(judged)):
                continue
            if rule.stands_in_for or CONFIDENCES.index(confidence) <= asked:
                reported.add(rule.code)
                is_unbound = isinstance(conversion, MethodConversion) and conversion.site.is_unbound
                operations = () if is_unbound else compose(rule.repair(judged, style))
                fix = planned(judged, operations, source, is_unsafe=rule.fix_is_unsafe)
                span = conversion.span(source)
                grounds = (*grounds_of(judged), *rule.related(judged, source.filename))
                finding = Finding(source.filename, rule.code, message, *span, fix, confidence, grounds)
                finding = finding._replace(brief=rule.brief(judged))
                yield Judgement(finding, conversion, operations)
