"""From a torch Module or Dataset of the repository to what its methods move, freeze and keep of its parts."""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import parameter_names
from tonumpy.engine.names.class_bodies import moves_itself, moves_parts
from tonumpy.engine.names.torch_words import MOVING
from tonumpy.engine.values.aliases import unless_it_requires_grad
from tonumpy.engine.values.dtypes import is_real, may_lack
from tonumpy.engine.values.evidence import of_code, only
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.values import (
    Arguments,
    Class,
    Instance,
    LibraryObject,
    Mapping,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.habit_heuristics import held_by_dataset

if TYPE_CHECKING:
    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis


_LACKING = r"bfloat16|float8|complex32|chalf|quantize_per_"
_REGISTERED = re.compile(
    r"register_(?:(buffer)|parameter)\(\s*[\"'](\w+)[\"']|\bself\.(\w+)[ \t]*=[ \t]*(?:\w+\.){0,2}Parameter\("
)


class ModuleObjects:
    """What objects of such classes do to their modules, parameters and buffers."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis

    def is_moved_when_built(self, cls: Class, arguments: Arguments) -> bool:
        """Whether its constructor may bring an object somewhere: `self.cuda()`, or a `**` that hides a device."""
        ancestors = self._analysis.classes.ancestors(cls)
        if any(owner.module.derived(moves_itself, owner.node) for owner in ancestors):
            return True
        constructors = (self._analysis.classes.members(owner).methods.get("__init__") for owner in ancestors)
        return arguments.has_star and any(each is not None and _may_take_device(each.args) for each in constructors)

    def may_have_moved_parts(self, cls: Class) -> bool:
        """Whether its constructor may bring a part of an object somewhere: `self.layer.cuda()`."""
        return any(each.module.derived(moves_parts, each.node) for each in self._analysis.classes.ancestors(cls))

    def grad_left_by(self, module: Instance, name: str) -> Fact:
        """Whether the parameters of `module` require grad after a call of its method `name`; None if unknown."""
        if not self._analysis.kinds.is_module(module.cls):
            return module.requires_grad
        if self._analysis.classes.method(module.cls, name) is None:
            return library_values.grad_left_by_inherited(self._analysis.classes.library_bases(module.cls), module, name)
        # What a method freezes it may thaw elsewhere: whether it does is not followed.
        owners = self._analysis.classes.ancestors(module.cls)
        return None if any(each.module.words.speaks_of_grad for each in owners) else module.requires_grad

    def while_constructed(self, instance: Instance, method: FunctionNode | ast.Lambda) -> Instance:
        """The object as a method finds it when it begins: where the constructor of a module does, nothing has moved it.

        Not where the repository has bases of it, whose constructors may.
        """
        if (
            isinstance(method, ast.Lambda)
            or method.name != "__init__"
            or not self._analysis.kinds.is_module(instance.cls)
        ):
            return instance
        return instance if len(self._analysis.classes.ancestors(instance.cls)) > 1 else instance._replace(on_cpu=True)

    def moved_by_itself(self, instance: Value, method: str) -> Value:
        """The object after a call of a method of its own: other objects than modules move what they hold themselves."""
        if not isinstance(instance, Instance) or method not in MOVING or self._analysis.kinds.is_module(instance.cls):
            return instance
        return instance._replace(is_moved=True)

    def kept(self, instance: Instance, value: Value) -> Value:
        """What an object is given to keep, as it has it."""
        if not isinstance(value, (Tensor, Unknown, Sequence, Mapping)):
            return value
        if not self._analysis.kinds.is_dataset(instance.cls):
            return value
        return held_by_dataset(value, self._analysis.class_scope(instance.cls))

    def as_held(self, instance: Instance, value: Value, *, is_held: bool) -> Value:
        """An attribute between two calls: what an object holds may have been moved with it, and is frozen if it is."""
        if isinstance(value, Union):
            return join_all(self.as_held(instance, member, is_held=is_held) for member in value.members)
        kept = self.kept(instance, value)
        if kept is not value:
            return kept
        if instance.requires_grad is False and not self._analysis.kinds.is_module(instance.cls):
            return unless_it_requires_grad(value)  # the object was made while grad mode was off
        if not isinstance(value, (Instance, LibraryObject, Tensor)) or not self._may_move(
            instance, value, is_held=is_held
        ):
            return value
        is_module = self._analysis.kinds.is_module(instance.cls)
        is_float = is_held and (value.requires_grad or is_real(value.dtype)) if isinstance(value, Tensor) else is_module
        if instance.dtype is not None and is_float:
            value = value._replace(dtype=instance.dtype)
        if is_module and (is_held or not isinstance(value, Tensor)):
            if instance.requires_grad is False:
                value = value._replace(requires_grad=False)
            elif value.requires_grad is False and not isinstance(value, Tensor) and self._may_be_thawed(instance.cls):
                value = value._replace(requires_grad=None)
        is_sent_by_itself = isinstance(value, Tensor) and not is_held and bool(value.device_taint)
        if value.on_cpu is False or is_sent_by_itself:
            return value
        if is_module and instance.on_cpu is None:
            lines = only(of_code(instance.evidence), "device")
            value = value._replace(
                device_taint=max(value.device_taint, instance.device_taint), evidence=value.evidence | lines
            )
        return value._replace(on_cpu=instance.on_cpu if is_module else None)

    def _may_be_thawed(self, cls: Class) -> bool:
        """Whether anybody in sight sets anything to require grad that may be a part of an object of the class."""
        return self._analysis.module.words.may_thaw or any(
            owner.module.words.may_thaw for owner in self._analysis.classes.ancestors(cls)
        )

    def dtypes_registered(self, instance: Instance, method: str) -> dict[str, str | None]:
        """Those of the buffers and parameters that a method of a module gives, by their names, if NumPy lacks one."""
        found: dict[str, str | None] = {}
        for owner in self._analysis.classes.ancestors(instance.cls):
            if owner.module.text.says("shows", _LACKING):
                for of_buffers, registered, assigned in _REGISTERED.findall(owner.module.text.of(owner.node)):
                    name = registered or assigned
                    if not method.endswith("parameters" if of_buffers else "buffers"):
                        value = self._analysis.attributes.attribute(instance, name)
                        found[name] = value.dtype if isinstance(value, Tensor) else None
        return found if any(map(may_lack, found.values())) else {}

    def may_move(self, instance: Instance, name: str, value: Value) -> bool:
        """Whether an attribute that holds this may go where its object is sent."""
        return self._may_move(instance, value, is_held=self.is_held(instance.cls, name))

    def _may_move(self, instance: Instance, value: Value, *, is_held: bool) -> bool:
        if isinstance(value, Instance):
            return self._analysis.kinds.is_module(value.cls)
        if isinstance(value, LibraryObject):
            return library_values.is_module([value.name])
        is_tensor = isinstance(value, Tensor) and (is_held or value.requires_grad is not False)
        return is_tensor and self._analysis.kinds.is_module(instance.cls)

    def is_held(self, cls: Class, name: str) -> bool:
        """True if some method of the class makes the attribute a parameter or a buffer."""
        writers = self._analysis.classes.writers_in_all(cls, name)
        return any(each.is_parameter or each.is_buffer for _, each, _ in writers)

    def is_buffer(self, cls: Class, name: str) -> bool:
        """Whether a module keeps it and does not learn it, whatever its methods put in its place afterwards."""
        if not self._analysis.kinds.is_module(cls):
            return False
        writers = self._analysis.classes.writers_in_all(cls, name)
        return any(each.is_buffer for _, each, _ in writers) and not any(each.is_parameter for _, each, _ in writers)


def _may_take_device(parameters: ast.arguments) -> bool:
    return parameters.kwarg is not None or any("device" in name for name in parameter_names(parameters))
