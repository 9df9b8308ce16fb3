"""From the path of a module to what it is for: tests, examples, or what stands beside another."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module


MAX_FOLDERS = 6  # of a path, that are looked at to tell what a module is for


_TESTS = frozenset(("test", "tests", "testing", "conftest.py"))


_EXAMPLES = frozenset("benchmark benchmarks demo demos doc docs example examples tutorial tutorials".split())


def is_of_tests(module: Module) -> bool:
    """True if the module is a test, or lies in a folder of tests."""
    return module.use.is_test or not _TESTS.isdisjoint(_folders_of(module))


def is_beside(caller: Module, module: Module) -> bool:
    """Whether a caller is a part of what a module is a part of, and no program or example that makes use of it."""
    if not module.use.is_in_package:
        return True
    return caller.use.is_in_package and not is_example_of(caller, module)


def is_example_of(caller: Module, module: Module) -> bool:
    """Whether it lies among the examples or documents of what a module is a part of."""
    return not _EXAMPLES.isdisjoint({*_folders_of(caller)} - {*_folders_of(module)})


def _folders_of(module: Module) -> list[str]:
    return os.path.abspath(module.filename).split(os.sep)[-MAX_FOLDERS:]
