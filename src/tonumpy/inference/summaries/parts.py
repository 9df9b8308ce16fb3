"""The parts of an analysis as they see each other, and what they hand over; analysis.py puts them together."""

from __future__ import annotations

from tonumpy.inference.lattice.evidence import PROVED
from tonumpy.inference.lattice.values import NOTHING, Value
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import ast
    from collections.abc import Iterable
    from collections.abc import Sequence as Items
    from typing import Protocol

    from tonumpy.facts import Fact
    from tonumpy.inference.index.bindings import FunctionNode
    from tonumpy.inference.index.class_bodies import Field, Members, Writers
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.evidence import AllEvidence
    from tonumpy.inference.lattice.values import Class, Function, Instance, Unknown
    from tonumpy.inference.summaries.budget import Budget
    from tonumpy.inference.summaries.fixpoint import Unfinished
    from tonumpy.inference.transfer.frame import (
        ClassQuestions,
        DecoratorQuestions,
        Frame,
        ModuleObjectQuestions,
        NameQuestions,
        ParameterQuestions,
        Summaries,
    )
    from tonumpy.inference.transfer.targets import Targets


class Entry(NamedTuple):
    """What a function is given, by parameter, and in which state of torch it is entered.

    `evidence` is what it rests on that grad mode is off, `left_out` which callers were not followed.
    """

    arguments: dict[str, Value]
    grad_mode: Fact
    autocast: Value = NOTHING
    evidence: AllEvidence = PROVED
    left_out: AllEvidence = PROVED


OUT_OF_SIGHT = Entry({}, None)


if TYPE_CHECKING:

    class ClassAnswers(ClassQuestions, Protocol):
        """Which methods and attributes a class has, through its bases; classes.py answers."""

        def members(self, cls: Class) -> Members: ...
        def writers_of(self, cls: Class, name: str) -> Writers: ...
        def writers_in_all(self, cls: Class, name: str) -> list[tuple[Class, Writers, Field | None]]: ...
        def inner_class(self, cls: Class, name: str) -> Class | None: ...

    class ModuleObjectAnswers(ModuleObjectQuestions, Protocol):
        """What an object of torch's Module, or of a Dataset, does to what it holds; module_objects.py answers."""

        def while_constructed(self, instance: Instance, method: FunctionNode | ast.Lambda) -> Instance: ...
        def as_held(self, instance: Instance, value: Value, *, is_held: bool) -> Value: ...
        def is_held(self, cls: Class, name: str) -> bool: ...
        def is_buffer(self, cls: Class, name: str) -> bool: ...

    class ParameterAnswers(ParameterQuestions, Protocol):
        """What the parameters of functions are declared to be; parameters.py answers."""

        def declared(self, function: Function) -> dict[str, Value]: ...

    class DecoratorAnswers(DecoratorQuestions, Protocol):
        """What decorators make of functions; decorators.py answers."""

        def decorated(self, function: Function) -> Function | Unknown: ...
        def notes_mode(self, function: Function, grad_mode: Fact) -> bool: ...
        def enter_autocast(self, frame: Frame, function: Function) -> None: ...

    class NameAnswers(NameQuestions, Protocol):
        """What the variables of modules hold; module_variables.py answers."""

        def value_before(self, module: Module, name: str, row: int) -> Value: ...

    class EntryAnswers(Protocol):
        """How functions are entered from outside; entries.py answers."""

        def frame(
            self,
            module: Module,
            scopes: Items[ast.AST],
            targets: Targets,
            names: Iterable[str],
            assumed: dict[str, bool] | None = None,
            entry: Entry | None = None,
        ) -> Frame: ...
        def state(self, module: Module, scopes: Items[ast.AST]) -> Entry: ...
        def alone(self, module: Module, scopes: Items[ast.AST]) -> Entry: ...

    class CallerAnswers(Protocol):
        """What callers give; callers.py answers."""

        def of(self, module: Module, scopes: Items[ast.AST], function: Function) -> Entry: ...

    class PytestAnswers(Protocol):
        """What pytest gives; pytest_fixtures.py answers."""

        def of(self, function: Function) -> dict[str, Value]: ...

    class Parts(Summaries, Protocol):
        """All of it, as its parts see it."""

        module: Module
        looks_everywhere: bool
        unfinished: Unfinished
        watched: dict[int, list[Entry]]

        @property
        def budget(self) -> Budget: ...
        @property
        def names(self) -> NameAnswers: ...
        @property
        def classes(self) -> ClassAnswers: ...
        @property
        def modules(self) -> ModuleObjectAnswers: ...
        @property
        def parameters(self) -> ParameterAnswers: ...
        @property
        def decorators(self) -> DecoratorAnswers: ...
        @property
        def entries(self) -> EntryAnswers: ...
        @property
        def callers(self) -> CallerAnswers: ...
        @property
        def given_by_pytest(self) -> PytestAnswers: ...
        def module_scope(self, module: Module, closure: Frame | None = None) -> Frame: ...
        def class_scope(self, cls: Class) -> Frame: ...
        def definition_frame(self, function: Function) -> Frame: ...
