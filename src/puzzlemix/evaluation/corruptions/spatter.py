"""Drops of water or mud. Images are float32 (B,C,H,W) in [0, 1]; results may leave it.

Water is drawn by a chain of OpenCV's functions; each is here for batches, with its rounding. Inside, eight-bit maps are
floats (B,1,H,W) that run from 0 to 255.

Shape suffixes: B batch, C channels, H height, W width, V values.
"""

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..dice import Dice
from .operators import blurred, convolved, paint

_WATER, _MUD = (175 / 255, 238 / 255, 238 / 255), (63 / 255, 42 / 255, 20 / 255)
_ACROSS = np.array([[-1, 0, 1], [-2, 0, 2], [-1, 0, 1]])
_LIGHT = np.array([[-2, -1, 0], [-1, 1, 1], [0, 1, 2]])
_MEAN = np.ones((3, 3))
_WEAK, _STRONG = 50, 150
_FARTHEST = 20
_TANGENT = 13573  # of 22.5 degrees, times 2^15

_STEPS = [(down, right) for down in range(-2, 3) for right in range(-2, 3)]
# the lengths of steps to the eight neighbours and of a chess knight's steps; others are made of these
_LENGTHS = {1: 1.0, 2: 1.4, 5: 2.1969}


def spatter(images: Tensor, level: tuple[float, float, float, float, float, str], dice: Dice) -> Tensor:
    """Splash; the level is mean, sigma and blur of the liquid, its least height, the drops' strength, and what it is.

    An image on which no drop falls stays as it is. (The published code divides by zero there.)
    """
    mean, sigma, blur, least, strength, kind = level
    liquid = blurred(mean + sigma * dice.normal(1, *images.shape[2:]), blur)
    if kind == "mud":
        drops = blurred((liquid > least).to(images.dtype), strength)
        drops = torch.where(drops < 0.8, 0, drops)
        return images * (1 - drops) + paint(*_MUD, images) * drops
    height = torch.where(liquid < least, 0, (liquid * 255).floor().clamp(0, 255))
    drops = height * glints(height)
    peak = drops.amax((2, 3), keepdim=True)
    return images + paint(*_WATER, images) * (strength * drops / torch.where(peak > 0, peak, 1))


def glints(height: Tensor) -> Tensor:
    """How light shines on the rims of drops."""
    far = distance(edges(height))
    far = equalised((convolved(far, _MEAN, "mirror") / 9 + 1e-4).floor())
    lit = convolved(far, _LIGHT, "mirror").clamp(0, 255)
    return (convolved(lit, _MEAN, "mirror") / 9).round()


def edges(maps: Tensor) -> Tensor:
    """Canny's edge detector on eight-bit maps, bool."""
    right, down = (convolved(maps, kernel, "nearest").int() for kernel in (_ACROSS, _ACROSS.T))
    slope = right.abs() + down.abs()
    peaks = _peaks(slope, right, down) & (slope > _WEAK)
    found = peaks & (slope > _STRONG)
    while not torch.equal(grown := peaks & (F.max_pool2d(found.float(), 3, 1, 1) > 0), found):
        found = grown
    return found


def _peaks(slope: Tensor, right: Tensor, down: Tensor) -> Tensor:
    """Where the slope is steeper than before and behind, along the nearest of four directions."""
    near = {step: _neighbour(slope, *step, 0) for step in _STEPS if max(map(abs, step)) == 1}
    flat, steep = _TANGENT * right.abs(), _TANGENT * right.abs() + (right.abs() << 16)
    rise = down.abs() << 15
    level = (slope > near[0, -1]) & (slope >= near[0, 1])
    upright = (slope > near[-1, 0]) & (slope >= near[1, 0])
    falling = (slope > near[-1, -1]) & (slope > near[1, 1])
    rising = (slope > near[-1, 1]) & (slope > near[1, -1])
    slanted = torch.where((right ^ down) < 0, rising, falling)
    return torch.where(rise < flat, level, torch.where(rise > steep, upright, slanted))


def distance(found: Tensor) -> Tensor:
    """How far every pixel is from the nearest that was found, in steps of a chess king and knight, at most 20."""
    far = torch.where(found, 0.0, float(_FARTHEST))
    steps = [(step, _LENGTHS[square]) for step in _STEPS if (square := step[0] ** 2 + step[1] ** 2) in _LENGTHS]
    while True:
        nearer = far
        for step, length in steps:
            nearer = torch.minimum(nearer, _neighbour(far, *step, _FARTHEST) + length)
        if torch.equal(nearer, far):
            return far
        far = nearer


def _neighbour(maps: Tensor, down: int, right: int, beyond: float) -> Tensor:
    """What is so many pixels down and right of every pixel; `beyond` outside of the map."""
    height, width = maps.shape[2:]
    wide = F.pad(maps, (2, 2, 2, 2), value=beyond)
    return wide[:, :, 2 + down : 2 + down + height, 2 + right : 2 + right + width]


def equalised(maps: Tensor) -> Tensor:
    """Spread whole numbers up to 20 over 0 ... 255 evenly by how often they are there; a flat map stays as it is."""
    values_V = torch.arange(_FARTHEST + 1, device=maps.device, dtype=maps.dtype)
    counts_BV = (maps.flatten(1)[..., None] == values_V).sum(1)
    reached_BV = counts_BV.cumsum(1)
    least_B1 = counts_BV.gather(1, (reached_BV > 0).int().argmax(1, keepdim=True))
    rest_B1 = reached_BV[:, -1:] - least_B1
    spread_BV = ((reached_BV - least_B1).clamp(min=0) * (255 / rest_B1.clamp(min=1))).round()
    table_BV = torch.where(rest_B1 > 0, spread_BV, values_V)
    return table_BV.gather(1, maps.flatten(1).long()).view_as(maps)
