"""From a source to what is read on the host before it has arrived there, as implicit conversions."""

from __future__ import annotations

import ast
from itertools import chain
from typing import TYPE_CHECKING

from tonumpy.conversions import Copied, ImplicitConversion
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.names.bindings import root_name
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.evidence import PROVED
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import DeviceTaint, Instance, LibraryObject, Mapping, Sequence, Tensor, Unknown
from tonumpy.sinks.unfinished.arrivals import Walk
from tonumpy.sinks.unfinished.async_copies import Spellings
from tonumpy.sinks.unfinished.between_functions import read_by_name, read_elsewhere
from tonumpy.sinks.unfinished.between_methods import between_methods
from tonumpy.sinks.unfinished.homes import home_of
from tonumpy.text.candidates import find_calls
from tonumpy.text.recursion import note_cut

if TYPE_CHECKING:
    from collections.abc import Collection
    from collections.abc import Mapping as Dict
    from collections.abc import Sequence as Items
    from typing import Literal

    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.summaries.driver import Observations
    from tonumpy.engine.values.values import Value
    from tonumpy.sinks.unfinished.arrival_state import Copies, Copy, Read
    from tonumpy.sinks.unfinished.homes import Home
    from tonumpy.text.candidates import Scope

    Where = Literal["device", "host", "unknown", "no tensor"]


def infer_unfinished(module: Module) -> list[ImplicitConversion]:
    """What is read too early, in the order of the text."""
    source, home = module.source, home_of(module)
    _note_hosts(module, home)
    reads = _reads_in(home) if home.may_copy else []
    if not reads:
        return []
    calls = {id(call): call for each in reads for call in _calls_in_sight(each.copy)}
    rows = sorted({call.lineno for call in calls.values()})
    observed = observe(module, find_calls(source, rows, lambda call: id(call) in calls))
    found = []
    for read in reads:
        where = _where_copied(read.copy, observed)
        if where in ("device", "unknown"):
            found.append(_conversion(read, is_sure=where == "device" and not read.is_doubtful))
    return sorted(found, key=_places)


def _note_hosts(module: Module, home: Home) -> None:
    """Which tensors, by whose place others are copied, are on the CPU."""
    if not home.asking_like:
        return
    calls = {id(call): call for call in home.asking_like}
    rows = sorted({call.lineno for call in calls.values()})
    observed = observe(module, find_calls(module.source, rows, lambda call: id(call) in calls))
    for key, seen in observed.items():
        given = (*seen.arguments.positional[:1], *(value for name, value in seen.arguments.named if name == "other"))
        if given and all(isinstance(each, Tensor) and each.on_cpu is True for each in members(given[0])):
            home.spellings.on_host.update(map(id, [*calls[key].args[:1], *_other(calls[key])]))


def _other(call: ast.Call) -> list[ast.expr]:
    return [each.value for each in call.keywords if each.arg == "other"]


def _places(found: ImplicitConversion) -> tuple[int, int, int, int]:
    """Of the read and of the copy: one read may be of several."""
    assert found.copied is not None
    read, copy = found.argument, found.copied.call
    return read.lineno, read.col_offset, copy.lineno, copy.col_offset


def _conversion(read: Read, *, is_sure: bool) -> ImplicitConversion:
    copy = read.copy
    copied = Copied(
        *(copy.call, is_sure, read.others, copy.filename, _serves_others(copy)),
        is_read_by_method=read.is_by_method,
    )
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


def _serves_others(copy: Copy) -> bool:
    """Whether the function around is told the device: `.to(device, non_blocking=True)` moves to a GPU as well."""
    return Spellings.may_copy(copy.call, copy.scopes)


def _spelt(call: ast.Call) -> str:
    """`.to("cpu", non_blocking=True)`, without what it is called on."""
    assert isinstance(call.func, ast.Attribute)
    try:
        whole = ast.unparse(ast.Call(ast.Name("_"), call.args, call.keywords))
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return f".{call.func.attr}(...)"
    return f".{call.func.attr}{whole[1:]}".replace("'", '"')


def _reads_in(home: Home) -> list[Read]:
    found: dict[tuple[int, int], Read] = {}
    left: dict[ast.AST, dict[str, Copies]] = {}
    made: dict[ast.AST, dict[ast.Call, dict[str, Copies]]] = {}
    handed: set[ast.AST] = set()
    for scopes in sorted(home.roots, key=len, reverse=True):  # inner functions first
        walk_of = _walked(home, scopes, {}, left)
        if walk_of is not None:
            _note(walk_of.reads, found)
            left[scopes[-1]] = walk_of.kept_outside()
            made[scopes[-1]] = walk_of.kept_by_records()
            handed |= walk_of.handed
    elsewhere = (between_methods(home, left), read_elsewhere(home, left, made, handed), read_by_name(home, left))
    for method, held in chain.from_iterable(elsewhere):
        walk_of = _walked(home, method.scopes, held, left)
        if walk_of is not None:
            _note({key: read for key, read in walk_of.reads.items() if read.is_doubtful}, found)
    return list(found.values())


def _walked(
    home: Home, scopes: tuple[Scope, ...], held: Dict[str, Copies], left: Dict[ast.AST, Dict[str, Copies]]
) -> Walk | None:
    walk_of = Walk(home, left)
    names = {root_name(node) for site, node in home.copied if site.scopes[-1] is scopes[-1]}
    try:
        walk_of.run(scopes, frozenset(filter(None, names)), held)
    except RecursionError:  # a chain of hundreds of calls
        note_cut()
        return None
    return walk_of


def _note(reads: Dict[tuple[int, int], Read], found: dict[tuple[int, int], Read]) -> None:
    for key, read in reads.items():
        if key not in found or (found[key].is_doubtful and not read.is_doubtful):
            found[key] = read


def _where_copied(copy: Copy, observed: Observations) -> Where:
    """Where what is copied stands, by what the copy is called on or, through a helper, by what that is given."""
    found: list[Where] = []
    for call in _calls_in_sight(copy):
        seen = observed.get(id(call))
        if seen is not None:
            values = _copied_by(call, seen) if call is copy.call else _given_to(seen)
            found += [_where(value) for value in values]
    return "no tensor" if "no tensor" in found[:1] else _riskiest(found, "unknown")


def _calls_in_sight(copy: Copy) -> tuple[ast.Call, ...]:
    """The copy's, if it is in the file at hand, and the one of the outermost helper."""
    return (*(() if copy.filename else (copy.call,)), *copy.through[:1])


def _copied_by(call: ast.Call, seen: Observation) -> Items[Value]:
    """What a call copies: what stands behind the destination, or the receiver."""
    assert isinstance(call.func, ast.Attribute)
    position = {"copy_": 0, "_foreach_copy_": 1, "to": None, "type": None}.get(call.func.attr, 0)
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
