"""Reports tensors that libraries take for values, by the table of TNP206.

A library is patched once the program has imported it: the table's functions, and its objects' comparisons, membership,
indices, columns and methods. The text of a tensor is reported only in CSV and JSON, which programs read back.
"""

from __future__ import annotations

import ast
import dataclasses
import functools
import sys
from collections.abc import Callable, Iterator
from functools import partial
from types import FrameType
from typing import Any

import torch

from tonumpy.detectors.taken.table import OF_AXES, WRITERS_OF_JSON, Place, confidence_in, table
from tonumpy.detectors.taken.words import said
from tonumpy.rehearsal.frames import innermost, is_own, node_at, value_of
from tonumpy.rehearsal.standin.marks import STATE
from tonumpy.rehearsal.standin.patches import Patches
from tonumpy.rehearsal.standin.reporting import guarded

# The method, and the index of the tensor among its arguments, of operations that are not calls in the source.
_METHODS = {
    "a == t": ("__eq__", 1),
    "a != t": ("__ne__", 1),
    "t in a": ("__contains__", 1),
    "a['n'] = t": ("__setitem__", 2),
    "a.iloc[t]": ("iloc", 1),
    "a.loc[9] = [t, t]": ("loc", 2),
}
_MOST = 100  # items of a list, row or dict that are searched
_OF_PYTHON = ("builtins", "collections")  # their containers ask for the hash


class TakenByLibraries:
    """Reports tensors that libraries take for values; `tell` gets a tensor, a message and perhaps a frame."""

    def __init__(self, tell: Callable[..., None]) -> None:
        self._tell = tell

    def patch(self, patches: Patches) -> None:
        """Patch `Tensor.__repr__`, and each library once it is imported."""
        self._patches = patches
        patches.around(torch.Tensor, "__repr__", self._text)
        names = (*table().functions, *table().operations)
        for library in sorted({name.partition(".")[0] for name in names} - {*_OF_PYTHON, "csv", *WRITERS_OF_JSON}):
            patches.once_imported(library, partial(self._begin, library))

    def _text(self, represent: Callable[..., str], tensor: Any, **options: Any) -> str:
        """Report the text of a tensor that is made for a writer of CSV or JSON."""
        with guarded("the text of a tensor"):
            frame = innermost()
            written = None if frame is None else _writer_at(frame)
            if written is not None:
                library, frame = written
                self._tell(tensor, f"`{library}` takes a tensor for values: {said('text', library, '')}", frame)
        return represent(tensor, **options)

    def _begin(self, library: str) -> None:
        with guarded(f"{library} is not followed"):
            self._patch_functions(library)
            if library != "numpy":  # TNP108 and tensors_as_values.py report arrays
                self._patch_objects(library)

    def _patch_functions(self, library: str) -> None:
        for name, places in table().functions.items():
            root, _, rest = name.partition(".")
            told = [
                each for each in places if {confidence_in(word, library) for word in each.outcomes.values()} - {"low"}
            ]
            owner = sys.modules[library] if root == library and told else None
            *path, last = rest.replace("#", ".").split(".")
            for part in path:
                owner = getattr(owner, part, None)
            if owner is not None and hasattr(owner, last):
                self._replace(owner, last, partial(self._in_call, name, library, told), skipped=name.count("#"))

    def _patch_objects(self, library: str) -> None:
        module = sys.modules[library]
        for text, outcomes in table().operations.get(library, {}).items():
            for kind in table().objects[library, text]:
                owner = getattr(module, kind, None)
                is_method = text.startswith("a.") and text.endswith("(t)")  # `isin` of "a.isin(t)"
                method, place = _METHODS.get(text) or (text[2:].partition("(")[0] if is_method else "", 1)
                if not method or owner is None or not hasattr(owner, method):
                    continue
                if method in ("iloc", "loc"):
                    owner, method = type(getattr(owner([0]), method)), "__getitem__" if place == 1 else "__setitem__"
                self._replace(owner, method, partial(self._in_operation, text, library, outcomes, place))

    def _replace(self, owner: Any, name: str, look: Callable[..., None], *, skipped: int = 0) -> None:
        """Pass the arguments of each call of a function, a method, or a class's constructor to `look`."""
        found = getattr(owner, name)
        if isinstance(found, type):
            owner, name, skipped = found, "__init__" if "__init__" in vars(found) else "__new__", 1
        bound = vars(owner).get(name)
        if isinstance(bound, classmethod):
            self._patches.replace(owner, name, classmethod(self._watched(bound.__func__, look, skipped=1)))
        else:
            self._patches.replace(owner, name, self._watched(getattr(owner, name), look, skipped=skipped))

    def _watched(self, function: Callable[..., Any], look: Callable[..., None], *, skipped: int) -> Callable[..., Any]:
        here = STATE.here

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if here.is_in_library:  # the library calls its own functions
                return function(*args, **kwargs)
            here.is_in_library = True
            try:
                look(args[skipped:], kwargs)
                return function(*args, **kwargs)
            finally:
                here.is_in_library = False

        return watched

    def _in_call(
        self, name: str, library: str, places: list[Place], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if name in OF_AXES and (len(args) > 1 or "axis" in kwargs):
            return
        for place in places:
            outcomes, given = place.outcomes, [kwargs[place.name]] if place.name in kwargs else []
            if place.name == "**":  # `frame.assign(n=t)` acts as `frame["n"] = t`
                given = list(kwargs.values())
                outcomes = {**table().operations.get(library, {}).get("a['n'] = t", {}), **outcomes}
            elif place.position is not None and place.position < len(args):
                given = [args[place.position]]
            for each in given:
                self._look_at(each, outcomes, library, name.rpartition(".")[2].rpartition("#")[2])

    def _in_operation(
        self, text: str, library: str, outcomes: dict[str, str], place: int, args: tuple[Any, ...], _: dict[str, Any]
    ) -> None:
        if place < len(args):
            given = args[place]
            is_looked_into = text == "a.isin(t)" or text.startswith("a.loc")
            if is_looked_into and isinstance(given, (dict, list, tuple)):
                given = next((each for each in _first_of(given) if isinstance(each, torch.Tensor)), None)
            self._look_at(given, outcomes, library, text)

    def _look_at(self, value: Any, outcomes: dict[str, str], library: str, function: str) -> None:
        for form, tensor in _forms(value):
            word = outcomes.get(form, "")
            if not word and form == "number" and function not in table().operations.get(library, {}):
                word = outcomes.get("tensor", "")
            if word and (word != "objects" or tensor.dim() == 0):  # pandas keeps an array as an object, too
                self._tell(tensor, f"`{function}` takes a tensor for values: {said(word, library, function)}")
                return


def _writer_at(frame: FrameType) -> tuple[str, FrameType] | None:
    """The CSV or JSON library that writes the text made at a frame, and the user's frame that calls it."""
    if not is_own(frame.f_code.co_filename):
        library = _root_of(frame)
        if library not in ("csv", "json"):
            return None
        while frame.f_back is not None and _root_of(frame) == library:
            frame = frame.f_back
        return (library, frame) if is_own(frame.f_code.co_filename) else None  # None: a library writes it
    call = node_at(frame, ast.Call)
    if call is not None and isinstance(call.func, ast.Attribute):
        if call.func.attr in ("writerow", "writerows"):
            return "csv", frame
        module = getattr(value_of(call.func.value, frame), "__name__", "")
        if module in WRITERS_OF_JSON:
            return str(module), frame
    above = frame.f_back  # the frame may be JSON's `default` function
    return _writer_at(above) if above is not None and not is_own(above.f_code.co_filename) else None


def _root_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _forms(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the table's words for the form of a value ("items"), each with a tensor in it, the likeliest first."""
    if isinstance(value, torch.Tensor):
        yield from ((form, value) for form in _forms_of_tensor(value))
        return
    item, part = ("values", "lists") if isinstance(value, dict) else ("items", "rows")
    for each in _first_of(value):
        if isinstance(each, torch.Tensor):
            yield item, each
        elif part == "rows" or not isinstance(each, dict):
            held = vars(each) if dataclasses.is_dataclass(each) and hasattr(each, "__dict__") else each
            yield from ((part, tensor) for tensor in _first_of(held) if isinstance(tensor, torch.Tensor))


def _forms_of_tensor(tensor: torch.Tensor) -> list[str]:
    if not tensor.dim():
        return ["number"]
    return [*(["one"] if tensor.numel() == 1 else []), "mask" if tensor.dtype == torch.bool else "tensor"]


def _first_of(held: Any) -> Any:
    """The first items of a list, or values of a dict; nothing of anything else."""
    parts = list(held.values()) if isinstance(held, dict) else held
    return parts[:_MOST] if isinstance(parts, (list, tuple)) else ()
