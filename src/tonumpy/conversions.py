"""A call and what inference knows of the tensor that it converts, together: the values that the rules judge."""

from __future__ import annotations

import ast
from collections.abc import Collection
from typing import Literal, NamedTuple, TypeVar

from tonumpy.detectors.memory import Overwritten, Side
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.names.torch_transforms import Transformed
from tonumpy.engine.values.dtypes import is_choice, is_integral, link_of_dtype, may_lack
from tonumpy.engine.values.evidence import PROVED, AllEvidence, Strength, is_cut_off, of_cuts, weakest
from tonumpy.facts import Certainty, Fact
from tonumpy.findings import Confidence
from tonumpy.text.candidates import Candidate, OperationSite, ReturnSite, Site
from tonumpy.wanted_errors import OF_DEVICE, OF_GRAD, errors_made_good

_Judged = TypeVar("_Judged", "Conversion", "ImplicitConversion")
Risk = Literal["requires grad", "learns", "elsewhere", "sent", "layout", "dtype", "bit"]
Container = Literal["list", "dict", "tuple"]
Mixture = Literal[
    "array first",
    "comparison",
    "difference",
    "division",
    "equality",
    "index",
    "put into array",
    "put into tensor",
    "tensor first",
]

# How the result of a ufunc is taken for a mask.
Masking = Literal["", "inverted", "index", "refused"]

LINKS_OF_BIT = {"conjugate": "resolve_conj", "negative": "resolve_neg"}


class Conversion(NamedTuple):
    """A conversion of what is, or may be, a torch tensor.

    `on_cpu` and `requires_grad` speak of the receiver as the call finds it; `grad_mode` of the moment of the call.
    `tensor_written` says where the tensor is written while its array is still in use, `array_written` the reverse.
    `copies` are the parts of the receiver that certainly put their result into new memory.
    `dtype`, `layout`, `bit` and `is_item` are those of `Tensor` in engine/values/values.py, known only where proved.
    `evidence` is what `on_cpu` and `requires_grad` rest on, and `is_sent`: it has been moved to an accelerator, or to a
    device chosen at run time or told from elsewhere, on one path at least.
    `param_taint`: it is made of parameters, on one path at least.
    `trained_in` is the line where torch trains on a loss that is made of its array alone.
    `is_brought_back`: the chain's `.cpu()` is called on what has been sent to a device, and copies unless that is the
    CPU; None where nothing says where it is.
    `is_settled` says whether the search for what it is was not cut off before there was anything to be said of it.
    `data_of_tensor` says whether what the chain's `.data` is read from is a tensor itself: a batch, a dataset or a
    PackedSequence has a tensor under that name and no `.detach()`.
    `transformed` is the transform of torch.func that wraps the tensor, so that no chain converts it.
    """

    candidate: Candidate
    chain: Chain
    certainty: Certainty
    on_cpu: Fact
    requires_grad: Fact
    grad_mode: Fact
    data_of_tensor: Fact = None
    dtype: str | None = None
    layout: str | None = None
    bit: str | None = None
    is_item: bool = False
    copies: tuple[ast.expr, ...] = ()
    tensor_written: Overwritten | None = None
    array_written: Overwritten | None = None
    is_sent: bool = False
    evidence: AllEvidence = PROVED
    trained_in: int | None = None
    param_taint: bool = False
    is_settled: bool = True
    is_brought_back: Fact = False
    transformed: Transformed | None = None

    @property
    def confidence(self) -> Confidence:
        """The confidence in what it may raise for: high where something in sight speaks for it."""
        if not self.is_settled:
            return "low"
        if self.transformed is not None and self.certainty == "tensor":
            return "high"
        return "high" if self.speaks_of_grad or self.speaks_of_device else "medium"

    @property
    def speaks_of_grad(self) -> bool:
        """True if something in sight says that it raises for its grad. Where the search was cut off, something might
        have been found that speaks against it."""
        requires_grad = self.requires_grad is True and self.grad_mode is not False
        is_made_by_model = self.param_taint and self.grad_mode is True
        speaks = self.may_raise_by_grad and (requires_grad or is_made_by_model)
        return speaks and not is_cut_off(self.evidence, "grad")

    @property
    def speaks_of_device(self) -> bool:
        """True if something in sight says that it raises for its device."""
        speaks = self.may_raise_by_device and (self.on_cpu is False or self.is_sent)
        return speaks and not is_cut_off(self.evidence, "device")

    @property
    def call(self) -> ast.Call:
        return self.candidate.call

    @property
    def confidence_of_kind(self) -> Confidence:
        """The confidence in what does not depend on grad or device: as sure as that it is a tensor."""
        return "high" if self.certainty == "tensor" else "medium" if self.is_settled else "low"

    @property
    def confidence_of_sharing(self) -> Confidence:
        """The confidence that the array shares its memory with the tensor: surely so on the CPU, and nowhere else."""
        if self.is_brought_back:
            return "low"
        is_surely_there = self.on_cpu is True and self.is_brought_back is False
        return self.confidence_of_kind if is_surely_there else "medium"

    def without_habits(self, habits: Collection[str] | None = None) -> Conversion:
        """Return what is known if these habits are not believed, or none at all; itself where that changes nothing."""
        return _without_habits(self, habits)

    def as_proved(self) -> Conversion:
        """Return what is known by proof and promise alone, without what callers or habits say."""
        return _without_habits(self, None, Strength.CALLERS)

    @property
    def grad_is_proved(self) -> bool:
        return _grad_is_proved(self)

    @property
    def device_is_proved(self) -> bool:
        return _device_is_proved(self)

    @property
    def may_raise_by_grad(self) -> bool:
        """True if it may require grad and nothing handles the error."""
        is_chosen = self.candidate.is_left_to_callers
        return not self.grad_is_proved and not is_chosen and OF_GRAD not in self.errors_made_good

    @property
    def may_raise_by_device(self) -> bool:
        is_chosen = self.candidate.is_left_to_callers
        return not self.device_is_proved and not is_chosen and OF_DEVICE not in self.errors_made_good

    @property
    def errors_made_good(self) -> frozenset[str]:
        """The errors of grad and device for which a handler in the function converts in another way."""
        return errors_made_good(self.candidate.scopes[-1], self.candidate.call)

    @property
    def errors_raised(self) -> frozenset[str]:
        """The classes of errors that it may raise."""
        of_bit = (OF_GRAD,) if self.bit is not None else ()
        lacks = may_lack(self.dtype) or self.layout is not None
        return _errors_of_tensor(self).union(of_bit, (OF_DEVICE,) if lacks else ())

    @property
    def is_complete(self) -> bool:
        """True if the chain itself detaches and brings the tensor to the CPU, or `force=True` does."""
        return self.candidate.is_forced or self.chain.is_complete


class Copied(NamedTuple):
    """The copy towards the host that may not have arrived where it is read: its call; whether what it copies is on a
    device for sure; and whether the node that reads it is a call of a method of it."""

    call: ast.Call
    is_sure: bool
    is_read_by_method: bool

    def method_of(self, read: ast.expr) -> ast.Attribute | None:
        """The method that reads, if it is one: its name is where the finding stands."""
        is_method = self.is_read_by_method and isinstance(read, ast.Call) and isinstance(read.func, ast.Attribute)
        return read.func if is_method else None  # type: ignore[attr-defined]


class Taken(NamedTuple):
    """A tensor that is taken for values: the word of the table for what comes out (detectors/taken/table.py), what was
    given, the library that takes it, how often that is wrong, and `is_not`: `x not in y`."""

    word: str
    given: str
    library: str
    confidence: Confidence
    is_not: bool = False


# What raises, or is no comparison at all, whatever the tensor is like.
ALWAYS_WRONG = ("array first", "comparison", "difference", "put into tensor")


class ImplicitConversion(NamedTuple):
    """A tensor that a function of another library converts: an argument of its call, or an item of a list there.

    Or one that is brought together with an array of NumPy: `mixture` says how, and `function` is the code.

    `function` is the call's function as it is written. `of_items`: what the argument is, where its tensors are not
    in sight one by one. `keeps_value`: the function gives of an array what it gives of a tensor. `is_sent`: it has been
    moved to an accelerator, or a device chosen at run time, on one path at least; `param_taint`: it is made of
    parameters on one path at least. `others` are those of the same call that are at risk too. The rest is as above.

    Where what a call shares memory with is written, be that a tensor or, for functions of torch, an array, `argument`
    is the call, and `makes` says what it makes of the one: the other.

    `back_in_torch` is the line where torch uses the result.

    `never`: the error that the function raises for every tensor, and `takes_arrays`: not for the equal array. `later`:
    the function takes the tensor, and what is done next with its object raises. `errors`: where that is another than
    NumPy's, by the letters of the tables (see detectors/consumers.py); `words`: what the library says then.

    Where a copy is read before it has arrived, `argument` reads, `function` is the copy's, and `copied` tells of it.
    Where a ufunc's result is no mask, `argument` takes it for one, as `mask` says. Where nothing raises and
    something else comes out, `taken` tells of it.
    """

    site: Site | OperationSite | ReturnSite
    function: str
    argument: ast.expr
    chain: Chain
    certainty: Certainty
    on_cpu: Fact
    is_sent: bool = False
    requires_grad: Fact = None
    grad_mode: Fact = None
    dtype: str | None = None
    layout: str | None = None
    bit: str | None = None
    of_items: Container | None = None
    keeps_value: bool = True
    evidence: AllEvidence = PROVED
    param_taint: bool = False
    others: tuple[ImplicitConversion, ...] = ()
    mixture: Mixture | None = None
    makes: Side | None = None
    tensor_written: Overwritten | None = None
    array_written: Overwritten | None = None
    never: str = ""
    takes_arrays: bool = True
    back_in_torch: int | None = None
    later: bool = False
    copied: Copied | None = None
    errors: tuple[tuple[str, str], ...] = ()
    words: str = ""
    mask: Masking = ""
    taken: Taken | None = None

    @property
    def call(self) -> ast.Call:
        assert isinstance(self.argument, ast.Call)
        return self.argument

    @property
    def confidence_of_mask(self) -> Confidence:
        return "high" if self.certainty == "tensor" else "medium"

    @property
    def confidence_of_taken(self) -> Confidence:
        assert self.taken is not None
        return "medium" if self.certainty != "tensor" and self.taken.confidence == "high" else self.taken.confidence

    @property
    def confidence_of_sharing(self) -> Confidence:
        return "high" if self.certainty == "tensor" and self.on_cpu is True else "medium"

    @property
    def confidence(self) -> Confidence:
        is_made_by_model = self.param_taint and self.grad_mode is True and not self.grad_is_proved
        if self.certainty != "tensor" and of_cuts(self.evidence) and not self.is_certain_to_raise:
            return "low"  # what made it may give anything
        if self.is_doubtful:
            return "low"
        always = bool(self.never) or self.mixture in ALWAYS_WRONG
        speaks = always or self.is_certain_to_raise or self.is_sent or self.is_of_chosen_dtype or is_made_by_model
        return "high" if self.certainty == "tensor" and speaks else "medium"

    @property
    def is_doubtful(self) -> bool:
        """True if it is one argument that is made by what is taken for a model: it may be no tensor, or grad mode off.

        Of seven such in five hundred repositories, where nothing else spoke, none was right.
        """
        is_one_argument = self.mixture is None and not self.of_items
        learns_alone = not self.never and self.risks == ("learns",)
        return is_one_argument and learns_alone and self.certainty != "tensor" and self.grad_mode is not True

    def without_habits(self, habits: Collection[str] | None = None) -> ImplicitConversion:
        """Return what is known if these habits are not believed, or none at all; itself where that changes nothing."""
        return _without_habits(self, habits)

    def as_proved(self) -> ImplicitConversion:
        """Return what is known by proof and promise alone, without what callers or habits say."""
        return _without_habits(self, None, Strength.CALLERS)

    @property
    def grad_is_proved(self) -> bool:
        return _grad_is_proved(self)

    @property
    def device_is_proved(self) -> bool:
        return _device_is_proved(self)

    @property
    def risks(self) -> tuple[Risk, ...]:
        """Return what the code around shows to go wrong; nothing where it shows nothing."""
        found: list[Risk] = []
        if not self.grad_is_proved and (self.requires_grad or self.param_taint):
            found.append("requires grad" if self.requires_grad else "learns")
        if not self.device_is_proved and (self.on_cpu is False or self.is_sent):
            found.append("elsewhere" if self.on_cpu is False else "sent")
        return (*found, *self._lacks)

    @property
    def errors_raised(self) -> frozenset[str]:
        """The classes of errors that it may raise."""
        is_plain = self.mixture is None and not self.of_items
        of_tensor = _errors_of_tensor(self) if is_plain and not self._lacks else frozenset((OF_GRAD, OF_DEVICE))
        return of_tensor.union((each for _, each in self.errors), (self.never,) if self.never else ())

    @property
    def would_cut_gradient(self) -> bool:
        """True if torch uses the result, so that it has no gradient once its tensors are converted."""
        return self.back_in_torch is not None and not self.grad_is_proved

    @property
    def links(self) -> tuple[str, ...] | None:
        """The methods that make of it what NumPy has; None where torch has nothing for it."""
        methods = {
            "layout": "to_dense",
            "dtype": link_of_dtype(self.dtype),
            "bit": LINKS_OF_BIT.get(self.bit or ""),
        }
        links = tuple(link for lacking in self._lacks if (link := methods[lacking]) is not None)
        return links if len(links) == len(self._lacks) else None

    @property
    def _lacks(self) -> list[Literal["layout", "dtype", "bit"]]:
        """Return what of it NumPy does not have."""
        found: list[Literal["layout", "dtype", "bit"]] = []
        if self.layout is not None:
            found.append("layout")
        if may_lack(self.dtype):
            found.append("dtype")
        if self.bit is not None:
            found.append("bit")
        return found

    @property
    def is_of_chosen_dtype(self) -> bool:
        """True if all that NumPy may lack of it is its dtype, which the code in sight chooses at run time."""
        return self._lacks == ["dtype"] and is_choice(self.dtype)

    @property
    def is_certain_to_raise(self) -> bool:
        """True if a conversion at risk raises: not where a device alone is doubtful, which may be the CPU."""
        is_elsewhere = self.on_cpu is False and not self.device_is_proved
        lacks = bool(self._lacks) and not self.is_of_chosen_dtype
        return is_elsewhere or lacks or (self.requires_grad is True and not self.grad_is_proved)


def _without_habits(conversion: _Judged, habits: Collection[str] | None, weak: Strength = Strength.HABIT) -> _Judged:
    doubted = frozenset(
        each for each in conversion.evidence if each.strength >= weak and (habits is None or each.id in habits)
    )
    cpu, grad = conversion.on_cpu, conversion.requires_grad
    if cpu and weakest(doubted, "device") >= weak:
        cpu = None
    if not grad and weakest(doubted, "grad") >= weak:
        grad = None
    mode = conversion.grad_mode
    if mode is False and weakest(doubted, "grad mode") >= weak:
        mode = None
        if not grad and not is_integral(conversion.dtype):
            grad = None  # it may have none because of the mode
    if (cpu, grad, mode) == (conversion.on_cpu, conversion.requires_grad, conversion.grad_mode):
        return conversion
    return conversion._replace(on_cpu=cpu, requires_grad=grad, grad_mode=mode)


def _errors_of_tensor(conversion: Conversion | ImplicitConversion) -> frozenset[str]:
    """The errors of grad and device that its facts leave open, habits aside: torch asks for the device first.

    Both where none is left, as the facts may be wrong about code that wants an error.
    """
    proved = conversion.as_proved()
    of_device = not _device_is_proved(proved)
    of_grad = not _grad_is_proved(proved) and not (of_device and proved.on_cpu is False)
    kinds = (*((OF_GRAD,) if of_grad else ()), *((OF_DEVICE,) if of_device else ()))
    return frozenset(kinds or (OF_GRAD, OF_DEVICE))


def _grad_is_proved(conversion: Conversion | ImplicitConversion) -> bool:
    """A conversion raises for grad only where grad mode is on and the tensor requires grad."""
    return conversion.chain.detach is not None or conversion.requires_grad is False or conversion.grad_mode is False


def _device_is_proved(conversion: Conversion | ImplicitConversion) -> bool:
    return conversion.chain.cpu is not None or conversion.on_cpu is True
