"""From a source to where the result of a boolean ufunc is inverted or used as an index, as implicit conversions.

NumPy hands the result of a ufunc of a CPU tensor back as a tensor, and torch makes uint8 of booleans on that way.
"""

from __future__ import annotations

import ast

from tonumpy.conversions import ImplicitConversion, Mask
from tonumpy.inference.knowledge.arrays import dimensions_of
from tonumpy.inference.knowledge.chains import Chain
from tonumpy.inference.lattice.value_facts import members
from tonumpy.inference.lattice.values import Tensor, is_number
from tonumpy.inference.summaries.budget import MAX_STATEMENTS_OF_SINKS
from tonumpy.inference.summaries.driver import observe
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.sinks.mask_uses import UFUNCS, Uses
from tonumpy.text import candidates
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from typing import Literal

    from tonumpy.facts import Certainty
    from tonumpy.inference.index.module import Module
    from tonumpy.inference.lattice.values import Value
    from tonumpy.inference.summaries.driver import Observations
    from tonumpy.sinks.mask_uses import Use


# Calls that give one value, and what one is called: `def fill(self, value): out[np.isnan(out)] = value`.
_OF_ONE_VALUE = frozenset("float int item max mean median min sum".split())
_ONE_VALUE = frozenset("value fill fill_value default constant".split())


def infer_masks(module: Module) -> list[ImplicitConversion]:
    """What is taken for a mask and is none, in the order of the text."""
    source = module.source
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code
    search = Uses(source)
    uses = list(search.found())
    if not uses:
        return []
    wanted = {id(call) for use in uses for call in use.calls}
    rows = sorted({call.lineno for use in uses for call in use.calls})
    observed = observe(module, find_calls(source, rows, lambda call: id(call) in wanted), MAX_STATEMENTS_OF_SINKS)
    likely = [use for use in uses if any(_certainty(call, observed) for call in use.calls)]
    indexed = {id(each): each for use in likely if (each := _subscript(use)) is not None}
    rows = sorted({each.lineno for each in indexed.values()})
    sites = candidates.find_operations(source, rows, (ast.Subscript,), lambda node: id(node) in indexed)
    containers = observe(module, sites, MAX_STATEMENTS_OF_SINKS) if sites else {}
    found = [_conversion(use, observed, containers, search) for use in likely]
    return [each for each in found if each is not None]


def _conversion(use: Use, observed: Observations, containers: Observations, search: Uses) -> ImplicitConversion | None:
    subscript = _subscript(use)
    seen = None if subscript is None else containers.get(id(subscript))
    is_array = seen is not None and dimensions_of(seen.receiver) is not None
    is_tensor = seen is not None and any(isinstance(each, Tensor) for each in members(seen.receiver))
    is_refused = isinstance(use.node, ast.Call) or (is_tensor and _gives_one_value(use))
    if isinstance(use.node, ast.Subscript) and not is_array and not is_refused:
        return None  # as an index of a tensor it is a mask still
    call, certainty = next((call, sure) for call in use.calls if (sure := _certainty(call, observed)) is not None)
    in_torch = () if is_array else _in_torch(use.calls, observed, search)
    is_direct = call in walk(use.node)  # else the name may be used elsewhere, too
    is_index = isinstance(use.node, ast.Subscript)
    how: Literal["inverted", "index", "refused"] = "refused" if is_refused else "index" if is_index else "inverted"
    tensors = tuple(node for each in use.calls for node in _tensors_given(each, observed))
    return ImplicitConversion(
        Site(call, use.scopes, (), use.statement, None),
        path_of(call.func) or "",
        use.node,
        Chain(()),
        certainty,
        on_cpu=True,
        is_sent=False,
        requires_grad=False,
        grad_mode=None,
        dtype=None,
        layout=None,
        bit=None,
        of_items=None,
        keeps_value=bool(in_torch) and is_direct and (is_tensor or use.is_alone),
        mask=Mask(how, in_torch, tensors),
    )


def _in_torch(calls: tuple[ast.Call, ...], observed: Observations, search: Uses) -> tuple[tuple[ast.Call, str], ...]:
    """The functions of torch that can stand for all of them; nothing where one is given what is no tensor."""
    if search.names.get("torch") != "torch":
        return ()
    found = []
    for call in calls:
        seen, counterpart = observed.get(id(call)), UFUNCS[search.full_name(call)]
        given = () if seen is None else seen.arguments.positional
        are_all = all(_tensor(value) is not None or is_number(value) for value in given)
        if not given or not are_all or call.keywords or not counterpart:
            return ()
        found.append((call, f"torch.{counterpart}"))
    return tuple(found)


def _tensors_given(call: ast.Call, observed: Observations) -> list[ast.expr]:
    seen = observed.get(id(call))
    given = () if seen is None else seen.arguments.positional
    return [node for node, value in zip(call.args, given, strict=False) if _tensor(value) is not None]


def _subscript(use: Use) -> ast.Subscript | None:
    return use.node if isinstance(use.node, ast.Subscript) else use.around


def _gives_one_value(use: Use) -> bool:
    """`t[mask] = 0`, which torch does by `masked_fill_`: it takes no mask of uint8, as other assignments do."""
    statement = use.statement
    if not isinstance(statement, ast.Assign) or use.node not in statement.targets:
        return False
    value = statement.value.operand if isinstance(statement.value, ast.UnaryOp) else statement.value
    is_named = isinstance(value, ast.Attribute) and value.attr in ("nan", "inf", "pi")
    is_named = is_named or (isinstance(value, ast.Name) and value.id in _ONE_VALUE)
    return isinstance(value, ast.Constant) or is_named or last_name(getattr(value, "func", value)) in _OF_ONE_VALUE


def _tensor(value: Value) -> Tensor | None:
    """The tensor that NumPy can convert, if the value is one."""
    tensors = [each for each in members(value) if isinstance(each, Tensor)]
    others = [each for each in members(value) if not isinstance(each, Tensor) and not is_number(each)]
    if len(tensors) != 1 or others:
        return None
    return None if tensors[0].on_cpu is False or tensors[0].requires_grad else tensors[0]


def _certainty(call: ast.Call, observed: Observations) -> Certainty | None:
    """How sure it is that a ufunc is given a tensor, and does not raise for it."""
    seen = observed.get(id(call))
    found = () if seen is None else [each for value in seen.arguments.positional if (each := _tensor(value))]
    return found[0].certainty if found and found[0].certainty != "possible" else None
