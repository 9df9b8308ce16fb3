"""One file's questions and their answers: runs function bodies on demand, each at most once for the same arguments.

Everything here lives as long as the check of one file, so that what is found does not depend on other files' checks.
"""

from __future__ import annotations

import ast
import math
from operator import itemgetter

from tonumpy.inference.habits import collate_function, gradient_name, sample_parameter
from tonumpy.inference.index.bindings import (
    FunctionNode,
    decorator_names,
    defaults_of,
    is_false,
    names_in,
    parameter_names,
)
from tonumpy.inference.index.dependencies import Flow, flow_of_node
from tonumpy.inference.index.module_words import names_other_devices
from tonumpy.inference.index.references import is_called_on_others, is_called_on_self_alone
from tonumpy.inference.index.slices import Slice, Slicer
from tonumpy.inference.knowledge.grad_contexts import inside, running_in
from tonumpy.inference.lattice.aliases import as_given, handed_back, unless_it_requires_grad
from tonumpy.inference.lattice.environment import AUTOCAST, GENERATOR_CONTEXT
from tonumpy.inference.lattice.joins import join, join_all, sequence_of
from tonumpy.inference.lattice.values import (
    NONE,
    NOTHING,
    Arguments,
    BoundMethod,
    Class,
    Constant,
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
    mapped,
    most_sent,
    tensor_facts,
    with_evidence,
    with_facts,
)
from tonumpy.inference.summaries import callers, classes, module_variables, pytest_fixtures
from tonumpy.inference.summaries.callers import Entry
from tonumpy.inference.summaries.fixpoint import Unfinished
from tonumpy.inference.transfer import autocast, libraries
from tonumpy.inference.transfer.annotations import value_of_annotation, value_of_class
from tonumpy.inference.transfer.assignment import grad_mode_of_context
from tonumpy.inference.transfer.beliefs import kept_as_data, learnt_from_name, without_grad
from tonumpy.inference.transfer.control_flow import execute
from tonumpy.inference.transfer.evaluator import EVALUATOR
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.frame import MAX_DEPTH, NO_TARGETS, Frame, Targets
from tonumpy.inference.transfer.members import settle
from tonumpy.inference.transfer.own_promises import OwnPromises
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, SCOPES, walk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Items

    from tonumpy.facts import Fact
    from tonumpy.inference.index.module import Module

MAX_REPETITIONS = 3  # of a call whose result is made of itself
CHARACTERS_A_STATEMENT = 500
MAX_STATEMENTS = 4_000  # for the candidates of one function; what is asked beyond them is answered "unknown"

# What a call leaves in the variables of the functions around it, and in their attributes.
Changes = tuple[tuple[str, Value], ...]

_EMPTY_FLOW = Flow(frozenset(), frozenset(), {}, {})
_NOTHING_ASKED = Slice(frozenset())
_WHATEVER = Unknown("a decorated function")


class Analysis:
    def __init__(self, module: Module) -> None:
        self.module = module  # the one that is looked at
        self.disabled_habits = module.disabled_habits
        self.evaluator = EVALUATOR
        self.own_promises = OwnPromises(module)
        self._statements_left = MAX_STATEMENTS
        self._modules_read: set[str] = set()
        self.frames: list[Frame] = []  # all that were made
        self.autocast: Value = NOTHING  # that of the call which is being entered (see autocast.py)
        self.unfinished = Unfinished()
        self._calls: dict[tuple[object, ...], tuple[Value, Changes]] = {}
        self._first_changed: float = math.inf  # the number of the first frame that an inner function has changed
        self._made_by_decorators: dict[tuple[int, int], Function | Unknown] = {}
        self._modes_by_decorators: dict[tuple[int, int, Fact], set[Fact]] = {}  # those in which a function is called
        self._modes_asked: dict[int, set[Fact]] = {}  # of functions that are called for this alone, by their nodes
        self.active: list[tuple[object, ...]] = []
        self.watched: dict[int, list[Entry]] = {}  # how the functions of these nodes are entered, each time they are
        self._closures: dict[int, Frame] = {}
        self._declared: dict[tuple[object, ...], dict[str, Value]] = {}
        self._entries: dict[int, Entry] = {}
        self.classes = classes.ClassFacts(self)
        self.callers = callers.Callers(self)
        self.given_by_pytest = pytest_fixtures.GivenByPytest(self)
        self.names = module_variables.ModuleNames(self)

    def close(self) -> None:
        """Drop all that was found. Frames and the functions defined in them refer to each other, so they would else
        stay until Python's garbage collector comes round, which is off during a run."""
        for frame in self.frames:
            vars(frame).clear()
        vars(self).clear()

    # Running bodies

    def refuel(self, limit: int) -> None:
        """Before each function that holds candidates, so that the cost grows with their number and no faster."""
        self._statements_left = limit
        self.unfinished.abandon()

    def spend(self) -> None:
        self._statements_left -= 1

    @property
    def is_exhausted(self) -> bool:
        return self._statements_left <= 0

    def may_read(self, module: Module) -> bool:
        """A module that is read for the first time costs as much as statements that take the time of its parse."""
        if module.filename not in self._modules_read:
            if self.is_exhausted:
                return False
            self._modules_read.add(module.filename)
            self._statements_left -= len(module.source.text) // CHARACTERS_A_STATEMENT
        return True

    def entry_frame(
        self,
        module: Module,
        scopes: Items[ast.AST],
        targets: Targets,
        names: Iterable[str],
        assumed: dict[str, bool] | None = None,
        entry: Entry | None = None,
    ) -> Frame:
        """Run the innermost of the scopes as if it were entered from outside.

        `names` are what the targets read; `assumed` are flags to be taken for what they are given as. Without an
        `entry` the callers of the function are asked.
        """
        node = scopes[-1]
        assert isinstance(node, (ast.Module, *SCOPES))
        owner, closure = self.surroundings(module, scopes)
        names = (*names, *(assumed or ()))
        slicer = module.derived(Slicer, node)
        asked = slicer.at(targets.statements, names) if targets.statements else slicer.at_end(names)
        if isinstance(node, (ast.Module, ast.ClassDef)):
            is_module = isinstance(node, ast.Module)
            mode = True if is_module else None
            frame = Frame(
                self, module, slicer.flow, None, closure, mode, asked, targets, assumed, is_body_of_module=is_module
            )
        else:
            parameters, grad_mode, around = entry or self.entry_state(module, scopes)
            frame = Frame(self, module, slicer.flow, owner, closure, grad_mode, asked, targets, assumed)
            frame.env.set(AUTOCAST, around)
            self._enter_autocast(frame, Function(node, module, owner, closure))
            for name, value in parameters.items():
                frame.bind(name, value)
        execute(frame, node.body)
        return frame

    def is_fixed_flag(self, module: Module, scope: ast.AST, name: str, truth: bool) -> bool:
        """Whether a name is bound once in a scope, so that what a test shows of it holds throughout.

        It may be switched to the opposite: where it still is what the test shows, that was not done. One that is only
        ever switched, on and off, is what it was switched to last.
        """
        assert isinstance(scope, (ast.Module, *SCOPES))
        flow = module.derived(flow_of_node, scope)
        if name not in flow.times_bound:
            is_own = name in flow.local_names and name not in flow.shared_names
            return is_own and (name, True) in flow.switched and (name, False) in flow.switched
        is_fixed = flow.times_bound[name] == 1 and (name, truth) not in flow.switched
        return is_fixed and name not in module.derived(_names_of_objects, scope)

    def surroundings(self, module: Module, scopes: Items[ast.AST]) -> tuple[Class | None, Frame | None]:
        """The class whose method the innermost scope is, and the frame of the function around it."""
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
        known = self._closures.get(id(inner))
        if known is None:
            with self.unfinished.working_out(self._closures, id(inner)):
                known = self._closures[id(inner)] = self.entry_frame(module, scopes, NO_TARGETS, names_in(inner))
        else:
            self.unfinished.use(self._closures, id(inner))
        return known

    def entry_state(self, module: Module, scopes: Items[ast.AST]) -> Entry:
        """What the parameters of a function are when it is entered, and what is the state of torch inside it."""
        node = scopes[-1]
        assert isinstance(node, FUNCTIONS)
        known = self._entries.get(id(node))
        if known is None:
            with self.unfinished.working_out(self._entries, id(node)):
                known = self._entries[id(node)] = self._work_out_entry(module, scopes, node)
        else:
            self.unfinished.use(self._entries, id(node))
        return known

    def _work_out_entry(self, module: Module, scopes: Items[ast.AST], node: FunctionNode | ast.Lambda) -> Entry:
        owner, closure = self.surroundings(module, scopes)
        function = Function(node, module, owner, closure)
        # While the callers are asked, a recursive question gets an answer without them.
        declared, _, _ = self._entries[id(node)] = self._declared_entry(function)
        arguments, caller_mode, around = self.callers.of(module, scopes, function)
        arguments = arguments or self.given_by_pytest.of(function)
        parameters = {
            name: self.combine_annotation(arguments[name], value) if name in arguments else value
            for name, value in declared.items()
        }
        if module.words.may_leave_grad_mode_off and self._is_behind_turning_off(function, caller_mode):
            caller_mode = False
        return Entry(parameters, self.decorated_mode(function, caller_mode), around)

    def declared_entry(self, module: Module, scopes: Items[ast.AST]) -> Entry:
        """What a function says itself of what it is given, and its callers by their decorators of grad mode."""
        node = scopes[-1]
        assert isinstance(node, FUNCTIONS)
        function = Function(node, module, *self.surroundings(module, scopes))
        mode = False if callers.are_decorated_without_grad(module, scopes) else None
        return self._declared_entry(function, mode)

    def _declared_entry(self, function: Function, caller_mode: Fact = None) -> Entry:
        return Entry(self._declared_parameters(function), self.decorated_mode(function, caller_mode))

    def _is_behind_turning_off(self, function: Function, caller_mode: Fact) -> bool:
        """Whether grad mode has been turned off before anybody calls a function: by its module, which callers in sight
        know, or by the constructor of the object that it is a method of, which they do not."""
        if caller_mode is None and _turns_grad_mode_off(function.module.tree.body):
            return True
        made = None if function.owner is None else self.classes.method(function.owner, "__init__")
        if made is None or made.node is function.node or isinstance(made.node, ast.Lambda):
            return False
        return _turns_grad_mode_off(made.node.body)

    def _declared_parameters(self, function: Function) -> dict[str, Value]:
        """What annotations, defaults and names say of the parameters of a function."""
        key = (id(function.node), id(function.closure), function.owner)
        known = self._declared.get(key)
        if known is None:
            known = self._declared[key] = self._declare_parameters(function)
        return known

    def _declare_parameters(self, function: Function) -> dict[str, Value]:
        frame = self._definition_frame(function)
        arguments = function.node.args
        found: dict[str, Value] = {}
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            value = self.annotated(frame, parameter.annotation)
            if isinstance(value, Unknown):
                value = Unknown("parameter")
            where = frame.at(parameter.lineno)
            value = learnt_from_name(value, parameter.arg, where)
            if gradient_name.is_meant(parameter.arg) and not function.module.words.makes_graphs_of_gradients:
                value = without_grad(value, where.habit("gradient-name", f"`{parameter.arg}` is called a gradient"))
            found[parameter.arg] = value
        if arguments.vararg:
            inner = self.annotated(frame, arguments.vararg.annotation)
            found[arguments.vararg.arg] = Sequence(None, Unknown("parameter") if isinstance(inner, Unknown) else inner)
        if arguments.kwarg:
            found[arguments.kwarg.arg] = Unknown("parameter")
        for name, default in defaults_of(arguments):
            if isinstance(default, ast.Constant) and default.value is None:
                found[name] = join(found[name], NONE)
            elif isinstance(found[name], Unknown) and _is_literal(default):
                # A parameter whose default is a number, a string or several of them takes those.
                found[name] = Plain("literal")
        first = self._first_parameter(function)
        if first is not None and function.owner is not None:
            found[first] = self.classes.while_constructed(Instance(function.owner), function.node)
        samples = next((parameter.arg for parameter in arguments.args if parameter.arg != first), None)
        if samples is not None and _collates(function):
            where = frame.at(function.node.lineno)
            basis = where.habit("collate-function", "a function of this name is given what a dataset holds")
            found[samples] = kept_as_data(found[samples], basis)
        for given in self._data_given(function):
            where = frame.at(function.node.lineno)
            basis = where.habit("sample-parameter", f"`{given}` is of the Dataset whose method this is")
            found[given] = kept_as_data(found[given], basis)
        library = libraries.hook_parameters(self, function)
        for name, value in library.items():
            if name in found:
                is_moved = isinstance(value, Unknown) and bool(value.sent)
                found[name] = with_evidence(found[name], most_sent((value,)), learns=False) if is_moved else value
        return found

    def _data_given(self, function: Function) -> list[str]:
        """The parameters of a method of a Dataset that are data: all, where it does a part of the Dataset's own work;
        else those that are called a sample of it, where its class speaks of no device and its module shows no call."""
        node, owner, module = function.node, function.owner, function.module
        if owner is None or isinstance(node, ast.Lambda) or node.name.startswith("__"):
            return []
        if not self.classes.is_dataset(owner):
            return []
        parameters = [parameter.arg for parameter in node.args.args]
        if is_called_on_self_alone(module, owner.node, node):
            return parameters
        samples = list(filter(sample_parameter.is_meant, parameters))
        if not samples or is_called_on_others(module, owner.node, node):
            return []
        return [] if names_other_devices(module.source.text_of(owner.node)) else samples

    def _first_parameter(self, function: Function) -> str | None:
        """`self` of a method; None for plain functions, static and class methods."""
        node = function.node
        if function.owner is None or isinstance(node, ast.Lambda) or node not in function.owner.node.body:
            return None
        if decorator_names(node) & {"staticmethod", "classmethod"}:
            return None
        parameters = parameter_names(node.args)
        return parameters[0] if parameters else None

    def decorated_mode(self, function: Function, caller_mode: Fact) -> Fact:
        """Grad mode inside a function: what its decorators make of the mode in which it is called."""
        if isinstance(function.node, ast.Lambda):
            return caller_mode
        if function.owner is not None and libraries.runs_without_grad(self, function.owner, function.node.name):
            caller_mode = False
        if function.is_bare or not function.node.decorator_list:
            return caller_mode
        decorated = self._decorated(function)
        if isinstance(decorated, Unknown):
            return caller_mode
        if decorated.node is function.node:
            return inside(decorated.grad_mode, caller_mode)
        return self._mode_behind(decorated, function, caller_mode)

    def _mode_behind(self, decorated: Function, function: Function, caller_mode: Fact) -> Fact:
        """The one in which what a decorator put in a function's place calls the function."""
        key = (id(function.node), id(function.closure), caller_mode)
        known = self._modes_by_decorators.get(key)
        if known is None:
            known = self._modes_by_decorators[key] = set()
            self._modes_asked[id(function.node)] = known
            try:
                self.call_function(decorated, None, Arguments((_WHATEVER,), has_star=True), caller_mode)
            finally:
                del self._modes_asked[id(function.node)]
        return caller_mode if not known else None if len(known) > 1 else next(iter(known))

    def _enter_autocast(self, frame: Frame, function: Function) -> None:
        """`@torch.autocast(...)` over a function."""
        for decorator in () if isinstance(function.node, ast.Lambda) else function.node.decorator_list:
            if isinstance(decorator, ast.Call) and last_name(decorator.func) == "autocast":
                autocast.enter(frame, self._definition_frame(function), decorator)

    def _definition_frame(self, function: Function) -> Frame:
        """Where decorators, annotations and defaults of a function are evaluated."""
        if function.owner is not None and function.closure is function.owner.closure:
            return self.class_scope(function.owner)
        return function.closure or self.module_scope(function.module)

    def module_scope(self, module: Module, closure: Frame | None = None) -> Frame:
        """A frame that sees the module's names, and those of the functions around, and has no variables of its own."""
        return Frame(self, module, _EMPTY_FLOW, None, closure, True, _NOTHING_ASKED, NO_TARGETS)

    def class_scope(self, cls: Class) -> Frame:
        """The same for the expressions in the body of a class, which see also what the body binds."""
        frame = self.module_scope(cls.module, cls.closure)
        frame.class_body = cls
        return frame

    # Calls

    def call_function(self, function: Function, receiver: Value | None, arguments: Arguments, grad_mode: Fact) -> Value:
        """What a function of the repository returns for these arguments."""
        grad_mode = inside(function.grad_mode, grad_mode)
        if function.is_bare and id(function.node) in self._modes_asked:
            self._modes_asked[id(function.node)].add(grad_mode)
            return _WHATEVER
        if not function.is_bare and not isinstance(function.node, ast.Lambda) and function.node.decorator_list:
            decorated = self._decorated(function)
            if isinstance(decorated, Unknown):
                return with_facts(decorated, requires_grad=False) if grad_mode is False else decorated
            if decorated.node is not function.node:
                own = () if receiver is None else (receiver,)
                passed = arguments._replace(positional=(*own, *arguments.positional))
                return self.call_function(decorated, None, passed, grad_mode)
        given = as_given(arguments)
        key = (id(function.node), self._captured(function), receiver, given, grad_mode, self.autocast)
        try:
            known = self._calls.get(key)
        except TypeError:  # a literal that cannot be hashed
            return self._declared_return(function, "call", grad_mode)
        if known is not None:
            self.unfinished.use(self._calls, key)
            self._change_closures(function, known[1], arguments)
            return handed_back(known[0], arguments)
        if key in self.active:
            return handed_back(self.unfinished.so_far(self._calls, key), arguments)
        same_function = sum(1 for active in self.active if active[0] == key[0])
        if self.is_exhausted or len(self.active) >= MAX_DEPTH or same_function >= 2:
            return self._declared_return(function, "call too deep to follow", grad_mode)
        self.active.append(key)
        before, self._first_changed, start = self._first_changed, math.inf, len(self.frames)
        kept = self._statements_left // 2  # for what comes after the call: it is often one of many
        self._statements_left -= kept
        try:
            with self.unfinished.working_out(self._calls, key):
                for _ in range(1 + MAX_REPETITIONS):
                    result, changes = self._run_call(function, receiver, given, grad_mode)
                    if not self.unfinished.must_repeat(result):
                        break
                if self._first_changed >= start:  # or others that it calls would have to be called again
                    self._calls[key] = result, changes
        finally:
            self.active.pop()
            self._statements_left += kept
            self._first_changed = min(before, self._first_changed)
        self._change_closures(function, changes, arguments)
        return handed_back(result, arguments)

    def _captured(self, function: Function) -> tuple[object, ...]:
        """What the variables of the functions around hold that it reads, or an inner function that it calls."""
        found: dict[str, Value | None] = {}
        waiting = [] if function.closure is None else list(function.module.derived(names_in, function.node))
        while waiting:
            name = waiting.pop()
            frame: Frame | None = function.closure
            while frame is not None and name not in frame.flow.local_names:
                frame = frame.closure
            if frame is None or name in found:
                continue
            value = found[name] = frame.bound.get(name)
            if isinstance(value, Function):
                waiting += value.module.derived(names_in, value.node)
        return (id(function.closure), *sorted(found.items(), key=itemgetter(0)))

    def _change_closures(self, function: Function, changes: Changes, arguments: Arguments) -> None:
        """What an inner function leaves in the variables of those around it, when it has been called."""
        for path, value in changes:
            root = path.partition(".")[0]
            frame: Frame | None = function.closure
            while frame is not None and root not in frame.flow.local_names:
                frame = frame.closure
            if frame is not None:
                frame.change_from_within(path, handed_back(value, arguments))
                self._first_changed = min(self._first_changed, frame.number)

    def _changes_left(self, function: Function, frame: Frame) -> Changes:
        if function.closure is None:
            return ()
        own = frame.flow.local_names | frame.flow.outer_names
        return tuple((path, value) for path, value in frame.bound.items() if path.partition(".")[0] not in own)

    def _changes_outside(self, function: Function) -> bool:
        """Whether an inner function may change variables of those around it, by itself or by calling others."""
        frame: Frame | None = function.closure
        name = "" if isinstance(function.node, ast.Lambda) else function.node.name
        while frame is not None:
            if frame.flow.closures is not None and name in frame.flow.closures.changes:
                return True
            frame = frame.closure
        return False

    def _run_call(
        self, function: Function, receiver: Value | None, arguments: Arguments, grad_mode: Fact
    ) -> tuple[Value, Changes]:
        result, changes = self._run_body(function, receiver, arguments, grad_mode)
        if self.decorated_mode(function, grad_mode) is False:
            around = function.closure.flow.local_names if function.closure is not None else frozenset()
            result = unless_it_requires_grad(result, arguments, around)
        return result, changes

    def _run_body(
        self, function: Function, receiver: Value | None, arguments: Arguments, grad_mode: Fact
    ) -> tuple[Value, Changes]:
        node = function.node
        mode = self.decorated_mode(function, grad_mode)
        if isinstance(node, ast.Lambda):
            flow = function.module.derived(flow_of_node, node)
            around: Frame | None = function.closure
            is_seen = around is not None and (id(node) in around.lambdas_called or id(node) in around.lambdas_guessed)
            targets = around.targets if around is not None and is_seen else NO_TARGETS
            frame = Frame(self, function.module, flow, function.owner, around, mode, None, targets)
            for name, value in self.bind_arguments(function, receiver, arguments).items():
                frame.bind(name, value)
            result = settle(frame, evaluate(frame, node.body))
            if around is not None and is_seen:
                around.forget_guesses(id(node))
                for call, observation in frame.observations.items():
                    around.observe(call, observation)
            return result, self._changes_left(function, frame)
        slicer = function.module.derived(Slicer, node)
        asked = None if self._changes_outside(function) else slicer.at_end((), wants_result=True)
        frame = Frame(self, function.module, slicer.flow, function.owner, function.closure, mode, asked, NO_TARGETS)
        frame.env.set(AUTOCAST, self.autocast)
        self._enter_autocast(frame, function)
        given = self.bind_arguments(function, receiver, arguments)
        if id(node) in self.watched:
            self.watched[id(node)].append(Entry(given, grad_mode, self.autocast))
        for name, value in given.items():
            frame.bind(name, value)
        falls_through = execute(frame, node.body)
        changes = self._changes_left(function, frame)
        returned = settle(frame, frame.returned)
        if frame.is_generator and not decorator_names(node).isdisjoint(_MAKING_CONTEXTS):
            modes = frame.modes_of_yields
            mode_inside = Constant(next(iter(modes)) if len(modes) == 1 else None)
            returned = LibraryObject(GENERATOR_CONTEXT, arguments=Arguments((frame.yielded, mode_inside)))
        elif frame.is_generator:
            returned = Sequence(None, frame.yielded)
        elif falls_through:
            returned = join(returned, NONE)
        declared = self.annotated(self._definition_frame(function), node.returns)
        if frame.is_generator:
            return returned, changes
        if _is_abstract(node):
            return (_made_without_grad(declared) if grad_mode is False else declared), changes
        if isinstance(returned, Nothing):
            return returned, changes
        return self.combine_annotation(returned, declared), changes

    def _decorated(self, function: Function) -> Function | Unknown:
        """What stands under a function's name: what the decorators of the repository made of it."""
        key = (id(function.node), id(function.closure))
        known = self._made_by_decorators.get(key)
        if known is None:
            self._made_by_decorators[key] = function  # what its decorators do while they are asked
            known = self._made_by_decorators[key] = self._decorate(function)
        return known

    def _decorate(self, function: Function) -> Function | Unknown:
        node = function.node
        assert isinstance(node, FUNCTIONS)
        frame = self._definition_frame(function)
        made = function._replace(is_bare=True)
        for decorator in reversed(node.decorator_list):
            if last_name(decorator) in ("singledispatch", "singledispatchmethod"):
                return Unknown("call of a function that dispatches by class")
            mode = grad_mode_of_context(frame, decorator)
            if mode != "unchanged":
                made = running_in(mode, made)
                continue
            maker = evaluate(frame, decorator.func if isinstance(decorator, ast.Call) else decorator)
            if isinstance(maker, Function):
                decorate = evaluate(frame, decorator)
                if isinstance(decorate, Function):
                    result = self.call_function(decorate, None, Arguments((made,)), frame.grad_mode)
                    made = result if isinstance(result, Function) else made
        return made._replace(is_bare=False) if made.node is node else made

    def _declared_return(self, function: Function, why: str, grad_mode: Fact) -> Value:
        """What is known of the result of a call that is not followed."""
        node = function.node
        declared: Value = Unknown(why)
        if not isinstance(node, ast.Lambda) and node.returns is not None:
            declared = self.annotated(self._definition_frame(function), node.returns)
        is_off = self.decorated_mode(function, grad_mode) is False
        return with_facts(declared, requires_grad=False) if is_off else declared

    def bind_arguments(self, function: Function, receiver: Value | None, arguments: Arguments) -> dict[str, Value]:
        """Each parameter with what the call gives it: an argument, its default, or what its annotation says."""
        node = function.node
        parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
        values = dict(self._declared_parameters(function))
        given: dict[str, Value] = {}
        positional = list(arguments.positional) if receiver is None else [receiver, *arguments.positional]
        given.update(zip(parameters, positional, strict=False))
        if node.args.kwarg:
            extra = tuple((name, value) for name, value in arguments.named if name not in values)
            given[node.args.kwarg.arg] = Mapping(extra, Unknown("argument") if arguments.has_star else NOTHING)
        if node.args.vararg:
            rest = positional[len(parameters) :]
            given[node.args.vararg.arg] = (
                Sequence(None, join_all((*rest, arguments.starred))) if arguments.has_star else sequence_of(rest)
            )
        given.update({name: value for name, value in arguments.named if name in values})
        frame = self._definition_frame(function)
        # `show(*pair)`: the parameters that are left are its items, or what their defaults say.
        under_star = arguments.starred if arguments.has_star and not arguments.hides_names else NOTHING
        left = parameters[len(positional) :] if not isinstance(under_star, Nothing) else ()
        hidden = dict.fromkeys((name for name in left if name not in given), under_star)
        if not arguments.has_star or hidden:
            for name, default in defaults_of(node.args):
                if name not in given:
                    given[name] = join(evaluate(frame, default), hidden.pop(name, NOTHING))
            given.update(hidden)
        for name, value in given.items():
            if name in values:
                values[name] = self.combine_annotation(value, values[name])
        return values

    def annotated(self, frame: Frame, annotation: ast.expr | None) -> Value:
        """What an annotation in the scope of a frame promises."""

        def resolve(node: ast.expr) -> Value:
            value = evaluate(frame, node)
            if not isinstance(value, Class):
                return value
            return Symbol("torch.Tensor") if self.makes_tensors(value) else self.classes.typed_dict(value) or value

        return value_of_annotation(annotation, resolve)

    def combine_annotation(self, seen: Value, declared: Value) -> Value:
        """What was seen of a value, with the kind that its annotation promises where nothing was seen."""
        if isinstance(declared, (Unknown, Nothing)):
            return seen
        if isinstance(seen, Union) and any(isinstance(member, Unknown) for member in seen.members):
            return join_all(self.combine_annotation(member, declared) for member in seen.members)
        if isinstance(seen, Tensor) and isinstance(declared, Tensor):
            certainty = seen.certainty if declared.certainty != "tensor" else "tensor"
            return seen._replace(dtype=seen.dtype or declared.dtype, certainty=certainty)
        if not isinstance(seen, Unknown):
            return seen
        cpu, grad = tensor_facts(seen)
        # Another value of a declared union stays possible; only the tensors in it share the facts.
        return with_evidence(with_facts(declared, cpu, grad), seen.sent, seen.learns)

    # Objects: see classes.py and libraries.py

    def attribute_of_instance(self, value: Instance, name: str) -> Value:
        return self.classes.attribute(value, name)

    def attribute_of_class(self, value: Class, name: str) -> Value:
        return self.classes.class_attribute(value, name)

    def is_subclass(self, cls: Class, parent: Class) -> bool:
        return any(base == parent for base in self.classes.ancestors(cls))

    def extends_tensor(self, cls: Class) -> bool:
        return any(isinstance(value_of_class(Symbol(base)), Tensor) for base in self.classes.library_bases(cls))

    def makes_tensors(self, cls: Class) -> bool:
        """Whether its objects are tensors that torch's own `numpy` converts."""
        return self.extends_tensor(cls) and self.classes.method(cls, "numpy") is None

    def bound_method_call(self, method: BoundMethod, arguments: Arguments, grad_mode: Fact) -> Value:
        return self.call_function(method.function, method.receiver, arguments, grad_mode)


_MAKING_CONTEXTS = ("contextmanager", "asynccontextmanager")


def _collates(function: Function) -> bool:
    """Whether a loader may call it to make a batch of what its dataset holds."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return False
    name = function.owner.node.name if node.name == "__call__" and function.owner else node.name
    return collate_function.is_meant(name)


def _turns_grad_mode_off(block: Items[ast.stmt]) -> bool:
    calls = (each.value for each in block if isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))
    return any(last_name(call.func) == "set_grad_enabled" and is_false(call.args[0]) for call in calls if call.args)


def _is_literal(node: ast.expr) -> bool:
    """A number or string, or a tuple or list of them that is not empty."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, (ast.Tuple, ast.List)):
        return bool(node.elts) and all(map(_is_literal, node.elts))
    return isinstance(node, ast.Constant) and node.value is not None


def _names_of_objects(scope: ast.AST) -> frozenset[str]:
    """The names with which more is done than to ask whether they hold: `if outputs: outputs[0].numpy()`."""
    found: set[str] = set()
    for node in walk(scope):
        if isinstance(node, (ast.Attribute, ast.Subscript, ast.Starred)):
            held = node.value
        elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
            held = node.iter
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Tuple, ast.List)):
            held = node.value
        else:
            continue
        if isinstance(held, ast.Name):
            found.add(held.id)
    return frozenset(found)


def _made_without_grad(declared: Value) -> Value:
    """What an annotation says, of what is made while grad mode is off: no tensor in it requires grad."""
    if isinstance(declared, Instance):
        return declared._replace(requires_grad=False)
    return mapped(with_facts(declared, requires_grad=False), _made_without_grad)


def _is_abstract(node: FunctionNode) -> bool:
    """A body that says nothing: a docstring, `pass`, `...` or `raise NotImplementedError`."""
    return all(
        isinstance(statement, ast.Pass)
        or (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        or (isinstance(statement, ast.Raise) and _exception_of(statement) == "NotImplementedError")
        for statement in node.body
    )


def _exception_of(statement: ast.Raise) -> str | None:
    raised = statement.exc
    return last_name(raised.func if isinstance(raised, ast.Call) else raised) if raised is not None else None
