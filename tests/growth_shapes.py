"""Modules of a size that is asked for, each a construct of the language over and over again."""

from __future__ import annotations

from collections.abc import Callable, Iterable

HEAD = "import torch\n\n"
NUMPY = "import numpy as np\n\n"
X = "x: torch.Tensor"

Shape = Callable[[int], str]


def times(n: int, line: Callable[[int], str] | str, *, start: int = 0) -> str:
    return line * n if isinstance(line, str) else "".join(map(line, range(start, n)))


def function(body: str, result: str = "x.numpy()", parameters: str = X, name: str = "f") -> str:
    """One of the module; the lines of its body are indented by four already."""
    return f"def {name}({parameters}):\n{body}    return {result}\n\n\n"


def module(*parts: str) -> str:
    return HEAD + "".join(parts)


def of(line: Callable[[int], str] | str, result: str = "x.numpy()", parameters: str = X, first: str = "") -> Shape:
    """A function with n lines (or groups of lines) one like the other."""
    return lambda n: module(function(first + times(n, line), result.replace("LAST", str(n - 1)), parameters))


def ring(n: int, i: int) -> tuple[int, int]:
    """The two that come next."""
    return (i + 1) % n, (i + 2) % n


# what is in a function

BODIES: dict[str, Shape] = {
    "statements": of(lambda i: f"    x = x + {i}\n"),
    "names beside an array": of(
        lambda i: times(8, lambda k: f"    a{i}_{k} = torch.zeros({k})\n"), "x, y", first="    y = x.numpy()\n"
    ),
    "names beside a list that grows": of(
        lambda i: f"    y{i} = x.cuda()\n    found.append(y{i}.numpy())\n", "found", first="    found = []\n"
    ),
    "parts of a tensor": of(lambda i: f"    a{i} = x[{i}].detach().cpu().numpy()\n    x[{i}] += 1\n", "a0"),
    "branches in a row": of(
        lambda i: f"    if flag[{i}]:\n        x = x + 1\n    else:\n        x = x.cuda()\n", parameters=f"{X}, flag"
    ),
    "elifs": of(lambda i: f"    {'elif' if i else 'if'} k == {i}:\n        x = x + {i}\n", parameters=f"{X}, k"),
    "loops in a row": of(
        lambda i: f"    for i in range({i}):\n        x = x + i\n        y = x\n", "y.numpy()", first="    y = x\n"
    ),
    "inner functions in a row": of(lambda i: f"    def f{i}(y):\n        return y + x\n\n    x = f{i}(x)\n"),
    "lambdas in a row": of(lambda i: f"    f{i} = lambda y: {f'f{i - 1}(y)' if i else 'y'} + 1\n", "fLAST(x).numpy()"),
    "keys written": of(lambda i: f'    d["k{i}"] = x + {i}\n', 'd["k0"].numpy()', first="    d = {}\n"),
    "keys read": of(
        lambda i: f'    d["k{i}"] = d["k{max(0, i - 1)}"] + 1\n', 'd["kLAST"].numpy()', first='    d = {"k0": x}\n'
    ),
    "containers in themselves": of(
        lambda i: f'    d["k{i}"] = d\n    d["l{i}"] = [d, x]\n',
        'd["k0"]["k0"]["l0"][1].numpy()',
        first="    d = {}\n",
    ),
    "attributes written": of(lambda i: f"    m.a{i} = x\n", "m.aLAST.numpy()", parameters=f"{X}, m"),
    "unpacked in a row": of("    x, y = y + 1, x\n", parameters=f"{X}, y: torch.Tensor"),
    "comprehensions": of(lambda i: f"    x = [each + {i} for each in x]\n", "[each.numpy() for each in x]"),
    "comments": of("    # x.numpy() as it was\n" * 10),
    "conversions": of(lambda i: f"    y{i} = x.numpy()\n", "y0"),
    "conversions in try": of("    try:\n        x.numpy()\n    except RuntimeError:\n        pass\n"),
}


def unpacked(n: int) -> str:
    names, values = (", ".join(f"{each}{i}" for i in range(n)) for each in ("a", "x + "))
    return module(function(f"    {names} = {values}\n", f"a{n - 1}.numpy()"))


def keys_of_a_display(n: int) -> str:
    body = ", ".join(f'"k{i}": x + {i}' for i in range(n))
    return module(function(f"    d = {{{body}}}\n", f'd["k0"].numpy(), d["k{n - 1}"].numpy()'))


def rotated_parameters(n: int) -> str:
    names = [f"a{i}" for i in range(n)]
    again = f"    if k:\n        return _f(k - 1, {', '.join(names[1:] + names[:1])})\n"
    called = function("", f"_f(3, {', '.join(['x'] * n)})", name="g")
    return module(function(again, "a0.numpy()", ", ".join(["k", *names]), "_f"), called)


def matched(case: Callable[[int], str]) -> Shape:
    return lambda n: module(function(f"    match x, kind:\n{times(n, case)}", parameters=f"{X}, kind"))


BODIES |= {
    "unpacked": unpacked,
    "keys of a display": keys_of_a_display,
    "rotated parameters": rotated_parameters,
    "links": lambda n: module(function("", f"x{'.abs()' * n}.numpy()")),
    "cases": matched(lambda i: f"        case _, {i}:\n            x = x + {i}\n"),
    "patterns": matched(lambda i: f"        case [a, {{'k{i}': b}}] | (a, b, *_):\n            x = a\n"),
    "nested lambdas": lambda n: module(function("", f"({'lambda: ' * n}x){'()' * n}.numpy()")),
    "conversions in one statement": lambda n: module(function("", f"[{', '.join(['x.numpy()'] * n)}]")),
    "conversions in an f-string": lambda n: module(function("", f'f"{"{x.numpy()}" * n}"')),
    "lists in a ring": lambda n: module(
        function(
            times(n, lambda i: f"    l{i} = []\n")
            + times(n, lambda i: f"    l{i}.append(l{(i + 1) % n})\n    l{i}.append(x)\n"),
            "l0[0][0][1].numpy()",
        )
    ),
    "a tuple in a tuple": lambda n: module(
        function(f"    y = {'(x, ' * n}x{')' * n}\n    z = [{', '.join(['y'] * n)}]\n", "z[0][0].numpy()")
    ),
    "cases that convert": matched(lambda i: f"        case _, {i}:\n            y = x.numpy()\n"),
    "tensors of one array": lambda n: module(
        NUMPY,
        function(
            "    a = np.zeros(3)\n" + times(n, lambda i: f"    t{i} = torch.from_numpy(a)\n    a[{i}] = 1\n"), "t0, t1"
        ),
    ),
    "arguments in one statement": lambda n: module(NUMPY, function("", f"[{', '.join(['np.asarray(x.cuda())'] * n)}]")),
}


# what is in a module


def functions_that(call: Callable[[int, int], str], *rest: str, parameters: str = "x") -> Shape:
    """Functions `_f0` to `_fN`, of which each is made of the two that come next, or of one."""
    return lambda n: module(
        *(f"def _f{i}({parameters}):\n{call(n, i)}\n\n" for i in range(n)),
        *(part.replace("LAST", str(n)) for part in rest),
    )


def _calls_two(n: int, i: int) -> str:
    one, other = ring(n, i)
    return f"    return _f{one}(x) or _f{other}(x)\n"


def _hands_on(n: int, i: int) -> str:
    one, other = ring(n, i)
    writes = f"    y = _f{one}(x)\n    x[{i}] = 0\n    _f{other}(x.view(-1))\n"
    return f"{writes}    return y or x.detach().cpu().numpy()\n"


def asked_for_each(n: int) -> str:
    asked = (function("", f"_f{i}(x).numpy()", name=f"g{i}") for i in range(n))
    return functions_that(_calls_two)(n) + "".join(asked)


def results_that_hold_themselves(n: int) -> str:
    branches = times(
        n,
        lambda i: (
            f"    if kind == {i}:\n        first, changed = cast(x[0], kind)\n"
            "        if changed:\n            return [cast(each, kind)[0] for each in x], True\n"
            "        return {name: cast(each, kind)[0] for name, each in x.items()}, first\n"
        ),
    )
    asked = function("", "cast(x, kind)[0].numpy()", "x, kind")
    return module(function(branches, "(torch.zeros(3), False)", "x, kind", "cast"), asked)


def names_of_a_module(n: int) -> str:
    names = times(n, lambda i: f"a{i} = torch.zeros(3)\na{i} = a{i} + 1\n")
    return module(names, *(function("", f"a{i}.numpy()", "", f"f{i}") for i in range(n)))


def decorated(n: int) -> str:
    made = times(n, lambda i: f"def _d{i}(g):\n    def w(*a):\n        return g(*a)\n    return w\n\n\n")
    return module(made, times(n, lambda i: f"@_d{i}\n"), function("", "x"), function("", "f(x).numpy()", name="g"))


MODULES: dict[str, Shape] = {
    "functions": lambda n: module(*(function(f"    y = x + {i}\n", "y.numpy()", name=f"f{i}") for i in range(n))),
    "functions of one name": lambda n: module(*(function(f"    y = x + {i}\n", "y.numpy()") for i in range(n))),
    "functions that call each other in turn": functions_that(
        lambda _, i: f"    y = _f{i + 1}(x)\n    return y.numpy()\n", "def _fLAST(x):\n    return torch.zeros(3)\n"
    ),
    "mutually recursive functions": functions_that(_calls_two, function("", "_f0(x).numpy()", name="g")),
    "asked for each of mutually recursive functions": asked_for_each,
    "functions that hand on arrays": functions_that(_hands_on),
    "results that hold themselves": results_that_hold_themselves,
    "arguments in functions": lambda n: module(
        NUMPY, *(function("    x = x.cuda()\n", "np.asarray(x)", name=f"f{i}") for i in range(n))
    ),
    "names of a module": names_of_a_module,
    "decorated": decorated,
}


# what is in classes


def of_class(methods: Iterable[str], init: str = "        pass\n", parameters: str = "self") -> str:
    made = f"class C:\n    def __init__({parameters}):\n{init}\n"
    return module(made, *(f"{method}\n" for method in methods))


def method(body: str, name: str) -> str:
    return f"    def {name}(self):\n{body}"


def attributes_of_a_class(n: int) -> str:
    made = times(n, lambda i: f"        self.a{i} = torch.zeros({i})\n")
    return of_class((method(f"        return self.a{i}.numpy()\n", f"f{i}") for i in range(n)), made)


def attributes_in_a_chain(n: int) -> str:
    steps = (f"        self.a{i + 1} = self.a{i}.abs()\n        return self.a{i + 1}.numpy()\n" for i in range(n))
    methods = (method(step, f"f{i}") for i, step in enumerate(steps))
    return of_class(methods, "        self.a0 = x\n", f"self, {X}")


def attributes_made_of_each_other(n: int) -> str:
    methods = []
    for i in range(n):
        one, other = ring(n, i)
        methods.append(method(f"        self.a{i} = self.a{one} + self.a{other}\n", f"f{i}"))
        methods.append(method(f"        return self.a{i}.numpy()\n", f"g{i}"))
    return of_class(methods, "        self.a0 = x\n", f"self, {X}")


_MADE = "class C0(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
_MADE += "        self.a0 = torch.nn.Parameter(torch.zeros(3))\n\n\n"


def deep_inheritance(n: int) -> str:
    made = "    def __init__(self):\n        super().__init__()\n"
    classes = (
        f"class C{i}(C{i - 1}):\n{made}        self.a{i} = self.a{i - 1}\n\n"
        f"    def f{i}(self):\n        return self.a{i}.numpy()\n\n\n"
        for i in range(1, n)
    )
    return module(_MADE, *classes)


def deep_inheritance_asked_once(n: int) -> str:
    classes = (f"class C{i}(C{i - 1}):\n    def g{i}(self):\n        return self.a0\n\n\n" for i in range(1, n))
    return module(_MADE, *classes, function("", "m.a0.numpy()", f"m: C{n - 1}"))


def diamonds(n: int) -> str:
    first = "class C0(torch.nn.Module):\n    def made(self, x):\n        return x\n\n\n"
    classes = (
        f"class A{i}(C{i}):\n    def made(self, x):\n        return super().made(x) + 1\n\n\n"
        f"class B{i}(C{i}):\n    pass\n\n\nclass C{i + 1}(A{i}, B{i}):\n    pass\n\n\n"
        for i in range(n)
    )
    return module(first, *classes, function("", "m.made(x).numpy()", f"m: C{n}, {X}"))


def wide_classes(n: int) -> str:
    base = "class Base(torch.nn.Module):\n    def made(self, x: torch.Tensor):\n        return self.step(x).numpy()\n\n"
    base += "    def step(self, x):\n        return x\n\n\n"
    return module(base, *(f"class C{i}(Base):\n    def step(self, x):\n        return x + {i}\n\n\n" for i in range(n)))


def many_bases(n: int) -> str:
    bases = times(n, lambda i: f"class C{i}:\n    def m{i}(self, x: torch.Tensor):\n        return x.numpy()\n\n\n")
    calls = ", ".join(f"self.m{i}(x)" for i in range(n))
    names = ", ".join(f"C{i}" for i in range(n))
    return module(bases, f"class D({names}):\n    def g(self, x):\n        return {calls}\n")


_ENGINE = """\
import weakref
from collections import defaultdict


class Engine:
    def __init__(self):
        self.handlers: dict[str, list] = defaultdict(list)

    def add(self, name, handler, args):
        self.handlers[name].append((handler, (weakref.ref(self),) + args, {}))


"""


def objects_in_their_own_attributes(n: int) -> str:
    """What an object has received holds that object, with what it had received before."""
    put = "        for e in self.events:\n            engine.handlers[e].append((self.run, (engine,), {}))\n"
    start = f"    def start(self, engine: Engine):\n        self.size = engine.size * 2\n{times(n, put)}\n"
    run = "    def run(self, engine):\n        return torch.stack([self.times.repeat_interleave(self.size)]).numpy()\n"
    made = "    def __init__(self):\n        self.times = torch.zeros(1)\n\n"
    return module(_ENGINE, f"class Profiler:\n{made}{start}{run}")


CLASSES: dict[str, Shape] = {
    "many bases": many_bases,
    "attributes of a class": attributes_of_a_class,
    "attributes in a chain": attributes_in_a_chain,
    "attributes made of each other": attributes_made_of_each_other,
    "deep inheritance": deep_inheritance,
    "deep inheritance asked once": deep_inheritance_asked_once,
    "diamonds": diamonds,
    "wide classes": wide_classes,
    "objects in their own attributes": objects_in_their_own_attributes,
}

SHAPES = BODIES | MODULES | CLASSES

# what is looked at where every rule is selected

OF_EVERY_RULE: dict[str, Shape] = {
    "noqa comments": of(lambda i: f"    y = x.numpy()  # noqa: E501, TNP101, X{i}\n"),
    "codes in a noqa comment": lambda n: module(
        function(f"    y = x.numpy()  # noqa: {', '.join(f'TNP{i}' for i in range(n))}\n")
    ),
    "noqa comments elsewhere": of(lambda i: f"    y = x.numpy()\n    z = {i}  # noqa: E501\n"),
    "loops that convert": of("    for i, (a, b) in enumerate(zip(x, x)):\n        x = [a, b]\n        a.numpy()\n"),
}


# what Python itself nests no deeper than so


def nested_functions(n: int) -> str:
    lines = [f"{'    ' * depth}def f{depth}({X}):\n" for depth in range(n)]
    calls = [f"{'    ' * (depth + 1)}return f{depth + 1}(x)\n" for depth in reversed(range(n - 1))]
    return module(*lines, f"{'    ' * n}return x.numpy()\n", *calls)


def nested_loops(n: int) -> str:
    lines = times(n, lambda depth: f"{'    ' * (depth + 1)}for i{depth} in range(3):\n")
    inner = "    " * (n + 1)
    return module(function(f"{lines}{inner}x = x + 1\n{inner}print(x.numpy())\n"))


def nested_branches(n: int) -> str:
    lines = times(n, lambda depth: f"{'    ' * (depth + 1)}if flag[{depth}]:\n{'    ' * (depth + 2)}x = x + 1\n")
    return module(function(lines, parameters=f"{X}, flag"))


def clauses(n: int) -> str:
    loops = " ".join(f"for a{i + 1} in a{i}" for i in range(n))
    return module(function("", f"[a{n}.numpy() {loops}]", "a0: torch.Tensor"))


NESTED: dict[str, tuple[Shape, int]] = {
    "functions": (nested_functions, 96),
    "loops": (nested_loops, 18),
    "branches": (nested_branches, 80),
    "clauses": (clauses, 18),
}
