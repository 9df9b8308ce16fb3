#!/bin/sh
# pandas 3.1.1 with torch 2.13.0 and NumPy 2.4.6, Python 3.11; seen on 2026-11-28.
#
# Guess: a tensor of one number that is put into a column of floats is treated in one way: it becomes a float, as in
#   `array[0] = tensor`, or it is refused.
# Behaviour: it depends on whether the label of the row is there, and on what rows there are. A row that is there refuses
#   it, with an AttributeError of pandas' own code about `torch.dtype`. A new row behind others takes the tensor as an
#   object, so that the column is one of objects and a file gets `tensor(0.5000)`, with a warning that pandas 4 will not.
#   The first row of an empty frame takes it as an object without a word, where a float makes a column of floats: many
#   a log begins so. A Series does as the rows do.
#
# Output seen:
#   a row that is there: AttributeError
#   a new row behind others: object, tensor(0.5000), Pandas4Warning
#   the first row: object, tensor(0.5000)
#   the first row, of a float: float64, np.float64(0.5)
#   a label of a Series that is there: AttributeError
#   a new label: object, tensor(0.5000), Pandas4Warning
#   an array that is given one: float64, np.float64(0.5)
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3.11 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q --no-compile --disable-pip-version-check torch==2.13.0 numpy==2.4.6 pandas==3.1.1

cat > "$folder/rows.py" <<'PROGRAM'
import warnings

import numpy as np
import pandas as pd
import torch

number = torch.tensor(0.5)


def told(name, put):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            values = put()
        except Exception as error:
            print(f"{name}: {type(error).__name__}")
            return
    parts = [str(values.dtype), repr(values[-1]), *(each.category.__name__ for each in caught)]
    print(f"{name}: {', '.join(parts)}")


def frame_at(label):
    frame = pd.DataFrame({"loss": [1.0, 2.0]})
    frame.loc[label, "loss"] = number
    return frame["loss"].to_numpy()


def frame_with(rows, value):
    frame = pd.DataFrame({"loss": rows}) if rows else pd.DataFrame(columns=["loss"])
    frame.loc[len(frame)] = [value]
    return frame["loss"].to_numpy()


def series_at(label):
    series = pd.Series([1.0, 2.0])
    series[label] = number
    return series.to_numpy()


def array_at(place):
    array = np.array([1.0, 2.0])
    array[place] = number
    return array


told("a row that is there", lambda: frame_at(1))
told("a new row behind others", lambda: frame_with([1.0, 2.0], number))
told("the first row", lambda: frame_with([], number))
told("the first row, of a float", lambda: frame_with([], 0.5))
told("a label of a Series that is there", lambda: series_at(1))
told("a new label", lambda: series_at(2))
told("an array that is given one", lambda: array_at(1))
PROGRAM

cat > "$folder/expected" <<'TEXT'
a row that is there: AttributeError
a new row behind others: object, tensor(0.5000), Pandas4Warning
the first row: object, tensor(0.5000)
the first row, of a float: float64, np.float64(0.5)
a label of a Series that is there: AttributeError
a new label: object, tensor(0.5000), Pandas4Warning
an array that is given one: float64, np.float64(0.5)
TEXT

"$folder/venv/bin/python" "$folder/rows.py" > "$folder/seen"
cat "$folder/seen"
if ! cmp -s "$folder/expected" "$folder/seen"; then
    echo "this has changed" >&2
    exit 1
fi
