"""From a module to what is read on the host before an asynchronous copy has arrived there, as implicit conversions.

Copy and read stand in one function; or the copy in a function of the module that returns it without waiting for it.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.conversions import Copied, ImplicitConversion
from tonumpy.detectors.unfinished_calls import Program, sites_of_copies, values_given
from tonumpy.detectors.unfinished_walk import Walk
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import DeviceTaint, Instance, LibraryObject, Tensor, Unknown
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import last_name
from tonumpy.text.syntax import FUNCTIONS, walk

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal

    from tonumpy.detectors.unfinished_calls import Copy, Read
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.summaries.driver import Observations
    from tonumpy.engine.values.values import Value

    _Where = Literal["device", "unknown", "host", "no tensor"]


def infer_unfinished(module: Module) -> list[ImplicitConversion]:
    """What is read too early."""
    source, sites = module.source, sites_of_copies(module.source)
    observed = observe(module, sites)
    program = Program(source, sites, observed)
    helpers = {
        (scopes[-2], scopes[-1].name): walked.returned
        for scopes in program.copying.values()
        if isinstance(scopes[-1], FUNCTIONS) and not _is_told_by_flags(scopes[-1])
        if (walked := Walk(program, scopes, {}).run()).returned
    }
    names = {name for _, name in helpers}
    rows = sorted({row for name in names for row in source.rows_with_name(name)})
    callers = find_calls(source, rows, lambda call: any(last_name(each) in names for each in (call.func, *call.args)))
    reads: list[Read] = []
    for scopes in {**program.copying, **{each.scopes[-1]: each.scopes for each in callers}}.values():
        reads += Walk(program, scopes, helpers).run().reads.values()
    observed.update(observe(module, callers) if any(each.copy.through for each in reads) else {})
    found = []
    for read in reads:
        where = _where_copied(read.copy, program, observed)
        if where in ("device", "unknown"):
            found.append(_conversion(read, is_sure=where == "device" and not read.is_doubtful))
    return found


def _is_told_by_flags(function: ast.AST) -> bool:
    """True if a test is of anything but what a value is: `if isinstance(x, dict):`, `if x is None:`, `if x.is_cuda:`.
    Whether the function waits may be what its callers choose then: `if wait:`."""
    tests = (each.test for each in walk(function) if isinstance(each, (ast.If, ast.IfExp)))
    return not all(map(_is_of_kind, tests))


def _is_of_kind(test: ast.expr) -> bool:
    match test.operand if isinstance(test, ast.UnaryOp) else test:
        case ast.Attribute(ast.Name("self")):
            return False
        case ast.Call() | ast.Attribute() | ast.Compare(ops=[ast.Is() | ast.IsNot()]):
            return True
    return False


def _where_copied(copy: Copy, program: Program, observed: Observations) -> _Where:
    """Where what is copied stands, by what is copied and, where a function does it, by what that is given."""
    seen, given = observed.get(id(copy.call)), observed.get(id(copy.through))
    found: list[_Where] = []
    if seen is not None:
        source = program.copies[id(copy.call)].source
        found.append(_where(values_given(copy.call, seen).get(id(source), seen.receiver)))
    if given is not None and "no tensor" not in found:
        by_caller = _riskiest(map(_where, given.arguments.values()))
        found = [by_caller] if by_caller in ("device", "host") else found
    return _riskiest(found)


def _riskiest(found: Iterable[_Where]) -> _Where:
    order: tuple[_Where, ...] = ("device", "unknown", "host", "no tensor")
    return min(found, key=order.index, default="unknown")


def _where(value: Value) -> _Where:
    found: list[_Where] = []
    for each in members(value):
        if isinstance(each, (LibraryObject, Instance)):
            found.append("no tensor")  # a module is moved without such a risk
        elif isinstance(each, (Tensor, Unknown)):
            is_there = each.on_cpu is False or each.device_taint >= DeviceTaint.CHOSEN
            found.append("device" if is_there else "host" if each.on_cpu else "unknown")
    return _riskiest(found)


def _conversion(read: Read, *, is_sure: bool) -> ImplicitConversion:
    return ImplicitConversion(
        read.site,
        _spelt(read.copy.call),
        read.node,
        Chain(()),
        "tensor" if is_sure else "likely",
        on_cpu=False,
        requires_grad=False,
        copied=Copied(read.copy.call, is_sure, read.others, read.is_by_method),
    )


def _spelt(call: ast.Call) -> str:
    """`.to("cpu", non_blocking=True)`, without what it is called on."""
    assert isinstance(call.func, ast.Attribute)
    whole = ast.unparse(ast.Call(ast.Name(call.func.attr), call.args, call.keywords))
    return f".{whole}".replace("'", '"')
