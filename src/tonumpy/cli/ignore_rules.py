"""Applies git's ignore rules, of .gitignore files and .git/info/exclude, without running git.

A repository's configuration may name programs that git would run. As in ruff, a file that matches is ignored even if
git tracks it.
"""

from __future__ import annotations

import os
from typing import NamedTuple

from pathspec import GitIgnoreSpec

from tonumpy.boundary.paths import root_of
from tonumpy.text.reading import read_regular

_MAX_BYTES = 1_000_000  # of an ignore file


class _Rules(NamedTuple):
    """The patterns of one ignore file, relative to its folder."""

    folder: str
    spec: GitIgnoreSpec


class IgnoreRules:
    """The rules for a folder, the outermost first; paths are absolute."""

    def __init__(self, rules: tuple[_Rules, ...] = ()) -> None:
        self._rules = rules

    @classmethod
    def above(cls, folder: str) -> IgnoreRules:
        """The rules for the contents of a named folder, even if the rules ignore the folder itself."""
        root = root_of(folder)
        if root is None:
            return cls()
        rules = cls._of_repository(root)
        here = root
        for part in () if folder == root else os.path.relpath(folder, root).split(os.sep):
            here = os.path.join(here, part)
            rules = cls() if rules.ignore(here, is_folder=True) else rules.inside(here)
        return rules

    @classmethod
    def _of_repository(cls, root: str) -> IgnoreRules:
        own = _read(os.path.join(root, ".git", "info", "exclude"), root)
        return cls((*own, *_read(os.path.join(root, ".gitignore"), root)))

    def inside(self, folder: str) -> IgnoreRules:
        """The rules for a subfolder; a nested repository has only its own."""
        if os.path.exists(os.path.join(folder, ".git")):
            return self._of_repository(folder)
        found = _read(os.path.join(folder, ".gitignore"), folder)
        return IgnoreRules((*self._rules, *found)) if found else self

    def ignore(self, path: str, *, is_folder: bool) -> bool:
        """True if the last matching rule ignores the path; rules of inner folders come after those of outer ones."""
        for rules in reversed(self._rules):
            relative = path[len(rules.folder) :].lstrip(os.sep).replace(os.sep, "/")
            relative += "/" * is_folder
            told = rules.spec.check_file(relative).include
            if told is not None:
                return told
        return False


def _read(path: str, folder: str) -> list[_Rules]:
    try:
        text = read_regular(path, _MAX_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return []
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    spec = GitIgnoreSpec.from_lines(lines)
    return [_Rules(folder, spec)] if lines else []
