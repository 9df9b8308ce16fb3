"""Modules of a size that is asked for, each a construct of the language over and over again."""

from __future__ import annotations

HEAD = "import torch\n\n"


def nested_functions(n: int) -> str:
    lines = [f"{'    ' * depth}def f{depth}(x: torch.Tensor):\n" for depth in range(n)]
    calls = [f"{'    ' * (depth + 1)}return f{depth + 1}(x)\n" for depth in reversed(range(n - 1))]
    return HEAD + "".join(lines) + f"{'    ' * n}return x.numpy()\n" + "".join(calls)


def functions_in_a_function(n: int) -> str:
    body = "".join(f"    def f{i}(y):\n        return y + x\n\n    x = f{i}(x)\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n{body}    return x.numpy()\n"


def lambdas_in_a_row(n: int) -> str:
    body = "".join(f"    f{i} = lambda y: {'y' if not i else f'f{i - 1}(y)'} + 1\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n{body}    return f{n - 1}(x).numpy()\n"


def nested_lambdas(n: int) -> str:
    return HEAD + f"def f(x: torch.Tensor):\n    return ({'lambda: ' * n}x){'()' * n}.numpy()\n"


def deep_inheritance(n: int) -> str:
    init = "    def __init__(self):\n        super().__init__()\n"
    classes = f"class C0(torch.nn.Module):\n{init}        self.a0 = torch.nn.Parameter(torch.zeros(3))\n\n\n"
    classes += "".join(
        f"class C{i}(C{i - 1}):\n{init}        self.a{i} = self.a{i - 1}\n\n"
        f"    def f{i}(self):\n        return self.a{i}.numpy()\n\n\n"
        for i in range(1, n)
    )
    return HEAD + classes


def deep_inheritance_asked_once(n: int) -> str:
    classes = "class C0(torch.nn.Module):\n    def __init__(self):\n        super().__init__()\n"
    classes += "        self.a = torch.nn.Parameter(torch.zeros(3))\n\n\n"
    classes += "".join(f"class C{i}(C{i - 1}):\n    def g{i}(self):\n        return self.a\n\n\n" for i in range(1, n))
    return HEAD + classes + f"def f(m: C{n - 1}):\n    return m.a.numpy()\n"


def diamonds(n: int) -> str:
    classes = "class C0(torch.nn.Module):\n    def made(self, x):\n        return x\n\n\n"
    classes += "".join(
        f"class A{i}(C{i}):\n    def made(self, x):\n        return super().made(x) + 1\n\n\n"
        f"class B{i}(C{i}):\n    pass\n\n\nclass C{i + 1}(A{i}, B{i}):\n    pass\n\n\n"
        for i in range(n)
    )
    return HEAD + classes + f"def f(m: C{n}, x: torch.Tensor):\n    return m.made(x).numpy()\n"


def wide_classes(n: int) -> str:
    classes = "class Base(torch.nn.Module):\n    def made(self, x: torch.Tensor):\n"
    classes += "        return self.step(x).numpy()\n\n"
    classes += "    def step(self, x):\n        return x\n\n\n"
    classes += "".join(f"class C{i}(Base):\n    def step(self, x):\n        return x + {i}\n\n\n" for i in range(n))
    return HEAD + classes


def keys_written(n: int) -> str:
    body = "".join(f'    d["k{i}"] = x + {i}\n' for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n    d = {{}}\n{body}    return d['k0'].numpy()\n"


def keys_read(n: int) -> str:
    body = "".join(f'    d["k{i}"] = d["k{max(0, i - 1)}"] + 1\n' for i in range(1, n))
    return HEAD + f"def f(x: torch.Tensor):\n    d = {{'k0': x}}\n{body}    return d['k{n - 1}'].numpy()\n"


def keys_of_a_display(n: int) -> str:
    body = ", ".join(f'"k{i}": x + {i}' for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n    d = {{{body}}}\n    return d['k0'].numpy(), d['k{n - 1}'].numpy()\n"


def attribute_writes(n: int) -> str:
    body = "".join(f"    m.a{i} = x\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor, m):\n{body}    return m.a{n - 1}.numpy()\n"


def methods_that_chain_attributes(n: int) -> str:
    classes = "".join(
        f"    def f{i}(self):\n        self.a{i + 1} = self.a{i}.abs()\n        return self.a{i + 1}.numpy()\n\n"
        for i in range(n)
    )
    return HEAD + f"class C:\n    def __init__(self, x: torch.Tensor):\n        self.a0 = x\n\n{classes}"


def rotated_parameters(n: int) -> str:
    names = [f"a{i}" for i in range(n)]
    again = f"    if k:\n        return _f(k - 1, {', '.join(names[1:] + names[:1])})\n"
    called = f"def g(x: torch.Tensor):\n    return _f(3, {', '.join(['x'] * n)})\n"
    return HEAD + f"def _f(k, {', '.join(names)}):\n{again}    return a0.numpy()\n\n\n{called}"


def unpacked(n: int) -> str:
    names = ", ".join(f"a{i}" for i in range(n))
    values = ", ".join(f"x + {i}" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n    {names} = {values}\n    return a{n - 1}.numpy()\n"


def unpacked_in_a_row(n: int) -> str:
    body = "    x, y = y + 1, x\n" * n
    return HEAD + f"def f(x: torch.Tensor, y: torch.Tensor):\n{body}    return x.numpy()\n"


def comprehensions(n: int) -> str:
    body = "".join(f"    x = [each + {i} for each in x]\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n{body}    return [each.numpy() for each in x]\n"


def clauses(n: int) -> str:
    loops = " ".join(f"for a{i + 1} in a{i}" for i in range(n))
    return HEAD + f"def f(a0: torch.Tensor):\n    return [a{n}.numpy() {loops}]\n"


def comments(n: int) -> str:
    return HEAD + "def f(x: torch.Tensor):\n" + "    # x.numpy() as it was\n" * (10 * n) + "    return x.numpy()\n"


def conversions_in_a_function(n: int) -> str:
    return HEAD + "def f(x: torch.Tensor):\n" + "".join(f"    y{i} = x.numpy()\n" for i in range(n)) + "    return y0\n"


def conversions_in_try(n: int) -> str:
    body = "    try:\n        x.numpy()\n    except RuntimeError:\n        pass\n" * n
    return HEAD + f"def f(x: torch.Tensor):\n{body}"


def containers_in_themselves(n: int) -> str:
    body = "".join(f'    d["k{i}"] = d\n    d["l{i}"] = [d, x]\n' for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n    d = {{}}\n{body}    return d['k0']['k0']['l0'][1].numpy()\n"


def patterns(n: int) -> str:
    body = "".join(f"        case [a, {{'k{i}': b}}] | (a, b, *_):\n            x = a\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor, kind):\n    match [x, kind]:\n{body}    return x.numpy()\n"


def elifs(n: int) -> str:
    body = "".join(f"    {'if' if not i else 'elif'} k == {i}:\n        x = x + {i}\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor, k):\n{body}    return x.numpy()\n"


def loops_in_a_row(n: int) -> str:
    body = "".join(f"    for i in range({i}):\n        x = x + i\n        y = x\n" for i in range(n))
    return HEAD + f"def f(x: torch.Tensor):\n    y = x\n{body}    return y.numpy()\n"


def decorated(n: int) -> str:
    return (
        HEAD
        + "".join(f"def _d{i}(g):\n    def w(*a):\n        return g(*a)\n    return w\n\n\n" for i in range(n))
        + "".join(f"@_d{i}\n" for i in range(n))
        + "def f(x: torch.Tensor):\n    return x\n\n\ndef g(x: torch.Tensor):\n    return f(x).numpy()\n"
    )


# Twice as much of these costs about twice as much.
LINEAR = (
    functions_in_a_function,
    lambdas_in_a_row,
    deep_inheritance_asked_once,
    diamonds,
    wide_classes,
    keys_written,
    keys_read,
    keys_of_a_display,
    attribute_writes,
    methods_that_chain_attributes,
    unpacked_in_a_row,
    comprehensions,
    comments,
    conversions_in_a_function,
    conversions_in_try,
    patterns,
    elifs,
    decorated,
)
# These cost up to the square of it: each of n may look at n others.
SQUARE = (
    nested_lambdas,
    rotated_parameters,
    unpacked,
    clauses,
    containers_in_themselves,
    loops_in_a_row,
)
# Each of n classes has each attribute of each of its bases. Python nests functions no deeper than a hundred.
CUBE = (nested_functions, deep_inheritance)
