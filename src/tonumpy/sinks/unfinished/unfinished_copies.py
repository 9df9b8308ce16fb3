"""From a source to what is read on the host before it has arrived there, as implicit conversions."""

from __future__ import annotations

import ast
import re

from tonumpy.conversions import Copied, ImplicitConversion
from tonumpy.inference.index.bindings import imports_among, root_name
from tonumpy.inference.knowledge.chains import Chain
from tonumpy.inference.lattice.evidence import PROVED
from tonumpy.inference.lattice.values import (
    DeviceTaint,
    Instance,
    LibraryObject,
    Mapping,
    Sequence,
    Tensor,
    Unknown,
    members,
)
from tonumpy.inference.summaries.budget import MAX_STATEMENTS_OF_SINKS
from tonumpy.inference.summaries.driver import observe
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.unfinished.arrival_state import Helper, Helpers, Imports
from tonumpy.sinks.unfinished.arrivals import Walk
from tonumpy.sinks.unfinished.async_copies import Spellings
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import last_name
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.recursion import note_cut
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from collections.abc import Sequence as Items
    from typing import Literal

    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.values import Value
    from tonumpy.inference.summaries.driver import Observations
    from tonumpy.inference.transfer.targets import Observation
    from tonumpy.sinks.unfinished.arrival_state import Copy, Read
    from tonumpy.text.candidates import Scope, Site
    from tonumpy.text.source import Source

    Where = Literal["device", "host", "unknown", "no tensor"]

_COPYING = frozenset("to type copy_ _foreach_copy_".split())
MAX_LEVELS = 3  # of functions that call those that copy


def infer_unfinished(module: Module) -> list[ImplicitConversion]:
    """What is read too early, in the order of the text."""
    source = module.source
    reads = _reads_in(source)
    if not reads:
        return []
    wanted = {id(call) for each in reads for call in (each.copy.call, *each.copy.through[:1])}
    rows = sorted({call.lineno for each in reads for call in (each.copy.call, *each.copy.through[:1])})
    observed = observe(module, find_calls(source, rows, lambda call: id(call) in wanted), MAX_STATEMENTS_OF_SINKS)
    found = []
    for read in reads:
        where = _where_copied(read.copy, observed)
        if where in ("device", "unknown"):
            found.append(_conversion(read, is_sure=where == "device" and not read.is_doubtful))
    return sorted(found, key=_places)


def _places(found: ImplicitConversion) -> tuple[int, int, int, int]:
    """Of the read and of the copy: one read may be of several."""
    assert found.copied is not None
    read, copy = found.argument, found.copied.call
    return read.lineno, read.col_offset, copy.lineno, copy.col_offset


def _conversion(read: Read, *, is_sure: bool) -> ImplicitConversion:
    copied = Copied(read.copy.call, is_sure, bool(read.copy.through), read.others)
    return ImplicitConversion(
        read.site,
        _spelt(read.copy.call),
        read.node,
        Chain(()),
        "tensor" if is_sure else "likely",
        on_cpu=False,
        is_sent=False,
        requires_grad=False,
        grad_mode=None,
        dtype=None,
        layout=None,
        bit=None,
        of_items=None,
        keeps_value=True,
        evidence=PROVED,
        copied=copied,
    )


def _spelt(call: ast.Call) -> str:
    """`.to("cpu", non_blocking=True)`, without what it is called on."""
    assert isinstance(call.func, ast.Attribute)
    try:
        whole = ast.unparse(ast.Call(ast.Name("_"), call.args, call.keywords))
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return f".{call.func.attr}(...)"
    return f".{call.func.attr}{whole[1:]}".replace("'", '"')


def _reads_in(source: Source) -> list[Read]:
    spellings = Spellings(source)
    copied = _copied(source, spellings)
    if not copied:
        return []
    functions = _functions(source)
    makers, roots = _makers((site for site, _ in copied), functions, source)
    imports = _imports(source)
    helpers = Helpers(functions, makers, source)
    found: dict[tuple[int, int], Read] = {}
    for scopes in roots:
        walk_of = Walk(spellings, helpers, imports)
        names = {root_name(node) for site, node in copied if site.scopes[-1] is scopes[-1]}
        try:
            walk_of.run(scopes, frozenset(filter(None, names)))
        except RecursionError:  # a chain of hundreds of calls
            note_cut()
            continue
        for key, read in walk_of.reads.items():
            if key not in found or (found[key].is_doubtful and not read.is_doubtful):
                found[key] = read
    return list(found.values())


def _copied(source: Source, spellings: Spellings) -> list[tuple[Site, ast.expr]]:
    """The calls that copy, each with what it copies."""
    words = re.finditer(r"non_blocking|, True\b", source.text)
    rows = sorted({source.position_at(match.start()).row for match in words})
    sites = {id(each.call): each for each in find_calls(source, rows, lambda call: last_name(call.func) in _COPYING)}
    found = ((each, spellings.source_of(each.call, each.scopes)) for each in sites.values())
    return [(site, node) for site, node in found if node is not None]


def _imports(source: Source) -> Imports:
    roots = {
        name: each.module.partition(".")[0]
        for name, each in imports_among(statements_of(source.tree.body))
        if not each.level
    }
    arrays = frozenset(name for name, root in roots.items() if root in CONSUMERS)
    return Imports(arrays, frozenset(name for name, root in roots.items() if root == "torch"))


def _functions(source: Source) -> dict[tuple[str, str], Helper]:
    """By the name of the class, if it is a method, and its own; the last of a name counts."""
    found: dict[tuple[str, str], Helper] = {}
    waiting: list[tuple[list[ast.stmt], tuple[Scope, ...]]] = [(source.tree.body, (source.tree,))]
    while waiting:
        body, scopes = waiting.pop(0)
        for statement in statements_of(body):
            if isinstance(statement, FUNCTIONS):
                cls = scopes[-1].name if isinstance(scopes[-1], ast.ClassDef) else ""
                found[cls, statement.name] = Helper(statement, (*scopes, statement))
            if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                waiting.append((statement.body, (*scopes, statement)))
    return found


def _makers(
    copies: Iterable[Site], functions: dict[tuple[str, str], Helper], source: Source
) -> tuple[frozenset[ast.AST], list[tuple[Scope, ...]]]:
    """The functions that copy, or call one that does; and all scopes that are to be walked: these, and the module."""
    scopes_of: dict[ast.AST, tuple[Scope, ...]] = {each.scopes[-1]: each.scopes for each in copies}
    known: set[ast.AST] = set(scopes_of)
    for _ in range(MAX_LEVELS):
        names = {each.name for each in known if isinstance(each, FUNCTIONS)}
        if not names:
            break
        pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
        more: dict[ast.AST, tuple[Scope, ...]] = {
            each.node: each.scopes
            for each in functions.values()
            if each.node not in known and pattern.search(source.text_of(each.node))
        }
        if not more:
            break
        scopes_of |= more
        known |= more.keys()
    scopes_of.setdefault(source.tree, (source.tree,))
    return frozenset(known), list(scopes_of.values())


def _where_copied(copy: Copy, observed: Observations) -> Where:
    """Where what is copied stands, by what the copy is called on or, through a helper, by what that is given."""
    found: list[Where] = []
    for call in (copy.call, *copy.through[:1]):
        seen = observed.get(id(call))
        if seen is not None:
            values = _copied_by(call, seen) if call is copy.call else _given_to(seen)
            found += [_where(value) for value in values]
    return "no tensor" if "no tensor" in found[:1] else _riskiest(found, "unknown")


def _copied_by(call: ast.Call, seen: Observation) -> Items[Value]:
    """What a call copies: what stands behind the destination, or the receiver."""
    assert isinstance(call.func, ast.Attribute)
    position = {"copy_": 0, "_foreach_copy_": 1}.get(call.func.attr)
    return (seen.receiver,) if position is None else seen.arguments.positional[position : position + 1]


def _given_to(seen: Observation) -> Items[Value]:
    return (*seen.arguments.positional, *(value for _, value in seen.arguments.named))


def _riskiest(found: Collection[Where], otherwise: Where) -> Where:
    order: tuple[Where, ...] = ("device", "unknown", "host")
    return next((each for each in order if each in found), otherwise)


def _where(value: Value) -> Where:
    found: set[Where] = set()
    for each in members(value):
        if isinstance(each, Sequence):
            found.add(_where(each.element))
        elif isinstance(each, Mapping):
            found.update(map(_where, each.values()))
        elif isinstance(each, (LibraryObject, Instance)):
            found.add("no tensor")  # a module is moved without such a risk
        elif isinstance(each, (Tensor, Unknown)):
            is_there = each.on_cpu is False or each.device_taint >= DeviceTaint.CHOSEN
            found.add("device" if is_there else "host" if each.on_cpu else "unknown")
    return _riskiest(found, "no tensor" if found else "unknown")
