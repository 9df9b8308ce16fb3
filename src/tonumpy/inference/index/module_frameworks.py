"""From a module to the array frameworks of it and its neighbours, whose values it may be given."""

from __future__ import annotations

from functools import cached_property

from tonumpy.inference.index.frameworks import (
    hands_out_wrappers,
    has_rivals,
    imported_roots,
    imports_torch,
    names_torch_alone,
    only_torch_says,
    shared_words,
)
from tonumpy.inference.index.module_use import folder_of
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.uncommented import uncommented

if TYPE_CHECKING:
    from typing import Protocol

    from tonumpy.text.source import Source

    class Neighbours(Protocol):
        """What it asks about the modules beside it; project.py answers."""

        def roots_around(self, folder: str) -> frozenset[str]: ...


class Frameworks:
    """Which array frameworks a module speaks of, by itself or by those beside it; each answer is worked out once."""

    def __init__(self, source: Source, neighbours: Neighbours) -> None:
        self._source = source
        self._neighbours = neighbours

    @cached_property
    def roots(self) -> frozenset[str]:
        roots = imported_roots(self._source.text)
        # An example in a docstring imports nothing; to see that counts only where a rival would be imported.
        return imported_roots(uncommented(self._source.text)) if has_rivals(roots) else roots

    @cached_property
    def speaks_of_torch(self) -> bool:
        """Whether it imports torch, or names what is in it all the same: after a star import, or in a docstring.

        One that names another framework as well, and imports neither, may be given the values of both.
        """
        return imports_torch(self.roots) or (not self.has_rivals and names_torch_alone(self._source.text))

    @cached_property
    def names_torch(self) -> bool:
        """Whether it imports torch, or its code names it otherwise, not only a docstring."""
        return imports_torch(self.roots) or "torch" in uncommented(self._source.text)

    @cached_property
    def has_rivals(self) -> bool:
        """Whether another framework's values may be about that have a `numpy()`."""
        return has_rivals(self.roots)

    @cached_property
    def only_torch_says(self) -> bool:
        """Whether the words of torch prove a tensor; a module without a framework speaks its neighbours' words."""
        if self.speaks_of_torch or not only_torch_says(self.roots):
            return only_torch_says(self.roots)
        return only_torch_says(self._neighbours.roots_around(folder_of(self._source.filename)))

    @cached_property
    def shared_words(self) -> frozenset[str]:
        """The words of torch that the values of another framework that is imported have too."""
        return shared_words(self.roots)

    @cached_property
    def hands_out_wrappers(self) -> bool:
        """Whether results of a library may be about that have a `cpu`, a `detach` and a `numpy` too."""
        return hands_out_wrappers(self.roots, self._source.text)
