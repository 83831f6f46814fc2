"""What a data set is: its facts, and its two splits, in memory or on disk."""

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from .archive import Tree
from .decode import open_image

if TYPE_CHECKING:
    from PIL.Image import Image

_PIXELS_FROM = 64  # samples whose pixels a fingerprint covers


@dataclass(frozen=True)
class DataSpec:
    """Facts of a data set that models and loaders need.

    size: side of the images in training. mean, std: per channel, for pixels in [0, 1]. padding: zeros around an image
    before a random crop of its own size. flip: whether a mirrored image still shows its class. crop_scale: shares of
    an image's area between which random crops are drawn instead, for sets on disk. resize: length the shorter side is
    brought to in evaluation, before the centre of `size` is cut out; None leaves the images as they are. jitter: by how
    much brightness, contrast and saturation are scaled up or down at most in training. lighting: how far colours are
    shifted along the principal directions of those of photographs, as a share of how far these spread.
    """

    name: str
    classes: int
    size: int
    channels: int = 3
    mean: tuple[float, ...] = (0.5, 0.5, 0.5)
    std: tuple[float, ...] = (0.5, 0.5, 0.5)
    padding: int = 0
    flip: bool = True
    crop_scale: tuple[float, float] | None = None
    resize: int | None = None
    jitter: float = 0.0
    lighting: float = 0.0

    def __post_init__(self):
        if self.classes < 2:
            raise ValueError(f"{self.name} has classes={self.classes}: a classifier needs at least 2")
        if len(self.mean) != self.channels or len(self.std) != self.channels:
            raise ValueError(f"mean {self.mean} and std {self.std}: pass one for each of {self.channels} channels")
        if self.resize is not None and self.resize < self.size:
            raise ValueError(f"resize={self.resize} is less than the size={self.size} cut out of it: pass no less")
        if not (0 <= self.jitter <= 1 and self.lighting >= 0):
            raise ValueError(f"jitter={self.jitter!r}, lighting={self.lighting!r}: pass 0 to 1, and 0 or more")
        if self.recolours and self.channels != 3:
            raise ValueError(f"jitter and lighting are for images of 3 channels: pass 0 for {self.channels}")

    @property
    def recolours(self) -> bool:
        """Whether training changes colours."""
        return self.jitter > 0 or self.lighting > 0


@dataclass(frozen=True, eq=False)
class InMemory:
    """A split in the CPU's memory: images (N,C,H,W) uint8, labels (N) int64, object masks (N,H,W) bool or None."""

    images: Tensor
    labels: Tensor
    spec: DataSpec
    masks: Tensor | None = None

    def __post_init__(self):
        if self.images.dtype != torch.uint8 or self.images.dim() != 4:
            raise ValueError(f"images are {self.images.dtype} {tuple(self.images.shape)}: pass uint8 (N,C,H,W)")
        _check_labels(self.labels, len(self.images), self.spec)

    def __len__(self) -> int:
        return len(self.labels)

    def at(self, rows: Tensor) -> "InMemory":
        """Keep the samples with these numbers, which rise."""
        if len(rows) == len(self):
            return self
        masks = None if self.masks is None else self.masks[rows]
        return InMemory(self.images[rows], self.labels[rows], self.spec, masks)

    def fingerprint(self) -> str:
        """Hash the shape, every label and the pixels of a fixed few samples."""
        return _digest(self.labels, [repr(tuple(self.images.shape)).encode(), _bytes(self.images[_few(len(self))])])


@dataclass(frozen=True, eq=False)
class OnDisk:
    """A split whose images are read when needed: the image of sample i is the file names[i] of the tree."""

    tree: Tree
    names: tuple[str, ...]
    labels: Tensor
    spec: DataSpec

    def __post_init__(self):
        _check_labels(self.labels, len(self.names), self.spec)

    def __len__(self) -> int:
        return len(self.names)

    def picture(self, sample: int) -> "Image":
        """Read one image as it is in its file, in RGB."""
        name = self.names[sample]
        return open_image(self.tree.read(name), self.tree.describe(name))

    def fingerprint(self) -> str:
        """Hash every name, every label and the files of a fixed few samples."""
        files = [self.tree.read(self.names[sample]) for sample in _few(len(self)).tolist()]
        return _digest(self.labels, ["\n".join(self.names).encode(errors="surrogateescape"), *files])


Split = InMemory | OnDisk


@dataclass(frozen=True, eq=False)
class DataSet:
    """A training and a test split, and the names of the classes in the order of the labels."""

    train: Split
    test: Split
    class_names: tuple[str, ...]

    def __post_init__(self):
        if len(self.class_names) != self.spec.classes:
            raise ValueError(f"{len(self.class_names)} class names for {self.spec.classes} classes: pass one for each")

    @property
    def spec(self) -> DataSpec:
        """The facts of the set."""
        return self.train.spec

    def fingerprint(self) -> str:
        """Hash both splits and the class names: equal for equal data, on any machine."""
        parts = [self.train.fingerprint(), self.test.fingerprint(), *self.class_names]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]


def _check_labels(labels: Tensor, images: int, spec: DataSpec) -> None:
    if labels.dtype != torch.int64 or labels.shape != (images,):
        raise ValueError(f"labels are {labels.dtype} {tuple(labels.shape)} for {images} images: pass int64 ({images},)")
    if not images:
        raise ValueError(f"{spec.name} has a split without images: a split needs at least one")
    low, high = int(labels.min()), int(labels.max())
    if low < 0 or high >= spec.classes:
        raise ValueError(f"labels run from {low} to {high} for {spec.classes} classes: number classes from 0")


def _few(samples: int) -> Tensor:
    """Evenly spaced sample numbers."""
    return torch.arange(_PIXELS_FROM) * samples // _PIXELS_FROM


def _bytes(tensor: Tensor) -> bytes:
    return np.ascontiguousarray(tensor.numpy()).tobytes()


def _digest(labels: Tensor, parts: list[bytes]) -> str:
    digest = hashlib.sha256(_bytes(labels))
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.hexdigest()
