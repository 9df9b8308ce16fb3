"""Wherever Python lets an expression stand, a conversion is looked at: of a tensor proved harmless nothing is said, of
any other everything is."""

import re
import textwrap

import pytest

from tonumpy.api import check_source

pytestmark = pytest.mark.usefixtures("no_other_files")

# An expression in the place of each `N`.
STATEMENTS = """
f, N
return N
return *N, *N
yield N
yield from N
raise E(N) from E(N)
assert N, N
del m[N], f(N).a
a = [N, *N, (N,), {N}, {N: N, **f(N)}]
a = f(N, *N, b=N, **f(N))
a = f(N)(N)(N)
a = f[N](N)[N].b(N)
a = N if N is not None else N
a = (N and m) or not N
a = -N + N @ N < N <= N
a = m[N], m[N:N:N], m[N, N:N], N[0], N[N]
a = N.shape, N.shape[0], N.copy().max()
a = f"{N} {N!r:>{N}}", "%s" % N
a = lambda q=N: N
a = (lambda q: N)(m)
a = f(lambda: N, key=lambda q: [N for _ in q])
a = [N for q in N if N for r in N if N]
a = {N: N for q in N if N}
a = {N for _ in m}, (N for _ in m)
a = [[N for _ in m] for _ in N]
a = (q := N)
a: f(N) = N
a += N
a, *b = N, *N
a = b = m.c = N
m.a, m.b[0].c, m["k"] = N, N, N
m[N] = N
m[:, N - 1, f(N)] = 1
m[N].a, [m.b[N], f(N)[0]] = 1, (2, 3)
m[N] += N
m[N].a: int = N
m[N].a: int
f(N).a += 1
N[0] = N[1:] = 1
m.append(N), m.setdefault("a", []).append(N)
setattr(m, "a", N)
setattr(f(N), "a", N)
object.__setattr__(m, "a", f(N))
m[N].register_buffer("a", f(N))
if N: N
if m: N
if (a := N) is not None and N: N
if m: N
else: N
if isinstance(N, f(N)): N
while N: N
while m: N
else: N
for a in N: N
else: N
for i, (a, b) in enumerate(zip(N, N)): N
for m[N], f(N).a in N: N
with f(N) as a, f(N) as (b, c): N
with torch.no_grad(): N
with f(N) as m[N].a: N
try: f()
except f(N): N
else: N
finally: N
try: f()
except E as a: return N
try: return N
finally: N
match N:
    case [a, *b] if N: N
    case _: N
def g(q: f(N) = N, *, r=N) -> f(N): return N
@f(N)
def g(): return N
def g():
    def h(): return N
    return h
class G(f(N), w=N):
    a = N
    def h(self, q=N): return N
@f(N)
class G: pass
"""
AROUND = ["{}", "if E:\n{}", "for a in m:\n{}", "with f():\n{}", "try:\n{}\nexcept E: pass", "def e():\n{}\nf(e)"]


def _statements() -> list[str]:
    """Each with the lines that belong to it."""
    parts: list[str] = []
    for line in STATEMENTS.strip().splitlines():
        if line.startswith((" ", "else", "except", "finally")) or (parts and re.fullmatch("@.*", parts[-1])):
            parts[-1] += "\n" + line
        else:
            parts.append(line)
    return parts


STANDING = [
    around.replace("{}", each) if around == "{}" else around.replace("{}", textwrap.indent(each, "    "))
    for each in _statements()
    for around in AROUND
]


def _reported(statement: str, tensor: str, parameter: str) -> list[tuple[int, int]]:
    text = re.sub(r"\bN\b", f"{tensor}.numpy()", statement)
    text = f"import torch\ndef function(f, m, E, {parameter}):\n{textwrap.indent(text, '    ')}\n"
    compile(text, "text", "exec")
    return [finding.start for finding in check_source(text, select=["TNP101"])]


@pytest.mark.parametrize("statement", STANDING)
def test_everything_is_reported(statement: str) -> None:
    assert len(_reported(statement, "x.T", "x: torch.Tensor")) == len(re.findall(r"\bN\b", statement))


@pytest.mark.parametrize("tensor", ["torch.zeros(3)", "x"])
@pytest.mark.parametrize("statement", STANDING)
def test_what_is_proved_harmless_is_not(statement: str, tensor: str) -> None:
    made = "x = torch.zeros(3)\n"
    assert _reported(made + statement, tensor, "y") == []
