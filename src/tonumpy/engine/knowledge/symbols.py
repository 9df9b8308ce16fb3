"""From the dotted name of a library that is not read to its value."""

from __future__ import annotations

from tonumpy.engine.names.frameworks import foreign_root
from tonumpy.engine.values.values import OtherFramework, Symbol, Value


def symbol(name: str) -> Value:
    """The symbol of that name; a value of another framework if it is one's."""
    root = foreign_root(name)
    if root is not None:
        return OtherFramework(root)
    return Symbol(name)
