"""The habit program-on-cpu: a script, notebook or test that names no other device runs on the CPU."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Sequence as Items
from functools import cached_property

from tonumpy.engine.knowledge.libraries.rows import gives_plain_values
from tonumpy.engine.names.bindings import Import
from tonumpy.engine.names.module import Module
from tonumpy.engine.names.module_words import names_other_devices
from tonumpy.text.candidates import Scope
from tonumpy.text.syntax import FUNCTIONS, SCOPES
from tonumpy.text.uncommented import uncommented

_CHOOSING = r"is_available\(|set_default_(?:device|tensor_type)\("
_LOADING = (
    r"\b(?<!def )(?<!json\.)(?<!yaml\.)(?<!\bnp\.)(?<!numpy\.)(?=\w+\()\w*load(?!_state|er|txt\(|_dataset\()"
    r"\w*\(|pickle"
)
_CHOOSE_NONE = (
    frozenset(sys.stdlib_module_names)
    | frozenset("torch torchvision torchaudio pytest hypothesis parameterized absl gym gymnasium tqdm yaml".split())
    | frozenset("numpy scipy sklearn pandas matplotlib seaborn PIL cv2 skimage networkx sympy joblib omegaconf".split())
    | frozenset("einops onnx onnxruntime librosa soundfile h5py nibabel shapely ase rdkit pydantic attr click".split())
)
_CHOOSE_BY_THEMSELVES = frozenset(
    "accelerate autogluon catalyst clip d2l darts fastai fastbook flair gluonts ignite lightning mmcv mmdet mmengine"
    " pypots pytorch_lightning sentence_transformers simpletransformers stable_baselines3 tsai whisper".split()
)
# A device that is chosen in a notebook; passing on an existing device, or its name, is no choice.
_NO_CHOICE = r"""(?!\s*(?:["']cpu|(?:torch\.)?device\(["']cpu|none\b|(?:[\w\])]+\.)*device\b))"""
_CHOOSING_IN_NOTEBOOK = re.compile(
    r"cuda|gpu|accelerat|mps(?<=\bmps)\b|[xnth]pu\b|device_map"
    r"""|device(?<=\bdevice)\((?!\s*["']cpu)"""
    rf"""|device(?<=\bdevice)(?:\s*:\s*[\w.|\[\] ]{{1,40}})?\s*=(?!=){_NO_CHOICE}"""
    rf"""|["']device["']\s*:{_NO_CHOICE}"""
)
_LOADING_IN_NOTEBOOK = (
    r"""torch\.load\((?![^\n]*map_location\s*=\s*(?:torch\.device\()?["']cpu)|pickle|joblib\.load\("""
    r"|load_from_checkpoint\(|load_learner\(|load_model\("
)


class CpuOnly:
    """The test whether a program, or a test function in it, runs on the CPU alone."""

    def __init__(self, module: Module) -> None:
        self._module = module

    def runs(self, scopes: Items[Scope], *, detaches: bool = False) -> bool:
        """True if the code in these scopes runs on the CPU alone."""
        use = self._module.use
        if use.holds_tests:
            if any("cuda" in conftest.source.text for conftest in self._module.conftests):
                return False
            return self._is_cpu_only or any(
                isinstance(each, FUNCTIONS) and each.name.startswith("test") and self._test_keeps_to_it(each, scopes)
                for each in scopes
            )
        if not use.is_script or not self._is_cpu_only:
            return False
        outermost = scopes[1] if len(scopes) > 1 else None
        is_used = not isinstance(outermost, SCOPES) or len(self._module.source.rows_with_name(outermost.name)) > 1
        return detaches or is_used

    def has_raised(self, scopes: Items[Scope]) -> bool:
        """True in tests of this repository's modules, or on the CPU alone: their authors run them and would see an
        error."""
        return self._module.use.holds_tests and (self._tests_own_code or self.runs(scopes))

    @cached_property
    def _imports(self) -> list[Import]:
        names = self._module.names
        found = [each for bound in names.bindings.values() for each in bound if isinstance(each, Import)]
        return [*found, *names.imports_in_functions.values()]

    @cached_property
    def _tests_own_code(self) -> bool:
        return any(self._module.resolve(each) is not None for each in self._imports)

    def _test_keeps_to_it(self, test: ast.FunctionDef | ast.AsyncFunctionDef, scopes: Items[Scope]) -> bool:
        decorated = (each for each in scopes if isinstance(each, SCOPES))
        decorators = [self._module.source.text_of(part) for each in decorated for part in each.decorator_list]
        text = uncommented("\n".join((self._module.source.text_of(test), *decorators)))
        names = set(re.findall(r"\w+", text))
        helpers = [each for name in names for each in self._module.names.bindings.get(name, ())]
        parts = [self._module.source.text_of(each) for each in helpers if isinstance(each, ast.stmt)]
        text = uncommented("\n".join((text, *parts)))
        return not names_other_devices(text) and re.search(_LOADING, text) is None and self._brings_none(names)

    def _brings_none(self, names: set[str]) -> bool:
        bindings = self._module.names.bindings
        imports = [each for name in names for each in bindings.get(name, ()) if isinstance(each, Import)]
        return not any(map(self._may_choose, imports))

    @cached_property
    def _is_cpu_only(self) -> bool:
        module = self._module
        text = uncommented(module.source.text)
        is_notebook = module.is_notebook
        if module.words.speaks_of_variables or re.search(_LOADING_IN_NOTEBOOK if is_notebook else _LOADING, text):
            return False
        if names_other_devices(text) and not (is_notebook and not _CHOOSING_IN_NOTEBOOK.search(text.lower())):
            return False
        return not any(map(self._may_choose, self._imports))

    def _may_choose(self, imported: Import) -> bool:
        """True if an imported module may choose a device."""
        root = imported.module.partition(".")[0]
        if not imported.level and (root in _CHOOSE_NONE or gives_plain_values(root)):
            return False
        module = self._module.resolve(imported)
        if module is None:
            if not imported.level and self._module.project.find(root, self._module.folder) is not None:
                return False  # a package of the repository: `import package`
            return not (self._module.is_notebook and root not in _CHOOSE_BY_THEMSELVES)
        is_complete = self._module.use.holds_tests or self._module.is_notebook
        return module.source.says(_CHOOSING if is_complete else "cuda")
