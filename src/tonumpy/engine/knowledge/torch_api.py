"""Reads torch_api.json: the results of torch's public functions, and the attributes of tensors."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from tonumpy.engine.knowledge.tables import table
from tonumpy.text.names import ACCELERATORS


class Output(NamedTuple):
    """One value that a call returns. None stands for unknown.

    kind    "tensor", "array" (NumPy's), "number" (of Python, which by the dtype), "value" (numbers or lists of them),
            "object" (none of these), "unknown", or the name of a Python type: "bool", "Size", "dtype", "NoneType"
    device  "same" as that of the tensors given (the default device where none is), "argument" (the default device: a
            factory), "cpu" whatever is given
    grad    "inputs": requires grad exactly if a floating point tensor given does; "some inputs": only if one does, not
            for every one; "never"; "argument": only if `requires_grad=True` is given; "always"
    dtype   "same" as that of the first tensor given, "same float": the same if that is floating point, "promoted": that
            of the floating point and complex tensors given where all are of one, complex where only some are complex;
            "promoted float": that of the floating point tensors given where no other is and all are of one; "same
            alone": that of the first where it is floating point or complex and no other tensor of another such dtype is
            given; "default": the default floating point dtype, or a dtype's name
    memory  "view" of a tensor (or array) given, "may view", "new", "inplace": a tensor given, written to

    `Callable.takes` names the keywords that override this where they are given.
    """

    kind: str
    device: str | None = None
    grad: str | None = None
    dtype: str | None = None
    memory: str | None = None

    @property
    def has_dtype_of_inputs(self) -> bool:
        return self.dtype in ("same", "same float", "same alone", "promoted", "promoted float")


class Result(NamedTuple):
    """The results of a call when, of the deciding parameters, exactly those in `when` are given.

    container  "": `outputs` is the one value; "tuple": a tuple of `outputs`, named by `fields` where it is a named
               tuple; "sequence": a tuple or list of any length of values like the one in `outputs`
    """

    outputs: tuple[Output, ...]
    container: str = ""
    fields: tuple[str, ...] = ()
    when: tuple[str, ...] = ()


class Decider(NamedTuple):
    """A parameter that decides which result a call has; `position` is None where it is a keyword only.

    given  which arguments count: "true" only True; "value" all but False, None and a tensor (which selects another
           overload); "any" all
    """

    parameter: str
    position: int | None
    given: str


class Callable(NamedTuple):
    """A function or a method; for a method, position 0 is the tensor itself.

    `results` has one entry for each combination of `deciders` that was seen; without deciders there is one.
    takes      the keywords it understands, of "device", "dtype", "requires_grad" and "inplace"
    writes     `("self",)` for a method that always writes to its tensor
    plain_from the position from which on no tensor can be given
    plain      the keywords that take no tensor here, though another function takes one by that name
    gradless   the positions and names of tensors whose grad never reaches the result, such as an index
    may_reduce whether a result may have no dimensions, though the tensors given have some
    """

    name: str
    results: tuple[Result, ...]
    deciders: tuple[Decider, ...] = ()
    takes: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    plain_from: int | None = None
    plain: tuple[str, ...] = ()
    gradless: tuple[int | str, ...] = ()
    may_reduce: bool = False

    def takes_tensor_at(self, place: int | str) -> bool:
        """True if that argument can be a tensor; sizes, dimensions and flags bring neither grad nor device."""
        if isinstance(place, str):
            return place not in plain_keywords() and place not in self.plain
        return self.plain_from is None or place < self.plain_from

    def takes_grad_at(self, place: int | str) -> bool:
        """True if the result may require grad because that argument does."""
        return self.takes_tensor_at(place) and place not in self.gradless

    def results_given(self, given: frozenset[str], unknown: frozenset[str] = frozenset()) -> tuple[Result, ...]:
        """The results a call may have when the deciders `given` are given, and those `unknown` may be."""
        return tuple(result for result in self.results if given <= {*result.when} <= given | unknown)


@cache
def function(name: str) -> Callable | None:
    """The entry of a function or method, by any public name: `torch.argmax`, `torch.Tensor.argmax`.

    The members of distributions, properties too, are `torch.distributions.Distribution.sample` and the like: the
    tensors given are the distribution's parameters.
    """
    facts = table("torch_api")
    name = facts["aliases"].get(name, name)
    entry = facts["callables"].get(name)
    return None if entry is None else _callable(name, entry)


def tensor_method(name: str) -> Callable | None:
    """The entry of a tensor's method: `argmax`, `__add__`."""
    return function(f"torch.Tensor.{name}")


@cache
def tensor_attribute(name: str) -> Output | None:
    """The value of a tensor's attribute that is read without a call: `T`, `data`, `shape`."""
    entry = table("torch_api")["attributes"].get(name)
    return None if entry is None else Output(*entry)


def is_of_tensors(name: str) -> bool:
    """True if every tensor has an attribute or method of this name."""
    return (tensor_attribute(name) or tensor_method(name)) is not None


@cache
def plain_keywords() -> frozenset[str]:
    """The names of parameters that take no tensor in any function of torch: `dim`, `keepdim`, `dtype`."""
    return frozenset(table("torch_api")["plain_keywords"])


@cache
def keeping_layout() -> frozenset[str]:
    """The short names of functions and methods that keep a layout which NumPy lacks."""
    return frozenset(table("torch_api")["keeping_layout"]) | ACCELERATORS


class Module(NamedTuple):
    """A layer, container or loss of torch.nn.

    returns         what calling it returns: "tensor" or "tuple"; None where it depends or is not known
    has_parameters  whether it has parameters of its own, so that its results require grad though its inputs do not;
                    None where that depends on its arguments, or is not known
    reduces         whether its result may have no dimensions though its input has some
    dtype           that of its parameters ("self"), or that of all floating point tensors given ("inputs")
    """

    name: str
    returns: str | None = None
    has_parameters: bool | None = None
    reduces: bool | None = None
    dtype: str | None = None


@cache
def module(name: str) -> Module | None:
    """The entry of a module class of torch.nn: `torch.nn.Linear`."""
    entry = table("torch_api")["modules"].get(name)
    return None if entry is None else Module(name, *entry)


def _callable(name: str, entry: dict[str, Any]) -> Callable:
    return Callable(
        name,
        tuple(_result(name, result) for result in entry["results"]),
        tuple(Decider(*decider) for decider in entry.get("deciders", ())),
        tuple(entry.get("takes", ())),
        tuple(entry.get("writes", ())),
        entry.get("plain_from"),
        tuple(entry.get("plain", ())),
        tuple(entry.get("gradless", ())),
        entry.get("may_reduce", False),
    )


# The length of their result depends on the tensor or an argument, but is the same in all measured samples.
_OF_ANY_LENGTH = frozenset("unbind unbind_copy split_with_sizes split_with_sizes_copy".split())


def _result(name: str, entry: dict[str, Any]) -> Result:
    outputs = tuple(Output(*output) for output in entry["outputs"])
    container = entry.get("container", "")
    if container == "tuple" and name.rpartition(".")[2] in _OF_ANY_LENGTH:
        outputs, container = outputs[:1], "sequence"
    return Result(outputs, container, tuple(entry.get("fields", ())), tuple(entry.get("when", ())))
