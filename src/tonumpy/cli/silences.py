"""Finds the reasons why a report leaves a finding out: settings, a `# noqa` comment, the baseline, `--diff-base`."""

from collections.abc import Iterable, Iterator
from functools import cached_property

from tonumpy.cli import baseline
from tonumpy.cli.diff_base import DiffBase
from tonumpy.cli.files import is_left_out
from tonumpy.config import Configuration, Settings
from tonumpy.engine.names.project import Project
from tonumpy.findings import CONFIDENCES, Explanation, Finding
from tonumpy.pipeline import check
from tonumpy.report import Report
from tonumpy.rules import all_rules
from tonumpy.text.noqa import suppress
from tonumpy.text.source import Source


def without_silences(settings: Settings) -> Settings:
    """The settings with the default and the selected rules all on, so that silenced findings are found as well."""
    selected = (*(settings.select or ()), *settings.extend_select)
    return settings._replace(select=None, extend_select=selected, ignore=(), ignored_here=(), preview=True)


class Silences:
    """Finds what silences the findings of one file, whose bytes are `data`; `base` is that of `--diff-base`."""

    def __init__(
        self, data: bytes, source: Source, configuration: Configuration, project: Project, base: DiffBase | None
    ) -> None:
        self._data = data
        self._source = source
        self._settings = configuration.settings_of(source.filename)
        self._project = project
        self._base = base
        self._rules = {rule.code: rule for rule in all_rules()}

    def told(self, explanations: Iterable[Explanation]) -> list[Explanation]:
        """The explanations, with the reasons that silence each of their findings."""
        return [
            each._replace(silences=tuple(tuple(self._of(finding)) for finding in each.findings))
            for each in explanations
        ]

    def _of(self, finding: Finding) -> Iterator[str]:
        """Yield the reasons in the order in which a run applies them; nothing if the finding is reported."""
        settings, rule = self._settings, self._rules.get(finding.code)
        if is_left_out(finding.filename, settings):
            yield "the file is excluded, or in a folder of installed packages, caches or builds"
        if rule is not None and not settings.selects(rule):
            is_hidden = rule.is_preview and not settings.preview
            yield "it is a preview rule; `--preview` reports it" if is_hidden else f"{rule.code} is off in this file"
        if CONFIDENCES.index(finding.confidence) > CONFIDENCES.index(settings.confidence):
            asked = f"`--confidence {finding.confidence}`"
            yield f"only {settings.confidence} confidence and above is reported; {asked} reports it"
        if not suppress(self._source, [finding]):
            yield "a `# noqa` comment suppresses it"
        place = _place(self._source.placed(finding))
        if place in self._in_baseline:
            yield f"{settings.baseline} has it"
        if place in self._unchanged:
            yield "its line is not changed since the commit of --diff-base"

    @cached_property
    def _report(self) -> Report:
        """The report of the file before the baseline and the commit are applied."""
        found = suppress(self._source, check(self._source, self._settings, self._project))
        return Report(list(map(self._source.placed, found)), [], read=lambda _: self._data)

    @cached_property
    def _in_baseline(self) -> frozenset[tuple[object, ...]]:
        path = self._settings.baseline
        if path is None:
            return frozenset()
        return _places(self._report.findings) - _places(baseline.without(path, self._report)[0].findings)

    @cached_property
    def _unchanged(self) -> frozenset[tuple[object, ...]]:
        if self._base is None:
            return frozenset()
        return _places(self._report.findings) - _places(self._base.only_new(self._report)[0].findings)


def _places(findings: Iterable[Finding]) -> frozenset[tuple[object, ...]]:
    return frozenset(map(_place, findings))


def _place(finding: Finding) -> tuple[object, ...]:
    return finding.code, finding.place
