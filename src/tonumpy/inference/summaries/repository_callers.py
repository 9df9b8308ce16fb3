"""From a function or method to its calls in all files of the repository, found by text search first."""

from __future__ import annotations

import ast
import os
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.methods import COMMON_METHODS, OF_PYTHON
from tonumpy.engine.names.bindings import imports_of
from tonumpy.engine.names.def_use import def_use_of
from tonumpy.engine.names.project import is_of_library, path_of_module
from tonumpy.engine.names.references import class_around, places_that_name, references_to
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import (
    BoundMethod,
    Class,
    Function,
    Instance,
    ModuleValue,
    Nothing,
    Symbol,
    Unknown,
    Value,
)
from tonumpy.inference.summaries.budget import MAX_CALLER_FILES
from tonumpy.inference.summaries.places_of_modules import is_beside, is_example_of, is_of_tests
from tonumpy.inference.summaries.users import Calls, Users
from tonumpy.text.names import qualified_name
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Items

    from tonumpy.engine.names.bindings import Import
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.names.references import Reference
    from tonumpy.engine.names.repository import Searched
    from tonumpy.inference.summaries.analysis import Analysis

MIN_NAME = 3  # characters: shorter ones stand in every file
MAX_LEVELS = 3  # of functions in one module that call each other
MAX_ABOVE = 24  # of these functions, and of the calls of one of them
MAX_DEFINITIONS = 16  # of methods of one name

# `from a import f`, in brackets or not; `a.f`; `from a import *`. Where a text holds none, it cannot mean a function.
# Each begins with a letter or a dot, to which a search can jump, while an assertion before it is tried everywhere.
_IMPORTED = r"import(?<!\wimport)\b(?:[^\n(]{0,400}|\s{0,9}\([^)]{0,4000}|[^\n]{0,400}\\\n[^\n]{0,400})\b%s\b"
_MENTIONS = _IMPORTED + r"|\.\s*%s\b|import(?<!\wimport)\s*\*"
_MODULE = r"from(?<!\wfrom)\b[^\n]{0,400}\b%s\b|" + _IMPORTED
_ATTRIBUTE = r"\.\s*%s\b"
_NAMED = r"%s(?<!\w%s)\b"
_CALLED = r"\.\s*%s\s*\("
IMPORT = r"(?:import|from)(?<!\wimport)(?<!\wfrom)[ \t]+%s\b"
_DEFINITION = r"def(?<!\wdef)\s+%s\b"


_SOMETHING = Unknown(Reason.SYNTAX)


def calls_in_repository(analysis: Analysis, module: Module, scopes: Items[ast.AST], function: Function) -> Calls | None:
    """The call sites of a function in the repository; None if some cannot be followed, or if only tests call it."""
    node = function.node
    repository = module.project.repositories.around(module.folder)
    if repository is None or not isinstance(node, FUNCTIONS):
        return None
    owner = class_around(scopes)
    if node.name.startswith("__") or (owner is not None and node.name == "forward"):
        return None  # it is called without its name
    if len(node.name) < MIN_NAME:
        return None
    find = _Search(analysis, module, repository, function)
    own = [(module, each) for each in references_to(module, scopes)]
    others = find.of_function() if owner is None else find.of_method()
    if others is None:
        return None
    if not module.use.is_test:
        others = [each for each in others if not is_of_tests(each[0])]

    is_of_script = module.use.is_script and not is_for_others(module, scopes)

    def stand_for(callers: Iterable[Module]) -> Users:
        """What examples give, and its own module, shows too little of what users of a package do."""
        if is_of_script and not others:
            return Users.ALL
        if is_of_script or not repository.is_installable:
            is_used = any(not is_of_tests(each) and not is_example_of(each, module) for each in callers)
            return Users.ALL if is_used else Users.NOBODY
        users = [each for each in callers if each is not module]
        if any(is_beside(each, module) for each in users):
            return Users.ALL
        return Users.LIKELY_ALL if any(not is_example_of(each, module) for each in users) else Users.NOBODY

    if stand_for(other for other, _ in (*own, *others)) is Users.NOBODY:
        return None
    return Calls([*own, *others], None if owner is None else find.is_meant, stand_for)


def is_for_others(module: Module, scopes: Items[ast.AST]) -> bool:
    """True if the function is part of an interface, whatever its module does as a script: `__all__` lists it or its
    class, or its class is in a package."""
    return module.names.lists(scopes[1]) or (class_around(scopes) is not None and module.use.is_in_package)


def may_be_imported(module: Module, name: str) -> bool:
    """True if some other file names the module in an import, and `name` as something imported or an attribute."""
    if module.filename.endswith(".ipynb"):
        return False  # what a notebook defines is called in it
    repository = module.project.repositories.around(module.folder)
    if repository is None:
        return False
    path = os.path.abspath(module.filename)
    importing = {*repository.naming(os.path.basename(path_of_module(path)), _MODULE)} - {path}
    return bool(importing) and not importing.isdisjoint(repository.naming(name, _MENTIONS))


def main_files_naming(module: Module, name: str) -> list[str]:
    """The scripts of the repository that import the module, and name something."""
    repository = module.project.repositories.around(module.folder)
    if repository is None or module.filename.endswith(".ipynb"):
        return []
    path = os.path.abspath(module.filename)
    found = {*repository.naming(name)} - {path}
    found = found and found & {*repository.naming("__main__")}
    return sorted(found and found & {*repository.naming(os.path.basename(path_of_module(path)), _MODULE)})


class Mentions:
    """Text search: whether other files name a function, so that an evaluation of repository callers may show
    anything."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._path = os.path.abspath(module.filename)
        self._of_classes: dict[int, bool] = {}

    @cached_property
    def _repository(self) -> Searched | None:
        return self._module.project.repositories.around(self._module.folder)

    def may_show(self, scopes: Items[ast.AST]) -> bool:
        """True if another file names the function, or a method that may write what a method reads from `self`."""
        if not isinstance(scopes[-1], FUNCTIONS) or self._module.filename.endswith(".ipynb"):
            return False  # what a notebook defines is called in it
        if self._repository is None:
            return False
        owner = class_around(scopes)
        if owner is None:
            names = sorted(self._functions_above(scopes))
            return any(self._are_in_others(name, _MENTIONS) for name in names)
        if id(owner) not in self._of_classes:
            self._of_classes[id(owner)] = self._may_show_methods(owner)
        return self._of_classes[id(owner)]

    def _may_show_methods(self, owner: ast.ClassDef) -> bool:
        # Of a name that many have, a call is followed where the class is known: some file has to name that.
        is_named = self._are_in_others(owner.name, _NAMED)
        names = {each.name for each in statements_of(owner.body) if isinstance(each, FUNCTIONS)}
        return any(
            self._are_in_others(name, _CALLED)
            for name in sorted(names)
            if not name.startswith("__") and name != "forward" and (is_named or name not in COMMON_METHODS)
        )

    def _functions_above(self, scopes: Items[ast.AST]) -> set[str]:
        """The public names of a function and of those in its module that call it, and of those that call these."""
        names = set[str]()
        known = {scopes[-1]}
        waiting = [(tuple(scopes), MAX_LEVELS)]
        while waiting:
            around, levels = waiting.pop()
            node = around[-1]
            assert isinstance(node, FUNCTIONS)
            if len(around) == 2 and not node.name.startswith("_"):
                names.add(node.name)
            references = references_to(self._module, around) if levels > 1 else []
            references = sorted(references, key=lambda each: qualified_name(each.scopes))
            for each in references if len(references) <= MAX_ABOVE else ():
                outer = next((depth for depth, scope in enumerate(each.scopes) if isinstance(scope, FUNCTIONS)), None)
                if len(each.scopes) > 1 and isinstance(each.scopes[1], ast.ClassDef):
                    names.add(each.scopes[1].name)
                elif outer is not None and each.scopes[outer] not in known and len(known) < MAX_ABOVE:
                    known.add(each.scopes[outer])
                    waiting.append((each.scopes[: outer + 1], levels - 1))
        return names

    def _are_in_others(self, name: str, pattern: str) -> bool:
        assert self._repository is not None
        if len(name) < MIN_NAME:
            return False
        return self._repository.names_beside(self._path, name, pattern)


class _Search:
    """Searches the files of a repository, or those `among` them, for calls of one function."""

    def __init__(
        self,
        analysis: Analysis,
        module: Module,
        repository: Searched,
        function: Function,
        among: frozenset[str] | None = None,
    ) -> None:
        self._among = among
        self._analysis = analysis
        self._module = module
        self._repository = repository
        self._function = function
        assert isinstance(function.node, FUNCTIONS)
        self._name = function.node.name
        self._path = os.path.abspath(module.filename)

    # Functions of a module

    def of_function(self) -> list[tuple[Module, Reference]] | None:
        """The places in other files that call a function of a module, or pass it on."""
        paths = self._others_naming(_MENTIONS)
        found: list[tuple[Module, Reference]] = []
        if len(paths) > MAX_CALLER_FILES:
            last = os.path.basename(path_of_module(self._path))
            importing = {*self._repository.naming(last), *self._repository.naming(self._name, _IMPORTED)}
            paths = [path for path in paths if path in importing]
        if len(paths) > MAX_CALLER_FILES:
            return None
        for path in paths:
            other = self._module_at(path)
            if other is None:
                return None
            for name in self._names_in(other):
                found += [(other, each) for each in places_that_name(other, name) if self._is_this(other, each)]
        # Where nothing is left to be spent, a name that means the function may look as if it meant something else.
        return None if self._analysis.budget.cuts_short() else found

    def _others_naming(self, pattern: str) -> list[str]:
        paths = self._repository.naming(self._name, pattern)
        return [each for each in paths if each != self._path and (self._among is None or each in self._among)]

    def _module_at(self, path: str) -> Module | None:
        """None where it cannot be parsed, or is one too many: what it does is not known then."""
        found = self._module.project.module_at(path_of_module(path))
        if found is None or not self._analysis.budget.may_read(found):
            return None
        return found if found.can_be_parsed else None

    def _names_in(self, other: Module) -> list[str]:
        """What the function is called in another module: by its name, or as an import there has it."""
        found = [self._name]
        for name, bindings in other.names.bindings.items():
            if name != self._name and any(getattr(each, "name", None) == self._name for each in bindings):
                found.append(name)
        found += [name for name, each in other.names.imports_in_functions.items() if each.name == self._name != name]
        return found

    def _is_this(self, other: Module, reference: Reference) -> bool:
        return reference.node is not None and self._is_function(self._value(other, reference.scopes, reference.node))

    def _is_function(self, value: Value) -> bool:
        return any(isinstance(each, Function) and each.node is self._function.node for each in members(value))

    def _value(self, other: Module, scopes: Items[ast.AST], node: ast.expr) -> Value:
        """What a name or an attribute path stands for, if it is something that a module binds."""
        names = self._analysis.names
        if isinstance(node, ast.Attribute):
            holders = members(self._value(other, scopes, node.value))
            return join_all(self._member(each, node.attr) for each in holders)
        if not isinstance(node, ast.Name):
            return _SOMETHING
        for scope in reversed(scopes):
            if isinstance(scope, FUNCTIONS) and node.id in other.derived(def_use_of, scope).local_names:
                imported = _imports_within(scope).get(node.id)
                return _SOMETHING if imported is None else self._found(names.import_value(other, imported))
        return self._found(names.global_value(other, node.id))

    def _member(self, holder: Value, name: str) -> Value:
        if isinstance(holder, ModuleValue):
            return self._found(self._analysis.names.member_of_module(holder.module, name))
        return self._found(Symbol(f"{holder.name}.{name}")) if isinstance(holder, Symbol) else _SOMETHING

    def _found(self, value: Value) -> Value:
        """A name of a module that is not found where Python would look for it: scripts put folders on the path."""
        if not isinstance(value, Symbol) or is_of_library(value.name.partition(".")[0]):
            return value
        dotted, _, last = value.name.rpartition(".")
        if self._path in self._repository.called(value.name):
            found = self._module.project.module_at(path_of_module(self._path))
            if found is not None:
                return ModuleValue(found)
        for path in self._repository.called(dotted) if dotted else ():
            found = self._module.project.module_at(path_of_module(path))
            if found is not None:
                member = self._analysis.names.member_of_module(found, last)
                if self._is_function(member):
                    return member
        return value

    # Methods

    def of_method(self) -> list[tuple[Module, Reference]] | None:
        """The places in other files that call a method of this name."""
        paths = self._others_naming(_ATTRIBUTE)
        if len(paths) > MAX_CALLER_FILES:
            return None
        found: list[tuple[Module, Reference]] = []
        for path in paths:
            other = self._module_at(path)
            if other is None:
                return None
            found += [(other, each) for each in places_that_name(other, self._name) if each.is_attribute]
        return found

    def is_meant(self, receiver: Value) -> bool | None:
        """Whether a call of a method of this name on some value may be one of the method; None where nobody can say."""
        meant: list[bool | None] = [self._has_method(each) for each in members(receiver)]
        return True if True in meant else None if None in meant else False

    def _has_method(self, value: Value) -> bool | None:
        owner = self._function.owner
        assert owner is not None
        classes = self._analysis.classes
        if isinstance(value, (Instance, Class)):
            cls = value.cls if isinstance(value, Instance) else value
            method = classes.method(cls, self._name)
            if method is not None and method.node is self._function.node:
                return True
            # One that is said to be of a base may be of any class that extends it.
            return cls in classes.ancestors(owner)
        if isinstance(value, Unknown):
            return True if self._name_is_its_own else None
        return None if isinstance(value, (BoundMethod, Nothing)) else False

    @cached_property
    def _name_is_its_own(self) -> bool:
        """Whether the classes that define a method of this name have it from one of them, and no library has one."""
        owner = self._function.owner
        is_common = self._name in OF_PYTHON | COMMON_METHODS or torch_api.is_of_tensors(self._name)
        if owner is None or is_common:
            return False
        paths = self._repository.naming(self._name, _DEFINITION)
        if len(paths) > MAX_DEFINITIONS:
            return False
        family = {(each.module.filename, each.node.lineno) for each in self._analysis.classes.ancestors(owner)}
        first = self._first_with_method(owner)
        for path in paths:
            other = self._module_at(path)
            if other is None:
                return False
            for cls in _classes_that_define(other, self._name):
                value = Class(cls, other)
                if (other.filename, cls.lineno) not in family and self._first_with_method(value) != first:
                    return False
        return True

    def _first_with_method(self, cls: Class) -> tuple[str, int]:
        """The last of the bases of a class that has the method: the one that brought it in."""
        classes = self._analysis.classes
        owners = [each for each in classes.ancestors(cls) if self._name in classes.members(each).methods]
        last = owners[-1] if owners else cls
        return last.module.filename, last.node.lineno


def _imports_within(scope: ast.FunctionDef | ast.AsyncFunctionDef) -> dict[str, Import]:
    return {
        name: imported
        for statement in statements_of(scope.body)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for name, imported in imports_of(statement)
    }


def _classes_that_define(module: Module, name: str) -> list[ast.ClassDef]:
    """Those whose body defines a method."""
    found: list[ast.ClassDef] = []
    waiting: list[ast.stmt] = list(module.tree.body)
    while waiting:
        statement = waiting.pop()
        if isinstance(statement, ast.ClassDef):
            if any(isinstance(each, FUNCTIONS) and each.name == name for each in statements_of(statement.body)):
                found.append(statement)
            waiting += statement.body
        elif isinstance(statement, (ast.If, ast.Try, *FUNCTIONS)):
            waiting += statement.body
    return found
