"""The protocol by which the parts of an analysis query each other."""

from __future__ import annotations

from typing import Any, Protocol

from tonumpy.engine.interpreter.frame import Frame, Summaries
from tonumpy.engine.names.module import Module
from tonumpy.engine.values import values as v


class Analysis(Summaries, Protocol):
    """The analysis of one module, as its parts see it.

    `cuts` counts results that a limit cut; `provisional` lists results computed with a cut, by table and key.
    """

    cuts: int
    nested: int
    provisional: list[tuple[dict[Any, Any], object]]

    def may_nest(self) -> bool: ...
    def module_frame(self, module: Module) -> Frame: ...
    def frame_around(self, cls: v.Class) -> Frame: ...
    def stores_of(
        self, function: v.Function, itself: v.Instance, arguments: v.Arguments | None
    ) -> dict[str, v.Value]: ...
