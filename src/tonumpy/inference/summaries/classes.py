"""A class of the repository and a name in; the attribute or method that its objects have out."""

from __future__ import annotations

import ast

from tonumpy.inference.habits import settings_object
from tonumpy.inference.index.bindings import (
    FunctionNode,
    decorator_names,
    names_in,
)
from tonumpy.inference.index.class_bodies import (
    Members,
    Writers,
    WritersByName,
    is_super_init,
    members_defined,
    moves_itself,
    others_write,
    owner_name,
    writes_of,
    written_within,
)
from tonumpy.inference.index.constructors import stored_parameters
from tonumpy.inference.index.frameworks import FOREIGN
from tonumpy.inference.index.freezing import freezes_itself, grad_left_by_methods, thaws
from tonumpy.inference.index.slices import Slice, Slicer
from tonumpy.inference.lattice.aliases import unless_it_requires_grad
from tonumpy.inference.lattice.dtypes import is_integral, is_real
from tonumpy.inference.lattice.joins import join, join_all
from tonumpy.inference.lattice.values import (
    NONE,
    NOTHING,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    Foreign,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Nothing,
    Plain,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
    is_number,
)
from tonumpy.inference.lattice.values import members as members_of_union
from tonumpy.inference.summaries.callers import Entry
from tonumpy.inference.summaries.data_classes import default_of_field, fields_taken
from tonumpy.inference.transfer import libraries
from tonumpy.inference.transfer.beliefs import held_by_dataset, learnt_from_name
from tonumpy.inference.transfer.control_flow import execute
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.frame import NO_TARGETS, Frame, Targets
from tonumpy.inference.transfer.members import attribute_of, settle
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis

MAX_ANCESTORS = 12
MAX_CONSTRUCTOR_SLICES = 8  # attributes for each of which a constructor is run by itself
_PLACEHOLDERS = (NONE, Sequence((), NOTHING), Mapping((), NOTHING))


class ClassFacts:
    """Answers about classes, each worked out once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._ancestors: dict[Class, tuple[list[Class], list[str]]] = {}
        self._attributes: dict[tuple[object, ...], Value] = {}
        self._made_from_itself: set[tuple[object, ...]] = set()  # of those that are worked out, what has been read
        self._made_of_parts: set[tuple[object, ...]] = set()  # of those, what others that are not all there went into
        self._constructors: dict[tuple[int, Instance], list[Frame]] = {}
        self._is_written_within: dict[tuple[Class, str], bool] = {}
        self._written_by: dict[tuple[Class, str], frozenset[str]] = {}
        self._typed_dicts: dict[Class, Mapping] = {}
        self._fields: dict[Class, dict[str, int]] = {}

    def members(self, cls: Class) -> Members:
        return cls.module.derived(members_defined, cls.node)

    def _writers_of(self, cls: Class, name: str) -> Writers:
        return cls.module.derived(WritersByName, cls.node).of(name, cls.module)

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
        frame = self._analysis.module_scope(cls.module, cls.closure)
        for base in cls.node.bases:
            node = base.value if isinstance(base, ast.Subscript) else base
            # One of several where the base depends on what is installed.
            for value in members_of_union(evaluate(frame, node)):
                if isinstance(value, Class) and len(own) < MAX_ANCESTORS:
                    more, names = self._linearised(value)
                    own.extend(each for each in more if each not in own)
                    library.extend(names)
                elif isinstance(value, Symbol):
                    library.append(value.name)
                elif isinstance(value, Foreign):
                    library.append(value.root)
                elif not isinstance(value, Class):
                    library.append("")  # a base of which nothing is known
        return own, library

    def method(self, cls: Class, name: str) -> Function | None:
        for owner in self.ancestors(cls):
            node = self.members(owner).methods.get(name)
            if node is not None:
                return Function(node, owner.module, owner, owner.closure)
        return None

    def is_property(self, cls: Class, name: str) -> bool:
        function = self.method(cls, name)
        return function is not None and "property" in decorator_names(function.node)

    def lacks(self, cls: Class, name: str) -> bool:
        """Whether objects of a class surely have no method or attribute of a name: all its bases are in sight, and none
        makes up attributes."""
        if not _WITHOUT_METHODS.issuperset(self.library_bases(cls)):
            return False
        names = frozenset((name, "__getattr__", "__getattribute__"))
        return not any(
            names & members.methods.keys() or name in members.fields or self._writers_of(owner, name).assigning
            for owner in self.ancestors(cls)
            for members in (self.members(owner),)
        )

    def written_by(self, cls: Class, name: str) -> frozenset[str]:
        """The attributes that a call of a method writes, or puts something into, by itself or by calling others."""
        key = (cls, name)
        known = self._written_by.get(key)
        if known is not None:
            self._analysis.unfinished.use(self._written_by, key)
            return known
        self._written_by[key] = frozenset()  # a method that calls itself writes no more than it does
        with self._analysis.unfinished.working_out(self._written_by, key):
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
                name in _written_by_functions_in(owner, writer)
                for owner in self.ancestors(cls)
                for writers in (self._writers_of(owner, name),)
                for writer in (*writers.assigning, *writers.filling)
            )
        return known

    def is_module(self, cls: Class) -> bool:
        return libraries.is_module(self.library_bases(cls))

    def is_operator(self, cls: Class) -> bool:
        return libraries.is_operator(self.library_bases(cls))

    def is_dataset(self, cls: Class) -> bool:
        """Whether it extends torch's Dataset, or is called one and has items, as torch asks for no more than these."""
        if libraries.is_dataset(self.library_bases(cls)):
            return True
        return libraries.is_called_dataset(cls.node.name) and self.method(cls, "__getitem__") is not None

    def moves_itself(self, cls: Class) -> bool:
        """Whether a constructor of the class brings the object somewhere: `self.cuda()`, `self.to(device)`."""
        return any(owner.module.derived(moves_itself, owner.node) for owner in self.ancestors(cls))

    def freezes_itself(self, cls: Class) -> bool:
        """Whether the constructor of the class ends with freezing all parameters: `self.requires_grad_(False)`."""
        ancestors = self.ancestors(cls)
        owner = next((each for each in ancestors if "__init__" in self.members(each).methods), None)
        if owner is None or not owner.module.derived(freezes_itself, owner.node):
            return False
        return not any(each.module.derived(thaws, each.node) for each in ancestors)

    def grad_left_by(self, module: Instance, name: str) -> Fact:
        """Whether the parameters of a module may require grad once a method of its class has been called on it."""
        if not self.is_module(module.cls):
            return module.requires_grad
        if self.method(module.cls, name) is None:
            return libraries.grad_left_by_inherited(self.library_bases(module.cls), module, name)
        waiting, seen = [name], {name}
        while waiting:
            function = self.method(module.cls, waiting.pop())
            if function is None or function.owner is None or not function.module.words.speaks_of_grad:
                continue
            assert not isinstance(function.node, ast.Lambda)
            left = function.module.derived(grad_left_by_methods, function.owner.node)
            if function.node.name == name and name in left:
                return left[name]
            if left.get(function.node.name, False) is None:
                return None
            called = set(function.module.derived(writes_of, function.node).methods_called) - seen
            seen |= called
            waiting += called
        return module.requires_grad

    def is_foreign(self, cls: Class) -> str | None:
        """The framework whose class it extends, if that is not torch."""
        return next((name for name in self.library_bases(cls) if name in FOREIGN), None)

    def named_tuple_fields(self, instance: Instance) -> Sequence | None:
        """The fields of an object of a named tuple class, in order; None for other classes."""
        if not {"typing.NamedTuple", "NamedTuple"} & set(self.library_bases(instance.cls)):
            return None
        names = tuple(self.members(instance.cls).fields)
        items = tuple(self.attribute(instance, name) for name in names)
        return Sequence(items, join_all(items), names)

    def typed_dict(self, cls: Class) -> Mapping | None:
        """What stands in a dict of a class that extends TypedDict, as the class has it; None for other classes."""
        if not any(name.endswith("TypedDict") for name in self.library_bases(cls)):
            return None
        known = self._typed_dicts.get(cls)
        if known is None:
            self._typed_dicts[cls] = Mapping((), Unknown("value of a dict"))  # it may hold others of its class
            entries = {
                key: learnt_from_name(self._analysis.annotated(frame, field.annotation), key, frame)
                for owner in reversed(self.ancestors(cls))
                for frame in (self._analysis.class_scope(owner),)
                for key, field in self.members(owner).fields.items()
                if isinstance(field, ast.AnnAssign)
            }
            known = self._typed_dicts[cls] = Mapping(tuple(entries.items()))
        return known

    def bound_in_body(self, cls: Class, name: str) -> Value | None:
        """What a name means to the other expressions of a class body; None where the body does not bind it."""
        members = self.members(cls)
        if name in members.methods:
            return Function(members.methods[name], cls.module, cls, cls.closure)
        if name in members.classes:
            return Class(members.classes[name], cls.module, cls.closure)
        value = self.class_attribute(cls, name) if name in members.fields else NOTHING
        return None if isinstance(value, Nothing) else value  # `size = size`

    def class_attribute(self, cls: Class, name: str) -> Value:
        root = self.is_foreign(cls)
        if root is not None:
            return Foreign(root)
        function = self.method(cls, name)
        if function is not None:
            if "classmethod" in decorator_names(function.node):
                return BoundMethod(function, cls)
            return function
        inner = self._inner_class(cls, name)
        if inner is not None:
            return inner
        value = self._written(Instance(cls), name)
        return value.function if isinstance(value, BoundMethod) else value

    def attribute(self, instance: Instance, name: str) -> Value:
        cls = instance.cls
        if name == "__class__":
            return cls
        if name in instance.written:
            return Unknown("what somebody else has assigned")  # which may well have something to learn
        root = self.is_foreign(cls)
        if root is not None:
            return Foreign(root)
        if settings_object.is_id_of_token(name):
            return Plain("int")
        function = self.method(cls, name)
        if function is not None:
            instance = instance.real or instance  # `super()` finds the method, which works on the object itself
            decorators = decorator_names(function.node)
            if any(name.endswith("property") for name in decorators):  # `cached_property`, `lazy_property`
                made = self._analysis.call_function(function, instance, Arguments(()), None)
                return settle(self._analysis.class_scope(cls), made)
            if "staticmethod" in decorators:
                return function
            if "classmethod" in decorators:
                return BoundMethod(function, cls)
            return BoundMethod(function, instance)
        return self._inner_class(cls, name) or self._written(instance, name)

    def _written(self, instance: Instance, name: str) -> Value:
        key = _key(instance, name)
        try:
            known = self._attributes.get(key)
        except TypeError:
            instance = instance._replace(arguments=None)
            key = _key(instance, name)
            known = self._attributes.get(key)
        if known is not None:
            if isinstance(known, Nothing):  # it is being worked out
                self._made_from_itself.add(key)
            self._analysis.unfinished.use(self._attributes, key)
            return known
        self._attributes[key] = NOTHING  # an attribute made from itself adds nothing at first
        value: Value = Unknown(f"attribute {name}")  # where it is nested too deeply
        with self._analysis.unfinished.working_out(self._attributes, key):
            try:
                value = self._work_out(instance, name, key)
            finally:
                self._attributes[key] = value
                self._made_from_itself.discard(key)
                self._made_of_parts.discard(key)
        return value

    def _work_out(self, instance: Instance, name: str, key: tuple[object, ...]) -> Value:
        is_held = self._is_held(instance.cls, name)
        value = self._as_held(instance, self._join_of_writes(instance, name, key), is_held=is_held)
        if value not in _PLACEHOLDERS:
            return value
        # Somebody else gives it what it is there for.
        grad = False if self._is_buffer(instance.cls, name) else None
        given = Unknown(f"attribute {name}", None, grad)
        if value == NONE:
            return join(NONE, given) if instance.arguments is None or self._others_write(instance.cls, name) else NONE
        if not self._others_write(instance.cls, name):
            return value
        return Sequence(None, given) if isinstance(value, Sequence) else Mapping((), given)

    def _others_write(self, cls: Class, name: str) -> bool:
        """Whether it is written, in the module of the class or in the one that is looked at, by more than its class."""
        return any(others_write(module.source.text, name) for module in {cls.module, self._analysis.module})

    def is_computed(self, instance: Instance, name: str) -> bool:
        """Whether an attribute is no literal that was passed on, as the text shows by itself. A constructor whose
        arguments are known may not come to the place where it computes."""
        return instance.arguments is None and any(
            name in owner.module.derived(writes_of, writer).computed
            for owner in self.ancestors(instance.cls)
            for writer in self._writers_of(owner, name).assigning
        )

    def while_constructed(self, instance: Instance, method: FunctionNode | ast.Lambda) -> Instance:
        """The object as a method finds it when it begins: where the constructor of a module does, nothing has moved it.

        Not where the repository has bases of it, whose constructors may.
        """
        if isinstance(method, ast.Lambda) or method.name != "__init__" or not self.is_module(instance.cls):
            return instance
        return instance if len(self.ancestors(instance.cls)) > 1 else instance._replace(on_cpu=True)

    def kept(self, instance: Instance, value: Value) -> Value:
        """What an object is given to keep, as it has it."""
        if not isinstance(value, (Tensor, Unknown, Sequence, Mapping)):
            return value
        if not self.is_dataset(instance.cls):
            return value
        return held_by_dataset(value, self._analysis.class_scope(instance.cls))

    def _as_held(self, instance: Instance, value: Value, *, is_held: bool) -> Value:
        """An attribute between two calls: whoever has the object may have moved the modules and parameters in it, and
        has frozen these where the object is frozen."""
        if isinstance(value, Union):
            return join_all(self._as_held(instance, member, is_held=is_held) for member in value.members)
        kept = self.kept(instance, value)
        if kept is not value:
            return kept
        if instance.requires_grad is False and not self.is_module(instance.cls):
            return unless_it_requires_grad(value)  # the object was made while grad mode was off
        if not isinstance(value, (Instance, LibraryObject, Tensor)) or not self._may_move(
            instance, value, is_held=is_held
        ):
            return value
        is_module = self.is_module(instance.cls)
        is_float = is_held and (value.requires_grad or is_real(value.dtype)) if isinstance(value, Tensor) else is_module
        if instance.dtype is not None and is_float:
            value = value._replace(dtype=instance.dtype)
        if is_module and (is_held or not isinstance(value, Tensor)):
            if instance.requires_grad is False:
                value = value._replace(requires_grad=False)
            elif value.requires_grad is False and not isinstance(value, Tensor) and self._may_be_thawed(instance.cls):
                value = value._replace(requires_grad=None)
        if value.on_cpu is False:
            return value
        return value._replace(on_cpu=instance.on_cpu if is_module else None)

    def _may_be_thawed(self, cls: Class) -> bool:
        """Whether anybody in sight sets anything to require grad that may be a part of an object of the class."""
        return self._analysis.module.words.may_thaw or any(owner.module.words.may_thaw for owner in self.ancestors(cls))

    def may_move(self, instance: Instance, name: str, value: Value) -> bool:
        """Whether an attribute that holds this may go where its object is sent."""
        return self._may_move(instance, value, is_held=self._is_held(instance.cls, name))

    def _is_held(self, cls: Class, name: str) -> bool:
        writers = (self._writers_of(owner, name) for owner in self.ancestors(cls))
        return any(each.is_parameter or each.is_buffer for each in writers)

    def _is_buffer(self, cls: Class, name: str) -> bool:
        """Whether a module keeps it and does not learn it, whatever its methods put in its place afterwards."""
        if not self.is_module(cls):
            return False
        writers = [self._writers_of(owner, name) for owner in self.ancestors(cls)]
        return any(each.is_buffer for each in writers) and not any(each.is_parameter for each in writers)

    def _may_move(self, instance: Instance, value: Value, *, is_held: bool) -> bool:
        if isinstance(value, Instance):
            return self.is_module(value.cls)
        if isinstance(value, LibraryObject):
            return libraries.is_module([value.name])
        is_tensor = isinstance(value, Tensor) and (is_held or value.requires_grad is not False)
        return is_tensor and self.is_module(instance.cls)

    def _join_of_writes(self, instance: Instance, name: str, key: tuple[object, ...]) -> Value:
        cls = instance.cls
        assigned: Value = NOTHING
        remaking: list[tuple[Class, FunctionNode]] = []  # what writes something made of the attribute itself
        fillers: list[tuple[Class, FunctionNode]] = []
        changers: list[tuple[Class, FunctionNode]] = []
        is_hidden = False  # by what a nearer class's body binds to the name
        owners = self.ancestors(cls)
        is_made = any(each.name == "__init__" for owner in owners for each in self._writers_of(owner, name).assigning)
        for owner in owners:
            writers = self._writers_of(owner, name)
            for writer in writers.assigning:
                assigned = join(
                    assigned, self._write(instance, owner, writer, name, is_constructor=writer.name == "__init__")
                )
                if key in self._made_from_itself or key in self._made_of_parts:
                    self._made_from_itself.discard(key)
                    remaking.append((owner, writer))
            fillers.extend((owner, filler) for filler in writers.filling)
            fillers.extend((owner, each) for each in writers.assigning if name in _written_by_functions_in(owner, each))
            changers.extend((owner, changer) for changer in writers.changing)
            field = None if is_hidden else self.members(owner).fields.get(name)
            if field is not None:
                value = self._field(instance, owner, field, name)
                is_seen = is_made and any(each not in (NONE, NOTHING) for each in members_of_union(assigned))
                if is_seen and field.value is None:
                    # It says what sort of thing the constructor puts there.
                    assigned = self._analysis.combine_annotation(assigned, value)
                else:
                    assigned = join(assigned, value)
                is_hidden = field.value is not None
        is_made_of_parts = key in self._made_of_parts
        self._made_of_parts.discard(key)
        if self._made_from_itself and remaking and self._analysis.unfinished.waits_for_another:
            # Those around it are worked out again, and this one with them: to do so here, too, takes twice the time
            # for each attribute that others are made of in turn.
            self._made_of_parts |= self._made_from_itself
        elif is_made_of_parts or (remaking and any(map(_may_be_remade, members_of_union(assigned)))):
            # What the methods find there: `self.mean = self.mean.to(device)`, `self.count += 1`, `self.found += [x]`.
            assigned = self._attributes[key] = join_all(map(_any_number, members_of_union(assigned)))
            self._analysis.unfinished.renew()
            assigned = join_all([assigned, *(self._write(instance, *writer, name) for writer in remaking)])
        if not isinstance(assigned, Nothing):
            return self._filled(instance, name, assigned, fillers, changers)
        root = self.is_foreign(cls)
        if root:
            return Foreign(root)
        frame = self._analysis.module_scope(cls.module)
        if self._analysis.makes_tensors(cls):
            return attribute_of(frame, Tensor(), name)
        return libraries.inherited_attribute(frame, self.library_bases(cls), instance, name)

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
        if any(isinstance(value, (Sequence, Mapping)) or libraries.is_container(value) for value in found):
            writers += fillers
        if any(map(_may_get_grad, found)):
            writers += [each for each in changers if each not in writers]
        if not writers:
            return assigned
        self._attributes[_key(instance, name)] = assigned  # what the methods find there
        self._analysis.unfinished.renew()
        after = (self._write(instance, owner, writer, name, found=assigned) for owner, writer in writers)
        return join_all((assigned, *(unless_it_requires_grad(each) if _is_given(each) else each for each in after)))

    def _field(self, instance: Instance, owner: Class, field: ast.AnnAssign | ast.Assign, name: str) -> Value:
        frame = self._analysis.class_scope(owner)
        if isinstance(field, ast.Assign):
            value = settle(frame, evaluate(frame, field.value))
            if isinstance(value, Function) and not isinstance(field.value, ast.Call):
                return BoundMethod(value, instance)
            return value
        declared = learnt_from_name(self._analysis.annotated(frame, field.annotation), name, frame)
        if instance.arguments is not None:
            place = self._fields_taken(instance.cls).get(name)
            given = None if place is None else instance.arguments.get(place, name)
            if given is not None:
                return self._analysis.combine_annotation(given, declared)
        if field.value is not None and not self.members(owner).methods.get("__init__"):
            default = default_of_field(frame, field.value)
            if isinstance(default, (Unknown, Nothing)):
                return declared
            # A list that the methods fill is there for them; nobody gives the constructor another.
            is_filled = isinstance(default, (Sequence, Mapping)) and bool(self._writers_of(owner, name).filling)
            is_known = instance.arguments is not None and not instance.arguments.has_star
            return default if is_filled or (is_known and default != NONE) else join(declared, default)
        return declared

    def _fields_taken(self, cls: Class) -> dict[str, int]:
        """Those that the constructor of a data class takes, each with its place: those of its bases come first."""
        known = self._fields.get(cls)
        if known is None:
            owners = reversed(self.ancestors(cls))
            names = dict.fromkeys(name for owner in owners for name in fields_taken(self.members(owner)))
            known = self._fields[cls] = {name: place for place, name in enumerate(names)}
        return known

    def _inner_class(self, cls: Class, name: str) -> Class | None:
        """The class that stands under this name in the body of a class or of one of its bases."""
        for owner in self.ancestors(cls):
            node = self.members(owner).classes.get(name)
            if node is not None:
                return Class(node, owner.module, owner.closure)
        return None

    def _write(
        self,
        instance: Instance,
        owner: Class,
        writer: FunctionNode,
        name: str,
        *,
        is_constructor: bool = False,
        found: Value | None = None,
    ) -> Value:
        """What a method leaves in `self.name`, joined over its assignments and those of the functions in it; `found` is
        what it finds there."""
        if self._analysis.is_exhausted:
            return Unknown("attribute")
        left = self._left_by(instance, owner, writer, name, is_constructor=is_constructor, found=found)
        within = _written_by_functions_in(owner, writer).get(name, ())
        written = (left, *(self._left_by_inner(owner, writer, each, name) for each in within))
        return join_all(map(unless_it_requires_grad, written) if self._is_buffer(instance.cls, name) else written)

    def _left_by_inner(
        self, owner: Class, writer: FunctionNode, functions: tuple[FunctionNode, ...], name: str
    ) -> Value:
        """The same of a function in a method, the last one, whoever calls it: a hook."""
        scopes = (owner.module.tree, owner.node, writer, *functions)
        path = f"{owner_name(writer)}.{name}"
        return self._analysis.entry_frame(owner.module, scopes, NO_TARGETS, (path,)).bound.get(path, NOTHING)

    def _left_by(
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
        parameters, grad_mode, _ = (
            analysis.entry_state(owner.module, (owner.module.tree, owner.node, writer))
            if arguments is None
            else Entry(analysis.bind_arguments(function, instance, arguments), None)
        )
        first = next(iter(parameters), "self")
        slicer = owner.module.derived(Slicer, writer)
        path = f"{first}.{name}"
        runs = self._constructors.setdefault((id(writer), instance), []) if is_constructor else []
        if runs and runs[-1].relevant is None:
            analysis.unfinished.use(self._constructors, (id(writer), instance))
            return _left_in(runs[-1], path, is_constructor=True)
        stored = owner.module.derived(stored_parameters, writer).get(name) if is_constructor else None
        if stored is not None:
            asked: Slice | None = Slice(frozenset((path,)), frozenset((id(stored),)), wants_result=False)
        else:
            asked = slicer.at_end((path,)) if len(runs) < MAX_CONSTRUCTOR_SLICES else None
        frame = Frame(analysis, owner.module, slicer.flow, owner, owner.closure, grad_mode, asked, NO_TARGETS)
        for parameter, value in parameters.items():
            frame.bind(parameter, value)
        frame.bind(first, self.while_constructed(instance, writer))
        if found is not None:
            frame.bind(path, found)
        with analysis.unfinished.working_out(self._constructors, (id(writer), instance)):
            execute(frame, writer.body)
            if stored is None:
                runs.append(frame)
        return _left_in(frame, path, is_constructor=is_constructor)

    def _constructor_arguments(self, instance: Instance, owner: Class) -> Arguments | None:
        """What the `__init__` of one of the object's classes is given, passed on by `super().__init__(...)`."""
        arguments = instance.arguments
        for cls in self.ancestors(instance.cls):
            init = self.members(cls).methods.get("__init__")
            if cls == owner or arguments is None:
                return arguments
            if init is not None:
                arguments = self._passed_to_super(instance, cls, init, arguments)
        return None

    def _passed_to_super(
        self, instance: Instance, cls: Class, init: FunctionNode, arguments: Arguments
    ) -> Arguments | None:
        found = [
            (statement, statement.value)
            for statement in init.body
            if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call) and is_super_init(statement)
        ]
        if len(found) != 1:
            return None
        ((statement, call),) = found
        analysis = self._analysis
        slicer = cls.module.derived(Slicer, init)
        targets = Targets(frozenset((id(call),)), frozenset((id(statement),)))
        asked = slicer.at(targets.statements, names_in(call))
        frame = Frame(analysis, cls.module, slicer.flow, cls, cls.closure, None, asked, targets)
        function = Function(init, cls.module, cls, cls.closure)
        for parameter, value in analysis.bind_arguments(function, instance, arguments).items():
            frame.bind(parameter, value)
        execute(frame, init.body)
        seen = frame.observations.get(id(call))
        return None if seen is None or seen.arguments.has_star else seen.arguments


def _left_in(frame: Frame, path: str, *, is_constructor: bool) -> Value:
    """Everything that an attribute held in a method, which another may find there; of a module in a constructor, what
    it is in the end: `self.net.requires_grad_(False)`."""
    last = frame.env.get(path) if is_constructor and isinstance(frame.returned, Nothing) else None
    held = frame.bound.get(path, NOTHING)
    return last if isinstance(last, (Instance, LibraryObject)) and isinstance(held, type(last)) else held


def _written_by_functions_in(owner: Class, method: FunctionNode) -> dict[str, list[tuple[FunctionNode, ...]]]:
    return owner.module.derived(written_within, method)


# Bases that bring no methods of their own but those of any object.
_WITHOUT_METHODS = frozenset("object abc.ABC typing.Generic typing.Protocol".split())


def _may_get_grad(value: Value) -> bool:
    """Whether it is a tensor that does not require grad, but does once something that does is written to it."""
    return isinstance(value, Tensor) and value.requires_grad is False and not is_integral(value.dtype)


def _is_given(value: Value) -> bool:
    return isinstance(value, Tensor) and value.is_given


def _may_be_remade(value: Value) -> bool:
    """Whether what is made of it may be something else."""
    if isinstance(value, Tensor):
        return value.on_cpu is not None or value.requires_grad is False
    return isinstance(value, (Constant, Sequence, Mapping)) or is_number(value)


def _any_number(value: Value) -> Value:
    """What counts up begins with a literal, and may be any later."""
    if not isinstance(value, Constant) or value.value is None or isinstance(value.value, bool):
        return value
    return Plain("number" if is_number(value) else "literal")


def _key(instance: Instance, name: str) -> tuple[object, ...]:
    """What an attribute depends on."""
    facts = (instance.on_cpu, instance.requires_grad, instance.dtype)
    return (instance.cls, instance.arguments, *facts, instance.written, name)
