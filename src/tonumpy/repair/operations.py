"""Defines the operations on a syntax tree that repair a conversion, how they are combined, and how they are worded."""

import ast
from collections.abc import Iterable
from itertools import pairwise
from typing import Literal, NamedTuple

from tonumpy.conversions import ArgumentConversion, Conversion, MethodConversion, SharedMemory, TakenTensor
from tonumpy.engine.knowledge.chains import Chain, Link, Role
from tonumpy.engine.names.bindings import defaults_of, names_in
from tonumpy.findings import RepairStyle
from tonumpy.text.candidates import Scope
from tonumpy.text.names import last_name, quoted
from tonumpy.text.syntax import FUNCTIONS


class AddLinks(NamedTuple):
    """`base.name` becomes `base.detach().cpu().name`."""

    before: ast.Attribute
    methods: tuple[str, ...]

    @property
    def subject(self) -> ast.expr:
        """The node that is replaced."""
        return self.before

    @property
    def made(self) -> ast.expr:
        """The new node, around parts of the old one."""
        return ast.Attribute(_called(self.before.value, *self.methods), self.before.attr, self.before.ctx)

    @property
    def words(self) -> str:
        """The operation in words."""
        return f"add `{''.join(f'.{method}()' for method in self.methods)}`"


class DataToDetach(NamedTuple):
    """`base.data` becomes `base.detach()`."""

    subject: ast.Attribute

    @property
    def words(self) -> str:
        return "replace `.data` by `.detach()`"

    @property
    def made(self) -> ast.expr:
        return _called(self.subject.value, "detach")


class Force(NamedTuple):
    """`base.numpy(...)` becomes `base.numpy(force=True)`."""

    subject: ast.Call

    @property
    def words(self) -> str:
        return "use `.numpy(force=True)`"

    @property
    def made(self) -> ast.expr:
        return ast.Call(self.subject.func, [], [_FORCE])


class RemoveLink(NamedTuple):
    """`base.name()` becomes `base`."""

    subject: ast.Call

    @property
    def function(self) -> ast.Attribute:
        assert isinstance(self.subject.func, ast.Attribute)
        return self.subject.func

    @property
    def made(self) -> ast.expr:
        return self.function.value

    @property
    def words(self) -> str:
        return f"remove `.{self.function.attr}()`"


class Convert(NamedTuple):
    """`argument` becomes `argument.detach().cpu().numpy()`, with brackets if needed; `method` is the last link."""

    subject: ast.expr
    methods: tuple[str, ...]
    forced: bool
    method: Literal["numpy", "item", "tolist"] = "numpy"

    @property
    def links(self) -> str:
        calls = "".join(f".{method}()" for method in self.methods)
        return f"{calls}.{self.method}({'force=True' if self.forced else ''})"

    @property
    def made(self) -> ast.expr:
        function = ast.Attribute(_called(self.subject, *self.methods), self.method, ast.Load())
        return ast.Call(function, [], [_FORCE] if self.forced else [])

    @property
    def words(self) -> str:
        return f"add `{self.links}`"


class AddCopy(NamedTuple):
    """`x.numpy()` becomes `x.numpy().copy()`, and `torch.from_numpy(a)` `torch.from_numpy(a).clone()`."""

    subject: ast.Call
    method: Literal["copy", "clone"]

    @property
    def links(self) -> str:
        return f".{self.method}()"

    @property
    def made(self) -> ast.expr:
        return _called(self.subject, self.method)

    @property
    def words(self) -> str:
        name = last_name(self.subject.func)
        return f"add `.{self.method}()` after `{'.numpy' if name == 'numpy' else name}()`"


class MakeFalse(NamedTuple):
    """An argument `True` becomes `False`; `name` is its keyword."""

    subject: ast.expr
    name: str

    @property
    def made(self) -> ast.expr:
        return ast.Constant(False)

    @property
    def words(self) -> str:
        return f"wait for the copy, `{self.name}=False`"


Operation = AddLinks | DataToDetach | Force | RemoveLink | Convert | AddCopy | MakeFalse

_FORCE = ast.keyword("force", ast.Constant(True))


def _called(base: ast.expr, *methods: str) -> ast.expr:
    """The call chain `base.detach().cpu()`."""
    for method in methods:
        base = ast.Call(ast.Attribute(base, method, ast.Load()), [], [])
    return base


# The order of links that are added before one name. The copy to the CPU comes before links that enlarge the tensor
# (dense, of a wider dtype), so that less is moved and no accelerator needs memory for it.
_ORDER = ("detach", "cpu", "to_dense", "dequantize", "float", "cfloat", "resolve_conj", "resolve_neg")


def compose(operations: Iterable[Operation]) -> tuple[Operation, ...]:
    """Combine the operations of several findings: each once, and the links added before one name in order."""
    links: dict[ast.Attribute, set[str]] = {}
    others: dict[tuple[type, Operation], Operation] = {}  # named tuples of different classes may be equal
    for operation in operations:
        if isinstance(operation, AddLinks):
            links.setdefault(operation.before, set()).update(operation.methods)
        else:
            others[type(operation), operation] = operation
    added = (AddLinks(before, tuple(sorted(methods, key=_ORDER.index))) for before, methods in links.items())
    return (*others.values(), *added)


def complete_chain(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:
    """The operations that complete the chain of a conversion, or add the needed links; none if it is complete."""
    candidate, chain = conversion.site, conversion.chain
    if conversion.is_complete:
        return ()
    forced = force(conversion, style)
    if forced:
        return forced
    if style == "needed":
        return _add_needed(conversion)
    numpy, cpu, detach = candidate.attribute, chain.cpu, chain.detach
    if detach is None and cpu is not None:
        # Before the copy, which would else be recorded in the graph; but only if it is certainly a tensor's.
        early = cpu.attribute if _is_on_the_same_tensor(cpu, chain, candidate.receiver) else None
        return (AddLinks(early or numpy, ("detach",)),)
    if detach is None:
        return (AddLinks(numpy, ("detach", "cpu")),)
    if detach.role is Role.DATA and not conversion.data_of_tensor:
        return (AddLinks(numpy, ("detach", "cpu")),)  # right even if `.data` is not a tensor's
    return (AddLinks(numpy, ("cpu",)),)


def _add_needed(conversion: MethodConversion) -> tuple[Operation, ...]:
    """The operation that adds the links that are not proved to be needless."""
    chain, needed = conversion.chain, _needed(conversion)
    if chain.detach is not None and chain.detach.role is Role.DATA and not conversion.data_of_tensor:
        proved = conversion.as_proved()  # the `.data` may not be a tensor's
        if proved.requires_grad is not False and proved.grad_mode is not False:
            needed = ("detach", *needed)
    before = conversion.site.attribute
    if needed == ("detach",) and chain.cpu is not None and chain.cpu.attribute is not None:
        is_early = _is_on_the_same_tensor(chain.cpu, chain, conversion.site.receiver)
        before = chain.cpu.attribute if is_early else before
    return (AddLinks(before, needed),) if needed else ()


def _needed(conversion: Conversion) -> tuple[str, ...]:
    """The links that are needed: evidence of callers and habits does not prove one needless."""
    proved = conversion.as_proved()
    wanted = (("detach", proved.grad_is_proved), ("cpu", proved.device_is_proved))
    return tuple(method for method, is_proved in wanted if not is_proved)


def detach_first(conversion: MethodConversion, _: RepairStyle = "links") -> tuple[Operation, ...]:
    """The operations that move `.detach()` from after `.cpu()` to before it; none if the two may be of different
    tensors."""
    candidate, chain = conversion.site, conversion.chain
    cpu, detach = chain.cpu, chain.detach
    if cpu is None or detach is None or detach not in chain.after(cpu) or cpu.attribute is None:
        return ()
    if detach.role is not Role.DETACH or not _is_on_the_same_tensor(cpu, chain, candidate.receiver):
        return ()
    if any(link.role in (Role.DETACH, Role.DATA) for link in chain.links[: chain.links.index(cpu)]):
        return ()
    assert isinstance(detach.node, ast.Call)
    return (RemoveLink(detach.node), AddLinks(cpu.attribute, ("detach",)))


def end_sharing(conversion: MethodConversion | SharedMemory, _: RepairStyle) -> tuple[Operation, ...]:
    """The operation that copies, so that an array and the tensor it is made of, or vice versa, share no memory."""
    makes_tensor = isinstance(conversion, SharedMemory) and conversion.makes == "tensor"
    return (AddCopy(conversion.site.call, "clone" if makes_tensor else "copy"),)


def convert_arguments(conversion: ArgumentConversion, style: RepairStyle) -> tuple[Operation, ...]:
    """The operations for all of the call's arguments that need conversion; none if one of them cannot be converted."""
    found = [
        convert_argument(each, style) if each.takes_arrays and not each.of_items else ()
        for each in (conversion, *conversion.others)
    ]
    return tuple(operation for each in found for operation in each) if all(found) else ()


def convert_argument(conversion: ArgumentConversion | TakenTensor, style: RepairStyle) -> tuple[Operation, ...]:
    """The operations that convert an argument before it is passed; none if that is not possible."""
    argument, chain, cast = conversion.argument, conversion.chain, conversion.links
    if cast is None or _may_be_default(argument, conversion.site.scopes):
        return ()
    if style == "force":
        return (Convert(argument, cast, True),)
    missing = {"detach": chain.detach, "cpu": chain.cpu}
    links = tuple(method for method, link in missing.items() if link is None)
    if style == "needed":
        links = _needed(conversion)
    cpu = chain.cpu
    if "detach" in links and cpu and cpu.attribute and _is_on_the_same_tensor(cpu, chain, argument):
        return (AddLinks(cpu.attribute, ("detach",)), Convert(argument, cast, False))
    return (Convert(argument, (*links, *cast), False),)


_LITERALS = (ast.Constant, ast.UnaryOp, ast.Tuple, ast.List)


def _may_be_default(argument: ast.expr, scopes: tuple[Scope, ...]) -> bool:
    """True if an argument is a parameter that the function never tests, with a literal (not a tensor) as default."""
    function = next((scope for scope in reversed(scopes) if isinstance(scope, FUNCTIONS)), None)
    if function is None or not isinstance(argument, ast.Name):
        return False
    literals = [name for name, default in defaults_of(function.args) if isinstance(default, _LITERALS)]
    return argument.id in literals and not any(_decides(node, argument.id) for node in ast.walk(function))


def _decides(node: ast.AST, name: str) -> bool:
    if isinstance(node, (ast.If, ast.IfExp, ast.While, ast.Assert)):
        return name in names_in(node.test)
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def force(conversion: MethodConversion, style: RepairStyle) -> tuple[Operation, ...]:
    """The operation that adds `force=True`, which detaches, copies to the CPU and resolves both bits; none if that is
    not the style or the call has other arguments."""
    call = conversion.site.call
    return (Force(call),) if style == "force" and _can_force(call) else ()


def describe(operations: tuple[Operation, ...]) -> str:
    """The repair in words: "Replace `.data` by `.detach()` and add `.cpu()`"."""
    removed = {each.function.attr for each in operations if isinstance(each, RemoveLink)}
    moved = {each.before.attr for each in operations if isinstance(each, AddLinks) and removed & {*each.methods}}
    if removed and moved:
        return f"Move `.{removed.pop()}()` before `.{moved.pop()}()`"
    in_order = sorted(operations, key=lambda each: isinstance(each, Convert))  # `.numpy()` comes after all links
    words = list(dict.fromkeys(each.words for each in in_order))
    further = (word.removeprefix("add ") if before.startswith("add ") else word for before, word in pairwise(words))
    told = " and ".join((*words[:1], *further))
    return f"{told[:1].upper()}{told[1:]}{_to_which(operations)}"


def _to_which(operations: tuple[Operation, ...]) -> str:
    """The suffix that names the converted arguments, " to `a` and `b`", if all operations convert."""
    converted = [quoted(each.subject) or "the tensor" for each in operations if isinstance(each, Convert)]
    return f" to {' and '.join(converted)}" if converted and len(converted) == len(operations) else ""


def _can_force(call: ast.Call) -> bool:
    """True unless an argument that may matter would be lost: `force=flag`, `*args`, an unknown keyword."""
    return all(
        keyword.arg == "force" and isinstance(keyword.value, ast.Constant) and not keyword.value.value
        for keyword in call.keywords
    )


# Later links that prove an earlier one to be a tensor's: an object with a `.to("cpu")` of its own (a batch, detection
# results) gives access to its tensors by attributes, keys and methods other than these.
_SHAPES_AND_TYPES = frozenset(
    "bool byte char clone contiguous cpu cuda detach diagonal double expand expand_as flatten flip float half int long"
    " moveaxis movedim narrow permute ravel repeat reshape roll select short squeeze swapaxes t tile to transpose type"
    " type_as unflatten unfold unsqueeze view view_as".split()
)
_VIEWS = frozenset(("T", "mT", "H", "mH", "real", "imag"))


def _is_on_the_same_tensor(link: Link, chain: Chain, end: ast.expr) -> bool:
    """True if all links from this one to the end of the chain work on the same tensor, and none adds grad."""
    base: ast.expr = link.node
    for later in chain.after(link):
        if later.base is not base or not _keeps_a_tensor(later):  # an `await` between them is no link
            return False
        base = later.node
    return base is end


def _keeps_a_tensor(link: Link) -> bool:
    node = link.node
    if isinstance(node, ast.Subscript):
        return _is_tensor_index(node.slice)
    if isinstance(node, ast.Attribute):
        return node.attr in _VIEWS
    return isinstance(node.func, ast.Attribute) and node.func.attr in _SHAPES_AND_TYPES


def _is_tensor_index(index: ast.expr) -> bool:
    """True for a slice, a number, `...`, or a tuple: an index of a tensor. A name may hold the key of a mapping."""
    if isinstance(index, ast.UnaryOp):
        return _is_tensor_index(index.operand)
    return isinstance(index, (ast.Slice, ast.Tuple)) or (
        isinstance(index, ast.Constant) and not isinstance(index.value, (str, bytes))
    )
