"""Fingerprints: from a module and the read set of a file to what must stay equal for the file's findings to hold.

A fingerprint is a list, as JSON knows it: the definitions that were read, the text queries, the traits that were asked
for, whether the tree was used, and a digest of the results. It has no row numbers: a definition is identified by its
position among the others. So it serves only findings that name no place in the module.
"""

from __future__ import annotations

import ast
from bisect import bisect_right
from collections import Counter
from typing import TYPE_CHECKING

from tonumpy.engine.names.lookups import digest_of
from tonumpy.engine.names.module_text import ANSWERS
from tonumpy.text.deferred import PLAIN, part_of, watched_in
from tonumpy.text.long_strings import code_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from tonumpy.engine.names.module import Module
    from tonumpy.engine.names.read_set import ReadSet

    Place = list[int]  # the number of a definition in a module, and of a method in it

# What is known of a text as a whole, but for what follows from the rest.
_TRAITS = {
    "frameworks": ("roots", "speaks_of_torch", "names_torch", "hands_out_wrappers"),
    "use": ("names_runner", "defines_tests", "has_main_guard", "reads_command_line"),
}


def fingerprint_of(module: Module, read_set: ReadSet) -> list[Any] | None:
    """The fingerprint of what `read_set` holds of the module; None if the whole module counts as read."""
    if read_set.is_all or module.text.is_notebook:
        return None
    has_tree = "tree" in vars(module) or "_tree" in vars(module.names)
    if has_tree and not module.can_be_parsed:
        return None
    read = set(map(id, read_set.definitions))
    places = list(_places(module.tree.body, read)) if has_tree else []
    if len(places) != len(read):
        return None
    queries = sorted(map(list, read_set.queries))
    traits = sorted(_traits(module))
    return [places, queries, traits, has_tree, _digest(module, places, queries, traits, has_tree)]


def has_fingerprint(module: Module, part: Sequence[Any]) -> bool:
    """True if the module, with another text, still has this fingerprint."""
    places, queries, traits, has_tree, digest = part
    if has_tree and not module.can_be_parsed:
        return False
    try:
        return bool(_digest(module, places, queries, traits, has_tree) == digest)
    except IndexError:  # it has fewer definitions
        return False


def _digest(module: Module, places: list[Place], queries: list[list[str]], traits: list[str], has_tree: bool) -> str:
    said = [str(module.text.size), *(f"{each} {_trait(module, each)}" for each in traits)]
    texts = list(_texts(module, places)) if has_tree else []
    rows = _Rows(module.tree.body, places) if has_tree else None
    for kind, about in queries:
        if kind in ANSWERS:
            said.append(str(module.text.says(kind, about)))
        elif rows is not None:
            said.append(rows.told(module.text.rows(kind, about)))
    return digest_of([each.encode(errors="surrogatepass") for each in (*said, "", *texts)])


def _traits(module: Module) -> Iterator[str]:
    """Those that have been asked for by any file so far."""
    yield from (f"words {name}" for name, value in vars(module.words).items() if isinstance(value, bool))
    for part, names in _TRAITS.items():
        yield from (f"{part} {name}" for name in names if name in vars(getattr(module, part)))


def _trait(module: Module, trait: str) -> object:
    part, name = trait.split(" ")
    found = getattr(getattr(module, part), name)
    return sorted(found) if isinstance(found, frozenset) else found


def _places(body: list[ast.stmt], read: set[int]) -> Iterator[Place]:
    """Of the definitions whose ids are given: those of a module, and the methods of its classes."""
    for number, node in enumerate(watched_in(body)):
        if id(node) in read:
            yield [number]
            methods = node.body if isinstance(node, ast.ClassDef) else []
            yield from ([number, inner] for inner, each in enumerate(watched_in(methods)) if id(each) in read)


def _texts(module: Module, places: list[Place]) -> Iterator[str]:
    """Digests of the module without its definitions, and of those at the places; of a class, without its methods."""
    text, body = module.text.whole, module.tree.body
    yield _told(module, module.tree, 0, len(text), body)
    for place in places:
        node = _at(body, place)
        inner = node.body if isinstance(node, ast.ClassDef) and len(place) == 1 else []
        yield _told(module, node, *part_of(node), inner)


def _told(module: Module, node: ast.AST, start: int, stop: int, inner: list[ast.stmt]) -> str:
    known = module.digests
    if id(node) not in known:
        texts = _without(module.text.whole, start, stop, inner)
        known[id(node)] = digest_of([each.encode(errors="surrogatepass") for each in texts])
    return known[id(node)]


def _at(body: list[ast.stmt], place: Place) -> ast.stmt:
    """IndexError where there is none."""
    number, *rest = place
    node = watched_in(body)[number]
    return _at(node.body if isinstance(node, ast.ClassDef) else [], rest) if rest else node


def _without(text: str, start: int, stop: int, body: list[ast.stmt]) -> Iterator[str]:
    """What stands between two offsets, but for the definitions in a body, of which no more than the name is told."""
    for node in watched_in(body):
        inner, end = part_of(node)
        yield code_lines(text[start:inner])
        yield f"{PLAIN.get(type(node), type(node)).__name__} {node.name}"  # type: ignore[attr-defined]
        start = end
    yield code_lines(text[start:stop])


class _Rows:
    """Tells rows by the definitions that they are in, as all of them may move."""

    def __init__(self, body: list[ast.stmt], places: list[Place]) -> None:
        self._nodes = watched_in(body)
        self._starts = [node.lineno for node in self._nodes]
        self._inner = {
            place[0]: _Rows(self._nodes[place[0]].body, [])  # type: ignore[attr-defined]
            for place in places
            if len(place) == 1 and isinstance(self._nodes[place[0]], ast.ClassDef)
        }

    def told(self, rows: list[int]) -> str:
        return str(sorted(Counter(map(self._place, rows)).items()))

    def _place(self, row: int) -> tuple[int, ...]:
        number = bisect_right(self._starts, row) - 1
        if number < 0 or row > (self._nodes[number].end_lineno or 0):
            return ()
        inner = self._inner.get(number)
        return (number, *(() if inner is None else inner._place(row)))
