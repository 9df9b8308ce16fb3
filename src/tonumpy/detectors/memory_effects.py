"""Effects of calls on the memory that names refer to: calls of torch, NumPy, optimizers and containers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable

from tonumpy.detectors.aliases import Aliases, place_of
from tonumpy.detectors.memory import (
    NOTHING,
    PARAMETERS,
    Memory,
    Reference,
    References,
    Side,
    is_new,
    is_parameter,
    selected,
)
from tonumpy.detectors.waiting import PLAIN
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.bindings import arguments_of
from tonumpy.text.names import is_cpu_literal, last_name, path_of

# Methods and functions that return a view of the same memory, or a copy where no view is possible.
_VIEWS = frozenset(
    "view view_as reshape ravel squeeze unsqueeze transpose t swapaxes permute movedim expand expand_as narrow select"
    " unfold diagonal unbind chunk split pin_memory requires_grad_ detach_".split()
)
_THE_SAME = frozenset("detach cpu contiguous".split())  # or a copy
_OF_MODULES = frozenset("parameters named_parameters state_dict buffers named_buffers".split())
_KEEPING = frozenset("append appendleft extend insert push".split())
_KEEPING_OF_CONTAINERS = frozenset("add update put setdefault".split())  # tensors have some of them too
_TAKING = frozenset("items values get pop popleft popitem".split())
_PASSING = frozenset("list tuple set dict reversed enumerate zip iter next sorted memoryview deque tqdm islice".split())
_PASSING_OF_LIBRARIES = frozenset("from_numpy as_tensor asarray asanyarray".split())
_FILLING = frozenset("copy_ fill_ zero_ normal_ uniform_ random_ exponential_ bernoulli_".split())
_LIBRARIES = ("torch", "np", "numpy")
_OF_NUMPY = frozenset("copyto place putmask put_along_axis fill_diagonal".split())  # they write their first argument
_METHODS_OF_ARRAYS = frozenset("sort fill put partition".split())
_OPTIMIZER = r"(?i)(^|[._])opt(im|imizer)?s?(_|$|\d)|optim"


class Effects(Aliases):
    """The state of a run with the effects of calls."""

    def follow(self, call: ast.Call) -> References | None:
        """Run the called function of the module, and return the references of its result; None if it is not
        followed."""
        raise NotImplementedError

    def call(self, call: ast.Call) -> References:
        """The references of a call's result, after its effects."""
        side = self.sought.conversions.get(call)
        if side is not None:
            return self._convert(call, side)
        if self._steps(call):
            return NOTHING
        returned = self.follow(call)
        if returned is not None:
            self.note(returned, call.lineno)
            return returned
        name, function = last_name(call.func) or "", call.func
        is_of_library = (path_of(function) or "").partition(".")[0] in _LIBRARIES
        if isinstance(function, ast.Attribute) and name in _VIEWS | _THE_SAME:
            return self._view(call, function, is_of_library=is_of_library)
        if isinstance(function, ast.Attribute) and not is_of_library:
            return self._method(call, function)
        if name == "len":
            return NOTHING
        given = self._arguments(call)
        self._write_given(call, given)
        is_passed = name in _PASSING | _PASSING_OF_LIBRARIES or _is_optimizer(call)
        return NOTHING.union(*given) if is_passed else NOTHING

    def _arguments(self, call: ast.Call) -> list[References]:
        return [self.value(argument) for argument in arguments_of(call)]

    def _convert(self, call: ast.Call, side: Side) -> References:
        assert isinstance(call.func, ast.Attribute) or call.args
        source = call.args[0] if call.args else call.func.value  # type: ignore[attr-defined]  # of `x.numpy()`
        self.is_under_way = True
        references = self.value(source)
        for argument in arguments_of(call):
            if argument is not source:
                self.value(argument)
        made = (each.converted(call, side, self.path) for each in references)
        return frozenset(each for each in made if each is not None)

    def _view(self, call: ast.Call, function: ast.Attribute, *, is_of_library: bool) -> References:
        viewed, arguments = function.value, arguments_of(call)
        if is_of_library and place_of(viewed) is not None and arguments:  # `torch.squeeze(x)`
            viewed, *arguments = arguments
        base = self.refer(viewed)
        for argument in arguments:
            self.value(argument)
        view = f"{function.attr}({', '.join(map(ast.unparse, arguments))})"
        found = base if function.attr in _THE_SAME else selected(base, (view,))
        self.note(found, call.lineno)
        return found

    def _method(self, call: ast.Call, function: ast.Attribute) -> References:
        name, place = function.attr, self.place(function.value)
        if name in PLAIN:
            return NOTHING
        if place is not None and (name in _KEEPING or (name in _KEEPING_OF_CONTAINERS and place in self.containers)):
            kept = NOTHING.union(*self._arguments(call))
            if kept:
                self.put(place, kept)
            return NOTHING
        if name in _OF_MODULES:
            return selected(self.refer(function.value), (PARAMETERS,))
        if name in _TAKING:
            self._arguments(call)
            held = self.value(function.value)
            return held if isinstance(function.value, ast.Call) else NOTHING
        if _writes_itself(name) or name in _METHODS_OF_ARRAYS:
            return self._written(call, function)
        base, given = self.value(function.value), self._arguments(call)
        self._write_given(call, given)
        is_to_host = name == "to" and bool(call.args) and is_cpu_literal(call.args[0])
        return base if is_to_host else NOTHING

    def _written(self, call: ast.Call, function: ast.Attribute) -> References:
        """Record the write of a method to its receiver: `x.zero_()`, `array.sort()`."""
        references = self.refer(function.value)
        self._arguments(call)
        written = references
        if function.attr in _METHODS_OF_ARRAYS:
            is_list = self.place(function.value) in self.containers
            written = NOTHING if is_list else frozenset(each for each in references if self._is_array(each))
        self.write(written, call.lineno, fills=function.attr in _FILLING)
        return references

    def _is_array(self, reference: Reference) -> bool:
        """True for an array that a conversion made, or of which one made a tensor."""
        if reference.side is not None:
            return reference.side == "array"
        root = reference.memory[0]
        return any(each.side == "tensor" and each.memory[0] == root for held in self.names.values() for each in held)

    def _write_given(self, call: ast.Call, given: list[References]) -> None:
        """Record the writes of a function that is known by its name."""
        name, owner = last_name(call.func) or "", (path_of(call.func) or "").rpartition(".")[0]
        written = [held for each, held in zip(call.keywords, given[len(call.args) :], strict=True) if each.arg == "out"]
        if call.args and self.place(call.args[0]) not in self.containers and _writes_first(name, owner):
            written.append(given[0])
        for held in written:
            self.write(held, call.lineno)
        if name == "load_state_dict" and isinstance(call.func, ast.Attribute):
            modules = [each.memory for each in self.refer(call.func.value)]
            self._write_tensors(lambda memory: any(memory[: len(each)] == each for each in modules), call.lineno)

    def _steps(self, call: ast.Call) -> bool:
        """Record the write of `optimizer.step()` or `scaler.step(optimizer)` to the optimizer's parameters, or those of
        all models if these are unknown. False for any other call."""
        if not isinstance(call.func, ast.Attribute) or call.func.attr != "step":
            return False
        optimizers = [each for each in (call.func.value, *call.args) if re.search(_OPTIMIZER, path_of(each) or "")]
        given = NOTHING.union(*map(self.refer, optimizers))
        models = {each.memory[: each.memory.index(PARAMETERS)] for each in given if PARAMETERS in each.memory}

        def is_stepped(memory: Memory) -> bool:
            is_of_model = any(memory[: len(each)] == each for each in models)
            return is_parameter(memory) and (is_of_model if models else not is_new(memory))

        if optimizers:
            self._write_tensors(is_stepped, call.lineno)
        return bool(optimizers)

    def _write_tensors(self, is_written: Callable[[Memory], bool], row: int) -> None:
        """Record a write to the tensors whose memory a name refers to, directly or through an array."""
        memories = {each.memory for held in self.names.values() for each in held}
        self.write(frozenset(Reference(memory) for memory in memories if is_written(memory)), row)


def _writes_first(name: str, owner: str) -> bool:
    if name == "shuffle":  # of random, numpy.random and generators
        return True
    is_of_numpy = owner.partition(".")[0] in ("np", "numpy")
    return (is_of_numpy and (name == "at" or name in _OF_NUMPY)) or (owner.endswith("init") and name.endswith("_"))


def _writes_itself(method: str) -> bool:
    """True for a tensor method that writes its receiver: `zero_`."""
    if not method.endswith("_") or method.endswith("__") or method in ("requires_grad_", "detach_"):
        return False
    operator = torch_api.tensor_method(method)
    return operator is not None and "self" in operator.writes


def _is_optimizer(call: ast.Call) -> bool:
    """True for a call that makes an optimizer of parameters: `torch.optim.SGD(net.parameters())`."""
    has_name = re.search(_OPTIMIZER, path_of(call.func) or "") is not None or (last_name(call.func) or "")[:1].isupper()
    return has_name and any(isinstance(each, ast.Call) and last_name(each.func) in _OF_MODULES for each in call.args)
