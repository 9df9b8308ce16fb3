"""Reads the libraries' TOML files and looks up rows by name, for a class also those of its bases."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.values.dtypes import is_integral
from tonumpy.engine.values.values import Arguments, Constant

Where = Literal[
    "cpu",
    "accelerator",
    "first",
    "inputs",
    "self",
    "both",
    "parameters",
    "argument",
    "given",
    "default type",
    "unknown",
    "chosen",
]
Whether = Literal[
    "never", "first", "inputs", "self", "both", "some of both", "own", "unknown", "asked", "argument", "derived"
]

Place = tuple[int, str]  # of an argument: by position, or by name


class Promise(NamedTuple):
    """One row. `device`: that of the result; `grad`: whether the result may require grad while grad mode is on. A
    device of "parameters" is the object's, where that is known; its inputs must be there too. A grad of "own" is that
    of a tensor the object holds, such as a parameter, independent of grad mode; "some of both" is that of object and
    arguments, unless the result is detached; "asked" is the argument `requires_grad=` (second by position), by default
    True, independent of grad mode; "argument" is the same with default False; "derived" is a tensor that is either held
    or computed.

    `returns` has several kinds for a tuple of these; `when` are keywords with the literals that they must have, and
    `places` the positions of some of them; `position` is that of a device given without its `keyword`; `reduces`: the
    result may have no dimensions.
    """

    returns: tuple[str, ...]
    device: Where
    grad: Whether
    dtype: str | None
    when: tuple[tuple[str, str | bool], ...]
    position: int | None
    keyword: str
    reduces: bool = False
    places: tuple[Place, ...] = ()
    name: str = ""  # of the function, class or attribute, with its library's
    source: str = ""  # the document that it was read from


class Library(NamedTuple):
    """One file: promises by full name, what classes extend, and methods that the library calls without grad."""

    promises: dict[str, list[Promise]]
    attributes: dict[str, Promise]
    bases: dict[str, tuple[str, ...]]
    aliases: dict[str, str]
    families: tuple[tuple[str, str, str], ...]  # how the names start, how they end, what the classes extend
    without_grad: dict[str, frozenset[str]]
    hooks: dict[str, list[tuple[int, Promise]]]  # what the library passes to a method, by the parameter's position
    fills: dict[str, tuple[Place, Place]]  # which list a function fills, and with which of its arguments
    terms: dict[str, str]  # attributes and keys (`.name`, `[name]`) that hold objects of a class, whatever has them


_EMPTY = Library({}, {}, {}, {}, (), {}, {}, {}, {})

# Libraries whose results neither are nor hold tensors. Left out: networkx (a graph holds any object), faiss (returns
# tensors with its contrib.torch_utils), fire (returns the function's result).
# A mock (of unittest) gives mocks, and a test that tells it to give a tensor holds that already.
_PLAIN_ROOTS = frozenset(
    "numpy pandas scipy sklearn matplotlib cv2 PIL os sys re json math time random string io pathlib argparse logging"
    " csv glob shutil subprocess datetime struct yaml warnings uuid hashlib gzip zipfile tarfile tempfile platform"
    " socket urllib textwrap pprint inspect ast getpass calendar locale decimal fractions statistics bisect secrets"
    " base64 binascii configparser traceback shlex stat errno signal html http xml email difflib codecs unicodedata"
    " zlib bz2 lzma cProfile pstats timeit h5py zarr netCDF4 xarray skimage imageio tifffile rasterio nibabel"
    " SimpleITK pydicom seaborn plotly bokeh altair numba cvxpy sympy statsmodels nltk rdkit psutil requests bs4"
    " soundfile librosa resampy pyroomacoustics mir_eval pesq pystoi pycocotools lvis shapely trimesh lmdb msgpack"
    " ujson orjson toml tomllib tomli omegaconf wandb mlflow comet_ml neptune click typer rich tabulate prettytable"
    " termcolor colorama editdistance Levenshtein sacrebleu rouge_score seqeval sentencepiece tokenizers"
    " tiktoken jieba xgboost lightgbm catboost umap hdbscan optuna mujoco pybullet unittest mock IPython ipywidgets"
    " mpl_toolkits matplotlib_inline six pyvista".split()
)


def gives_plain_values(name: str) -> bool:
    """True if results of a library's function neither are nor hold tensors (numpy, pandas, the standard library)."""
    return name.partition(".")[0] in _PLAIN_ROOTS


@cache
def load(root: str) -> Library:
    """The promises of the library whose import starts with `root`."""
    path = os.path.join(os.path.dirname(__file__), f"{root}.toml")
    if not os.path.exists(path):
        return _EMPTY
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    with open(path, "rb") as file:
        return _library(tomllib.load(file))


def _library(table: dict[str, Any]) -> Library:
    promises: dict[str, list[Promise]] = {}
    for row, name in _rows(table, "promise"):
        promises.setdefault(name, []).append(_promise(row, name))
    hooks: dict[str, list[tuple[int, Promise]]] = {}
    for row, method in _rows(table, "hook", "method"):
        promise = _promise({"returns": "unknown", **row}, method)
        hooks.setdefault(method, []).append((row["parameter"], promise))
    return Library(
        promises,
        attributes={name: _promise(row, name) for row, name in _rows(table, "attribute")},
        bases={name: tuple(row["bases"]) for row, name in _rows(table, "class")},
        aliases={alias: row["name"] for row, alias in _rows(table, "alias", "of")},
        families=tuple((row["prefix"], suffix, row["base"]) for row, suffix in _rows(table, "family", "suffix")),
        without_grad={name: frozenset(row["methods"]) for row, name in _rows(table, "without_grad", "class")},
        hooks=hooks,
        fills={name: (tuple(row["list"]), tuple(row["with"])) for row, name in _rows(table, "fill")},
        terms={name: row["class"] for row, name in _rows(table, "term")},
    )


def _rows(table: dict[str, Any], kind: str, key: str = "name") -> Iterator[tuple[dict[str, Any], str]]:
    """Yield the rows of one kind, each once for every name that it lists under `key`."""
    for row in table.get(kind, ()):
        for name in _listed(row.get(key, "")):
            yield row, name


def _promise(row: dict[str, Any], name: str) -> Promise:
    return Promise(
        tuple(_listed(row["returns"])),
        row.get("device", "unknown"),
        row.get("grad", "unknown"),
        row.get("dtype"),
        tuple(row.get("when", {}).items()),
        row.get("position"),
        row.get("keyword", "device"),
        places=tuple((position, word) for word, position in row.get("places", {}).items()),
        name=name,
        source=row.get("source", ""),
    )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@lru_cache(maxsize=16_384)
def canonical(name: str) -> str:
    """The name that a library's rows use for a function or class, with aliases resolved."""
    aliases = load(name.partition(".")[0]).aliases
    if name in aliases:
        return canonical(aliases[name])
    for alias, meant in aliases.items():
        if name.startswith(f"{alias}."):
            return canonical(f"{meant}{name[len(alias) :]}")
    return name


def promise_of(name: str, arguments: Arguments) -> Promise | None:
    """The promise about a function, class or method for a call with these arguments."""
    name = canonical(name)
    rows = load(name.partition(".")[0]).promises.get(name, ())
    given, hidden = _literals_given(rows, arguments)
    for row in rows:
        if row.when and all(word in hidden or given.get(word) == literal for word, literal in row.when):
            return row if hidden.isdisjoint(word for word, _ in row.when) else _whichever(rows)
    return next((row for row in rows if not row.when and not given and not hidden), None)


def _literals_given(rows: Collection[Promise], arguments: Arguments) -> tuple[dict[str, object], set[str]]:
    """The literals that a call passes for the keywords in `when`, and the keywords whose values are unknown."""
    given: dict[str, object] = {}
    hidden: set[str] = set()
    positions = {word: position for row in rows for position, word in row.places}
    asked = [pair for row in rows for pair in row.when]
    for word in {word for word, _ in asked}:
        value = arguments.get(positions[word], word) if word in positions else arguments.named_value(word)
        if isinstance(value, Constant):
            if value.value not in (None, False) or (word, value.value) in asked:
                given[word] = value.value
        elif value is not None or arguments.has_star:
            hidden.add(word)
    return given, hidden


def _whichever(rows: Collection[Promise]) -> Promise | None:
    """The facts that all rows agree on, for a call of which it is unknown which row applies; None if maybe none
    does."""
    if all(row.when for row in rows):
        return None
    made = [row for row in rows if not row.returns[0].startswith(("plain:", "foreign:"))]
    places = {(row.device, row.position, row.keyword) for row in made}
    grads = {row.grad for row in made}
    device, position, keyword = places.pop() if len(places) == 1 else ("unknown", None, "device")
    return Promise(("unknown",), device, grads.pop() if len(grads) == 1 else "unknown", None, (), position, keyword)


@lru_cache(maxsize=16_384)
def bases_of(name: str) -> tuple[str, ...]:
    """A library class and what it extends, nearest first."""
    found, waiting = list[str](), [canonical(name)]
    while waiting:
        current = waiting.pop(0)
        if current in found or not current:
            continue
        found.append(current)
        library = load(current.partition(".")[0])
        waiting.extend(library.bases.get(current, ()))
        if current not in library.bases:
            waiting.extend(
                base
                for prefix, suffix, base in library.families
                if current.startswith(prefix) and current.endswith(suffix) and current != base
            )
    return tuple(found)


def member_promise(class_names: list[str], name: str, arguments: Arguments) -> Promise | None:
    """The promise about a method of a class, its own or inherited."""
    for given in class_names:
        for current in bases_of(given):
            promise = promise_of(f"{current}.{name}", arguments) or _of_layer(current, name)
            if promise is not None:
                return promise
    return None


def _of_layer(name: str, method: str) -> Promise | None:
    """The measured promise about calling a layer of torch.nn."""
    if method not in ("__call__", "forward") or not name.startswith("torch.nn."):
        return None
    layer = torch_api.module(name)
    if layer is None or layer.returns is None:
        return None
    returns = {"tensor": ("tensor",), "tuple": ("recurrent", "unknown")}[layer.returns]
    device: Where = "inputs" if layer.has_parameters is False else "parameters" if layer.has_parameters else "both"
    grad: Whether = "inputs" if layer.has_parameters is False else "both"
    made = Promise(returns, device, grad, layer.dtype, (), None, "device", bool(layer.reduces))
    return made._replace(name=name, source="measured on torch")


def attribute_promise(class_names: list[str], name: str) -> Promise | None:
    """The promise about an attribute of a class, its own or inherited."""
    for given in class_names:
        for current in bases_of(given):
            promise = load(current.partition(".")[0]).attributes.get(f"{current}.{name}")
            if promise is not None:
                return promise
    return None


@cache
def integers_of_layers() -> dict[str, str]:
    """The attributes of torch.nn layers that stay integers under any cast (`num_batches_tracked`), with their
    dtypes."""
    attributes = load("torch").attributes.items()
    return {name.rpartition(".")[2]: row.dtype for name, row in attributes if row.dtype and is_integral(row.dtype)}


def is_module(names: list[str]) -> bool:
    """True if a class that extends these is a torch.nn.Module."""
    return any("torch.nn.Module" in bases_of(name) for name in names)


def is_operator(names: list[str]) -> bool:
    """True if a class that extends these is a torch.autograd.Function, a custom operator."""
    return any("torch.autograd.Function" in bases_of(name) for name in names)


def is_called_dataset(name: str) -> bool:
    """True if a class is named like a dataset: `YCB_Dataset`, `LinemodDatasetAugmented`."""
    return "Dataset" in name


def is_dataset(names: list[str]) -> bool:
    """True if a class that extends these is a torch.utils.data.Dataset, or a base of any library is named like one."""
    return any(
        "torch.utils.data.Dataset" in bases_of(name) or is_called_dataset(name.rpartition(".")[2]) for name in names
    )
