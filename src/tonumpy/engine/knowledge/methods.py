"""Names of methods that are not torch's: which kinds of objects have them, and which give no tensor whatever has them.

Only names; what a method gives is said by its transfer function.
"""

from __future__ import annotations

# Of texts: what another text comes of, and what tests one.
OF_TEXT = frozenset("lower upper casefold strip".split())
TESTS_OF_TEXT = frozenset("startswith endswith".split())
METHODS_OF_TEXT = OF_TEXT | TESTS_OF_TEXT

# Of containers, by which an unknown receiver is taken for one.
OF_CONTAINERS = frozenset("items values get pop setdefault copy popitem".split())
# Of tensors, too: a batch of texts, which is read as a dict, can be moved.
OF_LISTS_AND_TENSORS = ("add", "sort")
OF_DICTS_AND_TENSORS = ("values", "to")

# Of NumPy's arrays and not of tensors.
OF_ARRAYS_ALONE = frozenset("astype byteswap dump dumps fill setfield setflags tobytes tofile".split())


_GIVE_NO_TENSOR = frozenset("numpy item tolist size dim numel strip keys astype".split())
# On a receiver of unknown kind.
GIVE_NO_TENSOR = _GIVE_NO_TENSOR | frozenset(
    "nelement stride data_ptr lower upper startswith endswith splitlines".split()
)
# By the spelling alone, in code that only may give a tensor to a sink.
GIVE_NO_TENSOR_BY_SPELLING = _GIVE_NO_TENSOR | frozenset("format split join convert".split())
