"""Why the kind of a value is unknown, where that tells something of the tensors in it."""

from __future__ import annotations

from enum import Enum


class Reason(Enum):
    """Where a value came from whose kind is unknown."""

    __hash__ = object.__hash__  # that of Enum is Python code, and takes ten times as long

    PARAMETER = "a parameter that no caller in sight gives"
    LAMBDA_PARAMETER = "a parameter of a lambda"
    ATTRIBUTE = "an attribute that an object was given"
    PART_OF_RESULT = "an attribute of what a function or a method gives"
    DEVICE_ATTRIBUTE = "an attribute called device"
    ITEM_OF_GIVEN = "an item of a parameter or an attribute"
    ITEM = "an item of something else"
    TAKEN_OUT = "taken out of something by `get` or `pop`"
    CONTENT = "what a container holds, one does not know at which place"
    CALL = "the result of a function"
    METHOD = "the result of a method"
    LOSS = "the result of what is called a loss"
    SENT = "the result of `.to(...)`: all that it holds may be on some device"
    SAVED = "read from a file: it may be anything, but what is put under a key is detached"
    DATASET = "a dataset: what is taken out of it, by number or one after the other, is on the CPU"
    DATASET_PART = "a part of a dataset, which is another dataset or anything else"
    COMPARISON = "the result of a comparison"
    NAME = "a name that is bound nowhere in sight, or by others too"
    IMPORT = "imported from a module that is not at hand"
    ANNOTATION = "annotated with something that tells nothing"
    CLASS = "a class that is not in sight"
    DECORATED = "a function under a decorator that is not followed"
    LIBRARY = "what a library gives"
    OPERATION = "the result of an operator of an object"
    SYNTAX = "a construct of which nothing is followed"
    TOO_MANY = "of too many kinds"
    CUT_SHORT = "not followed to its end"

    @staticmethod
    def of_attribute(name: str, owner: Reason | None = None) -> Reason:
        """That of an attribute, of a value that is unknown for a reason of its own."""
        if name == "device":
            return Reason.DEVICE_ATTRIBUTE
        return Reason.PART_OF_RESULT if owner in _RESULTS else Reason.ATTRIBUTE

    @staticmethod
    def of_method(name: str) -> Reason:
        return Reason.SENT if name == "to" else Reason.METHOD


# A function or an object was given it.
GIVEN = frozenset(
    {
        Reason.PARAMETER,
        Reason.LAMBDA_PARAMETER,
        Reason.ATTRIBUTE,
        Reason.DEVICE_ATTRIBUTE,
        Reason.ITEM_OF_GIVEN,
    }
)

# A function or a module has made it.
MADE = frozenset({Reason.CALL, Reason.METHOD, Reason.LOSS, Reason.SENT})

_RESULTS = MADE | {Reason.PART_OF_RESULT}
