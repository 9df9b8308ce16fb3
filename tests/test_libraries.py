"""The rows about libraries: each is well formed, says where it was read, and stands once."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tonumpy.engine.knowledge import libraries
from tonumpy.engine.knowledge.libraries.rows import canonical, gives_plain_values
from tonumpy.engine.names.frameworks import FOREIGN
from tonumpy.engine.values.dtypes import is_dtype_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

FILES = sorted(Path(libraries.__file__).parent.glob("*.toml"))
TABLES: dict[str, dict[str, Any]] = {path.stem: tomllib.loads(path.read_text("utf-8")) for path in FILES}

DOTTED = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+")
RETURNS = re.compile(
    r"tensor|saved|sequence|mapping|pairs|none|self|first|second|each|collated|given:dataset|items:datasets?|splits|called:lambd"
    r"|called:module|wrapped|rows|arguments|instance|device|operation|composed"
    r"|transformed|unknown|sequential|layers(:values|:items)?|optionals|item|iterator|flattened|chain|tuples|nothing|prepared|tuple:\d"
    r"|plain:[\w ]+|foreign:(?P<foreign>\w+)|(object|outputs|sequence):(?P<object>[\w.]+)"
)
KEYS = {
    "promise": {"name", "returns", "device", "grad", "dtype", "position", "keyword", "when", "places", "source"},
    "attribute": {"name", "returns", "device", "grad", "dtype", "source"},
    "alias": {"name", "of"},
    "class": {"name", "bases"},
    "family": {"prefix", "suffix", "base"},
    "without_grad": {"class", "methods", "source"},
    "hook": {"method", "parameter", "device", "grad", "source"},
    "term": {"name", "class", "source"},
    "fill": {"name", "list", "with", "source"},
}
SOURCED = ("promise", "attribute", "without_grad", "hook", "term", "fill")

each_library = pytest.mark.parametrize("root", TABLES)


def rows(root: str, *kinds: str) -> list[dict[str, Any]]:
    return [row for kind in kinds for row in TABLES[root].get(kind, ())]


def listed(value: str | list[str]) -> list[str]:
    return [value] if isinstance(value, str) else value


@each_library
def test_only_known_tables_and_keys(root: str) -> None:
    assert set(TABLES[root]) <= set(KEYS)
    for kind, allowed in KEYS.items():
        for row in rows(root, kind):
            assert set(row) <= allowed, row


@each_library
def test_every_row_says_where_it_was_read(root: str) -> None:
    for row in rows(root, *SOURCED):
        assert re.match(r"https?://[\w.-]+\.[a-z]+/\S*", row.get("source", "")), row


@each_library
def test_names_belong_to_the_library(root: str) -> None:
    names = [name for row in rows(root, "promise", "attribute") for name in listed(row["name"])]
    names += [row["class"] for row in rows(root, "without_grad")]
    names += [name for row in rows(root, "hook") for name in listed(row["method"])]
    names += [row["name"] for row in rows(root, "class")]
    for name in names:
        assert DOTTED.fullmatch(name) and name.startswith(f"{root}."), name
    for row in rows(root, "alias"):
        for name in row["of"]:
            assert name == root or name.startswith(f"{root}."), name
            assert name != row["name"]
    for row in rows(root, "family"):
        assert row["prefix"].startswith(f"{root}."), row
    extended = [base for row in rows(root, "class") for base in row["bases"]]
    for name in extended + [row["base"] for row in rows(root, "family")]:
        assert name == "" or DOTTED.fullmatch(name), name


@cache
def words_of(alias: str) -> frozenset[str]:
    """Those of a `Literal` that only type checkers see, read off the text of its module."""
    module = ast.parse((Path(libraries.__file__).parent / "rows.py").read_text("utf-8"))
    assigned = [each.value for each in ast.walk(module) if isinstance(each, ast.Assign) and alias == name_of(each)]
    assert len(assigned) == 1
    return frozenset(each.value for each in ast.walk(assigned[0]) if isinstance(each, ast.Constant))


def name_of(assignment: ast.Assign) -> str:
    target = assignment.targets[0]
    return target.id if isinstance(target, ast.Name) else ""


@each_library
def test_values_are_of_the_allowed_ones(root: str) -> None:
    for row in rows(root, "promise", "attribute"):
        for kind in listed(row["returns"]):
            match = RETURNS.fullmatch(kind)
            assert match, row
            assert match["foreign"] is None or match["foreign"] in FOREIGN, row
            assert match["object"] is None or DOTTED.fullmatch(match["object"]), row
    for row in rows(root, "promise", "attribute", "hook"):
        assert row.get("device", "unknown") in words_of("Where"), row
        assert row.get("grad", "unknown") in words_of("Whether"), row
        assert is_dtype_name(row.get("dtype", "int64")) or row["dtype"] in ("self", "first"), row


@each_library
def test_names_are_known_by_the_name_they_are_looked_up_under(root: str) -> None:
    """A row under an alias would never be found."""
    for row in rows(root, "promise", "attribute"):
        for name in listed(row["name"]):
            assert canonical(name) == name


@each_library
def test_no_row_stands_twice(root: str) -> None:
    for kind in ("promise", "attribute"):
        counted = Counter(
            (name, tuple(row.get("when", {}).items())) for row in rows(root, kind) for name in listed(row["name"])
        )
        assert [name for name, count in counted.items() if count > 1] == []
    for kind, key in (("class", "name"), ("without_grad", "class"), ("alias", "name")):
        counted_names = Counter(row[key] for row in rows(root, kind))
        assert [name for name, count in counted_names.items() if count > 1] == []


@each_library
def test_a_position_is_that_of_a_device_which_is_promised(root: str) -> None:
    for row in rows(root, "promise"):
        assert row.get("places", {}).keys() <= row.get("when", {}).keys(), row
        assert "position" not in row or row.get("device") in ("argument", "given", "inputs", "first"), row


def test_plain_roots_are_no_frameworks() -> None:
    for root in FOREIGN:
        assert not gives_plain_values(f"{root}.Tensor"), root
    assert gives_plain_values("numpy.linalg.norm")
    assert not gives_plain_values("torch.zeros")
