"""From the risks of a source to the expressions that they may reach: who is worth asking, and nobody else.

A risk stands in the text: a Parameter, what a module gives, `.cuda()`, `.to(device)`, `device=`, `bfloat16`. It is
followed along names, attributes, calls and returns of the module, without regard to order or branches, so that it
reaches too much rather than too little; what it does reach is then inferred. Containers and objects hold whatever is
put into them under any key. A search goes from an expression back to the first risk; what it has gone through in vain
is not gone through again, so that all searches in a file take time that is linear in its size.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.arrays import keeps_shape
from tonumpy.engine.knowledge.methods import GIVE_NO_TENSOR_BY_SPELLING, OF_CONTAINERS
from tonumpy.engine.names.bindings import arguments_of, defaults_of, parameter_names, root_name
from tonumpy.sinks.risk_index import HANDED_ON, OWN, RiskIndex, is_false, names_bound
from tonumpy.sinks.risk_parts import CALLED, ITEM, held_in, may_hold, part_read
from tonumpy.text.names import ACCELERATORS, is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.prefilter import LACKED_BY_NUMPY
from tonumpy.text.syntax import children_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from tonumpy.sinks.risk_index import Flow, FunctionNode, Unit
    from tonumpy.sinks.risk_parts import Part
    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

    _Inner = tuple[tuple[str, ast.expr], ...]  # the variables of the comprehensions around, and what they go through
    # With the kinds of risks that are looked for there, and in which part of it.
    _Step = tuple[ast.expr, Unit, int, _Inner, Part]

# What of a tensor NumPy refuses; `TENSOR`: that it is one; `ARRAY`: what NumPy makes, where the two must not meet.
GRAD, PLACE, FORM, TENSOR, ARRAY = 1, 2, 4, 8, 16
ANY = GRAD | PLACE | FORM

_PLAIN_ATTRIBUTES = frozenset("shape dtype ndim size device name requires_grad".split())
_PLAIN_CALLS = frozenset(
    "len range int float str bool round repr print isinstance type id ord input open hasattr format set_seed".split()
)
# Functions that give what they are given, or parts of it.
_PASSING = frozenset(
    "list tuple set dict sorted reversed zip enumerate max min sum abs iter next map filter asdict vars".split()
)
_OF_MODULES = frozenset(
    "state_dict buffers named_buffers parameters named_parameters modules children eval train".split()
)
_OF_DISTRIBUTIONS = frozenset("sample rsample log_prob entropy".split())
_PASSING_METHODS = _OF_MODULES | _OF_DISTRIBUTIONS | OF_CONTAINERS | {"_asdict"}
_LOSSES = ("loss", "criterion")
_GRAD_CALLS = frozenset("Parameter requires_grad_ backward parameters named_parameters from_pretrained".split())
_GRAD_ATTRIBUTES = ("weight", "bias")
_MODULES = ("model", "net", "network")
_NO_TENSORS = frozenset("manual_seed Generator device no_grad load is_tensor is_available device_count".split())
_METHODS_OF_TENSORS = frozenset("cuda xpu npu to detach requires_grad_ backward".split())
_FORMS = tuple(word.strip(".(") for word in LACKED_BY_NUMPY)
_MAX_BASES = 8  # of bases that are followed
_MAX_PARTS = 32  # of one name that are told apart
_NO_MODULES = (
    *"transforms Pipeline Dataset Loader Scheduler Processor Tokenizer Config Logger Writer Sampler Env".split(),
)
_PLAIN_BASES = frozenset("object ABC Exception Enum NamedTuple TypedDict Protocol Dataset Generic TestCase".split())


class RiskFlow:
    """What flows where in one source; `reaches` answers."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._in_vain: dict[object, int] = {}
        self._parts: dict[tuple[Unit, str], set[Part]] = {}

    @cached_property
    def _lacks_forms(self) -> bool:
        return not any(map(self._source.text.__contains__, _FORMS))

    @cached_property
    def _index(self) -> RiskIndex:
        return RiskIndex(self._source)

    def reaches(self, node: ast.expr, scopes: Iterable[Scope], kinds: int = ANY) -> bool:
        """Whether a risk of one of some kinds may reach an expression that stands in the innermost of some scopes."""
        kinds &= ~FORM if self._lacks_forms else ~0
        unit = self._index.unit_of(scopes)
        seen: dict[object, int] = {}
        waiting: list[_Step] = [(node, unit, kinds, (), None)]
        while waiting:
            each, unit, kinds, inner, part = waiting.pop()
            whole: object = (unit, each.id, inner) if isinstance(each, ast.Name) else each
            if part is not None and isinstance(each, ast.Name):
                part = self._told_apart(unit, each.id, part)
            key: object = (whole, part)
            kinds &= ~(self._in_vain.get(key, 0) | seen.get(key, 0) | seen.get((whole, None), 0))
            kinds &= ~self._in_vain.get((whole, None), 0)
            if not kinds:
                continue
            seen[key] = seen.get(key, 0) | kinds
            found = self._steps(each, unit, kinds, inner, part)
            if found is None:
                return True
            waiting += found
        for key, gone in seen.items():
            self._in_vain[key] = self._in_vain.get(key, 0) | gone
        return False

    def _told_apart(self, unit: Unit, name: str, part: Part) -> Part:
        """The part itself; the whole where a name has too many of them."""
        parts = self._parts.setdefault((unit, name), set())
        if len(parts) < _MAX_PARTS:
            parts.add(part)
        return part if part in parts else None

    def _steps(self, node: ast.expr, unit: Unit, kinds: int, inner: _Inner, part: Part) -> list[_Step] | None:
        """What a value is made of, with the kinds of risks that pass on from there; None where a risk stands."""
        if part == CALLED and not isinstance(node, (ast.IfExp, ast.BoolOp)):
            return self._steps_of_called(node, unit, kinds, inner)
        if isinstance(node, ast.Name):
            return self._steps_of_name(node.id, unit, kinds, inner, part)
        if isinstance(node, ast.Call):
            return self._steps_of_call(node, unit, kinds, inner, part)
        if isinstance(node, ast.Attribute):
            return self._steps_of_attribute(node, unit, kinds, inner, part)
        if isinstance(node, ast.Lambda):
            return [(node.body, unit, kinds, (), None)]
        if isinstance(node, (ast.Constant, ast.JoinedStr)):
            return None if node is HANDED_ON else []
        if isinstance(node, ast.BinOp) and (self._is_array(node.left, unit) or self._is_array(node.right, unit)):
            return None if kinds & ARRAY else []
        if isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)):
            for generator in node.generators:
                inner = (*inner, *((name, generator.iter) for name in names_bound(generator.target)))
            return [(node.value if isinstance(node, ast.DictComp) else node.elt, unit, kinds, inner, None)]
        if isinstance(node, ast.IfExp):
            return [(node.body, unit, kinds, inner, part), (node.orelse, unit, kinds, inner, part)]
        if isinstance(node, ast.Subscript):
            return [(node.value, unit, kinds, inner, part_read(node.slice))]
        if isinstance(node, (ast.Dict, ast.List, ast.Tuple, ast.Set)):
            return [(each, unit, kinds, inner, at) for each, at in held_in(node, part)]
        if isinstance(node, ast.Compare):
            kinds &= ~GRAD
        kept = part if isinstance(node, (ast.BoolOp, ast.NamedExpr)) else None
        return [(each, unit, kinds, inner, kept) for each in children_of(node) if isinstance(each, ast.expr)]

    def _is_array(self, node: ast.expr, unit: Unit) -> bool:
        """Whether NumPy has surely made it, by its name or by its spelling."""
        if isinstance(node, ast.Name):
            flows = self._index.flows.get((unit, node.id), ())
            return bool(flows) and all(
                isinstance(each[0], ast.Call) and self._is_array(each[0], unit) for each in flows
            )
        if not isinstance(node, ast.Call):
            return False
        name = last_name(node.func) or ""
        return name == "numpy" or (root_name(node.func) in self._index.numpy and not _gives_number(node, name))

    def _steps_of_name(self, name: str, unit: Unit, kinds: int, inner: _Inner, part: Part) -> list[_Step] | None:
        for at in range(len(inner) - 1, -1, -1):
            if inner[at][0] == name:
                return [(inner[at][1], unit, kinds, inner[:at], ITEM)]
        index = self._index
        flows = index.into_name(name, unit)
        owners = index.parameters.get((unit, name), ())
        for function in owners:
            if self._is_given_risk(function, name, kinds) or index.is_handed_on(function.name):
                return None
            flows += self._given(function, name)
        return _read_of([*flows, *([] if owners else index.returned(name))], kinds, part)

    def _steps_of_called(self, node: ast.expr, unit: Unit, kinds: int, inner: _Inner) -> list[_Step]:
        """What a call of something gives, which is no function of its module by its own name: only of functions."""
        if isinstance(node, ast.Lambda):
            return [(node.body, unit, kinds, (), None)]
        index, name = self._index, last_name(node) or ""
        if isinstance(node, ast.Call):
            given: list[_Step] = [(each, unit, kinds, inner, CALLED) for each in node.args[:1]]
            name = last_name(node.func) or ""
            return (given if name == "partial" else []) + _read_of(index.returned(name), kinds, CALLED)
        if not isinstance(node, (ast.Name, ast.Attribute)):
            return []
        if isinstance(node, ast.Attribute):
            flows = list(index.into_attribute(name))
        else:
            flows = index.into_name(name, unit)
            for function in index.parameters.get((unit, name), ()):
                flows += self._given(function, name)
        return _read_of(flows, kinds, CALLED) + _read_of(index.returned(name), kinds, None)

    def _is_given_risk(self, function: FunctionNode, name: str, kinds: int) -> bool:
        """Whether a parameter reads as what is looked for."""
        if kinds & TENSOR and _is_annotated(function, name, "Tensor"):
            return True
        if kinds & ARRAY and _is_annotated(function, name, "array"):
            return True
        cls = self._index.class_of.get(function)
        if cls is None:
            return False
        if kinds & (GRAD | TENSOR) and function.name == "forward" and self._is_of_modules(cls):
            return True
        return bool(kinds & PLACE) and any("Lightning" in (last_name(base) or "") for base in cls.bases)

    def _steps_of_attribute(
        self, node: ast.Attribute, unit: Unit, kinds: int, inner: _Inner, part: Part
    ) -> list[_Step] | None:
        if isinstance(node.ctx, ast.Store):  # `x.requires_grad = True`, as what is stored in `x`
            return None if kinds & (GRAD | TENSOR) else []
        if node.attr in _PLAIN_ATTRIBUTES:
            # `self.dtype = torch.bfloat16 if ... else torch.float32`
            return _read_of(self._index.into_attribute("dtype"), kinds & FORM, part) if node.attr == "dtype" else []
        if kinds & (GRAD | TENSOR) and node.attr in _GRAD_ATTRIBUTES:
            return None
        if kinds & FORM and _is_of_form(node.attr):
            return None
        is_own = _is_own(node.value)
        if kinds & PLACE and is_own and "LightningModule" in self._source.text:
            return None  # it goes where its trainer is
        flows = self._index.into_attribute(node.attr)
        if node.attr in ("data", "grad") and not flows:
            kinds &= ~GRAD
        found = _read_of((*flows, *self._index.returned(node.attr)), kinds, part)
        for name in self._index.fields.get(node.attr, ()):
            found += [
                (each, where, kinds, (), None) for call, where in self._index.calls(name) for each in arguments_of(call)
            ]
        if not is_own:
            of = None if torch_api.is_of_tensors(node.attr) else f".{node.attr}"
            found.append((node.value, unit, kinds, inner, of))
        return found

    def _steps_of_call(self, call: ast.Call, unit: Unit, kinds: int, inner: _Inner, part: Part) -> list[_Step] | None:
        name, root = last_name(call.func) or "", (path_of(call.func) or "").partition(".")[0]
        is_method = isinstance(call.func, ast.Attribute)
        if kinds & ARRAY and (name == "numpy" or root_name(call.func) in self._index.numpy):
            return None
        if root in self._index.plain or _gives_no_tensor(call, name):
            return []
        is_torch = root in self._index.torch
        if kinds & TENSOR and (name in _METHODS_OF_TENSORS or (is_torch and name not in _NO_TENSORS)):
            return None
        if kinds & FORM and _is_of_form(name):
            return None
        if is_torch and name in _NO_TENSORS:
            return []
        before = _kinds_before(call, name, kinds)
        if before is None:
            return None
        kinds = before
        is_of_tensor = is_torch or (is_method and torch_api.is_of_tensors(name))
        if is_of_tensor and self._is_chosen(call, kinds):
            return None
        if name in _GRAD_CALLS and not (name == "from_pretrained" and root.endswith(_NO_MODULES)):
            if kinds & (GRAD | TENSOR):
                return None
            is_module = True
        else:
            is_module = self._gives_grad(call, name, unit)
        if is_module:
            if self._index.is_without_grad(call.lineno):
                kinds &= ~GRAD
            if kinds & (GRAD | TENSOR):
                return None
        if not kinds:
            return []
        return self._passed_on(call, unit, kinds, inner, part, is_of_tensor=is_of_tensor, is_module=is_module)

    def _passed_on(
        self, call: ast.Call, unit: Unit, kinds: int, inner: _Inner, part: Part, *, is_of_tensor: bool, is_module: bool
    ) -> list[_Step] | None:
        """What a call gives is made of: nothing where nobody knows what is called, as inference takes it."""
        name, given = last_name(call.func) or "", arguments_of(call)
        found = _read_of(self._index.returned(name), kinds, part) if name else []
        if isinstance(call.func, ast.Attribute):
            if is_of_tensor or name in _PASSING_METHODS:
                found.append((call.func.value, unit, kinds, inner, None))
            elif found and kinds & (PLACE | FORM) and not _is_own(call.func.value):
                # What a method of the module gives of an object that was moved.
                found.append((call.func.value, unit, kinds & (PLACE | FORM), inner, None))
        elif isinstance(call.func, ast.Name):
            found.append((call.func, unit, kinds, inner, CALLED))
        else:
            found.append((call.func, unit, kinds, inner, None))
        if is_module:
            found.append((call.func, unit, kinds, inner, None))
        if name and (name[0].isupper() or self._index.class_named(name) is not None):
            if kinds & PLACE and any(last_name(each) == "device" for each in given):
                return None
        elif not is_of_tensor and not is_module and name not in _PASSING and not name.lower().endswith(_LOSSES):
            return found
        return [*found, *((each, unit, kinds, inner, None) for each in given)]

    def _is_chosen(self, call: ast.Call, kinds: int) -> bool:
        """Whether an argument says that what is made requires grad, or where it is."""
        for each in call.keywords:
            if kinds & PLACE and each.arg == "device" and not is_cpu_literal(each.value):
                return True
            if kinds & GRAD and each.arg == "requires_grad" and not is_false(each.value):
                return True
        return False

    def _gives_grad(self, call: ast.Call, name: str, unit: Unit) -> bool:
        """Whether what is called may be a module, or makes one."""
        if not name:
            return isinstance(call.func, ast.Call) and self._makes_module(call.func)  # `Net()(x)`
        if name.lower().endswith(_MODULES):
            return True
        if root_name(call.func) == "nn" and name[:1].isupper():
            return True
        cls = self._index.class_named(name)
        if cls is not None:
            return self._is_of_modules(cls)
        if isinstance(call.func, ast.Attribute):
            flows = self._index.into_attribute(name)
        elif self._is_module(call.func, unit):
            return True
        else:
            flows = self._index.into_name(name, unit)
        return any(self._is_module(each[0], each[1]) for each in flows)

    def _is_module(self, node: ast.expr, unit: Unit) -> bool:
        """`Net()`, and `net` where that is a parameter which is declared a module."""
        if not isinstance(node, ast.Name):
            return self._makes_module(node)
        return any(self._is_given_module(each, node.id) for each in self._index.parameters.get((unit, node.id), ()))

    def _makes_module(self, node: ast.expr) -> bool:
        """`Net()`, `Net().to(device)`, `wrap(Net())`, where the class is not known to be of another sort."""
        while isinstance(node, ast.Call):
            name = last_name(node.func) or ""
            if root_name(node.func) in self._index.plain:
                return False
            cls = self._index.class_named(name)
            if cls is not None:
                return self._is_of_modules(cls)
            if name in _GRAD_CALLS or (name[:1].isupper() and name not in _PLAIN_BASES):
                return not (root_name(node.func) or "").endswith(_NO_MODULES)
            if isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Call):
                node = node.func.value
            elif node.args:
                node = node.args[0]
            else:
                return False
        return False

    def _is_of_modules(self, cls: ast.ClassDef, depth: int = 0) -> bool:
        for base in cls.bases:
            name = last_name(base) or ""
            known = self._index.class_named(name)
            if known is not None and depth < _MAX_BASES:
                if self._is_of_modules(known, depth + 1):
                    return True
            elif name not in _PLAIN_BASES and root_name(base) not in self._index.plain:
                return True
        return False

    def _is_given_module(self, function: FunctionNode, name: str) -> bool:
        if any(_is_annotated(function, name, kind) for kind in ("nn.", "Module")):
            return True
        return any(_is_annotated(function, name, each) for each, cls in self._index.classes.items() if cls.bases)

    def _given(self, function: FunctionNode, name: str) -> list[Flow]:
        """What the module gives for a parameter."""
        flows: list[Flow] = [(each, None, None, None) for of, each in defaults_of(function.args) if of == name]
        names = parameter_names(function.args)
        cls = self._index.class_of.get(function)
        is_bound = cls is not None and names[:1] in (["self"], ["cls"])
        called = [function.name, *filter(None, map(_registers_for, function.decorator_list))]
        if cls is not None and function.name in ("__init__", "__new__"):
            called = [cls.name, "cls"]
        elif cls is not None and function.name in ("forward", "__call__"):
            called += self._index.objects_of(cls.name)
        at = names.index(name) - is_bound if name in names else None
        for each in called:
            for call, unit in self._index.calls(each):
                flows += [(given, unit, None, None) for given in _given_in(call, each, name, at, names)]
        flows += self._index.returned(name)  # a fixture of pytest
        return flows


def _read_of(flows: Iterable[Flow], kinds: int, part: Part) -> list[_Step]:
    """What is read where a part of what values flow into is wanted."""
    return [
        (value, where, kinds, (), of if put is not None or of is not None else part)
        for value, where, put, of in flows
        if put is None or may_hold(put, part)
    ]


def _is_own(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id in OWN


def _is_of_form(name: str) -> bool:
    return any(word in name for word in _FORMS)


def _given_in(call: ast.Call, name: str, parameter: str, at: int | None, names: list[str]) -> Iterator[ast.expr]:
    """What a call gives for a parameter; all that it gives where it hands the function on, or says no place, but for
    what is given there to other parameters by their names."""
    if last_name(call.func) != name:
        given = [each.value for each in call.keywords if each.arg == parameter or each.arg not in names]
        yield from (each for each in (call.func, *call.args, *given) if last_name(each) != name)
        return
    is_hidden = any(isinstance(each, ast.Starred) for each in call.args)
    named = [each for each in call.keywords if each.arg in (parameter, None)]
    yield from (each.value for each in named)
    if at is None or is_hidden:
        yield from arguments_of(call)
    else:
        yield from call.args[at : at + 1] if at >= 0 else ()


def _is_annotated(function: FunctionNode, name: str, kind: str) -> bool:
    given = function.args
    return any(
        each.arg == name and each.annotation is not None and kind in ast.unparse(each.annotation)
        for each in (*given.posonlyargs, *given.args, *given.kwonlyargs)
    )


def _registers_for(decorator: ast.expr) -> str | None:
    """`as_array` for `@as_array.register(int)`."""
    function = decorator.func if isinstance(decorator, ast.Call) else decorator
    return last_name(function.value) if isinstance(function, ast.Attribute) and function.attr == "register" else None


def _gives_number(call: ast.Call, name: str) -> bool:
    """`np.sqrt(252)`."""
    return len(call.args) == 1 and isinstance(call.args[0], ast.Constant) and keeps_shape(name)


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and not isinstance(node.value, int)


def _gives_no_tensor(call: ast.Call, name: str) -> bool:
    """By the name of a function of Python, or of a method that none of a tensor is called."""
    if not isinstance(call.func, ast.Attribute):
        return name in _PLAIN_CALLS
    return name in GIVE_NO_TENSOR_BY_SPELLING and (name != "split" or not call.args or _is_text(call.args[0]))


def _kinds_before(call: ast.Call, name: str, kinds: int) -> int | None:
    """The kinds of risk that what stands before a link may still bring; None where the link itself is the risk."""
    if name == "to":
        given = [*call.args, *(each.value for each in call.keywords if each.arg == "device")]
        if any(map(is_cpu_literal, given)):
            return kinds & ~PLACE
        is_sent = kinds & PLACE and not all("dtype" in (last_name(each) or "") or is_dtype(each) for each in given)
        return None if is_sent else kinds
    if name == "cpu":
        return kinds & ~PLACE
    if name in ("detach", "detach_"):
        return kinds & ~GRAD
    is_sent = kinds & PLACE and isinstance(call.func, ast.Attribute) and name in ACCELERATORS
    return None if is_sent else kinds
