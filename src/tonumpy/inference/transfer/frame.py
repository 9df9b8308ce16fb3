"""The abstract state of one evaluation of a body: the values of names, grad mode, and the observations so far."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import OBJECTS
from tonumpy.engine.values.aliases import ChangeOfContainer, after_change, after_part_changed, with_origin
from tonumpy.engine.values.environment import (
    DEFAULT_DEVICE,
    GRAD_MODE,
    NO_ACCELERATOR,
    Environment,
)
from tonumpy.engine.values.evidence import PROVED, Spot
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.origins import begun_at
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.values import (
    NOTHING,
    Arguments,
    Class,
    Constant,
    Device,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.inference.habits import default_device
from tonumpy.inference.transfer.habit_heuristics import where_no_accelerator_is
from tonumpy.inference.transfer.targets import Loop, Observation, Targets, begun, join_observations

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

    from tonumpy.engine.names.def_use import DefUse
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.names.slices import Slice
    from tonumpy.engine.values.evidence import AllEvidence, Basis
    from tonumpy.facts import Fact
    from tonumpy.inference.summaries.analysis import Analysis


MAX_CONTAINERS_UNDER_KEYS = 32  # that are followed by themselves when another container is changed


class Evaluator(NamedTuple):
    """The transfer functions, put together (see evaluator.py): what they ask of each other, each way round.

    A module that stands below the one that it needs calls it through its frame: `frame.evaluator.call(...)`.
    """

    expression: Callable[[Frame, ast.expr], Value]  # what it is, with its effects
    arguments: Callable[[Frame, ast.Call], Arguments]  # those of a call
    call: Callable[[Frame, Value, Arguments], Value]  # what calling a value gives
    item: Callable[[Frame, Value], Value]  # what iterating over a value gives
    statements: Callable[[Frame, list[ast.stmt]], bool]  # whether the flow comes to their end


class Asked:
    """What of a body is to be run, and what its flags are taken to be."""

    def __init__(self, asked: Slice | None, flow: DefUse, flags: dict[str, bool]) -> None:
        self.names = None if asked is None else asked.names  # None: every name
        self.statements = None if asked is None else asked.statements  # those to be run; None: every one
        self.wants_result = asked is None or asked.wants_result
        self.unread: frozenset[int] = frozenset() if asked is None else asked.unread
        self.assumed: dict[str, bool] = {}  # what flags are taken to be, throughout
        self.awaited: dict[str, bool] = {}  # what flags that are switched on and off are in the end
        for name, truth in flags.items():
            (self.assumed if name in flow.times_bound else self.awaited)[name] = truth


class Entered:
    """How the body was entered."""

    def __init__(self, number: int, is_body_of_module: bool) -> None:
        self.number = number  # among the frames of the analysis
        self.class_body: Class | None = None  # in which what is evaluated stands
        self.is_body_of_module = is_body_of_module  # whose variables hold what functions leave in them as well
        self.evidence_of_mode = PROVED  # what it rests on that grad mode is off


class Seen:
    """What has been observed so far, and the calls and lambdas that are not looked into."""

    def __init__(self) -> None:
        self.observations: dict[int, Observation] = {}
        self.not_followed: set[int] = set()  # the ids of calls whose result nobody reads
        self.lambdas_given: set[int] = set()  # to a call that stands around them, which calls them there and then
        self.lambdas_called: set[int] = set()  # by code in sight, which says what they are given
        self.lambdas_guessed: dict[int, list[int]] = {}  # what is observed in those that nobody has been seen to call


class Result:
    """What the body has returned and yielded so far."""

    def __init__(self) -> None:
        self.returned: Value = NOTHING
        self.yielded: Value = NOTHING
        self.modes_of_yields: set[Fact] = set()

    @property
    def is_generator(self) -> bool:
        return bool(self.modes_of_yields)


class Control:
    """The loops and `try` bodies that are being run."""

    def __init__(self) -> None:
        self.journals: list[dict[str, Value]] = []  # one for each `try` body: what an exception may find
        self.is_interrupted = False  # in a `finally` that an exception has led to: one within it is run only once
        self.loops: list[Loop] = []
        self.back_edges: dict[int, dict[str, Value]] = {}  # what came round each loop so far
        self.back_edge_changed = False


class Objects:
    """The names whose attributes are known, and the origins of tensors that are attributes as well."""

    def __init__(self) -> None:
        self.path_roots: set[str] = set()
        self.put_into: set[str] = set()


class Frame:
    """The state while one body is evaluated. Created, run and dropped by Analysis."""

    def __init__(
        self,
        analysis: Analysis,  # stands above, and is asked for what functions, classes and modules give
        module: Module,
        flow: DefUse,
        owner: Class | None,
        closure: Frame | None,
        grad_mode: Fact,
        asked: Slice | None,
        targets: Targets,
        assumed: dict[str, bool] | None = None,
        *,
        is_body_of_module: bool = False,
    ) -> None:
        analysis.frames.append(self)
        self.analysis = analysis
        self.module = module
        self.row = 0  # of the statement that is being run, from 1
        self.flow = flow
        self.owner = owner
        self.closure = closure
        self.targets = targets
        self.asked = Asked(asked, flow, assumed or {})
        self.entry = Entered(len(analysis.frames) - 1, is_body_of_module)
        self.env = Environment()
        self.set_grad_mode(grad_mode)
        self.bound: dict[str, Value] = {}  # the join of everything that a name ever held: what a closure may see
        self.seen = Seen()
        self.result = Result()
        self.control = Control()
        self.objects = Objects()

    @property
    def evaluator(self) -> Evaluator:
        return self.analysis.evaluator

    def begun(self, value: Value) -> Value:
        """With this line behind what has not been known of it before, where somebody asks for that."""
        return begun_at(value, self.module.filename, self.row) if self.analysis.tells_origins and self.row else value

    def habit(self, habit: str, message: str) -> Basis | None:
        """See `Where` in engine/values/evidence.py; the place is the statement that is being run."""
        return self.at(self.row).habit(habit, message)

    def at(self, row: int) -> Spot:
        """A place in the module, for what is believed there."""
        return Spot(self.module.filename, row, self.analysis.disabled_habits)

    @property
    def grad_mode(self) -> Fact:
        mode = self.env.get(GRAD_MODE)
        return mode.value if isinstance(mode, Constant) else None

    @property
    def default_on_cpu(self) -> Fact:
        """Whether what is made without a `device` is on the CPU: nobody is assumed to change that elsewhere."""
        device = self.env.get(DEFAULT_DEVICE)
        if device is None:
            return None if self.module.words.changes_default_device else True
        return device.is_cpu if isinstance(device, Device) else None

    @property
    def evidence_of_default(self) -> AllEvidence:
        """What rests on it that what is made without a `device` is on the CPU."""
        is_told = self.module.use.is_script or self.env.get(DEFAULT_DEVICE) is not None
        return PROVED if is_told else default_device.EVIDENCE

    def set_grad_mode(self, mode: Fact) -> None:
        self.env.set(GRAD_MODE, Unknown(Reason.SYNTAX) if mode is None else Constant(mode))

    def is_relevant(self, name: str | None) -> bool:
        return self.asked.names is None or name in self.asked.names

    def bind(self, name: str, value: Value) -> None:
        """Bind a name (or an attribute path) to a new value; what was known of its attributes is dropped."""
        if name in self.asked.assumed and isinstance(value, (Unknown, Constant, NonTensor, Nothing)):
            value = Constant(self.asked.assumed[name])
        if self.entry.is_body_of_module and name in self.flow.local_names:
            value = self.analysis.names.with_what_functions_leave(self.module, name, value)
        value = with_origin(self.begun(value) if self.analysis.tells_origins else value, name)
        self.env.set(name, value)
        if name in self.objects.path_roots:
            self.env.forget_paths(name)
        root, dot, _ = name.partition(".")
        while dot:
            self.objects.path_roots.add(root)
            rest = name[len(root) + 1 :]
            part, dot, _ = rest.partition(".")
            root = f"{root}.{part}"
        before = self.bound.get(name)
        self.bound[name] = value if before is None else join(before, value)
        for journal in self.control.journals:
            journal[name] = join(journal.get(name, NOTHING), value)

    def forget(self, path: str) -> None:
        """Drop what is known of an attribute, as code out of sight has written it; what its class says counts again."""
        if self.env.get(path) is not None:
            self.env.set(path, NOTHING)
            for journal in self.control.journals:
                journal[path] = NOTHING
        self.env.forget_paths(path)

    def refine(self, name: str, value: Value) -> None:
        """Replace the value of a name by a more precise one, after a test; the object is the same, so its attributes
        stay known."""
        self.env.set(name, self.begun(value) if self.analysis.tells_origins else value)
        root, dot, _ = name.rpartition(".")
        while dot:
            self.objects.path_roots.add(root)
            root, dot, _ = root.rpartition(".")

    def change(self, name: str, value: Value) -> None:
        """Replace the value of a name whose object was mutated; handlers of exceptions and closures may see it."""
        self.refine(name, value)
        self.bound[name] = join(self.bound.get(name, NOTHING), value)
        for journal in self.control.journals:
            journal[name] = join(journal.get(name, NOTHING), value)

    def change_all(self, path: str, before: Value, after: Value) -> None:
        """Like `change`, also for other names that hold the very same object."""
        self.change_others(before, after, path)
        self.change(path, after)
        owner, dot, name = path.rpartition(".")
        holder = self.env.get(owner) if dot else None
        if not isinstance(holder, Instance) or owner in OBJECTS:
            return
        if isinstance(after, (Sequence, Mapping)):  # its class does not tell of that
            self.refine(owner, holder._replace(written=holder.written | {name}))
        elif isinstance(after, (Instance, LibraryObject)) and after.on_cpu is not holder.on_cpu:
            self.refine(owner, holder._replace(is_moved=True))

    def change_others(self, before: Value, after: Value, path: str | None = None) -> None:
        """Replace the values of names other than `path` that hold the mutated object."""
        in_container = ChangeOfContainer(before, after) if isinstance(before, (Sequence, Mapping)) else None
        changed_object = before if isinstance(before, (LibraryObject, Instance)) else None
        containers_under_keys = 0
        for name, value in self.env.items() if in_container is None else self.env.containers():
            if name == path:
                continue
            if value is before:
                self.change(name, join(value, after))
                self.env.forget_keys(name)
            elif changed_object is not None:
                changed = after_part_changed(value, changed_object)
                if changed is not value:
                    self.change(name, changed)
            elif in_container is not None:
                containers_under_keys += ".[" in name
                if containers_under_keys > MAX_CONTAINERS_UNDER_KEYS and ".[" in name:
                    self.forget(name)  # the container around it tells what stands there, too
                    continue
                changed = in_container.held_by_a_name(value)
                if changed is not value:
                    self.change(name, changed)

    def change_from_within(self, path: str, value: Value) -> None:
        """An inner function has left this in a variable of the frame, or in an attribute of one."""
        owner, dot, name = path.rpartition(".")
        if name.startswith("["):
            self.env.forget_keys(owner)
        elif dot:
            before = self.env.get(path)
            if before is None or isinstance(before, Nothing):
                self.forget(path)
            else:
                self.change_all(path, before, join(before, value))
            holder = self.env.get(owner)
            if isinstance(holder, Instance) and holder.cls != self.owner:
                self.refine(owner, holder._replace(written=holder.written | {name}))
        elif (before := self.env.get(path)) is not None:
            after = join(before, value)
            if isinstance(before, Tensor) and isinstance(after, Tensor):
                self.change_grad(before, after)
            self.change_all(path, before, after)
            self.env.forget_keys(path)

    def change_grad(self, before: Tensor, after: Tensor) -> None:
        """A tensor got or lost its grad in place, or may have: so may those that are the same, or view it."""
        is_same = before.requires_grad is after.requires_grad and before.evidence == after.evidence
        may_have = not is_same or after.requires_grad is None
        if may_have and after.origins:
            for name, value in self.env.items():
                changed = after_change(value, after)
                if changed is not value:
                    self.change(name, changed)

    def lookup(self, name: str) -> Value:
        if name in self.flow.local_names:
            value = self.env.get(name)
            if not self.flow.is_function and self.closure is None and self.entry.class_body is None:
                value = self.analysis.own_promises.named(self.module, name, value)
            if value is not None:
                return self._as_shared(name, value)
            if (
                self.control.loops
                and name in self.flow.times_bound
                and self.is_relevant(name)
                and not self._is_shared(name)
            ):
                return NOTHING  # it is bound later in the loop: until then nobody can read it
            return Unknown(Reason.NAME)
        value = self.env.get(name)  # a comprehension's own variable, or a test's refinement of a global
        if value is not None:
            return value
        if self.entry.class_body is not None:
            value = self.analysis.attributes.bound_in_body(self.entry.class_body, name)
            if value is not None:
                return value
        frame = self.closure
        while frame is not None:
            if name in frame.flow.local_names:
                return frame._as_shared(name, frame.bound.get(name) or frame.lookup(name))
            frame = frame.closure
        return self.analysis.names.global_value(self.module, name)

    def _as_shared(self, name: str, value: Value) -> Value:
        """A variable that an inner function declares nonlocal holds, after any call, what that function wrote."""
        if not self._is_shared(name):
            return value
        return join(value, Unknown(Reason.NAME))

    def _is_shared(self, name: str) -> bool:
        return name in self.flow.shared_names

    def observe(self, call: int, observation: Observation) -> None:
        if self.env.get(NO_ACCELERATOR) is not None:
            observation = observation._replace(receiver=where_no_accelerator_is(observation.receiver))
        if self.entry.evidence_of_mode and observation.grad_mode is False:
            observation = observation._replace(evidence=self.entry.evidence_of_mode)
        if self.analysis.tells_origins:
            observation = begun(observation, self.begun)
        before = self.seen.observations.get(call)
        self.seen.observations[call] = observation if before is None else join_observations(before, observation)

    def observe_operation(self, node: ast.expr | ast.AugAssign | ast.Return, first: Value, *others: Value) -> None:
        """What an operator, an index or an assignment works on."""
        self.observe(id(node), Observation(first, (), Arguments(others), self.grad_mode))

    def forget_guesses(self, given: int) -> None:
        """A lambda that was given to a call is called there by code in sight, which says what it is given."""
        for call in self.seen.lambdas_guessed.pop(given, ()):
            self.seen.observations.pop(call, None)
        self.seen.lambdas_called.add(given)
