"""The command line's choices and `[tool.tonumpy]` of the pyproject.toml files in; the settings of each folder out."""

from __future__ import annotations

import os
import re
import sys

from tonumpy.findings import CONFIDENCES, STYLES
from tonumpy.globs import Exclude, regular_expression
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import TypeVar

    from tonumpy.findings import Confidence, Style
    from tonumpy.rules import Rule

    _T = TypeVar("_T")

STRICT_CODE = "TNP300"
MAX_GLOBS = 1000  # that one with braces may stand for

# Parsing TOML costs more than all the rest of a run over a few files, so it is done only where a file names the table.
# The table may be named in a header that is not closed.
_NAMES_THE_TABLE = re.compile(rb"tonumpy[\"']?\s*[].=]|^[ \t]*\[[^\n]*tonumpy", re.MULTILINE)
MAX_BYTES = 1_000_000


class ConfigError(Exception):
    """A choice that cannot be followed; its text names the file or option, the key and what is wrong."""


class Settings(NamedTuple):
    """`select` and `ignore` hold codes or their beginnings ("TNP1"); an empty `select` means the rules on by default.

    `jobs` is the number of processes, 0 for as many as there are cores.
    """

    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    strict: bool = False
    style: Style = "links"
    exclude: tuple[Exclude, ...] = ()
    force_exclude: bool = False
    unsafe_fixes: bool = False
    jobs: int = 0
    confidence: Confidence = "medium"
    disable_habits: tuple[str, ...] = ()

    def selects(self, rule: Rule) -> bool:
        """The longest beginning of the rule's code wins, and `ignore` wins over a `select` of the same length.

        A rule that is off by default is turned on by a beginning that has a digit, not by the bare "TNP".
        """
        selected = _longest_beginning(rule.code, self.select)
        if not rule.on_by_default:
            if selected and not selected[-1].isdigit():
                selected = ""
            if self.strict and rule.code == STRICT_CODE:
                selected = rule.code
        elif not self.select:
            return not _longest_beginning(rule.code, self.ignore)
        return len(selected) > len(_longest_beginning(rule.code, self.ignore))


def judges_arguments(settings: Settings) -> bool:
    """Whether files without any call of `.numpy()` may have findings."""
    from tonumpy.rules import all_rules  # saves start-up where no rule is asked for

    return any(rule.judges == "arguments" and settings.selects(rule) for rule in all_rules())


def _longest_beginning(code: str, beginnings: Iterable[str]) -> str:
    return max(filter(code.startswith, beginnings), key=len, default="")


class Choices(NamedTuple):
    """What one place, a file or the command line, says; None where it says nothing."""

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    strict: bool | None = None
    style: Style | None = None
    exclude: tuple[Exclude, ...] | None = None
    extend_exclude: tuple[Exclude, ...] | None = None
    force_exclude: bool | None = None
    unsafe_fixes: bool | None = None
    jobs: int | None = None
    confidence: Confidence | None = None
    disable_habits: tuple[str, ...] | None = None


_SILENT = Choices()


def combine(file: Choices, line: Choices) -> Settings:
    """The command line's word counts over the file's.

    As in ruff, `--select` starts the selection anew (the file's `select`, `ignore` and `strict` are dropped), while
    `--ignore` and `--extend-exclude` are added to what the file says.
    """
    selection = _SILENT if line.select is not None else file

    def chosen(said: _T | None, otherwise: _T | None, default: _T) -> _T:
        return said if said is not None else otherwise if otherwise is not None else default

    return Settings(
        select=chosen(line.select, file.select, ()),
        ignore=(*(selection.ignore or ()), *(line.ignore or ())),
        strict=chosen(line.strict, selection.strict, False),
        style=chosen(line.style, file.style, "links"),
        exclude=chosen(line.exclude, file.exclude, ()) + (file.extend_exclude or ()) + (line.extend_exclude or ()),
        force_exclude=chosen(line.force_exclude, file.force_exclude, False),
        unsafe_fixes=chosen(line.unsafe_fixes, file.unsafe_fixes, False),
        jobs=chosen(line.jobs, file.jobs, 0),
        confidence=chosen(line.confidence, file.confidence, "medium"),
        disable_habits=file.disable_habits or (),
    )


class Configuration:
    """Which settings hold in which folder.

    As in ruff, a file is governed by the nearest pyproject.toml at or above its folder that has a `[tool.tonumpy]`
    table; files without the table are passed over, and two of them are never merged. `--config FILE` governs every
    file instead, `--isolated` leaves all of them unread.
    """

    def __init__(self, line: Choices = _SILENT, config: str | None = None, isolated: bool = False) -> None:
        self._line = line
        self._folders: dict[str, Settings] = {}
        self._everywhere: Settings | None = None
        if config is not None:
            choices = _read(config)
            if choices is None:
                raise ConfigError(f"{config}: there is no [tool.tonumpy] table in this file")
            self._everywhere = combine(choices, line)
        elif isolated:
            self._everywhere = combine(_SILENT, line)

    def settings_in(self, folder: str) -> Settings:
        if self._everywhere is not None:
            return self._everywhere
        settings = self._folders.get(folder)
        if settings is None:
            settings = self._folders[folder] = self._nearest(os.path.abspath(folder))
        return settings

    def _nearest(self, folder: str) -> Settings:
        path = os.path.join(folder, "pyproject.toml")
        choices = _read(path) if os.path.isfile(path) else None
        if choices is not None:
            return combine(choices, self._line)
        parent = os.path.dirname(folder)
        return combine(_SILENT, self._line) if parent == folder else self.settings_in(parent)


def _read(path: str) -> Choices | None:
    """The choices of one TOML file; None where it has no table for us."""
    try:
        data = read_regular(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}") from error
    if not _NAMES_THE_TABLE.search(data):
        return None
    if len(data) > MAX_BYTES:
        raise ConfigError(f"{path}: is larger than {MAX_BYTES} bytes")
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        document = tomllib.loads(data.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error
    tool = document.get("tool")
    table = tool.get("tonumpy") if isinstance(tool, dict) else None
    return None if table is None else read_table(table, path)


def read_table(table: object, path: str) -> Choices:
    """The choices in a parsed `[tool.tonumpy]` table of the file at `path`; ConfigError where one is wrong."""
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.tonumpy: expected a table, found {_shown(table)}")
    choices: dict[str, object] = {}
    for key, value in table.items():
        if key not in _READERS:
            raise ConfigError(f"{path}: [tool.tonumpy] has no key `{key}`{suggestion(key, sorted(_READERS))}")
        try:
            choices[key.replace("-", "_")] = _READERS[key](value, os.path.dirname(os.path.abspath(path)))
        except ValueError as error:
            raise ConfigError(f"{path}: [tool.tonumpy] {key}: {error}") from error
    return Choices(**choices)  # type: ignore[arg-type]


def read_codes(value: object, _root: str = "") -> tuple[str, ...]:
    """Codes or their beginnings; ValueError for one that no rule's code begins with."""
    codes = _strings(value)
    if codes:
        from tonumpy.rules import all_rules  # saves start-up where no code is given

        known = [rule.code for rule in all_rules()]
        for code in codes:
            if not code or not any(rule.startswith(code) for rule in known):
                raise ValueError(f"no rule has the code `{code}`{suggestion(code, known)}")
    return codes


def read_globs(value: object, root: str) -> tuple[Exclude, ...]:
    patterns = [pattern for text in _strings(value) for pattern in expand_braces(text)]
    for pattern in patterns:
        regular_expression(pattern)  # ValueError
    return tuple(Exclude(root, pattern) for pattern in patterns)


def split_at_commas(text: str) -> list[str]:
    """The parts of a text between its commas, those inside braces not counted: `a,{b,c}` are two."""
    parts, depth = [""], 0
    for character in text:
        depth += (character == "{") - (character == "}")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def expand_braces(pattern: str) -> list[str]:
    """The globs that one with `{a,b}` stands for, as in a shell: braces without a comma stand for themselves.

    ValueError where one is not closed, or they multiply.
    """
    start = pattern.find("{")
    while start != -1:
        depth, stop = 0, start
        for stop in range(start, len(pattern)):
            depth += (pattern[stop] == "{") - (pattern[stop] == "}")
            if depth == 0:
                break
        else:
            raise ValueError(f"the brace in `{pattern}` is not closed")
        parts = split_at_commas(pattern[start + 1 : stop])
        if len(parts) > 1:
            found: list[str] = []
            for part in parts:
                found += expand_braces(pattern[:start] + part + pattern[stop + 1 :])
                if len(found) > MAX_GLOBS:
                    raise ValueError(f"`{pattern}` stands for more than {MAX_GLOBS} globs")
            return found
        start = pattern.find("{", start + 1)
    return [pattern]


def read_jobs(value: object, _root: str = "") -> int:
    if value == "auto":
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f'expected a number of processes or "auto", found {_shown(value)}')
    return value


def _read_style(value: object, _root: str) -> Style:
    for style in STYLES:
        if value == style:
            return style
    raise ValueError(f"expected {' or '.join(map(_shown, STYLES))}, found {_shown(value)}")


def read_confidence(value: object, _root: str = "") -> Confidence:
    for confidence in CONFIDENCES:
        if value == confidence:
            return confidence
    raise ValueError(f"expected {', '.join(map(_shown, CONFIDENCES))}, found {_shown(value)}")


def _read_habits(value: object, _root: str) -> tuple[str, ...]:
    """Identifiers of habits; ValueError for one that there is not."""
    habits = _strings(value)
    if habits:
        from tonumpy.inference.habits import habit_ids  # saves start-up

        known = habit_ids()
        for habit in habits:
            if habit not in known:
                raise ValueError(f"there is no habit `{habit}`{suggestion(habit, known)}")
    return habits


def _read_bool(value: object, _root: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {_shown(value)}")
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"expected a list of strings, found {_shown(value)}")
    return tuple(value)


_READERS: dict[str, Callable[[object, str], object]] = {
    "select": read_codes,
    "ignore": read_codes,
    "strict": _read_bool,
    "style": _read_style,
    "exclude": read_globs,
    "extend-exclude": read_globs,
    "force-exclude": _read_bool,
    "unsafe-fixes": _read_bool,
    "jobs": read_jobs,
    "confidence": read_confidence,
    "disable-habits": _read_habits,
}


def _shown(value: object) -> str:
    """A value as TOML writes it, near enough for a message."""
    if isinstance(value, bool):
        return str(value).lower()
    return f'"{value}"' if isinstance(value, str) else repr(value)


def suggestion(word: str, known: Sequence[str]) -> str:
    """The end of a message about an unknown word: the known word that was meant, or else all of them."""
    from difflib import get_close_matches

    matches = {name.lower(): name for name in known}
    close = get_close_matches(word.lower(), matches, n=1)
    if close:
        return f"; did you mean `{matches[close[0]]}`?"
    return f"; there are {', '.join(f'`{name}`' for name in known)}"
