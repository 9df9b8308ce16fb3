"""From a text to its risky tokens: what may bring grad, an accelerator, or a dtype or layout that NumPy lacks.

Not where such things are only mentioned, as in a parameter `device`, nor what names the CPU alone.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_left, bisect_right
from functools import cached_property

from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES

if TYPE_CHECKING:
    from tonumpy.text.source import Source

# Each begins with a text of its own, to which a search can jump; one for all together looks at every letter.
_BEGINNINGS = (
    *(r"\.(?:(?:cuda|xpu|npu|backward|requires_grad_?)\b|conj\()", r"Parameter\b", "bfloat16", "float8"),
    *("complex32", "chalf", "quantize_per", "mkldnn", "to_sparse", r"sparse_c\w{1,40}_tensor"),
    r"\.to\b(?!\((?:[\"']cpu|dtype *=|torch\.\w+\)))",
    *(r"requires_grad(?<!\wrequires_grad) *=", r"cuda\w{0,99}\("),  # `trans_to_cuda(x)`
    r"device(?<!\wdevice)(?<!Generator\(device) *=(?!=| *[\"']cpu[\"'])",  # a generator is no tensor
    r"device(?:\w{1,99}\(|(?<=\wdevice)\()",  # `to_device(x)`; but not `device("cpu")`
    *(r"model\(", r"net\(", r"network\(", r"nn\.(?:[A-Z]|functional)", r"\.(?:weight\b|bias\b|parameters\()"),
    r"LightningModule\b",  # whose batches are where the trainer is
)


_TORCH = r"\b(?:torch|F|nn)\.(?!no_grad\b|load\b|device\b|manual_seed\b|Generator\b)|Tensor\b"


class RiskScan:
    """The risky tokens of one source."""

    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def begins(self) -> list[int]:
        """The offsets of all risky tokens, in order."""
        return sorted(match.start() for pattern in _BEGINNINGS for match in re.finditer(pattern, self._source.text))

    @cached_property
    def _rows(self) -> list[int]:
        return [self._source.position_at(offset).row for offset in self.begins]

    def is_in(self, node: ast.stmt | ast.expr) -> bool:
        """True if a risky token begins in the node."""
        assert node.end_lineno is not None
        number = bisect_left(self._rows, node.lineno)
        if number == len(self._rows) or self._rows[number] > node.end_lineno:
            return False  # as for most
        start, stop = self._source.extent(node)
        number = bisect_left(self.begins, start)
        return number < len(self.begins) and self.begins[number] < stop

    def is_around(self, place: int) -> bool:
        """True if a risky token begins in the function around an offset, or in the lines before the first function, by
        spelling."""
        return self._is_one_around(self.begins, place)

    def is_torch_around(self, place: int) -> bool:
        """True if torch makes something there, or an annotation names a tensor."""
        return self._is_one_around(self._of_torch, place)

    @cached_property
    def _of_torch(self) -> list[int]:
        return [match.start() for match in re.finditer(_TORCH, self._source.text)]

    def _is_one_around(self, begins: list[int], place: int) -> bool:
        text = self._source.text
        number = bisect_left(begins, max(text.rfind("def ", 0, place), 0)) if begins else 0
        if number == len(begins):
            return False
        stop = text.find("def ", place)
        return stop == -1 or begins[number] < stop

    def is_near(self, place: int) -> bool:
        """True if the offset is in one of `parts`."""
        number = bisect_right(self.parts, (place, sys.maxsize)) - 1
        return number >= 0 and place < self.parts[number][1]

    @cached_property
    def parts(self) -> list[tuple[int, int]]:
        """Spans connected to a risky token by call edges: the functions and classes that mention grad or devices, those
        that name one of them, those that one of them names, and so on. All other statements count as one together.
        Offsets, in order and disjoint."""
        body = self._source.tree.body
        parts: list[list[ast.stmt]] = [[each] for each in body if isinstance(each, SCOPES)]
        parts.append([each for each in body if not isinstance(each, SCOPES)])
        extents = [list(map(self._extent, part)) for part in parts]
        words = [
            frozenset(re.findall(r"\w+", " ".join(self._source.text[slice(*each)] for each in part)))
            for part in extents
        ]
        own = [frozenset(name for each in part for name in _names_of(each)) for part in parts]
        named: dict[str, list[int]] = {}
        for number, names in enumerate(own):
            for name in names:
                named.setdefault(name, []).append(number)
        beside: list[set[int]] = [{other for word in each & named.keys() for other in named[word]} for each in words]
        for number, others in enumerate([*map(tuple, beside)]):
            for other in others:
                beside[other].add(number)
        known = {number for number, part in enumerate(parts) if any(map(self.is_in, part))}
        waiting = list(known)
        while waiting:
            reached = beside[waiting.pop()] - known
            known |= reached
            waiting += reached
        return sorted(extent for number in known for extent in extents[number])

    def _extent(self, statement: ast.stmt) -> tuple[int, int]:
        """From its first decorator on where these register it under another function's name."""
        start, stop = self._source.extent(statement)
        decorators = statement.decorator_list if isinstance(statement, SCOPES) else []
        decorators = [each for each in decorators if last_name(each) == "register"]
        return min((start, *(self._source.extent(each)[0] for each in decorators))), stop


def _names_of(statement: ast.stmt) -> frozenset[str]:
    """Those by which a function or a class is called, or a method of it; nothing for other code."""
    if not isinstance(statement, SCOPES):
        return frozenset()
    held = statement.body if isinstance(statement, ast.ClassDef) else ()
    methods = (each.name for each in held if isinstance(each, FUNCTIONS) and not each.name.startswith("__"))
    return frozenset((statement.name, *methods))
