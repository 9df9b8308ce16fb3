"""Programs made of real torch operations at random: what they are written with, and their strategy for hypothesis."""

from __future__ import annotations

import re
from textwrap import indent
from typing import TYPE_CHECKING, NamedTuple

from hypothesis import strategies as st
from real_values import OneDevice, quiet

if TYPE_CHECKING:
    from real_values import Run

# What the programs can use besides torch.
HEAD = """\
import contextlib
import copy
from collections import OrderedDict, defaultdict, deque, namedtuple
from dataclasses import dataclass, field, replace
from functools import cached_property, partial, reduce, singledispatch, wraps
from itertools import chain
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import distributions, nn
from torch.utils.data import DataLoader, TensorDataset

STATE = torch.zeros(3, 3)
STORE = {}


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


class _Deeper(_Net):
    def forward(self, x):
        self.last = super().forward(x)
        self.last.numpy()
        return self.last.relu()

    @torch.no_grad()
    def kept(self):
        self.last.numpy()
        return self.last

    @property
    def weight(self):
        return self.layer.weight


class _Stack(nn.Module):
    def __init__(self, number=2):
        super().__init__()
        self.blocks = nn.ModuleList([nn.Linear(3, 3) for _ in range(number)])
        self.heads = nn.ModuleDict({"one": nn.Linear(3, 3), "two": nn.ReLU()})
        self.scales = nn.ParameterList([nn.Parameter(torch.ones(3, 3))])
        self.body = nn.Sequential(*self.blocks)
        self.seen = []

    def forward(self, x, head="one"):
        for block in self.blocks:
            x = block(x)
        self.seen.append(x)
        return self.heads[head](x) * self.scales[0]


class _Twice(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        x.numpy()
        return x * 2

    @staticmethod
    def backward(context, grad):
        context.saved_tensors[0].numpy(), grad.numpy()
        return grad * 2


@dataclass
class _Batch:
    x: torch.Tensor
    y: torch.Tensor | None = None
    parts: list[torch.Tensor] = field(default_factory=list)

    @classmethod
    def of(cls, x):
        return cls(x, x.detach(), [x])

    def halved(self):
        self.x.numpy()
        return _Batch(self.x / 2, self.y)


class _Pair(NamedTuple):
    first: torch.Tensor
    second: torch.Tensor = torch.zeros(3, 3)


_Point = namedtuple("_Point", "x y")


class _Holder:
    shared = torch.zeros(3, 3)

    def __init__(self, x=None):
        self.x = x
        self.seen = {}

    def __call__(self, y):
        return self.x + y

    def __getitem__(self, index):
        return self.x[index] if index else self.x

    def __iter__(self):
        yield self.x
        yield self.x.detach()

    def __enter__(self):
        return self.x

    def __exit__(self, *_):
        self.x = self.x.detach()

    def put(self, key, y):
        self.seen[key] = y
        return self

    def set(self, y=None):
        if y is not None:
            self.x = y
        return self.x

    @staticmethod
    def both(x, y):
        return x, y.cpu()

    @cached_property
    def held(self):
        return self.x * 1

    @property
    def written(self):
        return self.x

    @written.setter
    def written(self, y):
        self.x = y.detach()

    def moved(self, device):
        return _Holder((self.x * 1).to(device))

    def double(self):
        self.x *= 2

    @property
    def value(self):
        return self.x.detach()


class _Keeper(_Holder):
    def __init__(self, x, y):
        super().__init__(x)
        self.y = y

    def set(self, y=None):
        self.y = super().set(y)
        return self.y


def _logged(function):
    @wraps(function)
    def inner(*args, **kwargs):
        return function(*args, **kwargs)

    return inner


def _without_grad(function):
    def inner(*args):
        with torch.no_grad():
            return function(*args)

    return inner


@contextlib.contextmanager
def _off(flag=True):
    with torch.set_grad_enabled(not flag):
        yield


@contextlib.contextmanager
def _holding(x):
    yield x.detach()


@_logged
def _wrapped(x, y=2):
    x.numpy()
    return x * y


@_without_grad
def _silent(x):
    x.numpy()
    return x * 2


@singledispatch
def _dispatched(x):
    return x


@_dispatched.register
def _(x: torch.Tensor):
    x.numpy()
    return x.detach()


@_dispatched.register(list)
def _of_list(x):
    return x[0]


@torch.inference_mode()
def _inferred(x):
    return x.view(-1)


@torch.enable_grad()
def _graded(x):
    return x.detach().requires_grad_()


@torch.set_grad_enabled(False)
def _set(x):
    return [x, x * 2]


def _remember(x):
    global STATE
    STATE = x
    STORE["x"] = x


def _recalled():
    STATE.numpy()
    return STATE


def _counter(total):
    def add(y=None):
        nonlocal total
        if y is not None:
            total = total + y
        total.numpy()
        return total

    return add


def _applied(function, *args, **kwargs):
    return function(*args, **kwargs)


def _applied_off(function, x):
    with torch.no_grad():
        return function(x)


def _given(**given):
    return given["x"]


def _typed(x: torch.Tensor, y: torch.Tensor | None = None) -> torch.Tensor:
    return x if y is None else y


def _guarded(x):
    try:
        x = x.cuda()
        return x.detach()
    finally:
        x.numpy()


def _leaky(x):
    with torch.no_grad():
        yield x * 2


def _even(x, depth):
    return x if depth <= 0 else _odd(x.detach(), depth - 1)


def _odd(x, depth):
    return x * 2 if depth <= 0 else _even(x, depth - 1)


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
global STATE
net = _Net()
layers = nn.Sequential(nn.Linear(3, 3), nn.ReLU())
holder = _Holder(torch.zeros(3, 3))
items = [torch.zeros(3, 3)]
table = {"x": torch.zeros(3, 3)}
batch = _Batch(torch.zeros(3, 3))
deeper = _Deeper()
stack = _Stack()
layer = nn.Linear(3, 3)
several = [nn.Linear(3, 3), nn.ReLU()]
nested = {"x": {"y": torch.zeros(3, 3)}, "z": [torch.zeros(3, 3)]}
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
0 < {a} if flag else {b}
deeper({a})
deeper.last
deeper.kept()
deeper.weight
deeper.layer(({a}))
stack({a})
stack({a}, "two")
stack({a}, head="two" if flag else "one")
stack.blocks[0]({a})
stack.blocks[-1].weight
stack.heads["one"]({a})
stack.heads.one.bias
stack.scales[0]
stack.body({a})
stack.seen[-1]
[block({a}) for block in stack.blocks][0]
[head.weight for head in list(stack.heads.values())[:1]][0]
dict(stack.named_parameters())["scales.0"]
next(stack.buffers(), {a})
list(stack.children())[0][0].weight
nn.Sequential(*several)({a})
nn.Sequential(*several, nn.ReLU())({a})
nn.Sequential(layer, nn.ReLU())({a})
nn.Sequential(OrderedDict(one=layer, two=nn.ReLU()))({a})
nn.Sequential(*[nn.Linear(3, 3) for _ in range(number)])({a})
nn.ModuleList([layer])[0]({a})
nn.ModuleList(several)[0].weight
nn.ModuleDict({{"x": layer}})["x"]({a})
several[0]({a})
layer({a})
layer.weight
reduce(lambda x, each: each(x), several, {a})
copy.deepcopy(net)({a})
copy.deepcopy(holder).x
copy.copy(holder).x
copy.deepcopy({a}.detach())
_Twice.apply({a})
_Batch({a}).x
_Batch.of({a}).y
_Batch({a}, parts=[{b}]).parts[0]
_Batch(y={a}, x={b}).halved().x
replace(batch, x={a}).x
batch.x
batch.y
batch.halved().x
_Pair({a}).second
_Pair({a}, {b})[1]
_Pair(second={a}, first={b})._replace(first={a}).first
_Point({a}, {b}).y
_Point({a}, y={b})[0]
_Keeper({a}, {b}).y
_Keeper({a}, {b}).set()
_Keeper({a}, {b})[0]
_Holder.shared
_Holder({a})({b})
_Holder({a})[1]
[*_Holder({a})][0]
_Holder({a}).put("x", {b}).seen["x"]
_Holder.both({a}, {b})[1]
holder.set({a})
holder.set()
holder.held
holder.written
holder(({a}))
_wrapped({a})
_wrapped({a}, y={b})
_silent({a})
_dispatched({a})
_dispatched([{a}, {b}])
_inferred({a})
_graded({a})
_set({a})[0]
_set({a})[1]
_recalled()
STATE
STORE.get("x", {a})
_counter({a})({b})
_counter({a})()
_applied(_sum, {a}, {b})
_applied(_sum, {a}, y={b})
_applied(layer, {a})
_applied(lambda y: y.detach(), {a})
_applied_off(layer, {a})
_applied_off(_wrapped, {a})
_applied_off(lambda y: y, {a})
_given(x={a}, y={b})
_given(**{{"x": {a}}})
_sum(*[{a}, {b}])
_sum(**{{"x": {a}, "y": {b}}})
_typed({a})
_typed({a}, {b})
_guarded({a})
[each for each in _leaky({a})][0]
_even({a}, number)
_odd({a}, 1)
{{**table, "x": {a}}}["x"]
{{**table, "q": {a}}}["x"]
(table | {{"x": {a}}})["x"]
{{key: value * 2 for key, value in table.items()}}["x"]
{{key: {a} for key in ("x", "y")}}.get("x")
dict(zip(("x", "y"), ({a}, {b})))["y"]
dict.fromkeys(["x"], {a})["x"]
OrderedDict(x={a}, y={b})["y"]
table.setdefault("w", {a})
table.pop("x", {a})
sorted(items, key=lambda y: y.dim())[0]
[*items, {a}][-1]
[*items, {a}][0]
(items + [{a}])[0]
(items * 2)[-1]
items[:1][0]
list(reversed([{a}, {b}]))[0]
[each for _, each in enumerate([{a}, {b}])][1]
[one * other for one, other in zip([{a}], [{b}])][0]
[each for line in [[{a}], [{b}]] for each in line][0]
[each for each in [{a}, {b}] if each.requires_grad or flag][0]
[each for each in [{a}, {b}.detach()] if not each.requires_grad][-1]
[last := each for each in [{a}, {b}]][0]
list(chain([{a}], [{b}]))[1]
[*filter(lambda y: y.dim() == 2, [{a}, {b}])][0]
reduce(_sum, [{a}, {b}])
next((each for each in [{a}] if flag), {b})
next(iter(items))
deque([{a}, {b}]).pop()
nested["x"]["y"]
nested["z"][0]
nested.get("x").get("y")
(lambda x, *rest, y=1: rest[0] if rest else x * y)({a}, {b})
(lambda **given: given["x"])(x={a})
({a}, ({b}, 1))[1][0]
distributions.Normal({a}, 1.0).sample()
distributions.Normal({a}, torch.ones(3, 3)).rsample()
distributions.Normal({a}, 1.0).mean
distributions.Normal({a}, 1.0).log_prob({b})
distributions.Normal({a}, 1.0).cdf({b})
distributions.Categorical(logits={a}).sample()
distributions.Categorical(logits={a}).probs
distributions.Categorical(logits={a}).entropy()
distributions.Bernoulli(logits={a}).sample()
distributions.Bernoulli(logits={a}).log_prob({b})
distributions.MultivariateNormal(torch.zeros(3), torch.eye(3)).sample((3,))
distributions.Independent(distributions.Normal({a}, 1.0), 1).log_prob({b})
distributions.kl_divergence(distributions.Normal({a}, 1.0), distributions.Normal(0.0, 1.0))
torch.autograd.grad(({a} ** 2).sum(), {a}, create_graph=True)[0]
torch.autograd.grad(({a} ** 2).sum(), {a}, create_graph=flag)[0]
torch.utils.checkpoint.checkpoint(layer, {a}, use_reentrant=False)
torch.func.vmap(lambda y: y * 2)({a})
TensorDataset({a}, {b})[0][1]
next(iter(TensorDataset({a}, {b})))[0]
TensorDataset({a}, {b}).tensors[0]
next(iter(DataLoader(TensorDataset({a}, {b}))))[0]
next(iter(DataLoader([{a}, {b}])))
[x for x, _ in DataLoader(TensorDataset({a}, {b}), batch_size=3)][0]
next(iter(DataLoader([{{"x": {a}}}])))["x"]
next(iter(DataLoader(TensorDataset({a}), collate_fn=lambda rows: rows[0][0])))
torch.utils.data.default_collate([{a}, {a}])
torch.utils.data.random_split(TensorDataset({a}), [1, 2])[0][0][0]
torch.utils.data.Subset(TensorDataset({a}), [0])[0][0]
nn.utils.clip_grad_norm_([{a}], 1.0)
nn.utils.rnn.pad_sequence([{a}, {b}])[:3, 0]
torch.is_grad_enabled()
torch.enable_grad()(lambda: {a} * 2)()
torch.inference_mode()(lambda y: y)({a})
vars(holder)["x"]
holder.__dict__.get("x")
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
{a} /= 2
{a} **= 2
{a} @= {b}
{a} &= {b}
{a}[0] += {b}[0]
{a}[:, 0] *= 2
{a}.data.add_(1)
{a}.data[0] = 1
{a}.t_()
{a}.squeeze_()
{a}.normal_()
{a}.masked_fill_({b} > 0, 0)
{a}.index_add_(0, torch.arange(3), {b})
{a}.retain_grad()
{a}.grad = None
{a}.resize_(3, 3)
nn.init.zeros_({a})
torch.add({a}, {b}, out={a})
({n}, _), *_ = ({a}, {b}), 1
[{n}, *rest] = [{a}, {b}, {a}]
{n}, = [{a}]
(holder.x, items[0]) = {a}, {b}
for {n}, holder.x in [({a}, {b})]: pass
{n}: torch.Tensor = {a}
{n} = {a} if flag else None
if {n} is not None: {n} = {a}
if {a}.is_cuda: {a} = {a}.cpu()
if {a}.device.type != "cpu": {a} = {a}.cpu()
if {a}.requires_grad: {a} = {a}.detach()
if {a} is {b}: {a} = {a}.detach()
if not isinstance({a}, list): {n} = {b}
if (z := {a}.detach()).is_cuda: {n} = z
while (z := {a}.sum()).dim(): {n} = z
del {a}; {a} = {b}
del items[0]
del holder.x
del {a}.grad
setattr(holder, "x", {a})
setattr(holder, "x" if flag else "y", {a})
holder.written = {a}
holder.put(str(number), {a})
holder.put("x", {a}).set({b})
holder.seen["x"] = {a}
holder.seen.update(x={a})
holder.x.data = {a}.detach()
holder.x, holder.seen = {a}, {{"x": {b}}}
holder = _Keeper({a}, {b})
holder = copy.copy(holder)
_Holder.shared = {a}
batch.x = {a}
batch.y = {a}
batch.parts.append({a})
batch = _Batch.of({a})
batch = _Batch({a}, {b})
other = holder; other.x = {a}
other = items; other.append({a})
other = table; other["x"] = {a}
other = layer; other.cuda()
_remember({a})
STATE = {a}
STATE += {a}
STORE["x"] = {a}
STORE.clear()
nested["x"]["y"] = {a}
nested["x"] = {{"y": {a}}}
nested["z"].append({a})
nested["z"][0] = {a}
nested["x"].update(y={a})
for key in nested["x"]: nested["x"][key] = {a}
for key in table: table[key] = table[key].detach()
table |= {{"x": {a}}}
table.setdefault("x", {a})
table.update({{"x": {a}}})
table.update([("x", {a})])
table.pop("x", None)
table.clear()
table = dict(x={a}, y={b})
table = defaultdict(list); table["x"] = {a}
items.insert(0, {a})
items.extend([{a}, {b}])
items.extend(each * 2 for each in [{a}])
items.reverse()
items.sort(key=lambda y: y.dim())
items[1:] = [{a}]
items[:] = [{a}, {b}]
items = [each.detach() for each in items]
items = [*items, {a}]
items, other = [{a}], items
layer.cuda()
layer.to(torch.float32)
layer.requires_grad_(False)
layer.weight.requires_grad = False
layer.weight = nn.Parameter({a}.detach())
layer.weight.data = {a}.detach()
layer = nn.Linear(3, 3).requires_grad_(flag)
layer = stack.blocks[0]
several.append(layer)
several = [layer, nn.ReLU()]
several = nn.ModuleList([layer])
several[0].cuda()
several[0].requires_grad_(False)
for each in several: each.requires_grad_(False)
for parameter in net.parameters(): parameter.requires_grad = False
for parameter in layer.parameters(): parameter.requires_grad_(flag)
for parameter in stack.parameters(): parameter.data.zero_()
for name, parameter in net.named_parameters(): parameter.requires_grad = name == "scale"
for block in stack.blocks: block.cuda()
stack.cuda()
stack.requires_grad_(False)
stack.blocks.cuda()
stack.blocks[0].cuda()
stack.blocks[0].requires_grad_(False)
stack.blocks.append(nn.Linear(3, 3).cuda())
stack.heads["one"] = nn.Linear(3, 3).cuda()
stack.heads["one"].cuda()
stack.seen.clear()
stack = _Stack(number)
stack.to("cuda" if flag else "cpu")
deeper.cuda()
deeper.keep({a})
deeper.last = {a}
deeper.requires_grad_(False)
deeper = _Deeper(frozen=True)
net = deeper
net = copy.deepcopy(net)
net.apply(lambda module: module.requires_grad_(False))
net.mean = {a}.sum(0).detach()
net.mean += {a}.sum(0)
net.scale = nn.Parameter(torch.ones(3), requires_grad=flag)
net.layer = layer
net.load_state_dict(_Net().state_dict())
net.eval()
net.zero_grad()
net.half().float()
net.register_buffer("mean", {a}[0].detach())
layers.add_module("last", nn.Linear(3, 3).cuda())
layers[0] = layer
layers[0].cuda()
layers = nn.Sequential(layer, nn.ReLU())
layers = nn.Sequential(*several)
torch.optim.SGD([{a}], lr=0.1).step()
torch.optim.SGD(net.parameters(), lr=0.1).zero_grad()
with torch.no_grad(): {a} = {b} * 2
with torch.no_grad(): {a} = {b}
with torch.no_grad(): net.last = net({a})
with torch.no_grad(): deeper({a})
with torch.no_grad(): stack({a})
with torch.enable_grad(): {a} = {b} * 2
with _holding({a}) as {n}: pass
with _Holder({a}) as {n}: pass
with holder as {n}: pass
with holder: holder.x = {a}
{a}.register_hook(lambda grad: grad.numpy())
layer.register_forward_hook(lambda module, given, made: made.detach())
layer.register_forward_hook(lambda module, given, made: holder.set(made))
torch.set_grad_enabled(flag)
mode = torch.no_grad() if flag else contextlib.nullcontext()
if not flag: return
if not flag: break
if number > 2: continue
if not flag: raise ValueError
{a}.sum().backward()
""".splitlines()

# A function, defined where it is used, that sees the variables around it.
INNER = [
    """def inner(y):
    y.numpy()
    {b}.numpy()
    return y * {b}
{n} = inner({a})""",
    """def inner(y={a}, *more):
    return more[0] if more else y
{n} = inner({b}, {a})""",
    """def inner():
    {a}.numpy()
    return {a}
{b} = inner()
{a} = {b} * 2
inner()""",
    """@torch.no_grad()
def inner(y, flag=flag):
    y.numpy()
    return y if flag else y * 2
{n} = inner({a})""",
    """@torch.enable_grad()
def inner(y):
    z = y * {b}
    z.numpy()
    return z
{n} = inner({a})""",
    """def inner(y):
    y.numpy()
    return y * {b}
{n} = list(map(inner, [{a}]))[0]""",
    """def inner(y):
    y.numpy()
    return y
{n} = _applied_off(inner, {a})
inner({b})""",
    """def inner(y):
    y.numpy()
    yield y
    yield from [{b}]
for {n} in inner({a}): pass""",
    """inner = lambda y: y.detach() if flag else {b}
{n} = inner({a})""",
    """class Inner:
    x = {a}
    def __init__(self, y):
        self.y = y
    def all(self):
        self.y.numpy()
        return self.x + self.y
{n} = Inner({b}).all()""",
    """def inner(y):
    holder.x = y
    items.append(y)
    table["x"] = y
inner({a})""",
    """def inner(module, given, made):
    made.numpy()
    return made * 2
handle = layer.register_forward_hook(inner)
{n} = layer({a})
handle.remove()""",
]

BLOCKS = """\
with torch.no_grad():
with torch.inference_mode():
with torch.enable_grad():
with torch.set_grad_enabled(flag):
with torch.set_grad_enabled(False):
with torch.autocast("cpu"):
with contextlib.suppress(RuntimeError):
with contextlib.ExitStack() as stack:
for {a} in tuple(items):
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
with _off():
with _off(flag):
with torch.device("cuda"):
with torch.no_grad() if flag else torch.enable_grad():
with contextlib.nullcontext() if flag else torch.no_grad():
with torch.no_grad(), torch.enable_grad():
with mode:
with _holding({b}) as {a}:
with holder:
if torch.is_grad_enabled():
if {a} is not None and flag:
if {a}.requires_grad and {b}.is_cuda:
if {a}.requires_grad or {b}.is_cuda:
if not ({a}.requires_grad or {b}.is_cuda):
if (z := {a}.detach()).dim() == 2:
if number > 1 or {a}.is_cuda:
if hasattr({a}, "detach") and {a}.is_cpu:
for {a} in [{b}, {a}.detach()]:
for _, {a} in enumerate([{b}]):
for {a}, _ in DataLoader(TensorDataset({a}, {b})):
for {a} in _leaky({b}):
for each in tuple(several):
for {a}, (_, {b}) in [({a}, (1, {b}))]:
for holder.x in [{a}, {b}]:
""".splitlines()
# The body stands where it says so.
BLOCKS += [
    """try:
    {body}
finally:
    {b}.numpy()""",
    """try:
    {body}
except (RuntimeError, TypeError, IndexError):
    {b}.numpy()""",
    """try:
    {a} = {a}.detach()
    {body}
except RuntimeError as error:
    {a} = {b}
else:
    {a} = {a} * 2
finally:
    {a}.numpy()""",
    """try:
    {a} = {b}
    if number > 2: raise ValueError
    {a} = {a}.detach()
except (ValueError, RuntimeError):
    {body}""",
    """try:
    raise ValueError
except ValueError:
    {body}
finally:
    {b} = {b} * 1""",
    """{count} = 0
while {a}.dim() > 1 and ({count} := {count} + 1) < 4:
    {body}""",
    """{count} = 0
while True:
    {count} += 1
    if {count} > 3 or {a}.dim() > 2: break
    {body}
    {a} = {b}""",
    """{count} = 0
while {count} < number:
    {count} += 1
    {body}
else:
    {a} = {a} * 2""",
    """for _ in range(2):
    {a}.numpy()
    {body}
    if flag: continue
    {a} = {b}
else:
    {b}.numpy()""",
    """for {a} in items[:]:
    if {a}.requires_grad: break
    {body}
else:
    {a} = {b}.detach()""",
    """if {a}.requires_grad:
    {body}
elif {a}.is_cuda:
    {a} = {b}
else:
    {a} = {a} * 2""",
    """match number:
    case 0 | 1:
        {a} = {b}
    case 2 if flag:
        {body}
    case _:
        {a} = {a}.detach()""",
    """match {a}:
    case torch.Tensor(requires_grad=True):
        {body}
    case torch.Tensor() as {b}:
        {b}.numpy()""",
    """match [{a}, {b}]:
    case [first, *_] if first.is_cuda:
        {a} = first.cpu()
    case [_, second]:
        second.numpy()
        {body}""",
    """match {{"x": {a}, "y": {b}}}:
    case {{"x": found, **others}}:
        found.numpy()
        {body}""",
    """match _Pair({a}, {b}):
    case _Pair(first=found) if flag:
        {a} = found
        {body}
    case _Pair(found, _):
        {b} = found""",
]


_EARLY_RETURN = re.compile(r"(?<=: )return$", re.MULTILINE)


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
    assigned = values.map(lambda value: f"{{n}} = {value}")
    statements = st.sampled_from(STATEMENTS)
    texts = st.one_of(assigned, assigned, statements, statements, st.sampled_from(INNER))
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
        self._loops = 0  # so that a loop within a loop counts for itself

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
                exec(self._run.translated(_EARLY_RETURN.sub("pass", text), "step"), self._names)
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
        self._loops += 1
        text = step.text.format(a=a, b=b, n=bound, count=f"count{self._loops}", body="{body}")
        if not step.body:
            shown = [bound] if "{n}" in step.text else [a]
            return "\n".join([text, *(f"{name}.numpy()" for name in shown)]), bound
        body = [self._text(inner, is_outermost=False)[0] for inner in step.body]
        if "{body}" not in text:
            text += "\n    {body}"
            if text.startswith("if") and step.n % 2:
                text += f"\nelse:\n    {a} = {b}"
        return "\n".join([_with_body(text, "\n".join(body)), f"{a}.numpy()", f"{b}.numpy()"]), a

    @property
    def text(self) -> str:
        return (
            HEAD
            + indent(SETUP + "\n".join([*self.lines, *(f"{name}.numpy()" for name in self.variables)]), "    ")
            + "\n"
        )


def _with_body(text: str, body: str) -> str:
    """A block with its body where it says so."""
    lines = text.splitlines()
    place = next(row for row, line in enumerate(lines) if line.endswith("{body}"))
    lines[place] = indent(body, lines[place].removesuffix("{body}"))
    return "\n".join(lines)
