"""From a function's scopes and an entry to the frame of its evaluated body, with the observations in it."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge.grad_contexts import GRAD_SETTERS
from tonumpy.engine.names.bindings import FunctionNode, is_false, names_in
from tonumpy.engine.names.slices import Slicer
from tonumpy.engine.values.evidence import PROVED
from tonumpy.engine.values.value_facts import left_open
from tonumpy.engine.values.values import Class, Function
from tonumpy.inference.summaries.entry import Entry
from tonumpy.inference.transfer.control_flow import execute
from tonumpy.inference.transfer.frame import Frame
from tonumpy.inference.transfer.targets import NO_TARGETS, Targets
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Items

    from tonumpy.engine.names.module import Module
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis


class Entries:
    """Evaluates the bodies that are asked about, each from an entry."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._closures: dict[int, Frame] = {}
        self._cut_closures: dict[int, Frame] = {}  # those of the query that is being answered, by a limit
        self._query = 0  # its number
        self._entries: dict[int, Entry] = {}

    def frame(
        self,
        module: Module,
        scopes: Items[ast.AST],
        targets: Targets,
        names: Iterable[str],
        assumed: dict[str, bool] | None = None,
        entry: Entry | None = None,
        bound: Iterable[str] = (),
    ) -> Frame:
        """The frame of the innermost scope after it was evaluated from `entry`, or from the join of its callers if none
        is given.

        `names` are those that the targets read; of those of `bound` only what they were given counts. `assumed` maps
        flags to the truth they are given.
        """
        node = scopes[-1]
        assert isinstance(node, (ast.Module, *SCOPES))
        owner, closure = self.surroundings(module, scopes)
        names = (*names, *(assumed or ()))
        slicer = module.derived(Slicer, node)
        asked = slicer.at(targets.statements, names, bound) if targets.statements else slicer.at_end(names)
        if isinstance(node, (ast.Module, ast.ClassDef)):
            is_module = isinstance(node, ast.Module)
            mode = True if is_module else None
            frame = Frame(
                self._analysis,
                module,
                slicer.flow,
                None,
                closure,
                mode,
                asked,
                targets,
                assumed,
                is_body_of_module=is_module,
            )
        else:
            parameters, grad_mode, evidence, *_ = entry or self.state(module, scopes)
            frame = Frame(self._analysis, module, slicer.flow, owner, closure, grad_mode, asked, targets, assumed)
            frame.entry.evidence_of_mode = evidence
            frame.row = node.lineno
            for name, value in parameters.items():
                frame.bind(name, value)
        execute(frame, node.body)
        return frame

    def surroundings(self, module: Module, scopes: Items[ast.AST]) -> tuple[Class | None, Frame | None]:
        """The class whose method the innermost scope is, and the frame of the function around it; None for each that is
        missing."""
        cls = scopes[-2] if len(scopes) > 1 else None
        for depth in range(len(scopes) - 2, 0, -1):
            if isinstance(scopes[depth], FUNCTIONS):
                around = scopes[: depth + 1]
                closure = self._closure_frame(module, around, scopes[depth + 1])
                owner = Class(cls, module, closure) if isinstance(cls, ast.ClassDef) else None
                return owner or self._method_owner(module, around), closure
        return Class(cls, module) if isinstance(cls, ast.ClassDef) else None, None

    def _method_owner(self, module: Module, scopes: Items[ast.AST]) -> Class | None:
        """`self` inside a function nested in a method is still the method's."""
        return self.surroundings(module, scopes)[0]

    def _closure_frame(self, module: Module, scopes: Items[ast.AST], inner: ast.AST) -> Frame:
        """That of the function around an inner one. One that a limit cuts short is kept for the runs of one query: to
        run a training loop anew for each costs more than all else about a function in it."""
        known = self._analysis.solver.known(self._closures, id(inner))
        if known is not None:
            return known
        budget = self._analysis.budget
        if self._query != budget.queries:
            self._query = budget.queries
            self._cut_closures.clear()
        if id(inner) in self._cut_closures:
            budget.cut()
            return self._cut_closures[id(inner)]
        is_outermost, cuts = self._analysis.solver.is_idle, budget.cuts
        with self._analysis.solver.solving(self._closures, id(inner)):
            known = self._closures[id(inner)] = self.frame(module, scopes, NO_TARGETS, names_in(inner))
        if is_outermost and budget.cuts != cuts:
            self._cut_closures[id(inner)] = known
        return known

    def state(self, module: Module, scopes: Items[ast.AST]) -> Entry:
        """The entry of the function: the declared values of its parameters, combined with what callers, or pytest, give
        them."""
        node = scopes[-1]
        assert isinstance(node, FUNCTIONS)
        known = self._analysis.solver.known(self._entries, id(node))
        if known is None:
            with self._analysis.solver.solving(self._entries, id(node)):
                known = self._entries[id(node)] = self._work_out_entry(module, scopes, node)
        return known

    def _work_out_entry(self, module: Module, scopes: Items[ast.AST], node: FunctionNode | ast.Lambda) -> Entry:
        owner, closure = self.surroundings(module, scopes)
        function = Function(node, module, owner, closure)
        # While the callers are asked, a recursive question gets an answer without them.
        declared, *_ = self._entries[id(node)] = self._declared_entry(function)
        arguments, caller_mode, evidence, left_out = self._analysis.callers.of(module, scopes, function)
        arguments = arguments or self._analysis.given_by_pytest.of(function)
        parameters = {
            name: self._analysis.parameters.combine_annotation(arguments[name], value) if name in arguments else value
            for name, value in declared.items()
        }
        if left_out:
            parameters = {name: left_open(value, left_out) for name, value in parameters.items()}
        if module.words.may_leave_grad_mode_off and self._is_behind_turning_off(function, caller_mode):
            caller_mode, evidence = False, PROVED
        mode = self._analysis.decorators.decorated_mode(function, caller_mode)
        is_own = bool(evidence) and self._analysis.decorators.decorated_mode(function, None) is False
        return Entry(parameters, mode, PROVED if is_own else evidence)

    def declared(self, module: Module, scopes: Items[ast.AST]) -> Entry:
        """The entry that annotations, defaults and names of the function give, without any knowledge of callers."""
        node = scopes[-1]
        assert isinstance(node, FUNCTIONS)
        return self._declared_entry(Function(node, module, *self.surroundings(module, scopes)))

    def _declared_entry(self, function: Function) -> Entry:
        return Entry(
            self._analysis.parameters.declared(function),
            self._analysis.decorators.decorated_mode(function, None),
        )

    def _is_behind_turning_off(self, function: Function, caller_mode: Fact) -> bool:
        """Whether grad mode has been turned off before anybody calls a function: by its module, which callers in sight
        know, or by the constructor of the object that it is a method of, which they do not."""
        if caller_mode is None and _turns_grad_mode_off(function.module.tree.body):
            return True
        made = None if function.owner is None else self._analysis.classes.method(function.owner, "__init__")
        if made is None or made.node is function.node or isinstance(made.node, ast.Lambda):
            return False
        return _turns_grad_mode_off(made.node.body)


def _turns_grad_mode_off(block: Items[ast.stmt]) -> bool:
    calls = (each.value for each in block if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
    return any(last_name(call.func) in GRAD_SETTERS and is_false(call.args[0]) for call in calls if call.args)
