"""The abstract state of names at one point of a body, in layers: each branch writes to a layer of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.values.joins import join, outlived
from tonumpy.engine.values.values import NOTHING, Mapping, Sequence, Value, same
from tonumpy.engine.values.widening import widened

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Items

DEFAULT_DEVICE = "<default device>"  # set by `with torch.device(...)`
AUTOCAST = "<autocast>"  # the dtype that `with torch.autocast(...)` computes products in, where NumPy lacks it
GRAD_MODE = "<grad mode>"  # whether grad mode is on is a variable of the flow like any other
# That a condition has said that no accelerator is in use. With a dot, as an attribute: behind the branches nothing is
# known of it.
NO_ACCELERATOR = "<accelerator>.none"
# What a call of a function under @contextlib.contextmanager gives: its arguments are what the function yields, and the
# grad mode that it does so in.
GENERATOR_CONTEXT = "contextlib._GeneratorContextManager"


_FAR = 4  # layers
_CONTAINERS = (Sequence, Mapping)


class Environment:
    """Maps a name, or an attribute path (`x`, `self.x`, `batch.labels`), to its value.

    A layer holds only what was written since it was opened, so n branches in a row cost n layers of their own size, not
    n copies of all variables.
    """

    __slots__ = ("_containers", "_inherited", "_paths", "parent", "values")

    def __init__(self, parent: Environment | None = None) -> None:
        self.parent = parent
        self.values: dict[str, Value] = {}
        # Which of the names in `values` are paths, and which have held a list or dict: a change of a container looks at
        # these alone, as a function may have thousands of names.
        self._paths: dict[str, None] = {}
        self._containers: dict[str, None] = {}
        self._inherited: dict[str, Value] = {}  # what layers far below were found to hold; see `get`

    def get(self, name: str) -> Value | None:
        """The value of a name; None if it has none.

        A layer is not written to while another lies on it, so what is found far below is kept halfway: each `elif` lies
        on the one before it.
        """
        value: Value | None = None
        layer: Environment | None = self
        depth = 0
        while layer is not None and value is None:
            value = layer.values.get(name)
            if value is None:
                value = layer._inherited.get(name)
            layer = layer.parent
            depth += 1
        if depth > _FAR and self.parent is not None:
            self.parent._inherited[name] = NOTHING if value is None else value
        return None if value is NOTHING else value

    def items(self) -> list[tuple[str, Value]]:
        """Every name that holds something here."""
        found: dict[str, Value] = {}
        layer: Environment | None = self
        while layer is not None:
            found = {**layer.values, **found}
            layer = layer.parent
        return [(name, value) for name, value in found.items() if value is not NOTHING]

    def containers(self) -> list[tuple[str, Value]]:
        """Every name that holds a list or dict here."""
        names: dict[str, None] = {}
        layer: Environment | None = self
        while layer is not None:
            names = {**layer._containers, **names}
            layer = layer.parent
        found = ((name, self.get(name)) for name in names)
        return [(name, value) for name, value in found if type(value) in _CONTAINERS and value is not None]

    def set(self, name: str, value: Value) -> None:
        """Bind a name to a value."""
        self._write(name, widened(value))

    def update(self, values: Iterable[tuple[str, Value]]) -> None:
        """Bind names to values as they are."""
        for name, value in values:
            self._write(name, value)

    def _write(self, name: str, value: Value) -> None:
        self.values[name] = value
        if "." in name:
            self._paths[name] = None
        if type(value) in _CONTAINERS:
            self._containers[name] = None

    def forget_paths(self, root: str) -> None:
        """Nothing is known any more of the attributes of a name that has been bound anew."""
        self._forget(f"{root}.")

    def forget_keys(self, root: str) -> None:
        """Nothing is known any more of what a container that has been changed holds under its keys."""
        self._forget(f"{root}.[")

    def _forget(self, prefix: str) -> None:
        layer: Environment | None = self
        while layer is not None:
            for name in [name for name in layer._paths if name.startswith(prefix)]:
                self._write(name, NOTHING)
            layer = layer.parent

    def changes_since(self, base: Environment) -> dict[str, Value]:
        """What the layers above `base` have written, the newest write of each name."""
        changes: dict[str, Value] = {}
        layer: Environment | None = self
        while layer is not None and layer is not base:
            changes = {**layer.values, **changes}
            layer = layer.parent
        return changes

    def merge(self, branches: Items[dict[str, Value]]) -> None:
        """Continue after branches that started from this layer, given what each of them wrote."""
        if len(branches) == 1:
            self.update(branches[0].items())
            return
        for name in dict.fromkeys(name for branch in branches for name in branch):
            before = self.get(name)
            merged: Value | None = None
            kept = before
            for branch in branches:
                if name in branch and kept is not None:
                    kept = outlived(kept, branch[name])
            for branch in branches:
                value = branch.get(name, kept)
                if value is NOTHING and "." in name:
                    merged = NOTHING  # a path that one branch knows nothing of
                    break
                if value is not None:
                    merged = value if merged is None else join(merged, value)
            if "." in name and before is None and any(name not in branch for branch in branches):
                merged = NOTHING
            if merged is not None:
                self._write(name, widened(merged))

    def replaced_by_rounds(self, end: dict[str, Value], rounds: Items[dict[str, Value]]) -> dict[str, Value]:
        """What holds after a loop, which has mostly been gone through: what its rounds have replaced is gone then."""
        for changes in rounds:
            for name, value in changes.items():
                if name in end and self.get(name) is not None:
                    end[name] = outlived(end[name], value)
        return end

    def widen(self, name: str, value: Value) -> bool:
        """Join a value that comes round a loop into this layer; return whether that changed anything."""
        before = self.get(name)
        if before is None:
            if "." in name:
                return False
            self._write(name, value)
            return value is not NOTHING
        joined = join(before, value)
        self._write(name, joined)
        return not same(joined, before)
