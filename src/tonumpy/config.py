"""Reads `[tool.tonumpy]` of pyproject.toml files and combines it with the command line's choices for each folder."""

from __future__ import annotations

import os
import re
import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from tonumpy.boundary.paths import configured_path, real_path, root_of
from tonumpy.setting_values import ANY_CODE, READERS
from tonumpy.suggestions import shown, suggestion
from tonumpy.text.prefilter import kinds_in
from tonumpy.text.reading import read_regular

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from tonumpy.findings import Confidence, Links, RepairStyle, Style
    from tonumpy.globs import Exclude, FileIgnores
    from tonumpy.own_functions import OwnPromise, OwnSink
    from tonumpy.rules import Rule

STRICT_CODE = "TNP300"
OUR_CODES = "TNP"  # the prefix of all our codes
_REQUIRED = "required-version"

# Parsing TOML costs more than all the rest of a run over a few files, so it is done only if a file names the table.
# The table may be named in an unclosed header.
_NAMES_THE_TABLE = rb"(?m)tonumpy[\"']?\s*[].=]|^[ \t]*\[[^\n]*tonumpy"  # compiled when needed: start-up


class ConfigError(Exception):
    """A setting or option is invalid; the text names the file or option, the key and what is wrong."""


class Settings(NamedTuple):
    """`select`, `ignore` and `extend_select` hold codes, prefixes of codes ("TNP1") or ALL; `select` None selects the
    rules on by default, an empty one none.

    `ignored_here` are the codes that `per_file_ignores` turns off in one file, whatever selects them.
    `jobs` is the number of processes, 0 for one per core; a configuration file cannot ask for more than that.
    """

    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[FileIgnores, ...] = ()
    ignored_here: tuple[str, ...] = ()
    strict: bool = False
    style: Style = "links"
    links: Links = "both"
    output_format: str | None = None
    exclude: tuple[Exclude, ...] = ()
    force_exclude: bool = False
    unsafe_fixes: bool = False
    jobs: int = 0
    confidence: Confidence = "medium"
    preview: bool = False
    disable_habits: tuple[str, ...] = ()
    baseline: str | None = None
    promises: tuple[OwnPromise, ...] = ()
    sinks: tuple[OwnSink, ...] = ()
    cache_dir: str | None = None
    observed: str | None = None

    def selects(self, rule: Rule) -> bool:
        """True if a rule is on: the longest prefix of its code wins; of two that are equally long, `ignore`.

        A rule that is off by default is turned on by ALL or by a prefix with a digit, not by the bare "TNP".
        """
        if (rule.is_preview and not self.preview) or _weight(rule.code, self.ignored_here):
            return False
        asked = (*(self.select or ()), *self.extend_select)
        if not rule.on_by_default:
            asked = tuple(code for code in asked if code == ANY_CODE or code[-1].isdigit())
            if self.strict and rule.code == STRICT_CODE:
                asked = (rule.code,)
        selected, ignored = _weight(rule.code, asked), _weight(rule.code, self.ignore)
        if rule.on_by_default and self.select is None and not ignored:
            return True
        return selected > ignored

    def selected_in_vain(self) -> list[str]:
        """The codes of preview rules that are selected by their full codes, but stay off without `preview`."""
        asked = {*(self.select or ()), *self.extend_select}
        if self.preview or not asked:
            return []
        from tonumpy.rules import all_rules  # saves start-up where no rule is asked for

        return [rule.code for rule in all_rules() if rule.is_preview and rule.code in asked]

    def repair_style(self, rules: Iterable[Rule]) -> RepairStyle:
        """The style in which these rules repair: strict asks for both links, needed or not."""
        is_strict = any(rule.code == STRICT_CODE for rule in rules)
        return "needed" if self.style == "links" and self.links == "needed" and not is_strict else self.style

    def in_file(self, path: str) -> Settings:
        """These settings, with `ignored_here` for one file."""
        if not self.per_file_ignores:
            return self
        codes = [code for each in self.per_file_ignores if each.cover(path) for code in each.codes]
        return self._replace(ignored_here=tuple(codes))


def may_have_findings(data: bytes, settings: Callable[[], Settings]) -> bool:
    """True if the bytes of a file may contain what a selected rule judges; `settings` is called only if needed."""
    judged = set[str]()
    for kind in kinds_in(data):
        if kind == "receivers":
            return True
        if not judged:
            from tonumpy.rules import all_rules  # saves start-up where no rule is asked for

            chosen = settings()
            judged = {each for rule in all_rules() if chosen.selects(rule) for each in rule.judges}
            judged |= {"risks"} if chosen.sinks and "arguments" in judged else set()
        if kind in judged:
            return True
    return False


def _weight(code: str, beginnings: Sequence[str]) -> int:
    """The weight of the longest matching prefix of a code: 0 for none, 1 for ALL, else its length plus 1."""
    fitting = (len(each) + 1 for each in beginnings if code.startswith(each))
    return max(fitting, default=int(ANY_CODE in beginnings))


# The settings that a file or the command line gives, by the names of `Settings`, and `extend_exclude`; all others are
# missing.
Choices = dict[str, Any]


def overlay(under: Choices, over: Choices) -> Choices:
    """Combine the choices of two places; those of `over` override those of `under`.

    As in ruff, a `select` restarts the selection (`select`, `extend-select`, `ignore` and `strict` of `under` are
    dropped), while an `ignore`, an `extend-select` and an `extend-exclude` are added to those of `under`. An
    `extend-select` also removes its codes from the `ignore` of `under`.
    """
    dropped = ("select", "extend_select", "ignore", "strict") if "select" in over else ()
    under = {name: value for name, value in under.items() if name not in dropped}
    taken_back = over.get("extend_select", ())
    under["ignore"] = tuple(code for code in under.get("ignore", ()) if not _weight(code, taken_back))
    said = under | over
    for name in ("ignore", "extend_select", "extend_exclude", "promises", "sinks"):
        said[name] = (*under.get(name, ()), *over.get(name, ()))
    return said


def combine(file: Choices, line: Choices) -> Settings:
    """The settings by a file's choices, overridden by those of the command line."""
    said = overlay(file, line)
    said["exclude"] = (*said.get("exclude", ()), *said.pop("extend_exclude"))
    said["jobs"] = line["jobs"] if "jobs" in line else min(said.get("jobs", 0), cores())
    return Settings(**said)


def cores() -> int:
    """The number of cores that this process may use; in a container fewer than the machine has."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Configuration:
    """The settings of each folder.

    As in ruff, the nearest pyproject.toml at or above a file's folder with a `[tool.tonumpy]` table governs the file;
    those without the table are skipped, and two are never merged unless one says `extend`. `--config FILE` governs all
    files instead; with `--isolated` none is read.
    """

    def __init__(self, line: Choices | None = None, config: str | None = None, isolated: bool = False) -> None:
        line = line or {}
        self._line = line
        self._folders: dict[str, tuple[Settings, str | None]] = {}
        self._everywhere: tuple[Settings, str | None] | None = None
        if config is not None:
            self._everywhere = (combine(_read_named(config), line), config)
        elif isolated:
            self._everywhere = (combine({}, line), None)

    def settings_in(self, folder: str) -> Settings:
        return self.governed(folder)[0]

    def settings_of(self, path: str) -> Settings:
        """The settings of one file, with `per-file-ignores` applied."""
        return self.settings_in(os.path.dirname(path)).in_file(path)

    def governed(self, folder: str) -> tuple[Settings, str | None]:
        """The settings of a folder, and the file that they were read from, or None."""
        if self._everywhere is not None:
            return self._everywhere
        found = self._folders.get(folder)
        if found is not None:
            return found
        here, passed = os.path.abspath(folder), [folder]
        while found is None:
            found = self._folders.get(here) or self._own(here)
            passed.append(here)
            here, below = os.path.dirname(here), here
            if found is None and here == below:
                found = (combine({}, self._line), None)
        self._folders.update(dict.fromkeys(passed, found))
        return found

    def _own(self, folder: str) -> tuple[Settings, str | None] | None:
        """The settings of the folder's own file, and its path; None if it has none."""
        path = os.path.join(folder, "pyproject.toml")
        if os.path.islink(path):
            try:
                _in_repository(path, folder)
            except ValueError as error:
                raise ConfigError(f"{path}: {error}") from error
        choices = _read(path) if os.path.isfile(path) else None
        return None if choices is None else (combine(choices, self._line), path)


def _read_named(path: str, read_for: tuple[str, ...] = ()) -> Choices:
    choices = _read(path, read_for)
    if choices is None:
        raise ConfigError(f"{path}: there is no [tool.tonumpy] table in this file")
    return choices


def _read(path: str, read_for: tuple[str, ...] = ()) -> Choices | None:
    """The choices of one TOML file, over those of the file that it extends; None if it has no table of ours.

    `read_for` are the files that led here, each extending the next.
    """
    table = _table(path)
    if not isinstance(table, dict) or "extend" not in table:
        return None if table is None else read_table(table, path)
    extended = table.pop("extend")
    if not isinstance(extended, str):
        raise ConfigError(f"{path}: [tool.tonumpy] extend: expected the path of a file, found {shown(extended)}")
    here = real_path(path)
    if here in read_for:
        raise ConfigError(f"{path}: [tool.tonumpy] extend: the files extend each other in a circle")
    choices = read_table(table, path)  # errors of this file come before those of the extended one
    try:
        under = _read_named(_in_repository(extended, os.path.dirname(path)), (*read_for, here))
    except (ConfigError, ValueError) as error:
        raise ConfigError(f"{path}: [tool.tonumpy] extend: {error}") from error
    return overlay(under, choices)


def _in_repository(path: str, folder: str) -> str:
    """The path of a settings file that a repository names or links to; ValueError if it is outside the repository."""
    return configured_path(path, folder, inside=root_of(folder), kind="file", otherwise="`--config`")


def _table(path: str) -> object:
    """The `tool.tonumpy` table of a TOML file; None if it has none."""
    data = read_file(path)
    if b"tonumpy" not in data or not re.search(_NAMES_THE_TABLE, data):
        return None
    try:
        document = _parsed(data.decode())
    except ValueError as error:  # invalid text, encoding, or a number with too many digits
        raise ConfigError(f"{path}: not valid TOML: {error}") from error
    except RecursionError as error:
        raise ConfigError(f"{path}: nested too deeply") from error
    tool = document.get("tool")
    return tool.get("tonumpy") if isinstance(tool, dict) else None


def read_file(path: str, advice: str = "") -> bytes:
    """The bytes of a file that a user or the settings name; ConfigError, with the advice, if it cannot be read."""
    try:
        return read_regular(path)
    except OSError as error:
        raise ConfigError(f"{path}: {error.strerror}{advice}") from error


def _parsed(text: str) -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def read_table(table: object, path: str) -> Choices:
    """The choices in a parsed `[tool.tonumpy]` table of the file at `path`; ConfigError if one is invalid."""
    if not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.tonumpy: expected a table, found {shown(table)}")
    _check_version(table, path)  # before keys that another version may know
    choices: Choices = {}
    for key, value in table.items():
        if key == _REQUIRED:
            continue
        if key == "lint":  # as in ruff
            raise ConfigError(f"{path}: [tool.tonumpy.lint]: put its keys one level up, in [tool.tonumpy]")
        if key not in READERS:
            known = sorted((*READERS, "extend", _REQUIRED))
            raise ConfigError(f"{path}: [tool.tonumpy] has no key `{key}`{suggestion(key, known)}")
        try:
            choices[key.replace("-", "_")] = READERS[key](value, os.path.dirname(os.path.abspath(path)))
        except RecursionError as error:
            raise ConfigError(f"{path}: [tool.tonumpy] {key}: nested too deeply") from error
        except ValueError as error:
            raise ConfigError(f"{path}: [tool.tonumpy] {key}: {error}") from error
    return choices


def _check_version(table: dict[str, object], path: str) -> None:
    """Raise ConfigError if the file requires another version (PEP 440); a bare version means `==`, as in ruff."""
    if _REQUIRED not in table:
        return
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # only where a version is asked for: start-up

    import tonumpy

    text = str(table[_REQUIRED]).strip()
    try:
        wanted = SpecifierSet(f"=={text}" if isinstance(table[_REQUIRED], str) and text[:1].isdigit() else text)
    except InvalidSpecifier as error:
        expected = f'expected a specifier of versions, such as ">=0.1", found {shown(table[_REQUIRED])}'
        raise ConfigError(f"{path}: [tool.tonumpy] {_REQUIRED}: {expected}") from error
    if tonumpy.__version__ != "unknown" and not wanted.contains(tonumpy.__version__, prereleases=True):
        asked = f"this is tonumpy {tonumpy.__version__}, and the file asks for {wanted}"
        raise ConfigError(f"{path}: [tool.tonumpy] {_REQUIRED}: {asked}")


def read_inline(text: str) -> Choices:
    """The choices of `KEY = VALUE` on the command line, in TOML; ConfigError if it is invalid."""
    try:
        table = _parsed(text)
    except ValueError as error:
        raise ConfigError(f"--config {text}: not valid TOML: {error}; a text stands in quotes") from error
    return read_table(table, "--config")


def read_choices(**said: object) -> Choices:
    """The choices in the arguments of a call, where None means not given; ValueError names what is wrong."""
    choices: Choices = {}
    for name, value in said.items():
        key = name.replace("_", "-")
        try:
            if value is not None:
                choices[name] = READERS[key](value, os.getcwd())
        except ValueError as error:
            raise ValueError(f"{key}: {error}") from error
    return choices
