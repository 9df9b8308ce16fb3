#!/bin/sh
# ruptures 1.1.10 with torch 2.13.0 and NumPy 2.4.6, Python 3.11; seen on 2026-11-27.
#
# Guess: Pelt(model="l2") of a tensor on the CPU gives the breakpoints of the equal array, or raises.
# Behaviour: it gives other breakpoints, without a warning. The cost l2 keeps the tensor as it came and calls its
#   var(axis=0): NumPy divides by n there, torch by n - 1, so that short segments cost up to twice as much.
#
# Output seen:
#   array: breakpoints [6, 12], cost of the first two 0.0, of the first four 1.0
#   tensor: breakpoints [4, 6, 12], cost of the first two 0.0, of the first four 1.3333
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check \
    torch==2.13.0 numpy==2.4.6 ruptures==1.1.10

cat > "$folder/breakpoints.py" <<'EOF'
import numpy as np
import ruptures
import torch

array = np.array([1.0, 1, 2, 2, 0, 0, 6, 6, 4, 4, 6, 5]).reshape(-1, 1)
for what, signal in (("array", array), ("tensor", torch.from_numpy(array))):
    found = ruptures.Pelt(model="l2", min_size=2, jump=1).fit(signal).predict(pen=3)
    cost = ruptures.costs.CostL2().fit(signal)
    two, four = (round(float(cost.error(0, end)), 4) for end in (2, 4))
    print(f"{what}: breakpoints {found}, cost of the first two {two}, of the first four {four}")
EOF
cat > "$folder/expected.txt" <<'EOF'
array: breakpoints [6, 12], cost of the first two 0.0, of the first four 1.0
tensor: breakpoints [4, 6, 12], cost of the first two 0.0, of the first four 1.3333
EOF
"$folder/venv/bin/python" "$folder/breakpoints.py" > "$folder/seen.txt"
cat "$folder/seen.txt"
cmp -s "$folder/expected.txt" "$folder/seen.txt" || exit 1
