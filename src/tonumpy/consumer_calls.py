"""A source in; the calls that may give a tensor to another library's function, where something may go wrong, out.

Two steps: the spelling alone (`_places`) rules out most files, which then need no parse, and only ever lets too much
through; the tree says the rest. Only calls are looked at whose arguments depend on what their function says of grad or
devices: to work out the others costs as much as all the rest of a run, and what would be found is next to nothing.
"""

from __future__ import annotations

import ast
import re
import sys
from bisect import bisect_right
from functools import cache
from typing import TYPE_CHECKING

from tonumpy.candidates import find_calls
from tonumpy.consumers import Consumer, consumer_of, converting_arguments, methods_of
from tonumpy.findings import SourceError
from tonumpy.harmless import Harmless
from tonumpy.inference.libraries import gives_plain_values
from tonumpy.inference.symbols import (
    bindings_of,
    bound_names,
    flow_of_node,
    imports_of,
    names_in,
    names_read,
    own_expressions,
    path_of,
    reachable,
    statements_of,
)
from tonumpy.source import CONSUMERS, TROUBLE, parse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tonumpy.candidates import Scope, Site
    from tonumpy.source import Source

Names = dict[str, str]  # what a module has imported of these libraries: its own name for it, and the full one


def find_consumers(source: Source) -> list[Site]:
    places = _places(source.text)
    if not places:
        return []
    names = _imported(source.tree)
    parts = _parts_in_trouble(source)
    rows = {source.position_at(place).row for place in places if _is_in(parts, place)}
    sites = find_calls(source, sorted(rows), lambda call: _may_convert(call, names))
    known: dict[ast.AST, set[str]] = {}
    sites = [site for site in sites if _is_in_trouble(site, source, known)]
    if not sites:
        return []
    imports = _harmless_imports(source.tree)
    scopes: dict[ast.AST, Harmless] = {}
    return [site for site in sites if not _is_harmless(site, source, imports, scopes)]


# By the spelling

_IMPORT = re.compile(r"import[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\n)*)")
_ALIAS = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_BRACKET = re.compile(r"[()]")
# Where grad or a device begins to matter: not where it is only spoken of, as in a parameter `device`.
# No branch begins with an assertion, so that the search can jump to their first letters.
_BEGINNING = re.compile(
    r"\.(?:cuda|to|xpu|npu|backward|requires_grad_?)\b|Parameter\b|bfloat16|float8"
    r"|device(?<!\wdevice) *=|requires_grad(?<!\wrequires_grad) *="
    r"|cuda\w*\(|device\w+\(|device(?<=\wdevice)\("  # `trans_to_cuda(x)`, `to_device(x)`; but not `device("cpu")`
)


def _places(text: str) -> list[int]:
    """The offsets of calls that may be wanted."""
    names = _names_spelt(text)
    calls = list(_calls_spelt(text, names))
    if not calls:
        return []
    functions = _Functions(text)
    concerned = {functions.around(match.start()) for match in _BEGINNING.finditer(text)}

    def may_be_concerned(place: int, call: str) -> bool:
        function = functions.around(place)
        return None in concerned or function in concerned or bool(concerned and (function is None or "self" in call))

    return [
        place
        for place, end in calls
        if may_be_concerned(place, text[place:end]) and _may_be_wanted(text[place:end], names)
    ]


def _names_spelt(text: str) -> Names:
    """As `_imported`, and what functions import among them."""
    names = {}
    for match in _IMPORT.finditer(text):
        before = text[text.rfind("\n", 0, match.start()) + 1 : match.start()].split()
        module = f"{before[-1]}." if before[-2:-1] == ["from"] else ""
        for name, alias in _ALIAS.findall(match[1]):
            root = name.partition(".")[0]
            if (module or name).partition(".")[0] in CONSUMERS:
                names[alias or root] = module + (name if alias else root)
    return names


def _calls_spelt(text: str, names: Names) -> Iterator[tuple[int, int]]:
    """From the name, or the dot before a method, to the closing bracket; brackets in strings mislead it."""
    for name, full in names.items():
        for match in re.finditer(rf"{name}((?:\.\w+)*)[ \t]*\(", text):
            before = text[match.start() - 1] if match.start() else ""
            if not (before.isalnum() or before in {"_", "."}) and _consumer_named(full + match[1]):
                yield match.start(), _end_of_call(text, match.end())
    methods = sorted(method for root in _roots(names) for method in methods_of(root))
    if methods:
        for match in re.finditer(rf"\.(?:{'|'.join(methods)})[ \t]*\(", text):
            yield match.start(), _end_of_call(text, match.end())


def _end_of_call(text: str, start: int) -> int:
    depth = 1
    for match in _BRACKET.finditer(text, start):
        depth += 1 if match[0] == "(" else -1
        if not depth:
            return match.end()
    return len(text)


def _may_be_wanted(call: str, names: Names) -> bool:
    try:
        (statement,) = parse(f"_{call}" if call.startswith(".") else call, "").body
    except (SourceError, ValueError):
        return True
    return (
        not isinstance(statement, ast.Expr)
        or not isinstance(statement.value, ast.Call)
        or _may_convert(statement.value, names)
    )


class _Functions:
    """Where the functions of a text are, by their indentation."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._lines: list[int] = []  # those of `def`
        self._indents: list[int] = []
        self._before: list[int] = []  # the number of the last one before it that stands further to the left, or -1
        self._outermost: dict[int, int | None] = {}
        self._ends: dict[int, int] = {}
        for match in _DEFINITION.finditer(text):
            line = text.rfind("\n", 0, match.start()) + 1
            if text[line : match.start()].strip() in ("", "async"):
                indent = self._indent(line)
                self._before.append(self._last_left_of(indent, len(self._lines) - 1))
                self._lines.append(line)
                self._indents.append(indent)

    def around(self, place: int) -> int | None:
        """The line of the outermost function around a place; None for the module's or a class's own code, or where it
        is not clear. The line of a `def` itself is taken for a part of the function."""
        line = self._text.rfind("\n", 0, place) + 1
        last = bisect_right(self._lines, line) - 1
        if last >= 0 and self._lines[last] == line:
            return self._outermost_of(last)
        return self._enclosing(line, self._indent(line), last)

    def _outermost_of(self, number: int) -> int | None:
        if number not in self._outermost:
            line = self._lines[number]
            outer = self._enclosing(line, self._indents[number], number - 1)
            self._outermost[number] = line if outer is None else outer
        return self._outermost[number]

    def _enclosing(self, line: int, indent: int, last: int) -> int | None:
        last = self._last_left_of(indent, last)
        return None if last < 0 or self._end(last) < line else self._outermost_of(last)

    def _last_left_of(self, indent: int, number: int) -> int:
        while number >= 0 and self._indents[number] >= indent:
            number = self._before[number]
        return number

    def _end(self, number: int) -> int:
        """Where other code begins that stands no further to the right."""
        if number not in self._ends:
            found = _dedented(self._indents[number]).search(self._text, self._lines[number])
            self._ends[number] = found.start() + 1 if found else len(self._text)
        return self._ends[number]

    def _indent(self, line: int) -> int:
        at = line
        while self._text[at : at + 1] in (" ", "\t"):
            at += 1
        return at - line


_DEFINITION = re.compile(r"def[ \t]")


@cache
def _dedented(indent: int) -> re.Pattern[str]:
    """The beginning of a line, but not of one that ends a bracket or is a comment."""
    return re.compile(rf"\n[ \t]{{0,{indent}}}[^\s)\]}}#]")


# By the tree


def _imported(tree: ast.Module) -> Names:
    """What a module's own body imports of consumers, or of modules that hold them."""
    return {
        name: imported.module.partition(".")[0]
        if imported.binds_root
        else ".".join(filter(None, (imported.module, imported.name)))
        for statement in statements_of(tree.body)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for name, imported in imports_of(statement)
        if not imported.level and imported.module.partition(".")[0] in CONSUMERS
    }


def _parts_in_trouble(source: Source) -> list[tuple[int, int]]:
    """The functions and classes, from offset to offset, that say something of grad or devices; other code together."""
    definitions: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for statement in source.tree.body:
        is_definition = isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
        (definitions if is_definition else others).append(_extent(statement, source))
    found = [place for place in definitions if _speaks_of_trouble(source, place)]
    return sorted(found + others if any(_speaks_of_trouble(source, place) for place in others) else found)


def _is_in(parts: list[tuple[int, int]], place: int) -> bool:
    """`parts` are in order, and apart from each other."""
    number = bisect_right(parts, (place, sys.maxsize)) - 1
    return number >= 0 and place < parts[number][1]


def _is_in_trouble(site: Site, source: Source, known: dict[ast.AST, set[str]]) -> bool:
    """Whether something is said of grad or devices where the arguments come from.

    `known` keeps for each function, and each class, the names that depend on what its statements say of such things.
    """
    given = {name for value in (*site.call.args, *site.call.keywords) for name in names_in(value)}
    for scope in reversed(site.scopes[-2:]):
        if isinstance(scope, ast.ClassDef) and not any(name.startswith("self.") for name in given):
            continue
        if scope not in known:
            known[scope] = _names_in_trouble(scope, source)
        if not known[scope].isdisjoint(given):
            return True
    return any(_speaks(source, value) for value in (*site.call.args, *(each.value for each in site.call.keywords)))


def _is_harmless(
    site: Site, source: Source, imports: tuple[frozenset[str], frozenset[str]], scopes: dict[ast.AST, Harmless]
) -> bool:
    """Whether nothing that can raise gets into the arguments; `scopes` keeps what is known of the names of each."""
    scope = site.scopes[-1]
    if scope not in scopes:
        scopes[scope] = Harmless(scope, *imports, lambda node: _speaks(source, node))
    given = (*site.call.args, *(keyword.value for keyword in site.call.keywords))
    try:
        return all(scopes[scope].is_harmless(argument) for argument in given)
    except RecursionError:  # a chain of hundreds of calls
        return False


def _harmless_imports(tree: ast.Module) -> tuple[frozenset[str], frozenset[str]]:
    """The names of imports from libraries that make no tensors, and of those from torch."""
    plain, torch = set(), set()
    for statement in statements_of(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            for name, imported in imports_of(statement):
                if not imported.level and gives_plain_values(imported.module):
                    plain.add(name)
                elif not imported.level and imported.module.partition(".")[0] == "torch":
                    torch.add(name)
    return frozenset(plain), frozenset(torch)


def _speaks(source: Source, node: ast.stmt | ast.expr) -> bool:
    return _BEGINNING.search(source.text, *_extent(node, source)) is not None


def _names_in_trouble(scope: Scope, source: Source) -> set[str]:
    """Of a function or module its variables, of a class the attributes that its methods give to `self`."""
    if not isinstance(scope, ast.Module) and not _speaks(source, scope):
        return set()
    if isinstance(scope, ast.ClassDef):
        methods = [each for each in scope.body if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef))]
        return {name for method in methods for name in _names_in_trouble(method, source) if name.startswith("self.")}
    said = {
        name
        for statement in statements_of(scope.body)
        if _speaks(source, statement) and any(_speaks(source, each) for each in own_expressions(statement))
        for name in _names_concerned(statement)
    }
    if not said:
        return said
    flow = flow_of_node(scope)
    said = {name for name in said if name in flow.times_bound or "." in name}  # no imports
    dependents: dict[str, set[str]] = {}
    for name, sources in flow.sources.items():
        for each in sources:
            dependents.setdefault(each, set()).add(name)
    return reachable(said, dependents)


def _names_concerned(statement: ast.stmt) -> set[str]:
    """The names that a statement binds; of any other all that are in it, without the statements inside it."""
    bound = {name for targets, _ in bindings_of(statement) for target in targets for name in bound_names(target)}
    return bound or names_read(statement)


def _extent(node: ast.stmt | ast.expr, source: Source) -> tuple[int, int]:
    end = source.ast_position(node.end_lineno or 0, node.end_col_offset or 0)
    return source.offset(source.ast_position(node.lineno, node.col_offset)), source.offset(end)


def _speaks_of_trouble(source: Source, place: tuple[int, int]) -> bool:
    return any(source.text.find(word, *place) >= 0 for word in TROUBLE)


# By the call itself


def _may_convert(call: ast.Call, names: Names) -> bool:
    """Whether a call is of a consumer, as it seems, and given what may be a tensor where that would be converted."""
    return any(
        _may_be_a_tensor(argument.node, names)
        for consumer in _consumers_spelt(call.func, names)
        for argument in converting_arguments(call, consumer)
        if "items" in argument.takes or not isinstance(argument.node, _SEQUENCES)
    )


def _consumers_spelt(function: ast.expr, names: Names) -> Iterator[Consumer]:
    """The function under its imported name, and the methods of this name that the libraries' objects have."""
    root, dot, rest = (path_of(function) or "").partition(".")
    found = _consumer_named(names[root] + dot + rest) if root in names else None
    if found is not None:
        yield found
    if isinstance(function, ast.Attribute):
        for library in _roots(names):
            method = consumer_of(library, function.attr) if function.attr in methods_of(library) else None
            if method is not None:
                yield method


def _consumer_named(full: str) -> Consumer | None:
    library, _, name = full.rpartition(".")
    return consumer_of(library, name)


def _roots(names: Names) -> set[str]:
    return {full.partition(".")[0] for full in names.values()}


def _root(node: ast.expr) -> str | None:
    while isinstance(node, (ast.Attribute, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


_SEQUENCES = (ast.List, ast.Tuple, ast.ListComp, ast.GeneratorExp)
_PLAIN_CALLS = frozenset("len range int float str round".split())


def _may_be_a_tensor(node: ast.expr, names: Names) -> bool:
    """By its spelling: no literal, nothing that one of these libraries gives, no shape."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return any(_may_be_a_tensor(item, names) for item in node.elts)
    if isinstance(node, (ast.ListComp, ast.GeneratorExp)):
        return _may_be_a_tensor(node.elt, names)
    while isinstance(node, ast.BinOp):  # a long sum leans to the left
        if _may_be_a_tensor(node.right, names):
            return True
        node = node.left
    if isinstance(node, ast.UnaryOp):
        return _may_be_a_tensor(node.operand, names)
    if isinstance(node, ast.Attribute) and node.attr in ("shape", "dtype", "size"):
        return False
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("numpy", "item", "tolist", "size"):
            return False
        return _root(node) not in names and _root(node) not in _PLAIN_CALLS
    return isinstance(node, (ast.Name, ast.Attribute, ast.Subscript, ast.IfExp, ast.BoolOp, ast.Await, ast.NamedExpr))
