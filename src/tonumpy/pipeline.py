"""The whole way of a file: source -> candidates -> facts -> findings, and on to edits -> new text, verified."""

from __future__ import annotations

from tonumpy.candidates import find_candidates
from tonumpy.config import Settings
from tonumpy.edits import plan_fix
from tonumpy.findings import Finding, Position
from tonumpy.inference import infer
from tonumpy.inference.project import Project
from tonumpy.rules import all_rules
from tonumpy.source import Source


def check(source: Source, settings: Settings, project: Project) -> list[Finding]:
    """The findings of one file in the order of the text; `noqa` comments are not yet considered (see noqa.py)."""
    candidates = find_candidates(source)
    if not candidates:
        return []
    rules = [rule for rule in all_rules() if settings.selects(rule)]
    findings = []
    for conversion in infer(source, candidates, project):
        for rule in rules:
            message = rule.check(conversion)
            if message is not None:
                start, end = source.call_span(conversion.candidate)
                fix = plan_fix(conversion, source, settings.style)
                findings.append(Finding(source.filename, rule.code, message, start, end, fix))
    return findings
