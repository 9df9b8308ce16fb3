"""Names in findings the line that chooses a tensor's device, also where that is in another file."""

import os
from collections.abc import Callable, Iterable
from itertools import islice

from tonumpy.conversions import Conversion, ImplicitConversion
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.receivers import infer
from tonumpy.device_lines import Choice, choices_of, rows_behind
from tonumpy.engine.names.module import Module
from tonumpy.engine.values.evidence import AllEvidence, Strength
from tonumpy.findings import Finding, Ground
from tonumpy.judgements import Judgement
from tonumpy.phrases import CHOSEN
from tonumpy.sinks.arguments import infer_implicit
from tonumpy.sinks.mixtures import infer_mixtures
from tonumpy.text.candidates import OperationSite

_MAX_ROWS = 30  # that lead to one conversion, the nearest first


def with_device_lines(judgements: list[Judgement], module: Module, sharing: Callable[[], Sharing]) -> list[Judgement]:
    """The judgements, those of a device chosen at run time with the line that chooses it."""
    chosen = [each.conversion for each in judgements if _is_of_choice(each) and each.conversion is not None]
    if not chosen:
        return judgements
    behind = _evidence_of(chosen, module, sharing)
    told = []
    for each in judgements:
        conversion = each.conversion if _is_of_choice(each) else None
        evidence = frozenset() if conversion is None else behind.get(_key(conversion), frozenset())
        choice = None if conversion is None else _choice(conversion, evidence, module)
        told.append(each if choice is None else each._replace(finding=_named(each.finding, choice)))
    return told


def _is_of_choice(judgement: Judgement) -> bool:
    return judgement.conversion is not None and CHOSEN in judgement.finding.message and not judgement.is_hidden


def _key(conversion: Conversion | ImplicitConversion) -> tuple[int, int]:
    if isinstance(conversion, Conversion):
        return id(conversion.call), 0
    return id(conversion.site.call), id(conversion.argument)


def _evidence_of(
    chosen: Iterable[Conversion | ImplicitConversion], module: Module, sharing: Callable[[], Sharing]
) -> dict[tuple[int, int], AllEvidence]:
    """The evidence of these conversions, line by line: inferred anew, as no check keeps the lines."""
    traced = Module(module.source, module.project, module.disabled_habits, module.promises, module.sinks)
    traced.tells_origins = True
    candidates = {id(each.call): each.candidate for each in chosen if isinstance(each, Conversion)}
    sites = {id(each.site): each.site for each in chosen if not isinstance(each, Conversion)}
    operations = [each for each in sites.values() if isinstance(each, OperationSite)]
    others = [each for each in sites.values() if not isinstance(each, OperationSite)]
    found: list[Conversion | ImplicitConversion] = []
    found += infer(traced, list(candidates.values()), sharing, lambda _: True) if candidates else []
    found += infer_mixtures(traced, operations) if operations else []
    found += infer_implicit(traced, others) if others else []
    return {_key(each): each.evidence for each in found}


def _choice(conversion: Conversion | ImplicitConversion, evidence: AllEvidence, module: Module) -> Choice | None:
    """The first choice that a line behind it shows, or, where its value was put on the device in another function, a
    line that binds what is converted; with the line itself where nothing shows more."""
    site = conversion.candidate if isinstance(conversion, Conversion) else conversion.site
    traced = (each for each in evidence if (each.strength, each.about, each.id) == (Strength.PROOF, "device", "chosen"))
    here = (site.call.lineno, *islice(rows_behind(site.call, site.scopes), _MAX_ROWS))
    for filename, row in (*sorted(each[-2:] for each in traced), *((module.filename, row) for row in here)):
        moved = Ground("code", "device", "", "is put on the device here", filename, row)
        for choice in choices_of([moved], module):
            return choice if choice.lines else choice._replace(lines=(moved,))
    return None


def _named(finding: Finding, choice: Choice) -> Finding:
    line = choice.lines[-1]
    is_here = line.filename == finding.filename
    place = f"line {line.row}" if is_here else f"{os.path.basename(line.filename)}:{line.row}"
    place = "" if is_here and line.row == finding.start.row else place
    name = f"`{choice.name}`" if choice.name else ""
    told = ", ".join(filter(None, (name, place)))
    message = finding.message.replace(CHOSEN, f"{CHOSEN} ({told})" if told else CHOSEN, 1)
    words = f"on {name or 'a device'} ({f'{place}, ' if place else ''}maybe a GPU)"
    brief = finding.brief.replace(CHOSEN, words, 1)
    return finding._replace(
        message=message, brief=brief, evidence=(*finding.evidence, line) if place else finding.evidence
    )
