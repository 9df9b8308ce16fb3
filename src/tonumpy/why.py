"""Why a conversion is reported, or is not: each fact about it, what the fact rests on, and what to do."""

from __future__ import annotations

import ast
from functools import cache, partial

from tonumpy.conversions import Conversion, ImplicitConversion
from tonumpy.findings import Answer, Explanation
from tonumpy.inference.memory.sharing import sharing_of
from tonumpy.inference.receivers import infer
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.phrases import shares
from tonumpy.pipeline import as_believed, check, grounds_of, module_of, span_of
from tonumpy.rules import all_rules
from tonumpy.sinks.arguments import infer_implicit
from tonumpy.sinks.mixtures import infer_mixtures
from tonumpy.sinks.objectives import find_given
from tonumpy.sinks.operations import find_operations
from tonumpy.sinks.sharers import infer_sharers, sharers_in
from tonumpy.sinks.trouble import Trouble
from tonumpy.text.candidates import call_span, find_candidates

if TYPE_CHECKING:
    from tonumpy.config import Settings
    from tonumpy.findings import Finding, Ground, Position
    from tonumpy.inference.index.project import Project
    from tonumpy.text.candidates import Candidate
    from tonumpy.text.source import Source


def explain(source: Source, settings: Settings, project: Project, row: int) -> list[Explanation]:
    """The conversions that begin in a row or span it, reported or not, in the order of the text."""
    found = _found(source, settings, project)
    seen = _seen(source, settings)
    module = module_of(source, settings, project)
    candidates = [each for each in find_candidates(source) if _spans(call_span(each, source), row)]
    sharers = [each for each in sharers_in(module) if _is_in_row(each.call, row)]
    sharing = cache(partial(sharing_of, module, candidates, sharers))
    known: dict[int, Conversion] = {
        id(each.candidate): as_believed(each, settings) for each in infer(module, candidates, sharing, lambda _: True)
    }
    explanations = []
    for candidate in candidates:
        start, _ = call_span(candidate, source)
        subject = source.text_of(candidate.receiver)
        answers = _answers(known[id(candidate)]) if id(candidate) in known else _OF_NO_TENSOR
        answers += seen.get(candidate.call, ())
        explanations.append(Explanation(start, subject, _at(found, start), answers))
    for each in infer_sharers(module, sharers, sharing()) if sharers else ():
        start, _ = span_of(each, source)
        remedy = "`.clone()`" if each.makes == "tensor" else "`.copy()`"
        answer = Answer("memory", f"{shares(each)} on the CPU", (), remedy)
        explanations.append(Explanation(start, source.text_of(each.argument), _at(found, start), (answer,)))
    trouble = Trouble(source)
    sites = [each for each in find_given(module, trouble) if _is_in_row(each.call, row)]
    operations = [each for each in find_operations(source, trouble) if _is_in_row(each.node, row)]
    for conversion in (*infer_implicit(module, sites), *infer_mixtures(module, operations)):
        start, _ = span_of(conversion, source)
        subject = source.text_of(conversion.argument)
        answers = _answers(as_believed(conversion, settings)) + seen.pop(conversion.site.call, ())
        explanations.append(Explanation(start, subject, _at(found, start), answers))
    for node, answers in seen.items():  # of which only a run tells
        if isinstance(node, (ast.expr, ast.stmt)) and _is_in_row(node, row) and not _is_candidate(node, candidates):
            start = source.node_start(node)
            explanations.append(Explanation(start, source.text_of(node), _in(found, source, node), answers))
    return sorted(explanations, key=lambda each: each.start)


def _seen(source: Source, settings: Settings) -> dict[ast.AST, tuple[Answer, ...]]:
    """What former runs have seen of each conversion."""
    if not settings.observed:
        return {}
    from tonumpy.observed.evidence import told_of, words_of_all  # only where there are observations: start-up

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


def _is_in_row(node: ast.expr | ast.stmt, row: int) -> bool:
    return node.lineno <= row <= (node.end_lineno or row)


def _spans(span: tuple[Position, Position], row: int) -> bool:
    return span[0].row <= row <= span[1].row


def _at(found: list[Finding], start: Position) -> tuple[Finding, ...]:
    return tuple(finding for finding in found if finding.start == start)


_OF_NO_TENSOR = (Answer("kind", "not known to be a torch tensor, so it is not reported"),)


def _answers(conversion: Conversion | ImplicitConversion) -> tuple[Answer, ...]:
    grounds = grounds_of(conversion)

    def of(about: str) -> tuple[Ground, ...]:
        return tuple(each for each in grounds if each.about == about)

    mode = {True: "on", False: "off", None: "unknown (may be on)"}[conversion.grad_mode]
    return (
        _kind(conversion),
        _device(conversion, of("device")),
        _grad(conversion, of("grad")),
        Answer("grad mode", mode, of("grad mode")),
        *_representation(conversion, of("dtype")),
        *_left_to_callers(conversion),
    )


def _left_to_callers(conversion: Conversion | ImplicitConversion) -> list[Answer]:
    is_left = isinstance(conversion, Conversion) and conversion.candidate.is_left_to_callers
    return [Answer("force", "a parameter of the function, so its caller chooses")] if is_left else []


def _kind(conversion: Conversion | ImplicitConversion) -> Answer:
    remedy = "annotate it, or test `isinstance(x, torch.Tensor)`"
    if isinstance(conversion, Conversion) and not conversion.is_settled:
        return Answer("kind", "possible torch tensor: the analysis reached its limit", (), remedy)
    return {
        "tensor": Answer("kind", "torch tensor (proved)"),
        "likely": Answer("kind", "likely torch tensor, by how it is used", (), remedy),
        "possible": Answer(
            "kind", "possible torch tensor: type unknown, but torch is the module's only array framework", (), remedy
        ),
    }[conversion.certainty]


def _device(conversion: Conversion | ImplicitConversion, grounds: tuple[Ground, ...]) -> Answer:
    if conversion.chain.cpu is not None:
        return Answer("device", "on the CPU (the chain moves it there)")
    remedy = "`.cpu()`"
    if conversion.on_cpu is False:
        return Answer("device", "not on the CPU", grounds, remedy)
    if conversion.on_cpu is None:
        sent = conversion.is_sent
        text = "chosen at run time, may be a GPU" if sent else "unknown, may be a GPU"
        return Answer("device", text, grounds, remedy)
    return Answer("device", "on the CPU", grounds)


def _grad(conversion: Conversion | ImplicitConversion, grounds: tuple[Ground, ...]) -> Answer:
    if conversion.chain.detach is not None:
        return Answer("grad", "detached (by the chain)")
    remedy = "`.detach()`, or compute it under `torch.no_grad()`"
    if conversion.requires_grad:
        return Answer("grad", "requires grad", grounds, remedy)
    if conversion.requires_grad is None and conversion.learns:
        text = "computed from model parameters: requires grad unless all of them are frozen"
        return Answer("grad", text, grounds, remedy)
    if conversion.requires_grad is None:
        return Answer("grad", "unknown, may require grad", grounds, remedy)
    return Answer("grad", "does not require grad", grounds)


def _representation(conversion: Conversion | ImplicitConversion, of_dtype: tuple[Ground, ...]) -> list[Answer]:
    """Of these only a dtype may rest on more than proof: what torch's own operators do is known."""
    facts = (
        ("dtype", conversion.dtype, of_dtype),
        ("layout", conversion.layout, ()),
        ("bit", conversion.bit, ()),
    )
    return [Answer(about, text, grounds) for about, text, grounds in facts if text is not None]
