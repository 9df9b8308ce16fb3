"""The bytes or the text of a file in; whether it may hold a conversion out. What cannot costs no more than reading it.

Imports nothing: most starts, in a pre-commit hook, end here.
"""

from __future__ import annotations

# A file without this text holds no call of a method named numpy, so it needs neither decoding nor parsing.
CANDIDATE = b".numpy("

# Nor does one without torch and one of these convert a tensor by giving it to another library, and without one of the
# others nothing can go wrong there.
CONSUMERS = ("numpy", "matplotlib", "pandas", "scipy", "seaborn", "sklearn")
TROUBLE = (
    *("cuda", "device", "requires_grad", "Parameter", "backward", "bfloat16", "float8", "xpu", "npu", "mps"),
    *("complex32", "chalf", "quantize_per", "mkldnn", "to_sparse", "sparse_coo_tensor", "sparse_csr_tensor", ".conj("),
)


def may_hold_candidates(data: bytes) -> bool:
    return CANDIDATE in data


def may_hold_consumers(text: str | bytes) -> bool:
    if isinstance(text, bytes):
        text = text.decode("latin-1")
    return "torch" in text and any(map(text.__contains__, CONSUMERS)) and any(map(text.__contains__, TROUBLE))
