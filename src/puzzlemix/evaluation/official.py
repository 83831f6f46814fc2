"""The published corrupted data sets as they are distributed: CIFAR-10-C, CIFAR-100-C and Tiny-ImageNet-C.

Nothing that lies in a file is run: arrays are mapped into memory as numbers, and never unpickled.

Shape suffixes: N images, H height, W width, C channels.
"""

from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch

from ..data.archive import Tree, open_tree
from ..data.decode import read_images
from ..data.errors import DataError
from ..data.listing import class_folders, list_classes
from ..data.spec import DataSpec, InMemory
from .corruptions import CORRUPTIONS, LEVELS

_LABELS = "labels.npy"


class Official(Protocol):
    """A corrupted data set: the corruptions that are there, in the published order, and a split for each severity."""

    path: Path
    names: tuple[str, ...]

    def split(self, name: str, severity: int) -> InMemory:
        """Read the images of one corruption at one severity."""
        ...


def open_official(path: str | Path, spec: DataSpec) -> Official:
    """Open the unpacked folder of a set: `NAME.npy` and labels.npy, or NAME/SEVERITY/CLASS/ with images.

    spec: the facts of the clean set, whose classes and normalisation it shares.
    """
    path = Path(path).expanduser()
    if path.is_dir() and any(path.glob("*.npy")):
        return _Arrays(path, spec)
    if path.is_file() and ".tar" in path.suffixes and "CIFAR" in path.name.upper():
        raise DataError(f"{path} holds large arrays: unpack it, `tar -xf {path}`, and pass the folder")
    return _Images(open_tree(path), spec)


class _Arrays:
    """CIFAR's layout: an array of images per corruption, five severities one after the other, and labels for all."""

    def __init__(self, path: Path, spec: DataSpec):
        self.path, self._spec = path, spec
        self.names = tuple(name for name in CORRUPTIONS if (path / f"{name}.npy").exists())
        if not self.names:
            raise DataError(f"{path} holds none of the 19 corruptions: expected gaussian_noise.npy and so on")
        self._labels_N = self._read_labels()

    def _read_labels(self) -> np.ndarray:
        labels_N = read_array(self.path / _LABELS)
        if labels_N.ndim != 1 or labels_N.dtype.kind not in "iu" or not len(labels_N) or len(labels_N) % len(LEVELS):
            raise DataError(
                f"{self.path / _LABELS} is {labels_N.dtype} {labels_N.shape}: expected a whole number for each image, "
                "five severities of them"
            )
        low, high = int(labels_N.min()), int(labels_N.max())
        if low < 0 or high != self._spec.classes - 1:
            raise DataError(
                f"{self.path / _LABELS} runs from {low} to {high}, but {self._spec.name} has {self._spec.classes} "
                "classes: pass the corrupted copy of the set that the model was trained on"
            )
        return labels_N

    def split(self, name: str, severity: int) -> InMemory:
        """Read the images of one corruption at one severity."""
        path = self.path / f"{name}.npy"
        images_NHWC = read_array(path)
        if images_NHWC.dtype != np.uint8 or images_NHWC.ndim != 4 or images_NHWC.shape[3] != self._spec.channels:
            raise DataError(
                f"{path} is {images_NHWC.dtype} {images_NHWC.shape}: expected uint8 (N,H,W,{self._spec.channels})"
            )
        if len(images_NHWC) != len(self._labels_N):
            raise DataError(
                f"{path} has {len(images_NHWC):,} images, {_LABELS} {len(self._labels_N):,} labels: fetch both again"
            )
        count = len(images_NHWC) // len(LEVELS)
        part = slice((severity - 1) * count, severity * count)
        images = torch.from_numpy(np.ascontiguousarray(images_NHWC[part].transpose(0, 3, 1, 2)))
        return InMemory(images, torch.from_numpy(self._labels_N[part].astype(np.int64)), self._spec)


class _Images:
    """ImageNet's layout: a folder per corruption, in it one per severity, in it one per class, in it the images."""

    def __init__(self, tree: Tree, spec: DataSpec):
        self.path, self._tree, self._spec = tree.path, tree, spec
        there = {name.split("/")[0] for name in tree.names}
        self.names = tuple(name for name in CORRUPTIONS if name in there)
        if not self.names:
            raise DataError(
                f"{tree.path} holds none of the 19 corruptions: expected images in gaussian_noise/1/CLASS/ and so on, "
                "or arrays gaussian_noise.npy and so on and labels.npy"
            )

    def split(self, name: str, severity: int) -> InMemory:
        """Read the images of one corruption at one severity; classes are numbered in the order of their names."""
        folder = f"{name}/{severity}/"
        classes = class_folders(self._tree, folder)
        if len(classes) != self._spec.classes:
            raise DataError(
                f"{self._tree.describe(folder)} has {len(classes)} class folders, but {self._spec.name} has "
                f"{self._spec.classes} classes: pass the corrupted copy of the set that the model was trained on, whole"
            )
        listing = list_classes(self._tree, folder, classes)
        return InMemory(read_images(self._tree, listing.names, self._spec.size), listing.labels, self._spec)


def read_array(path: Path) -> Any:
    """Map an array of numbers in a .npy file into memory; DataError where it is anything else."""
    try:
        # reads a header of a few plain values and maps what follows: objects, which would be pickles, are refused
        return np.lib.format.open_memmap(path, mode="r")
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: unpack the set whole") from None
    except Exception as error:  # a damaged header can raise nearly anything
        size = path.stat().st_size
        raise DataError(f"{path} ({size:,} bytes) is no whole array of numbers ({error}): fetch it again") from None
