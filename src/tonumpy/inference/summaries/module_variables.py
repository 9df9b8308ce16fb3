"""Summaries of module variables: from a module and a name to its value, through imports and star imports."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.libraries.rows import is_described
from tonumpy.engine.knowledge.symbols import symbol
from tonumpy.engine.names.bindings import Import, imports_of, words_given
from tonumpy.engine.names.def_use import def_use_of, def_use_of_module
from tonumpy.engine.names.frameworks import foreign_root
from tonumpy.engine.names.slices import Slice
from tonumpy.engine.names.syntax_lowering import stores_of
from tonumpy.engine.values.evidence import cut_off
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import left_open
from tonumpy.engine.values.values import (
    NOTHING,
    Mapping,
    ModuleValue,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
    definition,
)
from tonumpy.inference.transfer.control_flow import execute
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.habit_heuristics import apply_source_habits
from tonumpy.inference.transfer.members import resolve
from tonumpy.inference.transfer.targets import NO_TARGETS
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.engine.names.module import Module
    from tonumpy.inference.summaries.analysis import Analysis

MAX_MODULE_SLICES = 8  # names for each of which a module's body is run by itself
MAX_IMPORTS = 16  # calls and imports that lead from one to the next

_BUILTINS = frozenset(dir(__builtins__) if not isinstance(__builtins__, dict) else __builtins__)
_CIRCULAR = Unknown(Reason.CUT_SHORT)


class ModuleNames:
    """Values of module variables, each computed once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._globals: dict[tuple[str, str], Value] = {}
        self._starred: dict[tuple[str, str], Value | None] = {}
        self._module_frames: dict[str, list[Frame]] = {}

    def global_value(self, module: Module, name: str) -> Value:
        """The value of a module-level name as functions read it, or of the builtin of that name."""
        found = self._module_name(module, name)
        if found is not None:
            return found
        if name in _BUILTINS:
            return Symbol(f"builtins.{name}")
        # What a class or function sees that was defined beside the import, and is asked about from elsewhere.
        imported = module.names.imports_in_functions.get(name)
        return Unknown(Reason.NAME) if imported is None else self.import_value(module, imported)

    def member_of_module(self, module: Module, name: str) -> Value:
        """The value of `module.name`, a variable or a submodule; Unknown if there is none."""
        found = self._module_name(module, name)
        if found is not None:
            return found
        submodule = module.submodule(name)
        return Unknown(Reason.NAME) if submodule is None else ModuleValue(submodule)

    def _module_name(self, module: Module, name: str) -> Value | None:
        return self._analysis.own_promises.named(module, name, self._found_in(module, name))

    def _found_in(self, module: Module, name: str) -> Value | None:
        key = (module.filename, name)
        known = self._analysis.solver.known(self._globals, key)
        if known is not None:
            return known
        if not self._analysis.budget.may_read(module):
            return left_open(
                Unknown(Reason.CUT_SHORT), cut_off("statements", "this module is not read", module.filename, 1)
            )
        bindings = module.names.bindings.get(name)
        if bindings is None:
            return self._star_import(module, name)
        self._globals[key] = Unknown(Reason.CUT_SHORT)
        with self._analysis.solver.solving(self._globals, key):
            value = self._bound_globally(module, name, bindings)
            self._globals[key] = value  # what the functions that write it find there
            self._analysis.solver.invalidate()
            self._globals[key] = value = self.with_what_functions_leave(module, name, value)
        return value

    def with_what_functions_leave(self, module: Module, name: str, value: Value) -> Value:
        """`value` joined with all that functions of the module write to the name."""
        value = join_all((value, *self._written_by_functions(module, name)))
        if isinstance(value, (Mapping, Sequence, Tensor, Union)):
            return self._filled_by_functions(module, name, value)
        return value

    def _written_by_functions(self, module: Module, name: str) -> Iterator[Value]:
        """What the functions that declare a name global give it."""
        for scopes in module.names.global_writers.get(name, ()):
            imported = _only_imported(scopes[-1], name)
            if imported is not None:
                yield self.import_value(module, imported)
            elif self._analysis.budget.cuts_short():
                what = f"assignments to `{name}` here are not followed"
                row = scopes[-1].lineno if isinstance(scopes[-1], FUNCTIONS) else 1
                yield left_open(Unknown(Reason.NAME), cut_off("statements", what, module.filename, row))
            else:
                yield self._analysis.entries.frame(module, scopes, NO_TARGETS, {name}).bound.get(name, NOTHING)

    def _filled_by_functions(self, module: Module, name: str, value: Value) -> Value:
        """What is in a container of the module when it is read, with what its functions put into it."""
        found = [value]
        for scopes in module.names.fillers(name):
            function = scopes[-1]
            assert isinstance(function, (*FUNCTIONS, ast.Lambda))
            if name in module.derived(def_use_of, function).local_names:
                continue
            left: Value | None = None
            is_followed = not isinstance(function, ast.Lambda) and isinstance(value, (Mapping, Sequence))
            if is_followed and not self._analysis.budget.cuts_short():
                left = self._analysis.entries.frame(module, scopes, NO_TARGETS, {name}).bound.get(name)
            if left is None:
                return join(_filled_out_of_sight(value), self._analysis.handed_lists.put_into(module, name))
            found.append(left)
        return join_all(found)

    def _bound_globally(self, module: Module, name: str, bindings: list[ast.stmt | Import]) -> Value:
        simple = [binding for binding in bindings if isinstance(binding, (Import, ast.ClassDef, *FUNCTIONS))]
        if len(simple) == len(bindings):
            # `try: import a` / `except ImportError: a = None` and overloads: every definition counts, Nones do not.
            found = [
                self.import_value(module, binding)
                if isinstance(binding, Import)
                else definition(binding, module, None, None)  # type: ignore[arg-type]
                for binding in (bindings if isinstance(bindings[0], Import) else bindings[-1:])
            ]
            return join_all(found)
        if len(bindings) == 1 and isinstance(bindings[0], ast.Assign) and id(bindings[0]) in module.names.unconditional:
            targets = bindings[0].targets
            if len(targets) == 1 and isinstance(targets[0], ast.Name):
                frame = self._analysis.module_scope(module)
                if not _may_change_in_place(bindings[0].value):
                    made = resolve(frame, evaluate(frame, bindings[0].value))
                    return apply_source_habits(made, name, frame, words_given(bindings[0].value))
        body = self._module_frame(module, name)
        if body is None:
            what = f"the body of the module, which gives `{name}`, is not followed"
            return left_open(Unknown(Reason.CUT_SHORT), cut_off("statements", what, module.filename, 1))
        value = body.env.get(name) or body.bound.get(name)
        return Unknown(Reason.NAME) if value is None else value

    def _module_frame(self, module: Module, name: str) -> Frame | None:
        """The module's own body, run with what a name is made of; with every name once several were asked for. None
        where there is nothing left to be spent."""
        solver = self._analysis.solver
        frames = self._module_frames.get(module.filename, [])
        for known in frames:
            if known.is_relevant(name):
                solver.use(self._module_frames, module.filename)
                return known
        if self._analysis.budget.cuts_short():
            return None
        flow = module.derived(def_use_of_module, module.tree)
        asked = Slice(flow.sources_of((name,))) if len(frames) < MAX_MODULE_SLICES else None
        frame = Frame(self._analysis, module, flow, None, None, True, asked, NO_TARGETS)
        self._module_frames[module.filename] = [*frames, frame]
        with solver.solving(self._module_frames, module.filename):
            execute(frame, module.tree.body)
        return frame

    def _star_import(self, module: Module, name: str) -> Value | None:
        key = (module.filename, name)
        if key in self._starred:
            return self._starred[key]
        cuts = self._analysis.budget.cuts
        value = self._through_stars(module, name, set())
        if self._analysis.budget.cuts == cuts:
            self._starred[key] = value
        return value

    def _through_stars(self, module: Module, name: str, asked: set[str]) -> Value | None:
        """What the star imports of a module make of a name that it does not bind itself; `asked` are the modules whose
        star imports have been looked through already, as many ways may lead to one.

        A name of a module of the repository goes before one that torch or another framework may have.
        """
        asked.add(module.filename)
        stars = [star for star in module.names.bindings.get("*", ()) if isinstance(star, Import)]
        if not stars:
            return None
        sources = [module.resolve(star) for star in stars]
        found: list[Value] = []
        for star, source in zip(reversed(stars), reversed(sources), strict=True):
            if source is None:
                continue
            value: Value | None = None
            if not self._analysis.budget.may_read(source):
                value = self._module_name(source, name)
            elif not source.names.hands_out(name):
                continue
            elif name in source.names.bindings:
                value = self._module_name(source, name)
            elif source.filename not in asked:
                value = self._through_stars(source, name, asked)
            if value is not None and value != _CIRCULAR:
                found.append(value)
                if star in module.names.unconditional_stars:
                    break  # what stands before it does not count
        if found:
            return join_all(found)
        if name.startswith("_") or name in _BUILTINS:
            return None
        for star, source in zip(reversed(stars), reversed(sources), strict=True):
            root = star.module.partition(".")[0]
            if source is None and not star.level and (root == "torch" or foreign_root(root)):
                return symbol(f"{star.module}.{name}")
        return None

    def import_value(self, module: Module, imported: Import) -> Value:
        """The value that an import binds: a module, class or function of the repository, or a library's symbol."""
        source = module.resolve(imported)
        found = self._imported(module, source, imported)
        return found if source is not None else self._analysis.own_promises.imported(module, imported, found)

    def _imported(self, module: Module, source: Module | None, imported: Import) -> Value:
        if imported.name is None:
            return _imported_module(module, source, imported)
        if source is None and imported.level:
            return Unknown(Reason.IMPORT)
        name = f"{imported.module}.{imported.name}"
        # A notebook of the library's own repository uses it as any other does: what is documented is not looked for.
        is_used = module.text.is_notebook and not imported.level
        if source is None or (is_used and is_described(name)):
            return symbol(name)
        own = source.submodule(imported.name) if source.filename == module.filename else None
        if own is not None:
            return ModuleValue(own)  # `from . import part` in the package itself
        return self._member_through_import(source, imported.name)

    def _member_through_import(self, source: Module, name: str) -> Value:
        """What `from source import name` gives, unless that leads back here or too far."""
        if len(self._analysis.active) > MAX_IMPORTS:
            self._analysis.budget.cut()
            what = f"the import of `{name}` is not followed"
            return left_open(Unknown(Reason.CUT_SHORT), cut_off("depth", what, source.filename, 1))
        key = ("import", source.filename, name)
        if key in self._analysis.active:
            return _CIRCULAR
        self._analysis.active.append(key)
        try:
            return self.member_of_module(source, name)
        finally:
            self._analysis.active.pop()


def _imported_module(module: Module, source: Module | None, imported: Import) -> Value:
    """What `import module` binds: the module, or the package around it."""
    if source is None:
        return symbol(imported.module.partition(".")[0] if imported.binds_root else imported.module)
    if imported.binds_root:
        root = module.project.find(imported.module.partition(".")[0], module.folder)
        return Unknown(Reason.IMPORT) if root is None else ModuleValue(root)
    return ModuleValue(source)


def _only_imported(scope: ast.AST, name: str) -> Import | None:
    """The import that is all that a function binds a name by: `global torch`, `import torch`."""
    found: list[Import] = []
    for statement in statements_of(scope.body) if isinstance(scope, FUNCTIONS) else ():
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            found += [imported for bound, imported in imports_of(statement) if bound == name]
        elif any(each.root == name for each in stores_of(statement)):
            return None
    return found[0] if len(found) == 1 else None


def _filled_out_of_sight(value: Value) -> Value:
    """A container or tensor of the module into which functions may have put something when it is read."""
    if isinstance(value, Union):
        return join_all(_filled_out_of_sight(member) for member in value.members)
    other = Unknown(Reason.CONTENT)
    if isinstance(value, Mapping):
        return Mapping(tuple((key, join(entry, other)) for key, entry in value.entries), join(value.other, other))
    if isinstance(value, Sequence):
        return Sequence(None, join(value.element, other))
    return value._replace(requires_grad=None) if isinstance(value, Tensor) else value


def _may_change_in_place(value: ast.expr) -> bool:
    """A container's later changes matter: `CACHE = {}` at the top says nothing of what is in it when it is read."""
    return isinstance(value, (ast.Dict, ast.List, ast.Set)) or (
        isinstance(value, ast.Call)
        and getattr(value.func, "id", None) in ("dict", "list", "set", "defaultdict", "OrderedDict")
    )
