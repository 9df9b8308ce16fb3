"""Classes of the repository: their bases, methods and attributes."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from tonumpy.engine.interpreter.frame import Frame
from tonumpy.engine.interpreter.promises import keep
from tonumpy.engine.knowledge.libraries.rows import attribute_promise, is_dataset, is_module, is_operator
from tonumpy.engine.names.bindings import FunctionNode, decorator_names
from tonumpy.engine.names.frameworks import foreign_root
from tonumpy.engine.summaries.shared import Analysis
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_real
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.text.syntax import FUNCTIONS, statements_of

_MOVING_ITSELF = re.compile(r"\bself\.(cuda|to|half|bfloat16)\(")
_FIELDS = frozenset(("dataclass", "define", "attrs", "frozen", "s", "dataclasses"))


# The text behind `self.name` that assigns, fills or moves it, and before the name in a registration. Searching the text
# avoids parsing other methods.
_STORING = re.compile(
    r"(?:\[[^\]\n]*\])*(?:[ \t]*(?:=(?!=)|:[^=\n]*=(?!=)|[-+*/|&@%^]=|,[^=\n()]*=(?!=)|in\b|:\n)"
    r"|\.(?:append|extend|insert|add|update|setdefault|cuda|to|cpu|half|bfloat16|requires_grad_)\()"
)
_OWN_ATTRIBUTE = re.compile(r"self\.(\w+)")
# One pattern a word: a search jumps to a pattern's first word, while alternatives are tried everywhere.
_REGISTERING = tuple(
    re.compile(rf"({word})\(\s*(?:self,\s*)?(?:name\s*=\s*)?[\"'](\w+)[\"']")
    for word in ("register_buffer", "register_parameter", "add_state", r"setattr(?<=\bsetattr)")
)


class Members(NamedTuple):
    """The definitions in the body of a class: methods, all functions (with setters), and assignments."""

    methods: dict[str, FunctionNode]
    functions: list[FunctionNode]
    bound: dict[str, ast.Assign | ast.AnnAssign]


class Classes:
    """Queries about classes, each computed once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._members: dict[int, Members] = {}
        self._ancestors: dict[v.Class, tuple[list[v.Class], list[str]]] = {}
        self._attributes: dict[object, v.Value] = {}
        self._fields: dict[v.Class, dict[str, v.Value] | None] = {}
        self._modules: dict[v.Class, bool] = {}
        self._stored_at: dict[int, dict[str, list[int]]] = {}
        self._registered: set[tuple[int, str]] = set()
        self._writing: dict[tuple[int, str], list[FunctionNode]] = {}
        self._stores: dict[object, dict[str, v.Value]] = {}
        self._in_progress: set[object] = set()
        self._partial = 0  # how often a method's stores were queried while being computed

    def members(self, cls: v.Class) -> Members:
        known = self._members.get(id(cls.node))
        if known is None:
            known = self._members[id(cls.node)] = cls.module.derived(_members_of, cls.node)
        return known

    def _bases(self, cls: v.Class) -> tuple[list[v.Class], list[str]]:
        known = self._ancestors.get(cls)
        if known is not None:
            return known
        self._ancestors[cls] = ([cls], [])  # a class that extends itself
        ours, theirs = {cls: None}, dict[str, None]()  # without duplicates: two bases often share one
        frame = self._analysis.frame_around(cls)
        for node in cls.node.bases:
            base = frame.value(node.value if isinstance(node, ast.Subscript) else node)
            if isinstance(base, v.Class):
                inner, outer = self._bases(base)
                ours |= dict.fromkeys(inner)
                theirs |= dict.fromkeys(outer)
            elif isinstance(base, v.Symbol):
                theirs[base.name] = None
            elif isinstance(base, (v.LibraryObject, v.Unknown)):
                theirs[""] = None
        found = self._ancestors[cls] = list(ours), list(theirs)
        return found

    def ancestors(self, cls: v.Class) -> list[v.Class]:
        """The class and those of the repository that it extends, nearest first."""
        return self._bases(cls)[0]

    def library_bases(self, cls: v.Class) -> list[str]:
        return [each for each in self._bases(cls)[1] if each and each != "builtins.object"]

    def is_module(self, cls: v.Class) -> bool:
        known = self._modules.get(cls)
        if known is None:
            known = self._modules[cls] = is_module(self.library_bases(cls))
        return known

    def is_dataset(self, cls: v.Class) -> bool:
        return is_dataset(self.library_bases(cls)) or any("Dataset" in each.node.name for each in self.ancestors(cls))

    def is_operator(self, cls: v.Class) -> bool:
        return is_operator(self.library_bases(cls))

    def makes_tensors(self, cls: v.Class) -> bool:
        return "torch.Tensor" in self.library_bases(cls)

    def foreign_root(self, cls: v.Class) -> str | None:
        return next((root for each in self.library_bases(cls) if (root := foreign_root(each))), None)

    def moves_itself(self, cls: v.Class) -> bool:
        """True if its own code may move an object to a device or cast it."""
        return any(_MOVING_ITSELF.search(self._analysis.text_of(each)) for each in self.ancestors(cls))

    def method(self, cls: v.Class, name: str) -> v.Function | None:
        for owner in self.ancestors(cls):
            node = self.members(owner).methods.get(name)
            if node is not None:
                return v.Function(node, owner.module, owner, owner.closure)
        return None

    def lacks(self, cls: v.Class, name: str) -> bool:
        """True if all bases of a class are known, and none has an attribute of this name."""
        ours, theirs = self._bases(cls)
        if any(each != "builtins.object" for each in theirs):
            return False
        members = [self.members(each) for each in ours]
        if any("__getattr__" in each.methods or name in each.methods or name in each.bound for each in members):
            return False
        return not any(self._writers(each, name) for each in ours)

    def fields(self, value: v.Instance) -> dict[str, v.Value] | None:
        """The fields of a NamedTuple or data class; None for another class."""
        if value.cls not in self._fields:
            self._fields[value.cls] = self._declared_fields(value.cls)
        declared = self._fields[value.cls]
        if declared is None or value.arguments is None:
            return declared
        found = dict(declared)
        for place, (name, promised) in enumerate(declared.items()):
            given = value.arguments.get(place, name)
            if given is not None:
                found[name] = self._analysis.parameters.combined(given, promised)
        return found

    def _declared_fields(self, cls: v.Class) -> dict[str, v.Value] | None:
        if "__init__" in self.members(cls).methods:
            return None
        found: dict[str, v.Value] = {}
        is_record = False
        for owner in reversed(self.ancestors(cls)):
            is_tuple = any(each.rpartition(".")[2] == "NamedTuple" for each in self.library_bases(owner))
            if is_tuple or decorator_names(owner.node) & _FIELDS:
                is_record = True
                for name, node in self.members(owner).bound.items():
                    if isinstance(node, ast.AnnAssign):
                        found[name] = self._analysis.parameters.annotated(owner.module, node.annotation)
        return found if is_record else None

    def attribute(self, frame: Frame, instance: v.Instance, name: str) -> v.Value:
        """The value of `instance.name`."""
        known = self.attribute_known(frame, instance, name)
        if known is not None:
            return known
        found: v.Value = v.Unknown(Reason.of_attribute(name))
        if self.is_dataset(instance.cls):
            found = frame.as_data(found)
        return frame.named(found, name)

    def attribute_known(self, frame: Frame, instance: v.Instance, name: str) -> v.Value | None:
        """The value of `instance.name` by a class or a library's row; None if neither has it."""
        itself = instance.real or instance
        for cls in self.ancestors(instance.cls):
            node = self.members(cls).methods.get(name)
            if node is not None:
                return self._method(frame, cls, node, itself)
        value = self._stored(instance, name)
        if value is None:
            value = self._class_attribute(instance.cls, name)
        if value is not None:
            return frame.named(self._as_held(itself, name, value), name)
        bases = self.library_bases(instance.cls)
        promise = attribute_promise(bases, name)
        if promise is not None:
            owner = v.LibraryObject(bases[0], instance.on_cpu, instance.requires_grad, evidence=instance.evidence)
            return keep(frame, promise, owner._replace(device_taint=instance.device_taint), v.Arguments(()))
        return None

    def _method(self, frame: Frame, owner: v.Class, node: FunctionNode, itself: v.Instance) -> v.Value:
        function = v.Function(node, owner.module, owner, owner.closure)
        names = decorator_names(node)
        if names & {"property", "cached_property", "lazy_property"} or "getter" in names:
            return self._analysis.enter(frame, function, itself, v.Arguments(()))
        if "staticmethod" in names:
            return function
        return v.BoundMethod(function, owner if "classmethod" in names else itself)

    def class_attribute(self, cls: v.Class, name: str) -> v.Value:
        """The value of `cls.name`."""
        return self._class_attribute(cls, name) or v.Unknown(Reason.of_attribute(name))

    def _class_attribute(self, cls: v.Class, name: str) -> v.Value | None:
        for owner in self.ancestors(cls):
            node = self.members(owner).methods.get(name)
            if node is not None:
                function = v.Function(node, owner.module, owner, owner.closure)
                return v.BoundMethod(function, cls) if "classmethod" in decorator_names(node) else function
            bound = self.members(owner).bound.get(name)
            if bound is not None:
                declared: v.Value = v.Unknown(Reason.ATTRIBUTE)
                if isinstance(bound, ast.AnnAssign):
                    declared = self._analysis.parameters.annotated(owner.module, bound.annotation)
                if bound.value is None or (isinstance(bound.value, ast.Call) and "field" in ast.dump(bound.value.func)):
                    return v.Unknown(Reason.ATTRIBUTE) if isinstance(declared, v.Annotation) else declared
                value = self._analysis.frame_around(owner).value(bound.value)
                return self._analysis.parameters.combined(value, declared)
        return None

    def _stored(self, instance: v.Instance, name: str) -> v.Value | None:
        """The join of the values that methods of a class and its bases store in an attribute; None if none does."""
        fields = self.fields(instance)
        ancestors = self.ancestors(instance.cls)
        writers = [(owner, node) for owner in ancestors for node in self._writers(owner, name)]
        if not writers:
            return None if fields is None else fields.get(name)
        key = (instance.cls, instance.arguments, name)
        known = self._attributes.get(key)
        if known is not None:
            return known
        before, partial_before = self._analysis.cuts, self._partial
        first: v.Value = v.NOTHING if fields is None else fields.get(name, v.NOTHING)
        found = join(first, self._written_by(instance, name, writers))
        if isinstance(found, v.Nothing):
            found = v.Unknown(Reason.ATTRIBUTE)
        if self._analysis.cuts == before:
            self._attributes[key] = found
            if self._partial != partial_before:  # good enough for this query, but to be computed again for others
                self._analysis.provisional.append((self._attributes, key))
        return found

    def _written_by(self, instance: v.Instance, name: str, writers: list[tuple[v.Class, FunctionNode]]) -> v.Value:
        """The join of the values that methods store in an attribute; the constructor runs with the object's own
        arguments if they are known, else with its declared parameters."""
        found: v.Value = v.NOTHING
        passed_on: set[int] = set()
        constructor = None if instance.arguments is None else self.method(instance.cls, "__init__")
        if constructor is not None and constructor.owner is not None and isinstance(constructor.node, FUNCTIONS):
            found = self._stores_of(constructor.owner, constructor.node, instance).get(name, v.NOTHING)
            if "__init__(" in self._analysis.text_of(constructor).partition("__init__(")[2]:
                passed_on = {id(node) for _, node in writers if node.name == "__init__"}
            passed_on.add(id(constructor.node))
        for owner, node in writers:
            if id(node) not in passed_on:
                found = join(found, self._stores_of(owner, node, instance).get(name, v.NOTHING))
        return found

    def _writers(self, owner: v.Class, name: str) -> list[FunctionNode]:
        """The methods that store an attribute."""
        key = (id(owner.node), name)
        known = self._writing.get(key)
        if known is None:
            places = self._places_stored(owner).get(name, ())
            known = self._writing[key] = []
            if places:
                text = self._analysis.text_of(owner)
                first = min([owner.node.lineno, *(each.lineno for each in owner.node.decorator_list)])
                rows = [first + text.count("\n", 0, each) for each in places]
                for each in self.members(owner).functions:
                    if any(each.lineno <= row <= (each.end_lineno or 0) for row in rows):
                        known.append(each)
        return known

    def _places_stored(self, owner: v.Class) -> dict[str, list[int]]:
        """The offsets where the text of a class assigns, fills or moves each attribute of `self`."""
        known = self._stored_at.get(id(owner.node))
        if known is None:
            known = self._stored_at[id(owner.node)] = {}
            text = self._analysis.text_of(owner)
            for match in _OWN_ATTRIBUTE.finditer(text):
                if _STORING.match(text, match.end()):
                    known.setdefault(match[1], []).append(match.start())
            for match in (each for pattern in _REGISTERING for each in pattern.finditer(text)):
                known.setdefault(match[2], []).append(match.start(2))
                if match[1] != "setattr":
                    self._registered.add((id(owner.node), match[2]))
        return known

    def _stores_of(self, owner: v.Class, node: FunctionNode, instance: v.Instance) -> dict[str, v.Value]:
        """The values that one method stores, run with its declared parameters, or a constructor with the object's
        arguments."""
        constructor = self.method(instance.cls, "__init__") if node.name == "__init__" else None
        is_made_so = constructor is not None and constructor.node is node
        arguments = instance.arguments if is_made_so else None
        key = (id(node), owner, arguments)
        known = self._stores.get(key)
        if known is None:
            if key in self._in_progress:
                self._partial += 1
                return {}
            if not self._analysis.may_nest():
                self._analysis.cuts += 1
                return {}
            self._in_progress.add(key)
            before = self._analysis.cuts
            function = v.Function(node, owner.module, owner, owner.closure)
            itself = v.Instance(owner, on_cpu=True if node.name == "__init__" else None)
            try:
                known = self._analysis.stores_of(function, itself, arguments)
            finally:
                self._in_progress.discard(key)
            self._stores[key] = known
            if self._analysis.cuts != before:
                self._analysis.provisional.append((self._stores, key))
        return known

    def _as_held(self, instance: v.Instance, name: str, value: v.Value) -> v.Value:
        """An attribute's value as its owner holds it: parts of a module are moved and frozen with it."""
        if isinstance(value, v.Union):
            return join_all(self._as_held(instance, name, each) for each in value.members)
        if self.is_dataset(instance.cls) and isinstance(value, (v.Tensor, v.Unknown, v.Sequence, v.Mapping)):
            return self._analysis.frame_around(instance.cls).as_data(value)
        if isinstance(value, v.Tensor):
            is_registered = value.requires_grad is True or self._is_held(instance.cls, name)
            if not self.is_module(instance.cls) or not is_registered:
                return value
            is_cast = instance.dtype is not None and (value.requires_grad or is_real(value.dtype))
            return _moved_with(instance, value._replace(dtype=instance.dtype) if is_cast else value)
        if not isinstance(value, (v.Instance, v.LibraryObject)) or not self._holds_parameters(value):
            return value
        if self.is_module(instance.cls):
            return _moved_with(instance, value._replace(dtype=instance.dtype or value.dtype))
        return value if value.on_cpu is False or value.device_taint else value._replace(on_cpu=None)

    def _holds_parameters(self, value: v.Instance | v.LibraryObject) -> bool:
        return self.is_module(value.cls) if isinstance(value, v.Instance) else is_module([value.name])

    def _is_held(self, cls: v.Class, name: str) -> bool:
        for each in self.ancestors(cls):
            self._places_stored(each)
        return any((id(each.node), name) in self._registered for each in self.ancestors(cls))


def _moved_with(module: v.Instance, held: v.Tensor | v.Instance | v.LibraryObject) -> v.Value:
    if module.requires_grad is False:
        held = held._replace(requires_grad=False)
    if held.on_cpu is False:
        return held
    taint = max(held.device_taint, module.device_taint) if module.on_cpu is None else held.device_taint
    return held._replace(on_cpu=module.on_cpu, device_taint=taint)


def _members_of(node: ast.ClassDef) -> Members:
    methods: dict[str, FunctionNode] = {}
    functions: list[FunctionNode] = []
    bound: dict[str, ast.Assign | ast.AnnAssign] = {}
    for statement in statements_of(node.body):
        if isinstance(statement, FUNCTIONS):
            setter = any(isinstance(each, ast.Attribute) and each.attr == "setter" for each in statement.decorator_list)
            functions.append(statement)
            if not setter:
                methods[statement.name] = statement
        elif isinstance(statement, ast.Assign):
            bound.update((each.id, statement) for each in statement.targets if isinstance(each, ast.Name))
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            bound[statement.target.id] = statement
    return Members(methods, functions, bound)
