"""What the words of a module's text show by themselves, before anything is parsed: grad, grad mode, devices, dtypes."""

from __future__ import annotations

import re
from functools import cached_property

from tonumpy.inference.index.torch_words import GRAD_CONTEXTS

_DEFAULT_DEVICE = r"""\bset_default_device\((?!\s*["']cpu)|set_default_tensor_type\([^)\n]{0,200}cuda"""
# Of a text in small letters; no branch begins with an assertion, so that the search can jump to their first letters.
_OTHER_DEVICES = r"""device(?!["']?\s*[:=(]\s*["']cpu)|cuda|gpu|accelerat|mps(?<=\bmps)\b|[xnth]pu\b"""
_THAWS = r"\.requires_grad[ \t]*=(?!=)(?![ \t]*False\b)|\.requires_grad_\((?!(?:requires_grad=)?False\b)"
_SINCE_TENSORS_ARE_VARIABLES = r"\btorch\.tensor\(|\bno_grad\(|\btorch\.device\("  # torch 0.4
_SETS_DEFAULT_DTYPE = "set_default_dtype("


def names_other_devices(text: str) -> bool:
    return "cuda" in text or re.search(_OTHER_DEVICES, text.lower()) is not None  # the word is found far sooner


class Words:
    """Answers about a text, each worked out once."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def changes_default_device(self) -> bool:
        text = self._text
        return "set_default_" in text and re.search(_DEFAULT_DEVICE, text) is not None  # the word is found far sooner

    @cached_property
    def sets_default_dtype(self) -> bool:
        return _SETS_DEFAULT_DTYPE in self._text

    @cached_property
    def sets_one_default_dtype(self) -> bool:
        return self._text.count(_SETS_DEFAULT_DTYPE) == 1

    @cached_property
    def names_other_devices(self) -> bool:
        """Whether it names any device but the CPU, be it by the default type of tensors, as before torch 0.4."""
        return self.speaks_of_variables or names_other_devices(self._text)

    @cached_property
    def speaks_of_variables(self) -> bool:
        """Whether it was written for torch before 0.4, when a GPU was chosen by the default tensor type."""
        text = self._text
        return re.search(r"\bVariable\(", text) is not None and re.search(_SINCE_TENSORS_ARE_VARIABLES, text) is None

    @cached_property
    def speaks_of_grad(self) -> bool:
        return "requires_grad" in self._text

    @cached_property
    def may_thaw(self) -> bool:
        """Whether it sets anything that exists already to what may require grad."""
        return re.search(_THAWS, self._text) is not None

    @cached_property
    def speaks_of_grad_mode(self) -> bool:
        """Whether it may turn grad mode off, or on."""
        return any(word in self._text for word in GRAD_CONTEXTS)

    @cached_property
    def may_leave_grad_mode_off(self) -> bool:
        """Whether it may turn grad mode off for good."""
        return "set_grad_enabled(False)" in self._text and "set_grad_enabled(True)" not in self._text

    @cached_property
    def makes_graphs_of_gradients(self) -> bool:
        """Whether `create_graph=True` asks somewhere for gradients that have a graph of their own."""
        return "create_graph" in self._text

    @cached_property
    def has_walrus(self) -> bool:
        return ":=" in self._text
