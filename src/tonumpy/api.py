"""Defines the public functions, which check or repair the source of one module or notebook, or check paths."""

import os
import warnings
from collections.abc import Iterable, Sequence
from os import fspath
from typing import NamedTuple, TypeVar

from tonumpy import pipeline
from tonumpy.cli import run
from tonumpy.cli.files import find_files
from tonumpy.cli.main import candidate_files
from tonumpy.cli.outcomes import Task
from tonumpy.cli.parallel import outcomes_of
from tonumpy.config import Configuration, Settings, combine, read_choices
from tonumpy.engine.names.project import Project
from tonumpy.findings import Confidence, Finding, Links, SourceError, Style
from tonumpy.text.noqa import suppress
from tonumpy.text.source import Source
from tonumpy.text.sources import source_of

_Text = TypeVar("_Text", str, bytes)


def check_source(
    source: str | bytes,
    filename: str = "<source>",
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    strict: bool = False,
    preview: bool = False,
    style: Style = "links",
    links: Links = "both",
    confidence: Confidence = "medium",
    disable_habits: Sequence[str] = (),
) -> list[Finding]:
    """Check a source, and return the findings in source order, without those that a `# noqa` comment suppresses.

    `select` and `ignore` take codes or prefixes of codes, as on the command line. No configuration file is read.
    `confidence` is the minimum to report, and `disable_habits` names habits to disregard.
    Raises SourceError if the source cannot be decoded or parsed, ValueError for an invalid argument. If the file name
    ends with `.ipynb`, the source is a notebook's JSON; a SyntaxWarning names each cell that cannot be parsed.
    """
    settings = _settings(
        select=select,
        ignore=ignore,
        strict=strict,
        preview=preview,
        style=style,
        links=links,
        confidence=confidence,
        disable_habits=disable_habits,
    )
    module = source_of(source, filename)
    found = pipeline.check(module, settings, Project())
    _warn_of_cells(module)
    return [module.placed(finding) for finding in suppress(module, found)]


class Checked(NamedTuple):
    """The findings of many files, in the order of the files, and an error for each file that could not be checked.

    `warnings` are about the search for files, such as ignore rules that could not be read.
    """

    findings: list[Finding]
    errors: list[SourceError]
    warnings: list[str]


def check_paths(
    paths: Iterable[str | os.PathLike[str]],
    *,
    config: str | os.PathLike[str] | None = None,
    isolated: bool = False,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] | None = None,
    strict: bool | None = None,
    preview: bool | None = None,
    confidence: Confidence | None = None,
    jobs: int = 1,
) -> Checked:
    """Check files and folders as `tonumpy check PATH...` does: without excluded ones, each by its pyproject.toml.

    The other arguments are the options of these names; with None, the configuration files decide. `jobs` is the number
    of processes, 0 for one per core. Raises ConfigError for an invalid configuration file, ValueError for an invalid
    argument; a file that cannot be read or parsed is among the errors, and the others are still checked. If the paths
    contain no Python file, a warning says so.
    """
    choices = read_choices(
        select=select, ignore=ignore, strict=strict, preview=preview, confidence=confidence, jobs=jobs
    )
    configuration = Configuration(choices, None if config is None else fspath(config), isolated)
    found = find_files([fspath(each) for each in paths], configuration).with_nothing_told()
    errors = list(found.errors)
    candidates = candidate_files(found.files, configuration, errors, None, {})
    tasks = [Task(path, None, configuration.settings_of(path)) for path in candidates]
    outcomes = list(outcomes_of(run.check, tasks, jobs))
    errors += [error for outcome in outcomes for error in outcome.errors]
    findings = [finding for outcome in outcomes for finding in outcome.findings]
    return Checked(findings, sorted(errors, key=lambda error: error.filename), found.warnings)


def fix_source(
    source: _Text,
    filename: str = "<source>",
    *,
    select: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    strict: bool = False,
    preview: bool = False,
    style: Style = "links",
    links: Links = "both",
    unsafe: bool = False,
) -> _Text:
    """Repair a source, and return it with the type that was given; `unsafe` applies unsafe fixes, too.

    All else stays as it is, byte for byte. The other arguments and the errors are those of `check_source`.
    """
    settings = _settings(select=select, ignore=ignore, strict=strict, preview=preview, style=style, links=links)
    module = source_of(source, filename)
    text = pipeline.fix(module, settings, Project(), unsafe=unsafe).text
    _warn_of_cells(module)
    return text if isinstance(source, str) else module.encode(text)


def _warn_of_cells(source: Source) -> None:
    """Warn about each cell that could not be parsed."""
    for error in source.skipped:
        warnings.warn(str(error), SyntaxWarning, stacklevel=3)


def _settings(**said: object) -> Settings:
    return combine({}, read_choices(**said))
