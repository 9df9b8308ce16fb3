"""From the dotted name of a library that is not read to its value."""

from __future__ import annotations

from tonumpy.inference.index.frameworks import foreign_root
from tonumpy.inference.lattice.values import OtherFramework, Symbol, Value


def symbol(name: str) -> Value:
    """The symbol of that name; a value of another framework if it is one's."""
    root = foreign_root(name)
    if root is not None:
        return OtherFramework(root)
    return Symbol(name)
