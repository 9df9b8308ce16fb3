"""Provides the phrases about conversions that the messages of several rules share."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tonumpy.conversions import ArgumentConversion, Conversion, MethodConversion, SharedMemory
from tonumpy.detectors.memory import Overwritten, Side
from tonumpy.engine.values.dtypes import choices, is_choice, may_lack
from tonumpy.facts import Certainty
from tonumpy.text.candidates import is_in_row
from tonumpy.text.names import quoted

# The advice for findings without a fix.
CONVERT = "convert it first, `.detach().cpu().numpy()`"
CHOSEN = "on a device chosen at run time"
_WHILE_ON = " while grad mode is on"
_SUBJECTS = {"tensor": "a tensor", "likely": "a likely tensor", "possible": "a possible tensor (type unknown)"}


def subject(conversion: Conversion) -> str:
    """The noun that says how certain the tensor is: "a likely tensor"."""
    return _SUBJECTS[certainty_told(conversion)]


def certainty_told(conversion: Conversion) -> Certainty:
    """The certainty as messages tell it: a possible tensor that is moved to a device (high confidence) is likely."""
    is_moved = conversion.certainty == "possible" and conversion.confidence == "high"
    return "likely" if is_moved else conversion.certainty


def at_risk(conversion: MethodConversion) -> str:
    """The tensor, its risks and the errors: "a tensor that may require grad or be on a GPU: can raise ..."."""
    link = "; it" if certainty_told(conversion) == "possible" else " that"
    doubts = [words for words, _, _ in _of_grad_and_device(conversion)]
    both = (
        "may require grad or be on a GPU" if doubts == ["may require grad", "may be on a GPU"] else " and ".join(doubts)
    )
    return f"{subject(conversion)}{link} {both}: {_verdict(conversion)}"


def _of_grad_and_device(conversion: MethodConversion) -> list[tuple[str, str, bool]]:
    """The unproved risks of grad and device, each in words, in brief words, and whether it is known to hold."""
    found = []
    if conversion.may_raise_by_grad:
        if conversion.requires_grad:
            found.append(("requires grad", "with grad", True))
        elif conversion.speaks_of_grad:
            found.append(("is, or is computed from, a model parameter", "of model parameters", True))
        else:
            found.append(("may require grad", "with grad", False))
    if conversion.may_raise_by_device:
        if conversion.on_cpu is False:
            found.append(("is not on the CPU", "not on the CPU", True))
        elif conversion.speaks_of_device:
            found.append((f"is {CHOSEN}", CHOSEN, True))
        else:
            found.append(("may be on a GPU", "on a GPU", False))
    return found


def _verdict(conversion: MethodConversion) -> str:
    """The outcome in words: "raises ..." at high confidence, else "can raise ..."."""
    if _is_elsewhere(conversion):
        return "raises TypeError"
    has_grad = conversion.may_raise_by_grad and conversion.requires_grad
    when = _WHILE_ON if has_grad and conversion.grad_mode is None else ""
    raises = has_grad or conversion.speaks_of_grad
    if conversion.speaks_of_device:
        return f"raises TypeError if that is a GPU{f', else RuntimeError{when}' if raises else ''}"
    if when and conversion.may_raise_by_device:
        return f"raises TypeError on a GPU, RuntimeError on the CPU{when}"
    return f"{'raises' if raises else 'can raise'} {_errors_of(conversion)}{when}"


def _is_elsewhere(conversion: MethodConversion) -> bool:
    return conversion.may_raise_by_device and conversion.on_cpu is False


def _errors_of(conversion: MethodConversion) -> str:
    """The errors that a conversion can raise: "RuntimeError or TypeError"."""
    of_grad = conversion.may_raise_by_grad and not _is_elsewhere(conversion)  # torch checks the device first
    errors = (("RuntimeError", of_grad), ("TypeError", conversion.may_raise_by_device))
    return " or ".join(error for error, is_raised in errors if is_raised)


def at_risk_briefly(conversion: MethodConversion) -> str:
    """The short form of `at_risk`: "a tensor, maybe on a GPU: TypeError"."""
    risks = _of_grad_and_device(conversion)
    known, doubts = ([brief for _, brief, is_known in risks if is_known is wanted] for wanted in (True, False))
    noun = "a possible tensor" if certainty_told(conversion) == "possible" else "a tensor"
    maybe = f", maybe {' or '.join(doubts)}" if doubts else ""
    return f"{' '.join((noun, *([' and '.join(known)] if known else [])))}{maybe}: {_errors_of(conversion)}"


class _Risk(NamedTuple):
    """A risk in words and in brief words, NumPy's error, and its letter in the tables of other libraries."""

    words: str
    brief: str
    error: str
    letter: str


_RISKS = {
    "requires grad": _Risk("requires grad", "with grad", "RuntimeError", "g"),
    "learns": _Risk("requires grad", "of model parameters", "RuntimeError", "g"),
    "elsewhere": _Risk("is not on the CPU", "not on the CPU", "TypeError", "d"),
    "sent": _Risk(f"is {CHOSEN}", CHOSEN, "TypeError", "d"),
    "layout": _Risk("has {0.layout} layout, which NumPy lacks", "of {0.layout} layout", "TypeError", "s"),
    "dtype": _Risk("{kind}", "of `{0.dtype}`", "TypeError", "b"),
    "bit": _Risk("has its {0.bit} bit set", "with its {0.bit} bit set", "RuntimeError", ""),
}
_LETTERS_OF_BITS = {"conjugate": "c", "negative": "n"}
SILENT = "silence"  # in place of an error
_OF_GRAD_ALONE = (("requires grad",), ("learns",))


def argument_at_risk(conversion: ArgumentConversion) -> str:
    """The argument and the error that it raises: "a tensor that requires grad, so NumPy raises RuntimeError"."""
    noun, verb = subject(conversion), " that "
    if conversion.of_items:
        likely = "likely " if conversion.certainty != "tensor" else ""
        noun, verb = f"a {conversion.of_items} of {likely}tensors", " where each "
    if "learns" in conversion.risks:
        may_be_one = isinstance(conversion.argument, ast.Attribute) and not conversion.of_items  # `net.weight`
        made = " that is, or is computed from, a model parameter"
        noun += made if may_be_one else " computed from model parameters"
        verb = ": each " if conversion.of_items else ": it "
    return f"{noun}{verb}{_risks_told(conversion)}"


def argument_briefly(conversion: ArgumentConversion, of_device: str = "TypeError") -> str:
    """The short form of `argument_at_risk`: "a tensor on a device chosen at run time: TypeError"."""
    noun = f"a {conversion.of_items} of tensors" if conversion.of_items else "a tensor"
    told = []
    for risk in conversion.risks:
        is_chosen = risk == "dtype" and is_choice(conversion.dtype)
        words = f"of a chosen dtype, maybe {lacking_choices(conversion.dtype)}" if is_chosen else _RISKS[risk].brief
        told.append(words.format(conversion))
    errors = [of_device if each == "TypeError" else each for each in _errors(conversion)]
    outcome = "other data, no error" if SILENT in errors else " or ".join(errors)
    return f"{noun} {' and '.join(told)}: {outcome}"


def used_in_torch(conversion: ArgumentConversion) -> str:
    """The reason why the tensors must not be converted: torch uses the result."""
    row = conversion.back_in_torch
    call = conversion.site.call
    is_here = row is not None and is_in_row(call, row)
    use = "torch uses the result" if is_here else f"line {row} uses the result in torch"
    return f"{use}, and an array has no gradient"


def _risks_told(conversion: ArgumentConversion) -> str:
    told = [_RISKS[risk].words.format(conversion, kind=_kind_of_dtype(conversion)) for risk in conversion.risks]
    errors = _errors(conversion)
    who = "it" if any(each in dict(conversion.errors) for each in _letters(conversion)) else "NumPy"
    if all(each.endswith("Warning") for each in errors):
        return f"{' and '.join(told)}, so it warns ({' or '.join(errors)}) and leaves the data out"
    if SILENT in errors:
        return f"{' and '.join(told)}, so it gives other data, and raises nothing"
    if conversion.risks == ("sent",):
        return f"{told[0]}: {who} raises {errors[0]} if that is a GPU"
    if conversion.risks == ("dtype",) and is_choice(conversion.dtype):
        return f"{told[0]}: {who} {dtype_chosen(conversion.dtype)}"
    is_lacking = not {"layout", "dtype"}.isdisjoint(conversion.risks)
    when = _WHILE_ON if conversion.grad_mode is None and conversion.risks in _OF_GRAD_ALONE else ""
    return f"{' and '.join(told)}{': raises' if is_lacking else f', so {who} raises'} {' or '.join(errors)}{when}"


def _letters(conversion: ArgumentConversion) -> list[str]:
    return [_RISKS[risk].letter or _LETTERS_OF_BITS.get(conversion.bit or "", "") for risk in conversion.risks]


def _errors(conversion: ArgumentConversion) -> list[str]:
    """The unique errors of a conversion's risks: NumPy's, or those of the library that converts."""
    own, risks = dict(conversion.errors), zip(_letters(conversion), conversion.risks, strict=True)
    return list(dict.fromkeys(own.get(letter, _RISKS[risk].error) for letter, risk in risks))


def _kind_of_dtype(conversion: ArgumentConversion) -> str:
    if is_choice(conversion.dtype):
        return "has a dtype chosen at run time"
    what = "is quantized" if conversion.dtype == "quantized" else f"has dtype `{conversion.dtype}`"
    return f"{what}, which NumPy lacks"


def dtype_chosen(dtype: str | None) -> str:
    """The words that say when a dtype chosen at run time makes a conversion raise."""
    return f"raises TypeError if that is {lacking_choices(dtype)}, which NumPy lacks"


def lacking_choices(dtype: str | None) -> str:
    """The dtypes of a choice that NumPy lacks: "`bfloat16`"."""
    return " or ".join(f"`{name}`" for name in choices(dtype) if may_lack(name))


def shares(conversion: MethodConversion | SharedMemory) -> str:
    """The clause that says with what the result of a conversion shares memory."""
    if isinstance(conversion, MethodConversion):
        return "`.numpy()` shares memory with the tensor"
    return f"`{conversion.function}()` shares memory with the {'tensor' if conversion.makes == 'array' else 'array'}"


def overwritten(conversion: MethodConversion | SharedMemory, written: Side) -> str | None:
    """The message about shared memory that one side writes before the other reads it; None if that does not happen."""
    shared, read = _written_and_read(conversion, written)
    if shared is None:
        return None
    when = " in the next iteration" if shared.comes_round else ""
    kept = f"and `{shared.kept_in}` still holds the {read}"
    later = kept if shared.kept_in else f"then line {shared.read} reads the changed {read}"
    return f"{shares(conversion)}: line {shared.write} overwrites the {written}{when}, {later}"


def overwritten_briefly(conversion: MethodConversion | SharedMemory, written: Side) -> str:
    """Short form of `overwritten`: "line 8 overwrites the tensor that `.numpy()` shares, line 9 reads the array"."""
    shared, read = _written_and_read(conversion, written)
    if shared is None:
        return ""
    call = "`.numpy()`" if isinstance(conversion, MethodConversion) else f"`{conversion.function}()`"
    later = f"`{shared.kept_in}` holds" if shared.kept_in else f"line {shared.read} reads"
    return f"line {shared.write} overwrites the {written} that {call} shares, {later} the {read}"


def _written_and_read(conversion: MethodConversion | SharedMemory, written: Side) -> tuple[Overwritten | None, Side]:
    if written == "tensor":
        return conversion.tensor_written, "array"
    return conversion.array_written, "tensor"


def lost(conversion: MethodConversion) -> str:
    """The suffix of a message whose fix would hide a lost gradient; mostly empty."""
    if conversion.trained_in is None or conversion.grad_is_proved:
        return ""
    return f"; {without_gradient(conversion)}: compute the loss with torch"


def without_gradient(conversion: MethodConversion) -> str:
    """The words for a loss that is computed from the array of a detached conversion."""
    array = f"the array {code}" if (code := quoted(conversion.site.call)) else "this array"
    return f"the loss of line {conversion.trained_in} is computed only from {array}, so no gradient reaches the model"
