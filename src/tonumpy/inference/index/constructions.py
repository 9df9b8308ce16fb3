"""From a class to the calls of what its module keeps its objects under."""

from __future__ import annotations

from tonumpy.inference.index.references import places_that_name
from tonumpy.inference.index.syntax_lowering import stores_of
from tonumpy.lazy_typing import TYPE_CHECKING
from tonumpy.text.names import last_name

if TYPE_CHECKING:
    import ast

    from tonumpy.inference.index.module import Module
    from tonumpy.inference.index.references import Reference


def calls_of_objects(module: Module, owner: ast.ClassDef) -> list[Reference]:
    """The calls of names, and of attributes, under which an object of a class is kept: `stop = EarlyStopping()`, and
    `stop(loss)`, which means its `__call__`, somewhere else."""
    return module.derived_of(_calls_of_objects, owner.name)


def _calls_of_objects(module: Module, cls: str) -> list[Reference]:
    places = places_that_name(module, cls)
    made = (each.statement for each in places if each.call and not each.is_attribute and not each.is_submitted)
    stores = (each for statement in made for each in stores_of(statement) if each.rebinds)
    names = sorted({name for each in stores if (name := last_name(each.target)) is not None})
    called = (each for name in names for each in places_that_name(module, name) if each.call is not None)
    return [each._replace(is_attribute=True) for each in called if not each.is_submitted]
