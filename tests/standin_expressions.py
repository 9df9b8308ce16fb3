"""What expressions of arrays and tensors give on a device: python standin_expressions.py toy|standin. One line each."""

from __future__ import annotations

import math
import sys
import warnings

import numpy as np
import torch

# In some operators, such as `torch.cat`, the test device takes tensors of the CPU, which CUDA refuses: none is here.
# s, g: numbers, g with grad; d, v: vectors, v with grad; i: whole numbers; m: a matrix; c: on the CPU; a: an array.
EXPRESSIONS = """
np.sum([g, g])|np.array([g, g])|np.array([v, v])|np.array([d, d])|np.array([s, s])|np.mean([s, s])|np.array(g)|np.array(v)
float(g)|np.float32(g)|np.float32(s)|np.float64(d)|a - v|a * v|v - a|v * a|a - d|d - a|a * d|d * a|a + s|s + a|a == d|d == a
a[0] * d|d * a[0]|np.sqrt(d)|np.sqrt(v)|np.add(d, a)|list(d)|np.stack([d, d])|np.concatenate([d, d])|np.mean(d)|np.sum(d)
np.max(d)|d.__array__()|d.__array__(np.float64)|np.asarray(d, dtype=np.int64)|np.dot(a, d)|a @ d|d @ a|np.arange(s)
torch.from_numpy(a) * d|torch.tensor([s, s])|torch.tensor([d, d])|torch.as_tensor([s, s])|np.asarray(d, dtype=object)
np.array([d], dtype=object)|np.where(d > 1, 1, 0)|np.isnan(d)|np.linalg.norm(d)|np.testing.assert_allclose(d, [2, 2, 2])
a[i]|a[i[0]]|[1, 2, 3][i[0]]|range(i[0])|np.ones(i[0])|np.full(3, s)|np.clip(d, 0, 1)|round(s)|max(d)|np.allclose(d, a)
np.histogram(d)|memoryview(d)|bytes(d)|np.from_dlpack(d)|np.frombuffer(d)|math.sqrt(s)|divmod(s, 2)|complex(s)|'%f' % s
f'{s:.2f}'|np.array2string(d)|np.copyto(a, d)|a.__setitem__(0, s)|a.__setitem__(slice(None), d)|a.dot(d)|np.interp(s, a, a)
np.poly1d(d)|np.array({'a': d})|np.int64(s)|np.bool_(s)|d.numpy()|v.numpy()|v.detach().numpy()|v.cpu().numpy()
d.bfloat16().numpy()|d.bfloat16().cpu().numpy()|d.numpy(force=True)|v.numpy(force=True)|v.tolist()|s.item()|d.item()
d + c|c + d|d + c[0]|c[0] + d|
d.add_(c)|c.add_(d)|d.copy_(c)|c.copy_(d)|d[c.long()]
d.lerp(c, 0.5)|torch.dot(d, c)|torch.equal(d, d)|(d == d).all()|bool(s)|int(s)|len(d)|d.dtype|d.is_leaf|v.is_leaf|v.sum()
torch.nn.functional.mse_loss(d, c)|torch.addmm(m, m, c.diag())|torch.bmm(m[None], c.diag()[None])|torch.outer(d, c)
torch.maximum(d, c)|torch.atan2(d, c)|torch.clamp(d, c)
torch.nn.functional.linear(d, c.diag())|torch.pow(d, c)
""".replace("\n", "|")  # noqa: E501


def main(word: str) -> None:
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    if word == "standin":
        from tonumpy.rehearsal.standin import pretend

        with pretend("cuda", lambda event, tensor: None, stop=True):  # noqa: ARG005
            _print_all("cuda")
    else:
        import accelerator

        try:
            accelerator.register()
        except accelerator.NoToolchainError as error:
            sys.exit(f"no toolchain: {error}")
        _print_all(accelerator.DEVICE)


def _print_all(device: str) -> None:
    for expression in filter(None, EXPRESSIONS.split("|")):
        g = torch.tensor(1.0).to(device).requires_grad_() * 2
        v = torch.ones(3).to(device).requires_grad_() * 2
        c = torch.tensor([1.0, 0.0, 2.0])
        names = {"g": g, "v": v, "s": g.detach(), "d": v.detach(), "i": v.detach().long()[:1], "c": c, "a": np.ones(3)}
        names["m"] = torch.arange(9.0).reshape(3, 3).to(device)
        try:
            value = eval(expression, {"np": np, "torch": torch, "math": math}, names)
            said = f"{type(value).__name__} {value!r}"
        except Exception as error:
            said = f"{type(error).__name__}: {error}"
        print(f"{expression} -> {said}".replace("\n", " ").replace(f"{device}:0", "DEVICE"))


if __name__ == "__main__":
    main(sys.argv[1])
