"""From a module to where the result of a boolean ufunc is inverted or used as an index, as implicit conversions.

NumPy hands the result of a ufunc of a CPU tensor back as a tensor, and torch makes uint8 of booleans on that way.
"""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.conversions import ImplicitConversion, Mask
from tonumpy.engine.interpreter.ufuncs import UFUNCS, sole_tensors
from tonumpy.engine.knowledge.chains import Chain
from tonumpy.engine.names.bindings import full_names, in_full
from tonumpy.engine.summaries.driver import observe
from tonumpy.engine.values.reasons import GIVEN
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import NonTensor, Sequence, Tensor, Unknown, is_number
from tonumpy.text.candidates import Site, find_calls, find_operations
from tonumpy.text.names import last_name, path_of
from tonumpy.text.prefilter import BOOLEAN_UFUNCS
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Literal

    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.names.module import Module
    from tonumpy.engine.summaries.driver import Observations
    from tonumpy.engine.values.values import Value
    from tonumpy.text.candidates import OperationSite, Scope

_FILLING = frozenset("masked_fill masked_fill_ masked_select masked_scatter masked_scatter_".split())
_REDUCING = frozenset("all any sum item float int long tolist nonzero bool double".split())
# Calls that give one value, and what one is called: `def fill(self, value): out[np.isnan(out)] = value`.
_OF_ONE_VALUE = frozenset("float int item max mean median min sum".split())
_ONE_VALUE = frozenset("value fill fill_value default constant".split())
_LITERAL = NonTensor("literal")  # one of several, as numbers that callers give, or a default


class _Use(NamedTuple):
    """A mask that is inverted, that is an index, or by which a call fills or selects; `indexed`: what is indexed."""

    site: Site | OperationSite
    how: Literal["inverted", "index", "refused"]
    calls: tuple[ast.Call, ...]  # the ufuncs that it is made of
    indexed: Value | None

    @property
    def node(self) -> ast.expr:
        return self.site.call  # type: ignore[return-value]


def infer_masks(module: Module) -> list[ImplicitConversion]:
    """What is taken for a mask and is none, in the order of the text."""
    source = module.source
    if module.frameworks.has_rivals and not module.frameworks.speaks_of_torch:
        return []  # another framework's code
    names = full_names(source.tree.body)
    rows = sorted({row for name in BOOLEAN_UFUNCS for row in source.rows_with_name(name)})
    ufuncs = find_calls(source, rows, lambda call: in_full(path_of(call.func) or "", names) in UFUNCS)
    if not ufuncs:
        return []
    sites = _sites(module, ufuncs)
    observed = observe(module, sites)
    uses = list(_uses(sites, observed, {each.call: number for number, each in enumerate(ufuncs)}))
    if not uses:
        return []
    wanted = {call for use in uses for call in use.calls}
    given = observe(module, [each for each in ufuncs if each.call in wanted])
    found = [_conversion(names, use, given) for use in uses]
    return _repaired_in_one_way([each for each in found if each is not None])


def _sites(module: Module, ufuncs: list[Site]) -> list[Site | OperationSite]:
    """The places that invert something, index it, or fill by it, beside a ufunc or a call of what holds one."""
    source = module.source
    names = {each.scopes[-1].name for each in ufuncs if not isinstance(each.scopes[-1], ast.Module)}
    rows = sorted({row for name in names for row in source.rows_with_name(name)})
    calls = find_calls(source, rows, lambda call: last_name(call.func) in names)
    beside = {id(_outermost(each)) for each in (*ufuncs, *calls)}
    rows = sorted({*source.rows_with("~"), *source.rows_with("[")})
    operations = find_operations(source, rows, (ast.UnaryOp, ast.Subscript), _is_index_or_inverse)
    rows = sorted({row for name in _FILLING for row in source.rows_with_name(name)})
    fillings = find_calls(source, rows, lambda call: last_name(call.func) in _FILLING)
    found: list[Site | OperationSite] = [*operations, *fillings]
    return [each for each in found if id(_outermost(each)) in beside]


def _outermost(site: Site | OperationSite) -> Scope:
    """The function or class at the top of the module in which a site stands; else the module."""
    return site.scopes[min(1, len(site.scopes) - 1)]


def _is_index_or_inverse(node: ast.UnaryOp | ast.Subscript) -> bool:
    return isinstance(node, ast.Subscript) or isinstance(node.op, ast.Invert)


def _uses(sites: list[Site | OperationSite], observed: Observations, numbers: dict[ast.Call, int]) -> Iterator[_Use]:
    around = {id(each.call.slice): each for each in sites if isinstance(each.call, ast.Subscript)}
    for site in sites:
        node, seen = site.call, observed.get(id(site.call))
        if seen is None:
            continue
        given = (seen.receiver,) if isinstance(node, ast.UnaryOp) else seen.arguments.values()
        parts = [part for value in given for part in _parts(value)]
        made_of = {call for part in parts for tensor in sole_tensors(part) for call in tensor.ufuncs}
        if not made_of or not made_of <= numbers.keys():
            continue  # what another file has made is not told of here
        calls = tuple(sorted(made_of, key=numbers.__getitem__))
        if isinstance(node, ast.UnaryOp):
            subscript = around.get(id(node))
            indexed = None if subscript is None else observed.get(id(subscript.call))
            yield _Use(site, "inverted", calls, None if indexed is None else indexed.receiver)
        elif isinstance(node, ast.Call):
            yield _Use(site, "refused", calls, None)
        elif _is_array(seen.receiver):
            yield _Use(site, "index", calls, seen.receiver)
        elif any(isinstance(each, Tensor) for each in members(seen.receiver)) and _gives_one_value(site, seen):
            yield _Use(site, "refused", calls, seen.receiver)


def _parts(value: Value) -> tuple[Value, ...]:
    """The parts of an index: `rows[mask, 0]`."""
    return value.items if isinstance(value, Sequence) and value.items is not None else (value,)


def _conversion(names: dict[str, str], use: _Use, given: Observations) -> ImplicitConversion | None:
    tensors = [pair for call in use.calls for pair in _tensors_given(call, given)]
    if not tensors or tensors[0][1].certainty == "possible":
        return None
    is_array = use.indexed is not None and _is_array(use.indexed)
    in_torch = () if is_array else _in_torch(names, use.calls, given)
    # Else the name, or the function, may be used elsewhere, too.
    is_direct = use.calls[0] in walk(use.node)
    is_of_tensor = use.indexed is not None and not is_array
    is_alone = use.how == "refused" or _is_reduced(use)
    return ImplicitConversion(
        Site(use.calls[0], use.site.scopes, (), use.site.statement, None),
        path_of(use.calls[0].func) or "",
        use.node,
        Chain(()),
        tensors[0][1].certainty,
        on_cpu=True,
        requires_grad=False,
        keeps_value=bool(in_torch) and is_direct and (is_of_tensor or is_alone),
        mask=Mask(use.how, in_torch, tuple(node for node, _ in tensors)),
    )


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


def _is_array(value: Value) -> bool:
    """True for an array as far as callers in sight give it, or what has a `copy` and takes a mask: no tensor."""
    if isinstance(value, Unknown):
        return value.is_no_tensor
    known = [each for each in members(value) if not (isinstance(each, Unknown) and each.reason in GIVEN)]
    return bool(known) and all(
        isinstance(each, NonTensor) and (each.dimensions is not None or each.what.startswith("numpy."))
        for each in known
    )


def _in_torch(
    names: dict[str, str], calls: tuple[ast.Call, ...], given: Observations
) -> tuple[tuple[ast.Call, str], ...]:
    """The functions of torch that can stand for all of them; nothing where one is given what is no tensor."""
    if names.get("torch") != "torch":
        return ()
    found = []
    for call in calls:
        counterpart, seen = UFUNCS.get(in_full(path_of(call.func) or "", names), ""), given.get(id(call))
        values = () if seen is None else seen.arguments.positional
        are_all = all(is_number(value) or any(sole_tensors(value)) for value in values)
        if not values or not are_all or call.keywords or not counterpart:
            return ()
        found.append((call, f"torch.{counterpart}"))
    return tuple(found)


def _tensors_given(call: ast.Call, given: Observations) -> Iterator[tuple[ast.expr, Tensor]]:
    seen = given.get(id(call))
    for node, value in () if seen is None else zip(call.args, seen.arguments.positional, strict=False):
        yield from ((node, tensor) for tensor in sole_tensors(value))


def _is_reduced(use: _Use) -> bool:
    """True for `(~mask).all()`."""
    attributes = (each for each in walk(use.site.statement) if isinstance(each, ast.Attribute))
    return any(each.value is use.node and each.attr in _REDUCING for each in attributes)


def _gives_one_value(site: Site | OperationSite, seen: Observation) -> bool:
    """`t[mask] = 0`, which torch does by `masked_fill_`: it takes no mask of uint8, as other assignments do."""
    statement = site.statement
    if not isinstance(statement, ast.Assign) or site.call not in statement.targets:
        return False
    put = seen.arguments.positional[1:]
    if put and all(is_number(each) or each == _LITERAL for each in put):
        return True
    value = statement.value.operand if isinstance(statement.value, ast.UnaryOp) else statement.value
    is_named = isinstance(value, ast.Attribute) and value.attr in ("nan", "inf", "pi")
    is_named = is_named or (isinstance(value, ast.Name) and value.id in _ONE_VALUE)
    return isinstance(value, ast.Constant) or is_named or last_name(getattr(value, "func", value)) in _OF_ONE_VALUE
