#!/bin/sh
# torch 2.13.0 with NumPy 2.4.6, Python 3.11; seen on 2026-11-28.
#
# Guess: inside torch.compile `.numpy()` and NumPy's functions take a tensor that requires grad, as torch computes them
#   there, and the same function raises or does not by what it calls, not by what stands around it.
# Behaviour: `.numpy()` passes, but raises once there is a `print` in the loop or the `try` around it, though not after
#   a `print` in a plain line: torch gives the whole frame up there. Reading `.dtype` of the array raises as well;
#   np.isclose passes, np.allclose and np.digitize raise; an item written into the array is an error of torch's own.
#
# Output seen:
#   t.numpy(): ndarray
#   print, then t.numpy(): ndarray
#   print in the loop: RuntimeError
#   print in the try: caught RuntimeError
#   t.numpy().shape: tuple
#   t.numpy().dtype: RuntimeError
#   np.isclose: ndarray
#   np.allclose: RuntimeError
#   np.digitize: RuntimeError
#   n[0] = 5: TorchRuntimeError
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6

cat > "$folder/compiled.py" <<'EOF'
import logging
import sys

import numpy as np
import torch

logging.disable(logging.CRITICAL)
other = np.ones(3, dtype=np.float32)


def alone(t):
    return t.numpy()


def after_print(t):
    print("x", file=sys.stderr)
    return t.numpy()


def in_loop(t):
    for i in range(2):
        print(i, file=sys.stderr)
        n = t.numpy()
    return n


def in_try(t):
    try:
        print("x", file=sys.stderr)
        return t.numpy()
    except RuntimeError as error:
        return "caught " + type(error).__name__


def shape(t):
    return t.numpy().shape


def dtype(t):
    return t.numpy().dtype


def isclose(t):
    return np.isclose(t, other)


def allclose(t):
    return np.allclose(t, other)


def digitize(t):
    return np.digitize(t, other)


def item(t):
    n = t.numpy()
    n[0] = 5.0
    return torch.from_numpy(n)


TRIED = {
    "t.numpy()": alone,
    "print, then t.numpy()": after_print,
    "print in the loop": in_loop,
    "print in the try": in_try,
    "t.numpy().shape": shape,
    "t.numpy().dtype": dtype,
    "np.isclose": isclose,
    "np.allclose": allclose,
    "np.digitize": digitize,
    "n[0] = 5": item,
}
for what, function in TRIED.items():
    torch._dynamo.reset()
    try:
        found = torch.compile(function, backend="eager")(torch.arange(1.0, 4.0, requires_grad=True))
        print(f"{what}: {found if isinstance(found, str) else type(found).__name__}")
    except Exception as error:
        print(f"{what}: {type(error).__name__}")
EOF
sed -n '/^# Output seen:/,/^set /s/^#   //p' "$0" > "$folder/expected.txt"
"$folder/venv/bin/python" -W ignore "$folder/compiled.py" > "$folder/seen.txt" 2> /dev/null
cat "$folder/seen.txt"
cmp -s "$folder/expected.txt" "$folder/seen.txt" || exit 1
