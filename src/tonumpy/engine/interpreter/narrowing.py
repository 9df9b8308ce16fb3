"""Narrows values by the test of a branch, and decides tests that are known to hold or not."""

from __future__ import annotations

import ast

from tonumpy.engine.interpreter.devices import TENSOR_TYPES, as_tensor, cpu_of_device
from tonumpy.engine.interpreter.frame import Frame, place_of
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.grad_contexts import ASKS_FOR_GRAD_MODE
from tonumpy.engine.values import values as v
from tonumpy.engine.values.dtypes import is_integral, may_lack
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.value_facts import dtype_of, members, with_facts, with_facts_of
from tonumpy.facts import Fact
from tonumpy.text.names import last_name

_TORCH_ONLY = ("detach", "requires_grad", "is_cuda", "cpu")
_SHAPES = {"str": ("str",), "int": ("int", "number"), "float": ("float", "number"), "bool": ("bool",)}


def narrow(frame: Frame, test: ast.expr, *, holds: bool) -> None:
    """Narrow the environment for the branch in which the test holds, or does not."""
    if frame.env is None:
        return
    match test:
        case ast.UnaryOp(op=ast.Not()):
            narrow(frame, test.operand, holds=not holds)
        case ast.BoolOp():
            for part in test.values if isinstance(test.op, ast.And) is holds else ():
                narrow(frame, part, holds=holds)
        case ast.NamedExpr():
            narrow(frame, test.target, holds=holds)
        case ast.Call():
            _by_call(frame, test, holds=holds)
        case ast.Compare(ops=[_]):
            _by_comparison(frame, test, holds=holds)
        case ast.Attribute(attr=flag) if flag in _FLAGS:
            _by_flag(frame, test, holds=holds)
        case ast.Name(id=name) if name in frame.tests:
            asked, subject, before = frame.tests[name]
            if frame.env.get(subject) is before:
                narrow(frame, asked, holds=holds)
        case ast.Name() | ast.Attribute() if holds:
            _by_none(frame, test, is_none=False)


_FLAGS = ("is_cuda", "is_cpu", "requires_grad", "is_mps")


def _by_flag(frame: Frame, test: ast.Attribute, *, holds: bool) -> None:
    path, value = _subject(frame, test.value)
    if path is None:
        return
    if test.attr == "requires_grad":
        frame.refine(path, with_facts(value, requires_grad=holds))
    elif test.attr == "is_cpu" or holds or test.attr == "is_cuda":
        frame.refine(path, with_facts(value, on_cpu=holds if test.attr == "is_cpu" else not holds))


def note_test(frame: Frame, name: str, test: ast.Call) -> None:
    """Remember `is_array = isinstance(x, np.ndarray)`: a later test of `is_array` narrows `x` unless `x` is rebound."""
    frame.tests.pop(name, None)
    subject = test.args[0] if test.args and last_name(test.func) in ("isinstance", "is_tensor", "hasattr") else None
    if isinstance(subject, ast.Name) and frame.env is not None and subject.id in frame.env:
        frame.tests[name] = (test, subject.id, frame.env[subject.id])


def _subject(frame: Frame, node: ast.expr | None) -> tuple[str | None, v.Value]:
    if isinstance(node, ast.NamedExpr):
        node = node.target
    path = None if node is None else place_of(node)
    return (None, v.NONE) if node is None or path is None else (path, frame.value(node))


def _keep(frame: Frame, path: str, kept: list[v.Value]) -> None:
    if kept:
        frame.refine(path, join_all(kept))


def _by_call(frame: Frame, test: ast.Call, *, holds: bool) -> None:
    owner = test.func.value if isinstance(test.func, ast.Attribute) else None
    match last_name(test.func), test.args:
        case "isinstance" | "issubclass", [subject, classes]:
            _by_classes(frame, subject, classes, holds=holds)
        case "is_tensor" | "is_torch_tensor", [subject]:
            _by_classes(frame, subject, None, holds=holds)
        case "hasattr", [subject, ast.Constant(str() as name)]:
            _by_hasattr(frame, subject, name, holds=holds)
        case "is_complex", _ if holds and owner is not None:
            path, value = _subject(frame, owner)
            if path is not None and isinstance(value, v.Tensor) and value.dtype is None:
                frame.refine(path, value._replace(dtype="complex"))
        case "is_floating_point", given if not holds:
            path, value = _subject(frame, [*given, owner][0])
            if path is not None:
                frame.refine(path, with_facts(value, requires_grad=False))


def _by_classes(frame: Frame, subject: ast.expr, asked: ast.expr | None, *, holds: bool) -> None:
    """Narrow the subject of `isinstance` to its classes, or that of `is_tensor` to torch.Tensor."""
    path, value = _subject(frame, subject)
    if path is not None:
        classes: list[v.Value] = [v.Symbol("torch.Tensor")] if asked is None else classes_asked(frame, asked)
        narrow_to_classes(frame, path, value, classes, holds=holds)


def classes_asked(frame: Frame, node: ast.expr) -> list[v.Value]:
    """The classes in the second argument of `isinstance`."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return [each for part in node.elts for each in classes_asked(frame, part)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return classes_asked(frame, node.left) + classes_asked(frame, node.right)
    value = frame.value(node)
    return list(value.items) if isinstance(value, v.Sequence) and value.items else [value]


def narrow_to_classes(frame: Frame, path: str, value: v.Value, classes: list[v.Value], *, holds: bool) -> None:
    """Narrow a path to the members of a value that are, or are not, instances of some classes."""
    of_tensors = v.Symbol("torch.Tensor") in classes
    kept: list[v.Value] = []
    for member in members(value):
        verdicts = [is_instance(frame, member, cls) for cls in classes]
        if holds:
            asked = zip(classes, verdicts, strict=True)
            open_ones = (cls for cls, verdict in asked if verdict is None)
            kept += [member] if True in verdicts else [_as_instance(frame, member, cls) for cls in open_ones]
        elif True not in verdicts:
            kept.append(_as_no_tensor(member) if of_tensors else member)
    if not kept and holds:
        kept = list(map(frame.analysis.parameters.value_of_class, classes))
    elif not kept and of_tensors:
        kept = [v.NonTensor("what no tensor is")]
    _keep(frame, path, kept)


def _as_no_tensor(value: v.Value) -> v.Value:
    return value._replace(is_no_tensor=True) if isinstance(value, v.Unknown) else value


def _as_instance(frame: Frame, value: v.Value, cls: v.Value) -> v.Value:
    """The value as an instance of a class, if it may be one."""
    dtype = _dtype_on_cpu(cls)
    if dtype is not None:
        return _of_type(value, dtype)
    made = frame.analysis.parameters.value_of_class(cls)
    if isinstance(value, (v.Tensor, v.Unknown)) and isinstance(made, v.Tensor):
        return with_facts_of(made._replace(is_given=False), value)
    return value if isinstance(made, v.Unknown) else made


def _dtype_on_cpu(cls: v.Value) -> str | None:
    """The dtype of a class like `torch.FloatTensor`, whose instances are on the CPU, unlike
    `torch.cuda.FloatTensor`."""
    if not isinstance(cls, v.Symbol) or not cls.name.startswith("torch."):
        return None
    return TENSOR_TYPES.get(cls.name.removeprefix("torch."))


def _of_type(value: v.Value, dtype: str) -> v.Value:
    """The value as a CPU tensor of a dtype."""
    tensor = as_tensor(value) if isinstance(value, (v.Tensor, v.Unknown)) else v.Tensor()
    tensor = tensor._replace(dtype=dtype, certainty="tensor")
    return with_facts(tensor, on_cpu=True, requires_grad=False if is_integral(dtype) else None)


def is_instance(frame: Frame, value: v.Value, cls: v.Value) -> Fact:
    """Whether a value is an instance of a class; None if unknown."""
    if isinstance(value, v.Unknown):
        is_tensor = isinstance(cls, v.Symbol) and cls.name == "torch.Tensor"
        return False if is_tensor and value.is_no_tensor else None
    if isinstance(cls, v.Class):
        if isinstance(value, v.Instance):
            known = frame.analysis.classes.ancestors(value.cls)
            return True if any(each.node is cls.node for each in known) else None
        return False if isinstance(value, (v.Tensor, v.Constant, v.Sequence, v.Mapping, v.NonTensor)) else None
    return _is_of_library(value, cls.name) if isinstance(cls, v.Symbol) else None


def _is_of_library(value: v.Value, name: str) -> Fact:
    """Whether a value is an instance of a library's class or a builtin; None if unknown."""
    short = name.rpartition(".")[2]
    if isinstance(value, v.Tensor):
        return _is_tensor_of(value, name, short)
    if short in ("Tensor", "Parameter") and isinstance(
        value, (v.Sequence, v.Mapping, v.Constant, v.NonTensor, v.Instance)
    ):
        return False
    if isinstance(value, v.Sequence):
        return None if short in ("list", "tuple", "set", "Sequence", "Iterable", "Collection") else False
    if isinstance(value, v.Mapping):
        return None if short in ("dict", "Mapping", "OrderedDict", "defaultdict", "MutableMapping") else False
    if isinstance(value, v.Constant):
        return type(value.value).__name__ == short if name.startswith("builtins.") else None
    if isinstance(value, v.NonTensor):
        return _is_plain_of(value, short)
    return False if isinstance(value, (v.LibraryObject, v.Instance)) and name.startswith("builtins.") else None


def _is_tensor_of(value: v.Tensor, name: str, short: str) -> Fact:
    if name in ("torch.Tensor", "torch.autograd.Variable") or short == "Tensor":
        return True
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter") or short.endswith("Tensor"):
        return None
    return False if value.certainty == "tensor" or name.startswith(("builtins.", "numpy.")) else None


def _is_plain_of(value: v.NonTensor, short: str) -> Fact:
    if value.what.rpartition(".")[2] == short or value.what in _SHAPES.get(short, ()):
        return True
    if value.dimensions is not None:
        return short == "ndarray" or None if short in ("ndarray", "generic") else False
    return None


def _by_hasattr(frame: Frame, subject: ast.expr, name: str, *, holds: bool) -> None:
    path, value = _subject(frame, subject)
    if path is None:
        return
    tensors_have = name in _TORCH_ONLY or torch_api.is_of_tensors(name)
    spoken = frame.module.frameworks
    shows_tensor = name in _TORCH_ONLY and spoken.only_torch_says and name not in spoken.shared_words
    kept: list[v.Value] = []
    for member in members(value):
        if _has(member, name, tensors_have=tensors_have) not in (None, holds):
            continue
        if isinstance(member, v.Unknown) and tensors_have and not member.is_no_tensor:
            if not holds:
                member = member._replace(is_no_tensor=True)
            elif shows_tensor:
                member = with_facts_of(v.Tensor(certainty="likely"), member)
        kept.append(member)
    _keep(frame, path, kept)


def _has(value: v.Value, name: str, *, tensors_have: bool) -> Fact:
    """Whether a value has an attribute; None if unknown."""
    if isinstance(value, v.Tensor):
        return True if tensors_have else None
    may = isinstance(value, (v.Unknown, v.OtherFramework, v.Instance, v.LibraryObject))
    return False if name in _TORCH_ONLY and not may else None


def _by_comparison(frame: Frame, test: ast.Compare, *, holds: bool) -> None:
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    is_one = isinstance(operator, (ast.Is, ast.Eq, ast.In)) is holds
    if isinstance(operator, (ast.In, ast.NotIn)):
        if isinstance(right, (ast.Tuple, ast.List, ast.Set)) and right.elts:
            _by_choice(frame, left, right.elts, is_one=is_one)
    elif not isinstance(operator, (ast.Is, ast.Eq, ast.IsNot, ast.NotEq)):
        return
    elif isinstance(right, ast.Constant) and right.value is None:
        _by_none(frame, left, is_none=is_one)
    elif isinstance(left, ast.Call) and getattr(left.func, "id", None) == "type" and len(left.args) == 1:
        _by_classes(frame, left.args[0], right, holds=is_one)
    else:
        if is_one and isinstance(right, ast.Constant) and isinstance(right.value, str):
            _by_text(frame, left, right.value)
        _by_choice(frame, left, [right], is_one=is_one)


def _by_text(frame: Frame, node: ast.expr, text: str) -> None:
    path, value = _subject(frame, node)
    may_be = all(isinstance(each, (v.Unknown, v.NonTensor, v.Constant)) for each in members(value))
    if path is not None and may_be:
        frame.refine(path, v.Constant(text))


def _by_none(frame: Frame, node: ast.expr, *, is_none: bool) -> None:
    path, value = _subject(frame, node)
    if path is None:
        return
    if not is_none:
        _keep(frame, path, [each for each in members(value) if each != v.NONE])
    elif any(each == v.NONE or isinstance(each, v.Unknown) for each in members(value)):
        frame.refine(path, v.NONE)


def _by_choice(frame: Frame, left: ast.expr, choices: list[ast.expr], *, is_one: bool) -> None:
    """Narrow a tensor by the test that its device or dtype is, or is not, one of these."""
    if isinstance(left, ast.Attribute) and left.attr == "dtype":
        _by_dtype(frame, left.value, [dtype_of(frame.value(each)) for each in choices], is_one=is_one)
        return
    path, value = _subject(frame, _tensor_of_device(left))
    if path is None:
        return
    kinds = {cpu_of_device(frame.value(each)) for each in choices}
    is_cpu = kinds.pop() if len(kinds) == 1 else None
    is_named = any(isinstance(each, ast.Constant) and each.value == "cuda" for each in choices)
    if is_cpu is not None and (is_one or is_cpu or is_named):
        frame.refine(path, with_facts(value, on_cpu=is_cpu is is_one))


def _tensor_of_device(node: ast.expr) -> ast.expr | None:
    """`x` of `x.device`, `x.device.type` and `str(x.device)`."""
    match node:
        case ast.Call(ast.Name("str"), [inner]) | ast.Attribute(inner, "type"):
            return _tensor_of_device(inner)
        case ast.Attribute(tensor, "device"):
            return tensor
    return None


def _by_dtype(frame: Frame, node: ast.expr, dtypes: list[str | None], *, is_one: bool) -> None:
    path, value = _subject(frame, node)
    if path is None:
        return
    if is_one and all(map(is_integral, dtypes)):
        frame.refine(path, with_facts(value, requires_grad=False))
    elif any(map(may_lack, dtypes)) and isinstance(value, v.Tensor):
        frame.refine(path, value._replace(dtype=dtypes[0] if is_one else None))


def constant_test(frame: Frame, test: ast.expr) -> bool | None:
    """Whether a condition holds; None if unknown."""
    match test:
        case ast.Constant():
            return bool(test.value)
        case ast.UnaryOp(op=ast.Not()):
            known = constant_test(frame, test.operand)
            return None if known is None else not known
        case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
            return False
        case ast.Name():
            return _truth_of_name(frame, test.id)
        case ast.Attribute() if frame.seen is None:
            return False if frame.value(test) == v.NONE else None
        case ast.BoolOp():
            decisive = isinstance(test.op, ast.Or)
            parts = [constant_test(frame, part) for part in test.values]
            undecided = None if None in parts else not decisive
            return decisive if decisive in parts else undecided
        case ast.Call():
            return _truth_of_call(frame, test)
        case ast.Compare(ops=[_]):
            return _compared(frame, test)
    return None


def _truth_of_call(frame: Frame, test: ast.Call) -> bool | None:
    if last_name(test.func) in ASKS_FOR_GRAD_MODE:
        value = frame.value(test)
        return value.value if isinstance(value, v.Constant) else None
    is_of_class = test.args and last_name(test.func) in ("isinstance", "is_tensor")
    return _decided_by_class(frame, test) if is_of_class and frame.seen is None else None


def _truth_of_name(frame: Frame, name: str) -> bool | None:
    if name in frame.flags:
        return frame.flags[name]
    value = None if frame.env is None else frame.env.get(name)
    if not isinstance(value, v.Constant):
        return None
    is_told = isinstance(value.value, bool) or (value == v.NONE and frame.seen is None)
    return bool(value.value) if is_told else None


def _decided_by_class(frame: Frame, test: ast.Call) -> bool | None:
    value = frame.value(test.args[0])
    proved = (v.Tensor, v.Sequence, v.Mapping, v.NonTensor, v.Constant, v.Instance)
    if not all(isinstance(each, proved) for each in members(value)):
        return None
    classes = classes_asked(frame, test.args[1]) if len(test.args) == 2 else [v.Symbol("torch.Tensor")]
    verdicts = set()
    for member in members(value):
        found = [is_instance(frame, member, cls) for cls in classes]
        verdicts.add(True if True in found else None if None in found else False)
    return verdicts.pop() if len(verdicts) == 1 else None


def _compared(frame: Frame, test: ast.Compare) -> bool | None:
    operator, right = test.ops[0], test.comparators[0]
    is_none = isinstance(right, ast.Constant) and right.value is None
    if not isinstance(operator, (ast.Eq, ast.NotEq)) and not (is_none and isinstance(operator, (ast.Is, ast.IsNot))):
        return None
    if not isinstance(right, (ast.Constant, ast.Name, ast.Attribute)):
        return None
    expected = frame.value(right)
    if not isinstance(expected, v.Constant):
        return None
    found = frame.value(test.left)
    if expected == v.NONE and isinstance(found, v.Function):
        return not isinstance(operator, (ast.Eq, ast.Is))
    if not isinstance(found, v.Constant):
        return None
    is_own = frame.seen is None or isinstance(test.left, ast.Name)
    return (found == expected) is isinstance(operator, (ast.Eq, ast.Is)) if is_own else None
