"""Tensors that are taken for values or masks, and those that are not: a line that a rehearsal must tell of says so."""

import contextlib
import csv
import dataclasses
import importlib.util
import io
import json
import statistics
from collections import Counter, defaultdict

import numpy as np

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
counted = Counter(list(labels))  # TNP206
print(counted.most_common(1)[0][1], bool(str(counted)), len(counted.copy()), counted == Counter())
print(statistics.mode(list(labels)).item())  # TNP206
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
print(pd.Series([values.sum()]))  # TNP206
print(frame.assign(n=values.sum()))  # TNP206
print(frame.assign(n=values, m=values.sum().item()).dtypes.to_dict())
print(pd.DataFrame.from_records([{"loss": values.sum()}]).dtypes)  # TNP206
print(len(series.isin([values[0]])))  # TNP206
print(pd.api.types.is_scalar(values), frame.to_csv())

file = io.StringIO()
writer = csv.writer(file)
writer.writerow([1, values.mean()])  # TNP206
writer.writerow([1, values.mean().item()])
writer.writerows([[1, each] for each in values])  # TNP206
csv.DictWriter(file, ["loss"]).writerow({"loss": values.mean()})  # TNP206
print(file.getvalue(), writer.dialect.delimiter)


class Encoder(json.JSONEncoder):
    def default(self, o: object) -> object:
        return o.tolist() if isinstance(o, torch.Tensor) and o.dim() else repr(o)


print(json.dumps({"a": [1, {"loss": values.mean()}]}, default=str))  # TNP206
json.dump([values], file, default=lambda value: f"{value}")  # TNP206
print(json.dumps({"loss": values.mean()}, cls=Encoder, indent=1))  # TNP206
print(Encoder().encode(values), json.dumps([values.mean()], default=float))
print(json.dumps({"a": values.dtype, "b": str(values)}, default=str))
json.dump({"loss": values.mean().item()}, file, default=str)
print(callable(np.size(values)))  # TNP206
print(np.argwhere(values > 0).shape, np.size(values.numpy()))  # TNP206
print(np.size(values, 0), np.size(values, axis=0))

names = np.array(["a", "b"])
print(names[values[:1].long()], names[values[:2].long()], names[values[0].long()])  # TNP206
print(["a", "b"][values[:1].long()], range(3)[values[:1].long()])
rows = np.zeros((1, 2))
print(rows[values[:1] < 0].shape)  # TNP206
rows[values[:1] < 0] = 1  # TNP206
rows[values[:1].long()] = 1
print(rows, rows[(values[:1] < 0).numpy()].shape)
kinds: defaultdict = defaultdict(list)
for label in labels:
    kinds[label].append(1)  # TNP206
groups: dict = {}
for label in torch.tensor([1, 1]):
    groups[label] = [1]  # TNP206
    groups[label].append(2)

bad = np.isnan(values)
print(values[~bad].shape)  # TNP205
print((~(bad | np.isinf(values))).all())  # TNP205
print(np.arange(3)[bad])  # TNP205
image = torch.tensor([1, 2, 3], dtype=torch.uint8)
print(bad.sum(), ~np.isnan(values.numpy()), ~image, np.arange(9)[image], values[~torch.isnan(values)])
table = torch.tensor([[0.5, float("nan")], [1.0, 2.0]])
print(table[~np.isnan(table).any(1)].shape)  # TNP205
print(np.arange(2)[np.isfinite(table).all(1)])  # TNP205
print(table[np.isnan(table)], torch.where(np.isnan(table), 0, table), table.masked_fill(torch.isnan(table), 0))
table[np.isfinite(table)] += 1
with contextlib.suppress(RuntimeError):
    table.masked_fill(np.isnan(table), 0)  # torch itself refuses it wherever it runs
bad = np.isnan(values)
many = np.arange(300)
print(many[bad.numpy()], many[np.asarray(bad)].sum())  # TNP205
print(many[:3][bad.numpy().astype(bool)], many[:3][bad.bool().numpy()], values[bad], bad.numpy().sum())
print(len(~bad.numpy()))  # TNP205


@dataclasses.dataclass(frozen=True)
class Key:
    step: torch.Tensor


print(len({Key(values[0])}))  # TNP206
print(pd.DataFrame([Key(values.sum())]), pd.DataFrame([Key(torch.ones(2)[0].item())]))  # TNP206
with torch.device(device):
    print(np.isnan(torch.ones(2, device="cpu")).dtype)
    print(values[~np.isnan(values)].shape)  # TNP205
