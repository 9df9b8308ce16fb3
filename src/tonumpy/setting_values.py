"""Reads the values of settings from TOML or from a call, one reader per key; ValueError says what is wrong."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING

from tonumpy.boundary.paths import configured_path
from tonumpy.findings import CONFIDENCES, LINKS, STYLES
from tonumpy.formats import read_format
from tonumpy.globs import Exclude, FileIgnores, compiled, expand_braces
from tonumpy.suggestions import either, shown, suggestion

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tonumpy.own_functions import OwnPromise, OwnSink

ANY_CODE = "ALL"  # in place of a code, as in ruff


def read_codes(value: object, _root: str = "") -> tuple[str, ...]:
    """Turn codes, prefixes of codes or names of rules, in any case, into codes; ValueError for anything else."""
    return tuple(map(_read_code, _strings(value)))


def _read_code(word: str) -> str:
    from tonumpy.rules import all_rules  # saves start-up where no code is given

    code, name = word.upper(), word.lower()
    for rule in all_rules():
        if rule.name == name:
            return rule.code
    if code == ANY_CODE or (code and any(rule.code.startswith(code) for rule in all_rules())):
        return code
    if "-" in word:
        raise ValueError(f"no rule has the name `{word}`{suggestion(word, [rule.name for rule in all_rules()])}")
    raise ValueError(f"no rule has the code `{word}`{suggestion(word, [rule.code for rule in all_rules()])}")


def read_globs(value: object, root: str) -> tuple[Exclude, ...]:
    patterns = [glob for pattern in _strings(value) for glob in expand_braces(pattern)]
    for pattern in patterns:
        compiled(pattern)  # ValueError
    return tuple(Exclude(root, pattern) for pattern in patterns)


def read_file_ignores(value: object, root: str) -> tuple[FileIgnores, ...]:
    if not isinstance(value, dict):
        raise ValueError(f"expected a table of globs, found {shown(value)}")
    found = []
    for glob, codes in value.items():
        try:
            globs = read_globs([glob.removeprefix("!")], root)
            found.append(FileIgnores(globs, read_codes(codes), glob.startswith("!")))
        except ValueError as error:
            raise ValueError(f"{shown(glob)}: {error}") from error
    return tuple(found)


def read_jobs(value: object, _root: str = "") -> int:
    if value == "auto":
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f'expected a number of processes or "auto", found {shown(value)}')
    return value


def _read_sinks(value: object, _root: str) -> tuple[OwnSink, ...]:
    from tonumpy.own_functions import read_sinks  # only where there are sinks: start-up

    return read_sinks(value)


def _read_promises(value: object, _root: str) -> tuple[OwnPromise, ...]:
    from tonumpy.engine.values.dtypes import is_dtype_name  # only where there are promises: start-up
    from tonumpy.own_functions import read_promises  # the same: start-up

    return read_promises(value, is_dtype_name)


def _read_path(kind: str, others: str, value: object, root: str) -> str:
    """A path in a file, relative to that file, as a path relative to the current folder.

    ValueError if it is outside of the file's folder: we write to it, and its author must not choose places elsewhere.
    """
    if not isinstance(value, str):
        raise ValueError(f"expected the path of a {kind}, found {shown(value)}")
    return os.path.relpath(configured_path(value, root, inside=root, kind=kind, otherwise=others))


def _read_one_of(words: Sequence[str], value: object, _root: str) -> str:
    if isinstance(value, str) and value in words:
        return value
    raise ValueError(f"expected {either([*map(shown, words)])}, found {shown(value)}")


def _read_habits(value: object, _root: str) -> tuple[str, ...]:
    """The ids of habits; ValueError for an unknown one."""
    habits = _strings(value)
    if habits:
        from tonumpy.engine.knowledge.habits import habit_ids  # saves start-up

        known = habit_ids()
        for habit in habits:
            if habit not in known:
                raise ValueError(f"unknown habit `{habit}`{suggestion(habit, known)}")
    return habits


def _read_bool(value: object, _root: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"expected true or false, found {shown(value)}")
    return value


def _strings(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError(f"expected a list of strings, found {shown(value)}")
    return tuple(value)


READERS: dict[str, Callable[[object, str], object]] = {
    "select": read_codes,
    "extend-select": read_codes,
    "ignore": read_codes,
    "per-file-ignores": read_file_ignores,
    "strict": _read_bool,
    "preview": _read_bool,
    "style": partial(_read_one_of, STYLES),
    "links": partial(_read_one_of, LINKS),
    "output-format": read_format,
    "exclude": read_globs,
    "extend-exclude": read_globs,
    "force-exclude": _read_bool,
    "unsafe-fixes": _read_bool,
    "jobs": read_jobs,
    "confidence": partial(_read_one_of, CONFIDENCES),
    "disable-habits": _read_habits,
    "baseline": partial(_read_path, "file", "`--baseline`"),
    "observed": partial(_read_path, "file", "`--observed`"),
    "promises": _read_promises,
    "sinks": _read_sinks,
    "cache-dir": partial(_read_path, "folder", "`--cache-dir` and TONUMPY_CACHE_DIR"),
}


CHOSEN = frozenset(key.replace("-", "_") for key in READERS)  # the names in `Choices`
