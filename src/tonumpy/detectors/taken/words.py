"""The messages for the table's words: the outcome when a tensor is taken for its values."""

from __future__ import annotations

_OUTCOMES = {
    "axis": "a tensor of one element is an integer as an index, so the result has one axis less",
    "chance": "the items of a tensor are looked for by identity, so equal values are found by chance",
    "method": "gives a method of the tensor",
    "none": "no key is equal to a tensor, so it gives the default",
    "objects": "keeps tensors as objects, so files and comparisons have `tensor(0.5)` in place of a number",
    "picture": "shows `tensor(...)` as text",
    "shape": "gives another shape for a tensor than for the equal array",
    "text": "writes `tensor(...)` as text, in place of numbers",
    "values": "gives other values for a tensor than for the equal array",
}
IDENTITY = "Python tells tensors apart by identity, so equal values stay apart"
_OF_PYTHON = {
    "identity": IDENTITY,
    "none": "a tensor is looked for by identity, so equal keys are not found",
    "values": "a tensor is looked for by identity, so equal keys are not found",
}
_IN_FUNCTIONS = {"false": "gives one False for the whole tensor", "true": "gives one True for the whole tensor"}
_OF_MISSING = ("isna", "isnull", "notna", "notnull")


def said(word: str, library: str, function: str, *, is_not: bool = False) -> str:
    """The message for a word of the table; `is_not`: for `x not in y`."""
    if library == "builtins" and word in _OF_PYTHON:
        return _OF_PYTHON[word]
    if library == "collections" or word == "identity":
        return IDENTITY
    if word not in ("false", "true"):
        return _OUTCOMES[word]
    if function.endswith(_OF_MISSING):
        return _IN_FUNCTIONS[word]
    outcome = word.capitalize() if not is_not else "True"
    return f"it is {outcome} for equal values, too"
