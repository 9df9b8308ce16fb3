"""What well-known libraries promise: one TOML file a library, named after the root of its imports, one row a promise.

A row names a function (`torchvision.utils.make_grid`) or a method or attribute of a class
(`torch.nn.Module.state_dict`), what it returns, where that lives and whether it may require grad, and the document
it was read from. The format is described in docs/inference.md.
"""

from __future__ import annotations

import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from tonumpy.conversions import Fact
from tonumpy.inference.operators import cpu_of_device, result_facts
from tonumpy.inference.values import (
    NONE,
    Arguments,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Method,
    Nothing,
    Plain,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    join_all,
)

if TYPE_CHECKING:
    from tonumpy.inference.analysis import Analysis
    from tonumpy.inference.frame import Frame
    from tonumpy.inference.values import Class

Where = Literal["cpu", "inputs", "self", "both", "argument", "unknown"]
Whether = Literal["never", "inputs", "self", "both", "unknown", "always"]


class Promise(NamedTuple):
    """One row. `device`: of what is returned; `grad`: whether it may require grad while grad mode is on."""

    returns: str
    device: Where
    grad: Whether
    dtype: str | None


class Library(NamedTuple):
    """One file: promises by full name, bases of classes, methods that run without grad, roots of plain values."""

    promises: dict[str, Promise]
    bases: dict[str, tuple[str, ...]]
    aliases: dict[str, str]
    families: tuple[tuple[str, str], ...]
    without_grad: dict[str, frozenset[str]]


_EMPTY = Library({}, {}, {}, (), {})

# Libraries none of whose results is a tensor, nor holds one.
_PLAIN_ROOTS = frozenset(
    "numpy pandas scipy sklearn matplotlib cv2 PIL os sys re json math time random string io pathlib argparse logging csv glob"
    " shutil subprocess datetime struct yaml h5py skimage imageio seaborn plotly networkx numba warnings operator_ uuid hashlib"
    " gzip zipfile tarfile tempfile platform socket cvxpy sympy statsmodels nltk rdkit faiss psutil requests urllib textwrap"
    " pprint gc inspect ast tqdm_ soundfile librosa resampy pyroomacoustics pycocotools shapely trimesh open3d_ lmdb msgpack"
    " wandb tensorboard mlflow comet_ml fire click typer rich tabulate prettytable editdistance sacrebleu sentencepiece".split()
)


def gives_plain_values(name: str) -> bool:
    """Whether a library's function returns nothing that is or holds a tensor (numpy, pandas, the standard library)."""
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
    promises = {
        name: Promise(row["returns"], row.get("device", "unknown"), row.get("grad", "unknown"), row.get("dtype"))
        for row in table.get("promise", ())
        for name in ([row["name"]] if isinstance(row["name"], str) else row["name"])
    }
    bases: dict[str, tuple[str, ...]] = {row["name"]: tuple(row["bases"]) for row in table.get("class", ())}
    aliases = {alias: row["name"] for row in table.get("alias", ()) for alias in row["of"]}
    families = tuple((row["prefix"], row["base"]) for row in table.get("family", ()))
    without_grad = {row["class"]: frozenset(row["methods"]) for row in table.get("without_grad", ())}
    return Library(promises, bases, aliases, families, without_grad)


def canonical(name: str) -> str:
    """The name under which a library's rows know a function or class."""
    library = load(name.partition(".")[0])
    owner, _, last = name.rpartition(".")
    if name in library.aliases:
        return library.aliases[name]
    for alias, meant in library.aliases.items():
        if name.startswith(f"{alias}."):
            return f"{meant}{name[len(alias):]}"
    return name


def promise_of(name: str) -> Promise | None:
    name = canonical(name)
    return load(name.partition(".")[0]).promises.get(name)


def bases_of(name: str) -> list[str]:
    """A library class and what it extends, nearest first."""
    found, waiting = [], [canonical(name)]
    while waiting:
        current = waiting.pop(0)
        if current in found or not current:
            continue
        found.append(current)
        library = load(current.partition(".")[0])
        waiting.extend(library.bases.get(current, ()))
        if current not in library.bases:
            waiting.extend(base for prefix, base in library.families if current.startswith(prefix) and current != base)
    return found


def member_promise(class_names: list[str], name: str) -> Promise | None:
    """The promise about a method or attribute of a class, its own or inherited."""
    for given in class_names:
        for current in bases_of(given):
            promise = promise_of(f"{current}.{name}")
            if promise is not None:
                return promise
    return None


def keep(frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments) -> Value:
    """The value that a promise describes, for these arguments."""
    cpu = _device(promise.device, owner, arguments)
    grad = _grad(promise.grad, owner, arguments, frame.grad_mode)
    tensor = Tensor(cpu, grad, promise.dtype)
    kind, _, detail = promise.returns.partition(":")
    if kind == "tensor":
        return tensor
    if kind == "sequence":
        return Sequence(None, tensor)
    if kind == "tuple":
        return Sequence((tensor,) * int(detail), tensor)
    if kind == "mapping":
        return Mapping((), tensor)
    if kind == "pairs":
        return Sequence(None, Sequence((Plain("str"), tensor), tensor))
    if kind == "plain":
        return Plain(detail or "library value")
    if kind == "none":
        return NONE
    if kind == "object":
        return LibraryObject(detail, cpu, grad)
    if kind == "self" and owner is not None:
        return owner
    if kind == "first" and arguments.positional:
        return arguments.positional[0]
    if kind == "collated" and isinstance(owner, LibraryObject):
        return _collated(frame, owner, cpu, grad)
    if kind == "items" and arguments.positional:
        from tonumpy.inference.expressions import item_of

        return item_of(frame, arguments.positional[0])
    return Unknown("value of a library", cpu, grad)


def _device(where: Where, owner: Value | None, arguments: Arguments) -> Fact:
    if where == "cpu":
        return True
    if where == "argument":
        given = arguments.named_value("device")
        return True if given is None and not arguments.has_star else cpu_of_device(given)
    operands = _operands(where, owner, arguments)
    return None if operands is None else result_facts(operands, None)[0]


def _grad(whether: Whether, owner: Value | None, arguments: Arguments, grad_mode: Fact) -> Fact:
    if whether == "never" or grad_mode is False:
        return False
    if whether == "always":
        return True if grad_mode else None
    operands = _operands(whether, owner, arguments)
    return None if operands is None else result_facts(operands, grad_mode)[1]


def _operands(which: str, owner: Value | None, arguments: Arguments) -> list[Value] | None:
    given = [] if which == "self" else list(arguments.values())
    if which in ("self", "both") and owner is not None:
        given.append(owner)
    if which not in ("self", "both", "inputs") or (arguments.has_star and which != "self"):
        return None
    return given


def _collated(frame: Frame, loader: LibraryObject, cpu: Fact, grad: Fact) -> Value:
    """A batch of a loader: the items of its dataset, numbers and arrays made tensors, unless a collate_fn does otherwise."""
    from tonumpy.inference.expressions import item_of

    unknown = Unknown("batch of a loader", cpu, grad)
    arguments = loader.arguments
    if arguments is None or arguments.get(7, "collate_fn") is not None:
        return unknown
    dataset = arguments.get(0, "dataset")
    return unknown if dataset is None else _collate(item_of(frame, dataset), unknown)


def _collate(item: Value, unknown: Unknown) -> Value:
    if isinstance(item, Tensor):
        return item
    if isinstance(item, Plain):
        return Plain("list of str") if item.what == "str" else Tensor(True, False)
    if isinstance(item, Constant):
        return Tensor(True, False) if isinstance(item.value, (int, float)) else Plain("list of str")
    if isinstance(item, Sequence):
        items = None if item.items is None else tuple(_collate(each, unknown) for each in item.items)
        return Sequence(items, _collate(item.element, unknown), item.fields)
    if isinstance(item, Mapping):
        entries = tuple((key, _collate(value, unknown)) for key, value in item.entries)
        return Mapping(entries, item.other if isinstance(item.other, Nothing) else _collate(item.other, unknown))
    if isinstance(item, Union):
        return join_all(_collate(member, unknown) for member in item.members)
    return unknown


# What the engine asks


def call_function(frame: Frame, name: str, arguments: Arguments) -> Value | None:
    """What a library function returns, if a row says so."""
    promise = promise_of(name)
    return None if promise is None else keep(frame, promise, None, arguments)


def construct(frame: Frame, name: str, arguments: Arguments) -> Value:
    """An object of a library class, with the facts that its row derives from the arguments."""
    name = canonical(name)
    promise = member_promise([name], "__init__")
    known = None if arguments.has_star else arguments
    if promise is None:
        return LibraryObject(name, None, None, known)
    cpu = _device(promise.device, None, arguments)
    grad = _grad(promise.grad, None, arguments, frame.grad_mode)
    return LibraryObject(name, cpu, grad, known)


def call_object(frame: Frame, owner: LibraryObject, name: str, arguments: Arguments) -> Value:
    """`owner.name(...)` for an object of a library class."""
    promise = member_promise([owner.name], name)
    if promise is not None:
        if promise.returns == "self" and _is_module([owner.name]):
            return _moved(owner, name, arguments)
        return keep(frame, promise, owner, arguments)
    if name == "numpy":
        return Plain("numpy")
    grad: Fact = False if frame.grad_mode is False else None
    return Unknown(f"method {name} of {owner.name}", None, grad)


def call_inherited(frame: Frame, owner: Instance, name: str, arguments: Arguments) -> Value:
    """`owner.name(...)` where the class of the repository does not define it but extends a library's class."""
    bases = frame.analysis.classes.library_bases(owner.cls)
    promise = member_promise(bases, name)
    grad: Fact = False if frame.grad_mode is False else None
    if promise is None:
        return Unknown(f"inherited method {name}", None, grad)
    return keep(frame, promise, owner, arguments)


def attribute(frame: Frame, owner: LibraryObject, name: str) -> Value:
    """`owner.name` where it is not called."""
    promise = member_promise([owner.name], name)
    if promise is not None and promise.returns not in ("self",):
        kept = keep(frame, promise, owner, Arguments(()))
        if not isinstance(kept, (Sequence, Mapping)) and _is_attribute(promise):
            return kept
    return Method(owner, name)


def _is_attribute(promise: Promise) -> bool:
    return promise.device == "self" and promise.returns == "tensor" and promise.grad == "self"


def item(frame: Frame, owner: LibraryObject) -> Value:
    """What iterating over a library object, or subscripting it, gives."""
    promise = member_promise([owner.name], "__iter__")
    if promise is None:
        return Unknown(f"item of {owner.name}", owner.on_cpu, owner.requires_grad)
    return keep(frame, promise, owner, Arguments(()))


def inherited_attribute(bases: list[str], owner: Instance, name: str) -> Value:
    """`self.name` where no class of the repository says what it is."""
    if any(bases) and member_promise(bases, name) is not None:
        return Method(owner, name)
    return Unknown(f"attribute {name}") if not bases or name in _NO_METHODS else Method(owner, name)


_NO_METHODS = frozenset(("device", "dtype", "training", "weight", "bias"))


def object_of_bases(bases: list[str]) -> Value:
    """What `super()` is for a class all of whose bases are a library's."""
    return LibraryObject(bases[0]) if bases and bases[0] else Unknown("super")


def runs_without_grad(analysis: Analysis, owner: Class, method: str) -> bool:
    """Whether a library calls this method of its subclasses with grad mode off (lightning's validation_step, ...)."""
    for name in analysis.classes.library_bases(owner):
        for base in bases_of(name):
            if method in load(base.partition(".")[0]).without_grad.get(base, ()):
                return True
    return False


def hook_parameters(analysis: Analysis, function: Function) -> dict[str, Value]:
    """What a library is known to pass to a method that it calls; {} where nothing is."""
    return {}


def _is_module(names: list[str]) -> bool:
    return any("torch.nn.Module" in bases_of(name) for name in names)


def changes_module_in_place(name: str) -> bool:
    return name in ("to", "cpu", "cuda", "requires_grad_", "xpu", "npu")


def _moved(owner: LibraryObject, name: str, arguments: Arguments) -> LibraryObject:
    """A module after `.cuda()`, `.to(device)` or `.requires_grad_(False)`."""
    if name == "cpu":
        return owner._replace(on_cpu=True)
    if name in ("cuda", "xpu", "npu"):
        return owner._replace(on_cpu=False)
    if name == "to":
        given = arguments.get(0, "device")
        return owner._replace(on_cpu=cpu_of_device(given))
    if name == "requires_grad_":
        given = arguments.get(0, "requires_grad")
        truth = True if given is None else given.value if isinstance(given, Constant) else None
        return owner._replace(requires_grad=truth if isinstance(truth, bool) else None)
    return owner

