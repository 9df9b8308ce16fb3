"""From a name to what it suggests of a value's risk (`model`, `device`, `loss`); it adds findings, never silences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import have_param_taint, max_device_taint, members
from tonumpy.engine.values.values import Arguments, Constant, NonTensor, Tensor, Unknown, Value
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    import ast
    from collections.abc import Callable

# Where a tensor is sent: that may be an accelerator.
_DEVICES = frozenset(("device", "dev"))
# What learns, and what compares its answers with the right ones, by what it is called as.
_SETTINGS = frozenset("self cls cfg config args opt opts hparams hps settings".split())
_MODELS = frozenset("model net network".split())
_BEFORE_A_PURPOSE = (["to"], ["for"], ["from"], ["of"])  # `convert_to_network(x)` makes what a network takes
_LOSSES = re.compile(r"(^|_)(criterion|loss(_(fn|fun|func|function))?)$")
_OUTPUTS = re.compile(r"(^|_)(outputs?|logits?|preds?|predictions?)$")
_TRAINED = re.compile(r"(^|_)(weights?|bias(es)?|param(eter)?s?|embeddings?|loss(es)?)$")
_COUNTS = re.compile(r"^(num|n|is|has)_|(^|_)(size|names?|count|paths?)$")


def is_device(name: str) -> bool:
    """True for names of devices."""
    return name.rpartition("_")[2] in _DEVICES


def is_model(name: str) -> bool:
    """True for names of models."""
    return name.lower().rpartition("_")[2] in _MODELS


def has_chosen_device(name: str) -> bool:
    """True for names of models, settings and objects, whose `device` somebody has chosen."""
    return is_model(name) or name.rpartition("_")[2] in _SETTINGS


def counts_or_names(name: str) -> bool:
    """Whether an attribute of this name is a number or a text, of whatever object: `batch.num_graphs`."""
    return _COUNTS.search(name) is not None


def is_output(name: str) -> bool:
    """True for names of model outputs: as parameters of `forward` they require grad in training."""
    return _OUTPUTS.search(name) is not None


def may_be_trained(name: str) -> bool:
    """True for names of model outputs, of losses and of parameters."""
    return is_output(name) or _TRAINED.search(name) is not None


def made_by_model(result: Value, function: ast.expr, arguments: Arguments, is_function: Callable[[], bool]) -> Value:
    """What something that is called a model makes, and what a loss makes of that, where nothing better is known of it:
    it is where that is, and, made while grad mode may be on, it requires grad as its parameters do.

    What is a function or a method, as `train_model`, is no model if it is called anything beside.
    """
    if not isinstance(result, Unknown):
        return result
    if arguments.named_value("output_type") is not None:
        return result  # that of a pipeline, which runs without grad and is asked for arrays or images
    name = (last_name(function) or "").lower()
    given = tuple(arguments.values())
    if not arguments.has_star and _are_arrays(given):
        return result  # a module of torch takes no arrays
    device_taint = max(result.device_taint, max_device_taint(given))
    may_learn = result.requires_grad is None
    is_called_so = is_model(name) and name.split("_")[-2:-1] not in _BEFORE_A_PURPOSE
    if name in _MODELS or (is_called_so and not is_function()):
        return result._replace(param_taint=may_learn, device_taint=device_taint)
    if _LOSSES.search(name) is None:
        return result
    return result._replace(
        reason=Reason.LOSS, param_taint=may_learn and have_param_taint(given), device_taint=device_taint
    )


def _are_arrays(given: tuple[Value, ...]) -> bool:
    """Whether there are arrays of NumPy, and nothing else but numbers and the like."""
    others = [value for value in given if not _may_be_array(value)]
    plain = (isinstance(part, (NonTensor, Constant)) for value in others for part in members(value))
    return len(others) < len(given) and all(plain)


def _may_be_array(value: Value) -> bool:
    """Whether it is an array on one path, and no tensor on any: `state = env.reset()`, then what the model gives."""
    parts = members(value)
    is_array = any(isinstance(part, NonTensor) and part.dimensions is not None for part in parts)
    return is_array and not any(isinstance(part, Tensor) for part in parts)
