"""Tensors that are taken for values, and those that are not: a line that a rehearsal must tell of says so."""

import dataclasses
import statistics
from collections import Counter, defaultdict

import torch

device = "cuda" if torch.cuda.is_available() else "cpu"
net = torch.nn.Linear(2, 2).to(device)
labels = torch.tensor([1, 2, 1], device=device)
values = torch.tensor([0.5, 0.25, 0.75])

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

kinds: defaultdict = defaultdict(list)
for label in labels:
    kinds[label].append(1)  # TNP206
groups: dict = {}
for label in torch.tensor([1, 1]):
    groups[label] = [1]  # TNP206
    groups[label].append(2)


@dataclasses.dataclass(frozen=True)
class Key:
    step: torch.Tensor


print(len({Key(values[0])}))  # TNP206
