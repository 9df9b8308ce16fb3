"""Compares the result of a call with a tensor with that of the same call with the equal array."""

from __future__ import annotations

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
