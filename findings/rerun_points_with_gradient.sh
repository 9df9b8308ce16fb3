#!/bin/sh
# rerun-sdk 0.41.0 with torch 2.13.0 and NumPy 2.4.6, Python 3.11; seen on 2026-11-27. No viewer is needed.
#
# Guess: rr.Points3D takes a tensor; of one that requires grad it raises RuntimeError, as Tensor.numpy() does.
# Behaviour: the error becomes a RerunWarning, the points become an empty batch, which rr.log takes without an error, and
#   the program ends with 0. Only after rr.set_strict_mode(True) the error is raised.
#
# Output seen:
#   array: 4 points
#   tensor: 4 points
#   tensor that requires grad: 0 points, RerunWarning: Position3DBatch: RuntimeError(Can't call numpy() on Tensor
#     that requires grad. Use tensor.detach().numpy() instead.)        (one line)
#   the same, strict: RuntimeError
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check \
    torch==2.13.0 numpy==2.4.6 rerun-sdk==0.41.0

cat > "$folder/points.py" <<'EOF'
import sys
import warnings

import rerun as rr
import torch

rr.init("points", spawn=False)
rr.memory_recording()
tensor = torch.arange(12.0).reshape(4, 3)
with_gradient = tensor.clone().requires_grad_()


def counted(positions):
    """The number of points kept, and the warnings given."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        points = rr.Points3D(positions)
        rr.log("points", points)
    told = "".join(f", {warning.category.__name__}: {warning.message}" for warning in given)
    return len(points.positions.as_arrow_array()), told


seen = {
    "array": counted(tensor.numpy()),
    "tensor": counted(tensor),
    "tensor that requires grad": counted(with_gradient),
}
for what, (number, told) in seen.items():
    print(f"{what}: {number} points{told}")
rr.set_strict_mode(True)
try:
    rr.Points3D(with_gradient)
except Exception as error:
    strict = type(error).__name__
else:
    strict = "no error"
print(f"the same, strict: {strict}")
lost = seen["tensor that requires grad"]
as_before = (
    seen["array"] == seen["tensor"] == (4, "")
    and lost[0] == 0
    and "RerunWarning" in lost[1]
    and strict == "RuntimeError"
)
sys.exit(0 if as_before else 1)
EOF
"$folder/venv/bin/python" "$folder/points.py" || exit 1
