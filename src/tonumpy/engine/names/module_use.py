"""How a module is used: run by a test runner, started as a script, or imported by other modules."""

from __future__ import annotations

import ast
import os
import re
from functools import cached_property
from typing import Protocol

from tonumpy.engine.names.module_names import Names, tree_of
from tonumpy.engine.names.module_words import Words
from tonumpy.text.source import Source
from tonumpy.text.syntax import FUNCTIONS, statements_of


class Packages(Protocol):
    """The folder of a module; implemented in project.py."""

    def is_package(self, folder: str) -> bool: ...


_MAIN_GUARD = r"\nif\s+(?:\(\s*)?__name__\s*=="
_PRINTS = r"(?m)^print\("  # at the top level; a library prints in a branch, if something is missing
_READS_COMMAND_LINE = r"\n\w[^\n]*\bparse(_known)?_args\("


class Use:
    """The uses of one module, each computed once."""

    def __init__(self, source: Source, names: Names, words: Words, packages: Packages) -> None:
        self._source = source
        self._names = names
        self._words = words
        self._packages = packages

    @cached_property
    def is_test(self) -> bool:
        """True if the file is named like a test, which only the test runner imports."""
        name = os.path.basename(self._source.filename)
        return (name.startswith("test_") and name.endswith(".py")) or name.endswith("_test.py")

    @cached_property
    def holds_tests(self) -> bool:
        """True if a test runner calls its functions; a script that evaluates a model may be named like a test too."""
        return self.is_test and (self.names_runner or (self.defines_tests and not self.is_script))

    @cached_property
    def names_runner(self) -> bool:
        return "pytest" in self._source.text or "unittest" in self._source.text

    @cached_property
    def defines_tests(self) -> bool:
        return "def test_" in self._source.text

    @cached_property
    def is_in_package(self) -> bool:
        return self._packages.is_package(folder_of(self._source.filename))

    @cached_property
    def names_around(self) -> tuple[str, ...]:
        """The module's own name and those of its packages, innermost first."""
        names = [os.path.splitext(os.path.basename(self._source.filename))[0]]
        folder = folder_of(self._source.filename)
        while self._packages.is_package(folder):
            folder, name = os.path.split(folder)
            names.append(name)
        return tuple(names)

    @cached_property
    def is_script(self) -> bool:
        """True for a program or notebook, which alone calls its functions.
        A program without a guard is recognized by the effects of its import: it would read the command line, train a
        model, print, or call one of its own functions for its effect.
        """
        if self._source.cell_rows is not None or self.has_main_guard:
            return True
        return not self.is_in_package and (self.reads_command_line or self._acts_when_imported)

    @cached_property
    def has_main_guard(self) -> bool:
        return re.search(_MAIN_GUARD, f"\n{self._source.text}") is not None

    @cached_property
    def reads_command_line(self) -> bool:
        return re.search(_READS_COMMAND_LINE, f"\n{self._source.text}") is not None

    @cached_property
    def _acts_when_imported(self) -> bool:
        calls = (each.value for each in statements_of(tree_of(self._source).body) if isinstance(each, ast.Expr))
        functions = [call.func for call in calls if isinstance(call, ast.Call)]
        if any(isinstance(function, ast.Attribute) and function.attr == "backward" for function in functions):
            return True
        called = {function.id for function in functions if isinstance(function, ast.Name)}
        if "print" in called and re.search(_PRINTS, self._source.text):
            return True
        return any(isinstance(each, FUNCTIONS) for name in called for each in self._names.bindings.get(name, ()))


def folder_of(filename: str) -> str:
    """The absolute folder of a file, so that each module has one path."""
    return os.path.dirname(os.path.abspath(filename))
