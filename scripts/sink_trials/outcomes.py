"""What a call does with a tensor where it takes an array: works, gives something else, or raises."""

from __future__ import annotations

import contextlib
import random
import signal
import sys
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch

from sink_trials.values import ARRAYS, OTHER_DTYPES, SORTS, WAYS, evaluated, tensors_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from sink_trials.calls import Call

    Given = Callable[[Any], object]

SECONDS = 3.0  # a call
# Torch's own words, and those of pybind11, which hides them.
_HIDDEN = "Unable to cast Python instance of type <class 'torch."
_WORDS = {
    "grad": ("Can't call numpy() on Tensor that requires grad", _HIDDEN),
    "device": ("device type tensor to numpy", _HIDDEN),
    "bfloat16": ("unsupported ScalarType BFloat16", _HIDDEN),
    "sparse": ("Sparse layout tensor to numpy", _HIDDEN),
}
# What torch says of the number of elements or of the dtype, which is another with other tensors.
_OF_VALUES = ("Boolean value of Tensor", "only one element tensors", "converted to Scalar", "only integer tensors")
LETTERS = {"grad": "g", "device": "d", "bfloat16": "b", "sparse": "s"}


class TooLongError(BaseException):
    """Not an Exception: what is tried shall not catch it."""


class Outcome(NamedTuple):
    """Of one way to give a tensor at one argument. `refused`: letters of the sorts that are refused; `untried`: those
    of which the array has none. `never`: the name of what every tensor raises. `is_same`: it gives what the array
    gives."""

    refused: str
    untried: str
    never: str
    is_same: bool


def _itself(value: object) -> object:
    return value


class Trier:
    """Runs the calls of one function; `make` gives it anew, with its object, where a call may have changed that.

    `plain`: it is no array that a tensor is held against but the same number or list (json, struct)."""

    def __init__(self, make: Callable[[], Callable[..., Any]], plain: bool = False) -> None:
        self._make = make
        self._plain = plain

    def run(self, call: Call, slot: int | str | None = None, given: Given = _itself) -> Any:  # noqa: ANN401
        """With `given` of the array at one argument."""

        def value(place: int | str, text: str) -> object:
            if text not in ARRAYS:
                return evaluated(text)
            array = ARRAYS[text].copy()
            if place == slot:
                return given(array)
            return array.tolist() if self._plain else array

        positional = [value(place, text) for place, text in enumerate(call.positional)]
        named = {name: value(name, text) for name, text in call.named}
        with _limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = self._make()(*positional, **named)
            return list(_first(result)) if hasattr(result, "__next__") else result

    def works(self, call: Call, slot: int | str | None = None, given: Given = _itself) -> bool:
        return self.error(call, slot, given) is None

    def error(self, call: Call, slot: int | str | None = None, given: Given = _itself) -> BaseException | None:
        try:
            self.run(call, slot, given)
        except (Exception, TooLongError, SystemExit) as error:
            return error
        return None

    def outcomes(self, call: Call, slot: int | str) -> dict[str, Outcome]:
        """By way; only of those in which the equal arrays work."""
        found = {}
        for way, givens in WAYS.items():
            each = [outcome for given in givens if (outcome := self._outcome(call, slot, given)) is not None]
            if each:
                found[way] = _joined(each)
        return found

    def _outcome(self, call: Call, slot: int | str, given: Callable[[Any], object]) -> Outcome | None:
        def of_equal(array: np.ndarray) -> object:
            return given(array.tolist() if self._plain else array)

        def of(sort: str, number: int = 0) -> Callable[[np.ndarray], object]:
            return lambda array: given(tensors_of(array, sort)[number])

        error = self.error(call, slot, of_equal)
        if error is not None:
            return None
        error = self.error(call, slot, of("plain"))
        if error is not None:
            of_value = isinstance(error, (TooLongError, RuntimeError)) or _is_refusal(error, _OF_VALUES)
            if of_value or any(self.works(call, slot, of(sort)) for sort in OTHER_DTYPES):
                return None
            return Outcome("", "", _name_of(error), False)
        hardest = [sort for sort in ("device", "grad") if tensors_of(ARRAYS[call.text_at(slot)], sort)]
        if all(self.works(call, slot, of(sort)) for sort in hardest):
            return Outcome("", "", "", True)  # nothing is converted
        refused = untried = ""
        for sort, words in _WORDS.items():
            tensors = tensors_of(ARRAYS[call.text_at(slot)], sort)
            errors = [self.error(call, slot, of(sort, number)) for number in range(len(tensors))]
            if not tensors:
                untried += LETTERS[sort]
            elif all(error is not None and _is_refusal(error, words) for error in errors):
                refused += LETTERS[sort]
        is_same = bool(refused) and same(self._seeded(call, slot, of("plain")), self._seeded(call, slot, of_equal))
        return Outcome(refused, untried, "", is_same)

    def _seeded(self, call: Call, slot: int | str, given: Callable[[Any], object]) -> object:
        np.random.seed(0)
        random.seed(0)
        return self.run(call, slot, given)


def _joined(outcomes: list[Outcome]) -> Outcome:
    """Of two lists: what one of them is refused for, as only the other may be what is meant."""
    working = [each for each in outcomes if not each.never]
    if not working:
        return outcomes[0]
    refused = "".join(letter for letter in LETTERS.values() if any(letter in each.refused for each in working))
    untried = "".join(letter for letter in LETTERS.values() if all(letter in each.untried for each in working))
    return Outcome(refused, untried, "", all(each.is_same for each in working if each.refused))


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
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        yield
    finally:
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


def same(one: object, other: object) -> bool:
    if isinstance(one, torch.Tensor) or type(one) is not type(other):
        return False
    if isinstance(one, (np.ndarray, np.generic)) and isinstance(other, (np.ndarray, np.generic)):
        if one.dtype == object or one.dtype.kind in "USVMm":
            return one.dtype == other.dtype and one.shape == other.shape
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind in "fc")
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        return len(one) == len(other) and all(map(same, one, other))
    root = type(one).__module__.partition(".")[0]
    if root == "pandas" and hasattr(one, "equals"):
        return bool(one.equals(other))
    if root in ("matplotlib", "mpl_toolkits", "sklearn", "seaborn", "plotly") or hasattr(one, "fit"):
        return True  # a drawing or an estimator: what was given to it is copied there
    if root == "h5py":
        return same(one[...], other[...])  # type: ignore[index]
    try:
        return bool(one == other or (one != one and other != other))  # not a number
    except Exception:
        return False  # objects that cannot be compared: nothing is promised of them


assert set(LETTERS) == set(SORTS) - {"plain"}
