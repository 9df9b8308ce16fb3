"""Lowers statements to stores: what each form of Python's syntax gives a value to, and from what.

The statements inside a statement are not counted, nor is what its expressions store: `(x := v)`. New syntax is added
here, in `_FORMS`. What runs code (the interpreter and detectors/forward_walk.py) needs it in its order, and goes along
the tree.
`how` a target gets its value:

| how | forms | value |
|---|---|---|
| whole | `x = v`, `x: T = v`, `a, b = v, w` (each its own), `type X = v`, `setattr(a, "x", v)` | `v` |
| part | `a, b = v`, `*rest` | what it is a part of |
| item | `for x in v` | what is gone through |
| augmented | `x += v` | `v` |
| entered | `with v as x` | the context |
| matched | `case x` | the subject |
| caught | `except v as x`, `except* v as x` | the class |
| declared | `x: T` | None |
| deleted | `del x` | None |
| imported | `import x`, `from m import x` | None |
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import imports_of, read_name, registered, root_name, set_by_call
from tonumpy.text.syntax import TRIES, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

    How = Literal[
        "whole", "part", "item", "augmented", "entered", "matched", "caught", "declared", "deleted", "imported"
    ]
    _Given = tuple[ast.expr, ast.expr | None, How]


class Store(NamedTuple):
    """A name, an attribute or an item that gets a value.

    `root` is the variable (or attribute of `self`) that gets it, or whose object does; empty where it has no name.
    """

    target: ast.expr
    value: ast.expr | None
    how: How
    root: str
    rebinds: bool  # the variable itself gets it, and not its object


def stores_of(statement: ast.stmt) -> list[Store]:
    """Return those that the form of the statement makes, without those inside its expressions: `(x := v)`."""
    found: list[Store] = []
    form = _FORMS.get(type(statement))
    for target, value, how in form(statement) if form is not None else ():
        _store(target, value, how, found)
    return found


def stored_in(body: list[ast.stmt], name: str) -> list[ast.expr | None]:
    """Return what the statements of a scope give a name; None for what no expression there gives."""
    stores = (store for statement in statements_of(body) for store in stores_of(statement))
    return [store.value for store in stores if isinstance(store.target, ast.Name) and store.target.id == name]


def stored_in_attributes(tree: ast.AST, name: str) -> list[ast.expr | None]:
    """Return what assignments anywhere in a tree give attributes of a name, whosever they are."""
    assignments = (node for node in walk(tree) if isinstance(node, (ast.Assign, ast.AnnAssign)))
    stores = (store for node in assignments for store in stores_of(node))
    return [store.value for store in stores if isinstance(store.target, ast.Attribute) and store.target.attr == name]


def _store(target: ast.expr, value: ast.expr | None, how: How, found: list[Store]) -> None:
    if isinstance(target, (ast.Tuple, ast.List)):
        parts = _parts(value, len(target.elts)) if how == "whole" else None
        for place, part in enumerate(target.elts):
            if parts is None:
                _store(part, value, "part" if how == "whole" else how, found)
            else:
                _store(part, parts[place], how, found)
    elif isinstance(target, ast.Starred):
        _store(target.value, value, "part" if how == "whole" else how, found)
    else:
        name = read_name(target)
        found.append(Store(target, value, how, name or root_name(target) or "", name is not None))


def _parts(value: ast.expr | None, number: int) -> list[ast.expr] | None:
    """The values that are spelt one by one, as many as there are targets."""
    if not isinstance(value, (ast.Tuple, ast.List)) or len(value.elts) != number:
        return None
    return None if any(isinstance(each, ast.Starred) for each in value.elts) else value.elts


def _named(name: str, at: ast.AST) -> ast.expr:
    """Where the syntax has a name for what it binds, and no node."""
    return ast.copy_location(ast.Name(name, ast.Store()), at)


def _called(statement: ast.Expr) -> list[_Given]:
    """`self.register_buffer("mean", x)` and `setattr(self, "mean", x)`."""
    call = statement.value
    member = (registered(call) or set_by_call(call)) if isinstance(call, ast.Call) else None
    return [] if member is None else [(*member, "whole")]


def _captured(statement: ast.Match) -> list[_Given]:
    nodes = (node for case in statement.cases for node in walk(case.pattern))
    names = ((getattr(node, field, None), node) for node in nodes for field in ("name", "rest"))
    return [(_named(name, node), statement.subject, "matched") for name, node in names if name]


# By the class of a statement: the targets, values and hows. Each takes the class that it stands for, which a dict's
# type cannot say.
_FORMS: dict[type[ast.stmt], Callable[[Any], list[_Given]]] = {
    ast.Assign: lambda each: [(target, each.value, "whole") for target in each.targets],
    ast.AnnAssign: lambda each: [(each.target, each.value, "declared" if each.value is None else "whole")],
    ast.AugAssign: lambda each: [(each.target, each.value, "augmented")],
    ast.Expr: _called,
    **dict.fromkeys((ast.For, ast.AsyncFor), lambda each: [(each.target, each.iter, "item")]),
    **dict.fromkeys(
        (ast.With, ast.AsyncWith),
        lambda each: [(item.optional_vars, item.context_expr, "entered") for item in each.items if item.optional_vars],
    ),
    ast.Delete: lambda each: [(target, None, "deleted") for target in each.targets],
    ast.Match: _captured,
    **dict.fromkeys(
        TRIES, lambda each: [(_named(part.name, part), part.type, "caught") for part in each.handlers if part.name]
    ),
    **dict.fromkeys(
        (ast.Import, ast.ImportFrom),
        lambda each: [(_named(name, each), None, "imported") for name, _ in imports_of(each)],
    ),
}
if hasattr(ast, "TypeAlias"):
    _FORMS[ast.TypeAlias] = lambda each: [(each.name, each.value, "whole")]
