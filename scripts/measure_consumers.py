"""Writes sinks/consumers.json: which functions of NumPy, Matplotlib, pandas, ... convert a tensor they are given.

Every call of consumer_trials.py is run with an array, with a plain tensor, with one that requires grad and with lists
of tensors. A parameter is one that converts if a tensor works there and torch's own refusal comes out for one that
requires grad. Needs torch, numpy, matplotlib, pandas, scipy, scikit-learn, seaborn, pillow and opencv-python-headless;
with --check, writes nothing and names the functions that differ. The libraries of TRIALS_ELSEWHERE are measured where
they are installed; what the table says of the others, and of which version that was true, stays as it is.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import importlib.metadata
import importlib.util
import inspect
import io
import json
import os
import sys
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from consumer_trials import TRIALS, TRIALS_ELSEWHERE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

TARGET = Path(__file__).parent.parent / "src" / "tonumpy" / "sinks" / "consumers.json"
# Torch's own words, and those of pybind11, which hides them.
REFUSALS = ("Can't call numpy() on Tensor that requires grad.", "Unable to cast Python instance of type <class 'torch.")

VALUES = {
    "v": torch.tensor([0.5, 0.25, 0.75, 1.0, 0.125, 2.0]),
    "i": torch.tensor([0, 1, 2, 1, 0, 3]),
    "b": torch.tensor([0, 1, 1, 1]),
    "m": torch.tensor([[4.0, 1.0, 0.5, 0.25], [1.0, 3.0, 0.5, 0.5], [0.5, 0.5, 5.0, 1.0], [0.25, 0.5, 1.0, 6.0]]),
    "s": torch.tensor(0.5),
    "p": torch.linspace(0, 1, 48).reshape(4, 4, 3),
    "u": torch.arange(48, dtype=torch.uint8).reshape(4, 4, 3),
    "c": torch.tensor([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
}


# Of files, by a word in the name of what writes them.
_ENDINGS = {"mimsave": ".gif", "imsave": ".png", "imwrite": ".png", "soundfile": ".wav"}


class Trial(NamedTuple):
    """A call: the function's name, and its arguments as expressions by position or keyword."""

    name: str
    positional: list[ast.expr]
    named: dict[str, ast.expr]

    @classmethod
    def parse(cls, text: str) -> Trial:
        call = ast.parse(text, mode="eval").body
        assert isinstance(call, ast.Call)
        named = {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        return cls(ast.unparse(call.func), call.args, named)

    @property
    def slots(self) -> list[int | str]:
        """The arguments that stand for values."""
        arguments: list[tuple[int | str, ast.expr]] = [*enumerate(self.positional), *self.named.items()]
        return [key for key, node in arguments if isinstance(node, ast.Name) and node.id in VALUES]

    def call(self, make: Callable[[torch.Tensor], object], at: int | str | None) -> object:
        """The result with `make` of the value at one slot (None: at all of them), and arrays at the others."""

        def value(key: int | str, node: ast.expr) -> object:
            if isinstance(node, ast.Name) and node.id in VALUES:
                tensor = VALUES[node.id]
                if self.name.startswith("sklearn.metrics") and node.id == "v" and "b" in _names(self.positional):
                    tensor = tensor[:4]
                return make(tensor) if at is None or at == key else tensor.numpy().copy()
            if isinstance(node, ast.Name) and node.id == "file":
                ending = next((ending for word, ending in _ENDINGS.items() if word in self.name), "")
                return os.path.join(tempfile.gettempdir(), f"consumer{ending}")
            return ast.literal_eval(node)

        function = function_of(self.name)
        positional = [value(key, node) for key, node in enumerate(self.positional)]
        np.random.seed(0)
        if "matplotlib.pyplot" in sys.modules:
            sys.modules["matplotlib.pyplot"].close("all")  # axes keep the units of what was drawn on them before
        with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
            warnings.simplefilter("ignore")
            return function(*positional, **{key: value(key, node) for key, node in self.named.items()})


def _names(nodes: Iterable[ast.expr]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def function_of(name: str) -> Callable[..., Any]:
    owner, _, attribute = name.rpartition(".")
    if owner == "Axes":
        return getattr(_axes(), attribute)  # type: ignore[no-any-return]
    if owner == "Estimator":
        return getattr(_estimator(attribute), attribute)  # type: ignore[no-any-return]
    if owner == "Group":
        return getattr(_group(), attribute)  # type: ignore[no-any-return]
    found: Any = importlib.import_module(name.partition(".")[0])
    for number, part in enumerate(name.split(".")[1:], 2):
        if not hasattr(found, part):
            importlib.import_module(".".join(name.split(".")[:number]))
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def _axes() -> object:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    plt.close("all")
    return plt.subplots()[1]


def _estimator(method: str) -> object:
    from sklearn.cluster import KMeans
    from sklearn.decomposition import PCA
    from sklearn.linear_model import LogisticRegression

    array = VALUES["m"].numpy()
    if method in ("predict", "fit_predict"):
        return KMeans(2, random_state=0, n_init=1).fit(array)
    if method in ("fit", "predict_proba", "score"):
        return LogisticRegression().fit(array, VALUES["b"].numpy())
    return PCA(2).fit(array)


def _group() -> object:
    import h5py

    return h5py.File(io.BytesIO(), "w")


# How a tensor is given: itself, in a list, or in a dict.
SHAPES: dict[str, tuple[Callable[[Any], object], ...]] = {
    "tensor": (lambda value: value,),
    "items": (lambda value: [value, value], list),
    "values": (lambda value: {"a": value},),
}


def converts(trial: Trial, slot: int | str, given: Callable[[Any], object]) -> bool:
    """Whether a plain tensor works at this slot and torch refuses one that requires grad."""
    try:
        trial.call(given, slot)
    except Exception:
        return False
    try:
        trial.call(lambda tensor: given(with_grad(tensor)), slot)
    except RuntimeError as error:
        return str(error).startswith(REFUSALS)
    except Exception:
        return False
    return False


def with_grad(tensor: torch.Tensor) -> torch.Tensor:
    return (tensor if tensor.is_floating_point() else tensor.float()).clone().requires_grad_()


def gives_the_same(trial: Trial, slot: int | str, given: Callable[[Any], object]) -> bool:
    """Whether the call gives of a tensor what it gives of its array, so that converting it before changes nothing."""
    return same(trial.call(given, slot), trial.call(lambda tensor: given(tensor.numpy().copy()), slot))


def same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor) or type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, np.generic)) and isinstance(other, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    if type(one).__module__.startswith("pandas"):
        return bool(one.equals(other))  # type: ignore[attr-defined]
    if type(one).__module__.split(".")[0] in ("matplotlib", "sklearn"):
        return True
    if type(one).__module__.startswith("h5py"):
        return same(one[...], other[...])  # type: ignore[index]
    try:
        return bool(one == other)
    except Exception:
        return False  # objects that cannot be compared: nothing is promised of them


def parameters_of(name: str) -> list[tuple[str, inspect._ParameterKind]]:
    try:
        signature = inspect.signature(function_of(name))
    except ValueError:
        return []
    return [(parameter.name, parameter.kind) for parameter in signature.parameters.values()]


def measure(library: str = "") -> dict[str, Any]:
    """What converts: `[[parameter, position, what it takes], ...]`, and whether arrays give the same."""
    found: dict[str, Any] = {}
    for text in filter(lambda text: text.startswith(library), (*TRIALS, *filter(_is_installed, TRIALS_ELSEWHERE))):
        trial = Trial.parse(text)
        parameters = parameters_of(trial.name)
        entry = found.get(trial.name, {"converts": [], "same": True})
        for slot in trial.slots:
            name, position = _place(slot, parameters)
            known = next((each for each in entry["converts"] if each[:2] == [name, position]), [name, position, []])
            for kind, ways in SHAPES.items():
                converting = [given for given in ways if converts(trial, slot, given)]
                if converting and kind not in known[2]:
                    known[2].append(kind)
                entry["same"] &= all(gives_the_same(trial, slot, given) for given in converting)
            if known[2] and known not in entry["converts"]:
                entry["converts"].append(known)
        if entry["converts"]:
            if text in TRIALS_ELSEWHERE:
                root = _library_of(text)
                entry["measured"] = f"{root} {importlib.metadata.version(_PACKAGES.get(root, root))}"
            found[trial.name] = entry
    return found


_PACKAGES = {"skimage": "scikit-image"}


def _library_of(text: str) -> str:
    root = text.partition(".")[0]
    return "h5py" if root == "Group" else root


def _is_installed(text: str) -> bool:
    return importlib.util.find_spec(_library_of(text)) is not None


def _kept(library: str = "") -> dict[str, Any]:
    """What the table says of functions of libraries that are not installed."""
    elsewhere = {Trial.parse(text).name for text in TRIALS_ELSEWHERE if not _is_installed(text)}
    table = json.loads(TARGET.read_text(encoding="utf-8"))
    return {name: entry for name, entry in table.items() if name in elsewhere and name.startswith(library)}


def _place(slot: int | str, parameters: list[tuple[str, inspect._ParameterKind]]) -> tuple[str | None, int | None]:
    """The parameter's name (None where it is positional only, `**` for every other) and position (-1 for every one from
    `*args` on)."""
    if isinstance(slot, str):
        kinds = dict(parameters)
        if slot not in kinds and inspect.Parameter.VAR_KEYWORD in kinds.values():
            return "**", None
        names = [name for name, kind in parameters if kind is not inspect.Parameter.KEYWORD_ONLY]
        return slot, names.index(slot) if slot in names else None
    for position, (name, kind) in enumerate(parameters):
        if kind is inspect.Parameter.VAR_POSITIONAL:
            return None, -1
        if position == slot:
            return (None if kind is inspect.Parameter.POSITIONAL_ONLY else name), position
    return None, slot


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="name the functions that differ, exit 1 if there are any")
    parser.add_argument("--only", default="", help="measure only functions whose names begin so")
    arguments = parser.parse_args()
    if arguments.check:
        table = json.loads(TARGET.read_text(encoding="utf-8"))
        known = {name: entry for name, entry in table.items() if name.startswith(arguments.only)}
        measured = {**_kept(arguments.only), **measure(arguments.only)}
        differing = [name for name in sorted({*known, *measured}) if known.get(name) != measured.get(name)]
        print("\n".join(differing))
        return 1 if differing else 0
    table = json.loads(TARGET.read_text(encoding="utf-8")) if arguments.only else {}
    others = {name: entry for name, entry in table.items() if not name.startswith(arguments.only)}
    table = {**others, **_kept(arguments.only), **measure(arguments.only)}
    rows = ",\n".join(f"{json.dumps(name)}: {json.dumps(entry)}" for name, entry in sorted(table.items()))
    TARGET.write_text(f"{{\n{rows}\n}}\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
