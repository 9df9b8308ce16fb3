"""Tensors that are taken for values, and those that are not: each line that a rehearsal must tell of says TNP206."""

import importlib.util
from collections import Counter

if importlib.util.find_spec("pandas") is not None:  # as libraries look for it before they import it
    import pandas as pd
import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(2, 2).to(device)
labels = torch.tensor([1, 2, 1], device=device)
values = torch.tensor([0.5, 0.25, 0.75])
series = pd.Series([0.5, 0.25, 0.75])
frame = pd.DataFrame({"a": [1, 2, 3]})

print(len(set(labels)))  # TNP206
print(len(set(labels.tolist())))
print(Counter(labels).most_common(1)[0][1])  # TNP206
counts: dict = {}
for label in labels:
    counts[label] = counts.get(label, 0) + 1  # TNP206
for label in labels.tolist():
    counts[label] = counts.get(label, 0) + 1
state = dict.fromkeys(net.parameters(), 1)
print(state[net.weight], {values: 1}[values])

print((series == values).any())  # TNP206
print((series == values.numpy()).all())
print(series.ne(values).all())  # TNP206
print(series.isin(values.tolist()).all(), series.isin(values).sum() < 4)  # TNP206
print(pd.isna(values))  # TNP206
print(frame.iloc[values > 0.3].shape)  # TNP206
print(frame.iloc[(values > 0.3).numpy()].shape)
frame["loss"] = values.mean()  # TNP206
frame["b"] = values
print(pd.DataFrame([{"loss": values.mean()}]))  # TNP206
print(pd.DataFrame({"loss": values}), pd.DataFrame([{"loss": values.mean().item()}]))
