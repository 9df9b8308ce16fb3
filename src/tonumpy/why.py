"""Why a conversion is reported, or is not: each fact about it, what the fact rests on, and what to do."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from typing import NamedTuple, TypeVar

from tonumpy.answers import answers_of, answers_of_argument, lines_of_evidence
from tonumpy.config import Settings
from tonumpy.conversions import Conversion, ImplicitConversion
from tonumpy.detectors.flow import sharing_of
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.receivers import infer
from tonumpy.detectors.shared_calls import find_sharers
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.torch_compiled import compiled_around
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import evidence_in
from tonumpy.findings import Answer, Explanation, Finding, Position
from tonumpy.judgements import grounds_of, span_of
from tonumpy.phrases import shares
from tonumpy.pipeline import as_believed, check, module_of
from tonumpy.related import of_written_array, of_written_tensor
from tonumpy.rules import all_rules
from tonumpy.sinks.arguments import infer_implicit
from tonumpy.sinks.boolean_ufuncs import infer_masks
from tonumpy.sinks.known import Argued, infer_known, sinks_in, told
from tonumpy.sinks.mixtures import infer_mixtures
from tonumpy.sinks.nodes import Nodes
from tonumpy.sinks.objectives import find_given
from tonumpy.sinks.operators import find_operations
from tonumpy.sinks.possible_tensors import PossibleTensors
from tonumpy.sinks.shared_memory import infer_sharers
from tonumpy.sinks.stores import find_stores, infer_stores
from tonumpy.sinks.taken.inference import infer_taken
from tonumpy.text.candidates import Candidate, OperationSite, ReturnSite, Site, call_span, find_candidates, is_in_row
from tonumpy.text.source import Source

_Judged = TypeVar("_Judged", Conversion, ImplicitConversion)


class _Places(NamedTuple):
    """What may convert in a row."""

    row: int
    risks: PossibleTensors
    candidates: list[Candidate]
    sharers: list[Site]
    sinks: list[Site]
    given: list[Site | ReturnSite]  # to what calls it, as `scipy.optimize` does
    stores: list[OperationSite]
    operations: list[OperationSite]


class _Known(NamedTuple):
    """What is known of the conversions of a row: by the id of the call, and those of arguments and operators."""

    receivers: dict[int, Conversion]
    arguments: list[Argued]
    others: list[ImplicitConversion]


class _Grounds(NamedTuple):
    """What the explanations of a row are made of."""

    module: Module
    found: list[Finding]
    known: _Known
    seen: dict[ast.AST, tuple[Answer, ...]]  # in runs; that of an argument or operator is taken out once it is told


def explain(source: Source, settings: Settings, project: Project, row: int) -> list[Explanation]:
    """The conversions that begin in a row or span it, and the arguments of functions that convert there, reported or
    not, in the order of the text."""
    found, seen = _found(source, settings, project), _seen(source, settings)
    module = module_of(source, settings, project)
    module.tells_origins = True  # the line of code behind each fact
    places = _places(module, row)
    sharing = cache(partial(sharing_of, source, places.candidates, places.sharers))
    known = _known(module, places, settings, sharing)
    sharers = infer_sharers(module, places.sharers, sharing()) if places.sharers else []
    others = [each for each in places.candidates if id(each.call) not in known.receivers]
    no_tensors = _no_tensors(module, others)
    grounds = _Grounds(module, found, known, seen)
    explanations = [
        *_of_candidates(grounds, places.candidates, no_tensors),
        *_of_sharers(grounds, sharers),
        *_of_arguments(grounds),
        *_of_others(grounds),
        *_of_runs(grounds, places),
    ]
    explanations += _not_told(found, explanations, source, row)
    return sorted(explanations, key=lambda each: each.start)


def _of_candidates(
    grounds: _Grounds, candidates: list[Candidate], no_tensors: Mapping[int, Answer]
) -> Iterator[Explanation]:
    """Of the calls that convert what they are called on, if that is a tensor."""
    source = grounds.module.source
    for candidate in candidates:
        start, _ = call_span(candidate, source)
        conversion = grounds.known.receivers.get(id(candidate.call))
        answers: tuple[Answer, ...]
        if conversion is None:
            answers = (no_tensors[id(candidate.call)],)
        else:
            judged = _as_judged(conversion, _at(grounds.found, start))
            answers = (*answers_of(judged, grounds.module), *_doubted(conversion, judged))
        answers += _compiled(grounds.module, candidate)
        answers += grounds.seen.get(candidate.call, ())
        yield Explanation(start, source.text_of(candidate.receiver), _at(grounds.found, start), answers)


def _of_sharers(grounds: _Grounds, sharers: list[ImplicitConversion]) -> Iterator[Explanation]:
    """Of the calls whose result shares memory with what they are given."""
    source = grounds.module.source
    for each in sharers:
        start, _ = span_of(each, source)
        lines = (*of_written_tensor(each, source.filename), *of_written_array(each, source.filename))
        remedy = "`.clone()`" if each.makes == "tensor" else "`.copy()`"
        answer = Answer("memory", f"{shares(each)} on the CPU", lines, remedy)
        yield Explanation(start, source.text_of(each.argument), _at(grounds.found, start), (answer,))


def _of_arguments(grounds: _Grounds) -> Iterator[Explanation]:
    """Of the arguments of functions that convert them; what runs have seen of a call, with the first one."""
    source = grounds.module.source
    for argued in grounds.known.arguments:
        start = source.node_start(argued.site.string or argued.node)
        told = _of_call(grounds.found, source, argued)
        judged = _argued_as_judged(argued, told)
        answers = answers_of_argument(judged, grounds.module)
        if argued.conversion is not None and judged.conversion is not None:
            answers += _doubted(argued.conversion, judged.conversion)
        answers += _compiled(grounds.module, argued.site)
        answers += grounds.seen.pop(argued.site.call, ())
        yield Explanation(start, source.text_of(argued.node), told, answers)


def _of_others(grounds: _Grounds) -> Iterator[Explanation]:
    """Of the other conversions that no call spells: of operators, of stores, and of what is given to an objective."""
    source = grounds.module.source
    for other in grounds.known.others:
        start, _ = span_of(other, source)
        told = tuple(each for each in _at(grounds.found, start) if not other.taken or each.code == "TNP206")
        if other.taken and not told:
            continue
        judged = _as_judged(other, told)
        answers = (*answers_of(judged, grounds.module), *_doubted(other, judged))
        answers += _compiled(grounds.module, other.site)
        answers += grounds.seen.pop(other.site.call, ())
        yield Explanation(start, source.text_of(other.argument), told, answers)


def _as_judged(conversion: _Judged, findings: tuple[Finding, ...]) -> _Judged:
    """The conversion as its findings were judged: at low confidence by what is proved, and by no habit."""
    is_low = bool(findings) and all(each.confidence == "low" for each in findings)
    return conversion.without_habits() if is_low else conversion


def _argued_as_judged(argued: Argued, findings: tuple[Finding, ...]) -> Argued:
    conversion = argued.conversion
    return argued if conversion is None else argued._replace(conversion=_as_judged(conversion, findings))


def _doubted(conversion: _Judged, judged: _Judged) -> tuple[Answer, ...]:
    """The habits that were not believed, where that changes what is known."""
    if judged is conversion:
        return ()
    habits = tuple(each for each in grounds_of(conversion) if each.kind == "habit")
    return (Answer("habits", "say otherwise; at low confidence they are not believed", habits),)


def _of_runs(grounds: _Grounds, places: _Places) -> Iterator[Explanation]:
    """Of what only a run tells: what the others have left."""
    source = grounds.module.source
    for node, words in grounds.seen.items():
        if not isinstance(node, (ast.expr, ast.stmt)) or not is_in_row(node, places.row):
            continue
        if not _is_candidate(node, places.candidates):
            yield Explanation(source.node_start(node), source.text_of(node), _in(grounds.found, source, node), words)


def _not_told(found: list[Finding], explanations: list[Explanation], source: Source, row: int) -> Iterator[Explanation]:
    """The findings that speak of no conversion, as of the comparison of a table with a tensor, with their grounds."""
    told = {(each.code, each.start) for explanation in explanations for each in explanation.findings}
    left = [each for each in found if _spans((each.start, each.end), row) and (each.code, each.start) not in told]
    for start in dict.fromkeys(each.start for each in left):
        here = tuple(each for each in left if each.start == start)
        subject = source.text[source.offset(start) : source.offset(here[0].end)]
        yield Explanation(start, subject, here, _what_they_rest_on(here))


def _what_they_rest_on(findings: tuple[Finding, ...]) -> tuple[Answer, ...]:
    """An answer for each fact that they have grounds for."""
    grounds = [ground for finding in findings for ground in finding.evidence]
    return tuple(
        Answer(about, "what this rests on", tuple(each for each in grounds if each.about == about))
        for about in dict.fromkeys(each.about for each in grounds)
    )


def _compiled(module: Module, place: Candidate | Site | ReturnSite | OperationSite) -> tuple[Answer, ...]:
    """That nothing is reported where torch.compile compiles what is around."""
    compiled = compiled_around(module.source, place.scopes, place.call)
    return () if compiled is None else (Answer("torch.compile", compiled.words),)


def _places(module: Module, row: int) -> _Places:
    source = module.source
    candidates = [each for each in find_candidates(source) if _spans(call_span(each, source), row)]
    risks = PossibleTensors(source)
    sinks = sinks_in(module, risks.nodes.imported, row)
    of_sinks = {id(each.call) for each in sinks}
    given = [each for each in find_given(module, risks) if id(each.call) not in of_sinks]
    return _Places(
        row,
        risks,
        candidates,
        [each for each in find_sharers(source) if is_in_row(each.call, row)],
        sinks,
        [each for each in given if is_in_row(each.call, row)],
        [each for each in find_stores(source, risks) if is_in_row(each.node, row)],
        [each for each in find_operations(source, risks) if is_in_row(each.node, row)],
    )


def _known(module: Module, places: _Places, settings: Settings, sharing: Callable[[], Sharing]) -> _Known:
    conversions = infer(module, places.candidates, sharing, lambda _: True)
    receivers = {id(each.candidate.call): as_believed(each, settings) for each in conversions}
    arguments = [
        each if each.conversion is None else each._replace(conversion=as_believed(each.conversion, settings))
        for each in infer_known(module, places.sinks, places.risks.nodes.imported)
    ]
    others = [
        *infer_implicit(module, places.given),
        *infer_stores(module, places.stores),
        *infer_mixtures(module, places.operations),
        *(each for each in infer_taken(module, places.risks) if is_in_row(each.site.call, places.row)),
        *(each for each in infer_masks(module) if is_in_row(each.argument, places.row)),
    ]
    return _Known(receivers, arguments, [as_believed(each, settings) for each in others])


def _no_tensors(module: Module, candidates: list[Candidate]) -> dict[int, Answer]:
    """What the other receivers are."""
    observed = observe(module, candidates) if candidates else {}
    found = {}
    for each in candidates:
        seen = observed.get(id(each.call))
        words = "the analysis does not reach this call" if seen is None else told(seen.receiver)
        lines = () if seen is None else lines_of_evidence(evidence_in(seen.receiver), "kind")
        found[id(each.call)] = Answer("kind", f"not known to be a torch tensor, so it is not reported: {words}", lines)
    return found


def _of_call(found: list[Finding], source: Source, argued: Argued) -> tuple[Finding, ...]:
    """The findings of an argument; one at risk beside another is told of with that."""
    node = argued.site.string or argued.node
    at = _at(found, source.node_start(node))
    is_other = not at and argued.conversion is not None and bool(argued.conversion.risks)
    return tuple(each for each in _in(found, source, argued.site.call) if each.code == "TNP104") if is_other else at


def nearest_conversions(source: Source, settings: Settings, project: Project, row: int) -> str:
    """For a message: the nearest rows with a conversion or a function that converts, one before and one after, in the
    same cell."""
    module = module_of(source, settings, project)
    rows = {call_span(each, source)[0].row for each in find_candidates(source)}
    rows |= {each.call.lineno for each in sinks_in(module, Nodes(source).imported)}
    rows |= {each.start.row for each in _found(source, settings, project)}
    cell, first = source.cell_at(row)
    rows = {each for each in rows if source.cell_at(each)[0] == cell}
    before, after = [each for each in rows if each < row], [each for each in rows if each > row]
    nearest = [str(each - first + 1) for each in (*sorted(before)[-1:], *sorted(after)[:1])]
    return f"; the nearest {'are' if len(nearest) > 1 else 'is'} on line {' and '.join(nearest)}" if nearest else ""


def _seen(source: Source, settings: Settings) -> dict[ast.AST, tuple[Answer, ...]]:
    """What former runs have seen of each conversion."""
    if not settings.observed:
        return {}
    from tonumpy.observed.record import told_of, words_of_all  # only where there are observations: start-up

    told = told_of(source, settings.observed)
    return {node: (Answer("run", words_of_all(sighting)),) for node, sighting in told.at.items()}


def _is_candidate(node: ast.AST, candidates: list[Candidate]) -> bool:
    return any(each.call is node for each in candidates)


def _in(found: list[Finding], source: Source, node: ast.expr | ast.stmt) -> tuple[Finding, ...]:
    return tuple(each for each in found if source.node_start(node) <= each.start <= source.node_end(node))


def _found(source: Source, settings: Settings, project: Project) -> list[Finding]:
    """What there is at the lowest confidence, and what a rule reports in place of what is less sure than asked for."""
    found = check(source, settings._replace(confidence="low"), project)
    if settings.confidence == "low" or not any(rule.stands_in_for and settings.selects(rule) for rule in all_rules()):
        return found
    said = {(each.code, each.start) for each in found}
    return [*found, *(each for each in check(source, settings, project) if (each.code, each.start) not in said)]


def _spans(span: tuple[Position, Position], row: int) -> bool:
    return span[0].row <= row <= span[1].row


def _at(found: list[Finding], start: Position) -> tuple[Finding, ...]:
    return tuple(finding for finding in found if finding.start == start)
