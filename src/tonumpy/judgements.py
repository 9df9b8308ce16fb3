"""Judgements: the finding and the repair of a conversion, and how the surrounding code drops or weakens them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.config import Settings
from tonumpy.conversions import Conversion, ImplicitConversion, MethodConversion, Mixture
from tonumpy.engine.names.module import Module
from tonumpy.engine.values.evidence import Strength
from tonumpy.findings import Finding, Fix, Ground, RepairStyle, Sureness
from tonumpy.repair.edit_layout import plan_fix
from tonumpy.repair.given_values import is_tensor_on_every_path
from tonumpy.repair.operations import Convert, Operation, compose
from tonumpy.rules import all_rules
from tonumpy.text.source import Source
from tonumpy.text.syntax import SCOPES
from tonumpy.text.tree_paths import path_to
from tonumpy.wanted_errors import WantedErrors

if TYPE_CHECKING:
    from tonumpy.observed.observed_conversions import Seen  # else each check would import it: start-up

_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, *SCOPES)
_BESIDE_UNSAFE = "; another repair here is unsafe, and a line is repaired as a whole"
_OF_ERRORS = ("TNP10", "TNP300")  # codes of findings that say what raises, or whose fix takes an error away


class Judgement(NamedTuple):
    """A finding, its conversion (None for a finding about a comment), and the operations of its repair."""

    finding: Finding
    conversion: Conversion | None
    operations: tuple[Operation, ...]


def as_the_code_around_has_it(judgements: list[Judgement], module: Module) -> list[Judgement]:
    """Drop conversions whose errors are expected, and make fixes unsafe that may break the surrounding code."""
    if not judgements:
        return []  # most files: their trees are not even needed
    return never_by_halves(as_safe_as_callers_allow(without_wanted(judgements, module.source), module))


def with_unsafe_fix(judgement: Judgement, note: str = "") -> Judgement:
    """The judgement with its fix made unsafe."""
    fix = judgement.finding.fix
    if fix is None or fix.applicability != "safe":
        return judgement
    fix = fix._replace(applicability="unsafe", message=fix.message + note)
    return judgement._replace(finding=judgement.finding._replace(fix=fix))


def without_wanted(judgements: list[Judgement], source: Source) -> list[Judgement]:
    """Drop the conversions whose errors the surrounding code expects, as `pytest.raises` does."""
    wanted = WantedErrors(source.tree, source.text)
    return [
        each
        for each in judgements
        if each.conversion is None
        or not each.finding.code.startswith(_OF_ERRORS)
        or not wanted.wants(each.conversion.site.call, each.conversion.errors_raised)
    ]


def as_safe_as_callers_allow(judgements: list[Judgement], module: Module) -> list[Judgement]:
    """Make a fix unsafe that adds a method to an argument, where a caller decides whether that is a tensor."""
    kept = []
    for judgement in judgements:
        fix, conversion = judgement.finding.fix, judgement.conversion
        if fix is not None and fix.applicability == "safe" and isinstance(conversion, ImplicitConversion):
            converted = [each.subject for each in judgement.operations if isinstance(each, Convert)]
            judgement = (
                judgement
                if all(is_tensor_on_every_path(each, module.source.tree) for each in converted)
                else with_unsafe_fix(judgement)
            )
        kept.append(judgement)
    return kept


def never_by_halves(judgements: list[Judgement]) -> list[Judgement]:
    """Make a safe fix unsafe if an unsafe one is in the same line, call or operator: applied alone, it would make
    arrays and tensors meet."""
    unsafe = [each for each in judgements if _raises(each) and each.finding.fix and not _is_safe(each)]
    shared = {place for each in unsafe for place in _places_of(each)}
    return [
        with_unsafe_fix(each, _BESIDE_UNSAFE) if shared and not shared.isdisjoint(_places_of(each)) else each
        for each in judgements
    ]


def _raises(judgement: Judgement) -> bool:
    return judgement.finding.code.startswith(_OF_ERRORS)


def _is_safe(judgement: Judgement) -> bool:
    return judgement.finding.fix is not None and judgement.finding.fix.applicability == "safe"


def _places_of(judgement: Judgement) -> list[ast.AST | int]:
    """The row of a conversion, and the calls and operators of its statement that hold it."""
    conversion = judgement.conversion
    if conversion is None:
        return []
    site = conversion.site
    path = [] if isinstance(site.statement, _BLOCKS) else path_to(site.statement, site.call)
    joining = (each for each in path if isinstance(each, (ast.Call, ast.BinOp, ast.Compare, ast.AugAssign)))
    return [judgement.finding.start.row, *joining]


def planned(
    conversion: Conversion, operations: tuple[Operation, ...], source: Source, *, is_unsafe: bool
) -> Fix | None:
    """The fix for a repair; unsafe at best if `is_unsafe`, or if torch trains on the converted tensor."""
    fix = plan_fix(conversion, operations, source)
    is_trained_on = isinstance(conversion, MethodConversion) and conversion.trained_in is not None
    is_lowered = fix is not None and fix.applicability == "safe" and (is_unsafe or is_trained_on)
    return fix._replace(applicability="unsafe") if fix is not None and is_lowered else fix


def judge_seen(
    module: Module, settings: Settings, seen: Iterable[Seen], confidence: Sureness = "observed"
) -> list[Judgement]:
    """Judge the conversions that a run observed in a file by the selected rules, in the order of the text; `noqa`
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
            span = each.span if conversion is None or code[3] == "2" else conversion.span(source)
            fix = None if conversion is None else planned(conversion, operations, source, is_unsafe=code[3] == "2")
            finding = Finding(
                source.filename, code, message, *span, fix, confidence, brief=brief, observed=each.observed
            )
            found.append(Judgement(finding, conversion, operations))
    found = never_by_halves(as_safe_as_callers_allow(found, module))  # a run sees tensors, and no other caller's values
    found.sort(key=lambda judgement: judgement.finding.start)
    return found


def with_evidence(module: Module, judgements: list[Judgement], settings: Settings, path: str) -> list[Judgement]:
    """Add observations of former runs: a conversion that failed is a finding of high confidence whatever its facts, and
    one that worked is mentioned in its finding's evidence."""
    from tonumpy.observed.observed_conversions import seen_in  # only where there are observations: start-up
    from tonumpy.observed.record import told_of, words_of, words_of_all  # the same: start-up

    source, told = module.source, told_of(module.source, path)
    failed = judge_seen(module, settings, seen_in(module, [each for each in told.sightings if each.is_refused]), "high")

    def grounded(judgement: Judgement) -> Judgement:
        finding, conversion = judgement.finding, judgement.conversion
        words = None if finding.observed is None else words_of(finding.observed)
        if conversion is not None and conversion.site.call in told.at:
            words = words_of_all(told.at[conversion.site.call])
        if words is None:
            return judgement
        ground = Ground("run", "kind", "rehearsal", words, source.filename, finding.start.row)
        return judgement._replace(finding=finding._replace(evidence=(ground, *finding.evidence), observed=None))

    known = {(each.finding.start, each.finding.code) for each in failed}
    rest = [each for each in judgements if (each.finding.start, each.finding.code) not in known]
    return [grounded(each) for each in (*failed, *rest)]


def _told_of_seen(seen: Seen, style: RepairStyle) -> Iterator[tuple[str, str, str, tuple[Operation, ...]]]:
    """Yield the code, message, brief and repair of each TNP10x rule that objects to an observed conversion."""
    conversion = seen.conversion
    is_method = isinstance(conversion, MethodConversion)
    kind = "receivers" if is_method else "operations" if isinstance(conversion, Mixture) else "arguments"
    is_unbound = isinstance(conversion, MethodConversion) and conversion.site.is_unbound
    for rule in all_rules():
        concerns = rule.code.startswith("TNP10") and kind in rule.judges
        message = rule.check(conversion) if concerns else None
        if message is not None:
            operations = () if is_unbound else compose(rule.repair(conversion, style))
            if seen.is_sure:
                yield rule.code, message, rule.brief(conversion), operations
            else:
                yield rule.code, message + seen.doubt, "", ()


def grounds_of(conversion: Conversion) -> tuple[Ground, ...]:
    """The evidence for the facts about a conversion, weakest first, without habits that the code contradicts."""
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
