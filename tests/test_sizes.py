"""No module, class or function is larger than a reader can hold, but for those that a reason is given for."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/tonumpy"
MAX_LINES, MAX_METHODS, MAX_LINES_OF_FUNCTION = 450, 15, 60

WHOLE = {
    "config.py": "all settings, each with its reader",
    "inference/lattice/values.py": "all kinds of values on one page, with the questions that all of them answer",
    "inference/transfer/frame.py: Frame": "one state, whose changes must keep its maps in step; called everywhere",
    "text/source.py: Source": "a text and its places, in all the units in which hosts and syntax trees give them",
    "text/notebooks.py: Notebook": "the same questions, answered for the cells of a notebook",
    "frontends/language_server.py: Server": "a method for each message of the protocol",
    "frontends/language_server.py": "what the protocol asks for, message after message",
    "frontends/language_server.py: _add_features": "a few lines for each message of the protocol",
    "inference/index/dependencies.py: flow_of": "one pass over a body, a branch for each kind of node",
    "inference/transfer/call_chains.py: evaluate_chain": "one link after the other, with all that a link may be",
}


def _too_large() -> set[str]:
    found = set()
    for path in SOURCE.rglob("*.py"):
        name, text = path.relative_to(SOURCE).as_posix(), path.read_text(encoding="utf-8")
        if len(text.splitlines()) > MAX_LINES:
            found.add(name)
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ClassDef):
                methods = [each for each in node.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
                if len(methods) > MAX_METHODS:
                    found.add(f"{name}: {node.name}")
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and _lines_of(node) > MAX_LINES_OF_FUNCTION:
                found.add(f"{name}: {node.name}")
    return found


def _lines_of(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def test_what_is_large_has_a_reason() -> None:
    assert sorted(_too_large() - WHOLE.keys()) == []


def test_no_reason_is_given_for_what_is_small() -> None:
    assert sorted(WHOLE.keys() - _too_large()) == []
