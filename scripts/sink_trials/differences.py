"""Whether two results are the same, and in what they differ: that of a tensor, and that of the equal array."""

from __future__ import annotations

import inspect
import numbers
from typing import Any

import numpy as np
import torch


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


def difference(one: Any, other: Any) -> str:  # noqa: ANN401
    """A word for what is seen to differ, nothing where that cannot be told: `tensor` where a tensor of the same values
    comes back in place of an array, `objects` where an array holds tensors, `method` where a method comes back, `text`,
    `picture`, `shape`, `values`."""
    if isinstance(one, torch.Tensor):
        return _of_tensor(one, other)
    if inspect.isroutine(one) and not callable(other):
        return "method"
    if isinstance(one, (str, bytes)) and isinstance(other, (str, bytes)):
        return "" if one == other else "picture" if isinstance(one, bytes) else "text"
    if isinstance(one, (tuple, list)) and isinstance(other, (tuple, list)):
        if len(one) != len(other):
            return "shape"
        return next((word for pair in zip(one, other, strict=True) if (word := difference(*pair))), "")
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return "shape"
        return next((word for key in one if (word := difference(one[key], other[key]))), "")
    if type(one).__module__.partition(".")[0] == "pandas":
        return _of_frames(one, other)
    is_number = isinstance(one, (numbers.Number, np.ndarray)) and isinstance(other, (numbers.Number, np.ndarray))
    return _of_arrays(np.asarray(one), np.asarray(other)) if is_number else ""


def _of_tensor(one: torch.Tensor, other: object) -> str:
    if isinstance(other, torch.Tensor):
        return ""
    if isinstance(other, (tuple, list)) and all(isinstance(each, np.ndarray) for each in other):
        return "shape"
    is_number = isinstance(other, (numbers.Number, np.ndarray))
    return (_of_arrays(one.detach().numpy(), np.asarray(other)) if is_number else "") or "tensor"


def _of_arrays(one: np.ndarray, other: np.ndarray) -> str:
    if one.dtype == object:
        has_tensors = any(isinstance(each, torch.Tensor) for each in one.flat)
        return "objects" if has_tensors and other.dtype != object else ""
    if one.dtype.kind in "USMmV" or other.dtype.kind in "USMmVO":
        return ""
    if one.shape != other.shape:
        return "shape"
    return "" if np.allclose(one, other, rtol=1e-4, atol=1e-6, equal_nan=True) else "values"


def _of_frames(one: Any, other: Any) -> str:  # noqa: ANN401
    if type(one) is not type(other) or not hasattr(one, "to_numpy"):
        return ""
    return _of_arrays(one.to_numpy(), other.to_numpy())
