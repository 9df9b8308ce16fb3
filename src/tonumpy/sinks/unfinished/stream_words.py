"""Names of what waits for a stream, of what reads a tensor on the host, and of what does neither."""

from __future__ import annotations

import ast

from tonumpy.engine.names.bindings import root_name
from tonumpy.text.names import last_name

# Attributes and methods of a tensor that tell nothing of its values.
PLAIN = frozenset(
    "shape size dim ndim ndimension numel nelement dtype device is_cuda is_cpu element_size nbytes itemsize stride"
    " layout data_ptr is_pinned is_contiguous untyped_storage storage requires_grad grad_fn is_complex names"
    " is_floating_point storage_offset record_stream is_leaf type".split()
)
# What gives the same memory, or, of a container, what it holds.
VIEWS = frozenset(
    "cpu detach data view view_as reshape squeeze unsqueeze flatten ravel permute transpose t T mT expand expand_as"
    " narrow select unbind split chunk swapaxes movedim requires_grad_ pin_memory contiguous share_memory_ real imag"
    " diagonal unfold get items values keys pop popleft popitem copy result wait detach_ index".split()
)
READING = frozenset(("numpy", "tolist", "item", "__array__"))
# Tensor methods that put it on a device again, in the order of the stream, or register something.
QUIET = frozenset("cuda xpu npu hpu mtia to copy_ register_hook retain_grad backward".split())
FILLING = frozenset("append appendleft add extend insert put put_nowait update setdefault send".split())
FILLING_BY_MANY = frozenset("extend update setdefault send".split())
OF_DICTS = frozenset("items values keys get pop popitem".split())
# What makes the host wait for the stream of the tensor on a device that it is called on.
BLOCKING = frozenset(
    "item tolist cpu nonzero argwhere masked_select unique unique_consecutive is_nonzero equal".split()
)
READING_BUILTINS = frozenset(
    "print str repr format float int bool complex round sum max min abs sorted any all".split()
)
PASSING = frozenset("list tuple set dict iter next anext enumerate zip reversed deque".split())
READING_ITEMS = frozenset("sum max min sorted any all".split())
# Functions of other libraries that give what they go through.
_WRAPPING = frozenset("tqdm islice chain zip_longest".split())
_WRAPPING_ROOTS = frozenset(("tqdm", "itertools"))
GOING_THROUGH = frozenset("list tuple set dict deque".split())
ITERATING = ("__next__", "__iter__")
NOT_READING = frozenset("isinstance len type id hasattr getattr setattr callable issubclass hash range super".split())
NOT_READING_IN_TORCH = frozenset(
    "is_tensor numel is_floating_point is_complex empty_like zeros_like ones_like rand_like randn_like stream".split()
)
MAPPING = frozenset("tree_map tree_map_only tree_map_ map map_structure map_aggregate apply_to_collection".split())
# In a test that has one of these, the other branch has nothing to wait for.
OF_DEVICES = frozenset("cuda gpu xpu npu device available stream event accelerator copied pending".split())
# They wait for nothing when they are left.
CONTEXTS = frozenset(
    "open suppress nullcontext ExitStack Lock RLock redirect_stdout TemporaryDirectory catch_warnings stream device"
    " no_grad inference_mode enable_grad autocast set_grad_enabled profile record_function tqdm".split()
)
_WAITING = frozenset("sync synchronize barrier query sleep monitored_barrier".split())
_HARMLESS_ROOTS = frozenset(
    "torch np numpy F nn time logging logger log math os json warnings random tqdm pbar sys re itertools".split()
)


def waits(name: str) -> bool:
    """Whether a function of this name makes the host wait, or asks whether it need not any more."""
    lower = name.lower()
    return lower in _WAITING or "synchronize" in lower or lower.startswith("sync_") or lower.endswith("_sync")


def passes_on(function: ast.expr) -> bool:
    """Whether what a function gives is gone through as what it is given is."""
    if isinstance(function, ast.Name):
        return function.id in PASSING or function.id in _WRAPPING
    return last_name(function) in _WRAPPING and root_name(function) in _WRAPPING_ROOTS


def is_harmless(function: ast.expr) -> bool:
    """Whether a function surely waits for nothing."""
    if isinstance(function, ast.Name):
        name = function.id
        return name in READING_BUILTINS or name in PASSING or name in NOT_READING or name in ("open", "dict", "slice")
    return root_name(function) in _HARMLESS_ROOTS or last_name(function) in FILLING
