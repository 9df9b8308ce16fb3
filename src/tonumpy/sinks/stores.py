"""From what a library's object is given as an item, an attribute or an operand to the conversions that it makes.

`table["x"] = t`, `file["a"][...] = t`, `atoms.positions = t`, `t * units.m`: what a library's objects do then is in its
table, as `__setitem__`, `positions=`, `__mul__` and `__rmul__`. A column of pandas takes a tensor, and raises where
NumPy does, which was measured by hand with pandas 2.3, 3.0 and 3.1: what a number or a slice stands for differs.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import root_name
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import evidence_in, members
from tonumpy.engine.values.values import OtherFramework, Symbol, Tensor, is_text
from tonumpy.sinks.arguments import as_refused, facts_of, made_by, made_of, spelt
from tonumpy.sinks.consumers import EVERY, consumer_of, methods_of
from tonumpy.sinks.mixtures import takes_array
from tonumpy.sinks.shapes import may_be_a_tensor, roots_of
from tonumpy.sinks.sink_calls import imported
from tonumpy.text import candidates

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Items

    from tonumpy.conversions import ImplicitConversion
    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.summaries.driver import Observations
    from tonumpy.engine.values.values import Value
    from tonumpy.sinks.consumers import Refusal
    from tonumpy.sinks.possible_tensors import PossibleTensors
    from tonumpy.text.candidates import OperationSite
    from tonumpy.text.source import Source

# Those whose tables hold such rows; other files are not looked at.
LIBRARIES = (
    *("h5py", "pandas", "netCDF4", "netcdf_file", "zarr", "xarray", "pyvista", "laspy"),
    *("filterpy", "MDAnalysis", "astropy", "cupy", "cvxpy", "from ase", "import ase"),
)
_INDEXERS = frozenset(("pandas.loc", "pandas.iloc", "pandas.at", "pandas.iat"))
_STORE = re.compile(r"\][ \t]*=(?!=)")
_OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.MatMult: "matmul",
    ast.Pow: "pow",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.LShift: "lshift",
}


class _Put(NamedTuple):
    """What may be a tensor in an operation, its value, and what the object refuses there."""

    node: ast.expr
    value: Value
    refusal: Refusal


def find_stores(source: Source, risks: PossibleTensors) -> list[OperationSite]:
    """The operations that may give a tensor to such an object, if a risk reaches it or every one is refused."""
    if not any(library in source.text for library in LIBRARIES):
        return []
    names = imported(source)
    methods = {method for root in roots_of(names) for method in methods_of(root)}
    things = _things(source, set(names)) if any(f"__{each}__" in methods for each in _OPERATORS.values()) else set()
    rows = _rows(source, methods, things)
    sites = candidates.find_operations(source, rows, (ast.Subscript, ast.Attribute, ast.BinOp), _is_asked)
    return [site for site in sites if any(_may_be_at_risk(node, site, risks) for node in _given(site, things))]


def _rows(source: Source, methods: set[str], things: set[str]) -> list[int]:
    """Where something is put under a key or into one of their attributes, or an operator stands beside a thing."""
    attributes = [re.escape(method[:-1]) for method in methods if method.endswith("=")]
    places = [match.start() for match in _STORE.finditer(source.text)]
    if attributes:
        places += [match.start() for match in re.finditer(rf"\.(?:{'|'.join(attributes)})[ \t]*=(?!=)", source.text)]
    if things:
        thing = "|".join(map(re.escape, things))
        operator = r"(?:[-+*/%@]|<<)"
        spelt_so = rf"{operator}[ \t]*(?:{thing})\b|\b(?:{thing})\b[\w.]*(?:\([^()\n]*\))?[ \t]*{operator}"
        places += [match.start() for match in re.finditer(spelt_so, source.text)]
    return sorted({source.position_at(place).row for place in places})


def _may_be_at_risk(node: ast.expr, site: OperationSite, risks: PossibleTensors) -> bool:
    return may_be_a_tensor(node, {}) and risks.reaches(node, site.scopes, at_risk=False)


def _things(source: Source, names: set[str]) -> set[str]:
    """What a module imports of libraries, and the names of what that makes."""
    made = "|".join(map(re.escape, names))
    return names | {match[1] for match in re.finditer(rf"(\w+)[ \t]*=[ \t]*(?:{made})\b", source.text)}


def _is_asked(node: ast.Subscript | ast.Attribute | ast.BinOp) -> bool:
    return isinstance(node, ast.BinOp) or isinstance(node.ctx, ast.Store)


def _given(site: OperationSite, things: set[str]) -> Iterator[ast.expr]:
    """What may be a tensor: what is assigned, or what stands beside a thing of a library."""
    node, statement = site.node, site.statement
    if isinstance(node, ast.BinOp):
        for thing, other in ((node.left, node.right), (node.right, node.left)):
            if root_name(thing) in things and type(node.op) in _OPERATORS:
                yield other
    elif isinstance(statement, ast.Assign) and statement.targets == [node]:
        yield statement.value


def infer_stores(module: Module, sites: Items[OperationSite]) -> list[ImplicitConversion]:
    """The conversions that are at risk, if only without habits, in the order of the sites."""
    observed = observe(module, sites)
    judged = (_judged(site, observed) for site in sites)
    return [each for each in judged if each is not None]


def _judged(site: OperationSite, observed: Observations) -> ImplicitConversion | None:
    seen = observed.get(id(site.node))
    if seen is None:
        return None
    for put in _put(site, seen):
        facts = as_refused(facts_of(put.value), put.refusal)
        if facts is None or (put.refusal is EVERY and _is_number(put.value)):
            continue  # as a column pandas keeps a tensor without dimensions, wherever it is (TNP206)
        function = spelt(site.node) if isinstance(site.node, ast.BinOp) else f"{spelt(site.node)} = ..."
        found = made_of(site, function, put.node, facts, seen, evidence_in(put.value))
        found = found._replace(keeps_value=facts.is_sole and put.refusal.keeps_value and not put.refusal.error)
        found = found._replace(never=put.refusal.error, later=put.refusal.later, errors=put.refusal.errors)
        found = found._replace(words=put.refusal.words, takes_arrays=put.refusal.takes_arrays)
        if found.never or found.risks or found.without_habits().risks:
            return found
    return None


def _is_number(value: Value) -> bool:
    return any(isinstance(each, Tensor) and each.is_number for each in members(value))


def _put(site: OperationSite, seen: Observation) -> Iterator[_Put]:
    node, statement, given = site.node, site.statement, seen.arguments.positional
    if isinstance(node, ast.BinOp):
        name = _OPERATORS.get(type(node.op), "")
        for thing, part, value, method in (
            (seen.receiver, node.right, given[0], f"__{name}__"),
            (given[0], node.left, seen.receiver, f"__r{name}__"),
        ):
            refusal = _refusal_at(thing, method, 0)
            if refusal is not None:
                yield _Put(part, value, refusal)
    elif isinstance(statement, ast.Assign) and statement.targets == [node]:
        if isinstance(node, ast.Attribute) and len(given) == 1:
            refusal = _refusal_at(seen.receiver, f"{node.attr}=", 0)
        else:
            refusal = _refusal_under(seen.receiver, given[0]) if len(given) == 2 else None
        if refusal is not None:
            yield _Put(statement.value, given[-1], refusal)


def _refusal_at(thing: Value, method: str, position: int) -> Refusal | None:
    """What an object refuses at a place of one of its methods."""
    for each in members(thing):
        name = each.name if isinstance(each, Symbol) else made_by(each)
        name = f"{each.root}." if isinstance(each, OtherFramework) else name
        consumer = consumer_of(name, method) if name else None
        for parameter in () if consumer is None else consumer.parameters:
            if parameter.position == position and "tensor" in parameter.takes:
                return parameter.takes["tensor"]
    return None


def _refusal_under(receiver: Value, key: Value) -> Refusal | None:
    """What an object refuses that is put into it under a key."""
    for name in filter(None, map(made_by, members(receiver))):
        if name.partition(".")[0] == "pandas" and name not in _INDEXERS:
            return EVERY if is_text(key) else None
        if name.startswith("scipy.") and not takes_array(0, key):
            return None  # a variable of netCDF is an array of NumPy there
    return _refusal_at(receiver, "__setitem__", 1)
