"""Runs a program on real tensors and records what each receiver of `.numpy()` in it really was.

The program is translated first: it speaks of the test accelerator where it says cuda, so that `x.is_cuda` and
`x.cuda()` mean on this machine what they mean on one with a GPU, and it notes each receiver just before it converts it.
"""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import itertools
import sys
import types
import typing
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from reveal import Claim, Place
from runtime_fixtures import tiny_module
from torch._ops import OpOverload
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tonumpy.engine.names.folders import SOURCE_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

MAX_CALLS = 300  # of one function, with different arguments


class Seen(NamedTuple):
    """One receiver at one moment."""

    is_tensor: bool
    is_none: bool
    on_cpu: bool
    requires_grad: bool
    grad_mode: bool

    def contradicts(self, claim: Claim) -> str | None:
        """What is wrong about a claim: a yes or no that does not hold here. Unknown is never wrong."""
        if not claim.kinds:
            return "it is reached"
        if "unknown" not in claim.kinds:
            kinds = {"None"} if self.is_none else {"tensor", "likely tensor"} if self.is_tensor else {"no tensor"}
            if not kinds & claim.kinds:
                return f"it is {min(kinds)}"
        if claim.grad_mode not in (None, self.grad_mode):
            return f"grad mode is {'on' if self.grad_mode else 'off'}"
        if self.is_tensor and claim.on_cpu not in (None, self.on_cpu):
            return f"it is {'on' if self.on_cpu else 'off'} the cpu"
        if self.is_tensor and claim.requires_grad not in (None, self.requires_grad):
            return f"it is {'with' if self.requires_grad else 'without'} grad"
        return None


class Contradiction(NamedTuple):
    """What inference claims in a row, and what was seen instead."""

    row: int
    claim: Claim
    truth: str

    def __str__(self) -> str:
        return f"row {self.row}: {self.claim}, but {self.truth}"


class Run:
    """The receivers seen so far, by their place in the text. Unless it `converts`, `.numpy()` does nothing else."""

    def __init__(self, accelerator: str, *, converts: bool = True) -> None:
        self.accelerator = accelerator
        self.converts = converts
        self.seen: dict[Place, set[Seen]] = {}

    def note(self, row: int, column: int, value: object) -> object:
        """Called by the translated program on its receivers."""
        is_tensor = isinstance(value, torch.Tensor)
        self.seen.setdefault((row, column), set()).add(
            Seen(
                is_tensor,
                value is None,
                is_tensor and value.device.type == "cpu",
                is_tensor and value.requires_grad,
                torch.is_grad_enabled(),
            )
        )
        return value if self.converts else _NoArray()

    def translated(self, text: str, filename: str) -> types.CodeType:
        tree = _Translation(self.accelerator).visit(ast.parse(text))
        return compile(ast.fix_missing_locations(tree), filename, "exec", dont_inherit=True)

    def load(self, text: str, name: str, filename: str) -> types.ModuleType:
        """The module that a text makes; under the name `__main__` it does what it does as a script, to its end or to a
        conversion that raises."""
        module = types.ModuleType(name)
        module.__dict__.update(__file__=filename, __note__=self.note)
        with torch.enable_grad(), quiet(), _known_as(name, module):
            try:
                exec(self.translated(text, filename), module.__dict__)
            except (RuntimeError, TypeError) as error:
                if not self.converts or "numpy" not in str(error):
                    raise
        return module

    def call_all(self, module: types.ModuleType) -> None:
        """Call everything that a module offers to others, with all sorts of arguments, with grad mode on and off.

        What begins with an underscore is called by the module itself or not at all.
        """
        own = [value for value in vars(module).values() if getattr(value, "__module__", None) == module.__name__]
        for value in own:
            if inspect.isfunction(value) and not value.__name__.startswith("_"):
                self._call(lambda value=value: value)
            elif inspect.isclass(value) and not value.__name__.startswith("_"):
                for name, method in inspect.getmembers(value, inspect.isfunction):
                    if not name.startswith("_") and method.__module__ == module.__name__:
                        self._call(lambda value=value, name=name: getattr(value(), name))

    def _call(self, make: Callable[[], Callable[..., Any]]) -> None:
        """`make` gives the function: for a method, that of a new object."""
        try:
            function = make()
        except TypeError:  # an object that cannot be made without arguments
            return
        names = inspect.unwrap(getattr(function, "__func__", function)).__globals__
        choices = [self._choices(parameter, names) for parameter in inspect.signature(function).parameters.values()]
        combinations = list(itertools.product(*choices))
        step = len(combinations) // MAX_CALLS + 1
        for mode, combination in itertools.product((torch.enable_grad, torch.no_grad), combinations[::step]):
            with mode(), quiet(), OneDevice(), contextlib.suppress(Exception):
                arguments = [make_argument() for make_argument in combination]
                result = make()(*arguments)
                if inspect.isgenerator(result):
                    list(result)
                elif inspect.iscoroutine(result):
                    asyncio.run(result)

    def _choices(self, parameter: inspect.Parameter, names: dict[str, Any]) -> list[Callable[[], Any]]:
        """Ways to make an argument, by what the annotation says: a tensor where there is none."""
        annotation = parameter.annotation
        if isinstance(annotation, str):
            annotation = eval(annotation, names)
        found = self._of_type(annotation)
        if parameter.default is not parameter.empty:
            found.append(lambda: parameter.default)
        return found

    def _of_type(self, annotation: object) -> list[Callable[[], Any]]:
        origin, parts = typing.get_origin(annotation), typing.get_args(annotation)
        if origin in (typing.Union, types.UnionType):
            return [choice for part in parts for choice in self._of_type(part)]
        if origin is typing.Literal:
            return [lambda part=part: part for part in parts]
        if origin in (list, tuple):
            return [lambda choice=choice: origin([choice(), choice()]) for choice in self._of_type(parts[0])]
        if origin is dict:
            return [lambda choice=choice: {"x": choice(), "y": choice()} for choice in self._of_type(parts[1])]
        if annotation in (bool, int, float, str, type(None)):
            values = {bool: (True, False), int: (0, 1, 3), float: (0.5,), str: ("x", "y")}.get(annotation, (None,))
            return [lambda value=value: value for value in values]
        if annotation is torch.device:
            return [lambda device=device: torch.device(device) for device in self.devices]
        if inspect.isclass(annotation) and issubclass(annotation, torch.nn.Module):
            made = tiny_module if annotation in (torch.nn.Module, torch.nn.Linear) else None
            return [
                (lambda device=device: made(device)) if made else (lambda device=device: annotation().to(device))
                for device in self.devices
            ]
        if annotation is torch.nn.Parameter:
            return [lambda device=device: torch.nn.Parameter(tensor(device)) for device in self.devices]
        if inspect.isclass(annotation) and annotation not in (torch.Tensor, inspect.Parameter.empty):
            return [annotation]
        found = [lambda kind=kind, device=device: kind(device) for device in self.devices for kind in TENSORS]
        return found if annotation is torch.Tensor else [*found, object]

    @property
    def devices(self) -> tuple[str, str]:
        return ("cpu", self.accelerator)

    def contradictions(self, claims: Mapping[Place, Claim]) -> list[Contradiction]:
        return [
            Contradiction(place[0], claim, wrong)
            for place, claim in sorted(claims.items())
            for wrong in sorted({each.contradicts(claim) or "" for each in self.seen.get(place, ())} - {""})
        ]


class OneDevice(TorchDispatchMode):
    """Operands on different devices are refused, as every accelerator but the one of the tests refuses them.

    To what works element by element torch takes one on the CPU that has no dimensions.
    """

    _MAY_MIX = frozenset("copy_ _to_copy index index_put_ index_put set_ _index_put_impl_".split())

    def __torch_dispatch__(
        self, func: OpOverload, types: object, args: tuple[object, ...] = (), kwargs: dict[str, object] | None = None
    ) -> object:
        moves = torch.Tag.pointwise in func.tags
        places = {
            value.device.type
            for value in tree_leaves((args, kwargs))
            if isinstance(value, torch.Tensor) and (value.ndim or value.device.type != "cpu" or not moves)
        }
        if len(places) > 1 and func.overloadpacket.__name__ not in self._MAY_MIX:
            raise RuntimeError("Expected all tensors to be on the same device")
        return func(*args, **kwargs or {})


class _NoArray:
    def numpy(self, *_: object) -> None:
        """Stands in for a tensor, and is not converted either."""


def tensor(device: str) -> torch.Tensor:
    return torch.arange(1.0, 10.0).reshape(3, 3).to(device)


TENSORS: Sequence[Callable[[str], torch.Tensor]] = (
    tensor,
    lambda device: tensor(device).requires_grad_(),
    lambda device: tensor(device).requires_grad_() * 2,
    lambda device: tensor(device).long(),
)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """What a program prints or warns of is not at stake."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def _known_as(name: str, module: types.ModuleType) -> Iterator[None]:
    """dataclasses and typing look a class's module up by its name."""
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        yield
    finally:
        if before is None:
            del sys.modules[name]
        else:
            sys.modules[name] = before


@contextlib.contextmanager
def importing_from(folder: Path) -> Iterator[None]:
    """Imports look into a folder and its `src` first, and leave nothing behind."""
    before, path = set(sys.modules), list(sys.path)
    sys.path[:0] = [str(folder), *(str(folder / name) for name in SOURCE_FOLDERS)]
    try:
        yield
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - before:
            if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder)):
                del sys.modules[name]


class _Translation(ast.NodeTransformer):
    """Notes receivers; says the accelerator's name for cuda's."""

    def __init__(self, accelerator: str) -> None:
        self._accelerator = accelerator

    def visit_Call(self, node: ast.Call) -> ast.AST:
        place = node.end_lineno, node.end_col_offset
        self.generic_visit(node)
        if not isinstance(node.func, ast.Attribute):
            return node
        if node.func.attr == "numpy":
            noted = [ast.Constant(place[0]), ast.Constant(place[1]), node.func.value]
            node.func.value = ast.Call(ast.Name("__note__", ast.Load()), noted, [])
        elif node.func.attr == "cuda" and not node.args:
            node.func.attr = "to"
            node.args = [ast.Constant(self._accelerator)]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        self.generic_visit(node)
        if node.attr == "is_cuda":
            return ast.UnaryOp(ast.Not(), ast.Attribute(node.value, "is_cpu", ast.Load()))
        if node.attr == "cuda" and isinstance(node.value, ast.Name) and node.value.id == "torch":
            node.attr = self._accelerator
        return node

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str) and node.value.partition(":")[0] == "cuda":
            node.value = node.value.replace("cuda", self._accelerator)
        return node
