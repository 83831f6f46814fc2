"""What is left of an image after JPEG compression, in batches on any device.

The steps are libjpeg's with its defaults: colour difference at half the resolution, exact cosine transform, smooth
upsampling. Only the lossless part, how the numbers are stored, is left out. Results differ from libjpeg's integers by
a level or two here and there. Images are float32 (B,C,H,W) in [0, 1]; inside they run from 0 to 255.

Shape suffixes: B batch, C channels, H height, W width, D blocks downwards, A blocks across.
"""

import functools

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..dice import Dice

# Annex K of the JPEG standard, at quality 50
_BRIGHTNESS = (
    (16, 11, 10, 16, 24, 40, 51, 61),
    (12, 12, 14, 19, 26, 58, 60, 55),
    (14, 13, 16, 24, 40, 57, 69, 56),
    (14, 17, 22, 29, 51, 87, 80, 62),
    (18, 22, 37, 56, 68, 109, 103, 77),
    (24, 35, 55, 64, 81, 104, 113, 92),
    (49, 64, 78, 87, 103, 121, 120, 101),
    (72, 92, 95, 98, 112, 100, 103, 99),
)
_COLOUR = (
    (17, 18, 24, 47, 99, 99, 99, 99),
    (18, 21, 26, 66, 99, 99, 99, 99),
    (24, 26, 56, 99, 99, 99, 99, 99),
    (47, 66, 99, 99, 99, 99, 99, 99),
    *((99,) * 8,) * 4,
)
_TO_YCC = ((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))
_TO_RGB = ((1.0, 0.0, 1.402), (1.0, -0.344136, -0.714136), (1.0, 1.772, 0.0))


def jpeg_compression(images: Tensor, quality: int, dice: Dice) -> Tensor:
    """Compress at a quality from 1 to 100; channels that are no colours are compressed one by one."""
    height, width = images.shape[2:]
    padded = F.pad(images * 255, (0, -width % 16, 0, -height % 16), mode="replicate")
    if images.shape[1] != 3:
        return _lossy(padded, _BRIGHTNESS, quality)[..., :height, :width] / 255
    bright, colour = _matrix(padded, _TO_YCC).split([1, 2], dim=1)
    bright = _lossy(_eight_bit(bright), _BRIGHTNESS, quality)
    colour = _lossy(_halved(_eight_bit(colour + 128)), _COLOUR, quality)
    ycc = torch.cat([bright, _doubled(colour) - 128], dim=1)
    return _eight_bit(_matrix(ycc, _TO_RGB))[..., :height, :width] / 255


def _lossy(planes_BCHW: Tensor, table: tuple[tuple[int, ...], ...], quality: int) -> Tensor:
    """Take cosine transforms of blocks of 8 x 8, keep multiples of the table's numbers, and transform back."""
    steps = torch.as_tensor(_scaled(table, quality), dtype=planes_BCHW.dtype, device=planes_BCHW.device)
    cosines = torch.as_tensor(_cosines(), dtype=planes_BCHW.dtype, device=planes_BCHW.device)
    down, across = (side // 8 for side in planes_BCHW.shape[2:])
    blocks_BCDA88 = (planes_BCHW - 128).unflatten(3, (across, 8)).unflatten(2, (down, 8)).transpose(3, 4)
    parts = (cosines @ blocks_BCDA88 @ cosines.T) / steps
    # a half, which flat blocks are full of, is rounded away from zero, and may come out a little less in float32
    kept = parts.sign() * (parts.abs() + 0.5 + 1e-4).floor() * steps
    return _eight_bit((cosines.T @ kept @ cosines).transpose(3, 4).reshape(planes_BCHW.shape) + 128)


def _scaled(table: tuple[tuple[int, ...], ...], quality: int) -> np.ndarray:
    """The numbers of a table at another quality."""
    percent = 5000 // quality if quality < 50 else 200 - 2 * quality
    return np.clip((np.array(table) * percent + 50) // 100, 1, 255)


@functools.lru_cache
def _cosines() -> np.ndarray:
    """The cosine transform of 8 numbers as an orthonormal matrix."""
    wave, place = np.arange(8)[:, None], np.arange(8)
    matrix = np.cos((2 * place + 1) * wave * (np.pi / 16)) / 2
    matrix[0] /= np.sqrt(2)
    return matrix


def _halved(planes: Tensor) -> Tensor:
    """Average squares of four pixels; halves are rounded down and up in turn."""
    quarters = F.avg_pool2d(planes, 2) * 4
    bias = 1 + torch.arange(quarters.shape[3], device=planes.device) % 2
    return ((quarters + bias) / 4).floor()


def _doubled(planes: Tensor) -> Tensor:
    """Put two pixels for each, three quarters of it and one of its neighbour, first downwards and then across."""
    rows = torch.stack([3 * planes + _moved(planes, 2, -1), 3 * planes + _moved(planes, 2, 1)], dim=3).flatten(2, 3)
    left, right = 3 * rows + _moved(rows, 3, -1) + 8, 3 * rows + _moved(rows, 3, 1) + 7
    return (torch.stack([left, right], dim=4).flatten(3, 4) / 16).floor()


def _moved(planes: Tensor, dim: int, step: int) -> Tensor:
    """Every pixel's neighbour, or itself at the border."""
    index = (torch.arange(planes.shape[dim], device=planes.device) + step).clamp(0, planes.shape[dim] - 1)
    return planes.index_select(dim, index)


def _matrix(images_BCHW: Tensor, rows: tuple[tuple[float, ...], ...]) -> Tensor:
    """Multiply the channels by a matrix."""
    red, green, blue = images_BCHW.unbind(1)
    return torch.stack([red * row[0] + green * row[1] + blue * row[2] for row in rows], dim=1)


def _eight_bit(planes: Tensor) -> Tensor:
    return (planes + 0.5).floor().clamp(0, 255)
