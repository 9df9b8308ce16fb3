"""The small data of measure_breadth.py: each function makes what a program expects to find at a path."""

from __future__ import annotations

import gzip
import struct
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

_PICTURES = {"train": 256, "t10k": 128}


def mnist(folder: Path) -> None:
    """Pictures of digits that are noise, in the format of MNIST, as torchvision keeps them below this folder."""
    raw = folder / "MNIST/raw"
    raw.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for part, count in _PICTURES.items():
        pictures = random.integers(0, 255, (count, 28, 28), dtype=np.uint8)
        labels = np.arange(count, dtype=np.uint8) % 10
        for name, header, data in (
            ("images-idx3-ubyte", struct.pack(">IIII", 2051, count, 28, 28), pictures),
            ("labels-idx1-ubyte", struct.pack(">II", 2049, count), labels),
        ):
            (raw / f"{part}-{name}").write_bytes(header + data.tobytes())
            (raw / f"{part}-{name}.gz").write_bytes(gzip.compress(header + data.tobytes()))


def text(path: Path) -> None:
    """A text of some 3,000 words; minGPT goes on from "O God, O God!"."""
    path.parent.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    words = np.array([f"w{number}" for number in range(60)])
    lines = ["O God, O God!", *(" ".join(random.choice(words, 12)) for _ in range(250))]
    path.write_text("\n".join(lines) + "\n", "utf-8")


def texts(folder: Path) -> None:
    """Three of them, as language models want them."""
    for name in ("train", "valid", "test"):
        text(folder / f"{name}.txt")


def tokens(folder: Path) -> None:
    """Numbers of tokens, as nanoGPT reads them."""
    folder.mkdir(parents=True, exist_ok=True)
    random = np.random.default_rng(0)
    for name in ("train", "val"):
        random.integers(0, 60, 4000).astype(np.uint16).tofile(folder / f"{name}.bin")


def bsds(folder: Path) -> None:
    """Pictures for super resolution."""
    from PIL import Image

    random = np.random.default_rng(0)
    for part in ("train", "test"):
        (folder / part).mkdir(parents=True, exist_ok=True)
        for number in range(4):
            noise = random.integers(0, 255, (96, 96, 3), dtype=np.uint8)
            Image.fromarray(noise).save(folder / part / f"{number}.jpg")


def sines(path: Path) -> None:
    """Waves for a time series."""
    import torch

    path.parent.mkdir(parents=True, exist_ok=True)
    places = np.arange(60)[None, :] + np.arange(12)[:, None] * 7
    torch.save(np.sin(places / 5.0).astype("float64"), path)
