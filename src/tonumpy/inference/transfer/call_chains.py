"""From a chain of calls, attributes and subscripts to its value. What calls mutate is in mutations.py."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.knowledge import torch_api
from tonumpy.engine.names.bindings import SELF, Import, element_path, is_super, key_path
from tonumpy.engine.names.torch_words import changes_module_in_place
from tonumpy.engine.values.joins import join, join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import evidence_in, held_in, mapped, tensor_facts
from tonumpy.engine.values.values import (
    NOTHING,
    Annotation,
    Arguments,
    BoundMethod,
    Class,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    ModuleValue,
    Nothing,
    Sequence,
    Symbol,
    Tensor,
    Union,
    Unknown,
    Value,
)
from tonumpy.inference.transfer import library_values
from tonumpy.inference.transfer.annotations import makes_annotation
from tonumpy.inference.transfer.calls import call_method, call_value
from tonumpy.inference.transfer.devices import as_tensor
from tonumpy.inference.transfer.habit_heuristics import (
    apply_key_habits,
    holder_of_data,
    may_hold_data,
)
from tonumpy.inference.transfer.members import attribute_of, item_of, resolve, subscript_of
from tonumpy.inference.transfer.moved_modules import moved
from tonumpy.inference.transfer.mutations import change_arguments, change_receiver, give_away_modules
from tonumpy.inference.transfer.name_heuristics import has_chosen_device, made_by_model
from tonumpy.inference.transfer.targets import Observation
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    from tonumpy.inference.transfer.frame import Frame

_UNREAD = Unknown(Reason.SYNTAX)


def evaluate_chain(frame: Frame, node: ast.Call | ast.Attribute | ast.Subscript) -> Value:
    """`a.b[0].c(x).d()` from the inside out, in a loop: a chain may be longer than Python's stack is deep."""
    inner, links = _links_of(node)
    value = (
        _call_of_expression(frame, inner) if isinstance(inner, ast.Call) else frame.evaluator.expression(frame, inner)
    )
    path = inner.id if isinstance(inner, ast.Name) else None
    seen: list[tuple[int, Value]] = [(id(inner), value)]
    owner: ast.expr = inner
    for link in reversed(links):
        if not isinstance(link, ast.Call) or _gets_part(link):
            value = resolve(frame, value)
            if isinstance(value, Unknown) or (isinstance(value, Union) and may_hold_data(last_name(owner))):
                value = _part_of_data(frame, value, owner, link)
        owner = link
        if isinstance(link, ast.Attribute):
            path = None if path is None else f"{path}.{link.attr}"
            known = frame.env.get(path) if path is not None else None
            if link.attr == "device" and isinstance(value, Unknown) and _reads_as_tensor(frame, value, link.value):
                value = as_tensor(value)
            value = attribute_of(frame, value, link.attr) if known is None else known
        elif isinstance(link, ast.Subscript):
            value, path = _item_at(frame, link, value, path), None
        else:
            assert isinstance(link.func, ast.Attribute)
            known = frame.env.get(f"{path}.{link.func.attr}") if path is not None else None
            arguments = evaluate_arguments(frame, link)
            receiver = _as_what_has(frame, resolve(frame, value), link.func.attr)
            if id(link) in frame.targets.calls:
                frame.observe(id(link), Observation(receiver, tuple(seen), arguments, frame.grad_mode))
                if id(link) in frame.seen.not_followed:
                    return _UNREAD
            called = Symbol(f"{receiver.name}.{link.func.attr}") if isinstance(receiver, Symbol) else receiver
            give_away_modules(frame, link, called)
            method = _method_of(frame, receiver, link.func.attr)
            change_arguments(frame, link, method, arguments)
            stored = _stored(frame, path, link)
            forward = _forward_of(frame, link.func.attr) if is_super(link.func.value) else None
            if stored is not None:
                value = stored
            elif forward is not None:
                value = call_value(frame, forward, arguments)
            elif known is not None:
                value = call_value(frame, known, arguments)
            else:
                value = call_method(frame, receiver, link.func.attr, arguments)
                if inner is link.func.value and is_super(inner) and _gives_itself(receiver, link.func.attr, value):
                    value = _moved_itself(frame, value, link.func.attr, arguments)
                value = _made_by_model(frame, value, link.func, arguments, method)
                change_receiver(frame, link, receiver, path, arguments, value)
            if known is not None or not _gives_itself(receiver, link.func.attr, value):
                path = None
        seen.append((id(link), value))
    return value


def _reads_as_tensor(frame: Frame, value: Unknown, node: ast.expr) -> bool:
    """Whether what has a `device` is where that is, as an item or a variable that is not called a model or settings is:
    `args.device` and `model.device` say that somebody has chosen one."""
    if value.is_no_tensor or value.reason is Reason.DATASET or not isinstance(node, (ast.Name, ast.Subscript)):
        return False
    return isinstance(node, ast.Subscript) or (node.id in frame.flow.local_names and not has_chosen_device(node.id))


def _links_of(node: ast.expr) -> tuple[ast.expr, list[ast.Call | ast.Attribute | ast.Subscript]]:
    """The expression at the inside of a chain, and its links, the outermost first."""
    links: list[ast.Call | ast.Attribute | ast.Subscript] = []
    while True:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            links.append(node)
            node = node.func.value
        elif isinstance(node, (ast.Attribute, ast.Subscript)):
            links.append(node)
            node = node.value
        else:
            return node, links


def _item_at(frame: Frame, link: ast.Subscript, value: Value, path: str | None) -> Value:
    element = None if path is None else element_path(path, link.slice) or key_path(path, link.slice)
    known = None if element is None else frame.env.get(element)
    if known is not None:
        return known
    if makes_annotation(value):
        return Annotation(frame.analysis.parameters.annotated(frame, link))
    index = frame.evaluator.expression(frame, link.slice)
    if id(link) in frame.targets.calls and isinstance(link.ctx, ast.Load):
        frame.observe_operation(link, resolve(frame, value), resolve(frame, index))
    found = subscript_of(frame, value, index, isinstance(link.slice, ast.Slice))
    if isinstance(found, Unknown) or isinstance(value, Mapping):
        return apply_key_habits(found, last_name(link.slice), frame)
    return found


def _as_what_has(frame: Frame, receiver: Value, method: str) -> Value:
    """Filter union members that lack the method: objects of the repository's own classes without it, as the call is
    meant for one of the others. An object of a class that extends torch's Tensor is a tensor if the class does not
    define the method itself."""
    classes = frame.analysis.classes
    if isinstance(receiver, Instance):
        is_tensor = frame.analysis.kinds.makes_tensors(receiver.cls) and classes.method(receiver.cls, method) is None
        return Tensor() if is_tensor else receiver
    if not isinstance(receiver, Union):
        return receiver
    members = [_as_what_has(frame, each, method) for each in receiver.members]
    kept = [each for each in members if not (isinstance(each, Instance) and classes.lacks(each.cls, method))]
    is_same = all(one is other for one, other in zip(kept, receiver.members, strict=False))
    return receiver if is_same and len(kept) == len(members) else join_all(kept or members)


def _gives_itself(receiver: Value, method: str, result: Value) -> bool:
    """Whether a method has given the module that it was called on: `net.eval().requires_grad_(False)`."""
    if isinstance(receiver, Union):  # whichever it is
        return all(_gives_itself(member, method, member) for member in receiver.members)
    if method not in ("eval", "train") and not changes_module_in_place(method):
        return False
    if isinstance(receiver, Instance):
        return isinstance(result, Instance) and result.cls == receiver.cls
    if not isinstance(result, LibraryObject) or not library_values.is_module([result.name]):
        return False
    return isinstance(receiver, Unknown) or (isinstance(receiver, LibraryObject) and receiver.name == result.name)


def _moved_itself(frame: Frame, result: Value, method: str, arguments: Arguments) -> Value:
    """What `super().to(device)` gives: not an object of the base class, but the one at hand."""
    own = frame.env.get("self")
    return moved(own, method, arguments) if isinstance(own, Instance) else result


def _gets_part(call: ast.Call) -> bool:
    return last_name(call.func) == "get" and bool(call.args)


def _stored(frame: Frame, path: str | None, call: ast.Call) -> Value | None:
    """What has been put where `batch.get("image")` takes it from."""
    element = key_path(path, call.args[0]) if path is not None and _gets_part(call) else None
    return None if element is None else frame.env.get(element)


def _part_of_data(frame: Frame, value: Value, owner: ast.expr, link: ast.Attribute | ast.Subscript | ast.Call) -> Value:
    """What a part is taken from, by its name or number; `batch.T` is none, as that is a tensor's."""
    if isinstance(value, Union):
        return mapped(value, lambda member: _part_of_data(frame, member, owner, link))
    if not isinstance(value, Unknown):
        return value
    if isinstance(link, ast.Attribute):
        is_tensor = torch_api.tensor_attribute(link.attr) is not None
        return value if is_tensor else holder_of_data(value, last_name(owner), frame, has_names=True)
    key = link.args[0] if isinstance(link, ast.Call) else link.slice
    name = frame.env.get(key.id) if isinstance(key, ast.Name) else key  # `data[field]`, called with a field's name
    has_names = isinstance(name, (ast.Constant, Constant)) and isinstance(name.value, str)
    return holder_of_data(value, last_name(owner), frame, has_names=has_names)


def evaluate_arguments(frame: Frame, call: ast.Call) -> Arguments:
    """The values of a call's arguments."""
    positional: list[Value] = []
    has_star = hides_names = False
    frame.seen.lambdas_given.update(id(each) for each in call.args if isinstance(each, ast.Lambda))
    frame.seen.lambdas_given.update(id(each.value) for each in call.keywords if isinstance(each.value, ast.Lambda))
    hidden: Value = NOTHING
    for argument in call.args:
        if isinstance(argument, ast.Starred):
            starred = resolve(frame, frame.evaluator.expression(frame, argument.value))
            if isinstance(starred, Sequence) and starred.items is not None:
                positional.extend(starred.items)
            else:
                has_star = True
                hidden = join(hidden, item_of(frame, starred))
        elif not has_star:
            positional.append(resolve(frame, frame.evaluator.expression(frame, argument)))
        else:
            hidden = join(hidden, resolve(frame, frame.evaluator.expression(frame, argument)))
    named: list[tuple[str, Value]] = []
    under_names: Value = NOTHING
    for keyword in call.keywords:
        value = frame.evaluator.expression(frame, keyword.value)
        if keyword.arg is not None:
            named.append((keyword.arg, resolve(frame, value)))
        elif isinstance(value, Mapping) and isinstance(value.other, Nothing):
            named.extend((key, entry) for key, entry in value.entries if isinstance(key, str))
        else:
            under_names = _under_names(value) if not hides_names else NOTHING
            has_star = hides_names = True
    given = Arguments(tuple(positional), tuple(named), has_star, hidden, hides_names, under_names)
    return given.mapped(frame.begun) if frame.analysis.tells_origins else given


def _under_names(given: Value) -> Value:
    """What a `**given` hides, where it is known that it holds tensors on the CPU: the batch of a tokenizer."""
    cpu, grad = tensor_facts(given)
    has_tensors = any(isinstance(each, (Tensor, Unknown, LibraryObject)) for each in held_in(given))
    return Unknown(Reason.CONTENT, cpu, grad, evidence=evidence_in(given)) if cpu is True and has_tensors else NOTHING


def _call_of_expression(frame: Frame, call: ast.Call) -> Value:
    """A call whose function is no attribute: `f(x)`, `fs[0](x)`, `(lambda y: y)(x)`."""
    function = frame.evaluator.expression(frame, call.func)
    if function == Symbol("builtins.super"):
        return _super(frame)
    arguments = evaluate_arguments(frame, call)
    if id(call) in frame.targets.calls:
        frame.observe(id(call), Observation(function, (), arguments, frame.grad_mode))
        if id(call) in frame.seen.not_followed:
            return _UNREAD
    result = call_value(frame, function, arguments)
    result = _made_by_model(frame, result, call.func, arguments, function)
    give_away_modules(frame, call, function)
    change_arguments(frame, call, function, arguments)
    return result


def _is_bound_nowhere(frame: Frame, name: str) -> bool:
    """Whether a module would raise a NameError for it, as where an import has been forgotten."""
    around: Frame | None = frame
    while around is not None:
        if name in around.flow.local_names or around.env.get(name) is not None:
            return False
        around = around.closure
    names, is_notebook = frame.module.names, frame.module.text.is_notebook
    is_bound = not names.bindings.keys().isdisjoint((name, "*")) or name in names.imports_in_functions
    return not is_bound and not is_notebook


def _made_by_model(frame: Frame, result: Value, function: ast.expr, arguments: Arguments, called: Value) -> Value:
    """A function in sight is no model, whatever it is called: `train_model(model)`, `run_network(x)`."""
    if not frame.module.frameworks.only_torch_says or isinstance(called, (Function, BoundMethod)):
        return result
    made = made_by_model(result, function, arguments, lambda: _is_function(frame, function, called))
    return made if made is result or frame.module.frameworks.names_torch else result


def _is_function(frame: Frame, node: ast.expr, called: Value) -> bool:
    """Whether what is called is a library's, imported, or a method: an attribute that the module binds nowhere, as
    `self.target_net = net` does, but calls, as in `learner.update_model(batch)`."""
    if isinstance(node, ast.Attribute):
        binds = rf"\b{node.attr}[ \t]*(?::[^=\n]*)?=(?!=)"
        return isinstance(called, Symbol) or not frame.module.text.says("shows", binds)
    return isinstance(called, Symbol) or (isinstance(node, ast.Name) and _is_imported(frame, node.id))


def _is_imported(frame: Frame, name: str) -> bool:
    """Or would have to be, where it is bound nowhere."""
    bindings = frame.module.names.bindings.get(name, ())
    return any(isinstance(each, Import) for each in bindings) or _is_bound_nowhere(frame, name)


def _method_of(frame: Frame, receiver: Value, name: str) -> Value:
    return (
        attribute_of(frame, receiver, name)
        if isinstance(receiver, (Instance, Class, ModuleValue, Symbol))
        else receiver
    )


def _forward_of(frame: Frame, name: str) -> BoundMethod | None:
    """What `super().__call__(x)` runs in a module, where no base of the repository has such a method of its own."""
    if name != "__call__" or frame.owner is None or not frame.analysis.kinds.is_module(frame.owner):
        return None
    classes = frame.analysis.classes
    if any(classes.method(each, name) for each in classes.ancestors(frame.owner)[1:]):
        return None
    itself = frame.lookup(SELF)
    instance = itself if isinstance(itself, Instance) else Instance(frame.owner)
    forward = classes.method(instance.cls, "forward")
    return None if forward is None else BoundMethod(forward, instance)


def _super(frame: Frame) -> Value:
    if frame.owner is None:
        return Unknown(Reason.LIBRARY)
    classes = frame.analysis.classes
    bases = classes.ancestors(frame.owner)[1:]
    if bases:
        itself = frame.lookup(SELF)
        if isinstance(itself, Instance) and frame.owner in classes.ancestors(itself.cls):
            return Instance(bases[0], real=itself)
        return Instance(bases[0])
    return library_values.object_of_bases(classes.library_bases(frame.owner))
