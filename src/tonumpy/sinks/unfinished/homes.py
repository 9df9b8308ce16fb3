"""From a module to what a walk asks of it: the calls that copy, the functions that make such calls, and its imports."""

from __future__ import annotations

import ast
import re
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import defaults_of, imports_among, parameters_of, root_name
from tonumpy.engine.names.name_places import places_read
from tonumpy.sinks.unfinished.async_copies import Spellings
from tonumpy.sinks.unfinished.receivers import Receivers
from tonumpy.sinks.unfinished.records import Records
from tonumpy.sinks.unfinished.stream_words import ITERATING
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import is_cpu_literal, last_name, path_of
from tonumpy.text.prefilter import CONSUMERS, PLACES_NAMED, may_hold_copies
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tonumpy.engine.names.module import Module
    from tonumpy.text.candidates import Scope, Site
    from tonumpy.text.source import Source

    _Maker = tuple[tuple[Scope, ...], bool]  # a function's scopes, and whether it copies only where it is told the host

_SHARING = (ast.Global, ast.Nonlocal)
_COPYING = frozenset("to type copy_ _foreach_copy_".split())
MAX_LEVELS = 5  # of functions that call those that copy
# Functions of other files are looked at whose names end with where their result is.
_OF_OBJECTS = frozenset(("__init__", *ITERATING))  # methods that are called where the class is named
_SPEAKING = re.compile(rf"(?:{'|'.join(PLACES_NAMED)})\(")
_LONGEST = 100  # name that is looked for


class Helper(NamedTuple):
    """A function, with the scopes around and of it, and its module, if that is another than the one at hand.
    `is_guessed`: it is a method of an object whose class is not known, by its name alone."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    scopes: tuple[Scope, ...]
    home: Home | None = None
    is_guessed: bool = False


class Home:
    """One module."""

    def __init__(self, source: Source, imported: Mapping[str, Helper]) -> None:
        self.source = source
        self.spellings = Spellings(source)
        self._imported = imported
        self._bound: dict[Scope, frozenset[str]] = {}
        self._called: dict[Scope, frozenset[str]] = {}

    @cached_property
    def functions(self) -> dict[tuple[str, str], Helper]:
        """By the name of the class, if it is a method, and its own; the last of a name counts."""
        methods = ((each.scopes[-2], each) for each in self._inner.values())
        return {(cls.name if isinstance(cls, ast.ClassDef) else "", each.node.name): each for cls, each in methods}

    @cached_property
    def _inner(self) -> dict[tuple[Scope, str], Helper]:
        """By the scope around and their names."""
        found: dict[tuple[Scope, str], Helper] = {}
        waiting: list[tuple[list[ast.stmt], tuple[Scope, ...]]] = [(self.source.tree.body, (self.source.tree,))]
        while waiting:
            body, scopes = waiting.pop(0)
            for statement in statements_of(body):
                if isinstance(statement, FUNCTIONS):
                    found[scopes[-1], statement.name] = Helper(statement, (*scopes, statement))
                elif (function := _lambda_named_by(statement)) is not None:
                    found[scopes[-1], function.name] = Helper(function, (*scopes, function))
                if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                    waiting.append((statement.body, (*scopes, statement)))
        return found

    @cached_property
    def _sites(self) -> list[Site]:
        """The calls that may copy."""
        text = self.source.text
        pattern = r"non_blocking|, True\b|\bout=" if "pin_memory" in text else r"non_blocking|, True\b"
        rows = sorted({self.source.position_at(match.start()).row for match in re.finditer(pattern, text)})
        calls = find_calls(self.source, rows, _may_copy)
        return list({id(each.call): each for each in calls}.values())

    @cached_property
    def asking_like(self) -> list[ast.Call]:
        """The calls that copy to where another tensor is."""
        return [each.call for each in self._sites if self.spellings.asks_like(each.call, each.scopes)]

    @cached_property
    def copied(self) -> list[tuple[Site, ast.expr]]:
        """The calls that copy, each with what it copies."""
        found = ((each, self.spellings.source_of(each.call, each.scopes)) for each in self._sites)
        return [(site, node) for site, node in found if node is not None]

    @cached_property
    def roots(self) -> list[tuple[Scope, ...]]:
        """All scopes that are to be walked: the functions that copy, or call one that does, and the module."""
        copying = {each.scopes[-1] for each, _ in self.copied}
        known = {node: scopes for node, (scopes, is_told) in self._makers.items() if node in copying or not is_told}
        known.setdefault(self.source.tree, (self.source.tree,))
        return list(known.values())

    @cached_property
    def _makers(self) -> dict[ast.AST, _Maker]:
        """The functions that copy, or call one that does, with their scopes; and whether they do only where they are
        told the host as the device."""
        known = self._makers_by_themselves()
        names = _Names.of(self, known)
        names.functions.update(dict.fromkeys((each.rpartition(".")[2] for each in self._imported), True))
        for _ in range(MAX_LEVELS):
            more: dict[ast.AST, _Maker] = {}
            for (cls, _name), each in self.functions.items():
                found = None if each.node in known else names.called_in(self.source.text_of(each.node), cls)
                if found is not None:
                    more[each.node] = (each.scopes, found)
            if not more:
                break
            known |= more
            names = _Names.of(self, more)
        return known

    def _makers_by_themselves(self) -> dict[ast.AST, _Maker]:
        """Those of which a call copies."""
        known: dict[ast.AST, _Maker] = {each.scopes[-1]: (each.scopes, False) for each, _ in self.copied}
        calls = {each.call for each, _ in self.copied}
        lambdas = (each for each in self.functions.values() if _is_of_lambda(each.node) and calls)
        known.update((each.node, (each.scopes, False)) for each in lambdas if not calls.isdisjoint(walk(each.node)))
        for site in self._sites:
            if self.spellings.may_copy(site.call, site.scopes) and _gives_something(site.scopes[-1]):
                known.setdefault(site.scopes[-1], (site.scopes, not _has_host_by_default(site.scopes[-1])))
        return known

    @property
    def may_copy(self) -> bool:
        return bool(self._makers)

    @cached_property
    def _roots_imported(self) -> dict[str, str]:
        """The first parts of the names of modules, by the names that are bound to them or to parts of them."""
        imports = imports_among(statements_of(self.source.tree.body))
        return {name: each.module.partition(".")[0] for name, each in imports if not each.level}

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The names that are imported from libraries whose functions read what they are given."""
        return frozenset(name for name, root in self._roots_imported.items() if root in CONSUMERS)

    @cached_property
    def array_attributes(self) -> dict[str, str]:
        """The attributes of self that are given what NumPy makes, or arrays of pinned tensors, alone; with those."""
        given: dict[str, list[ast.expr]] = {}
        for target, value in self.spellings.assigned if "self." in self.source.text else ():
            if isinstance(target, ast.Attribute) and (name := root_name(target)) == path_of(target):
                given.setdefault(name or "", []).append(value)
        found = {name: [*map(self._as_array, values)] for name, values in given.items()}
        return {name: owners[0] or "" for name, owners in found.items() if None not in owners}

    def _as_array(self, node: ast.expr) -> str | None:
        """The pinned tensor that an array shares its memory with, empty where NumPy makes it; None for what is none."""
        if not isinstance(node, ast.Call):
            return None
        function = node.func
        if isinstance(function, ast.Attribute) and function.attr == "numpy":
            return path_of(function.value) if self.spellings.is_pinned(function.value) else None
        return "" if root_name(function) in self.arrays else None

    @cached_property
    def torch(self) -> frozenset[str]:
        return frozenset(name for name, root in self._roots_imported.items() if root == "torch")

    @cached_property
    def receivers(self) -> Receivers:
        return Receivers(self.source, {names: each.scopes for names, each in self.functions.items()})

    @cached_property
    def records(self) -> Records:
        return Records(self.source, self.receivers.classes)

    @cached_property
    def globals(self) -> frozenset[str]:
        """The names that the module's own body assigns."""
        return frozenset(name for name in self.receivers.bound_in(self.source.tree) if "." not in name)

    def bound(self, scope: Scope) -> frozenset[str]:
        """The names that are a function's own."""
        found = self._bound.get(scope)
        if found is None:
            of_others = {
                name for each in statements_of(scope.body) if isinstance(each, _SHARING) for name in each.names
            }
            own = set(self.receivers.bound_in(scope)) | parameters_of(scope)
            found = self._bound[scope] = frozenset(own - of_others)
        return found

    def called_in(self, scope: Scope) -> frozenset[str]:
        """The last parts of the names of what a function calls, or the module's own body."""
        found = self._called.get(scope)
        if found is None:
            is_module = isinstance(scope, ast.Module)
            body = [each for each in scope.body if not (is_module and isinstance(each, (*FUNCTIONS, ast.ClassDef)))]
            calls = (node for each in body for node in walk(each) if isinstance(node, ast.Call))
            found = self._called[scope] = frozenset(last_name(each.func) or "" for each in calls)
        return found

    @cached_property
    def callers(self) -> dict[str, set[Scope]]:
        """The functions, and the module, that call a function, by the last part of its name."""
        found: dict[str, set[Scope]] = {}
        for scope in (self.source.tree, *(each.node for each in self.functions.values())):
            for name in self.called_in(scope):
                found.setdefault(name, set()).add(scope)
        return found

    def is_shared(self, name: str, inner: tuple[Scope, ...], outer: tuple[Scope, ...]) -> bool:
        """Whether what a name holds in one function is what it holds in another, or in the module."""
        root = name.partition(".")[0].partition("[")[0]
        if isinstance(inner[-1], FUNCTIONS) and root in self.bound(inner[-1]):
            return False
        if inner[:-1] == outer and len(outer) > 1:
            return True
        return root in self.globals and (len(outer) == 1 or root not in self.bound(outer[-1]))

    def property_of(self, node: ast.Attribute, scopes: tuple[Scope, ...]) -> Helper | None:
        """The property of a class of the module that an attribute is."""
        if node.attr not in self.receivers.properties:
            return None
        return self.called(node, scopes, ast.Call(node, [], []))

    def called(self, function: ast.expr, scopes: tuple[Scope, ...], call: ast.Call | None = None) -> Helper | None:
        """The function or method that this names, seen from there; the method of an object of unknown class only where
        its `call` is given."""
        name = path_of(function) or ""
        if isinstance(function, ast.Attribute):
            method = self.receivers.called(function, scopes, call)
            own = None if method is None else self.functions[method[:2]]._replace(is_guessed=method.is_guessed)
            return own or self._imported.get(name)
        if name in self.receivers.classes:
            return self._constructor(name)
        around = (self._inner.get((each, name)) for each in reversed(scopes) if not isinstance(each, ast.ClassDef))
        found = next(filter(None, around), None)
        return found or self.functions.get(("", name)) or self._imported.get(name)

    def _constructor(self, cls: str) -> Helper | None:
        method = self.receivers.method(cls, "__init__")
        return None if method is None else self.functions[method[:2]]

    def makes_copies(self, helper: Helper) -> bool:
        return helper.home is not None or helper.node in self._makers

    def waits(self, helper: Helper) -> bool:
        """Whether its text has something that may wait."""
        text = (helper.home or self).source.text_of(helper.node)
        return any(word in text for word in ("synchronize", ".item(", ".cpu(", ".tolist(", "force=True"))


_PATH = re.compile(r"[\w.]*\Z")


def _lambda_named_by(statement: ast.stmt) -> ast.FunctionDef | None:
    """`name = lambda x: ...` as a function of that name."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Lambda):
        return None
    target, function = statement.targets[0], statement.value
    if not isinstance(target, ast.Name):
        return None
    body = ast.copy_location(ast.Return(function.body), function)
    return ast.copy_location(ast.FunctionDef(target.id, function.args, [body], []), function)


def _is_of_lambda(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return function.lineno == function.body[0].lineno and function.col_offset == function.body[0].col_offset


def _has_host_by_default(function: Scope) -> bool:
    """`def move(t, device="cpu")`"""
    return isinstance(function, FUNCTIONS) and any(is_cpu_literal(each) for _, each in defaults_of(function.args))


def _gives_something(function: Scope) -> bool:
    """Whether it returns something, or may be a generator."""
    return any(
        (isinstance(each, ast.Return) and each.value is not None)
        or (isinstance(each, (ast.Expr, ast.Assign)) and isinstance(each.value, (ast.Yield, ast.YieldFrom)))
        for each in statements_of(function.body)
    )


class _Names:
    """Those of functions that copy, each with whether it does only where it is told the host."""

    def __init__(self, properties: frozenset[str]) -> None:
        self._properties = properties
        self.functions: dict[str, bool] = {}
        self.methods: dict[str, dict[str, bool]] = {}  # by their classes

    @classmethod
    def of(cls, home: Home, known: Mapping[ast.AST, _Maker]) -> _Names:
        names = cls(home.receivers.properties)
        for (owner, name), each in home.functions.items():
            if each.node in known and name in ITERATING:
                given = re.findall(rf"\b(\w+) *= *{re.escape(owner)}\(", home.source.text) if owner else ()
                names.functions.update(dict.fromkeys(given, False))
            if each.node in known and name in _OF_OBJECTS:
                names.functions[owner] = known[each.node][1] and names.functions.get(owner, True)
            elif each.node in known:
                (names.methods.setdefault(owner, {}) if owner else names.functions)[name] = known[each.node][1]
        return names

    def called_in(self, text: str, owner: str) -> bool | None:
        """Whether a function, of a class, that has this text names only such as are told the host, and names no host;
        None where it names none of them."""
        found = [is_told for name, is_told in self.functions.items() if name in text and _has_word(text, name)]
        for cls, methods in self.methods.items():
            for name, is_told in methods.items():
                end = "" if cls == owner or name in self._properties else "("
                if f".{name}{end}" in text:
                    found.append(is_told)
        if not found:
            return None
        return all(found) and "cpu" not in text and "host" not in text.lower()


def _has_word(text: str, name: str) -> bool:
    return re.search(rf"\b{re.escape(name)}\b", text) is not None


def home_of(module: Module) -> Home:
    """That of the module at hand, with the functions of others that it may call for a copy."""
    return Home(module.source, _imported(module))


def _may_copy(call: ast.Call) -> bool:
    return last_name(call.func) in _COPYING or any(each.arg == "out" for each in call.keywords)


def _imported(module: Module) -> dict[str, Helper]:
    """Functions of other files that copy, by the names under which they are called."""
    found: dict[str, Helper] = {}
    homes: dict[str, Home] = {}
    for name in _speaking_names(module):
        helper = _copying(name, module, homes)
        if helper is not None:
            found[name] = helper
    return found


def _speaking_names(module: Module) -> list[str]:
    """The imported functions that are called, and whose names say where their result is."""
    text = module.source.text
    ends = (match.end() - 1 for match in _SPEAKING.finditer(text))
    called = {_PATH.search(text, max(0, end - _LONGEST), end)[0] for end in ends}  # type: ignore[index]
    bound = {name for name, _ in imports_among(statements_of(module.source.tree.body))} if called else set()
    return sorted(each for each in called if each.partition(".")[0] in bound)


def _copying(name: str, module: Module, homes: dict[str, Home]) -> Helper | None:
    """The function of another file that a name stands for, if it copies; the homes of files are kept by their paths."""
    for place in places_read(name, module):
        path, _, function = place.rpartition("/")
        other = module.project.module_at(path) if path.startswith("/") else None
        if other is None or other is module or not may_hold_copies(other.source.text):
            continue
        home = homes.setdefault(path, Home(other.source, {}))
        helper = home.functions.get(("", function))
        if helper is not None and home.makes_copies(helper):
            return helper._replace(home=home)
    return None
