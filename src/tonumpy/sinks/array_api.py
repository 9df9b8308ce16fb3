"""Whether a module, or its main file, lets SciPy or scikit-learn take tensors as they are: by the array API.

Then many of their functions work on CUDA tensors, and keep gradients: their rows, measured without it, say nothing. Of
the others, as those of scipy.linalg, the rows hold: the tables name the functions that it changes ("array API").
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

from tonumpy.engine.names.repository_names import main_files_naming
from tonumpy.sinks.consumers import follows_array_api

if TYPE_CHECKING:
    from tonumpy.engine.names.module import Module

# By library: what switches it on. SciPy reads the variable when it is imported, and takes any text but an empty one.
_SWITCHES = {
    "scipy": re.compile(r"SCIPY_ARRAY_API"),
    "sklearn": re.compile(r"array_api_dispatch\s*=\s*True"),
}


_WORDS = {"scipy": "SCIPY_ARRAY_API", "sklearn": "array_api_dispatch"}


def is_on_array_api(module: Module, library: str) -> bool:
    """Whether the module switches it on, or a script of its repository that imports the module."""
    if library not in _SWITCHES:
        return False
    return library in libraries_on_array_api(module.source.text) or bool(main_files_naming(module, _WORDS[library]))


def takes_by_array_api(module: Module, name: str, *, is_object: bool) -> bool:
    """Whether a function, by its full name, or the methods of an object, by that of its class, may take tensors there:
    nothing is known of methods."""
    return is_on_array_api(module, name.partition(".")[0]) and (is_object or follows_array_api(name))


@lru_cache(maxsize=1)  # one text may hold any number of calls
def libraries_on_array_api(text: str) -> frozenset[str]:
    """`scipy`, `sklearn`, both or none."""
    if "SCIPY_ARRAY_API" not in text and "array_api_dispatch" not in text:
        return frozenset()
    return frozenset(library for library, switch in _SWITCHES.items() if switch.search(text))
