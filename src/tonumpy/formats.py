"""Lists the output formats by the modules of the package `report`, without importing them."""

from __future__ import annotations

import os

_FOLDER = os.path.join(os.path.dirname(__file__), "report")


def format_names() -> list[str]:
    names = [name[:-3] for name in os.listdir(_FOLDER) if name.endswith(".py") and name != "__init__.py"]
    return sorted(name.replace("_", "-") for name in names)


def read_format(value: object, _root: str = "") -> str:
    """Validate the name of a format; ValueError if there is no such format."""
    if not isinstance(value, str) or value not in format_names():
        raise ValueError(f"unknown format `{value}`; known are {', '.join(format_names())}")
    return value
