"""The names of libraries that are not read."""

from __future__ import annotations

from tonumpy.inference.index.frameworks import foreign_root
from tonumpy.inference.lattice.values import OtherFramework, Symbol, Value


def symbol(name: str) -> Value:
    """A library's name; another framework's is foreign."""
    root = foreign_root(name)
    if root is not None:
        return OtherFramework(root)
    return Symbol(name)
