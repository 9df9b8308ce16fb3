"""What docstrings and comments of the source name is there: modules (`slices.py`), and classes in them."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "tonumpy"
PATHS = sorted(SOURCE.rglob("*.py"))
MODULE = re.compile(r"(?<![\w/.'\"\-])((?:\w+/)*\w+\.py)\b(?!:)")
MEMBER = re.compile(r"(?<![\w.])([a-z_]+)\.([A-Z]\w+)\b(?![(#])")
# Of users, of Python and of other libraries, as the text beside them says.
OF_OTHERS = frozenset(
    "conftest.py setup.py sitecustomize.py train.py crops_dataset.py pickle.py tensor.py pytorch.py ops.py".split()
)


def words_of(path: Path) -> list[str]:
    """The docstrings and comments of a module."""
    text = path.read_text(encoding="utf-8")
    nodes = [node for node in ast.walk(ast.parse(text)) if isinstance(node, _DOCUMENTED)]
    comments = [
        each.string for each in tokenize.generate_tokens(io.StringIO(text).readline) if each.type == tokenize.COMMENT
    ]
    return [*filter(None, map(ast.get_docstring, nodes)), *comments]


_DOCUMENTED = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)


@cache
def _all_paths() -> list[str]:
    folders = (SOURCE, ROOT / "scripts", ROOT / "tests")
    return [path.as_posix() for folder in folders for path in folder.rglob("*.py")] + [
        path.as_posix() for path in ROOT.glob("*.py")
    ]


@cache
def _defined(module: str) -> frozenset[str] | None:
    """The names that the modules of this name define; None where there are none."""
    found = [path for path in PATHS if path.stem == module]
    texts = "\n".join(path.read_text(encoding="utf-8") for path in found)
    return frozenset(re.findall(r"\w+", texts)) if found else None


def dead_references(words: str) -> list[str]:
    named = [each for each in MODULE.findall(words) if each.rpartition("/")[2] not in OF_OTHERS]
    dead = [each for each in named if not any(f"/{path}".endswith(f"/{each}") for path in _all_paths())]
    for module, name in MEMBER.findall(words):
        defined = _defined(module)
        if defined is not None and name not in defined and name not in ("py", "toml", "json"):
            dead.append(f"{module}.{name}")
    return dead


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_what_is_named_is_there(path: Path) -> None:
    assert [each for words in words_of(path) for each in dead_references(words)] == []


@pytest.mark.parametrize(
    "words",
    ["as gone.py says", "compared by identity with frame.Gone", "see transfer/slices.py", "`summaries/gone.py`"],
)
def test_what_is_gone_is_found(words: str) -> None:
    assert dead_references(words) != []


# Their docstrings are pages for people.
OPENED = [
    path
    for path in PATHS
    if path.parent.name != "habits" and path.relative_to(SOURCE).parts[0] in ("engine", "detectors")
]


@pytest.mark.parametrize("path", OPENED, ids=lambda path: path.relative_to(SOURCE).as_posix())
def test_a_module_opens_with_one_line(path: Path) -> None:
    """A whole sentence, for those who read heads alone."""
    opening = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
    assert opening.endswith((".", ":"))


def test_no_module_is_called_as_another() -> None:
    names = [path.name for path in PATHS if not path.name.startswith("__")]
    assert sorted({name for name in names if names.count(name) > 1}) == []


# A docstring that begins so is part of a sentence, which needs a second reading.
FRAGMENTS = (
    *("All that", "As", "By", "In", "Neither", "None", "Nor", "Not", "Of", "Some", "Such", "That", "The same", "Those"),
    *("What", "When", "Where", "Whether", "Which", "With", "Without"),
)


def test_most_docstrings_are_sentences() -> None:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in PATHS]
    nodes = [node for tree in trees for node in ast.walk(tree) if isinstance(node, _DOCUMENTED)]
    docstrings = list(filter(None, map(ast.get_docstring, nodes)))
    fragments = [each for each in docstrings if each.startswith(tuple(f"{word} " for word in FRAGMENTS))]
    assert len(fragments) <= len(docstrings) / 20, fragments
