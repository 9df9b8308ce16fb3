"""Statements in; their effect on a frame out: assignments, branches, loops, `with`, `try`, `match`, returns."""

from __future__ import annotations

import ast

from tonumpy.candidates import spans_any
from tonumpy.chains import last_name
from tonumpy.deferred import PLAIN
from tonumpy.inference.aliases import unless_it_requires_grad, with_origin
from tonumpy.inference.assignment import assign, augment, enter_context, grad_mode_of_context, thaw
from tonumpy.inference.callers import places_that_name
from tonumpy.inference.calls import call_method, evaluate_arguments
from tonumpy.inference.constant_tests import constant_test
from tonumpy.inference.conventions import holder_of_data, taken_for_source
from tonumpy.inference.environment import AUTOCAST, DEFAULT_DEVICE, DEFAULT_DTYPE, GRAD_MODE, GRAD_SETTERS, Environment
from tonumpy.inference.expressions import EXCEPTION, evaluate, item_of, settle, subscript_of
from tonumpy.inference.frame import Loop
from tonumpy.inference.guards import asks_for_accelerator, take_for_brought
from tonumpy.inference.joins import join
from tonumpy.inference.libraries.moved import changes_module_in_place
from tonumpy.inference.narrowing import asks_for_class, narrow, narrow_by_pattern, pattern_value, tells_of_tensor
from tonumpy.inference.observed_calls import observe_calls, observe_calls_of_targets
from tonumpy.inference.slices import moves_own_module
from tonumpy.inference.symbols import (
    SELF,
    bound_names,
    calls_super,
    imports_of,
    is_false,
    names_given,
    names_in,
    path_of,
    registered,
    requires_grad_given,
    rewritten_element,
    root_name,
    words_given,
)
from tonumpy.inference.values import (
    DATASET,
    NOTHING,
    Arguments,
    Constant,
    Function,
    Instance,
    LibraryObject,
    Mapping,
    Nothing,
    Plain,
    Tensor,
    Unknown,
    Value,
    definition,
    members,
    same,
    tensor_facts,
)
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.syntax import FUNCTIONS, blocks_of, statements_of, walk

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tonumpy.inference.dependencies import Closures
    from tonumpy.inference.frame import Frame

# A loop's variables settle within two or three passes; what still changes after these is given up as unknown.
MAX_PASSES = 6

# Whether the flow goes on behind the statement.
Continues = bool


def execute(frame: Frame, body: Sequence[ast.stmt]) -> Continues:
    kept = frame.kept
    for statement in body:
        if kept is not None and id(statement) not in kept:
            continue
        frame.analysis.spend()
        if id(statement) in frame.targets.statements:
            observe_calls_of_targets(frame, statement)
        if id(statement) in frame.unread and isinstance(statement, (ast.Expr, ast.Assign, ast.Return)):
            if statement.value is not None:
                observe_calls(frame, statement.value)
            if isinstance(statement, ast.Return):
                return False
            continue
        if frame.flow.closures is not None and id(statement) in frame.flow.closures.given_away:
            _give_away(frame, statement, frame.flow.closures)
        handler = _HANDLERS.get(type(statement))
        if handler is not None and not handler(frame, statement):
            return False
    return True


def _wanted(frame: Frame, statement: ast.stmt, names: Sequence[str]) -> bool:
    return (
        frame.relevant is None
        or id(statement) in frame.targets.statements
        or any(name in frame.relevant for name in names)
        or (frame.flow.closures is not None and _changes_by_closure(frame, statement, frame.flow.closures))
    )


def _changes_by_closure(frame: Frame, statement: ast.stmt, closures: Closures) -> bool:
    changed = closures.at.get(id(statement))
    return changed is not None and (frame.relevant is None or not changed.isdisjoint(frame.relevant))


def _give_away(frame: Frame, statement: ast.stmt, closures: Closures) -> None:
    """Who is given an inner function may call it, with anything, now or later."""
    if _changes_by_closure(frame, statement, closures):
        anything = Arguments((), (), has_star=True, starred=Unknown("argument"), hides_names=True)
        for node in closures.given_away[id(statement)]:
            for function in members(evaluate(frame, node)):
                if isinstance(function, Function):
                    frame.analysis.call_function(function, None, anything, None)


def _assign(frame: Frame, statement: ast.Assign) -> Continues:
    names = [name for target in statement.targets for name in bound_names(target)]
    switched_to = statement.value.value if isinstance(statement.value, ast.Constant) else None
    if isinstance(switched_to, bool) and any(frame.assumed.get(name, switched_to) is not switched_to for name in names):
        return False  # no way through here leads to where the flag is what it is taken for
    if not frame.assumed.keys().isdisjoint(names):
        names.append(next(iter(frame.relevant or ()), ""))
    if asks_for_class(statement.value) and isinstance(statement.targets[0], ast.Name):
        # What follows may depend on it, so it is kept where its answer is known, whether asked for or not.
        known = constant_test(frame, statement.value)
        if known is not None:
            frame.bind(statement.targets[0].id, Constant(known))
            return True
    if not _wanted(frame, statement, names):
        if _binds_by_walrus(frame, statement.value) or _wanted(
            frame, statement, _written_by_own_method(frame, statement.value)
        ):
            evaluate(frame, statement.value)
        return True
    if isinstance(statement.value, ast.Lambda) and frame.targets.calls:
        calls = _only_calls(frame, statement)
        if calls:
            frame.lambdas_called.add(id(statement.value))
            # They are looked at whether what they give is asked for or not.
            frame.targets = frame.targets._replace(statements=frame.targets.statements | calls)
    value = evaluate(frame, statement.value)
    if len(statement.targets) > 1:
        value = with_origin(settle(value), f"line {statement.lineno}")
    for target in statement.targets:
        if isinstance(target, (ast.Name, ast.Attribute)):
            value = taken_for_source(settle(value), last_name(target) or "", words_given(statement.value))
        if isinstance(target, (ast.Tuple, ast.List)):
            value = settle(value)
            if isinstance(value, Unknown):
                if value.why == DATASET:  # its parts, not its items
                    value = value._replace(why="parts of a dataset")
                value = holder_of_data(value, last_name(statement.value), has_names=True)
        assign(frame, target, value)
        _narrow_by_assumption(frame, target, statement.value)
    return True


def _only_calls(frame: Frame, statement: ast.Assign) -> frozenset[int]:
    """The statements that call the name which a lambda is given; none where something else is done with it, too."""
    target = statement.targets[0]
    if len(statement.targets) > 1 or not isinstance(target, ast.Name) or target.id not in frame.flow.local_names:
        return frozenset()
    places = [
        place
        for place in places_that_name(frame.module, target.id)
        if any(isinstance(scope, FUNCTIONS) and spans_any(scope, [statement.lineno]) for scope in place.scopes)
    ]
    if any(place.call is None or place.is_submitted for place in places):
        return frozenset()
    return frozenset(id(place.statement) for place in places)


def _narrow_by_assumption(frame: Frame, target: ast.expr, value: ast.expr) -> None:
    """`is_numpy = isinstance(x, np.ndarray)` where is_numpy is taken to be true: so x is an array from here on."""
    if isinstance(target, ast.Name) and target.id in frame.assumed:
        narrow(frame, value, frame.assumed[target.id])
    elif isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        for part, given in zip(target.elts, value.elts, strict=True):
            _narrow_by_assumption(frame, part, given)


def _walruses(frame: Frame, node: ast.expr) -> list[ast.NamedExpr]:
    if not frame.module.has_walrus:
        return []
    return [inner for inner in walk(node) if isinstance(inner, ast.NamedExpr)]


def _annotated_assign(frame: Frame, statement: ast.AnnAssign) -> Continues:
    if not _wanted(frame, statement, list(bound_names(statement.target))):
        return True
    declared = frame.analysis.annotated(frame, statement.annotation)
    if statement.value is None:
        if isinstance(statement.target, ast.Name):
            frame.bind(statement.target.id, declared)
        return True
    value = evaluate(frame, statement.value)
    # The annotation helps where the expression says nothing; it never overrules what was seen.
    assign(frame, statement.target, frame.analysis.combine_annotation(value, declared))
    return True


def _augmented_assign(frame: Frame, statement: ast.AugAssign) -> Continues:
    if _wanted(frame, statement, list(bound_names(statement.target))):
        augment(frame, statement)
    return True


def _expression(frame: Frame, statement: ast.Expr) -> Continues:
    node = statement.value.value if isinstance(statement.value, ast.Await) else statement.value
    if isinstance(node, (ast.Yield, ast.YieldFrom)):
        evaluate(frame, node)
    elif isinstance(node, ast.Call) and (member := _member_of_module(frame, node)) is not None:
        _register(frame, statement, *member, is_buffer=last_name(node.func) == "register_buffer")
    elif isinstance(node, ast.Call):
        changed = root_name(node.func) if isinstance(node.func, ast.Attribute) else None
        name = last_name(node.func)
        sets_mode = name in GRAD_SETTERS or _enters_in_stack(frame, node)
        names = [*names_given(node), *([changed] if changed else []), *_written_by_own_method(frame, node)]
        names += _changed_in(frame, statement)
        if sets_mode or moves_own_module(node) or _wanted(frame, statement, names) or _binds_by_walrus(frame, node):
            evaluate(frame, node)
        if sets_mode:
            _set_grad_mode(frame, node)
        if name == "set_default_dtype" and node.args:
            _set_state(frame, DEFAULT_DTYPE, evaluate(frame, node.args[0]))
        if (name == "exit" and root_name(node.func) == "sys") or (isinstance(node.func, ast.Name) and name == "exit"):
            return False
    elif not isinstance(node, ast.Constant) and (
        _wanted(frame, statement, _changed_in(frame, statement)) or _binds_by_walrus(frame, node)
    ):
        evaluate(frame, node)
    return True


def _changed_in(frame: Frame, statement: ast.stmt) -> list[str]:
    use = frame.flow.uses.get(id(statement))
    return [] if use is None else list(use.names_changed())


def _member_of_module(frame: Frame, call: ast.Call) -> tuple[ast.Attribute, ast.expr] | None:
    """What `self.register_buffer("mean", x)` in a class of modules registers, and under what name."""
    member = registered(call)
    if member is None or frame.owner is None or not frame.analysis.classes.is_module(frame.owner):
        return None
    return member


def _register(frame: Frame, statement: ast.stmt, target: ast.Attribute, node: ast.expr, *, is_buffer: bool) -> None:
    """Torch refuses what is neither a tensor nor None. A buffer is what a module keeps and does not learn."""
    if _wanted(frame, statement, list(bound_names(target))):
        value = settle(evaluate(frame, node))
        if is_buffer:
            value = unless_it_requires_grad(value)
        assign(frame, target, Tensor(*tensor_facts(value)) if isinstance(value, Unknown) else value)


def _written_by_own_method(frame: Frame, node: ast.expr) -> list[str]:
    """The attributes of `self` that `self.update(x)` writes, or `super().update(x)`."""
    function = node.func if isinstance(node, ast.Call) else None
    if frame.owner is None or not isinstance(function, ast.Attribute):
        return []
    classes, cls, owner = frame.analysis.classes, frame.owner, getattr(function.value, "id", None)
    if owner is None and calls_super(function):
        cls, owner = next(iter(classes.ancestors(cls)[1:]), cls), SELF
    return [] if owner is None else [f"{owner}.{name}" for name in classes.written_by(cls, function.attr)]


def _binds_by_walrus(frame: Frame, node: ast.expr) -> bool:
    return any(frame.is_relevant(walrus.target.id) for walrus in _walruses(frame, node))


def _set_grad_mode(frame: Frame, call: ast.Call) -> None:
    """`torch.set_grad_enabled(flag)` as a statement holds from there on, and for whoever catches what comes after.

    So does, until its stack is left, `stack.enter_context(torch.no_grad())`.
    """
    enter_context(frame, call.args[0] if _enters_in_stack(frame, call) else call, evaluate_it=False)
    _set_state(frame, GRAD_MODE, frame.env.get(GRAD_MODE) or NOTHING)


def _set_state(frame: Frame, state: str, value: Value) -> None:
    frame.env.set(state, value)
    for journal in frame.journals:
        journal[state] = join(journal.get(state, NOTHING), value)


def _enters_in_stack(frame: Frame, call: ast.Call) -> bool:
    """`stack.enter_context(...)` in a block `with contextlib.ExitStack() as stack:`."""
    function = call.func
    if not isinstance(function, ast.Attribute) or function.attr != "enter_context" or len(call.args) != 1:
        return False
    stack = evaluate(frame, function.value)
    return isinstance(stack, LibraryObject) and stack.name == "contextlib.ExitStack"


def _return(frame: Frame, statement: ast.Return) -> Continues:
    if frame.wants_result or id(statement) in frame.targets.statements:
        value = Constant(None) if statement.value is None else evaluate(frame, statement.value)
        frame.returned = join(frame.returned, value)
    return False


def _raise(frame: Frame, statement: ast.Raise) -> Continues:
    if id(statement) in frame.targets.statements:
        for part in (statement.exc, statement.cause):
            if part is not None:
                evaluate(frame, part)
    return False


def _assert(frame: Frame, statement: ast.Assert) -> Continues:
    if id(statement) in frame.targets.statements:
        evaluate(frame, statement.test)
        if statement.msg is not None:
            base = frame.env
            frame.env = Environment(base)
            narrow(frame, statement.test, False)
            evaluate(frame, statement.msg)
            frame.env = base
    narrow(frame, statement.test, True)
    return True


def _delete(frame: Frame, statement: ast.Delete) -> Continues:
    for target in statement.targets:
        if id(statement) in frame.targets.statements:
            evaluate(frame, target)
        if isinstance(target, ast.Name) and frame.is_relevant(target.id):
            frame.bind(target.id, Unknown(f"deleted {target.id}"))
    return True


def _annotations(function: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr | None]:
    parameters = (*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs)
    return [*(parameter.annotation for parameter in parameters), function.returns]


def _definition(frame: Frame, statement: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> Continues:
    if id(statement) in frame.targets.statements:
        for decorator in statement.decorator_list:
            evaluate(frame, decorator)
        if not isinstance(statement, ast.ClassDef):
            for part in (*statement.args.defaults, *statement.args.kw_defaults, *_annotations(statement)):
                if part is not None:
                    evaluate(frame, part)
        else:
            for base in (*statement.bases, *(keyword.value for keyword in statement.keywords)):
                evaluate(frame, base)
    if frame.is_relevant(statement.name) or frame.relevant is None:
        around = frame if frame.flow.is_function or not isinstance(statement, ast.ClassDef) else frame.closure
        frame.bind(statement.name, definition(statement, frame.module, frame.owner, around))
    return True


def _import(frame: Frame, statement: ast.Import | ast.ImportFrom) -> Continues:
    for name, imported in imports_of(statement):
        if name != "*" and frame.is_relevant(name):
            frame.bind(name, frame.analysis.names.import_value(frame.module, imported))
    return True


def _branches(frame: Frame, runs: Sequence[Callable[[], Continues]], statement: ast.If | None = None) -> Continues:
    """Run alternatives from the same start and go on with the join of those that reach their end.

    Where it is an `if` that they are of, only those count that may lead to what is asked for.
    """
    base = frame.env
    ends: list[dict[str, Value]] = []
    for run in runs:
        frame.env = Environment(base)
        if run():
            ends.append(frame.env.changes_since(base))
    frame.env = base
    if not ends:
        return False
    base.merge(ends if statement is None else _leading_to_targets(frame, statement, ends))
    return True


def _leading_to_targets(frame: Frame, statement: ast.If, ends: list[dict[str, Value]]) -> list[dict[str, Value]]:
    """`if isinstance(x, np.ndarray): x, is_numpy = torch.from_numpy(x), True`: what stands under `if is_numpy:` below
    was made there, for the flag is off at the other ends, and nowhere below is it switched on."""
    for name, truth in frame.awaited.items():
        is_settled = not frame.loops and frame.flow.switched[name, truth] <= (statement.end_lineno or 0)
        if is_settled:
            switched = [end for end in ends if (end.get(name) or frame.env.get(name)) != Constant(not truth)]
            ends = switched or ends
    return ends


def _if(frame: Frame, statement: ast.If) -> Continues:
    if id(statement) in frame.targets.statements or _walruses(frame, statement.test):
        evaluate(frame, statement.test)
    known = constant_test(frame, statement.test)
    uses_accelerator = asks_for_accelerator(frame, statement.test)

    def then() -> Continues:
        narrow(frame, statement.test, True)
        if uses_accelerator is False:
            take_for_brought(frame, statement.orelse)
        return execute(frame, statement.body)

    def otherwise() -> Continues:
        narrow(frame, statement.test, False)
        if uses_accelerator:
            take_for_brought(frame, statement.body)
        return execute(frame, statement.orelse)

    if known is None:
        return _branches(frame, (then, otherwise), statement)
    taken, other, passed_over = (then, otherwise, statement.orelse) if known else (otherwise, then, statement.body)
    targets = frame.targets.statements
    if targets and any(id(each) in targets for each in statements_of(passed_over)):
        # Whoever wrote a conversion there means it to be run some day; nothing that follows comes from there.
        base = frame.env
        frame.env = Environment(base)
        other()
        frame.env = base
    return taken()


def _loop(
    frame: Frame,
    statement: ast.For | ast.AsyncFor | ast.While,
    start_pass: Callable[[], Continues],
    end_pass: Callable[[], None] = lambda: None,
) -> Continues:
    """Run a loop's body until what comes round no longer changes what its head has seen.

    Only the outermost loop repeats: an inner loop runs once a pass and remembers what came round it, so nesting costs
    a sum and not a product.
    """
    key = id(statement)
    outermost = not frame.loops
    base = frame.env
    for number in range(MAX_PASSES):
        frame.env = Environment(base)
        if outermost:
            frame.back_edge_changed = False
        loop = Loop(frame.env)
        head = frame.env
        for name, value in frame.back_edges.get(key, {}).items():
            head.widen(name, value)
        frame.loops.append(loop)
        frame.env = Environment(head)
        goes_on = start_pass() and execute(frame, statement.body)
        end_pass()
        rounds = [frame.env.changes_since(head)] if goes_on else []
        frame.loops.pop()
        for changes in (*rounds, *loop.continues):
            for name, value in changes.items():
                settled = Unknown("changes in a loop") if number == MAX_PASSES - 1 else value
                if _remember(frame, key, name, settled):
                    frame.back_edge_changed = True
                head.widen(name, value)
        if not outermost or not frame.back_edge_changed:
            break
    frame.env = Environment(head)
    ends = []
    if not (isinstance(statement, ast.While) and constant_test(frame, statement.test) is True):
        if isinstance(statement, ast.While):
            narrow(frame, statement.test, False)
        if execute(frame, statement.orelse):
            ends.append(frame.env.changes_since(base))
    ends.extend({**head.values, **changes} for changes in loop.breaks)
    frame.env = base
    if not ends:
        return False
    base.merge(ends)
    return True


def _remember(frame: Frame, loop: int, name: str, value: Value) -> bool:
    """Add to what came round a loop; whether it was new."""
    memory = frame.back_edges.setdefault(loop, {})
    before = memory.get(name)
    joined = value if before is None else join(before, value)
    memory[name] = joined
    return not same(before, joined)


def _for(frame: Frame, statement: ast.For | ast.AsyncFor) -> Continues:
    names = list(bound_names(statement.target))
    wanted = _wanted(frame, statement, names)
    rewritten = rewritten_element(statement)

    def start_pass() -> Continues:
        if wanted:
            assign(frame, statement.target, item_of(frame, evaluate(frame, statement.iter)), is_item=True)
        if rewritten is not None:
            container = frame.env.get(rewritten[0])
            if container is not None:
                frame.env.set(rewritten[1], subscript_of(frame, settle(container), Plain("key"), is_slice=False))
        return True

    if rewritten is None:
        goes_on = _loop(frame, statement, start_pass)
        _regrade_module(frame, statement)
        _move_modules(frame, statement)
        return goes_on
    elements: list[Value] = []
    goes_on = _loop(frame, statement, start_pass, lambda: elements.append(frame.env.get(rewritten[1]) or NOTHING))
    if frame.env.get(rewritten[0]) is not None and elements and not isinstance(elements[-1], Nothing):
        # Every element has been written, or there was none.
        frame.bind(rewritten[0], Mapping((), elements[-1]))
    return goes_on


def _regrade_module(frame: Frame, loop: ast.For | ast.AsyncFor) -> None:
    """`for p in module.parameters(): p.requires_grad = False` freezes the module, as `requires_grad_(False)` does.

    What a loop goes through is no longer known to be frozen where it leaves anything set to what is not False.
    """
    if not frame.module.speaks_of_grad:
        return
    given = [(statement, node) for statement in statements_of(loop.body) for node in requires_grad_given(statement)]
    every = all(is_false(node) for _, node in given)
    source = loop.iter
    if _leaves_thawed(loop.body):
        thaw(frame, source)
    if not given or not isinstance(source, ast.Call) or not isinstance(source.func, ast.Attribute):
        return
    if source.func.attr not in ("parameters", "named_parameters"):
        return
    path = path_of(source.func.value)
    module = None if path is None else frame.env.get(path)
    always = any(statement in loop.body for statement, _ in given) and not source.args and not source.keywords
    if every and always and isinstance(module, Unknown) and frame.module.only_torch_says:
        module = LibraryObject("torch.nn.Module", module.on_cpu)  # what else has parameters
    if path is not None and isinstance(module, (Instance, LibraryObject)):
        frame.change_all(path, module, module._replace(requires_grad=False if every and always else None))


def _move_modules(frame: Frame, loop: ast.For | ast.AsyncFor) -> None:
    """`for net in (actor, critic): net.to(device)` moves each of them."""
    if not isinstance(loop.iter, (ast.Tuple, ast.List)) or not isinstance(loop.target, ast.Name):
        return
    for statement in statements_of(loop.body):
        call = statement.value if isinstance(statement, ast.Expr) else None
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        name = call.func.attr
        if path_of(call.func.value) != loop.target.id or not changes_module_in_place(name):
            continue
        for path in filter(None, map(path_of, loop.iter.elts)):
            module = settle(frame.env.get(path) or NOTHING)
            if isinstance(module, (Instance, LibraryObject)):
                after = call_method(frame, module, name, evaluate_arguments(frame, call))
                frame.change_all(path, module, after if statement in loop.body else join(module, after))


def _leaves_thawed(block: Sequence[ast.stmt]) -> bool:
    """Whether something is set to what is not False in a block, and not to False again further down in it."""
    is_thawed = False
    for statement in block:
        for node in requires_grad_given(statement):
            is_thawed = not is_false(node)
        is_thawed = is_thawed or any(_leaves_thawed(inner) for inner in blocks_of(statement))
    return is_thawed


def _while(frame: Frame, statement: ast.While) -> Continues:
    def start_pass() -> Continues:
        if id(statement) in frame.targets.statements or _walruses(frame, statement.test):
            evaluate(frame, statement.test)
        narrow(frame, statement.test, True)
        return True

    return _loop(frame, statement, start_pass)


def _break(frame: Frame, _: ast.Break) -> Continues:
    if frame.loops:
        frame.loops[-1].breaks.append(frame.env.changes_since(frame.loops[-1].base))
    return False


def _continue(frame: Frame, _: ast.Continue) -> Continues:
    if frame.loops:
        frame.loops[-1].continues.append(frame.env.changes_since(frame.loops[-1].base))
    return False


def _with(frame: Frame, statement: ast.With | ast.AsyncWith) -> Continues:
    before = {state: frame.env.get(state) or NOTHING for state in (GRAD_MODE, DEFAULT_DEVICE, AUTOCAST)}
    loop = frame.loops[-1] if frame.loops else None
    left = (len(loop.breaks), len(loop.continues)) if loop is not None else (0, 0)
    suppresses = False
    for item in statement.items:
        target = item.optional_vars
        names = list(bound_names(target)) if target is not None else []
        suppresses = suppresses or last_name(getattr(item.context_expr, "func", item.context_expr)) == "suppress"
        entered = enter_context(frame, item.context_expr, evaluate_it=_wanted(frame, statement, names))
        if target is not None and _wanted(frame, statement, names):
            assign(frame, target, entered)
    if before[GRAD_MODE] is frame.env.get(GRAD_MODE) and not _restores_grad_mode(frame, statement):
        del before[GRAD_MODE]
    if suppresses:
        handler = ast.ExceptHandler(None, None, [])
        goes_on = _try(frame, ast.Try(statement.body, [handler], [], []))
    else:
        goes_on = execute(frame, statement.body)
    for state, value in before.items():
        frame.env.set(state, value)
    if loop is not None:
        for changes in (*loop.breaks[left[0] :], *loop.continues[left[1] :]):
            changes.update(before)
    return goes_on


def _restores_grad_mode(frame: Frame, statement: ast.With | ast.AsyncWith) -> bool:
    """Whether a context sets grad mode, if only to what it was: then it undoes what is set within its block."""
    nodes = [item.context_expr for item in statement.items]
    return any(
        grad_mode_of_context(frame, node) != "unchanged"
        or last_name(getattr(node, "func", node)) in ("ExitStack", "AsyncExitStack")
        for node in nodes
    )


def _try(frame: Frame, statement: ast.Try) -> Continues:
    base = frame.env
    journal: dict[str, Value] = {}
    found: dict[str, Value] = {}  # what an exception may leave behind
    frame.journals.append(journal)

    def body() -> Continues:
        goes_on = execute(frame, statement.body)
        frame.journals.pop()  # not remove(): the journals of nested `try` bodies may be equal
        found.update((name, join(base.get(name) or NOTHING, value)) for name, value in journal.items())
        return goes_on and execute(frame, statement.orelse)

    def handling(handler: ast.ExceptHandler) -> Callable[[], Continues]:
        def run() -> Continues:
            frame.env.values.update(found)
            if id(statement) in frame.targets.statements and handler.type is not None:
                evaluate(frame, handler.type)
            if handler.name:
                frame.bind(handler.name, EXCEPTION)
            return execute(frame, handler.body)

        return run

    goes_on = _branches(frame, (body, *(handling(handler) for handler in statement.handlers)))
    if statement.finalbody and not frame.is_interrupted:
        after, frame.env, frame.is_interrupted = frame.env, Environment(frame.env), True
        frame.env.values.update(found)
        execute(frame, statement.finalbody)
        frame.env, frame.is_interrupted = after, False
    ends_here = not execute(frame, statement.finalbody)
    return goes_on and not ends_here


def _match(frame: Frame, statement: ast.Match) -> Continues:
    subject_names = names_in(statement.subject)
    subject = (
        evaluate(frame, statement.subject)
        if frame.relevant is None or id(statement) in frame.targets.statements or subject_names & frame.relevant
        else Unknown("match")
    )

    # What tells nothing of a tensor may have thousands of cases, which would be passed for each of them.
    tells = tells_of_tensor(statement.subject)

    def matching(number: int, case: ast.match_case) -> Callable[[], Continues]:
        def run() -> Continues:
            for earlier in statement.cases[:number] if tells else ():
                if earlier.guard is None:
                    narrow_by_pattern(frame, statement.subject, earlier.pattern, False)
            narrow_by_pattern(frame, statement.subject, case.pattern, True)
            pattern_value(frame, statement.subject, subject, case.pattern)
            if case.guard is not None:
                if id(statement) in frame.targets.statements:
                    evaluate(frame, case.guard)
                narrow(frame, case.guard, True)
            return execute(frame, case.body)

        return run

    last = statement.cases[-1]
    exhaustive = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
    runs = [matching(number, case) for number, case in enumerate(statement.cases)]
    return _branches(frame, runs if exhaustive else [*runs, lambda: True])


# Each handler takes the statements that it stands for, which a dict's type cannot say.
_HANDLERS: dict[type[ast.stmt], Callable[[Frame, Any], Continues]] = {
    ast.Assign: _assign,
    ast.AnnAssign: _annotated_assign,
    ast.AugAssign: _augmented_assign,
    ast.Expr: _expression,
    ast.Return: _return,
    ast.Raise: _raise,
    ast.Assert: _assert,
    ast.Delete: _delete,
    ast.FunctionDef: _definition,
    ast.AsyncFunctionDef: _definition,
    ast.ClassDef: _definition,
    ast.Import: _import,
    ast.ImportFrom: _import,
    ast.If: _if,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.Match: _match,
}  # each handler takes the statement class of its key
_HANDLERS.update(dict.fromkeys(PLAIN, _definition))
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
