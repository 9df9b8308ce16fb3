"""Habits: what people who write torch code mostly mean by a name or a place. One table.

A finding that a habit contradicts gets low confidence; it is never dropped. A row stays if it lowers findings in public
code other than its source, and is right in four of five.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple


class Habit(NamedTuple):
    """One row: `said_of` are the kinds of places it applies to, `lowers` the fact that it assumes, `why` a sentence for
    people.

    `pattern` is a regular expression for names; empty if the habit depends on the place alone.
    """

    id: str
    said_of: tuple[str, ...]
    lowers: str
    why: str
    pattern: str = ""

    @property
    def summary(self) -> str:
        return f"{self.why} ({self.lowers})"

    @property
    def page(self) -> str:
        """The text for `tonumpy explain habit/ID`."""
        name = f"\n\nA name is meant that matches `{self.pattern}`." if self.pattern else ""
        return (
            f"# {self.why} ({self.id})\n\n## What it believes\n\nOf a {' or '.join(self.said_of)}: {self.lowers}."
            f"{name}\n\nIt proves nothing: a finding that it speaks against is shown at low confidence.\n"
        )


_SPLIT = "train|training|test|testing|val|valid|validation|dev|eval"
HABITS = (
    Habit("callers-in-module", ("public function",), "no grad", "A module calls its public function without grad only"),
    Habit("cell-that-ran", ("cell of a notebook",), "no grad", "A cell that has run has not raised"),
    Habit(
        "collate-function",
        ("parameter", "result"),
        "on the CPU, no grad",
        "A collate function makes a batch of data on the CPU",
        r"(?i)(^|_)collat(e|or)",
    ),
    Habit("company-of-data", ("tensor of unknown grad",), "no grad", "What is combined with data requires no grad"),
    Habit("content-of-dataset", ("class",), "on the CPU, no grad", "A Dataset returns data on the CPU"),
    Habit(
        "data-package",
        ("module",),
        "on the CPU, no grad",
        "A package that prepares data has no model or GPU yet",
        r"^data$|^(\w+_)?(datasets?|data_?(loaders?|loading|modules?|managers?|pipes?))$",
    ),
    Habit(
        "dataset-name",
        ("parameter", "variable", "attribute"),
        "no grad",
        "A dataset holds data, which requires no grad",
        rf"(^|_)(dataset|dset|ds)(_({_SPLIT}))?$|^({_SPLIT}|data)_?set$",
    ),
    Habit(
        "index-name",
        ("variable", "parameter", "attribute", "key"),
        "no grad",
        "An index requires no grad",
        r"(^|_)(ids?|inds?|idxs?|index|indices|indexes)$",
    ),
    Habit(
        "label-name",
        ("parameter", "attribute", "key", "loop variable"),
        "no grad",
        "Labels, lengths and masks require no grad",
        r"(^|_)(labels?|classes|targets?|gt|groundtruth|truth|row|col|faces)$|(^|_)(attention|padding)_masks?$"
        r"|(^|_)(?<!edge_)(?<!bond_)[a-z]?len(gth)?s$|[a-z_]len$|^(gt|idx|target)_|[a-z]ids$|^[yY]_true$"
        r"|^running_(mean|var)$",
    ),
    Habit(
        "loader-name",
        ("parameter", "variable", "attribute"),
        "on the CPU, no grad",
        "A data loader gives data on the CPU",
        r"(^|_)((train|val|valid|eval|dev|test)?(data_?)?loaders?(_(train|val|valid|validation|dev|test))?|dl)$"
        r"|^([tT]rain|[vV]al(id)?|[eE]val|[tT]est|data)(Data|Img)?Loaders?$",
    ),
    Habit(
        "part-of-batch",
        ("parameter", "variable", "attribute"),
        "no grad",
        "A batch is data, which requires no grad",
        r"(^|_)(mini)?batch$",
    ),
    Habit("passed-test", ("test",), "no grad", "A test that passed has not raised"),
    Habit(
        "program-on-cpu",
        ("script", "notebook", "test"),
        "on the CPU",
        "A program that names no other device runs on the CPU",
    ),
    Habit(
        "sample-parameter",
        ("parameter",),
        "on the CPU, no grad",
        "A sample is an item of a dataset",
        r"^(sample|item|example)s?$",
    ),
    Habit(
        "test-parameter",
        ("parameter of a helper in a test module",),
        "on the CPU",
        "A test makes its own tensors, and names a device where it uses one",
    ),
)
_PATTERNS = {habit.id: re.compile(habit.pattern) for habit in HABITS if habit.pattern}


@lru_cache(maxsize=16384)
def is_named(habit: str, name: str) -> bool:
    """True if the name matches the habit's pattern."""
    return _PATTERNS[habit].search(name) is not None


def habit_ids() -> tuple[str, ...]:
    """Every identifier, in order."""
    return tuple(habit.id for habit in HABITS)
