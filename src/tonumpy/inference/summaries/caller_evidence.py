"""What the calls of a function say of its parameters, as evidence with their places."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.values.evidence import Evidence, Spot, Strength
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import mapped, resting_on
from tonumpy.engine.values.values import NONE, NonTensor, Unknown, Value, same
from tonumpy.inference.habits import callers_in_scripts
from tonumpy.inference.summaries.users import Users

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from tonumpy.engine.names.module import Module
    from tonumpy.engine.names.references import Reference
    from tonumpy.engine.values.evidence import AllEvidence, Aspect
    from tonumpy.inference.summaries.entry import Entry

    Place = tuple[Module, Reference]
    About = Callable[[Aspect], AllEvidence]
    from collections.abc import Callable

    from tonumpy.engine.values.evidence import AllEvidence


MAX_PLACES = 8  # of calls that are named as evidence


# What nobody gives a tensor for.
_PLAIN = frozenset("int bool str number constant literal key marks dtype".split())


def said_of_all(
    entry: Entry, name: str, places: Sequence[Place], users: Users, disabled_habits: frozenset[str]
) -> Entry | None:
    """None where those for whom the callers stand are too few to say anything."""
    if users is Users.NOBODY or (users is Users.LIKELY_ALL and callers_in_scripts.ID in disabled_habits):
        return None
    about = called_at(name, places) if users is Users.ALL else called_by_scripts_at(name, places)
    of_tensors = about("device") | about("grad")
    given = {
        name: resting_on(value if users is Users.ALL else _open_to_tensors(value), of_tensors)
        for name, value in entry.arguments.items()
        # What no call gives is not settled by its default, which is None: it is there for somebody.
        if not same(value, NONE)
    }
    evidence = entry.evidence | about("grad mode") if entry.grad_mode is False else entry.evidence
    return entry._replace(arguments=given, evidence=evidence)


def called_at(name: str, places: Sequence[Place]) -> About:
    """What rests on these calls."""

    def about(aspect: Aspect) -> AllEvidence:
        return frozenset(
            Evidence(Strength.CALLERS, aspect, name, "called here", caller.filename, each.statement.lineno)
            for caller, each in places[:MAX_PLACES]
        )

    return about


def called_by_scripts_at(name: str, places: Sequence[Place]) -> About:
    """The same of a function that others may call elsewise."""

    def about(aspect: Aspect) -> AllEvidence:
        told = (
            callers_in_scripts.basis(name, Spot(caller.filename, each.statement.lineno, frozenset()))
            for caller, each in places[:MAX_PLACES]
        )
        return frozenset(each for basis in told if basis is not None for each in basis.about(aspect))

    return about


def _open_to_tensors(value: Value) -> Value:
    """Where scripts give an array others may give a tensor, which is believed to be as harmless."""
    if isinstance(value, NonTensor) and value.what not in _PLAIN:
        return Unknown(Reason.PARAMETER, on_cpu=True, requires_grad=False)
    return mapped(value, _open_to_tensors)
