"""What a call does with a tensor where it takes an array: works, gives something else, or raises."""

import contextlib
import random
import re
import signal
import sys
import warnings
from collections.abc import Callable, Collection, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch

from sink_trials.calls import Call
from sink_trials.later import Step
from sink_trials.values import ARRAYS, SORTS, WAYS, evaluated, tensors_of, variants

Given = Callable[[Any], object]

SECONDS = 3.0  # a call, of the processor
_SECONDS_OF_WAITING = 20.0  # of the clock
# Torch's own words, and those of pybind11, which hides them.
_HIDDEN = (
    *("Unable to cast Python instance of type <class 'torch.", "incompatible function arguments"),
    "incompatible constructor arguments",
)
_WORDS = {
    "grad": ("Can't call numpy() on Tensor that requires grad", "Can't export tensors that require gradient", *_HIDDEN),
    "device": ("device type tensor to numpy", "Unknown device type", "Unsupported device in DLTensor", *_HIDDEN),
    "bfloat16": ("unsupported ScalarType BFloat16", "Unsupported dtype in DLTensor", *_HIDDEN),
    "sparse": ("Sparse layout tensor to numpy", "layout other than", *_HIDDEN),
}
# What NumPy's conversion raises; another error is the library's own, and stands in the row.
_OF_NUMPY = {"grad": "RuntimeError", "device": "TypeError", "bfloat16": "TypeError", "sparse": "TypeError"}
EVERY_SLOT = "*"
# What the device of the tests does not do, though a real one may.
_LACKING = (NotImplementedError, RuntimeError)
# What torch says of the number of elements or of the dtype, which is another with other tensors.
_OF_VALUES = ("Boolean value of Tensor", "only one element tensors", "converted to Scalar", "only integer tensors")
# What is said of a kind of values: it holds of a tensor whatever is in it.
_OF_KINDS = (
    *("numpy array", "ndarray", "numba type of", "<class 'torch.Tensor'>", "type tensor", "torch.float"),
    "0-dim tensor",
)
# What `copy.deepcopy` says of a tensor that is computed from others.
_OF_COPIES = ("support the deepcopy protocol",)
_MAX_WORDS = 72
COUNTED: list[type[Warning]] = []  # of the library that is measured: after these warnings data is left out
# What nothing is converted of, if it is taken: one that converts may have these brought to the CPU, detached, and fail
# where NumPy lacks the dtype.
_HARDEST = ("device", "grad", "bfloat16", "sparse")
LETTERS = {"grad": "g", "device": "d", "bfloat16": "b", "sparse": "s"}
ALL = "".join(LETTERS.values())


class TooLongError(BaseException):
    """Not an Exception: what is tried shall not catch it."""


class Outcome(NamedTuple):
    """Of one way to give a tensor at one argument. `refused`: letters of the sorts that are refused; `untried`: those
    of which the array has none. `never`: the name of what every tensor raises. `is_same`: it gives what the array
    gives. `later`: the call takes it, and what users do next with the result raises. `of_kind`: what every tensor
    raises names its type, not its values. `lasts`: what users do next works with arrays. `errors`: pairs of a letter
    and an error where that is not NumPy's; `words`: what is said then."""

    refused: str
    untried: str
    never: str
    is_same: bool
    later: bool = False
    of_kind: bool = False
    lasts: bool = True
    errors: tuple[tuple[str, str], ...] = ()
    words: str = ""


def _sorts_of(letters: str) -> list[str]:
    return [sort for sort, letter in LETTERS.items() if letter in letters]


def _itself(value: object) -> object:
    return value


class Trier:
    """Runs the calls of one function; `make` gives it anew, with its object, where a call may have changed that.

    `plain`: it is no array that a tensor is held against but the same number or list (json, struct)."""

    def __init__(self, make: Callable[[], Callable[..., Any]], plain: bool = False, step: Step | None = None) -> None:
        self._make = make
        self._plain = plain
        self._step = step
        self.takes_some = False  # a call that does not last has worked

    @property
    def has_step(self) -> bool:
        return self._step is not None

    def run(self, call: Call, slot: int | str | None = None, given: Given = _itself, later: bool = False) -> Any:  # noqa: ANN401
        """With `given` of the array at one argument. `later`: and what users do next, with what is seen then."""

        def value(place: int | str, text: str) -> object:
            if text not in ARRAYS:
                return evaluated(text)
            array = ARRAYS[text].copy("K")
            if place == slot or slot == EVERY_SLOT:
                return given(array)
            return array.tolist() if self._plain else array

        positional = [value(place, text) for place, text in enumerate(call.positional)]
        named = {name: value(name, text) for name, text in call.named}
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for kind in COUNTED:
                warnings.simplefilter("error", kind)
            function = self._make()
            result = function(*positional, **named)
            result = list(_first(result)) if hasattr(type(result), "__next__") else result
            if not later or self._step is None:
                return result
            self.takes_some = True
            seen = self._step(function, result)
            return result if seen is None else seen

    def works(self, call: Call, slot: int | str | None = None, given: Given = _itself, later: bool = False) -> bool:
        return self.error(call, slot, given, later) is None

    def lasts(self, call: Call) -> bool:
        """True if a call works, and what users do next."""
        return self.works(call, later=True)

    def error(
        self, call: Call, slot: int | str | None = None, given: Given = _itself, later: bool = False
    ) -> BaseException | None:
        try:
            self.run(call, slot, given, later)
        except (Exception, TooLongError, SystemExit) as error:
            return error
        return None

    def outcomes(self, call: Call, slot: int | str) -> dict[str, Outcome]:
        """Return them by way; only of those in which the equal arrays work."""
        found = {}
        for way, givens in WAYS.items():
            each = [outcome for given in givens if (outcome := self._outcome(call, slot, given)) is not None]
            if each:
                found[way] = _joined(each)
        return found

    def _outcome(self, call: Call, slot: int | str, given: Given) -> Outcome | None:
        outcome = self._refusal(call, slot, given, later=False)
        if outcome is None or outcome.never or outcome.refused:
            return outcome
        lasts = self._step is not None and self.works(call, slot, self._of_equal(given), later=True)
        found = self._refusal(call, slot, given, later=True) if lasts else None
        if found is not None and (found.never or found.refused):
            return found._replace(later=True)
        return outcome._replace(lasts=lasts or self._step is None)

    def told_by(self, call: Call, slot: int | str, way: str, outcome: Outcome) -> Outcome:
        """An outcome of a call beside an option, with the errors that are raised without it."""
        errors = {
            sort: error
            for sort in _sorts_of(outcome.refused)
            for made in tensors_of(ARRAYS[call.text_at(slot)], sort)[-1:]
            if (error := self.error(call, slot, lambda _, made=made: WAYS[way][0](made), outcome.later)) is not None
        }
        return _with_words(outcome, errors)

    def taken(self, call: Call, slot: int | str, given: Given, later: bool) -> str:
        """Name the tensor of another dtype or shape that works, at one argument or at all; nothing if none does."""
        for place in dict.fromkeys((slot, EVERY_SLOT)):
            for name, made in variants():
                if given is list and not name.startswith("itself"):
                    continue  # a list of fewer
                if self.works(call, place, lambda array, made=made: given(made(array)), later):
                    return f"{name}{', all arguments' if place == EVERY_SLOT else ''}"
        return ""

    def _of_equal(self, given: Given) -> Given:
        return lambda array: given(array.tolist() if self._plain else array)

    def _refusal(self, call: Call, slot: int | str, given: Given, later: bool) -> Outcome | None:
        def of(sort: str, number: int = 0) -> Given:
            return lambda array: given(tensors_of(array, sort)[number])

        if not self.works(call, slot, self._of_equal(given), later):
            return None
        array = ARRAYS[call.text_at(slot)]
        error = self.error(call, slot, of("plain"), later)
        if error is not None:
            if len(call.slots) > 1 and self.works(call, EVERY_SLOT, of("plain"), later):
                return None  # not the tensor is refused, but the array beside it
            is_some = _is_of_value(error) or self.taken(call, slot, given, later)
            return None if is_some else _never(error)
        if all(self.works(call, slot, of(sort), later) for sort in _HARDEST if tensors_of(array, sort)):
            return Outcome("", "", "", True)
        errors = {
            sort: [self.error(call, slot, of(sort, number), later) for number in range(len(tensors_of(array, sort)))]
            for sort in _WORDS
        }
        refused = _refusals(errors, later) | _own_refusals(errors)
        untried = [sort for sort in errors if not errors[sort]]
        is_same = bool(refused) and same(*self._pair(call, slot, given, later))
        return _with_words(Outcome(_letters(refused), _letters(untried), "", is_same), refused)

    def _pair(self, call: Call, slot: int | str, given: Given, later: bool) -> tuple[object, object]:
        """Return what a plain tensor gives, and what the array gives."""
        plain = self._seeded(call, slot, lambda array: given(tensors_of(array, "plain")[0]), later)
        return plain, self._seeded(call, slot, self._of_equal(given), later)

    def _seeded(self, call: Call, slot: int | str, given: Given, later: bool) -> object:
        np.random.seed(0)
        random.seed(0)
        torch.manual_seed(0)
        return self.run(call, slot, given, later)


def same(one: Any, other: Any) -> bool:  # noqa: ANN401
    """True if a call gives the same of a tensor as of the equal array."""
    if isinstance(one, torch.Tensor) or type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, np.generic)):
        return one.dtype == other.dtype and _same_array(one, other)
    if isinstance(one, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    root = type(one).__module__.partition(".")[0]
    if root == "pandas" and hasattr(one, "equals"):
        return bool(one.equals(other))
    if root in ("matplotlib", "mpl_toolkits", "sklearn", "seaborn", "plotly") or hasattr(one, "fit"):
        return True  # a drawing or an estimator: what was given to it is copied there
    if root == "h5py":
        return same(one[...], other[...])
    try:
        return bool(one == other or (one != one and other != other))  # not a number
    except Exception:
        return False  # objects that cannot be compared: nothing is promised of them


def _same_array(one: Any, other: Any) -> bool:  # noqa: ANN401
    if one.dtype == object or one.dtype.kind in "USVMm":
        return bool(one.shape == other.shape)
    return np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")


def _joined(outcomes: list[Outcome]) -> Outcome:
    """Join the outcomes of two lists: what one of them is refused for, as only the other may be what is meant."""
    working = [each for each in outcomes if not each.never]
    if not working:
        return outcomes[0]
    lasting = [each for each in working if each.lasts]
    return _join(lasting or working, lasts=bool(lasting))


def _join(working: list[Outcome], *, lasts: bool) -> Outcome:
    refusing = [each for each in working if each.refused]
    refused = "".join(letter for letter in ALL if any(letter in each.refused for each in working))
    untried = "".join(letter for letter in ALL if all(letter in each.untried for each in working))
    is_same, later = (all(each.is_same for each in refusing), bool(refused) and all(each.later for each in refusing))
    found = Outcome(refused, untried, "", is_same, later, lasts=lasts)
    first = next((each for each in working if each.errors), found)
    return found._replace(errors=first.errors, words=first.words)


def is_of_kind(error: BaseException) -> bool:
    """True if a text speaks of the type of what was given, which is no array; not torch's own."""
    text = str(error).lower()
    if isinstance(error, RuntimeError) and type(error).__module__ == "builtins":
        return any(word in text for word in ("numpy array", "numpy.ndarray"))  # torch's own speak of dtypes
    return "can't call numpy()" not in text and any(word.lower() in text for word in _OF_KINDS)


def _is_own(error: BaseException, sort: str) -> bool:
    return _name_of(error) != _OF_NUMPY[sort] or _is_refusal(error, _OF_COPIES)


def _with_words(outcome: Outcome, errors: dict[str, BaseException]) -> Outcome:
    """The outcome with the errors, by sort, that are not NumPy's own, and what the first of them says."""
    own = {sort: error for sort, error in errors.items() if _is_own(error, sort)}
    said = tuple((LETTERS[sort], _name_of(error)) for sort, error in own.items())
    return outcome._replace(errors=said, words=next(map(_words_of, own.values()), ""))


def _never(error: BaseException) -> Outcome:
    """The outcome where every tensor raises this error."""
    return Outcome("", "", _name_of(error), False, of_kind=is_of_kind(error), words=_words_of(error))


def _letters(sorts: Collection[str]) -> str:
    return "".join(LETTERS[sort] for sort in _WORDS if sort in sorts)


def _is_of_value(error: BaseException) -> bool:
    """True if a call may fail for the values of a tensor, and not for its type or for want of such a form."""
    may_be = isinstance(error, (TooLongError, RuntimeError)) or _is_refusal(error, _OF_VALUES)
    return may_be and type(error) is not NotImplementedError and not is_of_kind(error)


def _refusals(errors: dict[str, list[BaseException | None]], later: bool) -> dict[str, BaseException]:
    """The last error of each sort of which all are refused in NumPy's or torch's words."""
    last = {sort: each[-1] for sort, each in errors.items() if each}
    found = [sort for sort in last if all(_is_refusal(error, _WORDS[sort]) for error in errors[sort])]
    if later and _is_refusal(last.get("grad"), _OF_COPIES):
        found.append("grad")  # what is computed, as nearly all is that is kept
    return {sort: error for sort in found if (error := last[sort]) is not None}


def _own_refusals(errors: dict[str, list[BaseException | None]]) -> dict[str, BaseException]:
    """Return by sort what a library says in its own words: where all that NumPy refuses fails, and the rest works.

    It may hide what NumPy said. Not where that is for want of an operator."""
    failed = {sort: each[-1] for sort, each in errors.items() if each and None not in each}
    if any(each and sort not in failed for sort, each in errors.items() if sort != "sparse"):
        return {}
    if any(isinstance(error, _LACKING) for error in errors.get("device", ())):
        return {}
    return {sort: error for sort, error in failed.items() if error and not isinstance(error, NotImplementedError)}


def _words_of(error: BaseException) -> str:
    """The first words of what is said, without the numbers of this tensor."""
    text = " ".join(str(error).split())
    text = re.sub(r"(tensor|parameter)\(.*\)", "tensor", text, flags=re.IGNORECASE)
    text = re.sub(r"0x[0-9a-f]+", "...", text).replace(" | ", " or ")
    if len(text) <= _MAX_WORDS:
        return text
    return text[:_MAX_WORDS].rpartition(" ")[0].rstrip(",.:;(") + " ..."


def _name_of(error: BaseException) -> str:
    kind = type(error)
    return kind.__name__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__name__}"


def _is_refusal(error: BaseException | None, words: tuple[str, ...]) -> bool:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if any(word in str(error) for word in words):
            return True
        error = error.__cause__ or error.__context__
    return False


@contextlib.contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TooLongError

    signal.signal(signal.SIGALRM, stop)
    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_REAL, _SECONDS_OF_WAITING)
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.setitimer(signal.ITIMER_REAL, 0)
        pyplot = sys.modules.get("matplotlib.pyplot")
        if pyplot is not None:
            pyplot.close("all")  # axes keep the units of what was drawn on them before


def _first(values: Any) -> Iterator[object]:  # noqa: ANN401
    for _ in range(3):
        try:
            yield next(values)
        except StopIteration:
            return


assert set(LETTERS) == set(SORTS) - {"plain"}
