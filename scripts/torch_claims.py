"""What holds of a public name of torch in every observed call of it: the claims that torch_api.json is made of."""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from torch_calls import Observation, Output
from torch_stubs import Signature, admitting_positions, first_plain_position, may_alias, plain_keywords


class OutputClaims(NamedTuple):
    kind: str
    device: str | None
    grad: str | None
    dtype: str | None
    memory: str | None


class ResultClaims(NamedTuple):
    """What is returned when exactly the deciders `when` are given; `container` is "", "tuple" or "sequence"."""

    when: tuple[str, ...]
    container: str
    fields: tuple[str, ...]
    outputs: tuple[OutputClaims, ...]


class Decider(NamedTuple):
    """What counts as `given`: "true" nothing but True; "value" all but False, None and a tensor; "any" anything."""

    parameter: str
    position: int | None
    given: str


class Claims(NamedTuple):
    """`deciders` are the parameters (with their positions, and what counts as given) that choose among the results;
    `plain_from` is the position from which on no overload takes a tensor, and `plain` are the names under which none
    does, `gradless` are the places of tensors that bring no grad, and `may_reduce` says that a result may have no
    dimensions though the tensors do."""

    results: tuple[ResultClaims, ...]
    deciders: tuple[Decider, ...]
    takes: tuple[str, ...]
    writes: tuple[str, ...]
    plain_from: int | None
    plain: tuple[str, ...]
    gradless: tuple[int | str, ...]
    may_reduce: bool


# A result of such a kind is one of several Python numbers, whichever the dtype asks for.
_NUMBERS = {"int", "float", "complex", "bool"}
_VALUES = {*_NUMBERS, "list", "tuple", "Size", "str", "dtype", "device", "layout"}
_FLOATS = {"torch.float32", "torch.float64", "torch.bfloat16", "torch.float16"}
_DIFFERENTIABLE = _FLOATS | {"torch.complex64", "torch.complex128"}
# Fewer calls than this do not show that an operator without a telling schema never returns its input.
_ENOUGH_TO_SAY_NEW = 8


def claims_of(name: str, observations: Sequence[Observation], signatures: Sequence[Signature]) -> Claims:
    takes = _takes(observations)
    plain = [o for o in observations if not o.run.endswith("=")]
    told = [o for o in plain if len(o.outputs) != 1 or o.outputs[0].kind != "NoneType"] or plain
    deciders, groups = _grouped(told, signatures)
    gradless = _gradless(observations, signatures)
    results = tuple(_result(name, when, group, takes, gradless) for when, group in sorted(groups.items()))
    may_reduce = any(output.is_reduced for o in observations for output in o.outputs)
    return Claims(
        results,
        deciders,
        takes,
        _writes(name, plain),
        _plain_from(observations, signatures),
        _plain(observations, signatures),
        gradless,
        may_reduce,
    )


def _takes(observations: Iterable[Observation]) -> tuple[str, ...]:
    """The keywords that are understood: the result shows what they asked for."""
    shown: dict[str, Callable[[Output], bool]] = {
        "device=": lambda output: output.device == "meta",
        "dtype=": lambda output: output.dtype == "torch.float64",
        "requires_grad=": lambda output: output.requires_grad,
        "inplace=": lambda output: output.is_input,
    }
    found = {o.run[:-1] for o in observations if o.run in shown and any(shown[o.run](each) for each in o.outputs)}
    return tuple(sorted(found))


def _plain_from(observations: Iterable[Observation], signatures: Sequence[Signature]) -> int | None:
    """Follow the stubs; but a tensor of no dimension was taken for a number in some places."""
    told = first_plain_position(signatures)
    seen = [place for o in observations for place, what in o.given if is_tensor(what) and isinstance(place, int)]
    return None if told is None else max([told, *(place + 1 for place in seen)])


def _plain(observations: Iterable[Observation], signatures: Sequence[Signature]) -> tuple[str, ...]:
    """Follow the stubs, too; by position or by name, a tensor was not seen there either."""
    seen = {place for o in observations for place, what in o.given if is_tensor(what)}
    return tuple(sorted({*plain_keywords([signatures])} - _both_ways(seen, signatures)))


def is_tensor(what: str) -> bool:
    """True if an argument, as its description says, was a tensor."""
    return "tensor" in what


def _gradless(observations: Sequence[Observation], signatures: Sequence[Signature]) -> tuple[int | str, ...]:
    """Return the places where what is given brings the result no grad, by position and name: indices, masks, shapes."""
    given: set[int | str] = set()
    sources: set[int | str] = set()
    doubtful: set[int | str] = set()  # can require grad, and was not seen to leave the result without
    shown: set[int | str] = set()
    for o in observations:
        tensors = _tensors_given(o)
        given |= tensors.keys()
        sources |= {place for place, what in o.given if what in ("list", "tuple")}
        if not o.run.startswith("promoted"):  # an empty index of floating point is taken by some
            doubtful |= {place for place, what in tensors.items() if what != "integral tensor"}
        with_grad = {place for place, what in tensors.items() if what == "tensor with grad"}
        if True in (output.requires_grad for output in o.outputs):
            sources |= with_grad & {0} or with_grad
        else:
            shown |= with_grad
    if not sources:
        return ()
    found = _both_ways(given, signatures) - _both_ways(sources | (doubtful - shown), signatures)
    found |= {*range(_plain_from(observations, signatures) or 0)} - given - sources - admitting_positions(signatures)
    return tuple(sorted(found, key=str))


def _tensors_given(o: Observation) -> dict[int | str, str]:
    return {place: what for place, what in o.given if is_tensor(what)}


def _both_ways(places: Iterable[int | str], signatures: Sequence[Signature]) -> set[int | str]:
    """Places with the names that they have in the signatures, and the positions of those that are given by name."""
    found = set(places)
    for signature in signatures:
        for position, name in enumerate(signature.parameters):
            if position in found or name in found:
                found |= {position, name}
    return found


# What the stubs call the Python values that a call may return.
_STUB_KINDS = {
    **{f"{prefix}{kind}": kind for prefix in ("", "_") for kind in ("int", "float", "bool", "str", "dtype", "device")},
    **dict.fromkeys(("Tensor", "torch.Tensor", "Self"), "tensor"),
    "Size": "Size",
    "torch.Size": "Size",
    "None": "NoneType",
    "numpy.ndarray": "array",
    "TypeIs": "bool",
}


def claims_without_calls(signatures: Sequence[Signature]) -> Claims | None:
    """Return what the stubs alone tell of a function that could not be called: what kind of value it returns."""
    kinds = {_STUB_KINDS.get(signature.returns) for signature in signatures}
    kind = kinds.pop() if len(kinds) == 1 else None
    if kind is None:
        return None
    result = ResultClaims((), "", (), (OutputClaims(kind, None, None, None, None),))
    return Claims((result,), (), (), (), first_plain_position(signatures), (), (), may_reduce=True)


Groups = dict[tuple[str, ...], list[Observation]]


def _grouped(observations: list[Observation], signatures: Sequence[Signature]) -> tuple[tuple[Decider, ...], Groups]:
    """The fewest parameters that decide the shape of the result, and the observations by which of these were given."""
    for shape, given in ((_exact_shape, "true"), (_loose_shape, "value"), (_loose_shape, "any")):
        if len({shape(o) for o in observations}) == 1:
            break
        places = _places(observations, signatures, given)
        for count in (1, 2):
            for chosen in itertools.combinations(places, count):
                groups: Groups = defaultdict(list)
                for o in observations:
                    groups[tuple(each.parameter for each in chosen if _is_given(o, each))].append(o)
                if all(len({shape(o) for o in group}) == 1 for group in groups.values()):
                    return chosen, groups
    return (), {(): observations}


def _exact_shape(o: Observation) -> object:
    return (o.container, o.fields, len(o.outputs), tuple(_kind([each]) for each in o.outputs))


def _loose_shape(o: Observation) -> object:
    return (bool(o.container), o.fields)


def _places(observations: Iterable[Observation], signatures: Sequence[Signature], given: str) -> list[Decider]:
    found: dict[Decider, None] = {}
    for signature in signatures:
        for position, (parameter, annotation) in enumerate(
            zip(signature.parameters, signature.annotations, strict=True)
        ):
            if annotation != "Tensor" or given == "any":
                found[Decider(parameter, position, given)] = None
    named = {each.parameter for each in found}
    keywords = {place for o in observations for place, _ in o.given if isinstance(place, str)} - named
    return [*found, *(Decider(keyword, None, given) for keyword in sorted(keywords))]


def _is_given(o: Observation, decider: Decider) -> bool:
    found = [what for place, what in o.given if place in (decider.parameter, decider.position)]
    if decider.given == "true":
        return "True" in found
    return any(decider.given == "any" or (what not in ("False", "None") and not is_tensor(what)) for what in found)


Places = tuple[int | str, ...]


def _result(
    name: str, when: tuple[str, ...], group: list[Observation], takes: tuple[str, ...], gradless: Places
) -> ResultClaims:
    containers, fields = {o.container for o in group}, {o.fields for o in group}
    lengths = {len(o.outputs) for o in group}
    if containers == {""}:
        return ResultClaims(when, "", (), (_output(name, [(o, o.outputs[0]) for o in group], takes, gradless),))
    if "" in containers:
        return ResultClaims(when, "", (), (OutputClaims("unknown", None, None, None, None),))
    if len(lengths) == 1 and containers == {"tuple"} and (len(fields) == 1):
        outputs = [_output(name, [(o, o.outputs[i]) for o in group], takes, gradless) for i in range(lengths.pop())]
        return ResultClaims(when, "tuple", fields.pop(), tuple(outputs))
    every = [(o, each) for o in group for each in o.outputs]
    return ResultClaims(when, "sequence", (), (_output(name, every, takes, gradless),))


Seen = list[tuple[Observation, Output]]


def _output(name: str, seen: Seen, takes: tuple[str, ...], gradless: Places) -> OutputClaims:
    kind = _kind([output for _, output in seen])
    if kind not in ("tensor", "array"):
        return OutputClaims(kind, None, None, None, None)
    if kind == "array":
        return OutputClaims(kind, None, None, None, _memory(name, seen))
    return OutputClaims(kind, _device(seen), _grad(seen, takes), _dtype(seen, gradless), _memory(name, seen))


def _without(keyword: str, seen: Seen) -> Seen:
    return [(o, output) for o, output in seen if all(place != keyword for place, _ in o.given)]


def _kind(outputs: Iterable[Output]) -> str:
    kinds = {output.kind for output in outputs}
    kinds = {"tensor" if kind == "Parameter" else kind for kind in kinds}
    if len(kinds) == 1:
        return kinds.pop()
    return "number" if kinds <= _NUMBERS else "value" if kinds <= _VALUES else "unknown"


def _device(seen: Seen) -> str | None:
    """Follows its inputs, or the default device, or neither: the two are moved one at a time.

    A function that turns data into a tensor (`torch.as_tensor`) follows its inputs until the default device is changed.
    """
    seen = _without("device", seen)
    moved = {output.device for o, output in seen if o.run == "meta" and o.input_devices == ("meta",)}
    default = [(o, output) for o, output in seen if o.run == "default device"]
    are_fed = {bool(o.input_devices) for o, _ in seen}
    unfed_default = {output.device for o, output in default if not o.input_devices}
    if moved == {"meta"} and (False not in are_fed or unfed_default == {"meta"}):
        return "same"
    if moved == {"cpu"} or True not in are_fed:
        return {("meta",): "argument", ("cpu",): "cpu"}.get(tuple({output.device for _, output in default}))
    return None


def _grad(seen: Seen, takes: tuple[str, ...]) -> str | None:
    here = [(o, output) for o, output in _without("requires_grad", seen) if o.run != "meta"]
    unasked, asked = set[bool](), set[bool]()
    for o, output in here:
        (asked if o.inputs_require_grad else unasked).add(output.requires_grad)
    if True in unasked:
        return "always" if unasked == {True} else None
    if True in asked:
        return "inputs" if asked == {True} else "some inputs"
    if "requires_grad" in takes:
        return "argument"
    can_carry = any(o.input_devices for o, _ in here) and any(output.dtype in _DIFFERENTIABLE for _, output in here)
    return None if can_carry and asked != {False} else "never"


def _dtype(seen: Seen, gradless: Places) -> str | None:
    given_places = {place for o, _ in seen for place, what in o.given if what == "dtype"}
    if given_places - {"dtype"}:
        return None  # a dtype by position: whether one is given cannot be told by the keywords
    free = _without("dtype", seen)
    given = {o.first_dtype for o, _ in free}
    usual = {output.dtype for o, output in free if o.run != "default dtype"}
    if len(usual) == 1 and (not any(given) or len(given) > 1):
        return _one_dtype(usual.pop(), free)
    return "same" if _keep_the_first(free) else _promoted(free, gradless) or _dtype_of_some(free, gradless)


def _dtype_of_some(seen: Seen, gradless: Places) -> str | None:
    """The claim that holds where the first tensor is of a floating point dtype, or decides alone."""
    if _keep_the_first(each for each in seen if each[0].first_dtype in _FLOATS):
        return "same float"
    alone = (each for each in seen if each[0].first_dtype == promotion(each[0], gradless))
    return "same alone" if _keep_the_first(alone) else None


def _one_dtype(dtype: str, seen: Seen) -> str | None:
    """The claim for results of one dtype, but for those where the default dtype was float64."""
    unusual = {output.dtype for o, output in seen if o.run == "default dtype"}
    if unusual <= {dtype}:
        return dtype.removeprefix("torch.")
    return "default" if unusual == {"torch.float64"} and dtype == "torch.float32" else None


def _keep_the_first(seen: Iterable[tuple[Observation, Output]]) -> bool:
    """True if results have the dtype of the first tensor, which was of several."""
    pairs = {(o.first_dtype, output.dtype) for o, output in seen}
    return len({first for first, _ in pairs}) > 1 and all(first == dtype for first, dtype in pairs)


def _promoted(seen: Seen, gradless: Places) -> str | None:
    promotions = [(promotion(o, gradless), output.dtype) for o, output in seen]
    if len({dtype for dtype, _ in promotions if dtype in _FLOATS}) < 2:
        return None
    if all(dtype is None or _is_as_promoted(dtype, found) for dtype, found in promotions):
        return "promoted"
    is_of_floats = all(dtype not in _FLOATS or dtype == found for dtype, found in promotions)
    return "promoted float" if is_of_floats else None


def promotion(o: Observation, gradless: Sequence[int | str]) -> str | None:
    """The dtype of the floating point and complex tensors given, where all are of one; "complex" where only some are.

    What brings no grad is not asked, but for a method's own tensor.
    """
    is_method = o.name.startswith("torch.Tensor.")
    dtypes = {dtype for place, dtype in o.dtypes if place not in gradless or (is_method and place == 0)}
    if len(dtypes) == 1:
        return dtypes.pop()
    return "complex" if any("complex" in dtype for dtype in dtypes) else None


def _is_as_promoted(dtype: str, found: str) -> bool:
    return dtype == found or (dtype == "complex" and "complex" in found)


def _memory(name: str, seen: Seen) -> str | None:
    shares = {output.shares for _, output in seen}
    if all(output.is_input and o.written for o, output in seen):
        return "inplace"
    if shares == {True}:
        return "view"
    aliased = may_alias(name)
    if True in shares or aliased:
        return "may view"
    return "new" if aliased is False or len(seen) >= _ENOUGH_TO_SAY_NEW else None


def _writes(name: str, observations: list[Observation]) -> tuple[str, ...]:
    """`("self",)` for a method that writes its own tensor in each call."""
    is_method = name.startswith("torch.Tensor.") and bool(observations)
    return ("self",) if is_method and all(0 in o.written for o in observations) else ()
