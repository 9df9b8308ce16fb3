"""From a module to what a walk asks of it: the calls that copy, the functions that make such calls, and its imports."""

from __future__ import annotations

import ast
import re
from functools import cached_property

from tonumpy.inference.index.bindings import imports_among, path_of
from tonumpy.inference.index.name_places import places_read
from tonumpy.lazy_typing import TYPE_CHECKING, NamedTuple
from tonumpy.sinks.unfinished.async_copies import Spellings
from tonumpy.text.candidates import find_calls
from tonumpy.text.names import last_name
from tonumpy.text.prefilter import CONSUMERS, may_hold_copies
from tonumpy.text.syntax import FUNCTIONS, statements_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tonumpy.inference.index.module import Module
    from tonumpy.text.candidates import Scope, Site
    from tonumpy.text.source import Source

_COPYING = frozenset("to type copy_ _foreach_copy_".split())
MAX_LEVELS = 3  # of functions that call those that copy
# Functions of other files are looked at whose names end with where their result is.
_SPEAKING = re.compile(r"(?:cpu|host|device|offload)\(")
_LONGEST = 100  # name that is looked for


class Helper(NamedTuple):
    """A function, with the scopes around and of it, and its module, if that is another than the one at hand."""

    node: ast.FunctionDef | ast.AsyncFunctionDef
    scopes: tuple[Scope, ...]
    home: Home | None = None


class Home:
    """One module."""

    def __init__(self, source: Source, imported: Mapping[str, Helper]) -> None:
        self.source = source
        self.spellings = Spellings(source)
        self._imported = imported

    @cached_property
    def functions(self) -> dict[tuple[str, str], Helper]:
        """By the name of the class, if it is a method, and its own; the last of a name counts."""
        found: dict[tuple[str, str], Helper] = {}
        waiting: list[tuple[list[ast.stmt], tuple[Scope, ...]]] = [(self.source.tree.body, (self.source.tree,))]
        while waiting:
            body, scopes = waiting.pop(0)
            for statement in statements_of(body):
                if isinstance(statement, FUNCTIONS):
                    cls = scopes[-1].name if isinstance(scopes[-1], ast.ClassDef) else ""
                    found[cls, statement.name] = Helper(statement, (*scopes, statement))
                if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
                    waiting.append((statement.body, (*scopes, statement)))
        return found

    @cached_property
    def _sites(self) -> list[Site]:
        """The calls that may copy."""
        text = self.source.text
        pattern = r"non_blocking|, True\b|\bout=" if "pin_memory" in text else r"non_blocking|, True\b"
        rows = sorted({self.source.position_at(match.start()).row for match in re.finditer(pattern, text)})
        calls = find_calls(self.source, rows, _may_copy)
        return list({id(each.call): each for each in calls}.values())

    @cached_property
    def copied(self) -> list[tuple[Site, ast.expr]]:
        """The calls that copy, each with what it copies."""
        found = ((each, self.spellings.source_of(each.call, each.scopes)) for each in self._sites)
        return [(site, node) for site, node in found if node is not None]

    @cached_property
    def roots(self) -> list[tuple[Scope, ...]]:
        """All scopes that are to be walked: the functions that copy, or call one that does, and the module."""
        known = dict(self._makers)
        known.setdefault(self.source.tree, (self.source.tree,))
        return list(known.values())

    @cached_property
    def _makers(self) -> dict[ast.AST, tuple[Scope, ...]]:
        """The functions that copy, if to the device that they are given, or call one that does."""
        copying = [each for each, _ in self.copied]
        copying += (each for each in self._sites if self.spellings.may_copy(each.call, each.scopes))
        known: dict[ast.AST, tuple[Scope, ...]] = {each.scopes[-1]: each.scopes for each in copying}
        names = {each.name for each in known if isinstance(each, FUNCTIONS)}
        names.update(each.rpartition(".")[2] for each in self._imported)
        for _ in range(MAX_LEVELS if names else 0):
            pattern = re.compile(rf"\b(?:{'|'.join(map(re.escape, sorted(names)))})\b")
            more: dict[ast.AST, tuple[Scope, ...]] = {
                each.node: each.scopes
                for each in self.functions.values()
                if each.node not in known and pattern.search(self.source.text_of(each.node))
            }
            if not more:
                break
            known |= more
            names = {each.name for each in more if isinstance(each, FUNCTIONS)}
        return known

    @property
    def may_copy(self) -> bool:
        return bool(self._makers)

    @cached_property
    def _roots_imported(self) -> dict[str, str]:
        """The first parts of the names of modules, by the names that are bound to them or to parts of them."""
        imports = imports_among(statements_of(self.source.tree.body))
        return {name: each.module.partition(".")[0] for name, each in imports if not each.level}

    @cached_property
    def arrays(self) -> frozenset[str]:
        """The names that are imported from libraries whose functions read what they are given."""
        return frozenset(name for name, root in self._roots_imported.items() if root in CONSUMERS)

    @cached_property
    def torch(self) -> frozenset[str]:
        return frozenset(name for name, root in self._roots_imported.items() if root == "torch")

    def called(self, function: ast.expr, scopes: tuple[Scope, ...]) -> Helper | None:
        """The function or method that this names, seen from there."""
        name = path_of(function) or ""
        owner, _, method = name.rpartition(".")
        if owner in ("self", "cls"):
            cls = next((each.name for each in reversed(scopes) if isinstance(each, ast.ClassDef)), "")
            return self.functions.get((cls, method))
        found = None if owner else self.functions.get(("", name))
        return found or self._imported.get(name)

    def makes_copies(self, helper: Helper) -> bool:
        return helper.home is not None or helper.node in self._makers

    def waits(self, helper: Helper) -> bool:
        """Whether its text has something that may wait."""
        text = (helper.home or self).source.text_of(helper.node)
        return any(word in text for word in ("synchronize", ".item(", ".cpu(", ".tolist(", "force=True"))


_PATH = re.compile(r"[\w.]*\Z")


def home_of(module: Module) -> Home:
    """That of the module at hand, with the functions of others that it may call for a copy."""
    return Home(module.source, _imported(module))


def _may_copy(call: ast.Call) -> bool:
    return last_name(call.func) in _COPYING or any(each.arg == "out" for each in call.keywords)


def _imported(module: Module) -> dict[str, Helper]:
    """Functions of other files that copy, by the names under which they are called."""
    text = module.source.text
    ends = (match.end() - 1 for match in _SPEAKING.finditer(text))
    called = {_PATH.search(text, max(0, end - _LONGEST), end)[0] for end in ends}  # type: ignore[index]
    bound = {name for name, _ in imports_among(statements_of(module.source.tree.body))} if called else set()
    found: dict[str, Helper] = {}
    homes: dict[str, Home] = {}
    for name in sorted(each for each in called if each.partition(".")[0] in bound):
        for place in places_read(name, module):
            path, _, function = place.rpartition("/")
            other = module.project.module_at(path) if path.startswith("/") else None
            if other is None or other is module or not may_hold_copies(other.source.text):
                continue
            home = homes.setdefault(path, Home(other.source, {}))
            helper = home.functions.get(("", function))
            if helper is not None and home.makes_copies(helper):
                found[name] = helper._replace(home=home)
                break
    return found
