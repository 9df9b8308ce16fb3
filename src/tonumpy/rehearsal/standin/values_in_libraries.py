"""Reports tensors that libraries take for values (TNP206), by its table.

A library is patched once the program has imported it: the functions of the table, and of its objects the comparisons,
membership, indices, columns and methods; of what writes JSON the function that makes text of what JSON does not know.
Of what is only text for a reader nothing is told.
"""

from __future__ import annotations

import dataclasses
import functools
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from tonumpy.rehearsal.own_code import is_own
from tonumpy.rehearsal.standin.reporting import guarded
from tonumpy.sinks.taken.table import OF_AXES, WRITERS_OF_JSON, confidence_in, table
from tonumpy.sinks.taken.words import said

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.patches import Patches

    _Tell = Callable[[Any, str], None]
    from collections.abc import Callable, Iterator

    from tonumpy.sinks.taken.table import Place

_WRITTEN = "tensor("  # how the text of a tensor begins, that of a parameter too


def patch_json(library: str, tell: _Tell, patches: Patches) -> None:
    """Follow one of the libraries that write JSON, until `patches` are restored."""
    module: Any = sys.modules[library]
    if library != "json":
        for name in ("dump", "dumps"):
            if hasattr(module, name):
                patches.replace(module, name, _writing(getattr(module, name), library, tell))
        return
    # `json.dump` and `json.dumps` end here, with what they are given as `default`, and encoders of any class.
    iterencode = module.JSONEncoder.iterencode

    @functools.wraps(iterencode)
    def encoded(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not _is_called_by_own():
            return iterencode(self, *args, **kwargs)
        had = vars(self).get("default")
        self.default = _watched(self.default, library, tell)
        try:
            # What is given piece by piece is asked for later, and knows by then what it has to ask.
            return iterencode(self, *args, **kwargs)
        finally:
            if had is None:
                del self.default
            else:
                self.default = had

    patches.replace(module.JSONEncoder, "iterencode", encoded)


def _writing(write: Callable[..., Any], library: str, tell: _Tell) -> Callable[..., Any]:
    @functools.wraps(write)
    def written(*args: Any, **kwargs: Any) -> Any:
        if is_own(sys._getframe(1).f_code.co_filename):
            if callable(kwargs.get("default")):
                kwargs["default"] = _watched(kwargs["default"], library, tell)
            elif library == "orjson" and len(args) > 1 and callable(args[1]):
                args = (args[0], _watched(args[1], library, tell), *args[2:])
        return write(*args, **kwargs)

    return written


def _watched(default: Callable[[Any], Any], library: str, tell: _Tell) -> Callable[[Any], Any]:
    def made(value: Any) -> Any:
        result = default(value)
        if isinstance(value, torch.Tensor) and isinstance(result, str) and _WRITTEN in result:
            tell(value, f"`{library}` takes a tensor for values: {said('text', library, '')}")
        return result

    return made


def _is_called_by_own() -> bool:
    """True if the user's code writes, through functions of json alone: libraries write such, too."""
    frame = sys._getframe(2)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "json":
        frame = frame.f_back
    return is_own(frame.f_code.co_filename)


# The method, and the place of the tensor among its arguments, of what is no call in the source.
_METHODS = {
    "a == t": ("__eq__", 1),
    "a != t": ("__ne__", 1),
    "t in a": ("__contains__", 1),
    "a['n'] = t": ("__setitem__", 2),
    "a.iloc[t]": ("iloc", 1),
    "a.loc[9] = [t, t]": ("loc", 2),
}
_MOST = 100  # of what is in a list, row or dict that are looked at
_OF_PYTHON = ("builtins", "collections")  # their containers ask for the hash


class TakenByLibraries:
    """`tell` is given a tensor, and what is done with it in words."""

    def __init__(self, tell: Callable[[Any, str], None]) -> None:
        self._tell = tell
        self._here = threading.local()  # `is_within`: a library calls its own functions

    def patch(self, patches: Patches) -> None:
        """Notice them until `patches` are restored."""
        names = (*table().functions, *table().operations)
        for library in sorted({name.partition(".")[0] for name in names} - {*_OF_PYTHON}):
            patches.once_imported(library, partial(self._begin, library, patches))

    def _begin(self, library: str, patches: Patches) -> None:
        with guarded(f"{library} is not followed"):
            if library == "csv":
                self._patch_csv(patches)
                return
            if library in WRITERS_OF_JSON:
                patch_json(library, self._tell, patches)
                return
            self._patch_functions(library, patches)
            if library != "numpy":  # of arrays TNP108 tells, and tensors_as_keys.py
                self._patch_objects(library, patches)

    def _patch_functions(self, library: str, patches: Patches) -> None:
        for name, places in table().functions.items():
            root, _, rest = name.partition(".")
            told = [place for place in places if _is_told(place, library)]
            owner = sys.modules[library] if root == library and told else None
            *path, last = rest.replace("#", ".").split(".")
            for part in path:
                owner = getattr(owner, part, None)
            if owner is not None and hasattr(owner, last):
                self._replace(owner, last, partial(self._in_call, name, library, told), patches, is_method="#" in name)

    def _patch_objects(self, library: str, patches: Patches) -> None:
        module = sys.modules[library]
        for text, outcomes in table().operations.get(library, {}).items():
            for kind in table().objects[library, text]:
                owner = getattr(module, kind, None)
                method, place = _METHODS.get(text) or (_method_in(text), 1)
                if not method or owner is None or not hasattr(owner, method):
                    continue
                if method in ("iloc", "loc"):
                    owner, method = type(getattr(owner([0]), method)), "__getitem__" if place == 1 else "__setitem__"
                self._replace(owner, method, partial(self._in_operation, text, library, outcomes, place), patches)

    def _replace(
        self, owner: Any, name: str, look: Callable[..., None], patches: Patches, *, is_method: bool = False
    ) -> None:
        """Let `look` see the arguments of each call of a function, a method, or a class, where it makes an object."""
        found = getattr(owner, name)
        if isinstance(found, type):
            made = "__init__" if "__init__" in vars(found) else "__new__"
            patches.replace(found, made, self._watched(getattr(found, made), look, skipped=1))
            return
        bound = vars(owner).get(name) if isinstance(owner, type) else None
        if isinstance(bound, classmethod):
            patches.replace(owner, name, classmethod(self._watched(bound.__func__, look, skipped=1)))
            return
        patches.replace(owner, name, self._watched(found, look, skipped=1 if is_method else 0))

    def _watched(self, function: Callable[..., Any], look: Callable[..., None], *, skipped: int) -> Callable[..., Any]:
        here = self._here

        @functools.wraps(function)
        def watched(*args: Any, **kwargs: Any) -> Any:
            if getattr(here, "is_within", False):
                return function(*args, **kwargs)
            here.is_within = True
            try:
                look(args[skipped:], kwargs)
                return function(*args, **kwargs)
            finally:
                here.is_within = False

        return watched

    def _in_call(
        self, name: str, library: str, places: list[Place], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> None:
        if name in OF_AXES and (len(args) > 1 or "axis" in kwargs):
            return
        for place in places:
            if place.name == "**":
                given = list(kwargs.values())
            elif place.position is not None and place.position < len(args):
                given = [args[place.position]]
            else:
                given = [kwargs[place.name]] if place.name in kwargs else []
            outcomes = place.outcomes
            if place.name == "**":  # `frame.assign(n=t)` is `frame["n"] = t`, of each
                outcomes = {**table().operations.get(library, {}).get("a['n'] = t", {}), **outcomes}
            for each in given:
                self._look_at(each, outcomes, library, name.rpartition(".")[2].rpartition("#")[2])

    def _in_operation(
        self, text: str, library: str, outcomes: dict[str, str], place: int, args: tuple[Any, ...], _: dict[str, Any]
    ) -> None:
        if place < len(args):
            given = args[place]
            if text == "a.isin(t)" and isinstance(given, (list, tuple)):
                given = next((each for each in given[:_MOST] if isinstance(each, torch.Tensor)), None)
            if text.startswith("a.loc") and isinstance(given, (dict, list, tuple)):
                given = next(_tensors_in(given), None)
            self._look_at(given, outcomes, library, text)

    def _look_at(self, value: Any, outcomes: dict[str, str], library: str, function: str) -> None:
        for form, tensor in _forms(value):
            word = outcomes.get(form, "")
            if not word and form == "number" and function not in table().operations.get(library, {}):
                word = outcomes.get("tensor", "")
            if word and (word != "objects" or tensor.dim() == 0):  # pandas keeps an array as an object, too
                self._tell(tensor, f"`{function}` takes a tensor for values: {said(word, library, function)}")
                return

    def _patch_csv(self, patches: Patches) -> None:
        """Its writers ask for the text of what is in a row; who calls is asked first, as libraries write such, too."""
        csv: Any = sys.modules["csv"]
        writer, text = csv.writer, said("text", "csv", "writerow")

        def look(row: Any) -> Any:
            cells = row.values() if isinstance(row, dict) else row if isinstance(row, (list, tuple)) else ()
            tensors = [each for each in cells if isinstance(each, torch.Tensor)]
            tensors += [row] if isinstance(row, torch.Tensor) else []
            if tensors:
                self._tell(tensors[0], f"`csv` takes a tensor for values: {text}")
            return row

        def called_by_own() -> bool:
            return is_own(sys._getframe(2).f_code.co_filename)

        class Writer:
            """A writer like csv.writer's own, whose type is written in C and takes no patches."""

            def __init__(self, *args: Any, **kwargs: Any) -> None:
                self._writer = writer(*args, **kwargs)

            def __getattr__(self, name: str) -> Any:
                return getattr(self._writer, name)

            def writerow(self, row: Any) -> Any:
                return self._writer.writerow(look(row) if called_by_own() else row)

            def writerows(self, rows: Any) -> Any:
                return self._writer.writerows(map(look, rows) if called_by_own() else rows)

        def of_dicts(method: Any, watched: Callable[[Any], Any]) -> Any:
            @functools.wraps(method)
            def written(self: Any, given: Any) -> Any:
                return method(self, watched(given) if called_by_own() else given)

            return written

        Writer.__name__ = Writer.__qualname__ = "writer"
        patches.replace(csv, "writer", Writer)
        kind = csv.DictWriter
        patches.replace(kind, "writerow", of_dicts(kind.writerow, look))
        patches.replace(kind, "writerows", of_dicts(kind.writerows, partial(map, look)))


def _is_told(place: Place, library: str) -> bool:
    return any(confidence_in(word, library) != "low" for word in place.outcomes.values())


def _method_in(text: str) -> str:
    """`isin` of "a.isin(t)"; nothing of what is another operation, or asks for the hash."""
    return text[2:].partition("(")[0] if text.startswith("a.") and text.endswith("(t)") else ""


def _forms(value: Any) -> Iterator[tuple[str, Any]]:
    """The table's words for a value that is a tensor or holds some, with a tensor, the likeliest first."""
    if isinstance(value, torch.Tensor):
        yield from ((form, value) for form in _forms_of_tensor(value))
    elif isinstance(value, dict):
        yield from _forms_in_dict(value)
    elif isinstance(value, (list, tuple)):
        yield from _forms_in_list(value)


def _forms_of_tensor(tensor: torch.Tensor) -> Iterator[str]:
    if not tensor.dim():
        yield "number"
        return
    if tensor.numel() == 1:
        yield "one"
    yield "mask" if tensor.dtype == torch.bool else "tensor"


def _forms_in_dict(held: dict[Any, Any]) -> Iterator[tuple[str, Any]]:
    for each in list(held.values())[:_MOST]:
        if isinstance(each, torch.Tensor):
            yield "values", each
        elif isinstance(each, (list, tuple)):
            yield from (("lists", part) for part in _tensors_in(each))


def _forms_in_list(held: list[Any] | tuple[Any, ...]) -> Iterator[tuple[str, Any]]:
    for each in held[:_MOST]:
        if isinstance(each, torch.Tensor):
            yield "items", each
        elif isinstance(each, (dict, list, tuple)):
            yield from (("rows", part) for part in _tensors_in(each))
        elif dataclasses.is_dataclass(each) and not isinstance(each, type) and hasattr(each, "__dict__"):
            yield from (("rows", part) for part in _tensors_in(vars(each)))


def _tensors_in(held: dict[Any, Any] | list[Any] | tuple[Any, ...]) -> Iterator[torch.Tensor]:
    """The tensors among the first items of a list, or values of a dict."""
    parts = list(held.values()) if isinstance(held, dict) else held
    return (part for part in parts[:_MOST] if isinstance(part, torch.Tensor))
