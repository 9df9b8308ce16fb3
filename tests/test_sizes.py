"""No module, class or function is larger than a reader can hold, but for those that a reason is given for."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src/tonumpy"
MAX_LINES, MAX_METHODS, MAX_LINES_OF_FUNCTION = 450, 15, 60
MAX_COMPLEXITY = 40
COMPLEX = 10
MAX_COMPLEX = 325  # functions over COMPLEX: there were 324 when they were first counted; less is better

WHOLE = {
    "config.py": "all settings, each with its reader",
    "frontends/cli_arguments.py": "every option of every command, in the order of the help",
    "pipeline.py": "the whole way of a file, stage after stage",
    "sinks/risk_flow.py: RiskFlow": "one search, with a step for each way in which a value gets to an argument",
    "sinks/risk_index.py: RiskIndex": "what the search asks of a module's text, each answered once",
    "sinks/unfinished/arrivals.py: Walk": "a method for each kind of statement",
    "sinks/unfinished/arrival_expressions.py: Expressions": "a method for each kind of expression",
    "rehearsal/standin/copies.py: Copies": "one ledger, with what streams, events and reads ask of it",
    "rehearsal/standin/names.py: patch": "what is replaced in torch, line after line",
    "conversions.py: ImplicitConversion": "what each rule asks of a conversion, one question a method",
    "sinks/unfinished/arrival_calls.py: Calls": "a method for each kind of call",
    "inference/transfer/frame.py: Frame": "one state, whose changes must keep its maps in step; called everywhere",
    "text/source.py: Source": "a text and its places, in all the units in which hosts and syntax trees give them",
    "text/notebooks.py: Notebook": "the same questions, answered for the cells of a notebook",
    "frontends/language_server.py: Server": "a method for each message of the protocol",
    "frontends/language_server.py": "what the protocol asks for, message after message",
    "frontends/language_server.py: _add_features": "a few lines for each message of the protocol",
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


_DECISIONS = (ast.If, ast.IfExp, ast.For, ast.AsyncFor, ast.While, ast.ExceptHandler, ast.Assert, ast.match_case)


def _complexity(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Cyclomatic, as radon counts: ruff's C901 leaves out `and`, `or`, comprehensions and conditional expressions."""
    found, waiting = 1, list(ast.iter_child_nodes(function))
    while waiting:
        node = waiting.pop()
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue  # counted by itself
        if isinstance(node, _DECISIONS):
            found += 1
        elif isinstance(node, ast.BoolOp):
            found += len(node.values) - 1
        elif isinstance(node, ast.comprehension):
            found += 1 + len(node.ifs)
        found += bool(isinstance(node, (ast.For, ast.AsyncFor, ast.While)) and node.orelse)
        waiting += ast.iter_child_nodes(node)
    return found


def test_no_function_is_too_complex() -> None:
    counted = {
        f"{path.relative_to(SOURCE).as_posix()}: {node.name}": _complexity(node)
        for path in SOURCE.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    assert {name: found for name, found in counted.items() if found > MAX_COMPLEXITY} == {}
    assert sum(found > COMPLEX for found in counted.values()) <= MAX_COMPLEX
