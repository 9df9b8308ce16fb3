"""From a class of the repository to its kind: torch module, dataset, tensor, named tuple or TypedDict, by its bases."""

from __future__ import annotations

import ast

from tonumpy.inference.index.frameworks import FOREIGN
from tonumpy.inference.lattice.joins import join_all
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import Class, Instance, Mapping, Sequence, Symbol, Tensor, Unknown
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.annotations import value_of_class
from tonumpy.inference.transfer.habit_heuristics import apply_name_habits
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.inference.summaries.analysis import Analysis


class ClassKinds:
    """Kinds of classes, by what they extend."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._typed_dicts: dict[Class, Mapping] = {}

    def is_module(self, cls: Class) -> bool:
        """True if it extends torch.nn.Module."""
        return library_values.is_module(self._analysis.classes.library_bases(cls))

    def is_operator(self, cls: Class) -> bool:
        """True if it extends torch.autograd.Function."""
        return library_values.is_operator(self._analysis.classes.library_bases(cls))

    def is_dataset(self, cls: Class) -> bool:
        """Whether it extends torch's Dataset, or is called one and has items, as torch asks for no more than these."""
        if library_values.is_dataset(self._analysis.classes.library_bases(cls)):
            return True
        return (
            library_values.is_called_dataset(cls.node.name)
            and self._analysis.classes.method(cls, "__getitem__") is not None
        )

    def is_foreign(self, cls: Class) -> str | None:
        """The framework whose class it extends, if that is not torch; else None."""
        return next((name for name in self._analysis.classes.library_bases(cls) if name in FOREIGN), None)

    def extends_tensor(self, cls: Class) -> bool:
        """True if it extends torch.Tensor."""
        return any(
            isinstance(value_of_class(Symbol(base)), Tensor) for base in self._analysis.classes.library_bases(cls)
        )

    def makes_tensors(self, cls: Class) -> bool:
        """Whether its objects are tensors that torch's own `numpy` converts."""
        return self.extends_tensor(cls) and self._analysis.classes.method(cls, "numpy") is None

    def named_tuple_fields(self, instance: Instance) -> Sequence | None:
        """The fields of an object of a named tuple class, in order; None for other classes."""
        if not {"typing.NamedTuple", "NamedTuple"} & set(self._analysis.classes.library_bases(instance.cls)):
            return None
        names = tuple(self._analysis.classes.members(instance.cls).fields)
        items = tuple(self._analysis.attributes.attribute(instance, name) for name in names)
        return Sequence(items, join_all(items), names)

    def typed_dict(self, cls: Class) -> Mapping | None:
        """What stands in a dict of a class that extends TypedDict, as the class has it; None for other classes."""
        if not any(name.endswith("TypedDict") for name in self._analysis.classes.library_bases(cls)):
            return None
        known = self._typed_dicts.get(cls)
        if known is None:
            self._typed_dicts[cls] = Mapping((), Unknown(Reason.CONTENT))  # it may hold others of its class
            entries = {
                key: apply_name_habits(self._analysis.parameters.annotated(frame, field.annotation), key, frame)
                for owner in self._analysis.classes.ancestors(cls)[::-1]
                for frame in (self._analysis.class_scope(owner),)
                for key, field in self._analysis.classes.members(owner).fields.items()
                if isinstance(field, ast.AnnAssign)
            }
            known = self._typed_dicts[cls] = Mapping(tuple(entries.items()))
        return known
