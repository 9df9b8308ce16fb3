"""Programs made of real torch operations at random: whatever inference claims of a value, it was so when they ran."""

from __future__ import annotations

from collections import Counter
from textwrap import indent
from typing import NamedTuple

import pytest

pytest.importorskip("torch")

import accelerator
import devices
from hypothesis import HealthCheck, given, note, settings
from hypothesis import strategies as st
from real_values import OneDevice, Run, quiet
from reveal import claims

from tonumpy.source import Source

# What the programs can use besides torch.
HEAD = """\
import contextlib
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


class _Net(nn.Module):
    def __init__(self, frozen=False):
        super().__init__()
        self.layer = nn.Linear(3, 3)
        self.scale = nn.Parameter(torch.ones(3), requires_grad=not frozen)
        self.register_buffer("mean", torch.zeros(3))
        self.last = torch.zeros(3)

    def forward(self, x):
        return self.layer(x) * self.scale + self.mean

    def keep(self, x):
        self.last = x


class _Holder:
    def __init__(self, x=None):
        self.x = x

    def moved(self, device):
        return _Holder((self.x * 1).to(device))

    def double(self):
        self.x *= 2

    @property
    def value(self):
        return self.x.detach()


def _sum(x, y, factor=1):
    return x + factor * y


def _either(x, y, flag):
    if flag:
        return x - y
    return y.detach()


def _moved(x, device="cpu"):
    return (x * 1).to(device)


def _thaw(x, flag=True):
    if flag:
        x.requires_grad_()


def _add(x, y):
    x.add_(y)
    x.numpy()


def _deep(x, depth):
    return x * 2 if depth <= 0 else _deep(x.cpu(), depth - 1)


def _collect(items, *values):
    for value in values:
        items.append(value)


def _halves(x):
    yield x / 2
    yield x.detach()


@torch.no_grad()
def _evaluated(x, y=None):
    x.numpy()
    return x * 2 if y is None else x * y


def program(flag: bool, number: int):
"""
DEFINITIONS, _, SIGNATURE = HEAD.partition("def program")
# What each program starts with.
SETUP = """\
net = _Net()
layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
holder = _Holder(torch.zeros(3, 3))
items = [torch.zeros(3, 3)]
table = {"x": torch.zeros(3, 3)}
"""

# {a} and {b} are variables, {n} is one that is bound, perhaps for the first time. Most values are 3 by 3.
SOURCES = """\
torch.zeros(3, 3)
torch.ones(3, 3, requires_grad=True)
torch.rand(3, 3, dtype=torch.float64)
torch.rand(3, 3, dtype=torch.float64, requires_grad=flag)
torch.arange(9).view(3, 3)
torch.arange(9.0, requires_grad=True).view(3, 3)
torch.tensor([[1.0, 2.0, 3.0]] * 3)
torch.tensor(2.0)
torch.tensor(2, dtype=torch.float32, requires_grad=True)
torch.full((3, 3), 2.0)
torch.eye(3)
torch.linspace(0, 1, 9).reshape(3, 3)
torch.randint(0, 2, (3, 3))
torch.randn(3, 3, device="cuda")
torch.randn(3, 3, device="cuda", requires_grad=True)
torch.zeros(3, 3, device="cuda" if flag else "cpu")
torch.zeros(3, 3, dtype=torch.bool)
nn.Parameter(torch.ones(3, 3))
nn.Parameter(torch.ones(3, 3), requires_grad=False)
nn.Parameter(torch.ones(3, 3, device="cuda"))
nn.Linear(3, 3).weight
nn.Linear(3, 3)({a})
nn.Linear(3, 3).requires_grad_(False)({a})
nn.Linear(3, 3).cuda()({a})
nn.ReLU()({a})
nn.Linear(3, 3).state_dict()["weight"]
torch.zeros_like({a})
torch.ones_like({a}, requires_grad=True)
torch.rand_like({a}, dtype=torch.float32)
torch.empty_like({a}, device="cpu")
{a}.new_zeros(3, 3)
{a}.new_ones((3, 3), requires_grad=True)
{a}.new_tensor([[1.0, 2.0, 3.0]] * 3)
{a}.new_full((3, 3), 1.0)
torch.as_tensor({a})
torch.clone({a})
torch.detach({a})
""".splitlines()

SUFFIXES = """\
.detach() .clone() .contiguous() .cpu() .cuda() .to("cpu") .to("cuda") .to(torch.float64) .to(torch.int64)
.to("cuda",torch.float32) .to(dtype=torch.float16) .to(device="cpu") .float() .double() .long() .half() .bool() .int()
.bfloat16() .type(torch.float32) .t() .T .mT .view(3,3) .view(-1) .reshape(3,3) .flatten() .transpose(0,1)
.permute(1,0) .unsqueeze(0).squeeze(0) .expand(3,3) .squeeze() .relu() .sigmoid() .exp() .abs() .neg()
.softmax(dim=-1) .log_softmax(-1) .cumsum(0) .argsort() .argmax(1,keepdim=True) .argmax() .sum() .sum(0) .mean()
.max() .min() .std() .norm() .prod() .round() .sign() .floor() .logical_not() .isnan() .nonzero() .unique() .tril()
.diag() .triu() .roll(1,0) .flip(0) .sort(0).values .sort(0)[1] .max(dim=0).values .max(0).indices .topk(2)[0]
.min(0)[1] .median(0)[0] .kthvalue(1).values .data .real .requires_grad_() [0] [:,1:]
[...,None] [0,1] [None] [[0,1]] .clamp(0,1) .pow(2) .sqrt() .square() .any() .all() .repeat(2,1)[:3] .chunk(3)[0]
.split(1)[0] .unbind()[0] .cos() .masked_fill({b}>0,1) .gather(0,{b}.long()) .index_select(0,torch.arange(2))
.type_as({b}) .view_as({b}) .expand_as({b}) .to({b}) .add({b}) .mul({b}) .sub(1) .div({b}) .matmul({b})
.where({b}>0,{b}) .eq({b}) .ge(0) .dot({b}) .lerp({b},0.5) .tolist() .item() .shape .size(0) .dtype .device
.requires_grad .is_cuda .dim() .grad .numel() .is_floating_point() .to_sparse().to_dense()
.index_fill(0,torch.tensor([0]),1) .diagonal() .unfold(0,2,1) .movedim(0,1) .swapaxes(0,1) .H .var(0) .logsumexp(0)
.cumprod(0) .histc(3) .bincount() .nan_to_num() .fmod(2) .remainder(2) .floor_divide(2) .byte()
""".split()

EXPRESSIONS = """\
{a}.to("cuda" if flag else "cpu")
{a} + {b}
{a} - 1
2 * {a}
{a} / {b}
{a} // 2
{a} % 2
{a} ** 2
{a} @ {b}
-{a}
~{a}
{a} > {b}
{a} == 1
{a} & {b}
abs({a})
sum([{a}, {b}])
torch.where({a} > 0, {a}, {b})
torch.where({a} > 0, {b}, 0.0)
torch.maximum({a}, {b})
torch.cat([{a}, {b}])[:3]
torch.stack(({a}, {b}))[0]
torch.stack([{a} for _ in range(2)]).mean(0)
torch.einsum("ij,jk->ik", {a}, {b})
torch.einsum("ij", {a})
torch.matmul({a}, {b})
torch.add({a}, {b}, alpha=2)
torch.addmm({a}, {a}, {b})
torch.bmm({a}[None], {b}[None])[0]
torch.argmax({a}, dim=0)
torch.max({a}, dim=0)[0]
torch.max({a}, {b})
torch.topk({a}, 2).indices
torch.isclose({a}, {b})
torch.allclose({a}, {b})
torch.equal({a}, {b})
torch.linalg.norm({a})
torch.linalg.svd({a})[1]
torch.linalg.inv({a} + torch.eye(3))
torch.var_mean({a})[1]
torch.cdist({a}, {b})
torch.broadcast_tensors({a}, {b})[0]
torch.meshgrid({a}[0], {b}[0], indexing="ij")[1]
torch.tensor({a}.tolist())
torch.nn.utils.parameters_to_vector([{a}, {b}])
torch.no_grad()(lambda: {a} * 2)()
torch.autograd.grad({a}.sum(), {a})[0]
F.relu({a})
F.softmax({a}, dim=-1)
F.mse_loss({a}, {b})
F.linear({a}, {b})
F.dropout({a}, 0.5)
F.dropout({a}, 0.5, training=False)
F.one_hot({a}.long().abs())
F.cosine_similarity({a}, {b})
F.pad({a}, (1, 1))[:, 1:4]
F.normalize({a})
F.cross_entropy({a}, {b}.argmax(1))
F.embedding({a}.long().abs() % 3, {b})
F.interpolate({a}[None, None], scale_factor=2)[0, 0, :3, :3]
F.layer_norm({a}, (3,))
_sum({a}, {b})
_sum({a}, {b}, factor=2)
_sum(y={a}.detach(), x={b})
_either({a}, {b}, flag)
_either({a}, {b}, False)
_moved({a})
_moved({a}, "cuda")
_deep({a}, number)
_evaluated({a})
_evaluated({a}, {b})
next(_halves({a}))
[*_halves({a})][-1]
list(map(_moved, [{a}, {b}]))[0]
partial(_sum, {a})({b})
partial(_moved, device="cpu")({a})
net({a})
net.scale
net.mean
net.layer.weight
net.last
_Net(frozen=True)({a})
_Net(frozen=True).scale
next(net.parameters())
net.state_dict()["scale"]
layers({a})
layers[0]({a})
layers[0].weight
nn.Sequential(nn.ReLU(), nn.Flatten(0))({a})
nn.MSELoss()({a}, {b})
nn.GRU(3, 3)({a})[0]
holder.x
holder.value
holder.moved("cpu").x
_Holder({a}).x
getattr(holder, "x")
items[0]
items[-1]
items.pop()
torch.stack(items)[0]
sum(items)
[each * 2 for each in items][0]
table["x"]
table.get("y", {a})
list(table.values())[0]
dict(table, z={a})["z"]
{a}.sum() * {b}
{a}[0, 0] * {b}
{a}[0][0] + {b}
F.mse_loss({a}, {a}) * {b}
torch.tensor(2.0) * {a}
torch.autograd.grad({a}.sum(), [{a}, {b}], allow_unused=True)[1]
{a} if flag else {b}
({a} if number else {b}.detach())
{{"x": {a}, "y": {b}}}["y"]
[{a}, {b}][-1]
(lambda y: y * 2)({a})
{a} if {a}.requires_grad else {b}
{a}.detach() if {a}.requires_grad else {a}
{a}.cpu() if {a}.is_cuda else {a}
max([{a}, {b}], key=lambda y: y.dim())
flag and {a}
flag or {b}
""".splitlines()

# Not `.requires_grad = False`: on a view that was made under no_grad, torch 2.13 does nothing.
STATEMENTS = """\
{a}.add_(1)
{a}.mul_({b})
{a}.zero_()
{a}.clamp_(0, 1)
{a}.copy_({b})
{a}.fill_(1)
{a}.relu_()
{a}.detach_()
{a}.requires_grad_()
{a}.requires_grad = True
{a}[0] = {b}[0]
{a}[0] = 1
{a}[{b} > 0] = 0
{a} += 1
{a} += {b}
{a} *= 2
{a} -= {b}.detach()
{a}, {n} = {b}, {a}
{n}, _ = {a}.max(dim=0)
{n}, *_ = {a}
_, {n} = {a}.sort(0)
{n} = {a} = {b}
if (y := {a} * 2).requires_grad: {n} = y
assert not {a}.requires_grad
assert {a}.device.type == "cpu"
{a}.data = {b}.detach()
_thaw({a})
_thaw({a}, flag)
_add({a}, {b})
_add({a}, y={b}.detach())
_collect(items, {a}, {b})
holder.x = {a}
holder.x.requires_grad_()
holder.x *= {b}
holder.double()
holder = _Holder({a})
holder = holder.moved("cuda")
net.cuda()
net.cpu()
net.to("cuda" if flag else "cpu")
net.requires_grad_(False)
net.requires_grad_(flag)
net.keep({a})
net.scale.requires_grad = False
net.layer.cuda()
net.layer.requires_grad_(False)
net = _Net(frozen=flag)
layers.cuda()
layers.requires_grad_(False)
layers[0].requires_grad_()
layers[0].weight.requires_grad_(False)
layers.append(nn.Linear(3, 3).cuda())
items.append({a})
items[0] = {a}
items += [{a}]
items = [{a}, {b}]
items.clear()
table["x"] = {a}
table[str(number)] = {a}
table.update(y={a}, x={b})
del table["x"]
torch.set_grad_enabled(flag)
mode = torch.no_grad() if flag else contextlib.nullcontext()
if not flag: return
if not flag: break
if number > 2: continue
if not flag: raise ValueError
{a}.sum().backward()
""".splitlines()

BLOCKS = """\
with torch.no_grad():
with torch.inference_mode():
with torch.enable_grad():
with torch.set_grad_enabled(flag):
with torch.set_grad_enabled(False):
with torch.autocast("cpu"):
with contextlib.suppress(RuntimeError):
with contextlib.ExitStack() as stack:
for {a} in items:
for {a} in _halves({b}):
for net.last in [{a}, {b}]:
for key, {a} in table.items():
if flag:
if not flag:
if number > 1:
if {a}.requires_grad:
if not {a}.requires_grad:
if {a}.is_cuda:
if {a}.device.type == "cpu":
if isinstance({a}, torch.Tensor):
if {a}.dim() == 2:
for _ in range(number):
for {a} in {b}:
while {a}.dim() > 1 and flag:
try:
""".splitlines()


class Step(NamedTuple):
    """A statement, or a block of them; the numbers choose the variables."""

    text: str
    a: int
    b: int
    n: int
    body: tuple[Step, ...] = ()


def steps(depth: int) -> st.SearchStrategy[Step]:
    number = st.integers(0, 4)
    chains = st.lists(st.sampled_from(SUFFIXES), min_size=1, max_size=3).map("".join)
    values = st.one_of(
        chains.map(lambda chain: f"{{a}}{chain}"), st.sampled_from(EXPRESSIONS), st.sampled_from(SOURCES)
    )
    texts = st.one_of(values.map(lambda value: f"{{n}} = {value}"), st.sampled_from(STATEMENTS))
    simple = st.builds(Step, texts, number, number, number, st.just(()))
    if not depth:
        return simple
    bodies = st.lists(steps(depth - 1), min_size=1, max_size=3).map(tuple)
    blocks = st.builds(Step, st.sampled_from(BLOCKS), number, number, number, bodies)
    return st.one_of(simple, simple, simple, blocks)


def programs() -> st.SearchStrategy[list[Step]]:
    sources = st.sampled_from([source for source in SOURCES if "{a}" not in source])
    start = st.lists(sources, min_size=2, max_size=3)
    first = start.map(lambda made: [Step(f"{{n}} = {source}", 0, 0, n) for n, source in enumerate(made)])
    return st.builds(list.__add__, first, st.lists(steps(2), min_size=1, max_size=10))


class Program:
    """Steps turned into text. A step that torch refuses, where the flag is set, is left out."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._names: dict[str, object] = {"flag": True, "number": 2, "__note__": run.note}
        for text in (DEFINITIONS, SETUP):
            exec(run.translated(text, "definitions"), self._names)
        self.variables: list[str] = []
        self.lines: list[str] = []

    def add(self, step: Step) -> None:
        text, bound = self._text(step, is_outermost=True)
        if not text or not self._works(text):
            return
        self.lines.append(text)
        if bound not in self.variables:
            self.variables.append(bound)

    def _works(self, text: str) -> bool:
        try:
            with quiet(), OneDevice():
                exec(self._run.translated(text.replace("return", "pass"), "step"), self._names)
        except Exception:
            return False
        return True

    def _text(self, step: Step, *, is_outermost: bool) -> tuple[str, str]:
        known = self.variables
        bound = known[step.n] if step.n < len(known) else f"v{len(known)}"
        if not known and ("{a}" in step.text or "{b}" in step.text or not is_outermost):
            return "", ""
        if not is_outermost:
            bound = known[step.n % len(known)]  # what is first bound in a block may not be bound after it
        a, b = (known[number % len(known)] if known else "" for number in (step.a, step.b))
        text = step.text.format(a=a, b=b, n=bound)
        if not step.body:
            shown = [bound] if "{n}" in step.text else [a]
            return "\n".join([text, *(f"{name}.numpy()" for name in shown)]), bound
        body = [self._text(inner, is_outermost=False)[0] for inner in step.body]
        lines = [text, indent("\n".join(body), "    ")]
        if text == "try:":
            lines += ["finally:" if step.n % 2 else "except (RuntimeError, TypeError, IndexError):", f"    {b}.numpy()"]
        if text.startswith("while"):
            lines.append("    break")
        if text.startswith("if") and step.n % 2:
            lines += ["else:", f"    {a} = {b}"]
        return "\n".join([*lines, f"{a}.numpy()", f"{b}.numpy()"]), a

    @property
    def text(self) -> str:
        return (
            HEAD
            + indent(SETUP + "\n".join([*self.lines, *(f"{name}.numpy()" for name in self.variables)]), "    ")
            + "\n"
        )


def test_what_is_claimed_of_random_programs_is_true() -> None:
    missing = devices.unavailable(accelerator.DEVICE)
    if missing:
        pytest.skip(missing)
    counts: Counter[str] = Counter()

    @settings(max_examples=200, derandomize=True, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(programs())
    def check(made: list[Step]) -> None:
        run = Run(accelerator.DEVICE, converts=False)
        program = Program(run)
        for step in made:
            program.add(step)
        if not program.variables:
            return
        note(program.text)
        found = claims(Source.from_text(program.text, "program.py"))
        run.seen.clear()
        with quiet():
            run.call_all(run.load(program.text, "program", "program.py"))
        assert [str(each) for each in run.contradictions(found)] == []
        for place, claim in found.items():
            if place in run.seen:
                counts["seen"] += 1
                counts["kind"] += "unknown" not in claim.kinds
                counts["device"] += claim.on_cpu is not None
                counts["grad"] += claim.requires_grad is not None

    check()
    # Unknown is never wrong, but it must not be the answer to everything.
    assert counts["seen"] > 2000
    shares = {fact: counts[fact] / counts["seen"] for fact in ("kind", "device", "grad")}
    assert shares["kind"] > 0.9, shares
    assert shares["device"] > 0.6, shares
    assert shares["grad"] > 0.5, shares
