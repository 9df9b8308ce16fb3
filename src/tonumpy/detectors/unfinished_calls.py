"""The calls that copy a tensor to the host without waiting, and the names of what waits, of what reads, and of neither.

torch pins what `x.to("cpu", non_blocking=True)` is written to. Where the destination is given, and is pageable memory,
the copy waits all the same.
"""

from __future__ import annotations

import ast
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.names.bindings import full_names, is_false, parameters_of, read_name, root_name
from tonumpy.engine.values.value_facts import members, truth_of
from tonumpy.engine.values.values import Constant, Device, Tensor
from tonumpy.text.candidates import Site, find_calls
from tonumpy.text.names import is_cpu_literal, is_dtype, last_name, path_of
from tonumpy.text.prefilter import CONSUMERS
from tonumpy.text.syntax import SCOPES, walk

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from tonumpy.engine.interpreter.frame import Observation
    from tonumpy.engine.summaries.driver import Observations
    from tonumpy.engine.values.values import Value
    from tonumpy.text.candidates import Scope
    from tonumpy.text.source import Source

# Attributes and methods of a tensor that tell nothing of its values.
PLAIN = frozenset(
    "shape size dim ndim ndimension numel nelement dtype device is_cuda is_cpu element_size nbytes itemsize stride"
    " layout data_ptr is_pinned is_contiguous untyped_storage storage requires_grad grad_fn is_complex names"
    " is_floating_point storage_offset record_stream is_leaf type keys".split()
)
# What gives the same memory, or, of a container, what it holds.
VIEWS = frozenset(
    "cpu detach data view view_as reshape squeeze unsqueeze flatten ravel permute transpose t T mT expand expand_as"
    " narrow select unbind split chunk swapaxes movedim requires_grad_ pin_memory contiguous share_memory_ real imag"
    " diagonal unfold get items values pop popleft popitem detach_ index".split()
)
QUIET = frozenset("copy_ register_hook retain_grad backward".split())
FILLING = frozenset("append appendleft add extend insert setdefault".split())
# What makes the host wait for the stream of the tensor on a device that it is called on.
BLOCKING = frozenset(
    "item tolist cpu nonzero argwhere masked_select unique unique_consecutive is_nonzero equal".split()
)
READING_BUILTINS = frozenset(
    "print str repr format float int bool complex round sum max min abs sorted any all".split()
)
MAKING = frozenset("list tuple set dict deque defaultdict OrderedDict".split())
PASSING = frozenset("list tuple set dict iter next enumerate reversed deque tqdm islice chain".split())
NOT_READING = frozenset(
    "isinstance len type id hasattr getattr setattr callable issubclass hash range super is_tensor numel"
    " is_floating_point is_complex empty_like zeros_like ones_like rand_like randn_like stream".split()
)
MAPPING = frozenset("tree_map tree_map_only tree_map_ map map_structure map_aggregate apply_to_collection".split())
_WAITING = frozenset("sync synchronize barrier query sleep monitored_barrier".split())
# In the text of a function of the module that may wait.
_SIGNS_OF_WAITING = ("synchronize", ".item(", ".cpu(", ".tolist(", "force=True")
_HARMLESS_ROOTS = frozenset(
    "torch np numpy F nn time logging logger log math os json warnings random tqdm pbar sys re itertools".split()
)
_PLACES = {"to": 2, "type": 1, "copy_": 1, "_foreach_copy_": 2}  # of `non_blocking`


class Copy(NamedTuple):
    """An asynchronous copy: its call, and the call of the function that makes it. `is_keyed`: it is a value of a dict,
    of which a loop gets the keys."""

    call: ast.Call
    through: ast.Call | None = None
    is_keyed: bool = False


class Read(NamedTuple):
    """The first read of a copy on one path. `is_doubtful`: a function out of sight was called since, which may have
    waited. `others`: further copies are on their way as well. `is_by_method`: the node calls a method of it."""

    copy: Copy
    node: ast.expr
    site: Site
    is_doubtful: bool
    others: bool
    is_by_method: bool


Copies = frozenset[Copy]
Helpers = dict[tuple["Scope", str], Copies]
NONE: Copies = frozenset()


class State:
    """What names hold, and the copies that are on their way, each with whether that is in doubt, at one point. With a
    colon stand the names of events, and what was on its way when they were recorded."""

    def __init__(self, *joined: State) -> None:
        self.names: dict[str, Copies] = {}
        self.pending: dict[Copy, bool] = {}
        for other in joined:
            for name, copies in other.names.items():
                self.names[name] = self.names.get(name, NONE) | copies
            for copy, is_doubtful in other.pending.items():
                self.pending[copy] = self.pending.get(copy, False) or is_doubtful

    def begun(self, copies: Iterable[Copy]) -> Copies:
        """Copies that are on their way from here on. What holds those of the round before knows nothing of these."""
        made = frozenset(copies)
        self.names = {name: held - made for name, held in self.names.items()}
        self.pending.update((each, False) for each in keyed(made, is_keyed=False))
        return made

    def wait(self, copies: Copies | None = None) -> None:
        """Some copies have arrived, or all."""
        for copy in [*self.pending] if copies is None else copies:
            self.pending.pop(copy, None)

    def doubt(self) -> None:
        self.pending.update(dict.fromkeys(self.pending, True))


class AsyncCopy(NamedTuple):
    """A call that copies a tensor towards the host and does not wait: what it copies, and the pinned memory that it
    writes to, if that is given."""

    source: ast.expr
    written: ast.expr | None = None


class Program:
    """What a walk over one function asks of the module."""

    def __init__(self, source: Source, sites: Iterable[Site], observed: Observations) -> None:
        self._source = source
        self.copies: dict[int, AsyncCopy] = {}  # by the ids of calls
        self.copying: dict[Scope, tuple[Scope, ...]] = {}  # the functions that hold these
        for site in sites:
            copy = self._copy_made(site, observed.get(id(site.call)))
            if copy is not None:
                self.copies[id(site.call)] = copy
                self.copying[site.scopes[-1]] = site.scopes

    def _copy_made(self, site: Site, seen: Observation | None) -> AsyncCopy | None:
        call, function, names = site.call, site.call.func, {each.arg: each.value for each in site.call.keywords}
        assert isinstance(function, ast.Attribute)
        if (out := names.get("out")) is not None:  # `torch.add(x, y, out=pinned)` does not wait either
            is_of_torch = root_name(function) == "torch" and bool(call.args)
            return AsyncCopy(call.args[0], out) if is_of_torch and _pins(out, self._pinned) else None
        asked, values = names.get("non_blocking") or _behind(call, _PLACES[function.attr]), values_given(call, seen)
        to = names.get("device") or names.get("other") or next(iter(call.args), None)
        parameters = parameters_of(site.scopes[-1])  # what these say, the callers choose
        if asked is None or to is None or read_name(asked) in parameters:
            return None
        if not all(truth_of(each) is True for each in members(values.get(id(asked), _literal(asked)))):
            return None
        if function.attr == "to":
            is_told = read_name(to) not in parameters and not is_dtype(to)
            is_there = all(map(_is_host, members(values.get(id(to), _literal(to)))))
            return AsyncCopy(function.value) if is_told and is_there else None
        if function.attr == "type":
            return AsyncCopy(function.value) if _is_cpu_type(to) else None
        told = [function.value, *call.args] if function.attr == "copy_" else call.args
        return AsyncCopy(told[1], told[0]) if len(told) > 1 and _pins(told[0], self._pinned) else None

    @cached_property
    def _pinned(self) -> set[str]:
        """The names, and attributes of self, that something in sight gives page-locked memory."""
        names: set[str] = set()
        assigned = [each for each in walk(self._source.tree) if isinstance(each, ast.Assign)]
        for _ in range(2):  # views of them as well
            pinned = (target for each in assigned if _pins(each.value, names) for target in each.targets)
            names.update(name for target in pinned if (name := read_name(target)) is not None)
        return names

    @cached_property
    def libraries(self) -> frozenset[str]:
        """The names that are imported from torch, and from libraries whose functions read what they are given."""
        roots = {name: full.partition(".")[0] for name, full in full_names(self._source.tree.body).items()}
        return frozenset(name for name, root in roots.items() if root == "torch" or root in CONSUMERS)

    @cached_property
    def waiting(self) -> frozenset[str]:
        """The names of the module's functions and classes that may wait, by their text."""
        nodes = ((each, self._source.text_of(each)) for each in walk(self._source.tree) if isinstance(each, SCOPES))
        return frozenset(each.name for each, text in nodes if any(sign in text for sign in _SIGNS_OF_WAITING))


def sites_of_copies(source: Source) -> list[Site]:
    """The calls that may copy without waiting."""
    words = ("non_blocking", ", True", *(("out=",) if "pin_memory" in source.text else ()))
    return find_calls(source, sorted({row for word in words for row in source.rows_with(word)}), _may_copy)


def _may_copy(call: ast.Call) -> bool:
    is_written = any(each.arg == "out" for each in call.keywords)
    return isinstance(call.func, ast.Attribute) and (call.func.attr in _PLACES or is_written)


def _behind(call: ast.Call, at: int) -> ast.expr | None:
    """The argument at a position, one sooner where no dtype is given: `x.to(other, True)`."""
    is_short = at == 2 and len(call.args) == 2 and not is_dtype(call.args[1])
    return next(iter(call.args[at - is_short : at + 1]), None)


def values_given(call: ast.Call, seen: Observation | None) -> dict[int, Value]:
    """The values of the arguments, by the ids of their nodes."""
    if seen is None or seen.arguments.has_star:
        return {}
    named = {each.arg: each.value for each in call.keywords}
    by_position = dict(zip(map(id, call.args), seen.arguments.positional, strict=False))
    return {**by_position, **{id(named[name]): value for name, value in seen.arguments.named if name in named}}


def _literal(node: ast.expr) -> Value:
    """What is written there, in code that the engine does not reach."""
    return Device(is_cpu=True) if is_cpu_literal(node) else Constant(getattr(node, "value", None))


def _is_host(value: Value) -> bool:
    if isinstance(value, Constant):
        return isinstance(value.value, str) and value.value.partition(":")[0] == "cpu"
    return (isinstance(value, Device) and value.is_cpu is True) or (isinstance(value, Tensor) and value.on_cpu is True)


def _is_cpu_type(node: ast.expr) -> bool:
    """`"torch.FloatTensor"`, `torch.FloatTensor`: a dtype leaves the tensor where it is."""
    name = str(node.value) if isinstance(node, ast.Constant) else path_of(node) or ""
    return name.startswith("torch.") and name.endswith("Tensor") and name.count(".") == 1


def _pins(node: ast.expr, names: Collection[str]) -> bool:
    """`torch.empty(n, pin_memory=True)`, `x.pin_memory()`, lists of such, and parts of what has one of the names."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_pins(each, names) for each in node.elts)
    if isinstance(node, ast.ListComp):
        return _pins(node.elt, names)
    if isinstance(node, ast.Subscript):
        return _pins(node.value, names)
    if not isinstance(node, ast.Call):
        return read_name(node) in names
    is_told = any(each.arg == "pin_memory" and not is_false(each.value) for each in node.keywords)
    is_view = isinstance(node.func, ast.Attribute) and node.func.attr in VIEWS - {"cpu", "reshape", "contiguous"}
    return is_told or last_name(node.func) == "pin_memory" or (is_view and _pins(node.func.value, names))  # type: ignore[attr-defined]


def waits(name: str) -> bool:
    """True if a function of this name makes the host wait, or asks whether it need not any more."""
    lower = name.lower()
    return lower in _WAITING or "synchronize" in lower or lower.startswith("sync_") or lower.endswith("_sync")


def is_harmless(function: ast.expr) -> bool:
    """True if a function surely waits for nothing."""
    if isinstance(function, ast.Name):
        return function.id in {*READING_BUILTINS, *PASSING, *NOT_READING, "open", "slice", "zip"}
    return root_name(function) in _HARMLESS_ROOTS or last_name(function) in FILLING


def view_waited_for(statement: ast.stmt, following: Iterable[ast.stmt]) -> tuple[ast.Name, ast.expr] | None:
    """The name and the tensor of `view = host.numpy()`, which reads no values, if the statements that follow in the
    block wait before one of them names the array."""
    match statement:
        case ast.Assign([ast.Name() as target], ast.Call(ast.Attribute(tensor, "numpy"), [], [])):
            for each in following:
                if any(isinstance(node, ast.Name) and node.id == target.id for node in walk(each)):
                    break
                call = each.value if isinstance(each, ast.Expr) else None
                if isinstance(call, ast.Call) and waits(last_name(call.func) or ""):
                    return target, tensor
    return None


def is_of_identity(node: ast.AST) -> bool:
    """`x is None`, `key in found`"""
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], (ast.Is, ast.IsNot, ast.In, ast.NotIn))


def keyed(copies: Copies, *, is_keyed: bool) -> Copies:
    """The values of a dict, or what stands alone."""
    return frozenset(each._replace(is_keyed=is_keyed) for each in copies)


def alone(copies: Copies) -> Copies:
    """Without the values of dicts: a loop over one gets its keys, and a dict in a container is not followed."""
    return frozenset(each for each in copies if not each.is_keyed)
