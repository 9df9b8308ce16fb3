"""From a value and the basis of a habit to the value with what the habit says of the tensors in it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.values.value_facts import believed, mapped
from tonumpy.engine.values.values import Tensor, Unknown, Value

if TYPE_CHECKING:
    from tonumpy.engine.values.evidence import Basis


def without_grad(value: Value, basis: Basis | None) -> Value:
    """The value, with every tensor in it that may require grad taken not to; itself if there is no basis."""
    if basis is None:
        return value
    if isinstance(value, (Tensor, Unknown)):
        return believed(value, basis, requires_grad=False)
    return mapped(value, lambda part: without_grad(part, basis))


def left_on_cpu(value: Value, basis: Basis | None) -> Value:
    """The value, with every tensor in it that was not sent anywhere taken to be on the CPU; itself if there is no
    basis."""
    if basis is None:
        return value
    if isinstance(value, (Tensor, Unknown)):
        return value if value.device_taint else believed(value, basis, on_cpu=True)
    return mapped(value, lambda part: left_on_cpu(part, basis))
