"""Which part of each image a training batch shows: drawn from (seed, epoch, sample), then cut out.

What an image shows in an epoch depends on nothing else: not on the batch it is in, on the process that cuts it or on
how many there are. Batches are cut in numpy: torch's threads would wait for each other longer than the work takes.

Shape suffixes: B batch, C channels, H height, W width, T tries.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .draws import Streams, hashed

if TYPE_CHECKING:
    from PIL.Image import Image

_TRIES = 10
_NARROWEST, _WIDEST = 3 / 4, 4 / 3


class Cut(NamedTuple):
    """A rectangle of each sample in its pixels, negative where it was padded, and whether it is then mirrored: (B)."""

    top: Tensor
    left: Tensor
    height: Tensor
    width: Tensor
    flip: Tensor


def streams_of(seed: int, epoch: int, samples_B: np.ndarray) -> Streams:
    """The random numbers of these samples in this epoch."""
    return Streams(hashed("cut", seed, epoch, samples_B))


def shifted(streams: Streams, size: tuple[int, int], padding: int, *, flip: bool) -> Cut:
    """Draw rectangles of the images' own size (H,W), each moved by at most `padding` pixels."""
    top_B, left_B = (torch.from_numpy(streams.integers(below=2 * padding + 1)) - padding for _ in range(2))
    height_B, width_B = (torch.full_like(top_B, side) for side in size)
    return Cut(top_B, left_B, height_B, width_B, _flips(streams, flip))


def _flips(streams: Streams, flip: bool) -> Tensor:
    return torch.from_numpy(streams.uniform() < (0.5 if flip else 0.0))


def cut_out(images_BCHW: np.ndarray, cut: Cut, padding: int) -> np.ndarray:
    """Take `shifted` rectangles out of images, black beyond their borders: (B,C,H,W)."""
    padded_BCHW = np.pad(images_BCHW, ((0, 0), (0, 0), (padding, padding), (padding, padding)))
    windows = np.lib.stride_tricks.sliding_window_view(padded_BCHW, images_BCHW.shape[2:], axis=(2, 3))
    rows_B, flip_B = np.arange(len(images_BCHW)), cut.flip.numpy()
    cropped_BCHW = windows[rows_B, :, cut.top.numpy() + padding, cut.left.numpy() + padding]
    cropped_BCHW[flip_B] = cropped_BCHW[flip_B, :, :, ::-1]
    return cropped_BCHW


def rescaled(images_BCHW: Tensor, size: int) -> Tensor:
    """Scale images to size x size, averaging where they shrink; the type stays."""
    if images_BCHW.shape[2:] == (size, size):
        return images_BCHW
    return F.interpolate(images_BCHW, (size, size), mode="bilinear", antialias=True)


def zoomed(streams: Streams, size: tuple[int, int], scale: tuple[float, float], *, flip: bool) -> Cut:
    """Draw for one image of (H,W) a rectangle with a share of its area within `scale` and a side ratio near 1 (B = 1).

    The usual rule: ten tries, then the largest rectangle in the middle whose ratio is allowed.
    """
    share_T, log_T, down_T, right_T = (streams.uniform(_TRIES)[0].astype(np.float64) for _ in range(4))
    area_T = (scale[0] + (scale[1] - scale[0]) * share_T) * size[0] * size[1]
    ratio_T = np.exp(math.log(_NARROWEST) + (math.log(_WIDEST) - math.log(_NARROWEST)) * log_T)
    height_T, width_T = np.rint(np.sqrt(area_T / ratio_T)), np.rint(np.sqrt(area_T * ratio_T))
    fits_T = (height_T > 0) & (height_T <= size[0]) & (width_T > 0) & (width_T <= size[1])
    if fits_T.any():
        first = fits_T.argmax()
        height, width = int(height_T[first]), int(width_T[first])
        top = int(down_T[first] * (size[0] - height + 1))
        left = int(right_T[first] * (size[1] - width + 1))
    else:
        top, left, height, width = _middle(size)
    top_B, left_B, height_B, width_B = (torch.tensor([value]) for value in (top, left, height, width))
    return Cut(top_B, left_B, height_B, width_B, _flips(streams, flip))


def _middle(size: tuple[int, int]) -> tuple[int, int, int, int]:
    """Top, left, height and width of the largest rectangle in the middle with an allowed ratio of its sides."""
    height = min(size[0], round(size[1] / _NARROWEST))
    width = min(size[1], round(size[0] * _WIDEST))
    return (size[0] - height) // 2, (size[1] - width) // 2, height, width


def zoom(image: "Image", cut: Cut, size: int) -> "Image":
    """Take a `zoomed` rectangle out of one image and scale it to size x size."""
    from PIL.Image import Resampling, Transpose

    top, left, height, width, flip = (int(values[0]) for values in cut)
    part = image.crop((left, top, left + width, top + height)).resize((size, size), Resampling.BILINEAR)
    return part.transpose(Transpose.FLIP_LEFT_RIGHT) if flip else part
