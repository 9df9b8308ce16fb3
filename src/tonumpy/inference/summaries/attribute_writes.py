"""Summaries of methods that write attributes: from an object, a method and arguments to the value in `self.name`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import FunctionNode, is_super, names_in, parameter_names
from tonumpy.engine.names.class_bodies import constructor_called
from tonumpy.engine.names.slices import Slicer
from tonumpy.engine.values.aliases import unless_it_requires_grad
from tonumpy.engine.values.evidence import cut_off, of_made, on_one_branch
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import left_open, resting_on, tensor_facts
from tonumpy.engine.values.values import (
    NOTHING,
    Arguments,
    Class,
    Function,
    Instance,
    LibraryObject,
    Nothing,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.summaries.classes import written_by_functions_in
from tonumpy.inference.summaries.entry import Entry
from tonumpy.inference.transfer.control_flow import execute
from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.targets import NO_TARGETS, Targets

if TYPE_CHECKING:
    from tonumpy.inference.summaries.analysis import Analysis

MAX_CONSTRUCTOR_SLICES = 8  # attributes for each of which a constructor is run by itself


class AttributeWrites:
    """Evaluates the methods that write an attribute; a constructor once for all attributes, if several were asked
    for."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._constructors: dict[tuple[int, Instance], list[Frame]] = {}

    def left_by(
        self,
        instance: Instance,
        owner: Class,
        writer: FunctionNode,
        name: str,
        *,
        is_constructor: bool = False,
        found: Value | None = None,
    ) -> Value:
        """The join of all values that `writer` and the functions in it assign to `self.name`; `found` is the value at
        its entry."""
        if self._analysis.budget.cuts_short():
            what = f"what `{writer.name}` assigns to `{name}` is not followed"
            return left_open(
                Unknown(Reason.ATTRIBUTE), cut_off("statements", what, owner.module.filename, writer.lineno)
            )
        left = self._left_by_method(instance, owner, writer, name, is_constructor=is_constructor, found=found)
        is_written_within = name in written_by_functions_in(owner, writer)  # a hook, or whatever may call it
        written = (left, Unknown(Reason.of_attribute(name))) if is_written_within else (left,)
        return join_all(
            map(unless_it_requires_grad, written) if self._analysis.modules.is_buffer(instance.cls, name) else written
        )

    def _left_by_method(
        self,
        instance: Instance,
        owner: Class,
        writer: FunctionNode,
        name: str,
        *,
        is_constructor: bool,
        found: Value | None,
    ) -> Value:
        """The same of the statements of the method itself.

        A constructor is run for each attribute that is asked for; once for all of them, when several were.
        """
        analysis = self._analysis
        function = Function(writer, owner.module, owner, owner.closure)
        arguments = self._constructor_arguments(instance, owner) if writer.name == "__init__" else None
        first, *others = parameter_names(writer.args) or ("self",)
        slicer = owner.module.derived(Slicer, writer)
        path = f"{first}.{name}"
        scopes = (owner.module.tree, owner.node, writer)
        if arguments is not None:
            entry = Entry(analysis.parameters.bind_arguments(function, instance, arguments), None)
        elif is_constructor and slicer.at_end((path,)).names.isdisjoint(others):
            entry = analysis.entries.declared(owner.module, scopes)  # whoever makes it
        else:
            entry = analysis.entries.state(owner.module, scopes)
        parameters, grad_mode, evidence, _ = entry
        key = (id(writer), instance)
        runs = self._constructors.get(key, []) if is_constructor else []
        if runs and runs[-1].asked.names is None:
            analysis.solver.use(self._constructors, key)
            return _left_in(runs[-1], path, is_constructor=True)
        asked = slicer.at_end((path,)) if len(runs) < MAX_CONSTRUCTOR_SLICES else None
        itself = self._analysis.modules.while_constructed(instance, writer)
        frame = Frame(analysis, owner.module, slicer.flow, owner, owner.closure, grad_mode, asked, NO_TARGETS)
        frame.entry.evidence_of_mode = evidence
        for parameter, value in parameters.items():
            frame.bind(parameter, value)
        frame.bind(first, itself)
        if found is not None:
            frame.bind(path, found)
        with analysis.solver.solving(self._constructors, key):
            execute(frame, writer.body)
            if is_constructor:
                self._constructors[key] = [*self._constructors.get(key, ()), frame]
        left = _left_in(frame, path, is_constructor=is_constructor)
        return resting_on(left, of_made(evidence)) if tensor_facts(left)[1] is False else left

    def _constructor_arguments(self, instance: Instance, owner: Class) -> Arguments | None:
        """What the `__init__` of one of the object's classes is given, passed on by `super().__init__(...)`, or by
        `Base.__init__(self, ...)`."""
        given: dict[Class, Arguments | None] = {}
        for cls, init in self._constructors_of(instance):
            arguments = given.get(cls) if given else instance.arguments
            if cls == owner:
                return arguments
            given.setdefault(cls, arguments)
            if arguments is not None:
                for base, call in self._passed_on(instance, cls, init):
                    is_one = base not in given
                    given[base] = self._passed_in(instance, cls, init, arguments, call) if is_one else None
        return None

    def _constructors_of(self, instance: Instance) -> list[tuple[Class, FunctionNode]]:
        """Those of the object's classes, in the order in which `super()` finds them."""
        classes = self._analysis.classes
        found = ((cls, classes.members(cls).methods.get("__init__")) for cls in classes.ancestors(instance.cls))
        return [(cls, init) for cls, init in found if init is not None]

    def _passed_on(self, instance: Instance, cls: Class, init: FunctionNode) -> list[tuple[Class, ast.Expr]]:
        """The statements in a constructor that run that of another of the object's classes, with this class."""
        owners = [each for each, _ in self._constructors_of(instance)]
        owners = owners[owners.index(cls) :]
        found = []
        for statement in init.body:
            called = constructor_called(statement) if isinstance(statement, ast.Expr) else None
            base = None if called is None else _found_by(owners, *called)
            if base is not None and isinstance(statement, ast.Expr):
                found.append((base, statement))
        return found

    def _passed_in(
        self, instance: Instance, cls: Class, init: FunctionNode, arguments: Arguments, statement: ast.Expr
    ) -> Arguments | None:
        call = statement.value
        assert isinstance(call, ast.Call)
        analysis = self._analysis
        slicer = cls.module.derived(Slicer, init)
        targets = Targets(frozenset((id(call),)), frozenset((id(statement),)))
        asked = slicer.at(targets.statements, names_in(call))
        frame = Frame(analysis, cls.module, slicer.flow, cls, cls.closure, None, asked, targets)
        function = Function(init, cls.module, cls, cls.closure)
        for parameter, value in analysis.parameters.bind_arguments(function, instance, arguments).items():
            frame.bind(parameter, value)
        execute(frame, init.body)
        seen = frame.seen.observations.get(id(call))
        if seen is None or seen.arguments.has_star:
            return None
        assert isinstance(call.func, ast.Attribute)
        has_self = not is_super(call.func.value)  # `Base.__init__(self, x)`
        return seen.arguments._replace(positional=seen.arguments.positional[has_self:])


def _found_by(owners: list[Class], name: str | None, is_after: bool) -> Class | None:
    """The class of this name, the first of them where there is none, or the one after it."""
    named = (place for place, each in enumerate(owners) if name is None or each.node.name == name)
    place = next(named, len(owners)) + is_after
    return owners[place] if 0 < place < len(owners) else None


def _left_in(frame: Frame, path: str, *, is_constructor: bool) -> Value:
    """Everything that an attribute held in a method, which another may find there; of a module in a constructor, what
    it is in the end: `self.net.requires_grad_(False)`. Of a tensor there, whether it is a parameter in the end, by any
    branch, or by one."""
    last = frame.env.get(path) if is_constructor and isinstance(frame.result.returned, Nothing) else None
    held = frame.bound.get(path, NOTHING)
    if isinstance(last, Tensor) and last.param_taint and last.requires_grad is None:
        held = left_open(held, on_one_branch(path, frame.module.filename, frame.row))
    return last if isinstance(last, (Instance, LibraryObject)) and isinstance(held, type(last)) else held
