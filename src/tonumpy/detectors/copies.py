"""From a module to what is read on the host before an asynchronous copy has arrived there (TNP204).

torch pins what `x.to("cpu", non_blocking=True)` is written to. Where the destination is given, and is pageable memory,
the copy waits all the same.
"""

from __future__ import annotations

import ast
from collections.abc import Collection

from tonumpy.conversions import Copied, ImplicitConversion
from tonumpy.detectors.aliases import Read, Sought
from tonumpy.detectors.flow import run_over
from tonumpy.detectors.memory import Sharing
from tonumpy.engine.interpreter.frame import Observation
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.names.bindings import arguments_of, full_names, is_false, parameters_of, read_name, root_name
from tonumpy.engine.names.module import Module
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.value_facts import members, truth_of
from tonumpy.engine.values.values import Constant, Device, DeviceTaint, Instance, LibraryObject, Tensor, Unknown, Value
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import is_cpu_literal, is_dtype, last_name
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.source import Source
from tonumpy.text.syntax import walk


def infer_unfinished(module: Module) -> list[ImplicitConversion]:
    """Return what is read too early, as implicit conversions."""
    source = module.source
    rows = {row for word in ("non_blocking", ", True") for row in source.rows_with(word)}
    sites = find_calls(source, sorted(rows), lambda call: last_name(call.func) in ("to", "copy_"))
    observed, pinned = observe(module, sites), _pinned_in(source)
    copies, places = dict[ast.Call, ast.expr](), dict[ast.Call, str]()
    for site in sites:
        seen = observed.get(id(site.call))
        copied = _copied_by(site, seen, pinned)
        if copied is not None:
            copies[site.call], places[site.call] = copied, _where(_value_of(copied, site.call, seen))
    if not copies:
        return []
    roots = {name: full.partition(".")[0] for name, full in full_names(source.tree.body).items()}
    readers = {name for name, root in roots.items() if root == "torch" or root in CONSUMERS}
    on_device = {name for name in map(root_name, copies.values()) if name is not None}
    sought = Sought({}, copies, on_device, readers, Sharing({}, {}), {})
    run_over(source, [site.scopes for site in sites if site.call in copies], sought)
    return [
        _conversion(read, is_sure=places[read.copy] == "device")
        for read in sought.reads.values()
        if places[read.copy] in ("device", "unknown")
    ]


def _conversion(read: Read, *, is_sure: bool) -> ImplicitConversion:
    call = read.copy
    assert isinstance(call.func, ast.Attribute)
    whole = ast.unparse(ast.Call(ast.Name(call.func.attr), call.args, call.keywords))
    return ImplicitConversion(
        read.site,
        f".{whole}".replace("'", '"'),  # `.to("cpu", non_blocking=True)`, without what it is called on
        read.node,
        Chain(()),
        "tensor" if is_sure else "likely",
        on_cpu=False,
        requires_grad=False,
        copied=Copied(call, is_sure, read.others, read.is_by_method),
    )


def _copied_by(site: Site, seen: Observation | None, pinned: Collection[str]) -> ast.expr | None:
    """Return what a call copies towards the host without waiting; None if it does not."""
    call, named = site.call, {each.arg: each.value for each in site.call.keywords}
    assert isinstance(call.func, ast.Attribute)
    behind = call.args[2:] or ([] if call.args[1:] and is_dtype(call.args[1]) else call.args[1:])
    asked = named.get("non_blocking") or next(iter(behind), None)
    to = named.get("device") or named.get("other") or next(iter(call.args), None)
    parameters = parameters_of(site.scopes[-1])  # what these say, the callers choose
    if asked is None or to is None or read_name(asked) in parameters:
        return None
    if not all(truth_of(each) is True for each in members(_value_of(asked, call, seen))):
        return None
    if call.func.attr == "copy_":
        memory = call.func.value.value if isinstance(call.func.value, ast.Subscript) else call.func.value
        return to if read_name(memory) in pinned or _pins(memory) else None
    is_told = read_name(to) not in parameters and not is_dtype(to)
    return call.func.value if is_told and all(map(_is_host, members(_value_of(to, call, seen)))) else None


def _value_of(node: ast.expr, call: ast.Call, seen: Observation | None) -> Value:
    """Return the value of the receiver or of an argument; what is written there, in code that the engine does not
    reach."""
    if seen is not None and not seen.arguments.has_star:
        if isinstance(call.func, ast.Attribute) and node is call.func.value:
            return seen.receiver
        named = {name: value for name, value in seen.arguments.named if name}
        values = [*seen.arguments.positional, *(named.get(each.arg or "") for each in call.keywords)]
        found = next((value for each, value in zip(arguments_of(call), values, strict=False) if each is node), None)
        if found is not None:
            return found
    return Device(is_cpu=True) if is_cpu_literal(node) else Constant(getattr(node, "value", None))


def _is_host(value: Value) -> bool:
    if isinstance(value, Constant):
        return isinstance(value.value, str) and value.value.partition(":")[0] == "cpu"
    return (isinstance(value, Device) and value.is_cpu is True) or (isinstance(value, Tensor) and value.on_cpu is True)


def _where(value: Value) -> str:
    """Return where what is copied stands: "device", "host", "no tensor" or "unknown"."""
    found = set()
    for each in members(value):
        if isinstance(each, (LibraryObject, Instance)):
            found.add("no tensor")  # a module is moved without such a risk
        elif isinstance(each, (Tensor, Unknown)):
            is_there = each.on_cpu is False or each.device_taint >= DeviceTaint.CHOSEN
            found.add("device" if is_there else "host" if each.on_cpu else "unknown")
    return next((each for each in ("device", "unknown", "host", "no tensor") if each in found), "unknown")


def _pinned_in(source: Source) -> set[str]:
    """Return the names, and attributes of self, that something in sight gives page-locked memory."""
    statements = walk(source.tree) if "pin_memory" in source.text else ()
    assigned = (each for each in statements if isinstance(each, ast.Assign) and _pins(each.value))
    return {name for each in assigned for target in each.targets if (name := read_name(target)) is not None}


def _pins(node: ast.expr) -> bool:
    """True for `torch.empty(n, pin_memory=True)`, `x.pin_memory()`, and lists of such."""
    if isinstance(node, ast.ListComp):
        return _pins(node.elt)
    if not isinstance(node, ast.Call):
        return False
    is_told = any(each.arg == "pin_memory" and not is_false(each.value) for each in node.keywords)
    return is_told or last_name(node.func) == "pin_memory"
