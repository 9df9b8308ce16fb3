"""What a test shows of the names in it, where it holds and where it does not, written to the frame."""

from __future__ import annotations

import ast
from functools import reduce
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.accelerators import tells_cpu_from_all
from tonumpy.engine.names.bindings import asks_for_class, element_path, key_path
from tonumpy.engine.values.dtypes import OTHER, choice_of, is_integral, join_dtype, may_lack
from tonumpy.engine.values.dtypes import choices as choices_of
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import dtype_of, may_be, members, tensor_facts, with_facts, with_facts_of
from tonumpy.engine.values.values import (
    NONE,
    Constant,
    Instance,
    LibraryObject,
    Mapping,
    NonTensor,
    OtherFramework,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.class_tests import as_instance, classes_asked_for, is_instance
from tonumpy.inference.transfer.devices import cpu_of_device
from tonumpy.inference.transfer.members import resolve
from tonumpy.text.names import path_of

if TYPE_CHECKING:
    from tonumpy.facts import Fact
    from tonumpy.inference.transfer.frame import Frame


def narrow(frame: Frame, test: ast.expr, holds: bool) -> None:
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        narrow(frame, test.operand, not holds)
    elif isinstance(test, ast.BoolOp):
        if isinstance(test.op, ast.And) is holds:
            for part in test.values:
                narrow(frame, part, holds)
    elif isinstance(test, ast.Call):
        _narrow_by_call(frame, test, holds)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1:
        _narrow_by_comparison(frame, test, holds)
    elif isinstance(test, ast.Attribute):
        _narrow_by_attribute(frame, test, holds)
    elif isinstance(test, ast.NamedExpr):
        narrow(frame, test.value, holds)
        narrow(frame, test.target, holds)
    elif isinstance(test, ast.Name) and holds:
        _drop(frame, test, NONE)


def current_value(frame: Frame, subject: ast.expr) -> tuple[str, Value] | None:
    """The path of a subject that a test may refine, with what is known of it."""
    if isinstance(subject, ast.NamedExpr):
        subject = subject.target
    path = path_of(subject)
    if path is None and isinstance(subject, ast.Subscript):
        container = path_of(subject.value)
        path = None if container is None else element_path(container, subject.slice)
        known = None if path is None else frame.env.get(path)
        if path is not None and known is not None:
            return path, known
        path = None if container is None else key_path(container, subject.slice)
    if path is None or not is_relevant(frame, path):
        return None
    return path, resolve(frame, frame.evaluator.expression(frame, subject))


def is_relevant(frame: Frame, path: str) -> bool:
    """Whether what is asked depends on the variable, or the attribute of one, at the head of a path."""
    return frame.is_relevant(path.partition(".")[0]) or frame.is_relevant(".".join(path.split(".")[:2]))


def _keep(frame: Frame, path: str, kept: list[Value]) -> None:
    if kept:
        frame.refine(path, join_all(kept))


def _narrow_to_whole_numbers(frame: Frame, subject: ast.expr) -> None:
    """Integers and truth values never require grad. Nobody asks like this about complex numbers."""
    current = current_value(frame, subject)
    if current is not None:
        value = with_facts(current[1], requires_grad=False)
        if isinstance(value, Tensor) and may_lack(value.dtype):
            others = [each for each in choices_of(value.dtype) if "float" not in each and each != OTHER]
            value = value._replace(dtype=choice_of(others))
        frame.refine(current[0], value)


def _drop(frame: Frame, subject: ast.expr, dropped: Value) -> None:
    current = current_value(frame, subject)
    if current is not None and isinstance(current[1], Union):
        _keep(frame, current[0], [member for member in current[1].members if member != dropped])


def _narrow_by_call(frame: Frame, test: ast.Call, holds: bool) -> None:
    name = test.func.attr if isinstance(test.func, ast.Attribute) else getattr(test.func, "id", None)
    if name == "isinstance" and len(test.args) == 2:
        current = current_value(frame, test.args[0])
        if current is not None:
            classes = classes_asked_for(frame, test.args[1])
            narrow_by_classes(frame, *current, classes, holds)
    elif name in ("is_tensor", "is_torch_tensor") and len(test.args) == 1:
        current = current_value(frame, test.args[0])
        if current is not None and isinstance(frame.evaluator.expression(frame, test.func), Symbol):
            narrow_by_classes(frame, *current, [Symbol("torch.Tensor")], holds)
    elif name == "hasattr" and len(test.args) == 2 and isinstance(test.args[1], ast.Constant):
        _narrow_by_hasattr(frame, test.args[0], test.args[1].value, holds)
    elif name == "is_floating_point" and not holds:
        subject = test.args[0] if test.args else getattr(test.func, "value", None)
        if subject is not None:
            _narrow_to_whole_numbers(frame, subject)


def decided_by_class(frame: Frame, test: ast.Call) -> bool | None:
    """Whether a test of its class is known to hold, or not to, for every value that its subject may be."""
    if getattr(test.func, "id", None) == "hasattr" and len(test.args) == 2:
        return True if _tensors_have(frame, *test.args) else None
    if not asks_for_class(test):
        return None
    value = resolve(frame, frame.evaluator.expression(frame, test.args[0]))
    if not all(isinstance(member, _PROVED) for member in members(value)):
        return None
    if len(test.args) == 2:
        classes = classes_asked_for(frame, test.args[1])
    elif isinstance(frame.evaluator.expression(frame, test.func), Symbol):
        classes = [Symbol("torch.Tensor")]
    else:
        return None
    verdicts = {_any([is_instance(frame, member, cls) for cls in classes]) for member in members(value)}
    return verdicts.pop() if len(verdicts) == 1 else None


def _tensors_have(frame: Frame, subject: ast.expr, name: ast.expr) -> bool:
    """Whether the subject is surely a tensor, and has an attribute or method of this name as tensors have."""
    if not isinstance(name, ast.Constant) or not _is_of_tensors(name.value):
        return False
    return isinstance(resolve(frame, frame.evaluator.expression(frame, subject)), Tensor)


def _is_of_tensors(name: object) -> bool:
    return isinstance(name, str) and torch_api.is_of_tensors(name)


_PROVED = (Tensor, Sequence, Mapping, NonTensor, Constant, Instance)


def _any(verdicts: list[Fact]) -> Fact:
    return True if True in verdicts else None if None in verdicts else False


def narrow_by_classes(frame: Frame, path: str, value: Value, classes: list[Value], holds: bool) -> None:
    kept: list[Value] = []
    for member in members(value):
        verdicts = [is_instance(frame, member, cls) for cls in classes]
        if holds:
            if True in verdicts:
                kept.append(member)
            elif None in verdicts:
                # An object of the class asked for, with what was known of its tensors.
                for cls, verdict in zip(classes, verdicts, strict=True):
                    if verdict is None:
                        kept.append(as_instance(frame, member, cls))
        elif True not in verdicts:
            rules_out_tensors = any(isinstance(cls, Symbol) and cls.name == "torch.Tensor" for cls in classes)
            if rules_out_tensors and isinstance(member, Unknown):
                member = member._replace(is_no_tensor=True)
            kept.append(member)
    if not holds and not kept and may_be(value, Tensor):
        kept = [NonTensor("what no tensor is")]  # the test expects others, whatever is declared
    if holds and not kept:
        kept = [as_instance(frame, Unknown(Reason.CLASS), cls) for cls in classes]
    _keep(frame, path, kept)


def _narrow_by_hasattr(frame: Frame, subject: ast.expr, name: object, holds: bool) -> None:
    current = current_value(frame, subject)
    if current is None:
        return
    path, value = current
    torch_only = name in ("detach", "requires_grad", "is_cuda", "cpu")
    tensors_have = torch_only or _is_of_tensors(name)
    spoken = frame.module.frameworks
    kept: list[Value] = []
    for member in members(value):
        if isinstance(member, Tensor):
            has = True if tensors_have else None
        else:
            others_may = isinstance(member, (Unknown, OtherFramework, Instance, LibraryObject))
            has = False if torch_only and not others_may else None
        if has is None or has is holds:
            if not isinstance(member, Unknown) or not tensors_have or member.is_no_tensor:
                kept.append(member)
            elif not holds:
                kept.append(member._replace(is_no_tensor=True))
            elif torch_only and spoken.only_torch_says and name not in spoken.shared_words:
                kept.append(with_facts_of(Tensor(certainty="likely"), member))
            else:
                kept.append(member)
    _keep(frame, path, kept)


def _narrow_by_attribute(frame: Frame, test: ast.Attribute, holds: bool) -> None:
    if test.attr in ("is_cuda", "is_cpu", "requires_grad", "is_mps"):
        current = current_value(frame, test.value)
        if current is None:
            return
        path, value = current
        if test.attr == "requires_grad":
            frame.refine(path, with_facts(value, requires_grad=holds))
        elif test.attr == "is_cpu":
            frame.refine(path, with_facts(value, on_cpu=holds))
        elif holds or (test.attr == "is_cuda" and tells_cpu_from_all(frame.module, lambda: "cuda")):
            frame.refine(path, with_facts(value, on_cpu=not holds))
    elif test.attr == "is_floating_point" and isinstance(test.value, ast.Attribute) and test.value.attr == "dtype":
        if not holds:
            _narrow_to_whole_numbers(frame, test.value.value)
    elif holds:
        _drop(frame, test, NONE)


def _narrow_by_comparison(frame: Frame, test: ast.Compare, holds: bool) -> None:
    left, comparison, right = test.left, test.ops[0], test.comparators[0]
    if isinstance(comparison, (ast.In, ast.NotIn)):
        _narrow_by_membership(frame, left, right, isinstance(comparison, ast.In) is holds)
        return
    positive = isinstance(comparison, (ast.Is, ast.Eq))
    if not positive and not isinstance(comparison, (ast.IsNot, ast.NotEq)):
        return
    if isinstance(right, ast.Constant) and right.value is None:
        current = current_value(frame, left)
        if current is not None:
            path, value = current
            if positive is holds:
                if any(member == NONE or isinstance(member, Unknown) for member in members(value)):
                    frame.refine(path, NONE)
            else:
                _keep(frame, path, [member for member in members(value) if member != NONE])
        return
    if isinstance(left, ast.Call) and getattr(left.func, "id", None) == "type" and len(left.args) == 1:
        current = current_value(frame, left.args[0])
        if current is not None:
            narrow_by_classes(frame, *current, classes_asked_for(frame, right), positive is holds)
        return
    if isinstance(right, ast.Constant) and isinstance(right.value, str) and positive is holds:
        _narrow_to_string(frame, left, right.value)
    narrow_by_one_of(frame, left, [right], positive is holds)


def _narrow_by_membership(frame: Frame, left: ast.expr, right: ast.expr, is_in: bool) -> None:
    """`x.device.type in ("cuda", "mps")`, `x.dtype not in (torch.int32, torch.int64)`"""
    if isinstance(right, (ast.Tuple, ast.List, ast.Set)) and right.elts:
        narrow_by_one_of(frame, left, right.elts, is_in)


def narrow_by_one_of(frame: Frame, left: ast.expr, choices: list[ast.expr], is_one: bool) -> None:
    """What a device or dtype, which is or is not one of these, shows of its tensor."""
    if isinstance(left, ast.Attribute) and left.attr == "dtype":
        dtypes = [dtype_of(frame.evaluator.expression(frame, each)) for each in choices]
        if is_one and all(map(is_integral, dtypes)):
            _narrow_to_whole_numbers(frame, left.value)
        elif any(map(may_lack, dtypes)):
            _narrow_dtype(frame, left.value, dtypes, is_one)
        return
    subject = _subject_of_device(left)
    current = None if subject is None else current_value(frame, subject)
    kinds = (
        {cpu_of_device(frame.evaluator.expression(frame, each)) for each in choices} if current is not None else set()
    )
    if current is None or len(kinds) > 1:
        return
    (is_cpu,) = kinds
    if not is_one and is_cpu is False:
        # Not on this accelerator says nothing, as it may be another one; but where it may be on the CPU, nobody thinks
        # of others than "cuda", unless the module does.
        named = [each.value for each in choices if isinstance(each, ast.Constant)]
        tells = "cuda" in named and tells_cpu_from_all(frame.module, lambda: " ".join(map(str, named)))
        if not tells or tensor_facts(current[1])[0] is False:
            return
    if is_cpu is not None:
        _refine_device(frame, current, on_cpu=is_cpu is is_one)


def _narrow_dtype(frame: Frame, subject: ast.expr, dtypes: list[str | None], is_one: bool) -> None:
    """`x.dtype == torch.bfloat16`: what is none of these may be the rest of what it may be."""
    current = current_value(frame, subject)
    if current is None or not isinstance(current[1], Tensor):
        return
    left = dtypes if is_one else [each for each in choices_of(current[1].dtype) if each not in dtypes]
    frame.refine(current[0], current[1]._replace(dtype=reduce(join_dtype, left) if left else None))


def _refine_device(frame: Frame, current: tuple[str, Value], *, on_cpu: bool) -> None:
    frame.refine(current[0], with_facts(current[1], on_cpu=on_cpu))


def _narrow_to_string(frame: Frame, subject: ast.expr, text: str) -> None:
    """An attribute that no statement has set is not asked for what it was before: that may run a whole constructor."""
    path = path_of(subject) if isinstance(subject, ast.Attribute) else None
    if path is not None and frame.env.get(path) is None:
        if is_relevant(frame, path):
            frame.refine(path, Constant(text))
        return
    current = current_value(frame, subject)
    if current is not None and all(isinstance(each, (Unknown, NonTensor, Constant)) for each in members(current[1])):
        frame.refine(current[0], Constant(text))


def _subject_of_device(node: ast.expr) -> ast.expr | None:
    """`x` for `x.device`, `x.device.type` and `str(x.device)`."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", None) == "str" and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ast.Attribute) and node.attr == "type":
        node = node.value
    return node.value if isinstance(node, ast.Attribute) and node.attr == "device" else None
