"""What well-known libraries promise: one TOML file a library, named after the root of its imports, one row a promise.

A row names a function (`torchvision.utils.make_grid`) or a method or attribute of a class
(`torch.nn.Module.state_dict`), what it returns, where that lives and whether it may require grad, and the document
it was read from. The format is described in docs/inference.md.
"""

from __future__ import annotations

import ast
import os
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeVar

from tonumpy.inference import torch_api
from tonumpy.inference.conventions import generates_tokens
from tonumpy.inference.operators import (
    combine,
    cpu_of_device,
    device_after_to,
    dtype_of,
    on_default_device,
    result_facts,
)
from tonumpy.inference.values import (
    NONE,
    NOTHING,
    SAVED,
    Arguments,
    Constant,
    Device,
    Foreign,
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
    same,
    sequence_of,
)

if TYPE_CHECKING:
    from tonumpy.conversions import Fact
    from tonumpy.inference.analysis import Analysis
    from tonumpy.inference.frame import Frame
    from tonumpy.inference.project import Module
    from tonumpy.inference.values import Class

Where = Literal["cpu", "first", "inputs", "self", "both", "argument", "given", "unknown"]
Whether = Literal["never", "first", "inputs", "self", "both", "own", "unknown", "asked"]


Place = tuple[int, str]  # of an argument: by position, or by name


class Promise(NamedTuple):
    """One row. `device`: of what is returned; `grad`: whether it may require grad while grad mode is on.

    A grad of "own" is that of a tensor the object holds, such as a parameter, whatever the mode is when it is read;
    "asked" is what `requires_grad=` (second by position) says, yes where it is not given, whatever the mode is.

    `returns` has more than one kind for a tuple of these; `when` names keywords that must be given these literals;
    `position` is where a device may be given without its `keyword`; `reduces`: a tensor may have no dimensions.
    """

    returns: tuple[str, ...]
    device: Where
    grad: Whether
    dtype: str | None
    when: tuple[tuple[str, str | bool], ...]
    position: int | None
    keyword: str
    reduces: bool = False


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

# Libraries none of whose results is a tensor, nor holds one. Not here although it looks so: networkx (a graph holds
# what it was given), faiss (gives tensors with its contrib.torch_utils), fire (returns what the function returned).
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
    " tiktoken jieba xgboost lightgbm catboost umap hdbscan optuna mujoco pybullet".split()
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
    promises: dict[str, list[Promise]] = {}
    for row in table.get("promise", ()):
        for name in _listed(row["name"]):
            promises.setdefault(name, []).append(_promise(row))
    attributes = {name: _promise(row) for row in table.get("attribute", ()) for name in _listed(row["name"])}
    bases: dict[str, tuple[str, ...]] = {row["name"]: tuple(row["bases"]) for row in table.get("class", ())}
    aliases = {alias: row["name"] for row in table.get("alias", ()) for alias in row["of"]}
    families = tuple(
        (row["prefix"], suffix, row["base"])
        for row in table.get("family", ())
        for suffix in _listed(row.get("suffix", ""))
    )
    without_grad = {row["class"]: frozenset(row["methods"]) for row in table.get("without_grad", ())}
    hooks: dict[str, list[tuple[int, Promise]]] = {}
    for row in table.get("hook", ()):
        hooks.setdefault(row["method"], []).append((row["parameter"], _promise({"returns": "unknown", **row})))
    fills = {row["name"]: (tuple(row["list"]), tuple(row["with"])) for row in table.get("fill", ())}
    terms = {name: row["class"] for row in table.get("term", ()) for name in row["name"]}
    return Library(promises, attributes, bases, aliases, families, without_grad, hooks, fills, terms)


def _promise(row: dict[str, Any]) -> Promise:
    return Promise(
        tuple(_listed(row["returns"])),
        row.get("device", "unknown"),
        row.get("grad", "unknown"),
        row.get("dtype"),
        tuple(row.get("when", {}).items()),
        row.get("position"),
        row.get("keyword", "device"),
    )


def _listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


def canonical(name: str) -> str:
    """The name under which a library's rows know a function or class."""
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
    given: dict[str, object] = {}
    for word in {word for row in rows for word, _ in row.when}:
        value = arguments.named_value(word)
        if value is None and not arguments.has_star:
            continue
        if not isinstance(value, Constant):
            return None  # it depends on what is not known
        if value.value not in (None, False) or any((word, value.value) in row.when for row in rows):
            given[word] = value.value
    for row in rows:
        if row.when and all(given.get(word) == literal for word, literal in row.when):
            return row
    return next((row for row in rows if not row.when and not given), None)


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
            waiting.extend(
                base
                for prefix, suffix, base in library.families
                if current.startswith(prefix) and current.endswith(suffix) and current != base
            )
    return found


def member_promise(class_names: list[str], name: str, arguments: Arguments) -> Promise | None:
    """The promise about a method of a class, its own or inherited."""
    for given in class_names:
        for current in bases_of(given):
            promise = promise_of(f"{current}.{name}", arguments) or _of_layer(current, name)
            if promise is not None:
                return promise
    return None


def _of_layer(name: str, method: str) -> Promise | None:
    """What calling a layer of torch.nn gives, as it was measured."""
    if method not in ("__call__", "forward") or not name.startswith("torch.nn."):
        return None
    layer = torch_api.module(name)
    if layer is None or layer.returns is None:
        return None
    returns = {"tensor": ("tensor",), "tuple": ("recurrent", "unknown")}[layer.returns]
    grad: Whether = "inputs" if layer.has_parameters is False else "both"
    return Promise(returns, "both", grad, None, (), None, "device", bool(layer.reduces))


def attribute_promise(class_names: list[str], name: str) -> Promise | None:
    """The promise about an attribute of a class, its own or inherited."""
    for given in class_names:
        for current in bases_of(given):
            promise = load(current.partition(".")[0]).attributes.get(f"{current}.{name}")
            if promise is not None:
                return promise
    return None


def keep(frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments) -> Value:
    """The value that a promise describes, for these arguments."""
    cpu = _device(promise, owner, arguments)
    grad = _grad(promise.grad, owner, arguments, frame.grad_mode)
    is_sent = cpu is not True and any(isinstance(value, Tensor) and value.is_sent for value in arguments.values())
    dtype = promise.dtype
    if dtype == "self":
        dtype = owner.dtype if isinstance(owner, LibraryObject) else None
    tensor = Tensor(cpu, grad, dtype, is_number=promise.reduces, is_sent=is_sent)
    kept = [_kept(frame, kind, tensor, owner, arguments) for kind in promise.returns]
    return kept[0] if len(kept) == 1 else sequence_of(kept)


def _kept(frame: Frame, returns: str, tensor: Tensor, owner: Value | None, arguments: Arguments) -> Value:
    kind, _, detail = returns.partition(":")
    cpu, grad = tensor.on_cpu, tensor.requires_grad
    if kind == "tensor":
        return tensor
    if kind == "recurrent":  # packed sequences where it is given one
        is_tensor = bool(arguments.positional) and isinstance(arguments.positional[0], Tensor)
        return tensor if is_tensor else Unknown("result of a layer", cpu, grad)
    if kind == "optionals":
        return Sequence(None, join_all((tensor, NONE)))
    if kind == "sequence":
        return Sequence(None, LibraryObject(detail, cpu, grad) if detail else tensor)
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
    if kind == "nothing":
        return NOTHING
    if kind == "object":
        return LibraryObject(detail, cpu, grad)
    if kind == "outputs" and isinstance(owner, LibraryObject) and owner.dtype is not None:
        return LibraryObject(detail, cpu, grad, dtype=owner.dtype)
    if kind == "self" and owner is not None:
        return owner
    if kind == "first" and arguments.positional:
        return arguments.positional[0]
    if kind == "second" and len(arguments.positional) > 1:
        return arguments.positional[1]
    if kind == "foreign":
        return Foreign(detail)
    if kind == "operation" and arguments.positional:
        operands = [value.element if isinstance(value, Sequence) else value for value in arguments.positional]
        return combine(operands, frame.grad_mode)
    if kind == "sequential" and isinstance(owner, LibraryObject):
        return _sequential(frame, owner, arguments) or Unknown("result of layers", cpu, grad)
    if kind == "layers" and isinstance(owner, LibraryObject):
        return join_all(_layers(owner) or [Unknown("layer")])
    if kind == "composed" and isinstance(owner, LibraryObject):
        return _composed(frame, owner, arguments) or Unknown("value of a library", cpu, grad)
    if kind == "transformed" and isinstance(owner, LibraryObject):
        return _transformed(frame, owner)
    if kind == "collated" and isinstance(owner, LibraryObject):
        return _collated(frame, owner, cpu, grad)
    if kind == "saved":
        return Unknown(SAVED, cpu)
    if kind in ("item", "iterator", "flattened", "chain", "tuples") and (arguments.positional or kind == "chain"):
        return _iterated(frame, kind, arguments)
    return Unknown("value of a library", cpu, grad)


def _device(promise: Promise, owner: Value | None, arguments: Arguments) -> Fact:
    if promise.device == "cpu":
        return True
    if promise.device == "unknown":
        return None
    given = arguments.named_value(promise.keyword)
    if given is None and promise.position is not None:
        given = arguments.get(promise.position, promise.keyword)
    if given is not None and not same(given, NONE):
        return True if _keeps_storage(given) else cpu_of_device(given)
    if promise.device in ("argument", "given"):  # the CPU unless a device is given; unknown unless one is
        return True if promise.device == "argument" and not arguments.has_star else None
    operands = _operands(promise.device, owner, arguments)
    # An object, unlike an operator of torch, may hold tensors on different devices.
    mixes = promise.returns == ("self",)
    return None if operands is None else result_facts(operands, None, mixes=mixes)[0]


def _keeps_storage(given: Value) -> bool:
    """`lambda storage, location: storage`: what is loaded stays on the CPU, where it is read."""
    if not isinstance(given, Function) or not isinstance(given.node, ast.Lambda):
        return False
    first = given.node.args.args[:1]
    return bool(first) and isinstance(given.node.body, ast.Name) and given.node.body.id == first[0].arg


def _grad(whether: Whether, owner: Value | None, arguments: Arguments, grad_mode: Fact) -> Fact:
    if whether == "own":
        whether, grad_mode = "self", True
    if whether == "asked":
        given = arguments.get(1, "requires_grad")
        if given is None:
            return None if arguments.has_star else True
        return given.value if isinstance(given, Constant) and isinstance(given.value, bool) else None
    if whether == "never" or grad_mode is False:
        return False
    operands = _operands(whether, owner, arguments)
    return None if operands is None else result_facts(operands, grad_mode)[1]


def _operands(which: str, owner: Value | None, arguments: Arguments) -> list[Value] | None:
    if which == "unknown" or (arguments.has_star and which != "self"):
        return None
    if which == "first":
        return list(arguments.positional[:1]) or None
    given = [] if which == "self" else list(arguments.values())
    if which in ("self", "both") and owner is not None:
        given.append(owner)
    return given


def _collated(frame: Frame, loader: LibraryObject, cpu: Fact, grad: Fact) -> Value:
    """A batch of a loader: the items of its dataset, numbers and arrays made tensors, unless a collate_fn is given."""
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


def _iterated(frame: Frame, kind: str, arguments: Arguments) -> Value:
    """An item of the first argument, or an iterator: over its items, over theirs, over those of all, over tuples."""
    from tonumpy.inference.expressions import item_of

    items = tuple(item_of(frame, value) for value in arguments.positional)
    if kind == "item":
        return items[0]
    if kind == "iterator":
        return Sequence(None, items[0])
    if kind == "flattened":
        return Sequence(None, item_of(frame, items[0]))
    if kind == "tuples":
        return Sequence(None, sequence_of(items))
    return Sequence(None, join_all((*items, item_of(frame, arguments.starred))))


def _composed(frame: Frame, owner: LibraryObject, arguments: Arguments) -> Value | None:
    """What transforms applied one after the other make of an argument; None where they are not in sight."""
    from tonumpy.inference.calls import call_value

    steps = None if owner.arguments is None else owner.arguments.get(0, "transforms")
    if not isinstance(steps, Sequence) or steps.items is None or len(arguments.positional) != 1:
        return None
    value = arguments.positional[0]
    for step in steps.items:
        value = call_value(frame, step, Arguments((value,)))
    return value


def _layers(owner: LibraryObject) -> list[Value] | None:
    """The modules in a torch.nn.Sequential, which is moved and frozen as a whole; None where they are not in sight."""
    if owner.arguments is None:
        return None
    given = owner.arguments.positional
    if len(given) == 1 and isinstance(given[0], Mapping):
        given = tuple(value for _, value in given[0].entries) if given[0].other is NOTHING else ()
    layers = [layer for layer in given if isinstance(layer, (LibraryObject, Instance))]
    if not layers or len(layers) < len(given):
        return None
    return [layer._replace(on_cpu=owner.on_cpu, requires_grad=owner.requires_grad) for layer in layers]


def _sequential(frame: Frame, owner: LibraryObject, arguments: Arguments) -> Value | None:
    """What the layers make of an argument, one after the other."""
    from tonumpy.inference.calls import call_value

    layers = _layers(owner)
    if layers is None or len(arguments.positional) != 1:
        return None
    value = arguments.positional[0]
    for layer in layers:
        value = call_value(frame, layer, Arguments((value,)))
    return value


def _transformed(frame: Frame, owner: LibraryObject) -> Value:
    """The image of a dataset's item: PIL's, or what the dataset's `transform` makes of it."""
    from tonumpy.inference.calls import call_value

    if owner.arguments is None:
        return Unknown("item of a dataset")
    transform = owner.arguments.named_value("transform")
    image = Plain("image")
    return image if transform is None or same(transform, NONE) else call_value(frame, transform, Arguments((image,)))


# What the engine asks


def call_function(frame: Frame, name: str, arguments: Arguments) -> Value | None:
    """What a library function, or a class method of a library's class, returns if a row says so."""
    promise = promise_of(name, arguments)
    if promise is not None:
        return keep(frame, promise, None, arguments)
    owner, _, method = name.rpartition(".")
    if owner.rpartition(".")[2][:1].isupper():
        promise = member_promise([owner], method, arguments)
        if promise is not None and promise.returns == ("instance",):
            cpu = _device(promise, None, arguments)
            grad = _grad(promise.grad, None, arguments, frame.grad_mode)
            return LibraryObject(canonical(owner), cpu, grad, dtype=_dtype_asked_for(arguments))
    return None


def filled_list(name: str, place: int | str, arguments: Arguments) -> Value | None:
    """The list that a library function is given at this place, as it leaves it; None where it leaves it alone."""
    name = canonical(name)
    row = load(name.partition(".")[0]).fills.get(name)
    if row is None or place not in row[0]:
        return None
    item = arguments.get(*row[1])
    return None if item is None else Sequence(None, item)


def _dtype_asked_for(arguments: Arguments) -> str | None:
    """The dtype that an object's tensors are made with: `dtype=`, or `torch_dtype=` as transformers called it first."""
    asked = arguments.named_value("dtype") or arguments.named_value("torch_dtype")
    return None if asked is None else dtype_of(asked)


def construct(name: str, arguments: Arguments, default_on_cpu: Fact) -> Value:
    """An object of a library class, with the facts that its row derives from the arguments."""
    name = canonical(name)
    promise = member_promise([name], "__init__", arguments)
    known = None if arguments.has_star else arguments
    if promise is None:
        return LibraryObject(name, None, None, known)
    placed = on_default_device(arguments, default_on_cpu) if promise.device == "argument" else arguments
    cpu = _device(promise, None, placed)
    grad = _grad(promise.grad, None, arguments, True)  # what it holds is as it was given, under no_grad too
    return LibraryObject(name, cpu, grad, known, _dtype_asked_for(arguments))


def call_object(frame: Frame, owner: LibraryObject, name: str, arguments: Arguments) -> Value:
    """`owner.name(...)` for an object of a library class."""
    promise = member_promise([owner.name], name, _as_constructed(owner, arguments))
    if promise is not None and promise.returns == ("self",):
        return _moved(owner, name, arguments)
    if promise is not None:
        return keep(frame, promise, owner, arguments)
    if name == "numpy":
        return Plain("numpy")
    is_off = frame.grad_mode is False or generates_tokens(name, (keyword for keyword, _ in arguments.named))
    return Unknown(f"method {name} of {owner.name}", None, False if is_off else None)


def _as_constructed(owner: LibraryObject, arguments: Arguments) -> Arguments:
    """The arguments of a call with those that its object was made with: `return_indices=True` decides what it gives."""
    made = owner.arguments
    if made is None:
        return arguments._replace(has_star=True)
    return arguments._replace(named=(*arguments.named, *made.named))


def call_inherited(frame: Frame, owner: Instance, name: str, arguments: Arguments) -> Value:
    """`owner.name(...)` where the class of the repository does not define it but extends a library's class."""
    bases = frame.analysis.classes.library_bases(owner.cls)
    promise = member_promise(bases, name, arguments)
    grad: Fact = False if frame.grad_mode is False else None
    if promise is None:
        return Unknown(f"inherited method {name}", None, grad)
    if promise.returns == ("self",):
        return _moved(owner, name, arguments)
    return keep(frame, promise, owner, arguments)


def attribute(frame: Frame, owner: LibraryObject, name: str) -> Value:
    """`owner.name` where it is not called."""
    promise = attribute_promise([owner.name], name)
    if promise is None:
        return Method(owner, name)
    # What is held is as it was made, under no_grad too.
    return keep(frame, promise._replace(grad="own") if promise.grad == "self" else promise, owner, Arguments(()))


def item(frame: Frame, owner: LibraryObject) -> Value:
    """What iterating over a library object, or subscripting it, gives."""
    promise = member_promise([owner.name], "__iter__", Arguments(()))
    if promise is None:
        return Unknown(f"item of {owner.name}", owner.on_cpu, owner.requires_grad)
    return keep(frame, promise, owner, Arguments(()))


def known_by_term(module: Module, owner: Unknown, term: str) -> LibraryObject | None:
    """What an attribute (`.boxes`) or key (`[boxes]`) of anything holds, by a library that the module imports."""
    for root in sorted(module.roots):
        name = load(root).terms.get(term)
        if name is not None:
            return LibraryObject(name, owner.on_cpu, owner.requires_grad)
    return None


def inherited_attribute(frame: Frame, bases: list[str], owner: Instance, name: str) -> Value:
    """`self.name` where no class of the repository says what it is."""
    promise = attribute_promise(bases, name)
    if promise is not None and {promise.device, promise.grad}.isdisjoint(("self", "both")):
        return keep(frame, promise, None, Arguments(()))
    if any(bases) and member_promise(bases, name, Arguments(())) is not None:
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
    node, owner = function.node, function.owner
    if owner is None or node not in owner.node.body or isinstance(node, ast.Lambda):
        return {}
    parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
    found: dict[str, Value] = {}
    for name in analysis.classes.library_bases(owner):
        for base in bases_of(name):
            for position, promise in load(base.partition(".")[0]).hooks.get(f"{base}.{node.name}", ()):
                if position < len(parameters):
                    grad: Fact = False if promise.grad == "never" else None
                    found[parameters[position]] = Unknown("parameter", True if promise.device == "cpu" else None, grad)
    return found


def is_module(names: list[str]) -> bool:
    """Whether a class that extends these is a torch.nn.Module."""
    return any("torch.nn.Module" in bases_of(name) for name in names)


def is_dataset(names: list[str]) -> bool:
    """Whether a class that extends these is a torch.utils.data.Dataset."""
    return any("torch.utils.data.Dataset" in bases_of(name) for name in names)


_Movable = TypeVar("_Movable", LibraryObject, Instance)


def changes_module_in_place(name: str) -> bool:
    return name in _CASTS or name in ("to", "cpu", "cuda", "requires_grad_", "xpu", "npu", "set_format")


_CASTS = {"half": "float16", "float": "float32", "double": "float64", "bfloat16": "bfloat16", "type": None}


def _cast(owner: LibraryObject, name: str, arguments: Arguments) -> LibraryObject:
    """A module after `.half()`, `.to(torch.bfloat16)` or `.to(dtype=...)`; what may be a dtype leaves it unknown."""
    if name in _CASTS:
        return owner._replace(dtype=_CASTS[name])
    if name != "to":
        return owner
    given = [value for value in (*arguments.positional[:2], arguments.named_value("dtype")) if value is not None]
    dtypes = [dtype for dtype in map(dtype_of, given) if dtype is not None]
    if dtypes:
        return owner._replace(dtype=dtypes[0])
    is_device = all(isinstance(value, (Device, Constant)) for value in given) and not arguments.has_star
    return owner if is_device else owner._replace(dtype=None)


def _moved(owner: _Movable, name: str, arguments: Arguments) -> _Movable:
    """A module (or what moves like one) after `.cuda()`, `.to(device)` or `.requires_grad_(False)`."""
    if isinstance(owner, LibraryObject):
        owner = _cast(owner, name, arguments)
    if name == "cpu":
        return owner._replace(on_cpu=True)
    if name == "detach":
        return owner._replace(requires_grad=False)
    if name in ("cuda", "xpu", "npu"):
        return owner._replace(on_cpu=False)
    if name == "to":
        return owner._replace(on_cpu=device_after_to(owner.on_cpu, arguments))
    if name == "requires_grad_":
        given = arguments.get(0, "requires_grad")
        truth = True if given is None else given.value if isinstance(given, Constant) else None
        return owner._replace(requires_grad=truth if isinstance(truth, bool) else None)
    return owner
