"""Loads the JSON tables of this folder, which scripts have measured and written."""

from __future__ import annotations

import json
import os
from functools import cache
from typing import Any


@cache
def table(name: str) -> dict[str, Any]:
    """The table of this name; each is read once, on first use."""
    with open(os.path.join(os.path.dirname(__file__), f"{name}.json"), encoding="utf-8") as file:
        found: dict[str, Any] = json.load(file)
        return found
