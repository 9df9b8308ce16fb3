"""From the body of a data class to its constructor's fields, and the values of fields that are not given."""

from __future__ import annotations

import ast

from tonumpy.inference.index.bindings import names_in
from tonumpy.inference.lattice.values import NOTHING, Arguments, Value
from tonumpy.inference.transfer.calls import call_value
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.members import resolve
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from tonumpy.inference.index.class_bodies import Members
    from tonumpy.inference.transfer.frame import Frame


def fields_taken(members: Members) -> list[str]:
    """Those that the body annotates, in its order."""
    fields = members.fields.items()
    return [
        name
        for name, field in fields
        if isinstance(field, ast.AnnAssign) and "ClassVar" not in names_in(field.annotation)
    ]


def default_of_field(frame: Frame, node: ast.expr) -> Value:
    """What a field holds that is not given: `= 0`, `= field(default_factory=list)`."""
    if isinstance(node, ast.Call) and last_name(node.func) == "field":
        given = {keyword.arg: keyword.value for keyword in node.keywords}
        if "default_factory" in given:
            return resolve(frame, call_value(frame, evaluate(frame, given["default_factory"]), Arguments(())))
        return resolve(frame, evaluate(frame, given["default"])) if "default" in given else NOTHING
    return resolve(frame, evaluate(frame, node))
