#!/bin/sh
# torch 2.13.0 with NumPy 2.4.6, Python 3.11; seen on 2026-11-28.
#
# Guess: what torch takes as a mask in `t[mask]` it takes in `t[mask] = 0`, too, and in `masked_fill`. NumPy's isnan and
#   its like hand their result back to a CPU tensor, and torch makes a tensor of uint8 of it.
# Behaviour: such a mask reads the right values, and takes two values for two places, but for one value torch calls
#   `masked_fill_`, which refuses all but booleans: `t[np.isnan(t)] = 0` raises RuntimeError, and so does `+= 1` as soon
#   as there is one NaN alone. `torch.where` takes it, `masked_fill` and `masked_select` do not.
#
# Output seen:
#   dtype: torch.uint8
#   t[mask]: [nan]
#   t[mask] = tensor of one: RuntimeError
#   t[mask] = 0: RuntimeError
#   t[mask] += 1: RuntimeError
#   two[mask] = two values: [8.0, 1.0, 9.0]
#   torch.where: [1.0, 0.0, 3.0]
#   masked_fill: RuntimeError
#   masked_select: RuntimeError
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6

cat > "$folder/masks.py" <<'EOF'
import numpy as np
import torch

nan = float("nan")
t = torch.tensor([1.0, nan, 3.0])


def tell(what, function):
    try:
        print(f"{what}: {function()}")
    except RuntimeError as error:
        print(f"{what}: {type(error).__name__}")


def put(tensor, value):
    tensor = tensor.clone()
    tensor[np.isnan(tensor)] = value
    return tensor.tolist()


def add(tensor):
    tensor = tensor.clone()
    tensor[np.isnan(tensor)] += 1
    return tensor.tolist()


tell("dtype", lambda: np.isnan(t).dtype)
tell("t[mask]", lambda: t[np.isnan(t)].tolist())
tell("t[mask] = tensor of one", lambda: put(t, torch.tensor([0.0])))
tell("t[mask] = 0", lambda: put(t, 0))
tell("t[mask] += 1", lambda: add(t))
tell("two[mask] = two values", lambda: put(torch.tensor([nan, 1.0, nan]), torch.tensor([8.0, 9.0])))
tell("torch.where", lambda: torch.where(np.isnan(t), 0, t).tolist())
tell("masked_fill", lambda: t.masked_fill(np.isnan(t), 0).tolist())
tell("masked_select", lambda: t.masked_select(np.isnan(t)).tolist())
EOF
sed -n '/^# Output seen:/,/^set /s/^#   //p' "$0" > "$folder/expected.txt"
"$folder/venv/bin/python" -W ignore "$folder/masks.py" > "$folder/seen.txt"
cat "$folder/seen.txt"
cmp -s "$folder/expected.txt" "$folder/seen.txt" || exit 1
