"""Marks tensors that autograd makes in C++, where Python first sees them: `.grad`, hooks, `Function.backward`, results.

A gradient gets the device of its tensor; a tensor seen in a backward pass without that, the device of the pass's roots.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.autograd.graph
import torch.utils.checkpoint
from torch.autograd.function import BackwardCFunction
from torch.utils.hooks import BackwardHook

from tonumpy.rehearsal.standin import marks
from tonumpy.rehearsal.standin.marks import STATE, UNKNOWN, Tensor, count_modes, mark_of, put, storage_of, tensors_in
from tonumpy.rehearsal.standin.operators import Look
from tonumpy.rehearsal.standin.patches import Patches


def patch(patches: Patches, look: Look) -> None:
    """Patch these places; `look` gets gradients that lie on another device than their tensors."""
    for module in (torch.autograd, torch.autograd.graph):
        patches.around(module, "_engine_run_backward", functools.partial(_run_engine, look))
    _patch_gradients(patches)
    patches.around(Tensor, "register_hook", _register_hook)
    patches.around(BackwardCFunction, "apply", _run_marked)
    patches.around(BackwardHook, "__init__", _begin_hook)
    patches.put(torch.utils.checkpoint._allowed_determinism_checks_to_fns, "default", _checked_of)


def _checked_of(tensor: Any) -> tuple[Any, ...]:
    """The metadata that a checkpoint compares after recomputation: not the device, as a tensor saved in C++ has no mark
    yet."""
    return tensor.shape, tensor.dtype


def _run_marked(run: Any, owner: Any, *gradients: Any) -> Any:
    """Run a `Function.backward` or a module hook after marking its gradients with the device of the pass."""
    for each in tensors_in(gradients):
        mark_of(each)
    return run(owner, *gradients)


def _begin_hook(begin: Any, hook: Any, module: Any, *user_hooks: Any) -> None:
    begin(hook, module, *([functools.partial(_run_marked, each) for each in hooks] for hooks in user_hooks))


def _run_engine(look: Look, run: Any, outputs: Any, *args: Any, **kwargs: Any) -> Any:
    root = marks.first_of([mark_of(each) for each in tensors_in(outputs)])
    for each, gradient in zip(outputs, args[0], strict=False):
        if isinstance(each, Tensor) and isinstance(gradient, Tensor):
            look("backward", (), [each, gradient], [mark_of(each), mark_of(gradient)])
    STATE.here.backward.append(root)
    try:
        results = run(outputs, *args, **kwargs)
    finally:
        STATE.here.backward.pop()
    inputs = args[3] if len(args) > 3 else kwargs.get("inputs", ())
    for each, result in zip(inputs, results or (), strict=False):
        if isinstance(each, Tensor) and isinstance(result, Tensor):
            put(result, mark_of(each))
    return results


def _patch_gradients(patches: Patches) -> None:
    grad = marks.Base.grad
    get = grad.__get__

    def grad_of(self: Any) -> Any:
        found = get(self)
        if found is None:
            return None
        if type(found) is Tensor and not count_modes():  # optimizers read it again and again
            try:
                storage = storage_of(found)
                if storage.mark is UNKNOWN:
                    storage.mark = mark_of(self)
                return found
            except marks.WITHOUT_STORAGE:
                pass
        put(found, mark_of(self))
        return found

    patches.replace(Tensor, "grad", property(grad_of, grad.__set__, grad.__delete__, grad.__doc__))


def _register_hook(register: Any, tensor: Any, hook: Any) -> Any:
    mark = mark_of(tensor)
    return register(tensor, functools.wraps(hook)(lambda gradient: hook(marks.put_all(gradient, mark))))
