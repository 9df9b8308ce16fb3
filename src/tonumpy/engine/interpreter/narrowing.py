"""Narrows the names in a test to what it shows, and tells whether it is known to hold."""

from __future__ import annotations

import ast

from tonumpy.engine.interpreter.devices import TENSOR_TYPES, as_tensor, cpu_of_device
from tonumpy.engine.interpreter.frame import Frame, place_of
from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.knowledge.grad_contexts import ASKS_FOR_GRAD_MODE
from tonumpy.engine.values.dtypes import is_integral, may_lack
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.value_facts import dtype_of, members, with_facts, with_facts_of
from tonumpy.engine.values.values import (
    NONE,
    Class,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Unknown,
    Value,
)
from tonumpy.facts import Fact
from tonumpy.text.names import last_name

_TORCH_ONLY = ("detach", "requires_grad", "is_cuda", "cpu")
_SHAPES = {"str": ("str",), "int": ("int", "number"), "float": ("float", "number"), "bool": ("bool",)}


def narrow(frame: Frame, test: ast.expr, *, holds: bool) -> None:
    """Write to the environment what is true where the test holds, or does not."""
    if frame.env is None:
        return
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(frame, test.operand, holds=not holds)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is holds:
            for part in test.values:
                narrow(frame, part, holds=holds)
    elif isinstance(test, ast.NamedExpr):
        narrow(frame, test.target, holds=holds)
    elif isinstance(test, ast.Call):
        _by_call(frame, test, holds=holds)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _by_comparison(frame, test, holds=holds)
    elif isinstance(test, ast.Attribute) and test.attr in _FLAGS:
        _by_flag(frame, test, holds=holds)
    elif isinstance(test, ast.Name) and test.id in frame.tests:
        asked, subject, before = frame.tests[test.id]
        if frame.env.get(subject) is before:
            narrow(frame, asked, holds=holds)
    elif isinstance(test, (ast.Name, ast.Attribute)) and holds:
        path, value = _subject(frame, test)
        if path is not None:
            _keep(frame, path, [each for each in members(value) if each != NONE])


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
    """Keep `is_array = isinstance(x, np.ndarray)`, which narrows `x` where the flag is tested unless it is rebound."""
    frame.tests.pop(name, None)
    subject = test.args[0] if test.args and last_name(test.func) in ("isinstance", "is_tensor", "hasattr") else None
    if isinstance(subject, ast.Name) and frame.env is not None and subject.id in frame.env:
        frame.tests[name] = (test, subject.id, frame.env[subject.id])


def _subject(frame: Frame, node: ast.expr) -> tuple[str | None, Value]:
    if isinstance(node, ast.NamedExpr):
        node = node.target
    path = place_of(node)
    return path, NONE if path is None else frame.value(node)


def _keep(frame: Frame, path: str, kept: list[Value]) -> None:
    if kept:
        frame.refine(path, join_all(kept))


def _by_call(frame: Frame, test: ast.Call, *, holds: bool) -> None:
    name = last_name(test.func)
    if name in ("isinstance", "issubclass") and len(test.args) == 2:
        path, value = _subject(frame, test.args[0])
        if path is not None:
            narrow_to_classes(frame, path, value, classes_asked(frame, test.args[1]), holds=holds)
    elif name in ("is_tensor", "is_torch_tensor") and len(test.args) == 1:
        path, value = _subject(frame, test.args[0])
        if path is not None:
            narrow_to_classes(frame, path, value, [Symbol("torch.Tensor")], holds=holds)
    elif name == "hasattr" and len(test.args) == 2 and isinstance(test.args[1], ast.Constant):
        _by_hasattr(frame, test.args[0], test.args[1].value, holds=holds)
    elif name == "is_complex" and holds and isinstance(test.func, ast.Attribute):
        path, value = _subject(frame, test.func.value)
        if path is not None and isinstance(value, Tensor) and value.dtype is None:
            frame.refine(path, value._replace(dtype="complex"))
    elif name == "is_floating_point" and not holds:
        subject = test.args[0] if test.args else getattr(test.func, "value", None)
        path, value = (None, NONE) if subject is None else _subject(frame, subject)
        if path is not None:
            frame.refine(path, with_facts(value, requires_grad=False))


def classes_asked(frame: Frame, node: ast.expr) -> list[Value]:
    """The classes that `isinstance` is asked for."""
    if isinstance(node, (ast.Tuple, ast.List)):
        return [each for part in node.elts for each in classes_asked(frame, part)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
        return classes_asked(frame, node.left) + classes_asked(frame, node.right)
    value = frame.value(node)
    return list(value.items) if isinstance(value, Sequence) and value.items else [value]


def narrow_to_classes(frame: Frame, path: str, value: Value, classes: list[Value], *, holds: bool) -> None:
    """Keep the members of a value that are, or are not, of some classes."""
    kept: list[Value] = []
    parameters = frame.analysis.parameters
    of_tensors = any(isinstance(each, Symbol) and each.name == "torch.Tensor" for each in classes)
    for member in members(value):
        verdicts = [is_instance(frame, member, cls) for cls in classes]
        if holds:
            if True in verdicts:
                kept.append(member)
            else:
                for cls, verdict in zip(classes, verdicts, strict=True):
                    if verdict is None:
                        made = parameters.value_of_class(cls)
                        dtype = _dtype_on_cpu(cls)
                        if dtype is not None:
                            made = _of_type(member, dtype)
                        elif isinstance(member, (Tensor, Unknown)) and isinstance(made, Tensor):
                            made = with_facts_of(made._replace(is_given=False), member)
                        kept.append(member if isinstance(made, Unknown) else made)
        elif True not in verdicts:
            if of_tensors and isinstance(member, Unknown):
                member = member._replace(is_no_tensor=True)
            kept.append(member)
    if not kept and holds:
        kept = [parameters.value_of_class(each) for each in classes]
    elif not kept and of_tensors:
        kept = [NonTensor("what no tensor is")]
    _keep(frame, path, kept)


def _dtype_on_cpu(cls: Value) -> str | None:
    """The dtype of `torch.FloatTensor`, whose instances lie on the CPU; those on a GPU are `torch.cuda.FloatTensor`."""
    if not isinstance(cls, Symbol) or not cls.name.startswith("torch."):
        return None
    return TENSOR_TYPES.get(cls.name.removeprefix("torch."))


def _of_type(value: Value, dtype: str) -> Value:
    """The value as a tensor of a type of the CPU."""
    tensor = as_tensor(value) if isinstance(value, (Tensor, Unknown)) else Tensor()
    tensor = tensor._replace(dtype=dtype, certainty="tensor")
    return with_facts(tensor, on_cpu=True, requires_grad=False if is_integral(dtype) else None)


def is_instance(frame: Frame, value: Value, cls: Value) -> Fact:
    """True if a value is surely of a class, or surely not."""
    if isinstance(value, Unknown):
        is_tensor = isinstance(cls, Symbol) and cls.name == "torch.Tensor"
        return False if is_tensor and value.is_no_tensor else None
    if isinstance(cls, Class):
        if isinstance(value, Instance):
            known = frame.analysis.classes.ancestors(value.cls)
            return True if any(each.node is cls.node for each in known) else None
        return False if isinstance(value, (Tensor, Constant, Sequence, Mapping, NonTensor)) else None
    if not isinstance(cls, Symbol):
        return None
    short = cls.name.rpartition(".")[2]
    if isinstance(value, Tensor):
        return _is_tensor_of(value, cls.name, short)
    if short in ("Tensor", "Parameter") and isinstance(value, (Sequence, Mapping, Constant, NonTensor, Instance)):
        return False
    if isinstance(value, Sequence):
        return None if short in ("list", "tuple", "set", "Sequence", "Iterable", "Collection") else False
    if isinstance(value, Mapping):
        return None if short in ("dict", "Mapping", "OrderedDict", "defaultdict", "MutableMapping") else False
    if isinstance(value, Constant):
        return type(value.value).__name__ == short if cls.name.startswith("builtins.") else None
    if isinstance(value, NonTensor):
        return _is_plain_of(value, short)
    return False if isinstance(value, (LibraryObject, Instance)) and cls.name.startswith("builtins.") else None


def _is_tensor_of(value: Tensor, name: str, short: str) -> Fact:
    if name in ("torch.Tensor", "torch.autograd.Variable") or short == "Tensor":
        return True
    if name in ("torch.nn.Parameter", "torch.nn.parameter.Parameter") or short.endswith("Tensor"):
        return None
    return False if value.certainty == "tensor" or name.startswith(("builtins.", "numpy.")) else None


def _is_plain_of(value: NonTensor, short: str) -> Fact:
    if value.what.rpartition(".")[2] == short or value.what in _SHAPES.get(short, ()):
        return True
    if value.dimensions is not None:
        return short == "ndarray" or None if short in ("ndarray", "generic") else False
    return None


def _by_hasattr(frame: Frame, subject: ast.expr, name: object, *, holds: bool) -> None:
    path, value = _subject(frame, subject)
    if path is None or not isinstance(name, str):
        return
    tensors_have = name in _TORCH_ONLY or torch_api.is_of_tensors(name)
    spoken = frame.module.frameworks
    kept: list[Value] = []
    for member in members(value):
        if isinstance(member, Tensor):
            has: Fact = True if tensors_have else None
        else:
            may = isinstance(member, (Unknown, OtherFramework, Instance, LibraryObject))
            has = False if name in _TORCH_ONLY and not may else None
        if has is not None and has is not holds:
            continue
        if isinstance(member, Unknown) and tensors_have and not member.is_no_tensor:
            if not holds:
                member = member._replace(is_no_tensor=True)
            elif name in _TORCH_ONLY and spoken.only_torch_says and name not in spoken.shared_words:
                member = with_facts_of(Tensor(certainty="likely"), member)
        kept.append(member)
    _keep(frame, path, kept)


def _by_comparison(frame: Frame, test: ast.Compare, *, holds: bool) -> None:
    left, operator, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(operator, (ast.In, ast.NotIn)):
        if isinstance(right, (ast.Tuple, ast.List, ast.Set)) and right.elts:
            _by_choice(frame, left, right.elts, is_one=isinstance(operator, ast.In) is holds)
        return
    positive = isinstance(operator, (ast.Is, ast.Eq))
    if not positive and not isinstance(operator, (ast.IsNot, ast.NotEq)):
        return
    is_one = positive is holds
    if isinstance(right, ast.Constant) and right.value is None:
        path, value = _subject(frame, left)
        if path is None:
            return
        if is_one:
            if any(each == NONE or isinstance(each, Unknown) for each in members(value)):
                frame.refine(path, NONE)
        else:
            _keep(frame, path, [each for each in members(value) if each != NONE])
        return
    if isinstance(left, ast.Call) and getattr(left.func, "id", None) == "type" and len(left.args) == 1:
        path, value = _subject(frame, left.args[0])
        if path is not None:
            narrow_to_classes(frame, path, value, classes_asked(frame, right), holds=is_one)
        return
    if isinstance(right, ast.Constant) and isinstance(right.value, str) and is_one:
        path, value = _subject(frame, left)
        if path is not None and all(isinstance(each, (Unknown, NonTensor, Constant)) for each in members(value)):
            frame.refine(path, Constant(right.value))
    _by_choice(frame, left, [right], is_one=is_one)


def _by_choice(frame: Frame, left: ast.expr, choices: list[ast.expr], *, is_one: bool) -> None:
    """Return what a device or dtype, which is or is not one of these, shows of its tensor."""
    if isinstance(left, ast.Attribute) and left.attr == "dtype":
        dtypes = [dtype_of(frame.value(each)) for each in choices]
        path, value = _subject(frame, left.value)
        if path is None:
            return
        if is_one and all(map(is_integral, dtypes)):
            frame.refine(path, with_facts(value, requires_grad=False))
        elif any(map(may_lack, dtypes)) and isinstance(value, Tensor):
            frame.refine(path, value._replace(dtype=dtypes[0] if is_one else None))
        return
    node = left.args[0] if isinstance(left, ast.Call) and last_name(left.func) == "str" and left.args else left
    node = node.value if isinstance(node, ast.Attribute) and node.attr == "type" else node
    if not isinstance(node, ast.Attribute) or node.attr != "device":
        return
    path, value = _subject(frame, node.value)
    kinds = {cpu_of_device(frame.value(each)) for each in choices}
    if path is None or len(kinds) > 1:
        return
    (is_cpu,) = kinds
    named = [each.value for each in choices if isinstance(each, ast.Constant)]
    if is_cpu is None or (not is_one and is_cpu is False and "cuda" not in named):
        return
    frame.refine(path, with_facts(value, on_cpu=is_cpu is is_one))


def constant_test(frame: Frame, test: ast.expr) -> bool | None:
    """True if a condition is known to hold, or not to."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = constant_test(frame, test.operand)
        return None if known is None else not known
    if isinstance(test, (ast.Name, ast.Attribute)) and last_name(test) == "TYPE_CHECKING":
        return False
    if isinstance(test, ast.Name):
        if test.id in frame.flags:
            return frame.flags[test.id]
        value = None if frame.env is None else frame.env.get(test.id)
        if isinstance(value, Constant) and (isinstance(value.value, bool) or (value == NONE and frame.seen is None)):
            return bool(value.value)
        return None
    if isinstance(test, ast.Attribute) and frame.seen is None:
        return False if frame.value(test) == NONE else None
    if isinstance(test, ast.BoolOp):
        decisive = isinstance(test.op, ast.Or)
        parts = [constant_test(frame, part) for part in test.values]
        return decisive if decisive in parts else None if None in parts else not decisive
    if isinstance(test, ast.Call):
        if last_name(test.func) in ASKS_FOR_GRAD_MODE:
            value = frame.value(test)
            return value.value if isinstance(value, Constant) else None
        if frame.seen is None and last_name(test.func) in ("isinstance", "is_tensor") and test.args:
            return _decided_by_class(frame, test)
        return None
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(frame, test)
    return None


def _decided_by_class(frame: Frame, test: ast.Call) -> bool | None:
    value = frame.value(test.args[0])
    proved = (Tensor, Sequence, Mapping, NonTensor, Constant, Instance)
    if not all(isinstance(each, proved) for each in members(value)):
        return None
    classes = classes_asked(frame, test.args[1]) if len(test.args) == 2 else [Symbol("torch.Tensor")]
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
    if not isinstance(expected, Constant):
        return None
    found = frame.value(test.left)
    if expected == NONE and isinstance(found, Function):
        return not isinstance(operator, (ast.Eq, ast.Is))
    if not isinstance(found, Constant):
        return None
    is_own = frame.seen is None or isinstance(test.left, ast.Name)
    return (found == expected) is isinstance(operator, (ast.Eq, ast.Is)) if is_own else None
