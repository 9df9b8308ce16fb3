"""Enumerates what a library gives to its users: its public callables, and each under the names that lead to it."""

import importlib
import inspect
import pkgutil
import warnings
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any, NamedTuple

# Of modules: what is no part of what users call.
_PASSED_OVER = frozenset(
    "tests test testing conftest setup externals backends sphinxext distutils f2py typing cli __main__ version compat"
    " experimental datasets fetchers plugins matlib testutils user_array mrecords core blas lapack".split()
)
# Of callables: what waits for somebody, ends the process, or changes how all that follows is done.
_NOT_CALLED = frozenset(
    "show pause ginput waitforbuttonpress set exit quit test main run install_repl_displayhook".split()
)
_MAX_DEPTH = 4  # of names: scipy.stats.distributions.norm is one too many


class Named(NamedTuple):
    """A callable, the name under which it is measured, and other names that lead to it."""

    name: str
    function: Callable[..., Any]
    aliases: tuple[str, ...]


def callables_of(root: str, modules: tuple[str, ...], walks: bool) -> list[Named]:
    """Return them in the order of their names; `modules` are those that no attribute and no listing leads to."""
    found: dict[int, tuple[Any, list[str]]] = {}
    for module in _modules(root, modules, walks):
        for name, value in _members(module):
            if callable(value) and not isinstance(value, ModuleType) and _is_of(value, root, module):
                found.setdefault(id(value), (value, []))[1].append(f"{module.__name__}.{name}")
    named = []
    for value, names in found.values():
        first, *others = sorted(names, key=lambda name: (name.count("."), len(name), name))
        near = (each for each in others if each.count(".") <= max(first.count("."), 2))
        named.append(Named(first, value, tuple(near)))
    return sorted(named, key=lambda each: each.name)


def modules_of(root: str, more: tuple[str, ...], walks: bool) -> list[str]:
    """Name them as users do, and as `import a.b as c` does."""
    return sorted({module.__name__ for module in _modules(root, more, walks)})


def _modules(root: str, more: tuple[str, ...], walks: bool) -> Iterator[ModuleType]:
    """`walks`: those inside of these as well."""
    waiting = [root, *more]
    seen = set()
    while waiting:
        name = waiting.pop(0)
        if name in seen or name.count(".") > _MAX_DEPTH - 2:
            continue
        seen.add(name)
        try:
            module = importlib.import_module(name)
        except BaseException:  # what is not there on this machine
            continue
        yield module
        if not walks:
            continue
        inside = [each for each, value in _members(module) if isinstance(value, ModuleType)]
        if hasattr(module, "__path__"):
            inside += [each.name for each in pkgutil.iter_modules(module.__path__)]
        waiting += (f"{name}.{each}" for each in inside if not each.startswith("_") and each not in _PASSED_OVER)


def _members(module: ModuleType) -> Iterator[tuple[str, Any]]:
    for name in getattr(module, "__all__", None) or [each for each in dir(module) if not each.startswith("_")]:
        if name in _NOT_CALLED or name in _PASSED_OVER:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                yield name, getattr(module, name)
            except Exception:
                continue  # it is about to go


def _is_of(value: object, root: str, module: ModuleType) -> bool:
    """True if a callable is the library's own; of compiled ones that do not say, where it is listed."""
    if inspect.isclass(value) and issubclass(value, (BaseException, dict, type)):
        return False
    home = getattr(value, "__module__", None)
    if not home or not isinstance(home, str):
        home = type(value).__module__ if not inspect.isbuiltin(value) else module.__name__
        is_own = home.partition(".")[0].lstrip("_") in (root, "builtins") or home == module.__name__
        return is_own or (type(value).__name__ == "ufunc" and hasattr(module, "__all__"))
    if home.startswith("_") and hasattr(module, "__all__"):
        return True  # of a compiled module
    return home.partition(".")[0].lstrip("_") == root or home == module.__name__


def methods_of(kind: type) -> Iterator[str]:
    """The public methods of a class that take something."""
    for name in dir(kind):
        if name.startswith("_") or name in _NOT_CALLED:
            continue
        if callable(inspect.getattr_static(kind, name, None)) or callable(getattr(kind, name, None)):
            yield name
