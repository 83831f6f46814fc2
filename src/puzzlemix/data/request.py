"""What is asked of a data set."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from .errors import DataError


@dataclass(frozen=True)
class Request:
    """The arguments of `load_data`, where they are explained."""

    root: Path = Path("data")
    download: bool = False
    size: int | None = None
    train_images: int | None = None
    test_images: int | None = None
    seed: int = 0

    def __post_init__(self):
        for name in ("size", "train_images", "test_images"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name}={value!r}: pass a whole number of at least 1")

    def train_rows(self, labels_N: Tensor, name: str) -> Tensor:
        """Which of the training samples with these labels are wanted, ascending."""
        return _chosen(labels_N, self.train_images, f"train_images={self.train_images}", name)

    def test_rows(self, labels_N: Tensor, name: str) -> Tensor:
        """Which of the test samples with these labels are wanted, ascending."""
        return _chosen(labels_N, self.test_images, f"test_images={self.test_images}", name)


def balanced(labels_N: Tensor, count: int) -> Tensor:
    """Which samples to take, ascending: the first of every class, then the second of every class, and so on.

    So the classes are as even as can be, and a smaller choice lies within every larger one.
    """
    order = labels_N.argsort(stable=True)
    sizes = labels_N.bincount()
    starts = sizes.cumsum(0) - sizes
    turn_N = torch.empty_like(labels_N)
    turn_N[order] = torch.arange(len(labels_N)) - starts[labels_N[order]]
    return (turn_N * len(sizes) + labels_N).argsort()[:count].sort().values


def _chosen(labels_N: Tensor, count: int | None, asked: str, name: str) -> Tensor:
    if count is None:
        return torch.arange(len(labels_N))
    if count > len(labels_N):
        raise DataError(f"{asked}, but {name} has {len(labels_N):,}: ask for at most that many, or leave it out")
    return balanced(labels_N, count)
