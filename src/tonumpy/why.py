"""Explains why a conversion is reported or not: each fact about it, the evidence for the fact, and what to do."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeVar

from tonumpy.answers import answers_of, answers_of_argument, lines_of_evidence
from tonumpy.config import Settings
from tonumpy.conversions import Conversion, FalseMask, ImplicitConversion, Mixture, TakenTensor
from tonumpy.detectors import shared_memory
from tonumpy.detectors.known import infer_known, sinks_in, told
from tonumpy.detectors.nodes import Nodes
from tonumpy.detectors.receivers import infer
from tonumpy.detectors.registry import Search, all_detectors
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.project import Project
from tonumpy.engine.names.torch_transforms import compiled_around
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import evidence_in
from tonumpy.findings import Answer, Explanation, Finding, Ground, Position
from tonumpy.judgements import grounds_of
from tonumpy.phrases import shares
from tonumpy.pipeline import as_believed, check, module_of
from tonumpy.related import of_written_array, of_written_tensor
from tonumpy.rules import all_rules
from tonumpy.text.candidates import Candidate, OperationSite, ReturnSite, Site, call_span, find_candidates, is_in_row
from tonumpy.text.source import Source

_Judged = TypeVar("_Judged", bound=Conversion)


def explain(source: Source, settings: Settings, project: Project, row: int) -> list[Explanation]:
    """Explain the conversions that begin in a row or span it, and the arguments of converting functions there, reported
    or not, in source order."""
    explained = _Row(source, settings, project, row)
    explanations = [
        *explained.candidates(),
        *explained.sharers(),
        *explained.arguments(),
        *explained.others(),
        *explained.runs(),
    ]
    explanations += explained.left(explanations)
    return sorted(explanations, key=lambda each: each.start)


class _Row:
    """Explains the conversions of a row, one kind after the other."""

    def __init__(self, source: Source, settings: Settings, project: Project, row: int) -> None:
        self.source, self.settings, self.row = source, settings, row
        self.found = _found(source, settings, project)
        self.seen = _seen(source, settings)  # entries are removed once they are explained
        self.module = module_of(source, settings, project)
        self.module.tells_origins = True  # the line of code behind each fact
        self._search = Search(self.module, frozenset(("receivers", "memory")))
        self._search.candidates = [each for each in self._search.candidates if _spans(call_span(each, source), row)]
        self._search.sharers = [each for each in self._search.sharers if is_in_row(each.call, row)]

    def _explanation(
        self,
        start: Position,
        node: ast.expr | ast.stmt,
        told: tuple[Finding, ...],
        answers: tuple[Answer, ...],
        place: Candidate | Site | OperationSite | ReturnSite,
    ) -> Explanation:
        compiled = compiled_around(self.source, place.scopes, place.call)
        answers += () if compiled is None else (Answer("torch.compile", compiled.words),)
        answers += self.seen.pop(place.call, ())
        return Explanation(start, self.source.text_of(node), told, answers)

    def _judged(self, conversion: _Judged, told: tuple[Finding, ...]) -> tuple[_Judged, tuple[Answer, ...]]:
        """The conversion as its findings were judged (at low confidence without habits), and the habits that were then
        disregarded."""
        is_low = bool(told) and all(each.confidence == "low" for each in told)
        judged = conversion.without_habits() if is_low else conversion
        if judged is conversion:
            return judged, ()
        habits = tuple(each for each in grounds_of(conversion) if each.kind == "habit")
        return judged, (Answer("habits", "say otherwise; at low confidence they are not believed", habits),)

    def candidates(self) -> Iterator[Explanation]:
        """Explain the calls that convert their receiver, if that is a tensor."""
        candidates = self._search.candidates
        inferred = infer(self.module, candidates, lambda: self._search.sharing, lambda _: True)
        known = {id(each.site.call): as_believed(each, self.settings) for each in inferred}
        no_tensors = _no_tensors(self.module, [each for each in candidates if id(each.call) not in known])
        for candidate in candidates:
            start, _ = call_span(candidate, self.source)
            told = _at(self.found, start)
            conversion = known.get(id(candidate.call))
            if conversion is None:
                answers: tuple[Answer, ...] = (no_tensors[id(candidate.call)],)
            else:
                judged, doubted = self._judged(conversion, told)
                answers = (*answers_of(judged, self.module), *doubted)
            yield self._explanation(start, candidate.receiver, told, answers, candidate)

    def sharers(self) -> Iterator[Explanation]:
        """Explain the calls whose result shares memory with their argument."""
        filename = self.source.filename
        for each in shared_memory.find(self._search):
            start, _ = each.span(self.source)
            lines = (*of_written_tensor(each, filename), *of_written_array(each, filename))
            remedy = "`.clone()`" if each.makes == "tensor" else "`.copy()`"
            answer = Answer("memory", f"{shares(each)} on the CPU", lines, remedy)
            yield Explanation(start, self.source.text_of(each.argument), _at(self.found, start), (answer,))

    def arguments(self) -> Iterator[Explanation]:
        """Explain the arguments of functions that convert them; observations of a call go with its first argument."""
        self._sinks = sinks_in(self.module, self._search.risks.nodes.imported, self.row)
        for argued in infer_known(self.module, self._sinks, self._search.risks.nodes.imported):
            conversion, doubted = argued.conversion, tuple[Answer, ...]()
            start = self.source.node_start(argued.site.string or argued.node)
            told = _at(self.found, start)
            if conversion is not None:
                conversion = as_believed(conversion, self.settings)
                if not told and conversion.risks:  # it is reported with another argument of the call
                    told = tuple(
                        each for each in _in(self.found, self.source, argued.site.call) if each.code == "TNP104"
                    )
                conversion, doubted = self._judged(conversion, told)
            answers = answers_of_argument(argued._replace(conversion=conversion), self.module)
            yield self._explanation(start, argued.node, told, (*answers, *doubted), argued.site)

    def others(self) -> Iterator[Explanation]:
        """Explain the conversions without a call: by operators, by stores, and of the value that an objective returns
        to `scipy.optimize`."""
        for found in self._unspelt():
            is_taken = isinstance(found, TakenTensor)
            other = as_believed(found, self.settings)
            start, _ = other.span(self.source)
            told = tuple(each for each in _at(self.found, start) if not is_taken or each.code == "TNP206")
            if told or not is_taken:
                judged, doubted = self._judged(other, told)
                answers = (*answers_of(judged, self.module), *doubted)
                yield self._explanation(start, other.argument, told, answers, other.site)

    def _unspelt(self) -> Iterator[ImplicitConversion]:
        """Yield the conversions of the row without a call, except in calls whose arguments are explained."""
        of_sinks = {id(each.call) for each in self._sinks}
        detectors = (each for each in all_detectors() if each.kind in ("arguments", "operations", "masks", "taken"))
        for found in (found for each in detectors for found in each.find(self._search)):
            assert isinstance(found, ImplicitConversion)
            place = found.argument if isinstance(found, FalseMask) else found.site.call
            is_told = id(place) in of_sinks and not isinstance(found, (Mixture, TakenTensor))
            if not is_told and is_in_row(place, self.row):
                yield found

    def runs(self) -> Iterator[Explanation]:
        """Explain the remaining observations of runs."""
        for node, words in self.seen.items():
            if isinstance(node, (ast.expr, ast.stmt)) and is_in_row(node, self.row):
                told = _in(self.found, self.source, node)
                yield Explanation(self.source.node_start(node), self.source.text_of(node), told, words)

    def left(self, explanations: list[Explanation]) -> Iterator[Explanation]:
        """Explain the findings about no conversion, such as the comparison of a table with a tensor, by their
        evidence."""
        told = {(each.code, each.start) for explanation in explanations for each in explanation.findings}
        left = [each for each in self.found if (each.code, each.start) not in told]
        left = [each for each in left if _spans((each.start, each.end), self.row)]
        for start in dict.fromkeys(each.start for each in left):
            here = tuple(each for each in left if each.start == start)
            subject = self.source.text[self.source.offset(start) : self.source.offset(here[0].end)]
            grounds: dict[str, list[Ground]] = {}
            for each in (ground for finding in here for ground in finding.evidence):
                grounds.setdefault(each.about, []).append(each)
            answers = (Answer(about, "what this rests on", tuple(found)) for about, found in grounds.items())
            yield Explanation(start, subject, here, tuple(answers))


def _no_tensors(module: Module, candidates: list[Candidate]) -> dict[int, Answer]:
    """The answers about receivers that are not known to be tensors, by the id of the call."""
    observed = observe(module, candidates) if candidates else {}
    found = {}
    for each in candidates:
        seen = observed.get(id(each.call))
        words = "the analysis does not reach this call" if seen is None else told(seen.receiver)
        lines = () if seen is None else lines_of_evidence(evidence_in(seen.receiver), "kind")
        found[id(each.call)] = Answer("kind", f"not known to be a torch tensor, so it is not reported: {words}", lines)
    return found


def nearest_conversions(source: Source, settings: Settings, project: Project, row: int) -> str:
    """The suffix of a message that names the nearest rows of the cell with a conversion or converting function, one
    before and one after."""
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
    """The recorded observations of each conversion, by its node."""
    if not settings.observed:
        return {}
    from tonumpy.observed.record import told_of, words_of_all  # only where there are observations: start-up

    told = told_of(source, settings.observed)
    return {node: (Answer("run", words_of_all(sighting)),) for node, sighting in told.at.items()}


def _in(found: list[Finding], source: Source, node: ast.expr | ast.stmt) -> tuple[Finding, ...]:
    return tuple(each for each in found if source.node_start(node) <= each.start <= source.node_end(node))


def _found(source: Source, settings: Settings, project: Project) -> list[Finding]:
    """The findings at the lowest confidence, and those that a rule reports in place of others below the wanted
    confidence."""
    found = check(source, settings._replace(confidence="low"), project)
    if settings.confidence == "low" or not any(rule.stands_in_for and settings.selects(rule) for rule in all_rules()):
        return found
    said = {(each.code, each.start) for each in found}
    return [*found, *(each for each in check(source, settings, project) if (each.code, each.start) not in said)]


def _spans(span: tuple[Position, Position], row: int) -> bool:
    return span[0].row <= row <= span[1].row


def _at(found: list[Finding], start: Position) -> tuple[Finding, ...]:
    return tuple(finding for finding in found if finding.start == start)
