"""Summaries of attributes: from an object or class and a name to the join of all values that are written to it."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.names.attributes_in_text import WORDS_OF_ANY, may_write_any
from tonumpy.engine.names.bindings import FunctionNode, decorator_names, names_in
from tonumpy.engine.names.torch_words import MOVING
from tonumpy.engine.values.aliases import unless_it_requires_grad
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import may_be, unsent
from tonumpy.engine.values.value_facts import members as members_of_union
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Nothing,
    OtherFramework,
    Sequence,
    Tensor,
    Unknown,
    Value,
    is_number,
)
from tonumpy.inference.summaries.attribute_writes import AttributeWrites
from tonumpy.inference.summaries.classes import written_by_functions_in
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.calls import call_value
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.habit_heuristics import apply_name_habits
from tonumpy.inference.transfer.members import attribute_of, resolve
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from tonumpy.engine.names.class_bodies import Members
    from tonumpy.inference.summaries.analysis import Analysis
    from tonumpy.inference.transfer.frame import Frame

_PLACEHOLDERS = (NONE, Sequence((), NOTHING), Mapping((), NOTHING))


class Attributes:
    """Attributes of objects and classes, each computed once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._writes = AttributeWrites(analysis)
        self._attributes: dict[tuple[object, ...], Value] = {}
        self._made_from_itself: set[tuple[object, ...]] = set()  # of those that are worked out, what has been read
        self._made_of_parts: set[tuple[object, ...]] = set()  # of those, what others that are not all there went into
        self._fields: dict[Class, dict[str, int]] = {}

    def bound_in_body(self, cls: Class, name: str) -> Value | None:
        """The value of a name in the other expressions of a class body; None if the body does not bind it."""
        members = self._analysis.classes.members(cls)
        if name in members.methods:
            return Function(members.methods[name], cls.module, cls, cls.closure)
        if name in members.classes:
            return Class(members.classes[name], cls.module, cls.closure)
        value = self.class_attribute(cls, name) if name in members.fields else NOTHING
        return None if isinstance(value, Nothing) else value  # `size = size`

    def class_attribute(self, cls: Class, name: str) -> Value:
        """The value of `cls.name`: a method, an inner class, or the join of all that is written to it."""
        root = self._analysis.kinds.is_foreign(cls)
        if root is not None:
            return OtherFramework(root)
        function = self._analysis.classes.method(cls, name)
        if function is not None:
            if "classmethod" in decorator_names(function.node):
                return BoundMethod(function, cls)
            return function
        inner = self._analysis.classes.inner_class(cls, name)
        if inner is not None:
            return inner
        value = self._written(Instance(cls), name)
        return value.function if isinstance(value, BoundMethod) else value

    def attribute(self, instance: Instance, name: str) -> Value:
        """The value of `instance.name`: a method, or the join of all that is written to it; Unknown if nothing in sight
        is."""
        cls = instance.cls
        if name == "__class__":
            return cls
        if name in instance.written:
            return Unknown(Reason.NAME)  # which may well have something to learn
        root = self._analysis.kinds.is_foreign(cls)
        if root is not None:
            return OtherFramework(root)
        function = self._analysis.classes.method(cls, name)
        if function is not None:
            instance = instance.real or instance  # `super()` finds the method, which works on the object itself
            decorators = decorator_names(function.node)
            if any(name.endswith("property") for name in decorators):  # `cached_property`, `lazy_property`
                made = self._analysis.functions.call_function(function, instance, Arguments(()), None)
                return resolve(self._analysis.class_scope(cls), made)
            if "staticmethod" in decorators:
                return function
            if "classmethod" in decorators:
                return BoundMethod(function, cls)
            return BoundMethod(function, instance)
        inner = self._analysis.classes.inner_class(cls, name)
        return inner or self._written(instance, name)

    def _written(self, instance: Instance, name: str) -> Value:
        key = _key(instance, name)
        try:
            known = self._analysis.solver.known(self._attributes, key)
        except TypeError:
            instance = instance._replace(arguments=None)
            key = _key(instance, name)
            known = self._analysis.solver.known(self._attributes, key)
        if known is not None:
            if isinstance(known, Nothing):  # it is being worked out
                self._made_from_itself.add(key)
            return known
        self._attributes[key] = NOTHING  # an attribute made from itself adds nothing at first
        value: Value = Unknown(Reason.of_attribute(name))  # where it is nested too deeply
        with self._analysis.solver.solving(self._attributes, key):
            try:
                value = self._work_out(instance, name, key)
            finally:
                self._attributes[key] = value
                self._made_from_itself.discard(key)
                self._made_of_parts.discard(key)
        return value

    def _work_out(self, instance: Instance, name: str, key: tuple[object, ...]) -> Value:
        is_held = self._analysis.modules.is_held(instance.cls, name)
        written = self._with_any(instance.cls, name, self._join_of_writes(instance, name, key))
        value = self._analysis.modules.as_held(instance, written, is_held=is_held)
        if value not in _PLACEHOLDERS:
            return value
        # Somebody else gives it what it is there for.
        grad = False if self._analysis.modules.is_buffer(instance.cls, name) else None
        given = Unknown(Reason.of_attribute(name), None, grad)
        if value == NONE:
            return join(NONE, given) if instance.arguments is None or self._others_write(instance.cls, name) else NONE
        if not self._others_write(instance.cls, name):
            return value
        return Sequence(None, given) if isinstance(value, Sequence) else Mapping((), given)

    def _with_any(self, cls: Class, name: str, value: Value) -> Value:
        """An attribute that holds tensors, with what a method may put there by a name that is not constant."""
        if not may_be(value, Tensor):
            return value
        owners = self._analysis.classes.ancestors(cls)
        is_written = any(
            # Only then is the class looked into, and what changes in it looked at again.
            any(owner.module.text.says("holds", word) for word in WORDS_OF_ANY)
            and may_write_any(owner.module.text.of(owner.node))
            for owner in owners
        )
        return join(value, Unknown(Reason.of_attribute(name))) if is_written else value

    def _others_write(self, cls: Class, name: str) -> bool:
        """Whether it is written, in the module of the class or in the one that is looked at, by more than its class."""
        return any(module.text.says("writes", name) for module in {cls.module, self._analysis.module})

    def _join_of_writes(self, instance: Instance, name: str, key: tuple[object, ...]) -> Value:
        cls = instance.cls
        assigned: Value = NOTHING
        remaking: list[tuple[Class, FunctionNode]] = []  # what writes something made of the attribute itself
        fillers: list[tuple[Class, FunctionNode]] = []
        changers: list[tuple[Class, FunctionNode]] = []
        is_hidden = False  # by what a nearer class's body binds to the name
        owners = self._analysis.classes.writers_in_all(cls, name)
        is_made = any(each.name == "__init__" for _, writers, _ in owners for each in writers.assigning)
        for owner, writers, bound in owners:
            for writer in writers.assigning:
                is_constructor = writer.name == "__init__"
                left = self._left_by(instance, owner, writer, name, is_constructor=is_constructor)
                assigned = join(assigned, left)
                if key in self._made_from_itself or key in self._made_of_parts:
                    self._made_from_itself.discard(key)
                    remaking.append((owner, writer))
            fillers.extend((owner, filler) for filler in writers.filling)
            fillers.extend((owner, each) for each in writers.assigning if name in written_by_functions_in(owner, each))
            changers.extend((owner, changer) for changer in writers.changing)
            field = None if is_hidden else bound
            if field is not None:
                value = self._field(instance, owner, field, name)
                is_seen = is_made and any(each not in (NONE, NOTHING) for each in members_of_union(assigned))
                if is_seen and field.value is None:
                    # It says what sort of thing the constructor puts there.
                    assigned = self._analysis.parameters.combine_annotation(assigned, value)
                else:
                    assigned = join(assigned, value)
                is_hidden = field.value is not None
        is_made_of_parts = key in self._made_of_parts
        self._made_of_parts.discard(key)
        if self._made_from_itself and remaking and self._analysis.solver.waits_for_another:
            # Those around it are worked out again, and this one with them: to do so here, too, takes twice the time
            # for each attribute that others are made of in turn.
            self._made_of_parts |= self._made_from_itself
        elif is_made_of_parts or (remaking and any(map(_may_be_remade, members_of_union(assigned)))):
            # What the methods find there: `self.mean = self.mean.to(device)`, `self.count += 1`, `self.found += [x]`.
            assigned = self._attributes[key] = join_all(map(_any_number, members_of_union(assigned)))
            self._analysis.solver.invalidate()
            assigned = join_all([assigned, *(self._left_by(instance, *writer, name) for writer in remaking)])
        if not isinstance(assigned, Nothing):
            return self._filled(instance, name, assigned, fillers, changers)
        root = self._analysis.kinds.is_foreign(cls)
        if root:
            return OtherFramework(root)
        frame = self._analysis.module_scope(cls.module)
        if self._analysis.kinds.makes_tensors(cls):
            return attribute_of(frame, Tensor(), name)
        return library_values.inherited_attribute(frame, self._analysis.classes.library_bases(cls), instance, name)

    def _left_by(
        self, instance: Instance, owner: Class, writer: FunctionNode, name: str, *, is_constructor: bool = False
    ) -> Value:
        """What a method leaves in the attribute. A `to` that nobody is seen to call does not say that it was sent."""
        left = self._writes.left_by(instance, owner, writer, name, is_constructor=is_constructor)
        is_unsent = writer.name in MOVING and not (instance.is_moved or self._analysis.kinds.is_module(instance.cls))
        return unsent(left) if is_unsent else left

    def _filled(
        self,
        instance: Instance,
        name: str,
        assigned: Value,
        fillers: list[tuple[Class, FunctionNode]],
        changers: list[tuple[Class, FunctionNode]],
    ) -> Value:
        """A container with what the methods put into it: `self.items.append(x)`, `self.items[key] = x`.

        And a tensor with the grad that it gets so, from what a function or module has made: buffers are filled with
        data.
        """
        found = members_of_union(assigned)
        writers: list[tuple[Class, FunctionNode]] = []
        if any(isinstance(value, (Sequence, Mapping)) or library_values.is_container(value) for value in found):
            writers += fillers
        if any(map(_may_get_grad, found)):
            writers += [each for each in changers if each not in writers]
        if not writers:
            return assigned
        self._attributes[_key(instance, name)] = assigned  # what the methods find there
        self._analysis.solver.invalidate()
        after = (self._writes.left_by(instance, owner, writer, name, found=assigned) for owner, writer in writers)
        return join_all((assigned, *(unless_it_requires_grad(each) if _is_given(each) else each for each in after)))

    def _field(self, instance: Instance, owner: Class, field: ast.AnnAssign | ast.Assign, name: str) -> Value:
        frame = self._analysis.class_scope(owner)
        if isinstance(field, ast.Assign):
            value = resolve(frame, evaluate(frame, field.value))
            if isinstance(value, Function) and not isinstance(field.value, ast.Call):
                return BoundMethod(value, instance)
            return value
        declared = apply_name_habits(self._analysis.parameters.annotated(frame, field.annotation), name, frame)
        if instance.arguments is not None:
            place = self._fields_taken(instance.cls).get(name)
            given = None if place is None else instance.arguments.get(place, name)
            if given is not None:
                return self._analysis.parameters.combine_annotation(given, declared)
        elif isinstance(declared, Tensor) and not _is_set_by_others(name, owner.module.source.text):
            given = self._analysis.callers.given_to_fields(instance.cls).get(name)
            if given is not None and _is_safe(given):
                return given  # of others, which some calls move, the method at hand may be given either sort
        if field.value is not None and not self._analysis.classes.members(owner).methods.get("__init__"):
            default = default_of_field(frame, field.value)
            if isinstance(default, (Unknown, Nothing)):
                return declared
            # A list that the methods fill is there for them; nobody gives the constructor another.
            is_filled = isinstance(default, (Sequence, Mapping)) and bool(
                self._analysis.classes.writers_of(owner, name).filling
            )
            is_known = instance.arguments is not None and not instance.arguments.has_star
            return default if is_filled or (is_known and default != NONE) else join(declared, default)
        return declared

    def _fields_taken(self, cls: Class) -> dict[str, int]:
        """Those that the constructor of a data class takes, each with its place: those of its bases come first."""
        known = self._fields.get(cls)
        if known is None:
            owners = reversed(self._analysis.classes.ancestors(cls))
            names = dict.fromkeys(
                name for owner in owners for name in fields_taken(self._analysis.classes.members(owner))
            )
            known = self._fields[cls] = {name: place for place, name in enumerate(names)}
        return known


def _may_get_grad(value: Value) -> bool:
    """Whether it is a tensor that does not require grad, but does once something that does is written to it."""
    return isinstance(value, Tensor) and value.requires_grad is False and not is_integral(value.dtype)


def _is_given(value: Value) -> bool:
    return isinstance(value, Tensor) and value.is_given


def _may_be_remade(value: Value) -> bool:
    """Whether what is made of it may be something else."""
    if isinstance(value, Tensor):
        return value.on_cpu is not None or value.requires_grad is False
    if isinstance(value, (Instance, LibraryObject)):
        return value.on_cpu is not None  # a module: `self.net = self.net.to(device)`
    return isinstance(value, (Constant, Sequence, Mapping)) or is_number(value)


def _any_number(value: Value) -> Value:
    """What counts up begins with a literal, and may be any later."""
    if not isinstance(value, Constant) or value.value is None or isinstance(value.value, bool):
        return value
    return NonTensor("number" if is_number(value) else "literal")


def _key(instance: Instance, name: str) -> tuple[object, ...]:
    """What an attribute depends on."""
    facts = (instance.on_cpu, instance.requires_grad, instance.dtype, instance.device_taint)
    return (instance.cls, instance.arguments, *facts, instance.written, instance.is_moved, name)


def _is_safe(value: Value) -> bool:
    """Whether it is a tensor on the CPU without grad, whoever gives it."""
    return isinstance(value, Tensor) and value.on_cpu is True and value.requires_grad is False


def _is_set_by_others(name: str, text: str) -> bool:
    """Whether an attribute of this name is bound on anything but `self`."""
    return re.search(rf"(?<!\bself)\.{name}[ \t]*(?:[-+*/%@&|^]|//|\*\*)?=(?!=)", text) is not None


def fields_taken(members: Members) -> list[str]:
    """Those that the body annotates, in its order."""
    fields = members.fields.items()
    return [
        name
        for name, field in fields
        if isinstance(field, ast.AnnAssign) and "ClassVar" not in names_in(field.annotation)
    ]


def default_of_field(frame: Frame, node: ast.expr) -> Value:
    """What a field holds that is not given: `= 0`, `= field(default_factory=list)`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "field":
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "default_factory" in given:
            return resolve(frame, call_value(frame, evaluate(frame, given["default_factory"]), Arguments(())))
        return resolve(frame, evaluate(frame, given["default"])) if "default" in given else NOTHING
    return resolve(frame, evaluate(frame, node))
