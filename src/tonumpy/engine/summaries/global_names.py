"""The global names of modules."""

from __future__ import annotations

import ast
import builtins

from tonumpy.engine.interpreter import statements
from tonumpy.engine.interpreter.assignments import assign
from tonumpy.engine.knowledge.symbols import symbol
from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.shared import Analysis
from tonumpy.engine.values import values as v
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.reasons import Reason
from tonumpy.text.syntax import SCOPES

_BUILTINS = frozenset(dir(builtins))


class Names:
    """The global names of modules; each is evaluated once, by running only the statements that bind it."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._known: dict[tuple[int, str], v.Value] = {}

    def global_value(self, module: Module, name: str) -> v.Value:
        key = (id(module), name)
        known = self._known.get(key)
        if known is None:
            self._known[key] = v.Unknown(Reason.NAME)  # while it is being evaluated
            before = self._analysis.cuts
            found = self._find(module, name)
            known = self._known[key] = self._analysis.own_promises.named(module, name, found) or found
            if self._analysis.cuts != before:
                self._analysis.provisional.append((self._known, key))
        return known

    def _find(self, module: Module, name: str) -> v.Value:
        bindings = module.names.bindings.get(name)
        if not bindings:
            return self._unbound(module, name)
        value: v.Value = v.NOTHING
        for binding in (*bindings, *module.derived(_changes_in, module.tree).get(name, ())):
            if isinstance(binding, Import):
                found: v.Value = self.import_value(module, binding)
            elif isinstance(binding, SCOPES):
                found = (
                    v.Class(binding, module) if isinstance(binding, ast.ClassDef) else v.Function(binding, module, None)
                )
            elif isinstance(binding, (ast.If, ast.While, ast.Try)):
                continue
            elif not self._analysis.may_nest():
                self._analysis.cuts += 1
                return v.Unknown(Reason.CUT_SHORT)
            else:
                found = self._bound_by(module, name, binding, value)
            value = found if id(binding) in module.names.unconditional else join(value, found)
        if name in module.names.global_writers:
            value = join(value, v.Unknown(Reason.NAME))
        return v.Unknown(Reason.NAME) if isinstance(value, v.Nothing) else value

    def _unbound(self, module: Module, name: str) -> v.Value:
        """The value of a name without binding: a builtin, or from `from x import *`, or from an import in a
        function."""
        if name in _BUILTINS:
            return v.Symbol(f"builtins.{name}")
        for star in module.names.bindings.get("*", ()):
            target = module.resolve(star) if isinstance(star, Import) else None
            found = None if target is None else self._member(target, name)
            if found is not None:
                return found
        imported = module.names.imports_in_functions.get(name) if name in module.names.imports_in_functions else None
        return self.import_value(module, imported) if imported is not None else v.Unknown(Reason.NAME)

    def _bound_by(self, module: Module, name: str, statement: ast.stmt, before: v.Value) -> v.Value:
        """The value of a name after a statement in the body of a module."""
        frame = self._analysis.module_frame(module)
        if not isinstance(before, v.Nothing):
            frame.bind(name, before)
        if isinstance(statement, (ast.For, ast.AsyncFor)):
            assign(frame, statement.target, frame.item(frame.value(statement.iter)), is_item=True)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            for item in statement.items:
                if item.optional_vars is not None:
                    assign(frame, item.optional_vars, frame.value(item.context_expr))
        else:
            statements.execute(frame, [statement])
        return (frame.env or frame.last_env).get(name, v.NOTHING)

    def member(self, module: Module, name: str) -> v.Value:
        """The value of `module.name`."""
        found = self._analysis.own_promises.named(module, name, self._member(module, name))
        return v.Unknown(Reason.IMPORT) if found is None else found

    def _member(self, module: Module, name: str) -> v.Value | None:
        bindings = module.names.bindings
        if name in bindings:
            return self.global_value(module, name)
        inner = module.submodule(name)
        if inner is not None:
            return v.ModuleValue(inner)
        for star in bindings.get("*", ()):
            target = module.resolve(star) if isinstance(star, Import) else None
            if target is not None and target is not module and self._analysis.may_nest():
                self._analysis.nested += 1
                found = self._member(target, name)
                self._analysis.nested -= 1
                if found is not None:
                    return found
        return None

    def import_value(self, module: Module, imported: Import) -> v.Value:
        """The value that an import binds."""
        if imported.name is None:
            dotted = imported.module.partition(".")[0] if imported.binds_root else imported.module
            found = module.project.find(dotted, module.folder)
            return symbol(dotted) if found is None else v.ModuleValue(found)
        target = module.resolve(imported)
        if target is None:
            return v.Unknown(Reason.IMPORT) if imported.level else symbol(f"{imported.module}.{imported.name}")
        if target is module:
            inner = module.submodule(imported.name)
            return v.Unknown(Reason.IMPORT) if inner is None else v.ModuleValue(inner)
        return self.member(target, imported.name)


def _changes_in(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """The statements of a module's body that call a method of a name, by name: `net.cuda()`, `rows.append(x)`."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in tree.body:
        call = statement.value if isinstance(statement, ast.Expr) else None
        method = call.func if isinstance(call, ast.Call) else None
        if isinstance(method, ast.Attribute) and isinstance(method.value, ast.Name):
            found.setdefault(method.value.id, []).append(statement)
    return found
