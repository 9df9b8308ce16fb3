"""Names of methods by the kinds of objects that have them, and of methods that never return a tensor.
Only names; transfer functions evaluate the methods.
"""

from __future__ import annotations

# Methods of strings that return a string, and that test one.
OF_TEXT = frozenset("lower upper casefold strip".split())
TESTS_OF_TEXT = frozenset("startswith endswith".split())
METHODS_OF_TEXT = OF_TEXT | TESTS_OF_TEXT

# Methods of containers: an unknown receiver of one of these is taken for a container.
OF_CONTAINERS = frozenset("items values get pop setdefault copy popitem".split())
# Methods of tensors too: a tokenizer's batch, which is evaluated as a dict, can be moved.
OF_LISTS_AND_TENSORS = ("add", "sort")
OF_DICTS_AND_TENSORS = ("values", "to")

# Methods of NumPy arrays, but not of tensors.
OF_ARRAYS_ALONE = frozenset("astype byteswap dump dumps fill setfield setflags tobytes tofile".split())


_GIVE_NO_TENSOR = frozenset("numpy item tolist size dim numel strip keys astype".split())
# On a receiver of unknown kind.
GIVE_NO_TENSOR = _GIVE_NO_TENSOR | frozenset(
    "nelement stride data_ptr lower upper startswith endswith splitlines".split()
)
# The same by spelling alone, in code that may pass a tensor to a sink.
GIVE_NO_TENSOR_BY_SPELLING = _GIVE_NO_TENSOR | frozenset("format split join convert".split())
