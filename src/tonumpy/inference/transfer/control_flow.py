"""The transfer functions of statements with blocks: branches, loops, `with`, `try`, `match`."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from tonumpy.engine.names.bindings import bound_names, rewritten_element
from tonumpy.engine.names.generator_modes import mode_in_rounds
from tonumpy.engine.values.environment import AUTOCAST, DEFAULT_DEVICE, GRAD_MODE, Environment
from tonumpy.engine.values.evidence import cut_off
from tonumpy.engine.values.joins import join
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import left_open
from tonumpy.engine.values.values import NOTHING, Constant, Mapping, NonTensor, Nothing, Unknown, Value, same
from tonumpy.inference.transfer.accelerator_guards import asks_for_accelerator, enter_without_accelerator
from tonumpy.inference.transfer.assignment import assign
from tonumpy.inference.transfer.constant_conditions import constant_test
from tonumpy.inference.transfer.contexts import enter_context, grad_mode_of_context
from tonumpy.inference.transfer.expressions import evaluate
from tonumpy.inference.transfer.grad_modes import inside
from tonumpy.inference.transfer.members import EXCEPTION, item_of, resolve, subscript_of
from tonumpy.inference.transfer.module_loops import change_modules
from tonumpy.inference.transfer.narrowing import narrow
from tonumpy.inference.transfer.observation import observe_calls, observe_calls_of_targets
from tonumpy.inference.transfer.simple_statements import HANDLERS, Continues, give_away, is_wanted, walruses
from tonumpy.inference.transfer.targets import Loop
from tonumpy.text.names import last_name
from tonumpy.text.syntax import statements_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from tonumpy.inference.transfer.frame import Frame

# A loop's variables settle within two or three passes; what still changes after these is given up as unknown.
MAX_PASSES = 6


def _unsettled(frame: Frame, loop: ast.stmt, name: str) -> Value:
    """What a loop leaves in a variable that each time round changes again."""
    cut = cut_off("passes", f"`{name}` changes in each iteration", frame.module.filename, loop.lineno)
    return left_open(Unknown(Reason.CUT_SHORT), cut)


def execute(frame: Frame, body: Sequence[ast.stmt]) -> Continues:
    kept = frame.asked.statements
    for statement in body:
        if kept is not None and id(statement) not in kept:
            continue
        frame.analysis.budget.spend()
        frame.row = statement.lineno
        if id(statement) in frame.targets.statements:
            observe_calls_of_targets(frame, statement)
        is_read = id(statement) not in frame.asked.unread or id(statement) in frame.targets.calls
        if not is_read and isinstance(statement, (ast.Expr, ast.Assign, ast.Return)):
            if statement.value is not None:
                observe_calls(frame, statement.value)
            if isinstance(statement, ast.Return):
                return False
            continue
        if frame.flow.closures is not None and id(statement) in frame.flow.closures.given_away:
            give_away(frame, statement, frame.flow.closures)
        handler = _HANDLERS.get(type(statement))
        if handler is not None and not handler(frame, statement):
            return False
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
    for name, truth in frame.asked.awaited.items():
        is_settled = not frame.control.loops and frame.flow.switched[name, truth] <= (statement.end_lineno or 0)
        if is_settled:
            switched = [end for end in ends if (end.get(name) or frame.env.get(name)) != Constant(not truth)]
            ends = switched or ends
    return ends


def _if(frame: Frame, statement: ast.If) -> Continues:
    if id(statement) in frame.targets.statements or walruses(frame, statement.test):
        evaluate(frame, statement.test)
    known = constant_test(frame, statement.test)
    uses_accelerator = asks_for_accelerator(frame, statement.test)

    def then() -> Continues:
        narrow(frame, statement.test, True)
        if uses_accelerator is False:
            enter_without_accelerator(frame, statement.test, statement.orelse)
        return execute(frame, statement.body)

    def otherwise() -> Continues:
        narrow(frame, statement.test, False)
        if uses_accelerator:
            enter_without_accelerator(frame, statement.test, statement.body)
        return execute(frame, statement.orelse)

    if known is None:
        return _branches(frame, (then, otherwise), statement)
    taken, other, passed_over = (then, otherwise, statement.orelse) if known else (otherwise, then, statement.body)
    targets = frame.targets.statements
    if targets and any(id(each) in targets for each in statements_of(passed_over)):
        # A conversion there is meant to be run some day; nothing that follows comes from there.
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
    outermost = not frame.control.loops
    base = frame.env
    for number in range(MAX_PASSES):
        frame.env = Environment(base)
        if outermost:
            frame.control.back_edge_changed = False
        loop = Loop(frame.env)
        head = frame.env
        for name, value in frame.control.back_edges.get(key, {}).items():
            head.widen(name, value)
        frame.control.loops.append(loop)
        frame.env = Environment(head)
        goes_on = start_pass() and execute(frame, statement.body)
        end_pass()
        rounds = [frame.env.changes_since(head)] if goes_on else []
        frame.control.loops.pop()
        for changes in (*rounds, *loop.continues):
            for name, value in changes.items():
                settled = _unsettled(frame, statement, name) if number == MAX_PASSES - 1 else value
                if _remember(frame, key, name, settled):
                    frame.control.back_edge_changed = True
                head.widen(name, value)
        if not outermost or not frame.control.back_edge_changed:
            break
    frame.env = Environment(head)
    ends = []
    if loop.breaks and not loop.continues and _takes_the_first(statement):
        pass
    elif not (isinstance(statement, ast.While) and constant_test(frame, statement.test) is True):
        if isinstance(statement, ast.While):
            narrow(frame, statement.test, False)
        if execute(frame, statement.orelse):
            ends.append(base.replaced_by_rounds(frame.env.changes_since(base), (*rounds, *loop.continues)))
    ends.extend({**head.values, **changes} for changes in loop.breaks)
    frame.env = base
    if not ends:
        return False
    base.merge(ends)
    return True


def _takes_the_first(loop: ast.For | ast.AsyncFor | ast.While) -> bool:
    """`for batch in loader: break`: that there is one goes without saying, and it is not what was called so before."""
    if isinstance(loop, ast.While) or loop.orelse or not isinstance(loop.body[-1], ast.Break):
        return False
    is_range = isinstance(loop.iter, ast.Call) and last_name(loop.iter.func) == "range"
    return not is_range and not isinstance(loop.iter, (ast.Tuple, ast.List))


def _remember(frame: Frame, loop: int, name: str, value: Value) -> bool:
    """Add to what came round a loop; whether it was new."""
    memory = frame.control.back_edges.setdefault(loop, {})
    before = memory.get(name)
    joined = value if before is None else join(before, value)
    memory[name] = joined
    return not same(before, joined)


def _for(frame: Frame, statement: ast.For | ast.AsyncFor) -> Continues:
    names = list(bound_names(statement.target))
    wanted = is_wanted(frame, statement, names)
    rewritten = rewritten_element(statement)
    mode, mode_around = mode_in_rounds(frame.module, statement.iter), frame.grad_mode

    def start_pass() -> Continues:
        frame.row = statement.lineno  # again, after the body
        if mode != "unchanged":
            frame.set_grad_mode(inside(mode, mode_around))
        if wanted:
            assign(frame, statement.target, item_of(frame, evaluate(frame, statement.iter)), is_item=True)
        if rewritten is not None:
            container = frame.env.get(rewritten[0])
            if container is not None:
                frame.env.set(
                    rewritten[1], subscript_of(frame, resolve(frame, container), NonTensor("key"), is_slice=False)
                )
        return True

    if rewritten is None:
        goes_on = _loop(frame, statement, start_pass)
        if mode != "unchanged":
            frame.set_grad_mode(mode_around)
        change_modules(frame, statement)
        return goes_on
    elements: list[Value] = []
    goes_on = _loop(frame, statement, start_pass, lambda: elements.append(frame.env.get(rewritten[1]) or NOTHING))
    if frame.env.get(rewritten[0]) is not None and elements and not isinstance(elements[-1], Nothing):
        # Every element has been written, or there was none.
        frame.bind(rewritten[0], Mapping((), elements[-1]))
    return goes_on


def _while(frame: Frame, statement: ast.While) -> Continues:
    def start_pass() -> Continues:
        if id(statement) in frame.targets.statements or walruses(frame, statement.test):
            evaluate(frame, statement.test)
        narrow(frame, statement.test, True)
        return True

    return _loop(frame, statement, start_pass)


def _break(frame: Frame, _: ast.Break) -> Continues:
    if frame.control.loops:
        frame.control.loops[-1].breaks.append(frame.env.changes_since(frame.control.loops[-1].base))
    return False


def _continue(frame: Frame, _: ast.Continue) -> Continues:
    if frame.control.loops:
        frame.control.loops[-1].continues.append(frame.env.changes_since(frame.control.loops[-1].base))
    return False


def _with(frame: Frame, statement: ast.With | ast.AsyncWith) -> Continues:
    before = {state: frame.env.get(state) or NOTHING for state in (GRAD_MODE, DEFAULT_DEVICE, AUTOCAST)}
    loop = frame.control.loops[-1] if frame.control.loops else None
    left = (len(loop.breaks), len(loop.continues)) if loop is not None else (0, 0)
    suppresses = False
    for item in statement.items:
        target = item.optional_vars
        names = list(bound_names(target)) if target is not None else []
        suppresses = suppresses or last_name(getattr(item.context_expr, "func", item.context_expr)) == "suppress"
        entered = enter_context(frame, item.context_expr, evaluate_it=is_wanted(frame, statement, names))
        if target is not None and is_wanted(frame, statement, names):
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
    frame.control.journals.append(journal)

    def body() -> Continues:
        goes_on = execute(frame, statement.body)
        frame.control.journals.pop()  # not remove(): the journals of nested `try` bodies may be equal
        found.update((name, join(base.get(name) or NOTHING, value)) for name, value in journal.items())
        return goes_on and execute(frame, statement.orelse)

    def handling(handler: ast.ExceptHandler) -> Callable[[], Continues]:
        def run() -> Continues:
            frame.env.update(found.items())
            if id(statement) in frame.targets.statements and handler.type is not None:
                evaluate(frame, handler.type)
            if handler.name:
                frame.bind(handler.name, EXCEPTION)
            return execute(frame, handler.body)

        return run

    goes_on = _branches(frame, (body, *(handling(handler) for handler in statement.handlers)))
    if statement.finalbody and not frame.control.is_interrupted:
        after, frame.env, frame.control.is_interrupted = frame.env, Environment(frame.env), True
        frame.env.update(found.items())
        execute(frame, statement.finalbody)
        frame.env, frame.control.is_interrupted = after, False
    ends_here = not execute(frame, statement.finalbody)
    return goes_on and not ends_here


def _match(frame: Frame, statement: ast.Match) -> Continues:
    if id(statement) in frame.targets.statements:
        evaluate(frame, statement.subject)

    def matching(case: ast.match_case) -> Callable[[], Continues]:
        def run() -> Continues:
            for inner in ast.walk(case.pattern):
                for name in (getattr(inner, "name", None), getattr(inner, "rest", None)):
                    if isinstance(name, str):
                        frame.bind(name, Unknown(Reason.CONTENT))
            if case.guard is not None:
                if id(statement) in frame.targets.statements:
                    evaluate(frame, case.guard)
                narrow(frame, case.guard, True)
            return execute(frame, case.body)

        return run

    last = statement.cases[-1]
    exhaustive = last.guard is None and isinstance(last.pattern, ast.MatchAs) and last.pattern.pattern is None
    runs = [matching(case) for case in statement.cases]
    return _branches(frame, runs if exhaustive else [*runs, lambda: True])


# Each handler takes the statements that it stands for, which a dict's type cannot say.
_HANDLERS: dict[type[ast.stmt], Callable[[Frame, Any], Continues]] = {
    **HANDLERS,
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
}
if hasattr(ast, "TryStar"):
    _HANDLERS[ast.TryStar] = _try
