"""From a call of a function that pyproject.toml makes a promise about to the promised value."""

from __future__ import annotations

import ast
import os

from tonumpy.inference.knowledge.libraries.rows import Promise
from tonumpy.inference.lattice.values import Arguments, BoundMethod, Class, Function, Instance, ModuleValue, Value
from tonumpy.inference.transfer.members import attribute_of
from tonumpy.inference.transfer.promise_calls import keep
from tonumpy.lazy_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from tonumpy.inference.index.module import Module
    from tonumpy.inference.transfer.frame import Frame
    from tonumpy.promises import OwnPromise

_CALLS = ("__call__", "forward")


class OwnPromises:
    """The promises of the settings of one file, by name and by the functions of the repository that they are about."""

    def __init__(self, module: Module) -> None:
        self._module = module  # the one that is looked at
        self._by_name = {row.function: _promise(row) for row in module.promises}
        self._by_place: dict[tuple[str, int], Promise] | None = None

    def call_of_library(self, frame: Frame, name: str, owner: Value | None, arguments: Arguments) -> Value | None:
        """Of a function that is not in sight."""
        promise = self._by_name.get(name) if self._by_name else None
        return None if promise is None else keep(frame, promise, owner, arguments)

    def call_of_repository(
        self, frame: Frame, function: Function | BoundMethod | Instance, arguments: Arguments
    ) -> Value | None:
        """Of a function that is defined in the repository, whatever its body says."""
        if not self._by_name:
            return None
        if self._by_place is None:
            self._by_place = {}  # what is asked meanwhile is not promised yet
            self._by_place = self._places(frame)
        if isinstance(function, Instance):
            methods = (frame.analysis.classes.method(function.cls, name) for name in _CALLS)
            called, owner = next(filter(None, methods), None), function
        else:
            called = function.function if isinstance(function, BoundMethod) else function
            owner = function.receiver if isinstance(function, BoundMethod) else None  # type: ignore[assignment]
        promise = None if called is None else self._by_place.get(_place(called))
        return None if promise is None else keep(frame, promise, owner, arguments)

    def _places(self, frame: Frame) -> dict[tuple[str, int], Promise]:
        found = {}
        for name, promise in self._by_name.items():
            function = _function_called(frame, name, self._module)
            if function is not None:
                found[_place(function)] = promise
        return found


def _promise(row: OwnPromise) -> Promise:
    said: dict[str, Any] = {"device": row.device, "grad": row.grad}
    return Promise(
        row.returns,
        **said,
        dtype=row.dtype,
        when=(),
        position=row.position,
        keyword=row.keyword,
        name=row.function,
        source=row.source or "pyproject.toml",
    )


def _function_called(frame: Frame, name: str, module: Module) -> Function | None:
    """The function of the repository that is imported by a name, be it from where it is defined or not."""
    parts = name.split(".")
    for count in range(len(parts) - 1, 0, -1):
        found = module.project.find(".".join(parts[:count]), module.folder)
        if found is None:
            continue
        value: Value = ModuleValue(found)
        for part in parts[count:]:
            method = frame.analysis.classes.method(value, part) if isinstance(value, Class) else None
            value = method or attribute_of(frame, value, part)
        if isinstance(value, Function):
            return value
    return None


def _place(function: Function) -> tuple[str, int]:
    """What tells a function from others, also where its file has been read twice."""
    node = function.node
    row = node.body.lineno if isinstance(node, ast.Lambda) else node.lineno
    return os.path.abspath(function.module.filename), row
