"""From a class body's text to what it defines, and to the attributes of `self` that each method writes."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import (
    FunctionNode,
    decorator_names,
    is_name,
    is_super,
    parameter_names,
    registered,
    set_by_call,
)
from tonumpy.engine.names.changes import is_in_place
from tonumpy.engine.names.torch_words import FILLING
from tonumpy.text.candidates import first_row, spanning
from tonumpy.text.names import ACCELERATORS, last_name
from tonumpy.text.syntax import FUNCTIONS, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Sequence as Items

    from tonumpy.engine.names.module import Module


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


class Writes(NamedTuple):
    """What a method does with the attributes of `self`."""

    assigned: frozenset[str]
    filled: frozenset[str]  # only put something into
    changed: frozenset[str]  # written to in place, if they are tensors: `self.table[i] = x`, `self.total.add_(x)`
    parameters: frozenset[str]  # made parameters
    buffers: frozenset[str]  # made buffers
    computed: frozenset[str]  # assigned what is worked out, by itself or through a name: no literal that was passed on
    methods_called: tuple[str, ...]  # in the order of the text


_MADE_PARAMETERS = ("Parameter", "UninitializedParameter")
_MADE_BUFFERS = ("Buffer", "UninitializedBuffer")
_SAYING_NOTHING = frozenset((ast.Name, ast.Constant))  # most nodes


def writes_of(method: FunctionNode, owner: str | None = None) -> Writes:
    """What a method does with the attributes of `self`, here called `owner`."""
    owner = owner or owner_name(method)
    assigned: set[str] = set()
    filled: set[str] = set()
    changed: set[str] = set()
    parameters: set[str] = set()
    buffers: set[str] = set()
    values: list[tuple[ast.expr, ast.expr]] = []
    methods_called: dict[str, None] = {}
    for node in walk(method):
        if type(node) in _SAYING_NOTHING:
            continue
        inner: ast.expr | None = None
        if isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Store) and is_name(node.value, owner):
                assigned.add(node.attr)
            elif isinstance(node.ctx, ast.Store) and node.attr == "requires_grad":
                changed.update(filter(None, (_attribute_of(node.value, owner),)))
            elif node.attr in FILLING:  # called there, or later: `add = self.rows.append`
                inner = node.value
        elif isinstance(node, ast.Subscript):
            inner = node.value if isinstance(node.ctx, ast.Store) else None
        elif isinstance(node, ast.Assign):
            made = last_name(node.value.func) if isinstance(node.value, ast.Call) else None
            if made in _MADE_PARAMETERS or made in _MADE_BUFFERS:
                names = [target.attr for target in node.targets if isinstance(target, ast.Attribute)]
                (buffers if made in _MADE_BUFFERS else parameters).update(names)
            values += [(target, node.value) for target in node.targets]
        elif isinstance(node, ast.Call) and (member := set_by_call(node)) is not None:
            if is_name(member[0].value, owner):
                assigned.add(member[0].attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            member = registered(node)
            if member is not None:
                (parameters if node.func.attr == "register_parameter" else buffers).add(member[0].attr)
                if is_name(member[0].value, owner):
                    assigned.add(member[0].attr)
            if is_name(node.func.value, owner):
                methods_called[node.func.attr] = None
            inner = node.func.value if is_in_place(node.func) else None
        if inner is not None:
            attribute = _attribute_of(inner, owner)
            if attribute is not None:
                filled.add(attribute)
                if isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and is_in_place(node.func)):
                    changed.add(attribute)
    computed = _computed(values, owner)
    return Writes(
        frozenset(assigned),
        frozenset(filled - assigned),
        frozenset(changed),
        frozenset(parameters),
        frozenset(buffers),
        computed,
        tuple(methods_called),
    )


def _attribute_of(node: ast.expr, owner: str | None) -> str | None:
    """The attribute of `self` that an expression is a part of, or that methods in it change in place: `self.table[0]`,
    `self.total.mul_(2)`."""
    while isinstance(node, ast.Subscript) or (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        if isinstance(node, ast.Subscript):
            node = node.value
        else:
            assert isinstance(node.func, ast.Attribute)
            if not is_in_place(node.func):
                return None
            node = node.func.value
    return node.attr if isinstance(node, ast.Attribute) and is_name(node.value, owner) else None


def _computed(values: Items[tuple[ast.expr, ast.expr]], owner: str | None) -> frozenset[str]:
    """The attributes of `self` among the targets that are given something computed, or a name that is."""
    names: set[str] = set()
    for target, value in values:
        if isinstance(target, ast.Tuple):
            names.update(each.id for each in target.elts if isinstance(each, ast.Name))
        elif isinstance(target, ast.Name) and isinstance(value, _COMPUTATIONS):
            names.add(target.id)
    return frozenset(
        target.attr
        for target, value in values
        if isinstance(target, ast.Attribute)
        and is_name(target.value, owner)
        and (isinstance(value, _COMPUTATIONS) or (isinstance(value, ast.Name) and value.id in names))
    )


# A call may give back a literal, but hardly one that is then compared with another.
_COMPUTATIONS = (ast.Call, ast.BinOp, ast.Subscript, ast.JoinedStr, ast.ListComp, ast.DictComp, ast.SetComp, ast.Dict)


def written_within(method: FunctionNode) -> frozenset[str]:
    """The attributes of `self` that functions in a method write, or put something into."""
    owner = owner_name(method)
    found: set[str] = set()
    for inner in statements_of(method.body):
        if isinstance(inner, FUNCTIONS) and owner not in parameter_names(inner.args):
            writes = writes_of(inner, owner)  # and of those in it
            found |= writes.assigned | writes.filled
    return frozenset(found)


def owner_name(method: FunctionNode) -> str | None:
    """The name of a method's first parameter; None if it has none."""
    return next((parameter.arg for parameter in (*method.args.posonlyargs, *method.args.args)), None)


class Writers(NamedTuple):
    """What the methods of a class do with one attribute of `self`."""

    assigning: list[FunctionNode]
    filling: list[FunctionNode]  # those that only put something into it
    changing: list[FunctionNode]  # those that write to it in place, if it is a tensor
    is_parameter: bool  # it is made one of a module, with which it moves
    is_buffer: bool  # it is made one, likewise


NO_WRITERS = Writers([], [], [], is_parameter=False, is_buffer=False)


def writers_of(module: Module, node: ast.ClassDef, name: str) -> Writers:
    """The writers of an attribute in the class; most are only read in most methods, which need not be parsed then.
    In the order of their names (see `qualified_name`)."""
    rows = module.text.rows_that_may_write(node, name)
    if not rows:
        return NO_WRITERS
    functions = _functions_at(module, node, rows)
    writes = [(each, module.derived(writes_of, each)) for each in functions]
    return Writers(
        [function for function, each in writes if name in each.assigned],
        [function for function, each in writes if name in each.filled],
        [function for function, each in writes if name in each.changed],
        any(name in each.parameters for _, each in writes),
        any(name in each.buffers for _, each in writes),
    )


def _functions_at(module: Module, node: ast.ClassDef, rows: list[int]) -> list[FunctionNode]:
    """Those in which one of some rows is, in the order of their names."""
    return sorted(spanning(module.derived(_functions_in_order, node), rows), key=lambda each: each.name)


def _functions_in_order(node: ast.ClassDef) -> list[FunctionNode]:
    return sorted(members_defined(node).functions, key=first_row)


def moves_itself(node: ast.ClassDef) -> bool:
    """True if the constructor moves `self`: `self.cuda()`, `self.to(device)`."""
    init = members_defined(node).methods.get("__init__")
    return init is not None and any(isinstance(each, ast.Call) and _is_move(each) for each in walk(init))


def moves_parts(node: ast.ClassDef) -> bool:
    """True if the constructor moves anything: `self.layer.cuda()`, `nn.Linear(2, 2).to(device)`."""
    init = members_defined(node).methods.get("__init__")
    calls = (each for each in walk(init) if isinstance(each, ast.Call)) if init is not None else ()
    return any(isinstance(each.func, ast.Attribute) and _moves(each.func.attr, each) for each in calls)


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


def constructor_called(statement: ast.Expr) -> tuple[str | None, bool] | None:
    """The class named in a statement that runs the constructor of another class of the object, and whether it is that
    of the class after it: `super(Base, self).__init__(...)`, `Base.__init__(self, ...)`; no name for `super()`."""
    call = statement.value
    function = call.func if isinstance(call, ast.Call) else None
    if not isinstance(call, ast.Call) or not isinstance(function, ast.Attribute) or function.attr != "__init__":
        return None
    if is_super(function.value):
        assert isinstance(function.value, ast.Call)
        return (last_name(function.value.args[0]) if function.value.args else None), True
    return (last_name(function.value), False) if call.args else None
