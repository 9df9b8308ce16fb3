#!/bin/sh
# SciPy 1.17.1 with torch 2.13.0 and NumPy 2.4.6, Python 3.11; seen on 2026-11-27.
#
# Guess: SCIPY_ARRAY_API=1 switches SciPy's array API on, so SCIPY_ARRAY_API=0 and =False switch it off, as if unset.
# Behaviour: any text that is not empty switches it on, "0" and "False" too: scipy/_lib/_array_api_override.py asks only
#   whether the text of the variable is true. Tensors then give tensors, where they give arrays otherwise. Only an
#   empty value is as good as none.
#
# Output seen (scipy.stats.zscore and scipy.fft.fft of a tensor on the CPU):
#   unset: ndarray ndarray
#   '': ndarray ndarray
#   '0': Tensor Tensor
#   'False': Tensor Tensor
#   '1': Tensor Tensor
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6 scipy==1.17.1

cat > "$folder/types.txt" <<'EOF'
unset: ndarray ndarray
'': ndarray ndarray
'0': Tensor Tensor
'False': Tensor Tensor
'1': Tensor Tensor
EOF
cat > "$folder/types_of_results.py" <<'EOF'
import scipy.fft
import scipy.stats
import torch

tensor = torch.tensor([1.0, 2.0, 4.0])
print(type(scipy.stats.zscore(tensor)).__name__, type(scipy.fft.fft(tensor)).__name__)
EOF

unset SCIPY_ARRAY_API
{
    echo "unset: $("$folder/venv/bin/python" "$folder/types_of_results.py")"
    for value in "" 0 False 1; do
        echo "'$value': $(SCIPY_ARRAY_API=$value "$folder/venv/bin/python" "$folder/types_of_results.py")"
    done
} > "$folder/seen.txt"
cat "$folder/seen.txt"
cmp -s "$folder/types.txt" "$folder/seen.txt" || exit 1
