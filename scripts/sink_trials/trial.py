"""Tries each callable of a library in a process of its own, which may hang, crash or end as it likes."""

import contextlib
import importlib
import inspect
import json
import os
import pickle
import re
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from sink_trials.calls import Call, Parameter, calls_of, parameters_of, with_options
from sink_trials.confinement import confine
from sink_trials.later import step_of
from sink_trials.libraries import Library
from sink_trials.names import methods_of
from sink_trials.outcomes import Trier
from sink_trials.table import Row, is_claimed, texts_of
from sink_trials.values import ARRAYS, WAYS, tensors_of

SECONDS = 60.0  # of one function, or method of a class; of the processor, as others may be at work
_SECONDS_OF_TRIALS = 6.0  # of these for the calls that were found
SECONDS_OF_CLASS = 60.0
_WAITS = 10  # times as long by the clock


def forked(work: Callable[[], Iterator[Row]], seconds: float, folder: Path) -> list[Row]:
    """The rows that a child process, confined to a folder, gives until it ends, or is ended."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        with contextlib.suppress(BaseException):
            os.close(reading)
            null = os.open(os.devnull, os.O_RDWR)
            for number in (0, 1, 2):
                os.dup2(null, number)
            confine(folder, int(seconds))
            for row in work():
                os.write(writing, (json.dumps(row) + "\n").encode())
            os.write(writing, b"{}\n")
        os._exit(0)
    os.close(writing)
    data, end = b"", time.monotonic() + seconds * _WAITS
    while (left := end - time.monotonic()) > 0 and select.select([reading], [], [], min(left, SECONDS * _WAITS))[0]:
        part = os.read(reading, 1 << 16)
        if not part:
            break
        data += part
    os.close(reading)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    rows = [json.loads(line) for line in data.split(b"\n")[:-1]]
    return rows[:-1] if rows and rows[-1] == {} else [*rows, {"unfinished": True}]


def trier_of(library: Library, make: Callable[[], Callable[..., Any]]) -> Trier:
    before = thing_of(library, library.before) if library.before else None

    def made() -> Callable[..., Any]:
        if before is not None:
            before()
        return make()

    return Trier(made, library.plain, step_of(library))


def of_function(name: str, function: Callable[..., Any], library: Library) -> Iterator[Row]:
    """Yield one row: the parameters that take an array, and what becomes of a tensor there."""
    yield measured(name, function, trier_of(library, lambda: function))


def of_class(name: str, kind: type, library: Library, known: set[str]) -> Iterator[Row]:
    """Yield the row of its constructor, then of each method that is not known by its code already."""
    trier = trier_of(library, lambda: kind)
    calls = calls_found(kind, trier)
    yield measured(name, kind, trier, calls)
    bare = Call(())
    makers = [*([bare] if trier.works(bare) else []), *calls[:1]]
    if makers:
        yield from of_object(name, _copied(partial(fitted, trier, makers[0])), library, known)


def _copied(make: Callable[[], object]) -> Callable[[], object]:
    """Copies of one object, where that can be pickled: to fit an estimator takes longer."""
    try:
        data = pickle.dumps(make())
        pickle.loads(data)
    except Exception:
        return make
    return partial(pickle.loads, data)


def fitted(trier: Trier, call: Call) -> object:
    """An object of the class; an estimator is fitted, as others of its methods ask for that."""
    thing = trier.run(call)
    if hasattr(thing, "fit") and hasattr(thing, "get_params"):
        for given in ((ARRAYS["x"], ARRAYS["y"]), (ARRAYS["x"],), (ARRAYS["y"],)):
            with contextlib.suppress(Exception):
                return thing.fit(*(each.copy() for each in given))
    return thing


def of_object(name: str, make: Callable[[], object], library: Library, known: set[str]) -> Iterator[Row]:
    for row in methods_in(make):
        if row["code"] not in known:
            yield from of_method(name, make, row["method"], row["code"], library)


def methods_in(make: Callable[[], object]) -> Iterator[Row]:
    thing = make()
    for method in methods_of(type(thing)):
        if callable(getattr(thing, method, None)):
            yield {"method": method, "code": _code_of(type(thing), method)}


def of_method(name: str, make: Callable[[], object], method: str, code: str, library: Library) -> Iterator[Row]:
    trier = trier_of(library, lambda: getattr(make(), method))
    yield {**measured(f"{name}#{method}", getattr(make(), method), trier), "code": code}


def _code_of(kind: type, method: str) -> str:
    """Name the place where a method is defined: it is the same in all classes that inherit it."""
    static = inspect.getattr_static(kind, method, None)
    code = inspect.unwrap(getattr(static, "__func__", static))
    home = next((each for each in kind.__mro__ if method in vars(each)), kind)
    name = getattr(code, "__qualname__", f"{home.__qualname__}.{method}")
    return f"{getattr(code, '__module__', home.__module__)}.{name}"


def measured_by_hand(library: Library, text: str) -> Iterator[Row]:
    """A call of the library's table: of a function, or of a method of one of its things."""
    path, _, rest = text.partition("(")
    call = Call.parse(f"({rest}")
    owner, _, method = path.rpartition(".")
    thing = next((each for each in library.things if f"{library.root}.{each.name}" == owner), None)
    if thing is None:
        function = function_of(path)
        trier = trier_of(library, lambda: function)
    else:
        make = thing_of(library, thing.make)
        trier = trier_of(library, lambda: getattr(make(), method))
        function, path = getattr(make(), method), f"{owner}#{method}"
    row = measured(path, function, trier, [call])
    assert row["found"], f"{text} works neither with arrays nor with what holds them"
    yield row


def function_of(name: str) -> Callable[..., Any]:
    found: Any = importlib.import_module(name.partition(".")[0])
    for number, part in enumerate(name.split(".")[1:], 2):
        if not hasattr(found, part):
            importlib.import_module(".".join(name.split(".")[:number]))
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def measured(name: str, function: Callable[..., Any], trier: Trier, calls: list[Call] | None = None) -> Row:
    parameters = parameters_of(function)
    found: dict[str, dict[str, Any]] = {}
    calls = calls_found(function, trier) if calls is None else calls
    tried = set()
    end = time.process_time() + _SECONDS_OF_TRIALS
    for call in calls:
        if time.process_time() > end:
            break
        for slot in call.slots:
            place = place_of(slot, parameters)
            if (place, call.text_at(slot), len(call.positional)) in tried:
                continue  # beside another parameter, it does the same
            tried.add((place, call.text_at(slot), len(call.positional)))
            for way, outcome in trier.outcomes(call, slot).items():
                beside = _taken_beside(trier, call, slot, way, parameters, outcome.later) if outcome.never else call
                # What is taken beside an option may still be refused there if it requires grad.
                said = outcome if beside in (call, None) else trier.outcomes(beside, slot).get(way)
                if said is not None:
                    said = said if said is outcome or said.never else trier.told_by(call, slot, way, said)
                    found.setdefault(json.dumps(place), {}).setdefault(way, []).append([str(beside or call), *said])
    return {"name": name, "accepts": bool(calls), "found": found}


def calls_found(function: Callable[..., Any], trier: Trier) -> list[Call]:
    """Calls after which arrays last, where there are such."""
    found = calls_of(function, trier.lasts) if trier.has_step else []
    return calls_of(function, trier.works) if not found and trier.takes_some == trier.has_step else found


def _taken_beside(
    trier: Trier, call: Call, slot: int | str, way: str, parameters: list[Parameter], later: bool
) -> Call | None:
    """The call with an option beside which a tensor that is refused works, if there is one: `np.any(x, axis=0)`."""
    return next(
        (
            beside
            for beside in with_options(call, parameters)
            for given in WAYS[way]
            if trier.works(beside, slot, lambda array, given=given: given(tensors_of(array, "plain")[0]), later)
        ),
        None,
    )


def place_of(slot: int | str, parameters: list[Parameter]) -> tuple[str | None, int | None]:
    """The parameter's name (None where it is positional only, `**` for every other) and position (-1 for every one from
    `*args` on)."""
    if isinstance(slot, str):
        kinds = {each.name: each.kind for each in parameters}
        if slot not in kinds and inspect.Parameter.VAR_KEYWORD in kinds.values():
            return "**", None
        names = [each.name for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY]
        before = next((n for n, each in enumerate(parameters) if each.kind is inspect.Parameter.VAR_POSITIONAL), 99)
        return slot, names.index(slot) if slot in names and names.index(slot) < before else None
    for position, parameter in enumerate(parameters):
        if parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            return None, -1
        if position == slot:
            return (None if parameter.kind is inspect.Parameter.POSITIONAL_ONLY else parameter.name), position
    return None, slot


def thing_of(library: Library, make: str) -> Callable[[], object]:
    """Return what makes an object by an expression of the library's table."""

    def made() -> object:
        space: dict[str, object] = {name: array.copy() for name, array in ARRAYS.items()}
        space["file"] = os.path.join(tempfile.mkdtemp(), "made")
        for name in (library.root, *library.modules, *ALSO.get(library.root, ())):
            space[name.partition(".")[0]] = importlib.import_module(name.partition(".")[0])
            space[name.rpartition(".")[2]] = importlib.import_module(name)
        space.update(vars(sys.modules[library.root]) if library.root == "torch.utils.tensorboard" else {})
        space.update({"trained": _trained, "made": _made, "with_variable": _with_variable, "NEGATIVE": NEGATIVE})
        return eval(make, space)

    return made


def _with_variable(dataset: Any) -> object:  # noqa: ANN401
    dataset.createDimension("a", 6)
    return dataset.createVariable("x", "f4", ("a",))


# A model of ONNX: `b` is `-a`, of six numbers.
NEGATIVE = bytes.fromhex(
    "080812003a320a0b0a016112016222034e65671201675a0f0a0161120a0a08080112040a020806620f0a0162120a0a08080112040a02080642"
    "040a001011"
)
ALSO = {"matplotlib": ("matplotlib.pyplot", "matplotlib.figure"), "statsmodels": ("matplotlib.pyplot",)}


def _trained(index: Any) -> object:  # noqa: ANN401
    index.add(ARRAYS["x"])
    return index


def _made(index: Any) -> object:  # noqa: ANN401
    index.init_index(100)
    index.add_items(ARRAYS["x"])
    return index


def differing(library: Library, table: dict[str, list[str] | str], every: int, folder: Path) -> list[str]:
    """The rows of a table that are no longer true, of every Nth: each parameter tried by its own call again."""
    rows = [(name, entry) for name, entry in sorted(table.items()) if isinstance(entry, list) and "#" not in name]
    found = []
    for name, entry in rows[::every]:
        rows_now = forked(lambda name=name, entry=entry: _again(library, name, entry), SECONDS, folder)
        if {"same": True} not in rows_now:
            found.append(f"{library.root}.{name}")
    return found


def _again(library: Library, name: str, entry: list[str]) -> Iterator[Row]:
    function = function_of(name if name.startswith("mpl_toolkits.") else f"{library.root}.{name}")
    trier = trier_of(library, lambda: function)
    parameters = parameters_of(function)
    texts = []
    for text in entry:
        head, _, rest = text.partition(" | ")[0].partition(" (")
        call = Call.parse(f"({rest}")
        place = json.dumps(place_of_text(head))
        found: dict[str, dict[str, Any]] = {}
        for slot in call.slots:
            if json.dumps(place_of(slot, parameters)) == place:
                for way, outcome in trier.outcomes(call, slot).items():
                    found.setdefault(place, {}).setdefault(way, []).append([str(call), *outcome])
        texts += texts_of(found, "!!" if library.plain else "!")
    claimed = [re.sub(r" \?\S+", "", text, count=1) for text in entry]  # without the options that are given by hand
    yield {"same": all(any(is_claimed(text, now) for now in texts) for text in claimed)}


def place_of_text(head: str) -> tuple[str | None, int | None]:
    name, _, position = head.partition(" ")[0].partition(":")
    return name or None, int(position) if position else None
