"""Corruptions that spread pixels. Images are float32 (B,C,H,W) in [0, 1].

Shape suffixes: B batch, C channels, H height, W width, N pixels.
"""

import functools

import numpy as np
import torch
from torch import Tensor

from ..dice import Dice
from .operators import along, bell, blurred, convolved, folded, kernel_matrix, picked, rounded, truncated, zoom_matrix


def gaussian_blur(images: Tensor, sigma: float, dice: Dice) -> Tensor:
    """Blur evenly."""
    return blurred(images, sigma)


def defocus_blur(images: Tensor, level: tuple[float, float], dice: Dice) -> Tensor:
    """Spread every pixel over a disc; the level is its radius and the sigma that smooths its rim."""
    return convolved(images, disc(*level), "mirror")


@functools.lru_cache
def disc(radius: float, sigma: float) -> np.ndarray:
    """Weigh the pixels of a disc, its rim smoothed within the array it was published in; without the empty margin."""
    reach, smoothing = (8, 1) if radius <= 8 else (int(radius), 2)
    places = np.arange(-reach, reach + 1)
    weights = (places**2 + places[:, None] ** 2 <= radius**2).astype(float)
    smooth = kernel_matrix(len(places), bell(smoothing, sigma), "mirror")
    weights = smooth @ (weights / weights.sum()) @ smooth.T
    margin = int(np.flatnonzero(weights.max(0) > 1e-9)[0])
    return weights[margin : len(weights) - margin, margin : len(weights) - margin]


def glass_blur(images: Tensor, level: tuple[float, int, int], dice: Dice) -> Tensor:
    """Blur, let pixels take the place of near ones, blur; the level is sigma, the reach of a pixel and the rounds."""
    sigma, reach, rounds = level
    images = truncated(blurred(images, sigma))
    for _ in range(rounds):
        images = shuffled(images, reach, dice)
    return blurred(images, sigma)


def shuffled(images: Tensor, reach: int, dice: Dice) -> Tensor:
    """Replace every pixel, from the last to the first, by one that is up to `reach` away.

    The published code means to swap the two, but on arrays of colours its swap only copies, and so were the official
    images made. A pixel that takes from a later one finds there what that one has taken before: that chain is followed
    by doubling its links, which gives the result of the pass from pixel to pixel for all of them at once.
    """
    height, width = images.shape[2:]
    here_N = torch.arange(height * width, device=images.device)
    row_N, column_N = here_N // width, here_N % width
    right_BN, down_BN = (dice.integers(height * width, low=-reach, high=reach) for _ in range(2))
    inside_N = (row_N > reach) & (row_N <= height - reach) & (column_N > reach) & (column_N <= width - reach)
    source_BN = here_N + inside_N * (down_BN * width + right_BN)
    last_BN = torch.maximum(source_BN, here_N)  # the next link; a pixel that takes from an earlier one ends the chain
    while not torch.equal(further_BN := last_BN.gather(1, last_BN), last_BN):
        last_BN = further_BN
    place_B1N = source_BN.gather(1, last_BN)[:, None]
    return images.flatten(2).gather(2, place_B1N.expand(-1, images.shape[1], -1)).view_as(images)


def motion_blur(images: Tensor, level: tuple[int, float], dice: Dice) -> Tensor:
    """Smear every image in one direction within 45 degrees of the horizontal; the level is radius and sigma."""
    degrees_B = dice.uniform(low=-45, high=45)
    return rounded(smeared(images, *level, degrees_B))


def smeared(images: Tensor, radius: int, sigma: float, degrees_B: Tensor) -> Tensor:
    """ImageMagick's motion blur: one half of a Gaussian along a direction, in steps of whole pixels."""
    taps = np.exp(-0.5 * (np.arange(2 * radius + 1) / sigma) ** 2)
    turn_B11 = degrees_B.deg2rad()[:, None, None]
    row_H1 = torch.arange(images.shape[2], device=images.device)[:, None]
    column_W = torch.arange(images.shape[3], device=images.device)
    result = torch.zeros_like(images)
    for step, weight in enumerate(taps / taps.sum()):
        down_B11, right_B11 = ((step * part - 0.5).ceil().long() for part in (turn_B11.sin(), turn_B11.cos()))
        rows = folded(row_H1 + down_B11, images.shape[2], "nearest").expand(-1, -1, images.shape[3])
        columns = folded(column_W + right_B11, images.shape[3], "nearest").expand(-1, images.shape[2], -1)
        result += float(weight) * picked(images, rows, columns)
    return result


def zoom_blur(images: Tensor, level: tuple[float, float], dice: Dice) -> Tensor:
    """Average the image with enlargements of its middle; the level is where they end and the step between them."""
    end, step = level
    factors = np.arange(1, end, step)
    result = images.clone()
    for factor in factors.tolist():
        result += along(images, *(zoom_matrix(size, factor) for size in images.shape[2:]))
    return result / (len(factors) + 1)
