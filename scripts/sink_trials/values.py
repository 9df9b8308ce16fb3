"""What a call is given: arrays by a letter, each of which is made a tensor of every sort, and what is no array."""

import ast
import os
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch

_FEW = np.random.default_rng(0)
ARRAYS: dict[str, np.ndarray] = {
    "v": np.array([0.5, 0.25, 0.75, 1.0, 0.125, 2.0], "f"),
    "m": np.array([[4.0, 1, 0.5, 0.25], [1, 3, 0.5, 0.5], [0.5, 0.5, 5, 1], [0.25, 0.5, 1, 6]], "f"),
    "r": np.array([1.0, 2.0, 4.0, 8.0], "f"),  # one number for each row of m
    "l": np.array([0, 1, 1, 0]),  # and one label
    "i": np.array([0, 1, 2, 1, 0, 3]),
    "b": np.array([0, 1, 1, 1, 0, 0]),
    "s": np.array(0.5, "f"),
    "p": np.linspace(0, 1, 192, dtype="f").reshape(8, 8, 3),
    "u": np.arange(192, dtype="u1").reshape(8, 8, 3),
    "g": np.arange(256, dtype="u1").reshape(16, 16),
    "n": np.arange(256, dtype="u1").reshape(4, 8, 8),  # a film
    "c": np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], "f"),
    "a": np.array([[1.0, 0, 0.5], [0, 1, 0.5]], "f"),  # an affine map
    "k": np.array([[0, 1, 2], [0, 1, 3]]),
    "e": np.array([0.25, 0.75], "f"),  # a point
    "h": np.array([[0.0, 0], [1, 0], [1, 0.5], [0.5, 1]], "f"),  # the corners of a shape
    "w": np.array([[1, 1], [6, 1], [6, 6]], "i4"),  # and in pixels
    "o": np.array([[[0.0, 0], [1, 0], [0.5, 1]], [[0, 1], [1, 1], [0.5, 0]]], "f"),  # two shapes
    "t": _FEW.standard_normal(4096).astype("f"),
    "x": _FEW.standard_normal((40, 4)).astype("f"),  # a table of samples
    "y": (np.arange(40) % 2).astype("i8"),  # and their labels
    # Those that only calls by hand are given.
    "d": np.array([[4.0, 1, 0.5, 0.25], [1, 3, 0.5, 0.5], [0.5, 0.5, 5, 1], [0.25, 0.5, 1, 6]]),
    "q": np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]),
    "j": np.float64(0.5),  # type: ignore[dict-item]
    "z": np.sin(np.arange(400.0) / 7) + np.arange(400) % 13 / 7,
    "f": np.asfortranarray(np.arange(256, dtype="u1").reshape(16, 16) % 2),
}
EXTRAS: dict[str, Callable[[], object]] = {}  # of the library that is measured
FILES = {"file": "", "png": ".png", "gif": ".gif", "wav": ".wav"}
FUNCTIONS: dict[str, Callable[[Any], Any]] = {"function": np.sum, "identity": lambda value: value}

SORTS = ("plain", "grad", "device", "bfloat16", "sparse")
# Nor do plain tensors of these shapes and dtypes work where every tensor is said to be refused.
SHAPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "itself": lambda array: array,
    "one element": lambda array: array[(slice(1),) * array.ndim],
    "no dimension": lambda array: array.reshape(-1)[0] if array.ndim < 2 else array,
}
DTYPES = (None, torch.double, torch.half, torch.int64, torch.int32, torch.uint8, torch.bool)
# How a tensor is given: itself, in a list (two ways), in a dict, or in a dict in a list.
WAYS: dict[str, tuple[Callable[[Any], object], ...]] = {
    "tensor": (lambda value: value,),
    "items": (lambda value: [value, value], list),
    "values": (lambda value: {"a": value},),
    "records": (lambda value: [{"a": value}],),
}


def evaluated(text: str) -> Any:  # noqa: ANN401
    """Return what a text of a call that is no letter of an array stands for."""
    if text in EXTRAS:
        return EXTRAS[text]()
    if text in FILES:
        return os.path.join(tempfile.gettempdir(), f"tried{FILES[text]}")
    if text == "handle":
        return open(evaluated("file"), "w", encoding="utf-8")
    return FUNCTIONS[text] if text in FUNCTIONS else ast.literal_eval(text)


def variants() -> Iterator[tuple[str, Callable[[np.ndarray], torch.Tensor]]]:
    """Return what makes tensors of other shapes and dtypes of an array, each with its name."""
    for shape, shaped in SHAPES.items():
        for dtype in DTYPES:

            def made(array: np.ndarray, shaped=shaped, dtype=dtype) -> torch.Tensor:  # noqa: ANN001
                tensor = torch.as_tensor(np.array(shaped(array)))
                return tensor if dtype is None else tensor.to(dtype)

            yield f"{shape}, {dtype or 'its dtype'}", made


def tensors_of(array: np.ndarray, sort: str) -> list[torch.Tensor]:
    """The tensors of a sort that are equal to an array; none where there are no such."""
    tensor = torch.as_tensor(array.copy())
    if sort == "plain":
        return [tensor]
    if sort == "device":
        return [tensor.to("toy")]
    if sort == "grad":
        if not tensor.is_floating_point():
            return []
        leaf = tensor.requires_grad_()
        return [leaf, leaf * 1]  # some things are refused to one of the two alone
    if sort == "bfloat16":
        return [tensor.bfloat16()] if tensor.is_floating_point() else []
    return [tensor.to_sparse()] if tensor.dim() else []
