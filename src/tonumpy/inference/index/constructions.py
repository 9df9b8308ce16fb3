"""From a class to the places of its module that construct it: the callers of `__init__`, which no call names."""

from __future__ import annotations

import ast
import re

from tonumpy.inference.index.bindings import arguments_of, names_in
from tonumpy.inference.index.references import class_around, places_that_name
from tonumpy.inference.index.syntax_lowering import stores_of
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.text.names import last_name
from tonumpy.text.syntax import SCOPES

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Items

    from tonumpy.inference.index.module import Module
    from tonumpy.inference.index.references import Reference

_RISK = re.compile(
    r"Parameter\(|requires_grad\b|\.cuda\(|\.to\((?!(?:self\.|torch\.device\()?[\"']?cpu)|device=|(?:\b|_)(?:model|net|network|policy|encoder)\(|parameters\(|\.weight\b"
)
_WORD = re.compile(r"\w+")
_CALLED = re.compile(r"(\w+)\(")
_DEFINED = re.compile(r"\bdef (\w+)\(")
_ASKING = frozenset(("isinstance", "issubclass"))


class Constructions(NamedTuple):
    """The calls that make an object; `are_all`: nothing else is done with the class, so that nobody else makes one."""

    calls: tuple[Reference, ...]
    are_all: bool


def constructed_in(scopes: Items[ast.AST]) -> ast.ClassDef | None:
    """The class whose constructor the innermost scope is; None of a class within a function."""
    node = scopes[-1]
    is_constructor = len(scopes) == 3 and isinstance(node, ast.FunctionDef) and node.name == "__init__"
    return class_around(scopes) if is_constructor else None


def constructions_of(module: Module, owner: ast.ClassDef) -> Constructions:
    """The calls that construct objects of the class, and whether these are all."""
    return module.derived_of(_constructions, owner.name)


def _constructions(module: Module, name: str) -> Constructions:
    calls: list[Reference] = []
    are_all = True
    for place in places_that_name(module, name):
        if place.call is not None and not place.is_attribute and not place.is_submitted:
            calls.append(place._replace(is_attribute=True))  # the object itself does not stand between the brackets
        elif place.passed_to is None or last_name(place.passed_to.func) not in _ASKING:
            are_all = False
    return Constructions(tuple(calls), are_all)


def calls_of_objects(module: Module, owner: ast.ClassDef) -> list[Reference]:
    """The calls of names, and of attributes, under which an object of a class is kept: `stop = EarlyStopping()`, and
    `stop(loss)`, which means its `__call__`, somewhere else."""
    return module.derived_of(_calls_of_objects, owner.name)


def _calls_of_objects(module: Module, cls: str) -> list[Reference]:
    made = (each.statement for each in module.derived_of(_constructions, cls).calls)
    stores = (each for statement in made for each in stores_of(statement) if each.rebinds)
    names = sorted({name for each in stores if (name := last_name(each.target)) is not None})
    called = (each for name in names for each in places_that_name(module, name) if each.call is not None)
    return [each._replace(is_attribute=True) for each in called if not each.is_submitted]


def may_give_risks(module: Module, place: Reference) -> bool:
    """True if lines that name objects of the class may put something into them that requires grad or is on an
    accelerator."""
    assert place.call is not None
    given = arguments_of(place.call)
    if all(isinstance(each, ast.Constant) for each in given):
        return False
    scope = place.scopes[-1]
    assert isinstance(scope, (ast.Module, *SCOPES))
    text = module.source.text if isinstance(scope, ast.Module) else module.text.of(scope)
    names = {name for each in given for name in names_in(each)}
    attributes = {name.partition(".")[2] for name in names if "." in name}  # which any method may write
    lines = _lines_with(names, text) + _lines_with(attributes, module.source.text)
    made_of = {name for line in lines for name in _made_of(line, names)} - names
    lines += _lines_with(made_of, text)
    lines.append(ast.unparse(place.call))
    if any(map(_RISK.search, lines)):
        return True
    called = {name for line in lines for name in _CALLED.findall(line)}
    return any(map(_RISK.search, _bodies(module.source.text, called)))


def _lines_with(names: set[str], text: str) -> list[str]:
    return [line for line in text.splitlines() if not names.isdisjoint(_WORD.findall(line))] if names else []


def _made_of(line: str, names: set[str]) -> list[str]:
    """What one of some names is made of in a line: `dist` in `action = dist.sample()`."""
    target, is_assigned, value = line.partition(" = ")
    return re.findall(r"\b[a-z_]\w*\b", value) if is_assigned and not names.isdisjoint(target.split()) else []


def _bodies(text: str, names: set[str]) -> Iterator[str]:
    """The texts of the functions of some names in a module, each up to the next: `action = agent.act(state)`."""
    for match in _DEFINED.finditer(text):
        if match[1] in names:
            end = text.find("def ", match.end())
            yield text[match.end() : end if end != -1 else len(text)]
