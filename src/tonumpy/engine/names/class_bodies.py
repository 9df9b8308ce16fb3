"""From a class body's text to what it defines, and to the attributes of `self` that each method writes."""

from __future__ import annotations

import ast
from typing import NamedTuple

from tonumpy.engine.names.bindings import (
    FunctionNode,
    decorator_names,
    is_name,
)
from tonumpy.text.names import ACCELERATORS, last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

Field = ast.AnnAssign | ast.Assign  # what binds an attribute in the body of a class


class Members(NamedTuple):
    """What a class body defines."""

    methods: dict[str, FunctionNode]
    fields: dict[str, Field]
    functions: list[FunctionNode]  # the methods and what else has their names, as the setters of properties
    classes: dict[str, ast.ClassDef]


def fields_of_record(node: ast.ClassDef) -> dict[str, ast.AnnAssign]:
    """Those of a dataclass or NamedTuple that its own body declares; none of a class that extends another one."""
    bases = [last_name(each) for each in node.bases]
    if bases != ["NamedTuple"] and not ("dataclass" in decorator_names(node) and not bases):
        return {}
    declared = (each for each in node.body if isinstance(each, ast.AnnAssign))
    return {each.target.id: each for each in declared if isinstance(each.target, ast.Name)}


def members_defined(node: ast.ClassDef) -> Members:
    """The methods, fields and inner classes that a class body defines."""
    methods: dict[str, FunctionNode] = {}
    fields: dict[str, Field] = {}
    functions: list[FunctionNode] = []
    classes: dict[str, ast.ClassDef] = {}
    for statement in statements_of(node.body):
        if isinstance(statement, FUNCTIONS):
            functions.append(statement)
            if not _is_setter(statement):
                methods[statement.name] = statement
        elif isinstance(statement, ast.ClassDef):
            classes[statement.name] = statement
        elif isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
            fields[statement.target.id] = statement
        elif isinstance(statement, ast.Assign):
            for target in statement.targets:
                if isinstance(target, ast.Name):
                    fields[target.id] = statement
    return Members(methods, fields, functions, classes)


def _is_setter(node: FunctionNode) -> bool:
    return any(isinstance(each, ast.Attribute) and each.attr in ("setter", "deleter") for each in node.decorator_list)


def moves_itself(node: ast.ClassDef) -> bool:
    """True if the constructor moves `self`: `self.cuda()`, `self.to(device)`."""
    init = members_defined(node).methods.get("__init__")
    return init is not None and any(isinstance(each, ast.Call) and _is_move(each) for each in walk(init))


def _is_move(call: ast.Call) -> bool:
    """`self.cuda()`, or `self.to(...)` with anything that may be a device other than the CPU."""
    return _moves(method_called_on("self", call), call)


def _moves(method: str | None, call: ast.Call) -> bool:
    given = [*call.args, *(keyword.value for keyword in call.keywords if keyword.arg != "dtype")]
    return method in ACCELERATORS or (method == "to" and any(map(_may_be_device, given)))


def _may_be_device(node: ast.expr) -> bool:
    """Neither the name of the CPU, nor a flag or a dtype."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value != "cpu"
    return not isinstance(node, ast.Attribute) or getattr(node.value, "id", None) != "torch"


def method_called_on(owner: str, node: ast.AST) -> str | None:
    """The method that a call calls on what is called `owner`; None for anything else."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    return node.func.attr if is_name(node.func.value, owner) else None
