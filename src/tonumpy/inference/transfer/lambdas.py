"""From a lambda to the function that it is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.values.environment import Environment
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.values import (
    Function,
    Unknown,
    Value,
)
from tonumpy.inference.transfer.habit_heuristics import apply_name_habits
from tonumpy.text.syntax import walk

if TYPE_CHECKING:
    import ast

    from tonumpy.inference.transfer.frame import Frame


def lambda_of(frame: Frame, node: ast.Lambda) -> Value:
    if frame.targets.calls:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                frame.evaluator.expression(frame, default)
        _look_into_lambda(frame, node)
    return Function(node, frame.module, frame.owner, frame)


def _look_into_lambda(frame: Frame, node: ast.Lambda) -> None:
    """A candidate inside a lambda is judged once with parameters of which nothing is known.

    One that is given to a call is called there, one that is kept may be called in any grad mode. Where all its calls
    are in sight they say what it is given, and when.
    """
    if id(node) in frame.seen.lambdas_called:
        return
    inside = [id(inner) for inner in walk(node.body) if id(inner) in frame.targets.calls]
    if not inside:
        return
    if id(node) in frame.seen.lambdas_given or id(node) in frame.seen.lambdas_guessed:
        frame.seen.lambdas_guessed[id(node)] = inside
    base = frame.env
    frame.env = Environment(base)
    if id(node) not in frame.seen.lambdas_given:
        frame.set_grad_mode(None)
    arguments = node.args
    for parameter in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        name, where = parameter.arg, frame.at(parameter.lineno)
        guess = apply_name_habits(Unknown(Reason.LAMBDA_PARAMETER), name, where)
        frame.env.set(name, guess)
    frame.evaluator.expression(frame, node.body)
    frame.env = base
