"""From a class of the repository to its methods, its bases (method resolution), and the attributes they write."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.class_bodies import (
    NO_WRITERS,
    Field,
    Members,
    Writers,
    members_defined,
    writers_of,
    writes_of,
    written_within,
)
from tonumpy.engine.names.frameworks import FOREIGN
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members as members_of_union
from tonumpy.engine.values.values import (
    Class,
    Function,
    Instance,
    Mapping,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.annotations import value_of_class
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.habit_heuristics import apply_name_habits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.bindings import FunctionNode
    from tonumpy.inference.summaries.analysis import Analysis

MAX_ANCESTORS = 24  # of a class, itself included; beyond them is a base of which nothing is known


class Classes:
    """Class hierarchies and methods, each computed once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._ancestors: dict[Class, tuple[list[Class], list[str]]] = {}
        self._unfinished = 0  # how many classes are waiting for the ancestors of their bases
        self._methods: dict[tuple[Class, str], Function | None] = {}
        self._all_writers: dict[tuple[Class, str], list[tuple[Class, Writers, Field | None]]] = {}
        self._is_written_within: dict[tuple[Class, str], bool] = {}
        self._written_by: dict[tuple[Class, str], frozenset[str]] = {}

    def members(self, cls: Class) -> Members:
        """What the class body defines (see index/class_bodies.py)."""
        return cls.module.derived(members_defined, cls.node)

    def writers_of(self, cls: Class, name: str) -> Writers:
        """The methods of the class itself that write the attribute `name`."""
        return cls.module.derived_in(writers_of, cls.node, name)

    def writers_in_all(self, cls: Class, name: str) -> list[tuple[Class, Writers, Field | None]]:
        """The class and its bases, nearest first, as far as they write an attribute or bind it in their bodies."""
        key = (cls, name)
        known = self._all_writers.get(key)
        if known is None:
            known = [
                (owner, writers, field)
                for owner in self.ancestors(cls)
                for writers, field in ((self.writers_of(owner, name), self.members(owner).fields.get(name)),)
                if field is not None or writers != NO_WRITERS
            ]
            if not self._unfinished:
                self._all_writers[key] = known
        return known

    def ancestors(self, cls: Class) -> list[Class]:
        """The class itself and its bases in the repository, nearest first."""
        return self._linearised(cls)[0]

    def library_bases(self, cls: Class) -> list[str]:
        """The dotted names of the library classes that it extends, directly or through bases in the repository."""
        return self._linearised(cls)[1]

    def _linearised(self, cls: Class) -> tuple[list[Class], list[str]]:
        known = self._ancestors.get(cls)
        if known is not None:
            return known
        own: list[Class] = [cls]
        library: list[str] = []
        self._ancestors[cls] = (own, library)
        self._unfinished += 1
        try:
            for value in _bases_of(self._analysis, cls):
                if isinstance(value, Class):
                    more, names = self._linearised(value)
                    own.extend(each for each in more if each not in own)
                elif isinstance(value, Symbol):
                    names = [value.name]
                elif isinstance(value, OtherFramework):
                    names = [value.root]
                else:
                    names = [""]  # a base of which nothing is known
                if len(own) > MAX_ANCESTORS:
                    del own[MAX_ANCESTORS:]
                    names = [*names, ""]
                library.extend(name for name in names if name not in library)
        finally:
            self._unfinished -= 1
        return own, library

    def is_subclass(self, cls: Class, parent: Class) -> bool:
        """True if `parent` is the class or one of its bases in the repository."""
        return any(base == parent for base in self.ancestors(cls))

    def method(self, cls: Class, name: str) -> Function | None:
        """The method `name` of the class or its nearest base that has it, as a function; None if none in the repository
        has it."""
        key = (cls, name)
        if key not in self._methods:
            owners = ((owner, self.members(owner).methods.get(name)) for owner in self.ancestors(cls))
            found = next((Function(node, each.module, each, each.closure) for each, node in owners if node), None)
            if self._unfinished:
                return found  # by what is known so far
            self._methods[key] = found
        return self._methods[key]

    def overriding(self, cls: Class, name: str) -> list[Function]:
        """The methods of a name of those classes in its module that extend a class, and have one of their own."""
        if cls.closure is not None:
            return []
        found: list[Function] = []
        for node in cls.module.derived(_extending_classes, cls.module.tree):
            extending = Class(node, cls.module)
            method = self.members(extending).methods.get(name) if node is not cls.node else None
            if method is not None and self.is_subclass(extending, cls):
                found.append(Function(method, cls.module, extending))
        return found

    def lacks(self, cls: Class, name: str) -> bool:
        """Whether objects of a class surely have no method or attribute of a name: all its bases are in sight, and none
        makes up attributes."""
        if not _WITHOUT_METHODS.issuperset(self.library_bases(cls)):
            return False
        names = frozenset((name, "__getattr__", "__getattribute__"))
        return not any(
            not names.isdisjoint(members.methods) or name in members.fields or self.writers_of(owner, name).assigning
            for owner in self.ancestors(cls)
            for members in (self.members(owner),)
        )

    def inner_class(self, cls: Class, name: str) -> Class | None:
        """The class that stands under this name in the body of a class or of one of its bases."""
        for owner in self.ancestors(cls):
            node = self.members(owner).classes.get(name)
            if node is not None:
                return Class(node, owner.module, owner.closure)
        return None

    def written_by(self, cls: Class, name: str) -> frozenset[str]:
        """The attributes that a call of a method writes, or puts something into, by itself or by calling others."""
        key = (cls, name)
        known = self._analysis.solver.known(self._written_by, key)
        if known is not None:
            return known
        self._written_by[key] = frozenset()  # a method that calls itself writes no more than it does
        with self._analysis.solver.solving(self._written_by, key):
            found: set[str] = set()
            function = self.method(cls, name)
            if function is not None and not isinstance(function.node, ast.Lambda):
                writes = function.module.derived(writes_of, function.node)
                found |= writes.assigned | writes.filled
                for called in writes.methods_called:
                    found |= self.written_by(cls, called)
            known = self._written_by[key] = frozenset(found)
        return known

    def is_written_within(self, cls: Class, name: str) -> bool:
        """Whether a function in a method writes an attribute of `self`, or puts something into it: a hook, which may be
        called at any time after."""
        key = (cls, name)
        known = self._is_written_within.get(key)
        if known is None:
            known = self._is_written_within[key] = any(
                name in written_by_functions_in(owner, writer)
                for owner, writers, _ in self.writers_in_all(cls, name)
                for writer in (*writers.assigning, *writers.filling)
            )
        return known

    def is_computed(self, instance: Instance, name: str) -> bool:
        """Whether an attribute is no literal that was passed on, as the text shows by itself. A constructor whose
        arguments are known may not come to the place where it computes."""
        return instance.arguments is None and any(
            name in owner.module.derived(writes_of, writer).computed
            for owner, writers, _ in self.writers_in_all(instance.cls, name)
            for writer in writers.assigning
        )


# Bases that bring no methods of their own but those of any object.
_WITHOUT_METHODS = frozenset("object abc.ABC typing.Generic typing.Protocol".split())


def _extending_classes(tree: ast.Module) -> list[ast.ClassDef]:
    return [node for node in tree.body if isinstance(node, ast.ClassDef) and node.bases]


def written_by_functions_in(owner: Class, method: FunctionNode) -> frozenset[str]:
    return owner.module.derived(written_within, method)


def _bases_of(analysis: Analysis, cls: Class) -> Iterator[Value]:
    """What each stands for, and each of several where that depends on what is installed."""
    frame = analysis.module_scope(cls.module, cls.closure)
    for base in cls.node.bases:
        yield from members_of_union(evaluate(frame, base.value if isinstance(base, ast.Subscript) else base))


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
