"""From a source to where the result of a boolean ufunc is inverted or used as an index, as implicit conversions.

NumPy hands the result of a ufunc of a CPU tensor back as a tensor, and torch makes uint8 of booleans on that way.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.conversions import ImplicitConversion, Mask
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.reasons import GIVEN, Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import NonTensor, Symbol, Tensor, Unknown, is_number
from tonumpy.sinks.mask_uses import UFUNCS, Uses
from tonumpy.text import candidates
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import last_name, path_of
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.summaries.driver import Observations
    from tonumpy.engine.values.values import Value
    from tonumpy.facts import Certainty
    from tonumpy.sinks.mask_uses import Ufunc, Use


# Calls that give one value, and what one is called: `def fill(self, value): out[np.isnan(out)] = value`.
_OF_ONE_VALUE = frozenset("float int item max mean median min sum".split())
_LITERAL = NonTensor("literal")  # one of several, as numbers that callers give, or a default
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
    observed = _observe(module, [each.call for use in uses for each in use.calls])
    asked = [use._replace(calls=tuple(_by_callers(use, observed, search))) for use in uses]
    outer = [each.outer for use in asked for each in use.calls if each.outer is not None]
    observed = {**observed, **_observe(module, outer)} if outer else observed
    likely = [use for use in asked if any(_certainty(each, observed) for each in use.calls)]
    indexed = {id(each): each for use in likely if (each := _subscript(use)) is not None}
    rows = sorted({each.lineno for each in indexed.values()})
    sites = candidates.find_operations(source, rows, (ast.Subscript,), lambda node: id(node) in indexed)
    containers = observe(module, sites) if sites else {}
    found = [_conversion(use, observed, containers, search) for use in likely]
    return _repaired_in_one_way([each for each in found if each is not None])


def _repaired_in_one_way(found: list[ImplicitConversion]) -> list[ImplicitConversion]:
    """Where one use of a ufunc's result asks for an array and another would do with torch's function: arrays alone."""
    masks = [each.mask for each in found if each.mask is not None]
    converted = {id(node) for mask in masks if not mask.in_torch for node in mask.tensors}
    mended = []
    for each in found:
        mask = each.mask
        if mask is not None and any(id(part) in converted for call, _ in mask.in_torch for part in call.args):
            each = each._replace(mask=mask._replace(in_torch=()), keeps_value=False)
        mended.append(each)
    return mended


def _observe(module: Module, calls: list[ast.Call]) -> Observations:
    wanted, rows = {*map(id, calls)}, sorted({call.lineno for call in calls})
    sites = find_calls(module.source, rows, lambda call: id(call) in wanted)
    return observe(module, sites)


def _by_callers(use: Use, observed: Observations, search: Uses) -> Iterator[Ufunc]:
    """The ufuncs of a use; where one is given what is a tensor by some calls alone, with these calls."""
    for ufunc in use.calls:
        seen = observed.get(id(ufunc.call))
        given = () if seen is None else seen.arguments.positional
        is_open = any(_depends_on_callers(value) for value in given)
        if not is_open:
            yield ufunc._replace(outer=None, given=())
        elif ufunc.outer is not None:
            yield ufunc
        else:
            yield from search.of_callers(use, ufunc) or (ufunc,)


def _depends_on_callers(value: Value) -> bool:
    parts = members(value)
    has_tensor = any(isinstance(each, Tensor) for each in parts)
    is_of_lambda = any(isinstance(each, Unknown) and each.reason is Reason.LAMBDA_PARAMETER for each in parts)
    return is_of_lambda or (has_tensor and _tensor(value) is None)


def _conversion(use: Use, observed: Observations, containers: Observations, search: Uses) -> ImplicitConversion | None:
    subscript = _subscript(use)
    seen = None if subscript is None else containers.get(id(subscript))
    is_array = seen is not None and _is_array(seen.receiver)
    is_array = is_array or (subscript is not None and search.is_given_to_torch(subscript.value, use.scopes))
    is_tensor = seen is not None and any(isinstance(each, Tensor) for each in members(seen.receiver))
    is_refused = isinstance(use.node, ast.Call) or (is_tensor and _gives_one_value(use, seen))
    if isinstance(use.node, ast.Subscript) and not is_array and not is_refused:
        return None  # as an index of a tensor it is a mask still
    ufunc, certainty = next((each, sure) for each in use.calls if (sure := _certainty(each, observed)) is not None)
    call = ufunc.call
    in_torch = () if is_array else _in_torch(use.calls, observed, search)
    # Else the name, or the function, may be used elsewhere, too.
    is_direct = ufunc.outer is None and call in walk(use.node)
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


def _is_array(value: Value) -> bool:
    """Whether it is an array as far as callers in sight give it, or what has a `copy` and takes a mask: no tensor."""
    if isinstance(value, Unknown):
        return value.is_no_tensor
    known = [each for each in members(value) if not (isinstance(each, Unknown) and each.reason in GIVEN)]
    return bool(known) and all(
        isinstance(each, NonTensor) and (each.dimensions is not None or each.what.startswith("numpy."))
        for each in known
    )


def _in_torch(calls: tuple[Ufunc, ...], observed: Observations, search: Uses) -> tuple[tuple[ast.Call, str], ...]:
    """The functions of torch that can stand for all of them; nothing where one is given what is no tensor."""
    if search.names.get("torch") != "torch":
        return ()
    found = []
    for call, *_ in calls:
        seen, counterpart = observed.get(id(call)), UFUNCS.get(search.full_name(call), "")
        given = () if seen is None else seen.arguments.positional
        are_all = all(_tensor(value) is not None or is_number(value) for value in given)
        if not given or not are_all or call.keywords or not counterpart:
            return ()
        found.append((call, f"torch.{counterpart}"))
    return tuple(found)


def _tensors_given(ufunc: Ufunc, observed: Observations) -> list[ast.expr]:
    return [node for node, value in _given(ufunc, observed) if _tensor(value) is not None]


def _given(ufunc: Ufunc, observed: Observations) -> list[tuple[ast.expr, Value]]:
    """What decides whether it is given a tensor: its own arguments, or those of the function that it stands in."""
    call = ufunc.outer or ufunc.call
    seen = observed.get(id(call))
    if seen is None:
        return []
    given = [*zip(call.args, seen.arguments.positional, strict=False)]
    if ufunc.outer is None:
        return given
    named = ((each.value, each.arg and seen.arguments.named_value(each.arg)) for each in call.keywords)
    given += [(node, value) for node, value in named if value is not None and not isinstance(value, str)]
    return [pair for pair in given if pair[0] in ufunc.given]


def _subscript(use: Use) -> ast.Subscript | None:
    return use.node if isinstance(use.node, ast.Subscript) else use.around


def _gives_one_value(use: Use, seen: Observation | None) -> bool:
    """`t[mask] = 0`, which torch does by `masked_fill_`: it takes no mask of uint8, as other assignments do."""
    statement = use.statement
    if not isinstance(statement, ast.Assign) or use.node not in statement.targets:
        return False
    put = () if seen is None else seen.arguments.positional[1:]
    if put and all(is_number(each) or each == _LITERAL for each in put):
        return True
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


def _certainty(ufunc: Ufunc, observed: Observations) -> Certainty | None:
    """How sure it is that a ufunc is given a tensor, and does not raise for it."""
    called = observed.get(id(ufunc.call))
    is_named = called is not None and isinstance(ufunc.call.func, ast.Name) and isinstance(called.receiver, Symbol)
    if is_named and called.receiver.name not in UFUNCS:  # type: ignore[union-attr]
        return None  # a parameter that is one by default alone
    found = [each for _, value in _given(ufunc, observed) if (each := _tensor(value))]
    return found[0].certainty if found and found[0].certainty != "possible" else None
