"""Shows the settings that hold for files, as a `[tool.tonumpy]` table for each group of files that share them."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from tonumpy.rules import all_rules
from tonumpy.text.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from tonumpy.config import Configuration, FileIgnores, Settings
    from tonumpy.globs import Exclude


def render(files: Sequence[str], configuration: Configuration) -> str:
    """What is not TOML stands in comments; files that have all in common are named together."""
    groups: dict[tuple[Settings, str | None], list[str]] = {}
    for path in files:
        origin = configuration.governed(os.path.dirname(path))[1]
        groups.setdefault((configuration.settings_of(path), origin), []).append(path)
    return "\n".join(_group(settings, origin, paths) for (settings, origin), paths in groups.items())


def _group(settings: Settings, origin: str | None, paths: Iterable[str]) -> str:
    rules = ", ".join(rule.code for rule in all_rules() if settings.selects(rule))
    lines = [f"# settings of {visible(path)}" for path in paths]
    lines += [
        f"# read from {visible(origin or 'no file')}",
        f"# rules: {rules or 'none'}",
        f"# promises: {', '.join(each.function for each in settings.promises) or 'none'}",
        f"# sinks: {', '.join(each.function for each in settings.sinks) or 'none'}",
        "[tool.tonumpy]",
        "# select: the rules on by default" if settings.select is None else f"select = {_list(settings.select)}",
        f"extend-select = {_list(settings.extend_select)}",
        f"ignore = {_list(settings.ignore)}",
        f"strict = {_bool(settings.strict)}",
        f"preview = {_bool(settings.preview)}",
        f"confidence = {_string(settings.confidence)}",
        f"disable-habits = {_list(settings.disable_habits)}",
        f"style = {_string(settings.style)}",
        f"links = {_string(settings.links)}",
        f"exclude = {_list(map(_glob, settings.exclude))}",
        f"force-exclude = {_bool(settings.force_exclude)}",
        f"unsafe-fixes = {_bool(settings.unsafe_fixes)}",
        f"jobs = {settings.jobs or _string('auto')}",
    ]
    if settings.baseline is not None:
        lines.append(f"baseline = {_string(os.path.abspath(settings.baseline))}")
    if settings.output_format is not None:
        lines.append(f"output-format = {_string(settings.output_format)}")
    if settings.cache_dir is not None:
        lines.append(f"cache-dir = {_string(os.path.abspath(settings.cache_dir))}")
    if settings.observed:
        lines.append(f"observed = {_string(os.path.abspath(settings.observed))}")
    if settings.per_file_ignores:
        lines.append("[tool.tonumpy.per-file-ignores]")
        lines += [f"{_string(_globs(each))} = {_list(each.codes)}" for each in settings.per_file_ignores]
    return "".join(f"{line}\n" for line in lines)


def _globs(row: FileIgnores) -> str:
    globs = [_glob(each) for each in row.globs]
    return ("!" if row.is_negated else "") + (globs[0] if len(globs) == 1 else f"{{{','.join(globs)}}}")


def _glob(exclude: Exclude) -> str:
    """As it means the same in a file of any folder."""
    return exclude.pattern if "/" not in exclude.pattern.rstrip("/") else os.path.join(exclude.root, exclude.pattern)


def _list(items: Iterable[str]) -> str:
    return f"[{', '.join(map(_string, items))}]"


def _string(text: str) -> str:
    return json.dumps(text)  # TOML's basic strings are those of JSON, and more


def _bool(value: bool) -> str:
    return str(value).lower()
