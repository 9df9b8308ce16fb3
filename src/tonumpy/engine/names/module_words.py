"""The words that a module's text mentions (grad, devices, Variable), found without parsing."""

from __future__ import annotations

import re
from functools import cached_property

from tonumpy.text.uncommented import uncommented

# For lowercase text; no branch begins with an assertion, so that the search can jump to first letters.
_OTHER_DEVICES = r"""device(?!["']?\s*[:=(]\s*["']cpu)|cuda|gpu|accelerat|mps(?<=\bmps)\b|[xnth]pu\b"""
_SINCE_TENSORS_ARE_VARIABLES = r"\btorch\.tensor\(|\bno_grad\(|\btorch\.device\("  # torch 0.4


def names_other_devices(text: str) -> bool:
    """True if code names any device but the CPU; comments and docstrings do not count."""
    return _names_other_devices(text) and _names_other_devices(uncommented(text))


def _names_other_devices(text: str) -> bool:
    return "cuda" in text or re.search(_OTHER_DEVICES, text.lower()) is not None  # a plain word is found much faster


class Words:
    """The mentions in one text, each computed once."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def _code(self) -> str:
        """The text without comments; computed only if the text contains the word, which is much faster to search."""
        return uncommented(self._text)

    def _says(self, *words: str) -> bool:
        return any(word in self._text and word in self._code for word in words)

    def _shows(self, pattern: str) -> bool:
        return re.search(pattern, self._text) is not None and re.search(pattern, self._code) is not None

    @cached_property
    def names_other_devices(self) -> bool:
        """True if it names any device but the CPU, or may select one by the default tensor type, as before torch
        0.4."""
        return self.speaks_of_variables or (_names_other_devices(self._text) and _names_other_devices(self._code))

    @cached_property
    def speaks_of_variables(self) -> bool:
        """True if it was written for torch before 0.4, when a GPU was chosen by the default tensor type."""
        return self._shows(r"\bVariable\(") and not self._shows(_SINCE_TENSORS_ARE_VARIABLES)

    @cached_property
    def speaks_of_grad(self) -> bool:
        return self._says("requires_grad")

    @cached_property
    def makes_graphs_of_gradients(self) -> bool:
        """True if `create_graph` is named: gradients may require grad themselves."""
        return self._says("create_graph")
