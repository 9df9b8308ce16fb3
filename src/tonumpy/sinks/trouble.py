"""Finds the places that say something by which a tensor may come to require grad, or to lie on an accelerator, or to
be of a dtype or layout that NumPy does not have.

Not where such things are only spoken of, as in a parameter `device`, nor what names the CPU alone.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import cached_property

from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ast

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


class Trouble:
    def __init__(self, source: Source) -> None:
        self._source = source

    @cached_property
    def begins(self) -> list[int]:
        """The offsets, in order."""
        return sorted(match.start() for pattern in _BEGINNINGS for match in re.finditer(pattern, self._source.text))

    @cached_property
    def _rows(self) -> list[int]:
        return [self._source.position_at(offset).row for offset in self.begins]

    def is_in(self, node: ast.stmt | ast.expr) -> bool:
        """Whether one begins in a node."""
        assert node.end_lineno is not None
        number = bisect_left(self._rows, node.lineno)
        if number == len(self._rows) or self._rows[number] > node.end_lineno:
            return False  # as for most
        start, stop = self._source.extent(node)
        number = bisect_left(self.begins, start)
        return number < len(self.begins) and self.begins[number] < stop
