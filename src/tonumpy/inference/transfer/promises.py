"""The value that a promise about a library describes, for the arguments of a call."""

from __future__ import annotations

import ast

from tonumpy.inference.knowledge.libraries.rows import is_module
from tonumpy.inference.knowledge.operands import combine, promoted, result_facts
from tonumpy.inference.lattice.aliases import unless_it_requires_grad
from tonumpy.inference.lattice.dtypes import is_real
from tonumpy.inference.lattice.evidence import PROVED, Evidence, Strength, joined, only
from tonumpy.inference.lattice.joins import join, join_all, sequence_of
from tonumpy.inference.lattice.reasons import Reason
from tonumpy.inference.lattice.values import (
    MOVED_MODULE,
    NONE,
    NOTHING,
    Arguments,
    Constant,
    Device,
    Foreign,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Nothing,
    Plain,
    Sent,
    Sequence,
    Tensor,
    Union,
    Unknown,
    Value,
    do_learn,
    evidence_in,
    mapped,
    members,
    most_sent,
    same,
    tensor_facts,
)
from tonumpy.inference.transfer.beliefs import LOADER, item_of_dataset, where_no_accelerator_is
from tonumpy.inference.transfer.devices import cpu_of_device
from tonumpy.inference.transfer.module_containers import layer, made_around, one_after_another, scattered, wrapped
from tonumpy.inference.transfer.owners import made_of, sent_with
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.knowledge.libraries.rows import Promise, Where
    from tonumpy.inference.lattice.evidence import AllEvidence, Aspect
    from tonumpy.inference.transfer.frame import Frame


def keep(frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments) -> Value:
    """The value that a promise describes, for these arguments."""
    cpu = device_of(promise, owner, arguments)
    if promise.device == "default type":
        cpu = None if frame.module.words.speaks_of_variables else True
    grad = grad_of(promise, owner, arguments, frame.grad_mode)
    sent = Sent.NOWHERE if cpu is True else max(most_sent(arguments.values()), sent_with(promise, owner))
    sent = Sent.BY_CHOICE if promise.device == "chosen" else sent
    dtype = promise.dtype
    if dtype == "self":
        dtype = owner.dtype if isinstance(owner, (LibraryObject, Instance)) else None
    elif dtype == "first":
        first = arguments.positional[0] if arguments.positional else None
        dtype = first.dtype if isinstance(first, Tensor) else None
    elif dtype == "inputs":
        given = arguments.all_values()
        known = None if given is None else promoted(given)
        dtype = known if is_real(known) else None
    evidence = _rests_on(frame, promise, owner, arguments, cpu, grad)
    if dtype is not None:
        evidence |= _derived(frame, promise, "dtype", promise.dtype or "", owner, arguments)
    learns = grad is not False and _do_learn(frame, promise, owner, arguments)
    tensor = Tensor(cpu, grad, dtype, is_number=promise.reduces, sent=sent, evidence=evidence, learns=learns)
    kept = [_returned(frame, kind, tensor, owner, arguments) for kind in promise.returns]
    return kept[0] if len(kept) == 1 else sequence_of(kept)


def _rests_on(
    frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments, cpu: Fact, grad: Fact
) -> AllEvidence:
    """The promise itself, and what the facts rest on that it is derived from."""
    evidence: AllEvidence = PROVED
    if cpu is not None:
        evidence = _derived(frame, promise, "device", _whose_device(promise, owner, arguments), owner, arguments)
    if grad is not None and (grad or frame.grad_mode is not False):
        evidence |= _derived(frame, promise, "grad", promise.grad, owner, arguments)
    return evidence


_DERIVED = frozenset("first inputs self both own derived".split()) | {"some of both"}


def _derived(
    frame: Frame, promise: Promise, about: Aspect, of: str, owner: Value | None, arguments: Arguments
) -> AllEvidence:
    message = promise.source or "documented by the library"
    said = frozenset((Evidence(Strength.PROMISE, about, promise.name, message, frame.module.filename, frame.row),))
    # Whether it is an object of this class at all may be but a habit.
    said |= frozenset(
        each._replace(about=about) for each in (() if owner is None else evidence_in(owner)) if each.about == "kind"
    )
    if of not in _DERIVED:
        return said
    parts = [evidence_in(value) for value in arguments.values()] if of not in ("self", "own") else []
    if owner is not None and of not in ("first", "inputs"):
        parts.append(evidence_in(owner))
    return said | only(joined(parts), about)


def _do_learn(frame: Frame, promise: Promise, owner: Value | None, arguments: Arguments) -> bool:
    """Whether what is promised is, or may be made of, parameters, while grad mode may be on."""
    if frame.grad_mode is False and promise.grad != "own":
        return False
    if promise.grad == "own" and promise.returns == ("unknown",):
        return False  # the parts of a module, which are modules
    if promise.grad in _OF_ITSELF and _is_module(frame, owner):
        return True
    operands = _operands(promise.grad, None, arguments) or []
    is_of_owner = promise.grad in _OF_ITSELF or promise.grad == "derived"
    held = made_of(owner) if is_of_owner else ()
    return do_learn((*operands, *held))


def _is_module(frame: Frame, owner: Value | None) -> bool:
    """Whether it is a module whose parameters are not all frozen."""
    if not isinstance(owner, (Instance, LibraryObject)) or owner.requires_grad is False:
        return False
    if isinstance(owner, LibraryObject):
        return owner.name != MOVED_MODULE and is_module([owner.name])
    return frame.analysis.kinds.is_module(owner.cls)


def _prepared(frame: Frame, value: Value) -> Value:
    """What accelerate makes of a model or a loader: the same, on a device that it chooses; of others, nothing."""
    if isinstance(value, LibraryObject) and value.name == LOADER:
        return LibraryObject("accelerate.data_loader.DataLoaderShard", arguments=value.arguments)
    if isinstance(value, Instance) and frame.analysis.kinds.is_module(value.cls):
        return value._replace(on_cpu=None, sent=Sent.BY_CHOICE)
    if isinstance(value, LibraryObject) and is_module([value.name]):
        return value._replace(on_cpu=None, sent=Sent.BY_CHOICE)
    return value


# Words of `promise.grad` that speak of what the object holds.
_OF_ITSELF = ("self", "own", "both", "some of both")


def _returned(frame: Frame, returns: str, tensor: Tensor, owner: Value | None, arguments: Arguments) -> Value:
    kind, _, detail = returns.partition(":")
    cpu, grad, evidence = tensor.on_cpu, tensor.requires_grad, tensor.evidence
    if kind == "tensor":
        return tensor
    if kind == "recurrent":  # packed sequences where it is given one
        is_tensor = bool(arguments.positional) and isinstance(arguments.positional[0], Tensor)
        return tensor if is_tensor else Unknown(Reason.LIBRARY, cpu, grad, evidence=evidence)
    if kind == "optionals":
        return Sequence(None, join_all((tensor, NONE)))
    if kind == "sequence":
        held = LibraryObject(detail, cpu, grad, evidence=evidence, sent=tensor.sent)
        return Sequence(None, held if detail else tensor)
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
        return LibraryObject(detail, cpu, grad, evidence=evidence, sent=tensor.sent)
    if kind == "device":
        return Device(cpu, sent=Sent.BY_CHOICE if cpu is None else Sent.NOWHERE)
    if kind == "outputs" and isinstance(owner, LibraryObject) and owner.dtype is not None:
        return LibraryObject(detail, cpu, grad, dtype=owner.dtype, evidence=evidence, sent=tensor.sent)
    if kind == "self" and owner is not None:
        return owner
    if kind == "first" and arguments.positional:
        return arguments.positional[0]
    if kind == "second" and len(arguments.positional) > 1:
        return arguments.positional[1]
    if kind == "foreign":
        return Foreign(detail)
    if kind == "prepared" and arguments.positional and not arguments.has_star:
        given = [_prepared(frame, value) for value in arguments.positional]
        return given[0] if len(given) == 1 else sequence_of(given)
    if kind == "operation" and arguments.positional:
        operands = [value.element if isinstance(value, Sequence) else value for value in arguments.positional]
        return combine(operands, frame.grad_mode)
    if kind == "sequential" and isinstance(owner, LibraryObject):
        made = one_after_another(frame, owner, arguments.positional[0]) if len(arguments.positional) == 1 else None
        if made is None:
            return Unknown(Reason.LIBRARY, cpu, grad, evidence=evidence)
        # What a layer is may not be known, but where it is, and that it is frozen, where the whole is.
        made = where_no_accelerator_is(made) if cpu else made
        return unless_it_requires_grad(made) if grad is False else made
    if kind == "layers" and isinstance(owner, LibraryObject):
        one = layer(owner, arguments.get(0, "index"))
        pair = Sequence((Plain("str"), one), one)
        return {"": one, "values": Sequence(None, one), "items": Sequence(None, pair)}[detail]
    if kind == "wrapped" and isinstance(owner, LibraryObject):
        return wrapped(owner)
    if kind == "composed" and isinstance(owner, LibraryObject):
        return _composed(frame, owner, arguments) or Unknown(Reason.LIBRARY, cpu, grad, evidence=evidence)
    if kind == "transformed" and isinstance(owner, LibraryObject):
        return _transformed(frame, owner)
    if kind == "rows" and isinstance(owner, LibraryObject):
        columns = () if owner.arguments is None else owner.arguments.positional
        return sequence_of([_item(frame, column) for column in columns]) if columns else Sequence(None, tensor)
    if kind == "arguments" and isinstance(owner, LibraryObject) and owner.arguments is not None:
        return sequence_of(list(owner.arguments.positional))
    if kind == "splits":
        return Sequence(None, LibraryObject("torch.utils.data.Subset", arguments=arguments))
    if kind == "items" and isinstance(owner, LibraryObject):
        dataset = made_around(owner, detail)
        if dataset is None:
            return Unknown(Reason.ITEM, cpu, grad, evidence=evidence)
        return _item(frame, dataset.element if isinstance(dataset, Sequence) else dataset)  # or one of several
    if kind == "collated" and isinstance(owner, LibraryObject):
        return _collated(frame, owner, Unknown(Reason.LIBRARY, cpu, grad, evidence=evidence))
    if kind == "collated" and arguments.positional:
        batch = Unknown(Reason.LIBRARY, cpu, grad, evidence=evidence)
        return _collate(_item(frame, arguments.positional[0]), batch, frame.grad_mode)
    if kind == "given" and isinstance(owner, LibraryObject):
        return made_around(owner, detail) or Unknown(Reason.DATASET_PART, cpu, grad, evidence=evidence)
    if kind == "called" and isinstance(owner, LibraryObject):
        function = made_around(owner, detail)
        if is_module([owner.name]):
            function, arguments = wrapped(owner), scattered(owner, arguments)
        return _called(frame, function, arguments) or Unknown(Reason.LIBRARY, cpu, grad, evidence=evidence)
    if kind == "each":
        tree = arguments.get(1, "tree") or Unknown(Reason.CONTENT, cpu, grad, evidence=evidence)
        return _each(frame, arguments.get(0, "func"), tree)
    if kind == "saved":
        return Unknown(Reason.SAVED, cpu, evidence=evidence)
    if kind in ("item", "iterator", "flattened", "chain", "tuples") and (arguments.positional or kind == "chain"):
        return _iterated(frame, kind, arguments)
    return Unknown(Reason.LIBRARY, cpu, grad, evidence=evidence, sent=tensor.sent, learns=tensor.learns)


def _item(frame: Frame, value: Value) -> Value:
    return frame.evaluator.item(frame, value)


def device_of(promise: Promise, owner: Value | None, arguments: Arguments) -> Fact:
    if promise.device in ("cpu", "accelerator"):
        return promise.device == "cpu"
    if promise.device in ("unknown", "default type", "chosen"):
        return None
    given = arguments.named_value(promise.keyword)
    if given is None and promise.position is not None:
        given = arguments.get(promise.position, promise.keyword)
    if given is not None and not same(given, NONE):
        return True if _keeps_storage(given) else cpu_of_device(given)
    if promise.device in ("argument", "given"):  # the CPU unless a device is given; unknown unless one is
        return True if promise.device == "argument" and not arguments.has_star else None
    operands = _operands(_whose_device(promise, owner, arguments), owner, arguments)
    return None if operands is None else result_facts(operands, None, mixes=_holds_them(promise))[0]


def _whose_device(promise: Promise, owner: Value | None, arguments: Arguments) -> Where:
    """Inputs that are not where the parameters are make torch raise, so parameters that are known speak for them; not
    so where an input was sent somewhere, or may have been: then the module was, too, out of sight."""
    if promise.device != "parameters":
        return promise.device
    given = arguments.all_values()
    if owner is None or tensor_facts(owner)[0] is None or given is None or any(map(_was_sent, given)):
        return "both"
    return "self"


def _was_sent(value: Value) -> bool:
    if isinstance(value, LibraryObject):  # what a tokenizer makes is on the CPU until then
        return value.on_cpu is None
    return most_sent(members(value)) > Sent.NOWHERE


def _holds_them(promise: Promise) -> bool:
    """An object, unlike an operator of torch, may hold tensors on different devices, some of which require grad."""
    return promise.returns == ("self",)


def _keeps_storage(given: Value) -> bool:
    """`lambda storage, location: storage`: what is loaded stays on the CPU, where it is read."""
    if not isinstance(given, Function) or not isinstance(given.node, ast.Lambda):
        return False
    first = given.node.args.args[:1]
    return bool(first) and isinstance(given.node.body, ast.Name) and given.node.body.id == first[0].arg


def grad_of(promise: Promise, owner: Value | None, arguments: Arguments, grad_mode: Fact) -> Fact:
    whether = promise.grad
    if whether == "derived":
        return False if grad_of(promise._replace(grad="self"), owner, arguments, True) is False else None
    if whether == "some of both":
        return False if grad_of(promise._replace(grad="both"), owner, arguments, grad_mode) is False else None
    if whether == "own":
        whether, grad_mode = "self", True
    if whether in ("asked", "argument"):
        given = arguments.get(1, "requires_grad")
        if given is None:
            return None if arguments.has_star else whether == "asked"
        return given.value if isinstance(given, Constant) and isinstance(given.value, bool) else None
    if whether == "never" or grad_mode is False:
        return False
    operands = _operands(whether, owner, arguments)
    return None if operands is None else result_facts(operands, grad_mode, mixes=_holds_them(promise))[1]


_OF_NO_TENSOR = ("device", "dtype")  # arguments that bring neither a grad nor a device of their own


def _operands(which: str, owner: Value | None, arguments: Arguments) -> list[Value] | None:
    values = () if which == "self" else arguments.all_values()
    if which == "unknown" or values is None:
        return None
    if which == "first":
        return list(arguments.positional[:1]) or None
    told = [value for name, value in arguments.named if name in _OF_NO_TENSOR] if which != "self" else ()
    given = [value for value in values if not any(value is each for each in told)]
    if which in ("self", "both") and owner is not None:
        given.append(owner)
    return given


def _collated(frame: Frame, loader: LibraryObject, unknown: Unknown) -> Value:
    """A batch of a loader: the items of its dataset, numbers and arrays made tensors, unless a collate_fn is given."""
    arguments = loader.arguments
    dataset = None if arguments is None else arguments.get(0, "dataset")
    if arguments is None or dataset is None:
        return unknown
    if arguments.get(7, "collate_fn") is None:
        item = _item(frame, dataset)
        given = item_of_dataset(item, frame) if isinstance(dataset, Instance) else item
        return _collate(given, unknown, frame.grad_mode)
    if isinstance(dataset, Sequence) or getattr(dataset, "name", "") == "torch.utils.data.TensorDataset":
        item = _item(frame, dataset)  # it is made of tensors in sight
        return Unknown(Reason.LIBRARY, *tensor_facts(item), evidence=evidence_in(item))
    return unknown


def _collate(item: Value, unknown: Unknown, grad_mode: Fact, place: str = "<batch>") -> Value:
    """Each tensor is a new one, whatever the dataset made it of: `place` is the only name that has held it."""
    if isinstance(item, Tensor):  # stacked
        return item._replace(requires_grad=result_facts([item], grad_mode)[1], origins=frozenset((place,)))
    if isinstance(item, Plain):
        return Plain("list of str") if item.what == "str" else Tensor(True, False)
    if isinstance(item, Constant):
        return Tensor(True, False) if isinstance(item.value, (int, float)) else Plain("list of str")
    if isinstance(item, Sequence) and item.items:
        items = [_collate(each, unknown, grad_mode, f"{place}[{position}]") for position, each in enumerate(item.items)]
        return Sequence(tuple(items), join_all(items), item.fields)
    if isinstance(item, Sequence):
        return Sequence(item.items, _collate(item.element, unknown, grad_mode, f"{place}[]"), item.fields)
    if isinstance(item, Mapping):
        entries = tuple((key, _collate(value, unknown, grad_mode, f"{place}[{key!r}]")) for key, value in item.entries)
        is_whole = isinstance(item.other, Nothing)
        return Mapping(entries, item.other if is_whole else _collate(item.other, unknown, grad_mode, f"{place}[]"))
    if isinstance(item, Union):
        return join_all(_collate(member, unknown, grad_mode, place) for member in item.members)
    return unknown


def _iterated(frame: Frame, kind: str, arguments: Arguments) -> Value:
    """An item of the first argument, or an iterator: over its items, over theirs, over those of all, over tuples."""
    items = tuple(frame.evaluator.item(frame, value) for value in arguments.positional)
    if kind == "item":
        return items[0]
    if kind == "iterator":
        return Sequence(None, items[0])
    if kind == "flattened":
        return Sequence(None, frame.evaluator.item(frame, items[0]))
    if kind == "tuples":
        return Sequence(None, sequence_of(items))
    return Sequence(None, join_all((*items, frame.evaluator.item(frame, arguments.starred))))


def _composed(frame: Frame, owner: LibraryObject, arguments: Arguments) -> Value | None:
    """What transforms applied one after the other make of an argument; None where they are not in sight."""
    steps = made_around(owner, "transforms")
    if not isinstance(steps, Sequence) or len(arguments.positional) != 1:
        return None
    value = arguments.positional[0]
    if steps.items is None:
        return _composed_anyhow(frame, steps.element, value)
    for step in steps.items:
        value = frame.evaluator.call(frame, step, Arguments((value,)))
    return value


def _called(frame: Frame, function: Value | None, arguments: Arguments) -> Value | None:
    """What the function gives that an object was made with: `Lambda(f)(x)`; None where it is not in sight."""
    return (
        None if function is None or isinstance(function, Unknown) else frame.evaluator.call(frame, function, arguments)
    )


def _each(frame: Frame, function: Value | None, held: Value) -> Value:
    """What becomes of containers in containers when a function is called on each thing that is in them."""
    if isinstance(held, (Mapping, Sequence, Union)):
        return mapped(held, lambda part: _each(frame, function, part))
    if isinstance(held, Nothing):
        return held
    made = _called(frame, function, Arguments((held,))) or Unknown(Reason.LIBRARY)
    # Of something unknown, which may be a container itself, it is only known what holds for each thing in it.
    if not isinstance(held, Unknown):
        return made
    return Unknown(Reason.CONTENT, *tensor_facts(made), evidence=evidence_in(made))


_MAX_STEPS = 4  # one makes a tensor, one an image of it again: what comes of the rest is the same


def _composed_anyhow(frame: Frame, step: Value, value: Value) -> Value | None:
    """What any number of steps make of a value, of which each is one of several; None where that does not settle."""
    for _ in range(_MAX_STEPS):
        after = join(value, frame.evaluator.call(frame, step, Arguments((value,))))
        if same(after, value):
            return value
        value = after
    return None


def _transformed(frame: Frame, owner: LibraryObject) -> Value:
    """The image of a dataset's item: PIL's, or what the dataset's `transform` makes of it."""
    if owner.arguments is None:
        return Unknown(Reason.ITEM)
    transform = owner.arguments.named_value("transform")
    image = Plain("image")
    return (
        image
        if transform is None or same(transform, NONE)
        else frame.evaluator.call(frame, transform, Arguments((image,)))
    )
