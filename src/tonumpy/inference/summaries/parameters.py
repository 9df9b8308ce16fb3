"""From a function to its parameters' declared values (annotations, defaults, names), and to those bound by a call."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import arguments_of, decorator_names, defaults_of, given_to, parameter_names
from tonumpy.engine.names.module_words import names_other_devices
from tonumpy.engine.names.moved_callbacks import called_on_cpu
from tonumpy.engine.names.references import (
    is_called_on_others,
    is_called_on_self_alone,
    is_named_again,
    places_that_name,
)
from tonumpy.engine.names.slices import Slicer
from tonumpy.engine.values.beliefs import left_on_cpu, without_grad
from tonumpy.engine.values.joins import join, join_all, sequence_of
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import max_device_taint, may_be, with_evidence, with_facts_of
from tonumpy.engine.values.values import (
    NONE,
    NOTHING,
    Arguments,
    Class,
    Function,
    Instance,
    Mapping,
    NonTensor,
    Nothing,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.inference.habits import callback_on_cpu, collate_function, sample_parameter
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.annotations import value_of_annotation
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.habit_heuristics import apply_name_habits, kept_as_data
from tonumpy.inference.transfer.name_heuristics import is_output

if TYPE_CHECKING:
    from tonumpy.engine.names.references import Reference
    from tonumpy.inference.summaries.analysis import Analysis
    from tonumpy.inference.transfer.frame import Frame


class Parameters:
    """Parameters of functions; declared values are computed once."""

    def __init__(self, analysis: Analysis) -> None:
        self._analysis = analysis
        self._declared: dict[tuple[object, ...], dict[str, Value]] = {}

    def declared(self, function: Function) -> dict[str, Value]:
        """The value of each parameter that annotations, defaults and names declare."""
        key = (id(function.node), id(function.closure), function.owner)
        known = self._declared.get(key)
        if known is None:
            known = self._declared[key] = self._declare(function)
        return known

    def _declare(self, function: Function) -> dict[str, Value]:
        frame = self._analysis.definition_frame(function)
        arguments = function.node.args
        found: dict[str, Value] = {}
        for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
            value = self.annotated(frame, parameter.annotation)
            if isinstance(value, Unknown):
                value = Unknown(Reason.PARAMETER)
            elif may_be(value, Tensor) and _has_keys(function, parameter.arg):
                value = Unknown(Reason.PARAMETER, is_no_tensor=True)  # whatever the annotation says
            where = frame.at(parameter.lineno)
            found[parameter.arg] = apply_name_habits(value, parameter.arg, where)
        if arguments.vararg:
            inner = self.annotated(frame, arguments.vararg.annotation)
            found[arguments.vararg.arg] = Sequence(
                None, Unknown(Reason.PARAMETER) if isinstance(inner, Unknown) else inner
            )
        if arguments.kwarg:
            found[arguments.kwarg.arg] = Unknown(Reason.PARAMETER)
        for name, default in defaults_of(arguments):
            if isinstance(default, ast.Constant) and default.value is None:
                found[name] = join(found[name], NONE)
            elif isinstance(found[name], Unknown) and _is_literal(default):
                # A parameter whose default is a number, a string or several of them takes those.
                found[name] = NonTensor("literal")
        first = self._first_parameter(function)
        if first is not None and function.owner is not None:
            found[first] = self._analysis.modules.while_constructed(Instance(function.owner), function.node)
        self._take_for_data(function, frame, found, first)
        owner = function.owner if getattr(function.node, "name", "") == "forward" else None
        if owner is not None and self._analysis.kinds.is_module(owner):
            found.update(
                (name, value._replace(param_taint=True))
                for name, value in found.items()
                if isinstance(value, Unknown) and is_output(name)
            )
        library = library_values.hook_parameters(self._analysis, function)
        for name, value in library.items():
            if name in found:
                found[name] = _passed_by_library(found[name], value)
        return found

    def _take_for_data(self, function: Function, frame: Frame, found: dict[str, Value], first: str | None) -> None:
        """What is given as data, by the habits of those who call such a function."""
        samples = next((parameter.arg for parameter in function.node.args.args if parameter.arg != first), None)
        if samples is not None and _collates(function):
            where = frame.at(function.node.lineno)
            basis = where.habit("collate-function", "a collate function gets items of a dataset")
            found[samples] = kept_as_data(found[samples], basis)
        taker = taker_on_cpu(self._analysis, function)
        if taker is not None:
            basis = callback_on_cpu.basis(function.node.name, taker, frame.at(function.node.lineno))  # type: ignore[union-attr]
            found.update((name, without_grad(left_on_cpu(value, basis), basis)) for name, value in found.items())

        for given in self._data_given(function):
            where = frame.at(function.node.lineno)
            basis = where.habit("sample-parameter", f"`{given}` comes from the Dataset that defines this method")
            found[given] = kept_as_data(found[given], basis)

    def _data_given(self, function: Function) -> list[str]:
        """The parameters of a method of a Dataset that are data: all, where it does a part of the Dataset's own work;
        else those that are called a sample of it, where its class speaks of no device and its module shows no call."""
        node, owner, module = function.node, function.owner, function.module
        if owner is None or isinstance(node, ast.Lambda) or node.name.startswith("__"):
            return []
        if not self._analysis.kinds.is_dataset(owner):
            return []
        parameters = [parameter.arg for parameter in node.args.args]
        if is_called_on_self_alone(module, owner.node, node):
            return parameters
        samples = list(filter(sample_parameter.is_meant, parameters))
        if not samples or is_called_on_others(module, owner.node, node):
            return []
        return [] if names_other_devices(module.text.of(owner.node)) else samples

    def _first_parameter(self, function: Function) -> str | None:
        """`self` of a method; None for plain functions, static and class methods."""
        node = function.node
        if function.owner is None or isinstance(node, ast.Lambda) or node not in function.owner.node.body:
            return None
        if decorator_names(node) & {"staticmethod", "classmethod"}:
            return None
        parameters = parameter_names(node.args)
        return parameters[0] if parameters else None

    def bind_arguments(self, function: Function, receiver: Value | None, arguments: Arguments) -> dict[str, Value]:
        """The value of each parameter at a call: the argument, or the default, or the annotation's value."""
        node = function.node
        parameters = [parameter.arg for parameter in (*node.args.posonlyargs, *node.args.args)]
        values = dict(self.declared(function))
        given: dict[str, Value] = {}
        positional = list(arguments.positional) if receiver is None else [receiver, *arguments.positional]
        given.update(zip(parameters, positional, strict=False))
        if node.args.kwarg:
            extra = tuple((name, value) for name, value in arguments.named if name not in values)
            given[node.args.kwarg.arg] = Mapping(extra, Unknown(Reason.CONTENT) if arguments.has_star else NOTHING)
        if node.args.vararg:
            rest = positional[len(parameters) :]
            given[node.args.vararg.arg] = (
                Sequence(None, join_all((*rest, arguments.starred))) if arguments.has_star else sequence_of(rest)
            )
        given.update({name: value for name, value in arguments.named if name in values})
        frame = self._analysis.definition_frame(function)
        # `show(*pair)`: the parameters that are left are its items, or what their defaults say.
        under_star = arguments.starred if arguments.has_star and not arguments.hides_names else NOTHING
        left = parameters[len(positional) :] if not isinstance(under_star, Nothing) else ()
        hidden = dict.fromkeys((name for name in left if name not in given), under_star)
        if not arguments.has_star or hidden:
            for name, default in defaults_of(node.args):
                if name not in given:
                    given[name] = join(_default(frame, function, default), hidden.pop(name, NOTHING))
            given.update(hidden)
        for name, value in given.items():
            if name in values:
                values[name] = self.combine_annotation(value, values[name])
        return values

    def annotated(self, frame: Frame, annotation: ast.expr | None) -> Value:
        """The value that an annotation, evaluated in `frame`, promises."""

        def resolve(node: ast.expr) -> Value:
            value = evaluate(frame, node)
            if not isinstance(value, Class):
                return value
            return (
                Symbol("torch.Tensor")
                if self._analysis.kinds.makes_tensors(value)
                else self._analysis.kinds.typed_dict(value) or value
            )

        return value_of_annotation(annotation, resolve)

    def combine_annotation(self, seen: Value, declared: Value) -> Value:
        """The value `seen`, given the declared kind if its own kind is unknown."""
        if isinstance(declared, (Unknown, Nothing)):
            return seen
        if isinstance(seen, Union) and any(isinstance(member, Unknown) for member in seen.members):
            return join_all(self.combine_annotation(member, declared) for member in seen.members)
        if isinstance(seen, Tensor) and isinstance(declared, Tensor):
            certainty = seen.certainty if declared.certainty != "tensor" else "tensor"
            return seen._replace(dtype=seen.dtype or declared.dtype, certainty=certainty)
        if not isinstance(seen, Unknown):
            return seen
        # Another value of a declared union stays possible; only the tensors in it share the facts.
        return with_facts_of(declared, seen)


def _default(frame: Frame, function: Function, node: ast.expr) -> Value:
    """What a default is; a variable that is bound again below the function was another there."""
    bindings = function.module.names.bindings.get(node.id, []) if isinstance(node, ast.Name) else []
    is_bound_below = any(isinstance(each, ast.stmt) and each.lineno > function.node.lineno for each in bindings)
    return Unknown(Reason.NAME) if is_bound_below and len(bindings) > 1 else evaluate(frame, node)


def _has_keys(function: Function, name: str) -> bool:
    node = function.node
    return not isinstance(node, ast.Lambda) and function.module.derived(Slicer, node).flow.has_keys(name)


def _collates(function: Function) -> bool:
    """Whether a loader may call it to make a batch of what its dataset holds."""
    node = function.node
    if isinstance(node, ast.Lambda):
        return False
    name = function.owner.node.name if node.name == "__call__" and function.owner else node.name
    return collate_function.is_meant(name)


def _is_literal(node: ast.expr) -> bool:
    """A number or string, or a tuple or list of them that is not empty."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    if isinstance(node, (ast.Tuple, ast.List)):
        return bool(node.elts) and all(map(_is_literal, node.elts))
    return isinstance(node, ast.Constant) and node.value is not None


def _passed_by_library(known: Value, passed: Value) -> Value:
    """A parameter of a method that a library calls, with what the library passes: a batch, or the module itself."""
    taint = max_device_taint((passed,))
    if isinstance(known, Instance):
        return known._replace(device_taint=max(known.device_taint, taint))
    return with_evidence(known, taint, param_taint=False) if taint else passed


def taker_on_cpu(analysis: Analysis, function: Function) -> str | None:
    """The name of such a class; None where the function is called by its name, or handed to anything else."""
    node, module = function.node, function.module
    if isinstance(node, ast.Lambda) or _is_method(function) or node.decorator_list:
        return None
    if not is_named_again(module, node.name):
        return None
    takers = {
        _taker(analysis, function, each)
        for each in places_that_name(module, node.name)
        if not each.is_attribute and node not in each.scopes
    }
    return takers.pop() if len(takers) == 1 else None


def _is_method(function: Function) -> bool:
    return function.owner is not None and function.node in function.owner.node.body


def _taker(analysis: Analysis, function: Function, place: Reference) -> str | None:
    call = place.passed_to
    if call is None or not isinstance(call.func, (ast.Name, ast.Attribute)):
        return None
    taker = evaluate(analysis.module_scope(function.module), call.func)
    if not isinstance(taker, Class) or taker.module is function.module:
        return None
    made = analysis.classes.method(taker, "__init__")
    if made is None or made.owner is None:
        return None
    owner, given = made.owner, given_to(parameter_names(made.node.args)[1:], call, arguments_of(call))
    is_called = owner.module.derived_in(called_on_cpu, owner.node, "").__contains__
    return taker.node.name if any(value is place.node and is_called(name) for name, value in given.items()) else None
