"""What is judged of a conversion: a finding and its repair, and what the code around leaves of both."""

from __future__ import annotations

import ast
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.conversions import Conversion, ImplicitConversion
from tonumpy.engine.names.repository_names import may_be_imported
from tonumpy.repair.given_values import GivenValues
from tonumpy.repair.operations import Convert
from tonumpy.text.syntax import SCOPES
from tonumpy.text.tree_paths import path_to
from tonumpy.text.wanted_errors import WantedErrors

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module
    from tonumpy.findings import Finding, RepairStyle
    from tonumpy.repair.operations import Operation
    from tonumpy.text.source import Source

_BLOCKS = (ast.If, ast.For, ast.AsyncFor, ast.While, ast.With, ast.AsyncWith, ast.Try, ast.Match, *SCOPES)
_OF_ERRORS = ("TNP10", "TNP300")  # codes of findings that say what raises, or whose fix takes an error away


class Judgement(NamedTuple):
    """A finding, the conversion it speaks of (none where it is of a comment), and what is to be done to the tree.

    `style` is how that was asked for. `is_hidden`: it is less sure than what was asked for, and is only counted.
    """

    finding: Finding
    conversion: Conversion | ImplicitConversion | None
    operations: tuple[Operation, ...]
    style: RepairStyle = "links"
    is_hidden: bool = False


def as_the_code_around_has_it(judgements: list[Judgement], module: Module) -> list[Judgement]:
    """Without the conversions whose errors are wanted; a fix is unsafe where the code around may break with it."""
    if not judgements:
        return []  # most files: their trees are not even needed
    return never_by_halves(as_safe_as_callers_allow(without_wanted(judgements, module.source), module))


def with_unsafe_fix(judgement: Judgement) -> Judgement:
    """The same, with a fix that is applied only where unsafe ones are asked for."""
    fix = judgement.finding.fix
    if fix is None or fix.applicability != "safe":
        return judgement
    return judgement._replace(finding=judgement.finding._replace(fix=fix._replace(applicability="unsafe")))


def without_wanted(judgements: list[Judgement], source: Source) -> list[Judgement]:
    """Without the conversions whose errors the code around wants."""
    wanted = WantedErrors(source.tree, source.text)
    return [
        each
        for each in judgements
        if each.conversion is None
        or not each.finding.code.startswith(_OF_ERRORS)
        or not wanted.wants(node_of(each.conversion), each.conversion.errors_raised)
    ]


def as_safe_as_callers_allow(judgements: list[Judgement], module: Module) -> list[Judgement]:
    """A fix that adds a method to an argument is unsafe where the argument may be no tensor for another caller."""
    given = GivenValues(module.source.tree, partial(may_be_imported, module))
    kept = []
    for judgement in judgements:
        fix, conversion = judgement.finding.fix, judgement.conversion
        if fix is not None and fix.applicability == "safe" and isinstance(conversion, ImplicitConversion):
            converted = [each.argument for each in judgement.operations if isinstance(each, Convert)]
            judgement = judgement if all(map(given.is_tensor, converted)) else with_unsafe_fix(judgement)
        kept.append(judgement)
    return kept


def never_by_halves(judgements: list[Judgement]) -> list[Judgement]:
    """No safe fix beside an unsafe one in the same call or operator: arrays and tensors would meet there."""
    unsafe = [each for each in judgements if _raises(each) and each.finding.fix and not _is_safe(each)]
    around = {id(node) for each in unsafe for node in _expressions_around(each)}
    return [
        with_unsafe_fix(each)
        if around and _is_safe(each) and any(id(node) in around for node in _expressions_around(each))
        else each
        for each in judgements
    ]


def _raises(judgement: Judgement) -> bool:
    return judgement.finding.code.startswith(_OF_ERRORS)


def _is_safe(judgement: Judgement) -> bool:
    return judgement.finding.fix is not None and judgement.finding.fix.applicability == "safe"


def _expressions_around(judgement: Judgement) -> list[ast.AST]:
    """The calls and operators of its statement that hold a conversion."""
    conversion = judgement.conversion
    if conversion is None:
        return []
    place = conversion.candidate if isinstance(conversion, Conversion) else conversion.site
    if isinstance(place.statement, _BLOCKS):
        return []
    path = path_to(place.statement, node_of(conversion))
    return [each for each in path if isinstance(each, (ast.Call, ast.BinOp, ast.Compare, ast.AugAssign))]


def node_of(conversion: Conversion | ImplicitConversion) -> ast.AST:
    return conversion.candidate.call if isinstance(conversion, Conversion) else conversion.site.call
