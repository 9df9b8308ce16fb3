"""Whether a module lets SciPy or scikit-learn take tensors as they are, by the array API that both can follow.

Then most of their functions work on CUDA tensors, and keep gradients: their rows, measured without it, say nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache

# By library: what switches it on. SciPy reads the variable when it is imported, and takes any text but an empty one.
_SWITCHES = {
    "scipy": re.compile(r"SCIPY_ARRAY_API"),
    "sklearn": re.compile(r"array_api_dispatch\s*=\s*True"),
}


@lru_cache(maxsize=1)  # one text may hold any number of calls
def libraries_on_array_api(text: str) -> frozenset[str]:
    """`scipy`, `sklearn`, both or none."""
    if "SCIPY_ARRAY_API" not in text and "array_api_dispatch" not in text:
        return frozenset()
    return frozenset(library for library, switch in _SWITCHES.items() if switch.search(text))
