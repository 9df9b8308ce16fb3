"""The calls to observe in a body, and their observations: the value that each works on."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from tonumpy.engine.values.evidence import PROVED
from tonumpy.engine.values.joins import join, join_arguments

if TYPE_CHECKING:
    from collections.abc import Callable

    from tonumpy.engine.values.environment import Environment
    from tonumpy.engine.values.evidence import AllEvidence
    from tonumpy.engine.values.values import Arguments, Value
    from tonumpy.facts import Fact


class Observation(NamedTuple):
    """The values that a call of interest works on, joined over every evaluation of it."""

    receiver: Value
    links: tuple[tuple[int, Value], ...]  # id of each node of the receiver's chain, with its value
    arguments: Arguments
    grad_mode: Fact
    evidence: AllEvidence = PROVED  # what it rests on that grad mode is off
    may_have_grad: bool = False  # by what some caller in another file gives


class Targets(NamedTuple):
    """The calls to observe, by the id of their nodes, and the statements that hold them."""

    calls: frozenset[int] = frozenset()
    statements: frozenset[int] = frozenset()


NO_TARGETS = Targets()


class Loop:
    """The environments in which the innermost loop was left or started anew from its middle."""

    def __init__(self, base: Environment) -> None:
        self.base = base
        self.breaks: list[dict[str, Value]] = []
        self.continues: list[dict[str, Value]] = []


def begun(observation: Observation, in_line: Callable[[Value], Value]) -> Observation:
    """With the line behind what is first known there."""
    given = observation.arguments.mapped(in_line)
    return observation._replace(receiver=in_line(observation.receiver), arguments=given)


def join_observations(first: Observation, second: Observation) -> Observation:
    """The join of two observations of one call."""
    links = tuple((node, join(one, other)) for (node, one), (_, other) in zip(first.links, second.links, strict=True))
    return Observation(
        join(first.receiver, second.receiver),
        links,
        join_arguments(first.arguments, second.arguments),
        first.grad_mode if first.grad_mode is second.grad_mode else None,
        first.evidence | second.evidence,
    )
