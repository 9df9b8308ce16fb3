"""File names and import statements in; the modules of the same repository out, each read at most once."""

from __future__ import annotations

import ast
import os
import re
import sys
from errno import EFBIG
from functools import cached_property

from tonumpy.findings import SourceError
from tonumpy.inference.index.bindings import Import, imports_of, root_name
from tonumpy.inference.index.frameworks import (
    FOREIGN,
    hands_out_wrappers,
    has_rivals,
    imported_roots,
    imports_torch,
    names_torch_alone,
    only_torch_says,
    shared_words,
)
from tonumpy.inference.index.torch_words import FILLING, GRAD_CONTEXTS
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.candidates import spans_any
from tonumpy.text.names import last_name
from tonumpy.text.reading import read_regular
from tonumpy.text.source import Source
from tonumpy.text.sources import source_of
from tonumpy.text.syntax import FUNCTIONS, SCOPES, own_expressions, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from typing import Any, TypeVar

    from tonumpy.promises import OwnPromise

    _T = TypeVar("_T")
    _Node = TypeVar("_Node", bound=ast.AST)

MAX_KEPT = 3_000_000  # bytes of the text that a process keeps parsed, in some 25 times the memory
MAX_FOLLOWED = 1_500_000  # of the text of other modules for one file: some packages import all of themselves
MAX_BYTES = 400_000  # a larger module is generated code or data; it is not followed into
MAX_ROOTS = 10_000
MAX_NEIGHBOURS = 30  # of the modules in a folder, that are asked what frameworks are spoken there
MAX_ANCESTORS = 7
SOURCE_FOLDERS = ("src", "lib")  # which many put on the path

_DEFAULT_DEVICE = r"""\bset_default_device\((?!\s*["']cpu)|set_default_tensor_type\([^)\n]{0,200}cuda"""
# Of a text in small letters; no branch begins with an assertion, so that the search can jump to their first letters.
_OTHER_DEVICES = r"""device(?!\s*[=(]\s*["']cpu)|cuda|gpu|accelerat|mps(?<=\bmps)\b|[xnth]pu\b"""
_THAWS = r"\.requires_grad[ \t]*=(?!=)(?![ \t]*False\b)|\.requires_grad_\((?!(?:requires_grad=)?False\b)"
_SINCE_TENSORS_ARE_VARIABLES = r"\btorch\.tensor\(|\bno_grad\(|\btorch\.device\("  # torch 0.4
_SETS_DEFAULT_DTYPE = "set_default_dtype("
_MAIN_GUARD = r"\nif\s+(?:\(\s*)?__name__\s*=="
_READS_COMMAND_LINE = r"\n\w[^\n]*\bparse(_known)?_args\("
_INDENTED_IMPORT = r"\n[ \t]+(?:import|from)\s"
_GLOBAL = r"global\s"
_NEVER_OURS = frozenset(sys.stdlib_module_names) | FOREIGN | frozenset(("torch", "numpy", "torchvision", "torchaudio"))


def names_other_devices(text: str) -> bool:
    return "cuda" in text or re.search(_OTHER_DEVICES, text.lower()) is not None  # the word is found far sooner


class Module:
    """One module of the repository: its tree and the names that its body binds."""

    def __init__(
        self,
        source: Source,
        project: Project,
        disabled_habits: frozenset[str] = frozenset(),
        promises: tuple[OwnPromise, ...] = (),
    ) -> None:
        self.source = source
        self.promises = promises  # those that hold where this module is checked
        self.disabled_habits = disabled_habits  # those that are not believed where this module is checked
        self.filename = source.filename
        self.project = project
        self._derived: dict[tuple[object, int], Any] = {}
        self._fillers: dict[str, list[tuple[ast.AST, ...]]] = {}

    @classmethod
    def namespace(cls, folder: str, project: Project) -> Module:
        """A folder without __init__.py: binds nothing, but has submodules."""
        return cls(Source.from_text("", os.path.join(folder, "__init__.py")), project)

    @cached_property
    def tree(self) -> ast.Module:
        """Empty where the text cannot be parsed: the module's own check reports it."""
        try:
            return self.source.tree
        except SourceError:
            return ast.Module([], [])

    @property
    def is_package(self) -> bool:
        return os.path.basename(self.filename) == "__init__.py"

    @cached_property
    def folder(self) -> str:
        """Absolute, so that each module has one path however it was come by."""
        return os.path.dirname(os.path.abspath(self.filename))

    @cached_property
    def roots(self) -> frozenset[str]:
        return imported_roots(self.source.text)

    @cached_property
    def speaks_of_torch(self) -> bool:
        """Whether it imports torch, or names what is in it all the same: after a star import, or in a docstring.

        One that names another framework as well, and imports neither, may be given the values of both.
        """
        return imports_torch(self.roots) or (not self.has_rivals and names_torch_alone(self.source.text))

    @cached_property
    def has_rivals(self) -> bool:
        """Whether another framework's values may be about that have a `numpy()`."""
        return has_rivals(self.roots)

    @cached_property
    def only_torch_says(self) -> bool:
        """Whether the words of torch prove a tensor; a module without a framework speaks its neighbours' words."""
        if self.speaks_of_torch or not only_torch_says(self.roots):
            return only_torch_says(self.roots)
        return only_torch_says(self.project.roots_around(self.folder))

    @cached_property
    def shared_words(self) -> frozenset[str]:
        """The words of torch that the values of another framework that is imported have too."""
        return shared_words(self.roots)

    @cached_property
    def hands_out_wrappers(self) -> bool:
        """Whether results of a library may be about that have a `cpu`, a `detach` and a `numpy` too."""
        return hands_out_wrappers(self.roots, self.source.text)

    @cached_property
    def changes_default_device(self) -> bool:
        text = self.source.text
        return "set_default_" in text and re.search(_DEFAULT_DEVICE, text) is not None  # the word is found far sooner

    @cached_property
    def sets_default_dtype(self) -> bool:
        return _SETS_DEFAULT_DTYPE in self.source.text

    @cached_property
    def default_dtype(self) -> str | None:
        """The dtype that the module's own body sets, if nothing else in it sets another: `bfloat16`."""
        if self.source.text.count(_SETS_DEFAULT_DTYPE) != 1:
            return None
        values = [statement.value for statement in self.tree.body if isinstance(statement, ast.Expr)]
        calls = [value for value in values if isinstance(value, ast.Call) and value.args]
        return next((last_name(call.args[0]) for call in calls if last_name(call.func) == "set_default_dtype"), None)

    @cached_property
    def is_test(self) -> bool:
        """Nobody imports the module of a test but the test runner."""
        name = os.path.basename(self.filename)
        return (name.startswith("test_") and name.endswith(".py")) or name.endswith("_test.py")

    @cached_property
    def holds_tests(self) -> bool:
        """Whether a runner of tests calls its functions; a program that evaluates a model may be called a test too."""
        text = self.source.text
        return self.is_test and ("pytest" in text or "unittest" in text or ("def test_" in text and not self.is_script))

    @cached_property
    def conftests(self) -> tuple[Module, ...]:
        """What pytest imports for it if it holds tests, the nearest first."""
        return tuple(self.project.modules_above("conftest", self.folder))

    @cached_property
    def is_test_on_cpu(self) -> bool:
        """Whether it is a test that names no device but the CPU."""
        return self.holds_tests and not self.names_other_devices

    @cached_property
    def names_other_devices(self) -> bool:
        """Whether it names any device but the CPU, be it by the default type of tensors, as before torch 0.4."""
        return self.speaks_of_variables or names_other_devices(self.source.text)

    @cached_property
    def speaks_of_variables(self) -> bool:
        """Whether it was written for torch before 0.4, when a GPU was chosen by the default tensor type."""
        text = self.source.text
        return "Variable(" in text and re.search(_SINCE_TENSORS_ARE_VARIABLES, text) is None

    @cached_property
    def speaks_of_grad(self) -> bool:
        return "requires_grad" in self.source.text

    @cached_property
    def may_thaw(self) -> bool:
        """Whether it sets anything that exists already to what may require grad."""
        return re.search(_THAWS, self.source.text) is not None

    @cached_property
    def speaks_of_grad_mode(self) -> bool:
        """Whether it may turn grad mode off, or on."""
        return any(word in self.source.text for word in GRAD_CONTEXTS)

    @cached_property
    def may_leave_grad_mode_off(self) -> bool:
        """Whether it may turn grad mode off for good."""
        return "set_grad_enabled(False)" in self.source.text and "set_grad_enabled(True)" not in self.source.text

    @cached_property
    def makes_graphs_of_gradients(self) -> bool:
        """Whether `create_graph=True` asks somewhere for gradients that have a graph of their own."""
        return "create_graph" in self.source.text

    @cached_property
    def is_in_package(self) -> bool:
        return _is_package(self.folder)

    @cached_property
    def is_script(self) -> bool:
        """Run as a program, so that the calls of its functions are all in sight.

        A program without a guard shows itself by what importing it would do: read the command line, train a model, or
        call one of its own functions for its effect alone.
        """
        text = f"\n{self.source.text}"
        if re.search(_MAIN_GUARD, text) is not None:
            return True
        return not self.is_in_package and (re.search(_READS_COMMAND_LINE, text) is not None or self._acts_when_imported)

    @cached_property
    def _acts_when_imported(self) -> bool:
        calls = (each.value for each in statements_of(self.tree.body) if isinstance(each, ast.Expr))
        functions = [call.func for call in calls if isinstance(call, ast.Call)]
        if any(isinstance(function, ast.Attribute) and function.attr == "backward" for function in functions):
            return True
        called = {function.id for function in functions if isinstance(function, ast.Name)}
        return any(isinstance(each, FUNCTIONS) for name in called for each in self.bindings.get(name, ()))

    @cached_property
    def has_walrus(self) -> bool:
        return ":=" in self.source.text

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt | Import]]:
        """Everything that binds a name in the module's own body, in order; `*` holds its star imports."""
        found: dict[str, list[ast.stmt | Import]] = {}
        meant = _meant_at_type_checking(self.tree.body)
        for statement in statements_of(self.tree.body):
            bound: list[tuple[str, ast.stmt | Import]] = []
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                bound += imports_of(statement)
            elif isinstance(statement, SCOPES):
                bound.append((statement.name, statement))
            else:
                bound += [(name, statement) for name in names_stored(statement)]
            for name, binding in bound:
                if name not in meant.get(id(statement), ()):
                    found.setdefault(name, []).append(binding)
        return found

    @cached_property
    def imports_in_functions(self) -> dict[str, Import]:
        """What functions import, by the name that it gets there; the last one counts."""
        return {
            name: imported
            for statement in _all_statements(self.tree.body, self._rows(_INDENTED_IMPORT))
            if isinstance(statement, (ast.Import, ast.ImportFrom))
            for name, imported in imports_of(statement)
        }

    @cached_property
    def global_writers(self) -> dict[str, list[tuple[ast.AST, ...]]]:
        """The functions that declare a name global, each as the scopes around it and itself, by that name."""
        found: dict[str, list[tuple[ast.AST, ...]]] = {}
        _collect_global_writers((self.tree,), self.tree.body, self._rows(_GLOBAL), found)
        return found

    def fillers(self, name: str) -> list[tuple[ast.AST, ...]]:
        """The functions, methods and lambdas that write into what a name holds, by themselves and not by those in them,
        each as the scopes around it and itself: `CACHE[key] = x`, `ITEMS.append(x)`, `TABLE.copy_(x)`."""
        if name not in self._fillers:
            self._fillers[name] = self._find_fillers(name)
        return self._fillers[name]

    def _find_fillers(self, name: str) -> list[tuple[ast.AST, ...]]:
        rows = self.source.rows_with_name(name)
        found: list[tuple[ast.AST, ...]] = []
        waiting: list[tuple[ast.AST, ...]] = [(self.tree, each) for each in self.tree.body]
        while waiting:
            scopes = waiting.pop()
            scope = scopes[-1]
            if isinstance(scope, ast.ClassDef) and spans_any(scope, rows):
                waiting += [(*scopes, each) for each in scope.body]
            elif isinstance(scope, FUNCTIONS):
                if not spans_any(scope, rows) or name not in self.derived(_names_filled, scope):
                    continue
                waiting += [(*scopes, each) for each in statements_of(scope.body) if isinstance(each, FUNCTIONS)]
                if name in self.derived(_names_filled_by_itself, scope):
                    found.append(scopes)
            elif isinstance(scope, ast.stmt) and "lambda" in self.source.text and spans_any(scope, rows):
                lambdas = (each for each in walk(scope) if isinstance(each, ast.Lambda))
                found += [(*scopes, each) for each in lambdas if name in self.derived(_names_filled, each)]
        return found

    def _rows(self, pattern: str) -> list[int]:
        return [self.source.position_at(match.end() - 1).row for match in re.finditer(pattern, self.source.text)]

    def derived(self, work: Callable[[_Node], _T], node: _Node) -> _T:
        """What `work` makes of a node of this module's tree and of nothing else: worked out once for all files."""
        key = (work, id(node))
        if key not in self._derived:
            self._derived[key] = work(node)
        found: _T = self._derived[key]
        return found

    @cached_property
    def unconditional(self) -> frozenset[int]:
        """The ids of the statements that always run, and once: neither in a branch nor in a loop."""
        return frozenset(map(id, self.tree.body))

    @cached_property
    def unconditional_stars(self) -> frozenset[Import]:
        """The star imports that stand in no branch: not one of several backends, of which one is chosen at run time."""
        statements = (each for each in self.tree.body if isinstance(each, ast.ImportFrom))
        return frozenset(imported for each in statements for name, imported in imports_of(each) if name == "*")

    @cached_property
    def _all(self) -> frozenset[str] | None:
        """What `__all__` lists; None where there is none, or none that can be read off."""
        assigned = self.bindings.get("__all__", [])
        value = assigned[0].value if len(assigned) == 1 and isinstance(assigned[0], ast.Assign) else None
        if not isinstance(value, (ast.List, ast.Tuple)):
            return None
        constants = [part.value for part in value.elts if isinstance(part, ast.Constant)]
        names = frozenset(name for name in constants if isinstance(name, str))
        return names if len(names) == len(value.elts) else None

    def lists(self, definition: ast.AST) -> bool:
        """Whether `__all__` names a function or class of the module, for others to use."""
        return isinstance(definition, SCOPES) and self._all is not None and definition.name in self._all

    def hands_out(self, name: str) -> bool:
        """Whether a star import takes a name of the module with it."""
        return not name.startswith("_") if self._all is None else name in self._all

    def submodule(self, name: str) -> Module | None:
        return self.project.module_at(os.path.join(self.folder, name)) if self.is_package else None

    def resolve(self, imported: Import) -> Module | None:
        """The module of the repository that an import names (`from` part only), or None."""
        if imported.level:
            folder = self.folder
            for _ in range(imported.level - 1):
                folder = os.path.dirname(folder)
            path = os.path.join(folder, *imported.module.split(".")) if imported.module else folder
            return self.project.module_at(path)
        return self.project.find(imported.module, self.folder)


def _all_statements(body: list[ast.stmt], rows: list[int]) -> Iterator[ast.stmt]:
    """Those of the functions and classes in a body, too, that span one of the rows."""
    for statement in statements_of(body):
        yield statement
        if isinstance(statement, SCOPES) and spans_any(statement, rows):
            yield from _all_statements(statement.body, rows)


def _collect_global_writers(
    scopes: tuple[ast.AST, ...], body: list[ast.stmt], rows: list[int], found: dict[str, list[tuple[ast.AST, ...]]]
) -> None:
    for statement in statements_of(body) if rows else ():
        if isinstance(statement, ast.Global):
            for name in statement.names:
                found.setdefault(name, []).append(scopes)
        elif isinstance(statement, SCOPES) and spans_any(statement, rows):
            _collect_global_writers((*scopes, statement), statement.body, rows, found)


def _names_filled(scope: ast.AST) -> frozenset[str]:
    return frozenset(name for node in walk(scope) for name in _filled_by(node) if name)


def _names_filled_by_itself(function: ast.FunctionDef | ast.AsyncFunctionDef) -> frozenset[str]:
    """Not by the functions in it."""
    statements = (each for each in statements_of(function.body) if not isinstance(each, SCOPES))
    parts = (node for each in statements for part in own_expressions(each) for node in walk(part))
    return frozenset(name for node in parts for name in _filled_by(node) if name)


def _filled_by(node: ast.AST) -> Iterator[str | None]:
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
        yield root_name(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        name = node.func.attr
        if name in FILLING or (name.endswith("_") and not name.endswith("__")):
            yield root_name(node.func)


def _meant_at_type_checking(body: list[ast.stmt]) -> dict[int, frozenset[str]]:
    """`if TYPE_CHECKING: import torch` and `else: torch = LazyModule("torch")`: the names that are imported for type
    checkers are what is said there; by the ids of the statements that put something in their place at run time."""
    found: dict[int, frozenset[str]] = {}
    for statement in body:
        if isinstance(statement, ast.If) and statement.orelse and last_name(statement.test) == "TYPE_CHECKING":
            imports = (each for each in statement.body if isinstance(each, (ast.Import, ast.ImportFrom)))
            names = frozenset(name for each in imports for name, _ in imports_of(each))
            found.update((id(each), names) for each in statements_of(statement.orelse))
    return found


def names_stored(statement: ast.stmt) -> list[str]:
    """The names that an assignment, a loop or a `with` binds; none for any other statement."""
    if isinstance(statement, ast.Assign):
        targets = statement.targets
    elif isinstance(statement, (ast.AnnAssign, ast.AugAssign, ast.For)):
        targets = [statement.target]
    elif isinstance(statement, ast.With):
        targets = [item.optional_vars for item in statement.items if item.optional_vars is not None]
    else:
        return []
    return [
        node.id
        for target in targets
        for node in walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


class Project:
    """The modules that have been read so far. One object serves all files of a run; it holds trees, never facts,
    so the facts found for one file do not depend on the files checked before it.

    `opened` are the texts of files as an editor has them, by their absolute paths; they count over those on the disk.
    """

    def __init__(self, opened: Mapping[str, str] | None = None) -> None:
        self._opened = {} if opened is None else opened
        self._modules: dict[str, Module | None] = {}
        self._roots: dict[tuple[str, str], _Roots] = {}
        self._roots_around: dict[str, frozenset[str]] = {}  # what the modules of a folder import
        self._followed: set[str] = set()  # the modules that the file at hand has asked for, and the size of their text
        self._size_followed = 0

    def module_at(self, path: str) -> Module | None:
        """The module at a path without its `.py`, or the package in that folder; None too where the file at hand has
        asked for so much that no more is followed, whether it was read before or not."""
        if path not in self._followed and self._size_followed > MAX_FOLLOWED:
            return None
        module = self._modules.pop(path) if path in self._modules else self._read(path)
        self._modules[path] = module  # the most recently used is the last
        if path not in self._followed:
            self._followed.add(path)
            self._size_followed += 0 if module is None else len(module.source.text)
        return module

    def forget(self, filename: str) -> None:
        """Drop a module whose text is another now."""
        for path in (filename.removesuffix(".py"), os.path.dirname(filename)):
            self._modules.pop(path, None)

    def begin_file(self) -> None:
        """Drop what has not been used for longest. Only between two files: within one, a module keeps its identity."""
        self._followed.clear()
        self._size_followed = 0
        kept = 0
        for path, module in reversed(list(self._modules.items())):
            kept += 100 if module is None else len(module.source.text)
            if kept > MAX_KEPT:
                del self._modules[path]
        if len(self._roots) > MAX_ROOTS:
            self._roots.clear()
            self._roots_around.clear()

    def _read(self, path: str) -> Module | None:
        for filename in (os.path.join(path, "__init__.py"), f"{path}.py", f"{path}.ipynb"):
            if filename in self._opened:
                return Module(source_of(self._opened[filename], filename, followed=True), self)
            try:
                # The outputs of a notebook may be large.
                data = read_regular(filename) if filename.endswith(".ipynb") else read_regular(filename, MAX_BYTES)
                return Module(source_of(data, filename, followed=True), self)
            except OSError as error:
                if error.errno == EFBIG:
                    return None
            except SourceError:
                return None  # its own check reports it
        return Module.namespace(path, self) if os.path.isdir(path) else None

    def roots_around(self, folder: str) -> frozenset[str]:
        """What the modules of a folder import, so far as a few of them show it."""
        if folder not in self._roots_around:
            names = sorted(name for name in _names_in(folder) if name.endswith(".py"))[:MAX_NEIGHBOURS]
            texts = (_text_of(os.path.join(folder, name)) for name in names)
            self._roots_around[folder] = frozenset[str]().union(*map(imported_roots, texts))
        return self._roots_around[folder]

    def find(self, dotted: str, folder: str) -> Module | None:
        """The module that `import dotted` means for a file in `folder`, if it belongs to the same repository."""
        root, *rest = dotted.split(".")
        if not root or root in _NEVER_OURS:
            return None
        roots = self._root_folders(root, folder)
        bases = roots.holding
        if not bases and rest:
            bases = [base for base in roots.of_folders if _holds_module(os.path.join(base, root, *rest[:-1]), rest[-1])]
        found = (self.module_at(os.path.join(base, root, *rest)) for base in bases)
        return next((module for module in found if module is not None), None)

    def modules_above(self, name: str, folder: str) -> Iterator[Module]:
        """The modules of this name in a folder and in those above it, the nearest first."""
        found = (self.module_at(os.path.join(base, name)) for base in _folders_above(folder))
        return (module for module in found if module is not None)

    def _root_folders(self, root: str, folder: str) -> _Roots:
        """The folders above the file (or their `src` or `lib`) that hold the package or module `root`, nearest first.

        What lies in a package is called after it: `garage` is not what `tests/garage` is in the package `tests`.
        """
        key = (root, folder)
        if key not in self._roots:
            holding: list[str] = []
            of_folders: list[str] = []
            for base in _search_folders(folder):
                if _holds_module(base, root):
                    holding.append(base)
                elif os.path.isdir(os.path.join(base, root)):
                    of_folders.append(base)
            holding.sort(key=lambda base: base != os.path.abspath(folder) and _is_package(base))
            self._roots[key] = _Roots(holding, of_folders)
        return self._roots[key]


class _Roots(NamedTuple):
    """Where the first part of a dotted name is found."""

    holding: list[str]  # the folders that hold it as a module or package
    of_folders: list[str]  # those in which it holds no Python itself, as `src` may: not a module without a further part


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _text_of(filename: str) -> str:
    try:
        return read_regular(filename, MAX_BYTES).decode("latin-1")
    except OSError:
        return ""


def _search_folders(folder: str) -> list[str]:
    found = []
    for base in _folders_above(folder):
        found += [base, *(os.path.join(base, name) for name in SOURCE_FOLDERS)]
    return found


def _folders_above(folder: str) -> Iterator[str]:
    """A folder and those above it, up to that of the repository."""
    current = os.path.abspath(folder)
    for _ in range(MAX_ANCESTORS):
        yield current
        parent = os.path.dirname(current)
        if parent == current or os.path.exists(os.path.join(current, ".git")):
            break
        current = parent


def _is_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "__init__.py"))


def _holds_module(folder: str, name: str) -> bool:
    path = os.path.join(folder, name)
    if os.path.isfile(f"{path}.py") or _is_package(path):
        return True
    # A namespace package counts only where it holds Python itself: any folder may share a package's name.
    return any(entry.endswith(".py") for entry in _names_in(path))
