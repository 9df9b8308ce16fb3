"""The value of a library's dotted name."""

from __future__ import annotations

from tonumpy.engine.names.frameworks import foreign_root
from tonumpy.engine.values.values import OtherFramework, Symbol, Value


def symbol(name: str) -> Value:
    """The symbol of that name, or an OtherFramework value if the name belongs to another framework."""
    root = foreign_root(name)
    if root is not None:
        return OtherFramework(root)
    return Symbol(name)
