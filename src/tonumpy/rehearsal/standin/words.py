"""What C++ says of the device, in errors of autograd and in the text of compiled code -> the program's words."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import torch
import torch.autograd.graph

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.rehearsal.standin.names import Names
    from tonumpy.rehearsal.standin.patches import Patches

_TEXTS = ("__str__", "__repr__")
_OF_GRAPHS = ("Graph", "Node", "Value", "Block")
_OF_CODE = ("ScriptFunction", "ScriptMethod")


def patch(patches: Patches, names: Names) -> None:
    """Let it be said so until `patches` are restored."""
    in_text, base = names.in_text, torch._C.TensorBase

    def saying(function: Callable[..., Any], name: str) -> Callable[..., Any]:
        def said(*args: Any, **kwargs: Any) -> Any:
            try:
                return function(*args, **kwargs)
            except RuntimeError as error:
                error.args = tuple(in_text(each) if isinstance(each, str) else each for each in error.args)
                raise

        said.__name__ = said.__qualname__ = name
        return said

    run = saying(torch.autograd.graph._engine_run_backward, "_engine_run_backward")
    for module in (torch.autograd.graph, torch.autograd):
        patches.replace(module, "_engine_run_backward", run)
    grad = vars(base)["grad"]
    put = saying(grad.__set__, "grad")
    patches.replace(torch.Tensor, "grad", property(grad.__get__, put, grad.__delete__, grad.__doc__))
    patches.replace(torch.Tensor, "set_", saying(base.set_, "set_"))
    for name in _OF_GRAPHS:
        for text in _TEXTS:
            shown = getattr(getattr(torch._C, name), text)
            patches.replace(getattr(torch._C, name), text, _told(shown, in_text))
    for name in _OF_CODE:
        shown = getattr(torch._C, name).code.__get__
        patches.replace(getattr(torch._C, name), "code", property(_told(shown, in_text)))


def _told(shown: Callable[[Any], str], in_text: Callable[[str], str]) -> Callable[[Any], str]:
    return lambda self: in_text(shown(self))
