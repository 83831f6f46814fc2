"""What corruptions are made of: borders, blurs, resizing, sampling and eight-bit pixels.

Blurs and resizings treat rows and columns apart, so each is a matrix on either side of the image, borders included:
any sigma and any border costs two products. Matrices are made in float64 by NumPy, once.

Shape suffixes: B batch, C channels, H height, W width, N pixels.
"""

import functools
import math
from typing import overload

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

_LUMINANCE = (0.299, 0.587, 0.114)


@overload
def folded(index: Tensor, size: int, border: str) -> Tensor: ...
@overload
def folded(index: np.ndarray, size: int, border: str) -> np.ndarray: ...
def folded(index, size, border):
    """Bring indices outside of 0 ... size - 1 back inside.

    border: "nearest" repeats the last pixel, "reflect" mirrors behind it (abc|cba), "mirror" at it (abc|ba).
    """
    if border == "nearest":
        return index.clip(0, size - 1)
    period = 2 * size if border == "reflect" else max(2 * size - 2, 1)
    index = index % period
    last = period - 1 if border == "reflect" else period
    return index + (index >= size) * (last - 2 * index)


def bordered(images: Tensor, reach: int, border: str) -> Tensor:
    """Widen images by `reach` pixels on every side."""
    for dim in (-2, -1):
        size = images.shape[dim]
        index = folded(torch.arange(-reach, size + reach, device=images.device), size, border)
        images = images.index_select(dim, index)
    return images


def convolved(images: Tensor, kernel: np.ndarray, border: str) -> Tensor:
    """Correlate every channel with a small square kernel."""
    weight = torch.as_tensor(kernel, dtype=images.dtype, device=images.device)[None, None]
    wide = bordered(images, len(kernel) // 2, border)
    return F.conv2d(wide.flatten(0, 1)[:, None], weight).view_as(images)


# ---- matrices ----------------------------------------------------------------------------------------------------


def along(images: Tensor, rows: np.ndarray, columns: np.ndarray) -> Tensor:
    """Apply one matrix to the rows and another to the columns."""
    left, right = (torch.as_tensor(matrix, dtype=images.dtype, device=images.device) for matrix in (rows, columns))
    return left @ images @ right.T


@functools.lru_cache(256)
def blur_matrix(size: int, sigma: float, truncate: float, border: str) -> np.ndarray:
    """A Gaussian that is cut off at `truncate` times sigma."""
    reach = int(truncate * sigma + 0.5)
    if reach == 0:
        return np.eye(size)
    return kernel_matrix(size, bell(reach, sigma), border)


def bell(reach: int, sigma: float) -> np.ndarray:
    """A Gaussian's values at -reach ... reach, summing to 1."""
    values = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    return values / values.sum()


def kernel_matrix(size: int, kernel: np.ndarray, border: str) -> np.ndarray:
    """Correlate a line with a kernel of odd length."""
    reach, places = len(kernel) // 2, np.arange(size)
    matrix = np.zeros((size, size))
    for offset, weight in zip(range(-reach, reach + 1), kernel, strict=True):
        np.add.at(matrix, (places, folded(places + offset, size, border)), weight)
    return matrix


@functools.lru_cache(256)
def zoom_matrix(size: int, factor: float) -> np.ndarray:
    """Enlarge the middle of a line linearly, end to end, and cut it to its old length."""
    kept = math.ceil(size / factor)
    start, length = (size - kept) // 2, round(kept * factor)
    trim = (length - size) // 2
    places = (np.arange(size) + trim) * ((kept - 1) / max(length - 1, 1))
    left = np.minimum(places.astype(int), kept - 1)
    right, share = np.minimum(left + 1, kept - 1), places - left
    matrix = np.zeros((size, size))
    np.add.at(matrix, (np.arange(size), start + left), 1 - share)
    np.add.at(matrix, (np.arange(size), start + right), share)
    return matrix


@functools.lru_cache(256)
def box_matrix(size: int, length: int) -> np.ndarray:
    """Resize a line to `length` by averaging whole pixels, by Pillow's rule of which belong to a new one."""
    scale = size / length
    reach = 0.5 * max(scale, 1.0)
    matrix = np.zeros((length, size))
    for place in range(length):
        centre = (place + 0.5) * scale
        pixels = np.arange(max(int(centre - reach + 0.5), 0), min(int(centre + reach + 0.5), size))
        offset = (pixels - centre + 0.5) / max(scale, 1.0)
        matrix[place, pixels] = (offset > -0.5) & (offset <= 0.5)
    return matrix / matrix.sum(1, keepdims=True)


def blurred(images: Tensor, sigma: float, truncate: float = 4.0, border: str = "nearest") -> Tensor:
    """Blur by a Gaussian."""
    return along(images, *(blur_matrix(size, sigma, truncate, border) for size in images.shape[-2:]))


def zoomed(images: Tensor, factor: float) -> Tensor:
    """Enlarge the middle."""
    return along(images, *(zoom_matrix(size, factor) for size in images.shape[-2:]))


# ---- pixels ------------------------------------------------------------------------------------------------------


def sampled(images: Tensor, y_BHW: Tensor, x_BHW: Tensor, border: str) -> Tensor:
    """Read images (B,C,H,W) at any coordinates in pixels, linearly between pixels."""
    top, left = y_BHW.floor(), x_BHW.floor()
    down, right = (y_BHW - top)[:, None], (x_BHW - left)[:, None]
    rows = [folded(top.long() + step, images.shape[2], border) for step in (0, 1)]
    columns = [folded(left.long() + step, images.shape[3], border) for step in (0, 1)]
    upper, lower = (
        picked(images, row, columns[0]) * (1 - right) + picked(images, row, columns[1]) * right for row in rows
    )
    return upper * (1 - down) + lower * down


def picked(images: Tensor, row_BHW: Tensor, column_BHW: Tensor) -> Tensor:
    """Read the pixels at whole coordinates: (B,C,H,W)."""
    place_B1N = (row_BHW * images.shape[3] + column_BHW).flatten(1)[:, None]
    pixels_BCN = images.flatten(2).gather(2, place_B1N.expand(-1, images.shape[1], -1))
    return pixels_BCN.view(*images.shape[:2], *row_BHW.shape[1:])


def luminance(images: Tensor) -> Tensor:
    """The grey (B,1,H,W) of colour images; of others, the mean of the channels."""
    if images.shape[1] != 3:
        return images.mean(1, keepdim=True)
    return (images * images.new_tensor(_LUMINANCE)[:, None, None]).sum(1, keepdim=True)


def paint(red: float, green: float, blue: float, images: Tensor) -> Tensor:
    """A colour as (C,1,1); its grey where the images have no colours."""
    channels = (red, green, blue)
    if images.shape[1] != 3:
        channels = (float(np.dot(channels, _LUMINANCE)),) * images.shape[1]
    return images.new_tensor(channels)[:, None, None]


def truncated(images: Tensor) -> Tensor:
    """Cut to [0, 1] and down to a whole 1/255, as NumPy turns floats into bytes."""
    # a little more than the rounding error by which float32 could miss a whole number
    return (images.clamp(0, 1) * 255 + 1e-3).floor() / 255


def rounded(images: Tensor) -> Tensor:
    """Cut to [0, 1] and to the nearest whole 1/255."""
    return (images.clamp(0, 1) * 255 + 0.5).floor() / 255
