"""Shows the settings of files, as a `[tool.tonumpy]` table for each group of files that share them."""

import json
import os
from collections.abc import Iterable, Sequence

from tonumpy.config import Configuration, Settings
from tonumpy.globs import Exclude, FileIgnores
from tonumpy.rules import all_rules
from tonumpy.text.visible import visible


def render(files: Sequence[str], configuration: Configuration) -> str:
    """The settings as TOML, with all else in comments; files with equal settings are grouped."""
    groups: dict[tuple[Settings, str | None], list[str]] = {}
    for path in files:
        origin = configuration.governed(os.path.dirname(path))[1]
        groups.setdefault((configuration.settings_of(path), origin), []).append(path)
    return "\n".join(_group(settings, origin, paths) for (settings, origin), paths in groups.items())


def _group(settings: Settings, origin: str | None, paths: Iterable[str]) -> str:
    rules = (rule.code for rule in all_rules() if settings.selects(rule))
    keys = {name: value for name, value in settings._asdict().items() if name not in _TOLD_OTHERWISE}
    lines = [
        *(f"# settings of {visible(path)}" for path in paths),
        f"# read from {visible(origin or 'no file')}",
        f"# rules: {_listed(rules)}",
        f"# promises: {_listed(each.function for each in settings.promises)}",
        f"# sinks: {_listed(each.function for each in settings.sinks)}",
        "[tool.tonumpy]",
        "# select: the rules on by default" if settings.select is None else f"select = {json.dumps(settings.select)}",
        *(f"{name.replace('_', '-')} = {_value(name, value)}" for name, value in keys.items() if value is not None),
        *(["[tool.tonumpy.per-file-ignores]"] if settings.per_file_ignores else ()),
        *(f"{json.dumps(_globs(each))} = {json.dumps(each.codes)}" for each in settings.per_file_ignores),
    ]
    return "".join(f"{line}\n" for line in lines)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


_PATHS = ("baseline", "cache_dir", "observed")
_TOLD_OTHERWISE = ("select", "per_file_ignores", "ignored_here", "promises", "sinks")


def _value(name: str, value: object) -> str:
    """The value in TOML; for strings, numbers, booleans and lists that is JSON."""
    if name == "jobs":
        value = value or "auto"
    elif name == "exclude" and isinstance(value, tuple):
        value = [_glob(each) for each in value]
    elif name in _PATHS:
        value = os.path.abspath(str(value))
    return json.dumps(value)


def _globs(row: FileIgnores) -> str:
    globs = [_glob(each) for each in row.globs]
    return ("!" if row.is_negated else "") + (globs[0] if len(globs) == 1 else f"{{{','.join(globs)}}}")


def _glob(exclude: Exclude) -> str:
    """The glob in a form that means the same in a file of any folder."""
    return exclude.pattern if "/" not in exclude.pattern.rstrip("/") else os.path.join(exclude.root, exclude.pattern)
