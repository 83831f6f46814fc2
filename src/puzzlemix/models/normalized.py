"""Normalisation as a model's first layer, so that everything outside sees images in [0, 1]."""

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn


class Normalized(nn.Module):
    """A model that takes images in [0, 1] and normalises them itself: `model((images - mean) / std)`.

    Attacks, saliency and mixing then work on plain images. `mean` and `std` are one number, or one per
    channel; as buffers they have the shape (C,1,1) or (1,1,1), and an input gradient times `std` is the gradient at the
    normalised images.

    The buffers are non-persistent: they follow the model between devices and types, but stay out of its state dict.
    They are a fact of the data set, kept with the run's settings, and a weights file without them holds the network's
    own names and nothing else, so that it loads here and elsewhere. `save_weights` leaves out the prefix `model.` too.
    """

    mean: Tensor
    std: Tensor

    def __init__(self, model: nn.Module, mean: float | Sequence[float], std: float | Sequence[float]):
        super().__init__()
        means, stds = _numbers(mean), _numbers(std)
        _check(means, stds)
        self.model = model
        self.register_buffer("mean", _per_channel(means), persistent=False)
        self.register_buffer("std", _per_channel(stds), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        """(B,C,H,W), or signals (B,C,T), in [0, 1] -> what the model makes of them normalised."""
        self._check_images(images)
        shape = (-1,) + (1,) * (images.dim() - 2)
        return self.model((images - self.mean.reshape(shape)) / self.std.reshape(shape))

    def _check_images(self, images: Tensor) -> None:
        if not images.is_floating_point():
            raise TypeError(f"images are {images.dtype}: pass floats in [0, 1], for example images.float() / 255")
        expected = max(len(self.mean), len(self.std))
        # Left to broadcasting, grey images would quietly turn into three channels.
        if expected > 1 and images.shape[1] != expected:
            raise ValueError(
                f"images {tuple(images.shape)} have {images.shape[1]} channels, mean and std have {expected}: "
                f"pass batches of {expected} channels, or one mean and std per channel of the images"
            )

    def extra_repr(self) -> str:
        """The numbers, for `print(model)`."""
        return f"mean={self.mean.flatten().tolist()}, std={self.std.flatten().tolist()}"


def _numbers(values: float | Sequence[float]) -> list[float]:
    return torch.as_tensor(values, dtype=torch.float64, device="cpu").flatten().tolist()


def _per_channel(numbers: list[float]) -> Tensor:
    return torch.tensor(numbers, dtype=torch.float32).reshape(-1, 1, 1)


def _check(means: list[float], stds: list[float]) -> None:
    if not means or not stds or len({1, len(means), len(stds)}) > 2:
        raise ValueError(f"mean {means} and std {stds} differ in length: pass one number per channel, or a single one")
    if not all(map(math.isfinite, means)):
        raise ValueError(f"mean {means} is not finite: pass the channel means of images in [0, 1]")
    if not all(0 < std < math.inf for std in stds):
        raise ValueError(f"std {stds} is not positive: pass the channel deviations of images in [0, 1]")
