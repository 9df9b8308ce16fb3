"""A class of the repository and a name in; the attribute or method that its objects have out."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.inference import libraries
from tonumpy.inference.expressions import evaluate, settle
from tonumpy.inference.frame import NO_TARGETS, Frame
from tonumpy.inference.symbols import FunctionNode, path_of, statements_of
from tonumpy.inference.values import (
    NOTHING,
    Arguments,
    BoundMethod,
    Class,
    Foreign,
    Function,
    Instance,
    LibraryObject,
    Nothing,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
    join,
    join_all,
)

if TYPE_CHECKING:
    from tonumpy.inference.analysis import Analysis

MAX_ANCESTORS = 12


class Members(NamedTuple):
    """What a class body defines and what its methods write to `self`."""

    methods: dict[str, FunctionNode]
    fields: dict[str, ast.AnnAssign | ast.Assign]
    writers: dict[str, list[FunctionNode]]  # attribute -> the methods that assign it


class ClassFacts:
    """Answers about classes, each worked out once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._members: dict[int, Members] = {}
        self._ancestors: dict[int, tuple[list[Class], list[str]]] = {}
        self._attributes: dict[tuple[object, ...], Value] = {}

    def members(self, cls: Class) -> Members:
        known = self._members.get(id(cls.node))
        if known is None:
            known = _members_of(cls.node)
            self._members[id(cls.node)] = known
        return known

    def ancestors(self, cls: Class) -> list[Class]:
        """The class itself and its bases in the repository, nearest first."""
        return self._linearised(cls)[0]

    def library_bases(self, cls: Class) -> list[str]:
        """The dotted names of the library classes that it extends, directly or through bases in the repository."""
        return self._linearised(cls)[1]

    def _linearised(self, cls: Class) -> tuple[list[Class], list[str]]:
        known = self._ancestors.get(id(cls.node))
        if known is not None:
            return known
        own: list[Class] = [cls]
        library: list[str] = []
        self._ancestors[id(cls.node)] = (own, library)
        frame = self._analysis.module_scope(cls.module)
        for base in cls.node.bases:
            node = base.value if isinstance(base, ast.Subscript) else base
            value = evaluate(frame, node)
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
                return Function(node, owner.module, owner)
        return None

    def is_module(self, cls: Class) -> bool:
        return libraries.is_module(self.library_bases(cls))

    def is_foreign(self, cls: Class) -> str | None:
        """The framework whose class it extends, if that is not torch."""
        from tonumpy.inference.frameworks import FOREIGN

        return next((name for name in self.library_bases(cls) if name in FOREIGN), None)

    def named_tuple_fields(self, instance: Instance) -> Sequence | None:
        """The fields of an object of a named tuple class, in order; None for other classes."""
        if not {"typing.NamedTuple", "NamedTuple"} & set(self.library_bases(instance.cls)):
            return None
        names = tuple(self.members(instance.cls).fields)
        items = tuple(self.attribute(instance, name) for name in names)
        return Sequence(items, join_all(items), names)

    def class_attribute(self, cls: Class, name: str) -> Value:
        function = self.method(cls, name)
        if function is not None:
            if "classmethod" in _decorators(function.node):
                return BoundMethod(function, cls)
            return function
        return self._written(Instance(cls), name)

    def attribute(self, instance: Instance, name: str) -> Value:
        cls = instance.cls
        function = self.method(cls, name)
        if function is not None:
            decorators = _decorators(function.node)
            if decorators & {"property", "cached_property", "abstractproperty"}:
                return settle(self._analysis.call_function(function, instance, Arguments(()), None))
            if "staticmethod" in decorators:
                return function
            if "classmethod" in decorators:
                return BoundMethod(function, cls)
            return BoundMethod(function, instance)
        return self._written(instance, name)

    def _written(self, instance: Instance, name: str) -> Value:
        key = (id(instance.cls.node), instance.arguments, instance.on_cpu, name)
        try:
            known = self._attributes.get(key)
        except TypeError:
            instance = instance._replace(arguments=None)
            key = (id(instance.cls.node), None, instance.on_cpu, name)
            known = self._attributes.get(key)
        if known is not None:
            return known
        self._attributes[key] = NOTHING  # an attribute made from itself adds nothing
        value = self._as_held(instance, self._join_of_writes(instance, name))
        self._attributes[key] = value
        return value

    def _as_held(self, instance: Instance, value: Value) -> Value:
        """An attribute between two calls: whoever has the object may have moved the modules and parameters in it."""
        if isinstance(value, Union):
            return join_all(self._as_held(instance, member) for member in value.members)
        is_module = self.is_module(instance.cls)
        if isinstance(value, Instance):
            moves = self.is_module(value.cls)
        elif isinstance(value, LibraryObject):
            moves = libraries.is_module([value.name])
        else:
            moves = is_module and isinstance(value, Tensor) and value.requires_grad is not False
        if not moves or not isinstance(value, (Instance, LibraryObject, Tensor)) or value.on_cpu is False:
            return value
        return value._replace(on_cpu=instance.on_cpu if is_module else None)

    def _join_of_writes(self, instance: Instance, name: str) -> Value:
        cls = instance.cls
        found: list[Value] = []
        for owner in self.ancestors(cls):
            members = self.members(owner)
            for writer in members.writers.get(name, ()):
                found.append(self._write(instance, owner, writer, name))
            field = members.fields.get(name)
            if field is not None:
                found.append(self._field(instance, owner, field, name))
        found = [value for value in found if not isinstance(value, Nothing)]
        if found:
            return join_all(found)
        root = self.is_foreign(cls)
        if root:
            return Foreign(root)
        return libraries.inherited_attribute(self.library_bases(cls), instance, name)

    def _field(self, instance: Instance, owner: Class, field: ast.AnnAssign | ast.Assign, name: str) -> Value:
        frame = self._analysis.module_scope(owner.module)
        if isinstance(field, ast.Assign):
            return settle(evaluate(frame, field.value))
        declared = self._analysis.annotated(frame, field.annotation)
        if instance.arguments is not None:
            position = [
                key for key, value in self.members(owner).fields.items() if isinstance(value, ast.AnnAssign)
            ].index(name)
            given = instance.arguments.get(position, name)
            if given is not None:
                return self._analysis.combine_annotation(given, declared)
        if field.value is not None and not self.members(owner).methods.get("__init__"):
            default = settle(evaluate(frame, field.value))
            return declared if isinstance(default, Unknown) else join(declared, default)
        return declared

    def _write(self, instance: Instance, owner: Class, writer: FunctionNode, name: str) -> Value:
        """What a method leaves in `self.name`, joined over its assignments."""
        analysis = self._analysis
        if analysis.is_exhausted:
            return Unknown("attribute")
        function = Function(writer, owner.module, owner)
        parameters, grad_mode = (
            (analysis.bind_arguments(function, instance, instance.arguments), None)
            if writer.name == "__init__" and instance.arguments is not None and owner == instance.cls
            else analysis.entry_state(owner.module, (owner.module.tree, owner.node, writer))
        )
        first = next(iter(parameters), "self")
        flow = analysis.flow(writer)
        path = f"{first}.{name}"
        frame = Frame(analysis, owner.module, flow, owner, None, grad_mode, flow.slice({path}), NO_TARGETS)
        for parameter, value in parameters.items():
            frame.bind(parameter, value)
        frame.bind(first, instance)
        from tonumpy.inference.flow import execute

        execute(frame, writer.body)
        return frame.bound.get(path, NOTHING)


def _members_of(node: ast.ClassDef) -> Members:
    methods: dict[str, FunctionNode] = {}
    fields: dict[str, ast.AnnAssign | ast.Assign] = {}
    writers: dict[str, list[FunctionNode]] = {}
    for statement in statements_of(node.body):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if not _is_setter(statement):
                methods[statement.name] = statement
            for name in _attributes_written(statement):
                writers.setdefault(name, []).append(statement)
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            fields[statement.target.id] = statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    fields[target.id] = statement
    return Members(methods, fields, writers)


def _attributes_written(method: FunctionNode) -> list[str]:
    """The attributes of `self` that a method assigns, also by `register_buffer`."""
    parameters = [*method.args.posonlyargs, *method.args.args]
    if not parameters:
        return []
    owner = parameters[0].arg
    found: dict[str, None] = {}
    for node in ast.walk(method):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            path = path_of(node)
            if path is not None and path.startswith(f"{owner}.") and path.count(".") == 1:
                found[node.attr] = None
    return list(found)


def _is_setter(node: FunctionNode) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in ("setter", "deleter") for each in node.decorator_list)


def _decorators(node: FunctionNode | ast.Lambda) -> set[str]:
    if isinstance(node, ast.Lambda):
        return set()
    from tonumpy.inference.analysis import decorator_names

    return decorator_names(node)
