"""The analysis of one file: its modules, solver, budget and summaries, which ask each other through it.

It lives as long as the check of one file, so that findings do not depend on the checks of other files.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.names.def_use import DefUse
from tonumpy.engine.names.slices import Slice
from tonumpy.engine.values.environment import Environment
from tonumpy.engine.values.values import NOTHING, Class, Function
from tonumpy.inference.summaries.attributes import Attributes
from tonumpy.inference.summaries.budget import Budget
from tonumpy.inference.summaries.callers import Callers
from tonumpy.inference.summaries.classes import Classes, ClassKinds
from tonumpy.inference.summaries.decorators import Decorators
from tonumpy.inference.summaries.entry_frames import Entries
from tonumpy.inference.summaries.fixpoint import FixpointSolver
from tonumpy.inference.summaries.functions import FunctionSummaries
from tonumpy.inference.summaries.handed_lists import HandedLists
from tonumpy.inference.summaries.module_objects import ModuleObjects
from tonumpy.inference.summaries.module_variables import ModuleNames
from tonumpy.inference.summaries.parameters import Parameters
from tonumpy.inference.summaries.pytest_fixtures import GivenByPytest
from tonumpy.inference.transfer.evaluator import EVALUATOR
from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.own_promises import OwnPromises
from tonumpy.inference.transfer.targets import NO_TARGETS

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module
    from tonumpy.inference.summaries.entry import Entry

_NO_DEF_USE = DefUse(frozenset(), frozenset(), {}, {})
_NOTHING_ASKED = Slice(frozenset())


class Analysis:
    """Evaluates function bodies on demand, each at most once for the same arguments."""

    def __init__(self, module: Module, *, looks_everywhere: bool = False) -> None:
        self.module = module  # the one that is looked at
        self.looks_everywhere = looks_everywhere  # in all files of the repository, for who calls what is in the module
        self.disabled_habits = module.disabled_habits
        self.tells_origins = module.tells_origins
        self.evaluator = EVALUATOR
        self.own_promises = OwnPromises(module)
        self.frames: list[Frame] = []  # all that were made
        self.active: list[tuple[object, ...]] = []
        self.watched: dict[int, list[Entry]] = {}  # how the functions of these nodes are entered, each time they are
        self.budget = Budget()
        self.solver = FixpointSolver(self.budget)
        self.functions = FunctionSummaries(self)
        self.parameters = Parameters(self)
        self.decorators = Decorators(self)
        self.entries = Entries(self)
        self.callers = Callers(self)
        self.handed_lists = HandedLists(self)
        self.given_by_pytest = GivenByPytest(self)
        self.classes = Classes(self)
        self.kinds = ClassKinds(self)
        self.modules = ModuleObjects(self)
        self.attributes = Attributes(self)
        self.names = ModuleNames(self)

    def close(self) -> None:
        """Drop all results. Frames and the functions defined in them refer to each other, so they would else stay until
        Python's garbage collector runs, which is off during a run."""
        for frame in self.frames:
            frame.env = Environment()
            frame.bound, frame.seen.observations, frame.control.back_edges = {}, {}, {}
            frame.result.returned = frame.result.yielded = NOTHING
            frame.control.journals, frame.control.loops = [], []
        vars(self).clear()

    def refuel(self, limit: int) -> None:
        """Give the budget `limit` statements; called before each function that holds candidates, so that the cost is
        linear in their number."""
        self.budget.refuel(limit)
        self.solver.abandon()

    def definition_frame(self, function: Function) -> Frame:
        """The frame in which decorators, annotations and defaults of `function` are evaluated."""
        if function.owner is not None and function.closure is function.owner.closure:
            return self.class_scope(function.owner)
        return function.closure or self.module_scope(function.module)

    def module_scope(self, module: Module, closure: Frame | None = None) -> Frame:
        """A frame without variables of its own that sees the names of `module`, and those of the functions in
        `closure`."""
        return Frame(self, module, _NO_DEF_USE, None, closure, True, _NOTHING_ASKED, NO_TARGETS)

    def class_scope(self, cls: Class) -> Frame:
        """The frame in which expressions of a class body are evaluated: it sees the module's names and those that the
        body binds."""
        frame = self.module_scope(cls.module, cls.closure)
        frame.entry.class_body = cls
        return frame
