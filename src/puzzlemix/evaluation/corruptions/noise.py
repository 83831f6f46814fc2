"""Corruptions of every pixel by itself. Images are float32 (B,C,H,W) in [0, 1]; results may leave it.

Shape suffixes: B batch, C channels, H height, W width.
"""

import functools

import numpy as np
import torch
from torch import Tensor

from ..dice import Dice


def gaussian_noise(images: Tensor, sigma: float, dice: Dice) -> Tensor:
    """Add normal noise."""
    return images + sigma * dice.normal(*images.shape[1:])


def shot_noise(images: Tensor, photons: int, dice: Dice) -> Tensor:
    """Count photons of which a white pixel receives so many on average.

    An eight-bit image knows 256 different means, so the count is looked up: the first at which the mean's cumulative
    probability reaches an even draw.
    """
    table = torch.from_numpy(_cumulative(photons)).to(images.device)
    row_BCHW = (images * 255).round().long() * table.shape[1]
    draw_BCHW = dice.uniform(*images.shape[1:])
    low_BCHW, step = torch.zeros_like(row_BCHW), table.shape[1]
    while step := step // 2:
        next_BCHW = low_BCHW + step
        low_BCHW = torch.where(table.flatten()[row_BCHW + next_BCHW - 1] < draw_BCHW, next_BCHW, low_BCHW)
    return low_BCHW / photons


@functools.lru_cache
def _cumulative(photons: int) -> np.ndarray:
    """Chances (256, a power of 2) of at most 0, 1, ... photons at each brightness."""
    from scipy.stats import poisson  # takes a while to be imported

    most = int(poisson.isf(1e-9, photons)) + 1
    counts = np.arange(1 << most.bit_length())
    return poisson.cdf(counts, np.arange(256)[:, None] * (photons / 255)).astype(np.float32)


def impulse_noise(images: Tensor, share: float, dice: Dice) -> Tensor:
    """Set this share of all values, channel by channel, to black or white."""
    hit, white = dice.uniform(*images.shape[1:]) <= share, dice.uniform(*images.shape[1:]) <= 0.5
    return torch.where(hit, white.to(images.dtype), images)


def speckle_noise(images: Tensor, sigma: float, dice: Dice) -> Tensor:
    """Add normal noise that is stronger where it is bright."""
    return images + images * (sigma * dice.normal(*images.shape[1:]))
