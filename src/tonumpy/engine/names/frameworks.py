"""The array frameworks that a module's text imports or names."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Protocol

from tonumpy.engine.names.module_use import folder_of
from tonumpy.text.source import Source
from tonumpy.text.uncommented import uncommented


class Neighbours(Protocol):
    """The modules in the same folder; implemented in project.py."""

    def roots_around(self, folder: str) -> frozenset[str]: ...


# Roots of packages whose values have a `.numpy()` that needs no chain, or that mimic torch's API.
# oneflow has torch's API, but its `numpy()` copies from any device and ignores grad (framework/tensor.py in
# github.com/Oneflow-Inc/oneflow), so it counts as foreign too. EagerPy wraps other frameworks' tensors, and its
# `numpy()` detaches and moves them itself (tensor/pytorch.py in github.com/jonasrauber/eagerpy); that of Deep Lake
# reads what is stored (https://docs.deeplake.ai). So do PyKaldi's matrices (https://pykaldi.github.io), ncnn's
# (python/src/main.cpp in github.com/Tencent/ncnn), ANTs' images (https://antspy.readthedocs.io), Dr.Jit's arrays
# (https://drjit.readthedocs.io), of which Mitsuba's are some, and the tensors of cumm, which spconv makes voxels with
# (cumm/tensorview in github.com/FindDefinition/cumm).
FOREIGN = frozenset(
    "tensorflow tensorflow_probability tensorflow_datasets tensorflow_hub tensorflow_addons tensorflow_text"
    " tf_keras keras tensorflow_io tensorflow_graphics tensorflow_federated tensorflow_model_optimization"
    " tf_agents keras_core keras_cv keras_nlp keras_hub paddle paddlenlp paddleseg paddledet ppdet mindspore jax"
    " jaxlib flax haiku optax brax equinox tinygrad mxnet gluonnlp gluoncv oneflow cupy megengine jittor cntk"
    " theano chainer dask polars pyarrow pyspark mlx sonnet trax t5x treex numpyro onnxruntime onnx_ir onnxscript tvm"
    " warp open3d eagerpy deeplake kaldi ncnn ants drjit mitsuba cumm".split()
)
# Those of FOREIGN whose values have `.numpy()`: only they make an unknown receiver doubtful. Most modules that
# import open3d use its older half, which has none, and those that import PyKaldi or ncnn do so for one function.
_RIVALS = FOREIGN - frozenset(
    "onnxruntime polars pyarrow pyspark dask cupy numpyro theano chainer brax optax open3d kaldi ncnn".split()
)
# Of the rivals, those whose values have methods with torch's names (`detach`, `permute`, `unsqueeze`). TensorFlow's
# and JAX's have none of them, and Keras with its torch backend hands out torch tensors, so that beside these the words
# prove a torch tensor, but for the few that they share.
_SAY_WHAT_TORCH_SAYS = frozenset(
    "paddle paddlenlp paddleseg paddledet ppdet tinygrad mxnet gluonnlp gluoncv oneflow jittor mindspore megengine"
    " mlx".split()
)

# Of the others, those whose values have some of torch's words, which then prove nothing by themselves: TensorFlow's
# eager tensors (tensorflow/python/framework/ops.py), Open3D's (open3d.core.Tensor) and EagerPy's (tensor/tensor.py).
_SHARED_WORDS = {
    **dict.fromkeys((root for root in FOREIGN if root.startswith(("tensorflow", "tf_"))), frozenset(("cpu",))),
    "open3d": frozenset(("cpu", "cuda", "contiguous")),
    "eagerpy": frozenset(("softmax", "log_softmax")),
}

# Libraries whose results hold tensors and have methods `cpu`, `cuda`, `detach` and `numpy` of their own.
_HAND_OUT_WRAPPERS = frozenset("mmengine tensordict torchrl".split())
_BUILT_ON_MMENGINE = frozenset(
    "mmdet mmdet3d mmpose mmseg mmaction mmocr mmpretrain mmrotate mmyolo mmagic mmrazor".split()
)
# What these had before mmengine came, and its data elements with it: a `core`, removed since
# (docs/en/migration/package.md in github.com/open-mmlab/mmsegmentation), and the runner of mmcv, removed from mmcv 2.0
# (docs/en/compatibility.md in github.com/open-mmlab/mmcv).
_BEFORE_MMENGINE = r"mmcv\.(?:runner|parallel)\b|\bmm\w+\.core\b"

# A leading `^` would take ten times as long: without it the search jumps from keyword to keyword.
_IMPORTS = (
    re.compile(r"import[ \t]+([A-Za-z_][\w.]*(?:[ \t]*(?:as[ \t]+\w+[ \t]*)?,[ \t]*[A-Za-z_][\w.]*)*)"),
    re.compile(r"from[ \t]+([A-Za-z_]\w*)"),
)
# `pytest.importorskip("torch")` and `importlib.import_module("torch.nn")` bind a module as an import does, and so does
# `_safe_import("torch.nn")` of skbase, which sktime and others are built on.
IMPORTING = frozenset(("importorskip", "import_module", "_safe_import"))
_CALLS = r"""import(?:orskip|_module|__|)\([ \t]*["']([A-Za-z_]\w*)"""
_NAME_IN_TORCH = r"\btorch\.\w"
# The most frequent ones; some other names are English words (`warp`, `ants`).
_OTHERS_NAMED = r"\b(?:tf|jax|jnp)\b|tensorflow|keras|paddle|mxnet|mindspore|tinygrad"
_TORCH = r"torch|pytorch_lightning|lightning|pyro|gpytorch|botorch|fastai|timm|kornia|monai|accelerate"


def _begins_line(text: str, at: int) -> bool:
    """True if only blanks precede a position in its line."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] == "\n"


def imported_roots(text: str) -> frozenset[str]:
    """The root names of all absolute imports in a text, at any depth."""
    said = (
        name.split()[0].partition(".")[0]
        for keyword in _IMPORTS
        for match in keyword.finditer(text)
        if _begins_line(text, match.start())
        for name in match[1].split(",")
    )
    return frozenset((*said, *re.findall(_CALLS, text)))


def roots_in(data: bytes) -> frozenset[str]:
    """The imported roots of a file in any encoding."""
    return imported_roots(data.decode("latin-1"))


def imports_torch(roots: frozenset[str]) -> bool:
    """True if torch or a library built on it is among the imported roots."""
    return any(re.match(_TORCH, root) for root in roots)


def names_torch_alone(text: str) -> bool:
    """True if the text names a member of torch (`torch.x`), no other framework, and does not bind `torch` by `as`."""
    names_torch = re.search(_NAME_IN_TORCH, text) is not None and " as torch" not in text
    return names_torch and re.search(_OTHERS_NAMED, text) is None


def has_rivals(roots: frozenset[str]) -> bool:
    """True if another framework is imported whose values have `numpy()` too."""
    return bool(roots & _RIVALS)


def only_torch_says(roots: frozenset[str]) -> bool:
    """True if no other imported framework has values with torch's method names."""
    return not roots & _SAY_WHAT_TORCH_SAYS


def shared_words(roots: frozenset[str]) -> frozenset[str]:
    """The torch method names that values of another imported framework have too."""
    return frozenset[str]().union(*(_SHARED_WORDS[root] for root in roots & _SHARED_WORDS.keys()))


def hands_out_wrappers(roots: frozenset[str], text: str) -> bool:
    """True if an imported library returns objects with `cpu`, `cuda`, `detach` and `numpy` of their own."""
    if roots & _HAND_OUT_WRAPPERS:
        return True
    return bool(roots & _BUILT_ON_MMENGINE) and re.search(_BEFORE_MMENGINE, text) is None


def foreign_root(name: str) -> str | None:
    """The root of a dotted name if it is another framework's."""
    root = name.partition(".")[0]
    return root if root in FOREIGN else None


class Frameworks:
    """The array frameworks that a module, or its neighbours, import or name; each query is computed once."""

    def __init__(self, source: Source, neighbours: Neighbours) -> None:
        self._source = source
        self._neighbours = neighbours

    @cached_property
    def roots(self) -> frozenset[str]:
        roots = imported_roots(self._source.text)
        # An example in a docstring imports nothing; stripping docstrings pays only if a rival seems imported.
        return imported_roots(uncommented(self._source.text)) if has_rivals(roots) else roots

    @cached_property
    def speaks_of_torch(self) -> bool:
        """True if it imports torch, or names a member of it without an import: after a star import, or in a docstring.
        A module that names another framework too, and imports neither, may receive values of both.
        """
        return imports_torch(self.roots) or (not self.has_rivals and names_torch_alone(self._source.text))

    @cached_property
    def names_torch(self) -> bool:
        """True if it imports torch, or its code, not only a docstring, names it."""
        return imports_torch(self.roots) or "torch" in uncommented(self._source.text)

    @cached_property
    def has_rivals(self) -> bool:
        """True if values of another framework with `numpy()` may occur."""
        return has_rivals(self.roots)

    @cached_property
    def only_torch_says(self) -> bool:
        """True if torch's method names prove a tensor; for a module without a framework its neighbours' imports
        decide."""
        if self.speaks_of_torch or not only_torch_says(self.roots):
            return only_torch_says(self.roots)
        return only_torch_says(self._neighbours.roots_around(folder_of(self._source.filename)))

    @cached_property
    def shared_words(self) -> frozenset[str]:
        """The torch method names that values of another imported framework have too."""
        return shared_words(self.roots)

    @cached_property
    def hands_out_wrappers(self) -> bool:
        """True if library objects with `cpu`, `detach` and `numpy` may occur."""
        return hands_out_wrappers(self.roots, self._source.text)
