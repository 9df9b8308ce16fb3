"""Embed images with a network and plot the result: the conversions a first version of such a script has."""

from __future__ import annotations

import argparse

import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import Tensor, nn


class Encoder(nn.Module):
    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, width), nn.ReLU(), nn.Linear(width, 2))
        self.scale = nn.Parameter(torch.ones(2))

    def forward(self, images: Tensor) -> Tensor:
        return self.layers(images) * self.scale


def train(model: Encoder, batches: list[Tensor], device: torch.device) -> list[float]:
    optimizer = torch.optim.Adam(model.parameters())
    losses = []
    for images in batches:
        embedded = model(images.to(device))
        loss = embedded.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.cpu().numpy()))
    return losses


@torch.no_grad()
def embed(model: Encoder, images: Tensor, device: torch.device) -> np.ndarray:
    return model(images.to(device)).numpy()


def nearest(embedded: Tensor, queries: Tensor) -> np.ndarray:
    distances = torch.cdist(queries, embedded)
    return distances.argmin(dim=1).cpu().numpy()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cpu")
    device = torch.device(parser.parse_args().device)
    images = torch.rand(256, 1, 28, 28)
    model = Encoder().to(device)
    losses = train(model, list(images.split(32)), device)
    points = embed(model, images, device)
    figure, (left, right) = plt.subplots(1, 2)
    left.plot(losses)
    left.set_title(f"scale {model.scale.detach().numpy()}")
    right.scatter(points[:, 0], points[:, 1], c=images.mean(dim=(1, 2, 3)).numpy())
    figure.savefig("embedded.png")


if __name__ == "__main__":
    main()
