"""# A program that names no GPU runs on the CPU (program-on-cpu)

## What it believes

A script or test that names no other device, loads nothing that may have been saved on one, and whose imports are all
visible or known to choose none, runs on the CPU. So does a notebook; its other imports may be unknown, unless they are
known to choose a device themselves, as a trainer does. Of a function that the program itself does not call, this is
believed of gradients and of what the function detaches (`x.grad.numpy()`, `x.detach().numpy()`).

## Why

Nobody else would choose another device for it. Comments and docstrings do not count. Of 1,374 notebooks that name none,
the outputs of two show a GPU: a module beside them had chosen it.

## Example

```python
import torch
from torch import nn


def main():
    net = nn.Module()
    with torch.no_grad():
        print(net.total.numpy())


if __name__ == "__main__":
    main()
```
"""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter, deque
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.knowledge.libraries.rows import gives_plain_values
from tonumpy.engine.names.bindings import Import, imports_of
from tonumpy.engine.names.frameworks import imported_roots
from tonumpy.engine.names.module_names import names_stored
from tonumpy.engine.names.module_words import names_other_devices
from tonumpy.text.syntax import FUNCTIONS, SCOPES, statements_of
from tonumpy.text.uncommented import shows, uncommented

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Items

    from tonumpy.engine.names.module import Module
    from tonumpy.text.candidates import Scope

EFFECT = "silence"
APPLIES_TO = ("parameter", "call result")

_CHOOSING_FOR_ALL = r"set_default_(?:device|tensor_type)\("
_CHOOSING_DEVICES = rf"is_available\(|{_CHOOSING_FOR_ALL}"
_ANY_CUDA = "cuda"
# Calls: what json, yaml and NumPy load holds no tensors, nor does a table of numbers or a set of data.
# The bracket behind a word is looked for first: else a long one would be gone through once for each "load" in it.
_LOADING = (
    r"\b(?<!def )(?<!json\.)(?<!yaml\.)(?<!\bnp\.)(?<!numpy\.)(?=\w+\()\w*load(?!_state|er|txt\(|_dataset\()"
    r"\w*\(|pickle"
)
_SAVING = r"\b(?<!def )(?=\w+\()\w*(?:save|dump)\w*\("
# Libraries that may be out of sight: the others might choose a device by themselves.
_CHOOSE_NO_DEVICE = (
    frozenset(sys.stdlib_module_names)
    | frozenset("torch torchvision torchaudio pytest hypothesis parameterized absl gym gymnasium tqdm yaml".split())
    | frozenset("numpy scipy sklearn pandas matplotlib seaborn PIL cv2 skimage networkx sympy joblib omegaconf".split())
    | frozenset("einops onnx onnxruntime librosa soundfile h5py nibabel shapely ase rdkit pydantic attr click".split())
)
# What takes the accelerator that there is, without being told: all others leave that to their users, who in a notebook
# are in sight.
_CHOOSE_BY_THEMSELVES = frozenset(
    "accelerate autogluon catalyst clip d2l darts fastai fastbook flair gluonts ignite lightning mmcv mmdet".split()
) | frozenset(
    "mmengine pypots pytorch_lightning sentence_transformers simpletransformers stable_baselines3 tsai whisper".split()
)
_CHOOSING_IN_TRANSFORMERS = r"Trainer$|^pipelines?$"
# A device that is chosen in a notebook: to hand on one that is there already, or the name of one, chooses none.
_NO_CHOICE = r"""(?!\s*(?:["']cpu|(?:torch\.)?device\(["']cpu|none\b|(?:[\w\])]+\.)*device\b))"""
_CHOOSING_IN_NOTEBOOK = (
    r"cuda|gpu|accelerat|mps(?<=\bmps)\b|[xnth]pu\b|device_map"
    r"""|device(?<=\bdevice)\((?!\s*["']cpu)"""
    rf"""|device(?<=\bdevice)(?:\s*:\s*[\w.|\[\] ]{{1,40}})?\s*=(?!=){_NO_CHOICE}"""
    rf"""|["']device["']\s*:{_NO_CHOICE}"""
)
# What brings back what was saved wherever it was: weights that a model is filled with stay where the model is.
_LOADING_IN_NOTEBOOK = (
    r"""torch\.load\((?![^\n]*map_location\s*=\s*(?:torch\.device\()?["']cpu)|pickle|joblib\.load\("""
    r"|load_from_checkpoint\(|load_learner\(|load_model\("
)
# The parts of such a library that do not, though others may.
_PARTS_THAT_CHOOSE_NONE = frozenset(
    f"mmengine.{part}" for part in "config fileio logging registry structures testing utils".split()
)


class CpuOnly:
    """A program or a module of tests keeps to the CPU, or one test in it whatever the others do, that names no other
    device and loads nothing that may have been saved on one, where all that it imports is in sight and chooses none.

    The code that a test is for may be told to run elsewhere: the test is what its authors run on every machine.
    """

    def __init__(self, module: Module) -> None:
        self._module = module
        self._known: dict[ast.AST, bool] = {}

    def runs(self, scopes: Items[Scope], *, detaches: bool = False) -> bool:
        """Whether what stands in some scopes is run on the CPU alone.

        `detaches`: it is a gradient, or detached there, by who knows what the program does. Other code may be imported
        from it for other tensors.
        """
        if self._module.use.holds_tests:
            places = [scopes[:1], *(scopes[: depth + 1] for depth, each in enumerate(scopes) if _is_test(each))]
            return any(map(self._keep_to, places))
        return self._module.use.is_script and self._keep_to(scopes[:1]) and (detaches or self._is_used(scopes))

    def has_raised(self, scopes: Items[Scope]) -> bool:
        """Whether what is in some scopes is run by its authors, so that what would raise for its grad has: in a test
        of what is in sight, or of nothing else."""
        module = self._module
        return module.use.holds_tests and (self._tests_what_is_in_sight or self.runs(scopes))

    @cached_property
    def _tests_what_is_in_sight(self) -> bool:
        return any(self._module.resolve(each) is not None for _, each in _imports(self._module))

    def _is_used(self, scopes: Items[Scope]) -> bool:
        """Whether the program itself uses a function or class: others may be imported from it, whatever they bring."""
        outermost = scopes[1] if len(scopes) > 1 else None
        return not isinstance(outermost, SCOPES) or self._times_named[outermost.name] > 1

    @cached_property
    def _times_named(self) -> Counter[str]:
        return Counter(re.findall(r"\w+", self._module.source.text))

    def _keep_to(self, place: Items[Scope]) -> bool:
        if place[-1] not in self._known:
            self._known[place[-1]] = self._are_cpu_only(place)
        return self._known[place[-1]]

    def _are_cpu_only(self, place: Items[Scope]) -> bool:
        """Of all of a module, or of one test in it with the scopes around it."""
        module = self._module
        if module.words.speaks_of_variables:
            return False
        if len(place) == 1:
            text, roots = uncommented(module.source.text), module.frameworks.roots
            imports = [each for _, each in _imports(module)]
        else:
            text = uncommented("\n".join(_texts_run_for(module, place)))
            imports = _imports_named(module, text)
            roots = imported_roots(text) | {each.module.partition(".")[0] for each in imports if not each.level}
        return (
            not self._names_other_devices(text)
            and not self._may_bring(place, text)
            and not any(self._is_out_of_sight(root, imports) for root in roots)
            and not any(self._may_choose(module, each) for each in imports)
            and not (module.use.holds_tests and any(self._may_move(each, text) for each in module.conftests))
        )

    @property
    def _is_notebook(self) -> bool:
        return self._module.text.is_notebook

    def _names_other_devices(self, text: str) -> bool:
        if not names_other_devices(text):
            return False
        return not self._is_notebook or re.search(_CHOOSING_IN_NOTEBOOK, text.lower()) is not None

    def _may_bring(self, place: Items[Scope], text: str) -> bool:
        """Whether something is loaded that was saved elsewhere: a test may load what it has saved itself."""
        if self._is_notebook:
            return re.search(_LOADING_IN_NOTEBOOK, text) is not None
        is_own = len(place) > 1 and re.search(_SAVING, text) is not None
        return not is_own and re.search(_LOADING, text) is not None

    def _may_move(self, given: Module, text: str) -> bool:
        """Whether a conftest.py brings what is run to another device: all that is, or what this text asks it for."""
        if given.words.speaks_of_variables or given.text.says("shows", _CHOOSING_FOR_ALL):
            return True
        _, *reached = _texts_reached(given, text)  # the text itself is the first
        return any(map(names_other_devices, reached)) or any(
            self._may_choose(given, each) for each in _imports_named(given, "\n".join((text, *reached)))
        )

    def _is_out_of_sight(self, root: str, imports: Items[Import]) -> bool:
        """Whether a package is neither in the repository nor known to choose no device."""
        if root in _CHOOSE_NO_DEVICE or gives_plain_values(root):
            return False
        if self._is_notebook and root == "transformers":
            return any(self._is_chosen_by(each) for each in imports if each.module.partition(".")[0] == root)
        if self._is_notebook and root not in _CHOOSE_BY_THEMSELVES:
            return False
        if self._module.project.find(root, self._module.folder) is not None:
            return False
        parts = {".".join(each.module.split(".")[:2]) for each in imports if each.module.partition(".")[0] == root}
        return not parts or not parts <= _PARTS_THAT_CHOOSE_NONE

    def _is_chosen_by(self, imported: Import) -> bool:
        """Whether something of transformers takes the accelerator that there is; of the whole, what is used of it."""
        names = [imported.name] if imported.name else re.findall(r"\btransformers\.(\w+)", self._module.source.text)
        return any(re.search(_CHOOSING_IN_TRANSFORMERS, name) for name in names)

    def _may_choose(self, importing: Module, imported: Import) -> bool:
        """Whether what a module imports may choose a device."""
        module = importing.resolve(imported)
        if module is None:
            return bool(imported.level)
        # A test, as a notebook, says by itself what it wants of a device; a program may leave that to its parts.
        is_complete = self._module.use.holds_tests or self._is_notebook
        chooses = _CHOOSING_DEVICES if is_complete else _ANY_CUDA
        submodule = module.submodule(imported.name) if imported.name is not None else None
        if submodule is not None and submodule.text.says("shows", chooses):
            return True
        if not module.text.says("shows", chooses):
            return False
        if not self._module.use.holds_tests or imported.name not in _parts_of(module).by_name:
            return True
        return any(shows(chooses, text) for text in _texts_reached(module, imported.name))


def _imports(module: Module) -> Iterator[tuple[str, Import]]:
    """All that a module imports, by the name that it gets there."""
    for name, bound in module.names.bindings.items():
        yield from ((name, each) for each in bound if isinstance(each, Import))
    yield from module.names.imports_in_functions.items()


def _imports_named(module: Module, text: str) -> list[Import]:
    words = _words(text)
    return [imported for name, imported in _imports(module) if name in words or name == "*"]


def _is_test(scope: ast.AST) -> bool:
    return isinstance(scope, FUNCTIONS) and scope.name.startswith("test")


class _Parts(NamedTuple):
    """The statements that a module's body is made of."""

    by_name: dict[str, list[ast.stmt]]  # those that bind it, in a branch as well
    always_run: list[ast.stmt]


def _parts_of(module: Module) -> _Parts:
    return module.derived(_find_parts, module.tree)


def _find_parts(tree: ast.Module) -> _Parts:
    """Imports have a name here, but no statement: what they bring is looked into where it is."""
    parts = _Parts({}, [])
    for part in tree.body:
        for statement in statements_of([part]):
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name, _ in imports_of(statement):
                    parts.by_name.setdefault(name, [])
                continue
            if _is_test(statement):
                continue  # which nobody calls but the runner
            names = [statement.name] if isinstance(statement, SCOPES) else names_stored(statement)
            for name in names:
                parts.by_name.setdefault(name, []).append(part)
            if _is_always_run(statement):
                parts.always_run.append(part)
    return parts


def _is_always_run(statement: ast.stmt) -> bool:
    """For what it does, as it is imported or by a runner of tests: `setup_module`, a fixture that nobody asks for."""
    if isinstance(statement, FUNCTIONS):
        calls = [each for each in statement.decorator_list if isinstance(each, ast.Call)]
        is_automatic = any(keyword.arg == "autouse" for call in calls for keyword in call.keywords)
        return is_automatic or statement.name.lower().startswith("setup")
    return isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant)


def _texts_run_for(module: Module, scopes: Items[Scope]) -> Iterator[str]:
    """The texts of a test and of all that is run for it."""
    outermost = scopes[1]
    assert isinstance(outermost, SCOPES)
    return _texts_reached(module, _text_around(module, scopes), outermost.name)


def _texts_reached(module: Module, text: str, *known: str) -> Iterator[str]:
    """A text, and those of the parts of a module that it names, and that these name, and that are always run."""
    parts = _parts_of(module)
    waiting = deque((text, *(_text_of(module, part) for part in parts.always_run)))
    found = set(known)
    while waiting:
        text = waiting.popleft()
        yield text
        named = (_words(text) & parts.by_name.keys()) - found
        found |= named
        waiting += [_text_of(module, part) for name in named for part in parts.by_name[name]]


def _text_around(module: Module, scopes: Items[Scope]) -> str:
    """The text of a test and of the class around it, but for the other tests there."""
    text = module.source.text
    outermost, test = scopes[1], scopes[-1]
    assert isinstance(outermost, SCOPES)
    at, stop = _extent(module, outermost)
    parts = []
    for each in outermost.body if isinstance(outermost, ast.ClassDef) else ():
        if _is_test(each) and each is not test:
            start, end = _extent(module, each)
            parts.append(text[at:start])
            at = end
    return "".join((*parts, text[at:stop]))


def _text_of(module: Module, part: ast.stmt) -> str:
    start, stop = _extent(module, part)
    return module.source.text[start:stop]


def _extent(module: Module, statement: ast.stmt) -> tuple[int, int]:
    """From its first decorator on."""
    start, stop = module.source.extent(statement)
    decorators = statement.decorator_list if isinstance(statement, SCOPES) else ()
    return min((start, *(module.source.extent(each)[0] for each in decorators))), stop


def _words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", text))
