#!/bin/sh
# awkward 2.14.0 with torch 2.13.0 and NumPy 2.4.6, Python 3.11; seen on 2026-11-28.
#
# Guess: DLPack refuses each tensor whose numbers are to be read otherwise than they stand in memory. Torch's
#   `__dlpack__` does refuse the conjugate bit, with a BufferError, and `x.numpy()` refuses both bits.
# Behaviour: it lets the negative bit pass, which the imaginary part of a conjugate has. Who takes such a tensor by DLPack
#   (awkward, NumPy, torch itself) has numbers of the other sign, without a word; awkward even where it is asked for an
#   array of NumPy. The old torch.utils.dlpack.to_dlpack lets the conjugate bit pass as well.
#
# Output seen:
#   torch: [-2.0, 4.0]
#   np.asarray: RuntimeError
#   awkward.Array: [2.0, -4.0]
#   awkward.to_numpy: [2.0, -4.0]
#   np.from_dlpack: [2.0, -4.0]
#   torch.from_dlpack: [2.0, -4.0]
#   conjugate, torch.from_dlpack: BufferError
#   conjugate, from_dlpack(to_dlpack): [(1+2j), (3-4j)]
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check \
    torch==2.13.0 numpy==2.4.6 awkward==2.14.0

cat > "$folder/signs.py" <<'EOF'
import awkward
import numpy as np
import torch
from torch.utils.dlpack import from_dlpack, to_dlpack

conjugate = torch.tensor([1 + 2j, 3 - 4j]).conj()
imaginary = conjugate.imag


def tell(what, take, tensor):
    try:
        taken = take(tensor).tolist()
    except (BufferError, RuntimeError) as error:
        taken = type(error).__name__
    print(f"{what}: {taken}")


tell("torch", lambda tensor: tensor, imaginary)
tell("np.asarray", np.asarray, imaginary)
tell("awkward.Array", awkward.Array, imaginary)
tell("awkward.to_numpy", awkward.to_numpy, imaginary)
tell("np.from_dlpack", np.from_dlpack, imaginary)
tell("torch.from_dlpack", torch.from_dlpack, imaginary)
tell("conjugate, torch.from_dlpack", torch.from_dlpack, conjugate)
tell("conjugate, from_dlpack(to_dlpack)", lambda tensor: from_dlpack(to_dlpack(tensor)), conjugate)
EOF
sed -n '/^# Output seen:/,/^set /s/^#   //p' "$0" > "$folder/expected.txt"
"$folder/venv/bin/python" "$folder/signs.py" > "$folder/seen.txt"
cat "$folder/seen.txt"
cmp -s "$folder/expected.txt" "$folder/seen.txt" || exit 1
