"""Decides by the text of a file whether it may contain a conversion. A file that cannot costs no more than reading it.

Imports nothing of the package: most runs, in a pre-commit hook, end here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache, partial

# A file without this text has no call of a method named `numpy`, so it need not be parsed.
CANDIDATE = ".numpy("
# The method itself, called with its tensor or passed on: `map(torch.Tensor.numpy, tensors)`.
UNBOUND = "Tensor.numpy"

# A file passes a tensor to a library that converts it only if it names torch and imports one of these, and that can go
# wrong only with one of RISKY_WORDS.
CONSUMERS = frozenset(
    (
        "aim albumentations altair anndata antropy ase astropy autograd av awkward bayes_opt bitarray blosc2 bokeh "
        "bottleneck casadi catboost cbor2 chromadb cma corner cupy cv2 cvxpy dask datasets dtaidistance emcee faiss "
        "fastdtw filterpy fpsample geopandas gradio gudhi gym gymnasium h5py healpy hmmlearn hnswlib holoviews "
        "igraph imageio imblearn jax json k3d lancedb lap laspy librosa lightgbm lime lmfit mahotas matplotlib "
        "MDAnalysis meshio mlflow mlxtend mne moviepy mpl_toolkits msgpack netCDF4 networkx nevergrad nibabel "
        "noisereduce numcodecs numdifftools numexpr numpy obspy onnx onnxruntime open3d optax optuna orjson "
        "osqp pandas persim pesq pgvector PIL plotly polars pyarrow pycocotools pydub pyemd pynndescent pystoi "
        "pyvista pywt qdrant_client rasterio rdkit rerun ripser ruptures safetensors scanpy scipy seaborn shap "
        "shapely SimpleITK skimage sklearn soundfile sparse statistics statsmodels streamlit stumpy supervision "
        "tensorboardX tensorstore tifffile trimesh tslearn ujson umap usearch vedo visdom vispy voyager wandb "
        "xarray xgboost zarr"
    ).split()
)
# Without these words the import of json, which is common, does not count; `json.load` takes no tensor.
_WORDS_OF_JSON = ("json.dump", "json import")
# Libraries that accept nearly all CPU tensors, so that a file must also contain one of RISKY_WORDS.
_TAKES_PLAIN = frozenset("numpy matplotlib mpl_toolkits pandas scipy seaborn sklearn".split())
# In torch itself, which every such file imports, only these functions convert: `torch.from_dlpack(x)`.
OF_TORCH = "_dlpack"
# Separators of the names in a line of an import, in a notebook too.
_PARTING = str.maketrans(dict.fromkeys(",.;()\\\"'=", " "))
LACKED_BY_NUMPY = (
    *("bfloat16", "float8", "complex32", "chalf", "quantize_per", "mkldnn", "to_sparse", "sparse_c", ".conj("),
)
# Functions other than `.numpy()` that let an array and a tensor share memory.
SHARERS = (
    *("from_numpy", "as_tensor", "asarray", "asanyarray", "asarray_chkfinite", "asmatrix", "frombuffer", "from_dlpack"),
)
# Signs of an asynchronous copy: the keyword, or `x.to("cpu", torch.float32, True)`.
_COPIES = ("non_blocking", ", True)")
# NumPy functions that return booleans; given a tensor, they return a tensor of uint8.
BOOLEAN_UFUNCS = (
    *("isnan", "isfinite", "isinf", "signbit", "greater", "greater_equal", "less", "less_equal", "equal", "not_equal"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "contains_xy", "intersects_xy"),
)
_MAKERS_OF_MASKS = tuple(f"{name}(" for name in BOOLEAN_UFUNCS)
# Signs of libraries and operations that take a tensor for one object, or its items for keys.
_TAKING = (
    *("import pandas", "import xarray", "import polars", "import csv", "from pandas", "from xarray", "from polars"),
    *("from csv", "ruptures", "seaborn", "plotly", "argwhere(", "nonzero(", "np.size(", "numpy.size(", " in {"),
    *(" set(", "(set(", "[set(", "frozenset(", "Counter(", ".fromkeys(", "statistics", "= {}", "defaultdict("),
)
RISKY_WORDS = (
    *("cuda", "device", ".to(", "requires_grad", "Parameter", "backward", ".xpu", ".npu", *LACKED_BY_NUMPY),
    *("model(", "net(", "network(", "nn.", ".weight", ".bias", ".parameters("),  # what requires grad
    "LightningModule",
)


def kinds_in(data: str | bytes) -> Iterator[str]:
    """Yield the kinds of `Rule.judges` that the text of a file may contain, those quickly decided first; "risks" is for
    the user's own sinks."""
    text = data if isinstance(data, str) else data.decode("latin-1")
    kinds = _MAY_HOLD if "torch" in text else _WITHOUT_TORCH
    return (kind for kind in kinds if _MAY_HOLD[kind](text))


def _has_any(words: tuple[str, ...], text: str) -> bool:
    return any(map(text.__contains__, words))


@lru_cache(maxsize=1)  # several kinds need it
def may_hold_risks(text: str) -> bool:
    """True if the text may say something about a tensor's device or grad."""
    return "torch" in text and _has_any(RISKY_WORDS, text)


@lru_cache(maxsize=1)  # the same
def _may_hold_arguments(text: str) -> bool:
    return _imports_consumer(text, CONSUMERS if may_hold_risks(text) else CONSUMERS - _TAKES_PLAIN)


def _may_hold_operations(text: str) -> bool:
    return "import numpy" in text or _may_hold_arguments(text)


def _may_hold_copies(text: str) -> bool:
    return (".to(" in text or "copy_(" in text) and _has_any(_COPIES, text)


def _may_hold_masks(text: str) -> bool:
    return _has_any(("import numpy", "from numpy", "shapely"), text) and _has_any(_MAKERS_OF_MASKS, text)


def _may_hold_taken(text: str) -> bool:
    return _has_any(_TAKING, text) or _makes_text_of_unknown(text) or _holds_set(text)


# By the kind in `Rule.judges`: a predicate for texts that name torch, true if one may contain the kind.
_MAY_HOLD: dict[str, Callable[[str], bool]] = {
    "receivers": partial(_has_any, (CANDIDATE, UNBOUND)),
    "comments": partial(_has_any, ("TNP", "tnp")),
    "risks": may_hold_risks,
    "arguments": _may_hold_arguments,
    "operations": _may_hold_operations,
    "memory": partial(_has_any, SHARERS),
    "copies": _may_hold_copies,
    "masks": _may_hold_masks,
    "taken": _may_hold_taken,
}
_WITHOUT_TORCH = ("receivers", "comments")  # kinds that a text without the word may contain


def _holds_set(text: str) -> bool:
    """True for a set display such as `stops = {END, 2}`; False for a mere dict."""
    at = text.find("= {")
    while at != -1:
        item = text[at + 3 : at + 80].lstrip().partition(",")[0].partition("}")[0]
        if item and not any(map(item.__contains__, ": (*\n")):
            return True
        at = text.find("= {", at + 3)
    return False


def _makes_text_of_unknown(text: str) -> bool:
    """True for `json.dump(x, file, default=str)` and the like; False for a file that merely writes JSON."""
    return ("dump(" in text or "dumps(" in text) and ("default" in text or "cls" in text)


def may_be_of_python(notebook: bytes) -> bool:
    """True if the bytes of a notebook contain the format 4 and the language Python, anywhere."""
    is_of_format = b'"nbformat": 4' in notebook or b'"nbformat":4' in notebook
    return is_of_format and any(name in notebook for name in (b'"python"', b'"python3"', b'"ipython3"'))


def _imports_consumer(text: str, consumers: frozenset[str]) -> bool:
    """True if a line with the word `import` names one of the consumers: as fast for hundreds of them as for one."""
    if OF_TORCH in text:
        return True
    if not any(map(text.__contains__, _WORDS_OF_JSON)):
        consumers -= {"json"}
    at = text.find("import")
    while at != -1:
        stop = text.find("\n", at)
        line = text[text.rfind("\n", 0, at) + 1 : stop if stop != -1 else len(text)]
        if not consumers.isdisjoint(line.translate(_PARTING).split()):
            return True
        if line.rstrip("\r").endswith("\\"):
            return any(map(text.__contains__, consumers))
        at = -1 if stop == -1 else text.find("import", stop)
    return False
