#!/bin/sh
# polars 2.1.0 with torch 2.13.0 and NumPy 2.4.6, Python 3.11; seen on 2026-11-28.
#
# Guess: what polars makes of a list of tensors without dimensions depends on these: numbers, objects, or an error.
# Behaviour: it depends on the first tensor that the process has ever given to polars in a list. The way to convert a
#   Python type is chosen once for each type: after a tensor of a float all become Float64; after one of an integer a
#   tensor of a float raises OverflowError; after one of several numbers each becomes an object, for as long as the
#   process lives. The same line so has another dtype, or fails, by what some other code has done before.
#
# Output seen (the dtype of `pl.Series([torch.tensor(0.5)])`):
#   nothing before: Float64
#   torch.tensor(0.25) before: Float64
#   torch.tensor(2) before: OverflowError
#   torch.tensor([1.0, 2.0]) before: Object
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6 polars==2.1.0

cat > "$folder/dtype.py" <<'PROGRAM'
import sys

import polars as pl
import torch

if len(sys.argv) > 1:
    pl.Series([eval(sys.argv[1])])
try:
    print(pl.Series([torch.tensor(0.5)]).dtype)
except OverflowError:
    print("OverflowError")
PROGRAM

cat > "$folder/expected" <<'TEXT'
nothing before: Float64
torch.tensor(0.25) before: Float64
torch.tensor(2) before: OverflowError
torch.tensor([1.0, 2.0]) before: Object
TEXT

{
    echo "nothing before: $("$folder/venv/bin/python" "$folder/dtype.py")"
    for before in "torch.tensor(0.25)" "torch.tensor(2)" "torch.tensor([1.0, 2.0])"; do
        echo "$before before: $("$folder/venv/bin/python" "$folder/dtype.py" "$before")"
    done
} > "$folder/seen"
cat "$folder/seen"
if ! cmp -s "$folder/expected" "$folder/seen"; then
    echo "this has changed" >&2
    exit 1
fi
