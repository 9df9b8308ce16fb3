"""Conversions: the facts about a tensor that is converted or treated as an array; one type for each kind of finding."""

from __future__ import annotations

import ast
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from tonumpy.detectors.memory import Overwritten, Side
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.names.torch_transforms import Transformed
from tonumpy.engine.values.dtypes import is_choice, is_integral, link_of_dtype, may_lack
from tonumpy.engine.values.evidence import PROVED, AllEvidence, Strength, is_cut_off, of_cuts, weakest
from tonumpy.facts import Certainty, Fact
from tonumpy.findings import Confidence, Position
from tonumpy.text.candidates import Candidate, OperationSite, ReturnSite, Site, call_span
from tonumpy.text.source import Source
from tonumpy.wanted_errors import OF_DEVICE, OF_GRAD, errors_made_good

_Judged = TypeVar("_Judged", bound="Conversion")
Risk = Literal["requires grad", "learns", "elsewhere", "sent", "layout", "dtype", "bit"]
Container = Literal["list", "dict", "tuple"]
MixtureKind = Literal[
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
MaskUse = Literal["inverted", "index", "refused"]

_NO_LINKS = Chain(())
LINKS_OF_BIT = {"conjugate": "resolve_conj", "negative": "resolve_neg"}


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Conversion:
    """The place of a conversion of what is, or may be, a torch tensor, and the facts about that tensor.

    `on_cpu` and `requires_grad` are the tensor's facts at the conversion, and `grad_mode` is the mode there.
    `chain`: the links between tensor and conversion, such as `.detach().cpu()`.
    `is_sent`: on at least one path it was moved to an accelerator, or to a device that is chosen at run time or passed
    in.
    `dtype`, `layout` and `bit` are those of `Tensor` in engine/values/values.py, known only where proved.
    `param_taint`: it is computed from parameters on at least one path.
    `evidence` is what `on_cpu` and `requires_grad` rest on.
    """

    site: Candidate | Site | OperationSite | ReturnSite
    certainty: Certainty
    chain: Chain = _NO_LINKS
    on_cpu: Fact = None
    is_sent: bool = False
    requires_grad: Fact = None
    grad_mode: Fact = None
    dtype: str | None = None
    layout: str | None = None
    bit: str | None = None
    param_taint: bool = False
    evidence: AllEvidence = PROVED

    @property
    def confidence(self) -> Confidence:
        """The confidence in a finding about it: high if it is proved to be a tensor, else medium; subclasses refine
        this."""
        return "high" if self.certainty == "tensor" else "medium"

    @property
    def errors_raised(self) -> frozenset[str]:
        """The classes of errors that it may raise."""
        return _errors_of_tensor(self)

    @property
    def grad_is_proved(self) -> bool:
        """True if it cannot raise for grad: that takes grad mode and a tensor that requires grad."""
        return self.chain.detach is not None or self.requires_grad is False or self.grad_mode is False

    @property
    def device_is_proved(self) -> bool:
        return self.chain.cpu is not None or self.on_cpu is True

    @property
    def lacks(self) -> tuple[Literal["layout", "dtype", "bit"], ...]:
        """The properties of the tensor that NumPy does not support."""
        return (
            *(("layout",) if self.layout is not None else ()),
            *(("dtype",) if may_lack(self.dtype) else ()),
            *(("bit",) if self.bit is not None else ()),
        )

    @property
    def links(self) -> tuple[str, ...] | None:
        """The methods that remove the properties NumPy lacks (`to_dense`); None if torch has no method for one of
        them."""
        methods = {
            "layout": "to_dense",
            "dtype": link_of_dtype(self.dtype),
            "bit": LINKS_OF_BIT.get(self.bit or ""),
        }
        links = tuple(link for lacking in self.lacks if (link := methods[lacking]) is not None)
        return links if len(links) == len(self.lacks) else None

    def span(self, source: Source) -> tuple[Position, Position]:
        """The span that a finding has in the text."""
        node = self.site.string or self.site.call
        return source.node_start(node), source.node_end(node)

    def without_habits(self: _Judged, habits: Collection[str] | None = None) -> _Judged:
        """The conversion without the facts that rest on these habits (None: on any habit); itself if nothing
        changes."""
        return _without_habits(self, habits)

    def as_proved(self: _Judged) -> _Judged:
        """The conversion with only the facts that rest on proof or promises, not on callers or habits."""
        return _without_habits(self, None, Strength.CALLERS)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MethodConversion(Conversion):
    """A conversion by the method: `x.numpy()`.

    `tensor_written` says where the tensor is written while its array is still in use, `array_written` the reverse.
    `copies` are the parts of the receiver that certainly put their result into new memory.
    `trained_in` is the line where torch trains on a loss that is made of its array alone.
    `is_brought_back`: the chain's `.cpu()` is called on a tensor that was sent to a device, so it copies unless that
    device is the CPU; None if the device is unknown.
    `data_of_tensor`: whether the chain's `.data` is read from a tensor; a batch, a dataset or a PackedSequence also has
    a tensor in `.data`, but no `.detach()`.
    `transformed` is the transform of torch.func that wraps the tensor, so that no chain converts it.
    """

    site: Candidate
    data_of_tensor: Fact = None
    is_item: bool = False
    copies: tuple[ast.expr, ...] = ()
    tensor_written: Overwritten | None = None
    array_written: Overwritten | None = None
    trained_in: int | None = None
    is_brought_back: Fact = False
    transformed: Transformed | None = None

    @property
    def confidence(self) -> Confidence:
        """The confidence that it raises: high if the code shows a reason, grad or device."""
        if self.transformed is not None and self.certainty == "tensor":
            return "high"
        return "high" if self.speaks_of_grad or self.speaks_of_device else "medium"

    @property
    def speaks_of_grad(self) -> bool:
        """True if the code shows that it raises because of grad, and no limit cut off the search for grad: that might
        have found a reason against it."""
        requires_grad = self.requires_grad is True and self.grad_mode is not False
        is_made_by_model = self.param_taint and self.grad_mode is True
        speaks = self.may_raise_by_grad and (requires_grad or is_made_by_model)
        return speaks and not is_cut_off(self.evidence, "grad")

    @property
    def speaks_of_device(self) -> bool:
        """True if the code shows that it raises because of its device."""
        speaks = self.may_raise_by_device and (self.on_cpu is False or self.is_sent)
        return speaks and not is_cut_off(self.evidence, "device")

    @property
    def confidence_of_kind(self) -> Confidence:
        """The confidence in findings that depend on neither grad nor device, only on whether it is a tensor."""
        return "high" if self.certainty == "tensor" else "medium"

    @property
    def confidence_of_sharing(self) -> Confidence:
        """The confidence that the array shares its memory with the tensor, which happens on the CPU only."""
        if self.is_brought_back:
            return "low"
        is_surely_there = self.on_cpu is True and self.is_brought_back is False
        return self.confidence_of_kind if is_surely_there else "medium"

    @property
    def may_raise_by_grad(self) -> bool:
        """True if it may require grad and nothing handles the error."""
        is_chosen = self.site.is_left_to_callers
        return not self.grad_is_proved and not is_chosen and OF_GRAD not in self.errors_made_good

    @property
    def may_raise_by_device(self) -> bool:
        is_chosen = self.site.is_left_to_callers
        return not self.device_is_proved and not is_chosen and OF_DEVICE not in self.errors_made_good

    @property
    def errors_made_good(self) -> frozenset[str]:
        """The errors of grad and device for which a handler in the function converts in another way."""
        return errors_made_good(self.site.scopes[-1], self.site.call)

    @property
    def errors_raised(self) -> frozenset[str]:
        """The classes of errors that it may raise."""
        return _errors_of_tensor(self).union(OF_GRAD if each == "bit" else OF_DEVICE for each in self.lacks)

    @property
    def is_complete(self) -> bool:
        """True if the chain itself detaches and brings the tensor to the CPU, or `force=True` does."""
        return self.site.is_forced or self.chain.is_complete

    def span(self, source: Source) -> tuple[Position, Position]:
        """The span from `numpy` to the closing bracket."""
        return call_span(self.site, source)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ImplicitConversion(Conversion):
    """A conversion without `.numpy()`: `function`, as the source writes it, converts or misreads `argument`.

    `keeps_value`: the function gives the same result for the equal array.
    """

    function: str
    argument: ast.expr
    keeps_value: bool = False

    def span(self, source: Source) -> tuple[Position, Position]:
        """The span of the argument, or of the f-string that holds it."""
        node = self.site.string or self.argument
        return source.node_start(node), source.node_end(node)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ArgumentConversion(ImplicitConversion):
    """A tensor that a function of another library converts: an argument of its call, or an item of a list there.

    `of_items`: the container's type if its tensors are not written out one by one. `others`: the further arguments of
    this call that are at risk. `back_in_torch`: the line where torch uses the result.

    `never`: the error that the function raises for every tensor; `takes_arrays`: but not for the equal array. `later`:
    the call accepts the tensor, and the next use of the object it returns raises. `errors`: errors other than NumPy's,
    by the letters of the tables (see detectors/consumers.py); `words`: the library's message.
    """

    of_items: Container | None = None
    others: tuple[ArgumentConversion, ...] = ()
    back_in_torch: int | None = None
    never: str = ""
    takes_arrays: bool = True
    later: bool = False
    errors: tuple[tuple[str, str], ...] = ()
    words: str = ""

    @property
    def confidence(self) -> Confidence:
        is_made_by_model = self.param_taint and self.grad_mode is True and not self.grad_is_proved
        if self.certainty != "tensor" and of_cuts(self.evidence) and not self.is_certain_to_raise:
            return "low"  # what made it may give anything
        if self.is_doubtful:
            return "low"
        speaks = self.is_always_wrong or self.is_certain_to_raise or self.is_sent or self.is_of_chosen_dtype
        return "high" if self.certainty == "tensor" and (speaks or is_made_by_model) else "medium"

    @property
    def is_always_wrong(self) -> bool:
        """True if it raises, or gives nonsense, for every tensor."""
        return bool(self.never)

    @property
    def is_doubtful(self) -> bool:
        """True for a single argument whose only risk is parameter taint, while it may be no tensor and grad mode may be
        off.

        Of seven such findings in five hundred repositories, none was right.
        """
        learns_alone = not self.of_items and not self.never and self.risks == ("learns",)
        return learns_alone and self.certainty != "tensor" and self.grad_mode is not True

    @property
    def risks(self) -> tuple[Risk, ...]:
        """The reasons to fail that the code shows; empty if it shows none."""
        found: list[Risk] = []
        if not self.grad_is_proved and (self.requires_grad or self.param_taint):
            found.append("requires grad" if self.requires_grad else "learns")
        if not self.device_is_proved and (self.on_cpu is False or self.is_sent):
            found.append("elsewhere" if self.on_cpu is False else "sent")
        return (*found, *self.lacks)

    @property
    def errors_raised(self) -> frozenset[str]:
        is_plain = not self.of_items and not self.lacks
        of_tensor = _errors_of_tensor(self) if is_plain else frozenset((OF_GRAD, OF_DEVICE))
        return of_tensor.union((each for _, each in self.errors), (self.never,) if self.never else ())

    @property
    def would_cut_gradient(self) -> bool:
        """True if torch uses the result, so that it has no gradient once its tensors are converted."""
        return self.back_in_torch is not None and not self.grad_is_proved

    @property
    def is_of_chosen_dtype(self) -> bool:
        """True if NumPy may lack nothing but its dtype, and the code chooses that at run time."""
        return self.lacks == ("dtype",) and is_choice(self.dtype)

    @property
    def is_certain_to_raise(self) -> bool:
        """True if a known fact makes it raise; a device that may be the CPU does not count."""
        is_elsewhere = self.on_cpu is False and not self.device_is_proved
        lacks = bool(self.lacks) and not self.is_of_chosen_dtype
        return is_elsewhere or lacks or (self.requires_grad is True and not self.grad_is_proved)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Mixture(ArgumentConversion):
    """A tensor and a NumPy array that meet in one operation: `kind` says which, and `function` is its source."""

    site: OperationSite
    kind: MixtureKind

    @property
    def is_always_wrong(self) -> bool:
        return self.kind in ("array first", "comparison", "difference", "put into tensor")

    @property
    def is_doubtful(self) -> bool:
        return False

    @property
    def errors_raised(self) -> frozenset[str]:
        return frozenset((OF_GRAD, OF_DEVICE))


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SharedMemory(ImplicitConversion):
    """A call other than `.numpy()` that makes an array and a tensor share memory, which is later written.

    `argument` is the call, `makes` its result (array or tensor); for the rest see MethodConversion.
    """

    site: Site
    argument: ast.Call
    makes: Side
    tensor_written: Overwritten | None
    array_written: Overwritten | None

    @property
    def confidence_of_sharing(self) -> Confidence:
        return "high" if self.certainty == "tensor" and self.on_cpu is True else "medium"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class EarlyRead(ImplicitConversion):
    """A read, `argument`, of memory that an asynchronous copy to the host may not have written yet.

    `copy` is the call that copies, and `function` its source; `is_read_by_method`: a method of the copy reads it.
    """

    site: Site
    copy: ast.Call
    is_read_by_method: bool
    keeps_value: bool = True

    @property
    def method(self) -> ast.Attribute | None:
        """The method that reads, if a method does: the finding starts at its name."""
        reader = self.argument.func if isinstance(self.argument, ast.Call) else None
        return reader if self.is_read_by_method and isinstance(reader, ast.Attribute) else None

    def span(self, source: Source) -> tuple[Position, Position]:
        """The span of the read; it starts at the method's name if a method reads."""
        node = self.site.string or self.argument
        start = source.name_start(self.method) if self.method is not None and node is self.argument else None
        return start or source.node_start(node), source.node_end(node)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class FalseMask(ImplicitConversion):
    """The result, `argument`, of a boolean ufunc on a tensor: it is used as a mask, in the way `use`, and is no
    mask."""

    use: MaskUse


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class TakenTensor(ImplicitConversion):
    """A tensor that is compared, looked up or stored by identity where its values were meant; nothing raises.

    `word` is the table's word for the outcome (detectors/taken/table.py), `given` the tensor's role, `library` the
    function's library, `sureness` how often the outcome is wrong; `is_not`: `x not in y`. `of_items` is as in
    ArgumentConversion.
    """

    word: str
    given: str
    library: str
    sureness: Confidence
    is_not: bool
    of_items: Container | None

    @property
    def confidence(self) -> Confidence:
        return "medium" if self.certainty != "tensor" and self.sureness == "high" else self.sureness


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
    return replace(conversion, on_cpu=cpu, requires_grad=grad, grad_mode=mode)


def _errors_of_tensor(conversion: Conversion) -> frozenset[str]:
    """The errors of grad and device that its facts, without habits, leave possible: torch checks the device first.
    Both if none is possible, as the facts may be wrong about code that expects an error.
    """
    proved = conversion.as_proved()
    of_device = not proved.device_is_proved
    of_grad = not proved.grad_is_proved and not (of_device and proved.on_cpu is False)
    kinds = (*((OF_GRAD,) if of_grad else ()), *((OF_DEVICE,) if of_device else ()))
    return frozenset(kinds or (OF_GRAD, OF_DEVICE))
