"""The mechanisms of the analysis, and how each is switched off to its neutral answer, for `scripts/measure_rent.py`.

A new mechanism gets one row here, in MECHANISMS. A place is written `module:function` or `module:Class.method`, below
`tonumpy.inference` unless it begins with `tonumpy.`.
"""

# ruff: noqa: ANN401, ARG001, ARG005  what replaces a function takes whatever that takes

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

Make = Callable[[Callable[..., Any]], Callable[..., Any]]


class Switch(NamedTuple):
    """A function of the analysis; what it is replaced by, made of it; and whether a call of it has had an effect."""

    place: str
    make: Make
    is_neutral: Callable[[Any, tuple[Any, ...], dict[str, Any]], bool]


class Mechanism(NamedTuple):
    """`files` are those, below `src/tonumpy`, that go with it; `options` of the command switch off what no function
    stands for."""

    name: str
    files: tuple[str, ...]
    switches: Callable[[], tuple[Switch, ...]]
    options: tuple[str, ...] = ()


def gives(place: str, value: object) -> Switch:
    """It answers `value`, always."""

    def is_neutral(answer: Any, given: tuple[Any, ...], named: dict[str, Any]) -> bool:
        return answer is value or (type(answer) is type(value) and bool(answer == value))

    return Switch(place, lambda function: lambda *given, **named: value, is_neutral)


def hands_on(place: str, parameter: str) -> Switch:
    """It answers what it is given as this parameter."""
    at = list(inspect.signature(_found(place)[2]).parameters).index(parameter)

    def argument(given: tuple[Any, ...], named: dict[str, Any]) -> Any:
        return given[at] if at < len(given) else named[parameter]

    return Switch(
        place,
        lambda function: lambda *given, **named: argument(given, named),
        lambda answer, given, named: answer is argument(given, named),
    )


def does_nothing(place: str) -> Switch:
    """It has effects and no answer: each call counts."""
    return Switch(place, lambda function: lambda *given, **named: None, lambda answer, given, named: False)


def load_all() -> None:
    """Import what may hold a reference to a function that is replaced."""
    import tonumpy

    for module in pkgutil.walk_packages(tonumpy.__path__, "tonumpy."):
        if module.name.startswith(("tonumpy.inference", "tonumpy.sinks", "tonumpy.rules", "tonumpy.text")):
            importlib.import_module(module.name)
    importlib.import_module("tonumpy.pipeline")


def put(place: str, made: Callable[[Callable[..., Any]], Any]) -> None:
    """Put what `made` makes of a function everywhere where the function stands."""
    owner, name, function = _found(place)
    new = made(function)
    if inspect.isclass(owner):
        setattr(owner, name, lambda *given, **named: new(*given, **named))
        return
    for module in [each for key, each in sys.modules.items() if key.startswith("tonumpy") and each is not None]:
        for attribute, value in list(vars(module).items()):
            if value is function:
                setattr(module, attribute, new)
            elif isinstance(value, dict) and not attribute.startswith("__"):
                value.update({key: new for key, each in value.items() if each is function})
            elif isinstance(value, tuple) and any(each is function for each in value):
                changed = [new if each is function else each for each in value]
                setattr(module, attribute, type(value)(*changed) if hasattr(value, "_fields") else tuple(changed))


def _found(place: str) -> tuple[Any, str, Any]:
    module, _, path = place.partition(":")
    owner: Any = importlib.import_module(module if module.startswith("tonumpy") else f"tonumpy.inference.{module}")
    *around, name = path.split(".")
    for each in around:
        owner = getattr(owner, each)
    return owner, name, getattr(owner, name)


def _value(place: str) -> Any:
    return _found(place)[2]


def _out_of_sight(*places: str) -> tuple[Switch, ...]:
    return tuple(gives(place, _value("summaries.entry:OUT_OF_SIGHT")) for place in places)


def _habits() -> Iterable[Mechanism]:
    from tonumpy.inference.habits import habit_ids

    for habit in habit_ids():
        file = f"inference/habits/{habit.replace('-', '_')}.py"
        yield Mechanism(f"habit {habit}", (file,), tuple, ("--config", f"disable-habits=['{habit}']"))


S, X, N, K = "summaries.", "transfer.", "index.", "tonumpy.sinks."
_CALLERS = "callers caller_evidence closed_world known_callers places_of_modules repository_callers users"


def _below(folder: str, names: str) -> tuple[str, ...]:
    return tuple(f"{folder}/{name}.py" for name in names.split())


MECHANISMS = (
    # Who calls a function.
    Mechanism(
        "callers, all",
        _below("inference/summaries", _CALLERS),
        lambda: _out_of_sight(S + "callers:Callers.of"),
    ),
    Mechanism(
        "callers in other files",
        _below("inference/summaries", "places_of_modules repository_callers users"),
        lambda: (gives(S + "repository_callers:Mentions.may_show", False),),
    ),
    Mechanism(
        "objects handed to classes",
        _below("engine/names", "moved_callbacks"),
        lambda: (gives(S + "parameters:taker_on_cpu", None),),
    ),
    Mechanism(
        "closed world",
        _below("inference/summaries", "closed_world"),
        lambda: (gives(S + "closed_world:all_callers_are_known", False),),
    ),
    Mechanism(
        "pytest fixtures",
        _below("inference/summaries", "pytest_fixtures"),
        lambda: (gives(S + "pytest_fixtures:GivenByPytest.of", {}),),
    ),
    Mechanism(
        "what a decorator replaces a function by",
        _below("inference/summaries", "decorators"),
        lambda: (
            hands_on(S + "decorators:Decorators._replaced", "function"),
            hands_on(S + "decorators:Decorators._mode_behind", "caller_mode"),
            does_nothing(S + "decorators:Decorators._note_kept"),
        ),
    ),
    Mechanism(
        "grad mode turned off earlier", (), lambda: (gives(S + "entry_frames:Entries._is_behind_turning_off", False),)
    ),
    # Objects and their attributes.
    Mechanism(
        "data classes",
        (),
        lambda: (
            gives(S + "attributes:fields_taken", []),
            gives(S + "attributes:default_of_field", _value("lattice.values:NOTHING")),
        ),
    ),
    Mechanism("attributes that are filled", (), lambda: (hands_on(S + "attributes:Attributes._filled", "assigned"),)),
    Mechanism(
        "attributes written by text or vars()",
        _below("engine/names", "attributes_in_text"),
        lambda: (hands_on(S + "attributes:Attributes._with_any", "value"),),
    ),
    Mechanism(
        "modules moved by themselves",
        (),
        lambda: (
            gives(S + "module_objects:ModuleObjects.is_moved_when_built", False),
            gives(S + "module_objects:ModuleObjects.may_have_moved_parts", False),
            hands_on(S + "module_objects:ModuleObjects.moved_by_itself", "instance"),
        ),
    ),
    Mechanism(
        "arguments of super().__init__()", (), lambda: (gives(S + "attribute_writes:AttributeWrites._passed_on", []),)
    ),
    # Statements and expressions.
    Mechanism(
        "constant conditions",
        _below("inference/transfer", "constant_conditions"),
        lambda: (gives(X + "constant_conditions:constant_test", None),),
    ),
    Mechanism(
        "narrowing",
        _below("inference/transfer", "class_tests narrowing"),
        lambda: (does_nothing(X + "narrowing:narrow"),),
    ),
    Mechanism(
        "guards that ask for an accelerator",
        _below("inference/transfer", "accelerator_guards"),
        lambda: (does_nothing(X + "accelerator_guards:enter_without_accelerator"),),
    ),
    Mechanism(
        "layout and bits",
        _below("inference/transfer", "representation"),
        lambda: tuple(
            hands_on(f"{X}representation:{each}", "result") for each in ("of_function", "of_method", "of_operator")
        ),
    ),
    Mechanism(
        "made by a model, by its name",
        _below("inference/transfer", "name_heuristics"),
        lambda: (hands_on(X + "name_heuristics:made_by_model", "result"),),
    ),
    Mechanism("made by a module on the CPU", (), lambda: (hands_on(X + "call_results:made_by", "result"),)),
    Mechanism("left where it was", (), lambda: (hands_on(X + "call_results:left_where_it_was", "result"),)),
    Mechanism(
        "closures that are changed",
        (),
        lambda: (
            does_nothing(X + "simple_statements:give_away"),
            does_nothing(S + "functions:FunctionSummaries._change_closures"),
        ),
    ),
    Mechanism("modules given away", (), lambda: (does_nothing(X + "mutations:give_away_modules"),)),
    Mechanism("arguments after a call", (), lambda: (does_nothing(X + "mutations:change_arguments"),)),
    Mechanism("receivers after a call", (), lambda: (does_nothing(X + "mutations:change_receiver"),)),
    Mechanism("others kept apart", (), lambda: (does_nothing(X + "mutations:_keep_others_apart"),)),
    Mechanism("aliases of what is changed", (), lambda: (does_nothing(X + "frame:Frame.change_others"),)),
    Mechanism("aliases whose grad is changed", (), lambda: (does_nothing(X + "frame:Frame.change_grad"),)),
    Mechanism("elements rewritten in a loop", (), lambda: (gives(N + "bindings:rewritten_element", None),)),
    Mechanism("flags that guard", ("engine/names/flags.py",), lambda: (gives(N + "flags:is_fixed_flag", False),)),
    Mechanism("fixpoints", (), lambda: (gives(S + "fixpoint:FixpointSolver.is_unstable", False),)),
    Mechanism(
        "annotations",
        _below("inference/transfer", "annotations"),
        lambda: (
            gives(
                S + "parameters:Parameters.annotated",
                _value("lattice.values:Unknown")(_value("lattice.reasons:Reason").ANNOTATION),
            ),
        ),
    ),
    Mechanism("return_tensors", (), lambda: (gives(X + "habit_heuristics:asked_for_as", None),)),
    Mechanism("dictionaries by their keys", (), lambda: (gives(N + "bindings:key_path", None),)),
    Mechanism("star imports", (), lambda: (gives(S + "module_variables:ModuleNames._star_import", None),)),
    # What is read of the text, and what becomes of an array.
    Mechanism(
        "errors that are caught", ("text/caught.py",), lambda: (gives("tonumpy.text.caught:is_shown_to_raise", False),)
    ),
    Mechanism(
        "outputs of notebooks",
        _below("engine/names", "shown_by_runs"),
        lambda: (gives(N + "shown_by_runs:has_been_made", False),),
    ),
    Mechanism(
        "grad mode in loops over generators",
        ("engine/names/generator_modes.py",),
        lambda: (gives("index.generator_modes:mode_in_rounds", "unchanged"),),
    ),
    Mechanism(
        "flags that constructors keep", (), lambda: (gives("transfer.constant_conditions:_flag_put_here", None),)
    ),
    Mechanism(
        "dtypes that modules register",
        (),
        lambda: (gives("summaries.module_objects:ModuleObjects.dtypes_registered", {}),),
    ),
    Mechanism("what helpers write by conversions", (), lambda: (does_nothing("memory.state:State.write_within"),)),
    Mechanism(
        "complete chains (for speed)",
        ("inference/completeness.py",),
        lambda: (gives("completeness:complete_candidates", []),),
    ),
    Mechanism(
        "gradients that are lost (TNP203)",
        (
            "inference/lost_gradients.py",
            "inference/array_flow.py",
            "inference/loss_functions.py",
            "rules/lost_gradient.py",
        ),
        lambda: (gives("lost_gradients:loses_gradient", None),),
    ),
    Mechanism(
        "arrays that return to torch",
        ("inference/back_in_torch.py",),
        lambda: (gives("back_in_torch:back_in_torch", None),),
    ),
    Mechanism(
        "shared memory (TNP201, TNP202)",
        ("inference/memory", "sinks/shared_memory.py"),
        tuple,
        ("--ignore", "TNP201,TNP202"),
    ),
    Mechanism("arguments of functions (TNP104)", ("sinks",), tuple, ("--ignore", "TNP104")),
    Mechanism(
        "arrays with tensors (TNP108)",
        ("sinks/mixtures.py", "sinks/operators.py", "sinks/operators_spelt.py"),
        tuple,
        ("--ignore", "TNP108"),
    ),
    Mechanism(
        "dtypes, layouts and bits (TNP105 to TNP107)",
        ("rules/unsupported_dtype.py", "rules/unsupported_layout.py", "rules/unresolved_bit.py"),
        tuple,
        ("--ignore", "TNP105,TNP106,TNP107"),
    ),
    Mechanism(
        "indices of one element (TNP206)",
        ("sinks/sizes",),
        lambda: (gives(K + "sizes.one_element:Singles.holds", False),),
    ),
    Mechanism("stores into arrays", ("sinks/stores.py",), lambda: (gives(K + "stores:find_stores", []),)),
    Mechanism(
        "advice: lists that are filled", ("sinks/fillings.py",), lambda: (gives(K + "fillings:filling_of", None),)
    ),
    Mechanism(
        "advice: torch's own functions",
        ("sinks/torch_counterparts.py",),
        lambda: (gives(K + "torch_counterparts:in_torch", None),),
    ),
    Mechanism(
        "programs on the CPU",
        ("inference/habits/program_on_cpu.py",),
        lambda: (
            gives("habits.program_on_cpu:CpuOnly.runs", False),
            gives("habits.program_on_cpu:CpuOnly.has_raised", False),
        ),
    ),
)


# What is gone: its lines, on how many of eight trees it was used, what changed at default and at low, and what stands
# in its place.
GONE = (
    ("risks given by callers in other files", 586, 8, 0, 0, "nothing"),
    ("hooks of modules", 400, 4, 0, 0, "what a hook keeps is unknown"),
    ("callers by what stands for a function", 191, 0, 0, 0, "nothing"),
    ("purity of tests, for shared memory", 185, 8, 0, 0, "a test of the same text is the same test"),
    ("functions of other modules, for shared memory", 57, 8, 0, 0, "nothing"),
    ("types of names in branches, for shared memory", 132, 8, 0, 0, "what is asked for its type is forgotten"),
    (
        "callers of constructors, and of methods by their objects",
        160,
        4,
        0,
        0,
        "the calls in the module, for undeclared parameters",
    ),
    ("classes, methods and functions that freeze", 125, 6, 0, 0, "unknown where the text speaks of requires_grad"),
    ("functools.singledispatch", 121, 0, 0, 0, "nothing"),
    ("parameters stored by constructors (for speed)", 73, 8, 0, 0, "the slice of the constructor"),
    ("attributes told by methods of held objects", 35, 4, 0, 0, "nothing"),
    ("attributes written by inner functions", 25, 3, 0, 0, "they are unknown"),
    ("callers by the text they give", 40, 5, 0, 0, "what stands under one key of several is unknown"),
    ("the declared entry where callers are cut off", 35, 8, 0, 0, "nothing"),
    ("callers decorated without grad", 25, 1, 0, 0, "nothing"),
    ("defaults as they were at their row", 25, 3, 0, 0, "a default that is bound again is unknown"),
    ("callers that are modules alone, and data that callers doubt", 30, 5, 0, 0, "nothing"),
    ("pessimistic entries (for speed)", 146, 8, 0, 0, "nothing"),
    ("objects after a call", 145, 7, 0, 0, "what others put into an attribute is unknown"),
    ("shared memory: tests, parts, rounds of loops", 402, 8, 0, 0, "what is not plainly the same is apart"),
    ("owners of a device read as tensors, by all their uses", 123, 4, 0, 0, "by their names"),
    ("functools.reduce, operator.add and its like, x.get_device()", 62, 0, 0, 0, "nothing"),
)


def mechanisms() -> tuple[Mechanism, ...]:
    return (*MECHANISMS, *_habits())
