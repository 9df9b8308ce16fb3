"""From an object of a dataclass or NamedTuple to what stands in its fields, as its constructor was given it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tonumpy.engine.names.class_bodies import fields_of_record
from tonumpy.engine.values.joins import join_all
from tonumpy.engine.values.reasons import Reason
from tonumpy.engine.values.value_facts import members
from tonumpy.engine.values.values import Instance, Mapping, Unknown

if TYPE_CHECKING:
    from tonumpy.engine.values.values import Value


def as_dict(value: Value | None) -> Value | None:
    """What `asdict(record)` and `record._asdict()` give; None where it is not known that it is a record, or of what it
    was made. What is written into its fields later is not known either."""
    if value is None:
        return None
    made = [_of_instance(each) if isinstance(each, Instance) else None for each in members(value)]
    known = [each for each in made if each is not None]
    return join_all(known) if known and len(known) == len(made) else None


def _of_instance(record: Instance) -> Mapping | None:
    fields, arguments = fields_of_record(record.cls.node), record.arguments
    if not fields or arguments is None or arguments.has_star:
        return None
    given = [(name, arguments.get(at, name)) for at, name in enumerate(fields)]
    held = [(name, value) for name, value in given if value is not None and name not in record.written]
    return Mapping(tuple(held), Unknown(Reason.CONTENT))
