"""Tries what is no call of a function that converts: operators, comparisons, indices, membership, keys, and methods of
tables, with tensors where the equal array, number or list is meant, and writes sinks/taken/table.json.

Held against the array: what raises is left to the other tables, and what gives a tensor of the same values is what was
asked for. What is left is wrong without an error: the table of TNP206.
"""

import importlib
import importlib.metadata
import inspect
import io
import json
import os
import platform
import re
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import Any

import numpy as np
import torch

from sink_trials.differences import difference
from sink_trials.table import FOLDER

TABLE = FOLDER.parent / "taken" / "table.json"

_NUMBERS = np.array([0.5, 0.25, 0.75, 1.0], "f")
# What is tried, by what it is called in the table: the word, and arrays that stand for it.
GIVEN: dict[str, tuple[np.ndarray, ...]] = {
    "tensor": (_NUMBERS, np.array([2, 0, 1, 1])),
    "mask": (np.array([True, False, True, False]),),
    "number": (np.array(1), np.array(0.25, "f")),
    "one": (np.array([1]), np.array([False])),
}
# Beside each other as the items, values and rows that tables are made of.
FORMS: dict[str, Callable[[Any], object]] = {
    "items": lambda value: [value, value],
    "values": lambda value: {"a": value},
    "rows": lambda value: [{"a": value}],
    "table": lambda value: [[value, value]],
    "lists": lambda value: {"a": [value, value]},
}
OBJECTS: dict[str, dict[str, str]] = {
    "numpy": {"ndarray": "np.array(v)", "ndarray of one": "np.array(v)[:1]"},
    "pandas": {"Series": "pd.Series(v)", "Index": "pd.Index(v)", "DataFrame": "pd.DataFrame({'a': v, 'b': v})"},
    "xarray": {"DataArray": "xr.DataArray(v, dims='x')", "Dataset": "xr.Dataset({'a': ('x', v)})"},
    "polars": {"Series": "pl.Series('a', v)", "DataFrame": "pl.DataFrame({'a': v})"},
    "builtins": {
        "set": "{*v.tolist(), 1, (1, 1), (0.25, 1)}",
        "dict": "dict.fromkeys([*v.tolist(), 1, (1, 1), (0.25, 1)], 2)",
        "list": "[*v.tolist(), 1]",
    },
}
OPERATIONS = (
    *("a == t", "t == a", "a != t", "t != a", "a < t", "a + t", "t + a", "a & t", "t in a", "a[t]", "a[t] = 9"),
    *("a['n'] = t", "a.iloc[t]", "a.loc[t]", "a.loc[0] = t"),
    *("a.isin(t)", "a.eq(t)", "a.ne(t)", "a.get(t)", "a.map({t: 1})", "a.replace(t, 9)", "a.where(t)"),
    *("a.isel(x=t)", "a.sel(x=t)", "a.filter(t)", "a.take(t)", "a.index(t)", "a.count(t)", "a.equals(t)"),
    *("a.fillna(t)", "a.searchsorted(t)", "a.add(t)", "a.setdefault(t, 1)", "a.pop(t, 1)", "a.discard(t)"),
    *("a.union(t)", "a.update(t)", "{x for x in t}", "{x: 1 for x in t}", "dict(zip(t, t))"),
    *("a[t, 1] = 9", "a.get((t, 1))", "(t, 1) in a", "a.add((t, 1))", "a.assign(n=t)", "a.loc[9] = [t, t]"),
)
# Of what is given, or of the forms above, with the expression that calls it.
FUNCTIONS = {
    f"{root}.{name}": f"{root}.{name}(t)"
    for root, names in {
        "builtins": "set frozenset dict.fromkeys",
        "collections": "Counter",
        "statistics": "mode multimode",
        "pandas": "isna notna isnull notnull unique DataFrame Series Index Categorical DataFrame.from_records"
        " DataFrame.from_dict",
        "polars": "DataFrame Series",
        "xarray": "DataArray",
    }.items()
    for name in names.split()
} | {
    "json.dump(default=str)": "json.dump(t, file, default=str) or file.getvalue()",
    "json.dumps(default=str)": "json.dumps(t, default=str)",
    "orjson.dumps(default=str)": "orjson.dumps(t, default=str).decode()",
    "ujson.dump(default=str)": "ujson.dump(t, file, default=str) or file.getvalue()",
    "ujson.dumps(default=str)": "ujson.dumps(t, default=str)",
    "csv.writer#writerow": "csv.writer(file).writerow(t) and file.getvalue()",
    "csv.writer#writerows": "csv.writer(file).writerows(t) or file.getvalue()",
    "csv.DictWriter#writerow": "csv.DictWriter(file, ['a']).writerow(t) and file.getvalue()",
    "csv.DictWriter#writerows": "csv.DictWriter(file, ['a']).writerows(t) or file.getvalue()",
}
# What finds the breaks in a signal.
BREAKING = {
    f"ruptures.{kind}#{way}": f"ruptures.{kind}(model='l2', min_size=2, jump=2).{call}"
    for kind, asked in {"Pelt": "pen=1.0", "Dynp": "n_bkps=2", "Binseg": "n_bkps=2", "BottomUp": "n_bkps=2"}.items()
    for way, call in (("fit", f"fit(t).predict({asked})"), ("fit_predict", f"fit_predict(t, {asked})"))
}
_SIGNALS = np.random.default_rng(0).integers(0, 7, (20, 12, 1)).astype(float)
# What tables of functions say to differ, and what is meant so: a tensor is kept as one, is text for a person, or stands
# where no array is meant.
_MEANT = re.compile(
    r"(pickle|networkx|filterpy|gymnasium|blosc2|cupy|numcodecs|joblib|tabulate|tensorstore|torch)\."
    r"|pandas\.(Grouper|NamedAgg|CategoricalDtype|Series#transform|.*Index#|Categorical#|DataFrame#(asof|set_axis))"
    r"|numpy\.(testing|polynomial)\.|sklearn\.calibration\.|tifffile\.pformat|xarray\.(IndexSelResult|NamedArray)"
)
_AS_TEXT = "(default=str)"  # how a function ends that is given this
_NAMES = {"numpy": "np", "pandas": "pd", "polars": "pl", "xarray": "xr"}


def _run(text: str, given: object, maker: str = "None") -> object:
    """Return what an operation or a call gives, or the object that it has changed; an error as itself."""
    space: dict[str, Any] = {"v": _NUMBERS.copy(), "t": given, "file": io.StringIO()}
    try:
        for root, short in _NAMES.items():
            space[short] = importlib.import_module(root)
        if maker == "None":
            space[_root(text)] = importlib.import_module(_root(text))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            space["a"] = eval(maker, space)
            if "] = " in text:
                exec(text, space)
                return space["a"]
            result = eval(text, space)
            return space["a"] if result is None and "get(" not in text else result
    except Exception as error:
        return error


def _as_meant(array: np.ndarray) -> object:
    return array.copy() if array.ndim else array.item()


def _hashed(value: Collection[object]) -> object:
    """Make it comparable with another: what Python's containers hold, numbers and tensors apart."""
    return Counter(type(each) is torch.Tensor for each in value), len(value)


def _apart(name: str, ask: Callable[[], str]) -> str:
    """What is asked, in a process of its own: polars takes all tensors for what the first one was, from then on."""
    if name != "polars":
        return ask()
    ours, theirs = os.pipe()
    child = os.fork()
    if not child:
        os.write(theirs, ask().encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours) as answer:
        word = answer.read()
    os.waitpid(child, 0)
    return word


def outcome(got: object, meant: object) -> str:
    """Return what a tensor gives where something else was meant; nothing where that is the same, or an error."""
    if isinstance(got, Exception) or isinstance(meant, Exception):
        return ""
    if isinstance(got, (set, frozenset, dict)) and type(got) is type(meant):
        return "" if _hashed(got) == _hashed(meant) else "identity"
    if got is None and meant is not None:
        return "none"
    if type(got) is bool and isinstance(meant, (bool, np.ndarray)):
        return "" if isinstance(meant, bool) and got == meant else str(got).lower()
    if type(got).__module__.partition(".")[0] in ("pandas", "xarray", "polars"):
        return _of_tables(got, meant)
    if isinstance(got, (np.generic, np.ndarray)) and isinstance(meant, np.ndarray) and got.ndim < meant.ndim:
        return "axis"  # `a[t]` of one element
    if isinstance(got, list) and isinstance(meant, list) and any(isinstance(each, torch.Tensor) for each in got):
        return "identity"
    word = difference(got, meant)
    if word == "values" and isinstance(got, np.ndarray) and got.dtype == bool:
        return _everywhere(got)
    return "" if word == "tensor" else word


def _everywhere(values: np.ndarray) -> str:
    return "true" if values.all() else "values" if values.any() else "false"


def _of_tables(got: Any, meant: Any) -> str:  # noqa: ANN401
    if type(got) is not type(meant):
        return ""
    try:
        one, other = (
            np.asarray(each.to_array() if hasattr(each, "to_array") else each.to_numpy()) for each in (got, meant)
        )
    except Exception:
        return ""
    if one.dtype == object and any(isinstance(each, torch.Tensor) for each in one.flat):
        return "objects" if not any(isinstance(each, np.ndarray) for each in other.flat) else ""
    if one.shape != other.shape:
        return "shape"
    if one.dtype == bool and other.dtype == bool:
        return "" if np.array_equal(one, other) else _everywhere(one)
    return difference(one, other)


def operations() -> Iterator[tuple[str, str, str, str, str]]:
    """Library, object, operation, what was given, and what came out, of what is wrong without an error."""
    for library, objects in OBJECTS.items():
        for kind, maker in objects.items():
            for text in (text for text in OPERATIONS if _is_asked(text, library, kind)):
                if "isin" in text and not _is_chance(text, maker):
                    continue
                if "isin" in text:  # by the addresses of objects, which are others in each run; so is `isin([t])`
                    yield library, kind, text, "tensor", "chance"
                    yield library, kind, text, "number", "chance"
                    continue
                for given, arrays in GIVEN.items():
                    words = [_apart(library, partial(_of_operation, text, maker, array)) for array in arrays]
                    words = [word for word in words if word]
                    if words:
                        yield library, kind, text, given, min(words)


def _is_asked(text: str, library: str, kind: str) -> bool:
    if re.search("in t|zip", text):
        return kind == "list"  # no object has a part in it
    # A list is not compared number by number, whatever it is held against.
    return not re.search("[!=]= ", text) if library == "builtins" else "t, 1" not in text


def _of_operation(text: str, maker: str, array: np.ndarray) -> str:
    return outcome(_run(text, _tensor(array), maker), _run(text, _as_meant(array), maker))


def _is_chance(text: str, maker: str) -> bool:
    """True if tables look for the tensors that are the items of one, and not for their values."""
    at_many_places = [torch.tensor(_NUMBERS) for _ in range(40)]
    return any(outcome(_run(text, each, maker), _run(text, _NUMBERS, maker)) for each in at_many_places)


_PRINTING = re.compile("_|info|show|empty|bmat|test|set_|get")  # and what gives whatever lies in memory


def _of_numpy() -> Iterator[str]:
    """Its functions that take an array and nothing else."""
    for name, function in sorted(vars(np).items()):
        if callable(function) and not isinstance(function, type) and not _PRINTING.match(name):
            yield f"numpy.{name}"


def functions() -> Iterator[tuple[str, str, str]]:
    """Function, what was given, and what came out."""
    for name, text in (FUNCTIONS | {name: f"{name}(t)" for name in _of_numpy()}).items():
        for given in ("tensor", "mask", "number"):
            pairs = [(_tensor(each), _listed(name, each)) for each in GIVEN[given]]
            words = [_apart(_root(name), partial(_of_call, text, *pair)) for pair in pairs]
            if word := next(filter(None, words), ""):
                yield name, given, word
        for form, make in FORMS.items() if name in FUNCTIONS else ():
            if word := _apart(_root(name), partial(_of_call, text, make(torch.tensor(0.25)), make(0.25))):
                yield name, form, word
    for name, text in BREAKING.items():
        if any(_run(text, torch.from_numpy(each.copy())) != _run(text, each) for each in _SIGNALS):
            yield name, "tensor", "values"


def _root(name: str) -> str:
    return name.partition(".")[0]


def _of_call(text: str, given: object, meant: object) -> str:
    return outcome(_run(text, given), _run(text, meant))


def _listed(name: str, array: np.ndarray) -> object:
    return array.tolist() if _root(name) in _OF_PYTHON or name.endswith(_AS_TEXT) else array.copy()


def _tensor(array: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(array.copy()) if array.ndim else torch.tensor(array.item())


def _of_libraries() -> Iterator[tuple[str, str, str, str]]:
    """Return what the tables of functions say to differ: function, place, what was given, and what came out."""
    for path in sorted(FOLDER.glob("*.json")):
        for name, entry in json.loads(path.read_text("utf-8")).get("others", {}).items():
            full = f"{path.stem}.{name}"
            for text in () if _MEANT.match(full) else entry:
                place, given, word, *_ = text.split()
                yield full, place, given, "objects" if path.stem == "pandas" and word == "text" else word


def write() -> None:
    """The table, with the versions that it was measured with."""
    packages = ("torch", *(each for each in OBJECTS if each != "builtins"), "ruptures")
    versions = [f"{each} {importlib.metadata.version(each).partition('+')[0]}" for each in packages]
    measured = ", ".join([f"Python {platform.python_version().rpartition('.')[0]}", *versions])
    kinds, words = defaultdict[tuple[str, str], set[str]](set), defaultdict[tuple[str, str], dict[str, str]](dict)
    for library, kind, text, given, word in operations():
        kinds[library, text].add(kind)
        words[library, text][given] = min(word, words[library, text].get(given, word))
    lines: dict[str, dict[str, str]] = {}
    for (library, text), row in words.items():
        told = " ".join(f"{given}={word}" for given, word in sorted(row.items()))
        lines.setdefault(library, {})[text] = f"{told} ({', '.join(sorted(kinds[library, text]))})"
    called = defaultdict[str, dict[str, dict[str, str]]](dict)
    for name, given, word in functions():
        called[name].setdefault(_first_place(name), {})[given] = word
    for name, place, given, word in _of_libraries():
        called[name].setdefault(place, {}).setdefault(given, word)
    calls = {
        name: [f"{place} {' '.join(f'{given}={word}' for given, word in ways.items())}" for place, ways in row.items()]
        for name, row in sorted(called.items())
    }
    parts = [f'"measured": {json.dumps(measured)}']
    parts += ['"operations": {\n' + ",\n".join(f'"{each}": {_lines(rows)}' for each, rows in lines.items()) + "\n}"]
    parts += [f'"functions": {_lines(calls)}']
    TABLE.write_text("{\n" + ",\n".join(parts) + "\n}\n", "utf-8")


def _first_place(name: str) -> str:
    """The first parameter, as the tables of functions have it: `data:0`."""
    module, _, rest = name.partition(".")
    try:
        found: Any = importlib.import_module(module)
        for part in re.split("[.#]", rest.partition("(")[0]):
            found = getattr(found, part)
        parameters = [each for each in inspect.signature(found).parameters.values() if each.name != "self"]
        first = next(iter(parameters))
    except (AttributeError, StopIteration, ValueError):
        return ":0"  # of a method, or written in C
    is_named = first.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
    return f"{first.name if is_named and module not in _OF_PYTHON else ''}:0"


_OF_PYTHON = ("builtins", "collections", "csv", "statistics")


def _lines(rows: dict[str, Any]) -> str:
    return "{\n" + ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}"
