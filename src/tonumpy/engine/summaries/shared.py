"""Names what the parts of an analysis ask of each other."""

from __future__ import annotations

from typing import Any, Protocol

from tonumpy.engine.interpreter.frame import Frame, Summaries
from tonumpy.engine.names.module import Module
from tonumpy.engine.values.values import Arguments, Class, Function, Instance, Value


class Analysis(Summaries, Protocol):
    """The analysis of one module, as its parts see it.

    `cuts` counts what was left out because of a limit; `provisional` names what was worked out with a cut: the
    table and the key there.
    """

    cuts: int
    nested: int
    provisional: list[tuple[dict[Any, Any], object]]

    def may_nest(self) -> bool: ...
    def module_frame(self, module: Module) -> Frame: ...
    def frame_around(self, cls: Class) -> Frame: ...
    def stores_of(self, function: Function, itself: Instance, arguments: Arguments | None) -> dict[str, Value]: ...
