"""All detectors: each file of this folder that defines KIND, as each file in rules/ is a rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import NamedTuple

from tonumpy.conversions import Conversion
from tonumpy.detectors.flow import sharing_of
from tonumpy.detectors.memory import Sharing
from tonumpy.detectors.possible_tensors import PossibleTensors
from tonumpy.detectors.shared_calls import find_sharers
from tonumpy.engine.names.module import Module
from tonumpy.text.candidates import Candidate, Site, find_candidates


class Search:
    """The data that detectors share for one file and the selected rules.
    `kinds` are the kinds that the rules judge; `concerned` returns the ids of the complete candidates that a rule may
    object to. It gets `sharing` as an argument: holding a search itself, it would keep each file in memory.
    """

    def __init__(
        self,
        module: Module,
        kinds: frozenset[str],
        concerned: Callable[[list[Candidate], Callable[[], Sharing]], set[int]] = lambda *_: set(),
    ) -> None:
        self.module, self._concerned = module, concerned
        self.risks = PossibleTensors(module.source)
        self.candidates = find_candidates(module.source) if "receivers" in kinds else []
        self.sharers: list[Site] = find_sharers(module.source) if "memory" in kinds else []

    def concerned(self, complete: list[Candidate]) -> set[int]:
        """The ids of the complete candidates that a selected rule may object to."""
        return self._concerned(complete, lambda: self.sharing)

    @cached_property
    def sharing(self) -> Sharing:
        """The writes through memory that conversions share."""
        return sharing_of(self.module.source, self.candidates, self.sharers)


class Detector(NamedTuple):
    """A detector of conversions of one `kind`, as rules name it. `gives_way`: a finding at the same place that raises
    replaces its findings. `goes_deep`: its runs of bodies also serve detectors that run them with less fuel."""

    kind: str
    find: Callable[[Search], Sequence[Conversion]]
    gives_way: bool = False
    goes_deep: bool = False


@cache
def all_detectors() -> tuple[Detector, ...]:
    """Every detector: those that go deep first, those that give way last."""
    folder = os.path.dirname(__file__)
    names = sorted(name[:-3] for name in os.listdir(folder) if name.endswith(".py") and name != "__init__.py")
    modules = [import_module(f"{__package__}.{name}") for name in names]
    found = [
        Detector(each.KIND, each.find, getattr(each, "GIVES_WAY", False), getattr(each, "GOES_DEEP", False))
        for each in modules
        if hasattr(each, "KIND")
    ]
    return tuple(sorted(found, key=lambda each: (each.gives_way, not each.goes_deep)))
