"""Tells whether a module lets SciPy or scikit-learn take tensors as they are, by the array API.

Then many of their functions work on CUDA tensors, and keep gradients: their rows, measured without it, say nothing. Of
the others, as those of scipy.linalg, the rows hold: the tables name the functions that it changes ("array API").
"""

from __future__ import annotations

import re

from tonumpy.sinks.consumers import follows_array_api

# By library: what switches it on. SciPy reads the variable when it is imported, and takes any text but an empty one.
_SWITCHES = {"scipy": re.compile(r"SCIPY_ARRAY_API"), "sklearn": re.compile(r"array_api_dispatch\s*=\s*True")}


def is_on_array_api(text: str, library: str) -> bool:
    """True if the text of a module switches it on."""
    return library in _SWITCHES and _SWITCHES[library].search(text) is not None


def takes_by_array_api(text: str, name: str, *, is_object: bool) -> bool:
    """True if a function, by its full name, or the methods of an object, by that of its class, may take tensors there:
    nothing is known of methods."""
    return is_on_array_api(text, name.partition(".")[0]) and (is_object or follows_array_api(name))
