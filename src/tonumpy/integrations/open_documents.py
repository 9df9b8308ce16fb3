"""Checks documents, and cells of notebooks, as an editor has them now, and makes the edits that repair them.

It remembers what is open and what was read of the repository. It is used by one thread at a time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy import pipeline
from tonumpy.config import Configuration
from tonumpy.engine.names.project import Project
from tonumpy.findings import Edit, Finding, SourceError
from tonumpy.frontends.files import is_left_out
from tonumpy.text.notebooks import Notebook
from tonumpy.text.source import Source
from tonumpy.why import explain

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tonumpy.config import Choices
    from tonumpy.findings import Explanation
    from tonumpy.judgements import Judgement


class Checked(NamedTuple):
    """A text, or the cells of a notebook, with the judgements in the order of the text, or with why there are none."""

    text: str | tuple[str, ...]
    source: Source
    judgements: dict[Finding, Judgement]
    error: SourceError | None = None

    @property
    def findings(self) -> list[Finding]:
        return list(self.judgements)

    @property
    def errors(self) -> tuple[SourceError, ...]:
        return self.source.skipped if self.error is None else (self.error, *self.source.skipped)


def _placed(explained: Explanation, source: Source) -> Explanation:
    """With what it rests on in the rows of the cells."""
    answers = (each._replace(grounds=source.placed_grounds(each.grounds)) for each in explained.answers)
    return explained._replace(answers=tuple(answers))


class OpenDocuments:
    """The documents that are open, by their paths, and the settings and modules that were read for them."""

    def __init__(self) -> None:
        self.said: Choices = {}
        self.forget({})

    def forget(self, opened: Mapping[str, str], said: Choices | None = None) -> None:
        """Files have changed, so that what was read of them does not hold; `said` are an editor's own settings."""
        self._opened = dict(opened)
        self.said = said or self.said
        self._configuration = Configuration(self.said)
        self._project = Project(self._opened)
        self._checked: dict[str, Checked] = {}

    def check(self, path: str, text: str | tuple[str, ...]) -> Checked:
        """ConfigError where the settings of its folder cannot be read."""
        before = self._checked.get(path)
        if before is not None and before.text == text:
            return before
        settings = self._configuration.settings_of(path)
        if isinstance(text, str):
            source = Source.from_text(text, path)
            if self._opened.get(path) != text:
                self._opened[path] = text
                self._project.forget(path)
        else:
            source = Notebook.from_cells(text, path)
        if is_left_out(path, settings):
            checked = Checked(text, source, {})
        else:
            try:
                judged = pipeline.judge(source, settings, self._project)
                checked = Checked(text, source, {judgement.finding: judgement for judgement in judged})
            except SourceError as error:
                checked = Checked(text, source, {}, error)
            except RecursionError:
                checked = Checked(text, source, {}, SourceError(path, "cannot be checked: nested too deeply"))
        self._checked[path] = checked
        return checked

    def explain(self, checked: Checked, row: int) -> list[Explanation]:
        """Why the conversions in a row are reported, or are not."""
        path = checked.source.filename
        settings = self._configuration.settings_of(path)
        try:
            found = explain(checked.source, settings, self._project, row)
        except (SourceError, RecursionError):
            return []
        return [_placed(each, checked.source) for each in found]

    def close(self, path: str) -> None:
        self._checked.pop(path, None)
        if self._opened.pop(path, None) is not None:
            self._project.forget(path)

    def repair(self, checked: Checked, findings: Iterable[Finding]) -> tuple[Edit, ...]:
        """The edits that repair these findings together, verified; none where they cannot be verified."""
        try:
            return pipeline.repair(checked.source, [checked.judgements[finding] for finding in findings])
        except SourceError:
            return ()
