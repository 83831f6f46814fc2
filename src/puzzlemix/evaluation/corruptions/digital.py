"""Contrast, saturation, coarse pixels and bent images. Images are float32 (B,C,H,W) in [0, 1]; results may leave it.

Shape suffixes: B batch, C channels, H height, W width.
"""

import torch
from torch import Tensor

from ..dice import Dice
from .operators import along, blurred, box_matrix, rounded, sampled


def contrast(images: Tensor, share: float, dice: Dice) -> Tensor:
    """Bring every channel this near to its mean."""
    mean = images.mean((2, 3), keepdim=True)
    return (images - mean) * share + mean


def saturate(images: Tensor, level: tuple[float, float], dice: Dice) -> Tensor:
    """Scale and shift the saturation of hue, saturation and value; grey, whose hue counts as red, may turn red.

    Images without colours stay as they are.
    """
    if images.shape[1] != 3:
        return images
    factor, shift = level
    value, least = images.amax(1, keepdim=True), images.amin(1, keepdim=True)
    spread = value - least
    saturation = spread / value.clamp(min=1e-6)
    wanted = (saturation * factor + shift).clamp(0, 1)
    red = images.new_tensor((0.0, 1.0, 1.0))[:, None, None]
    below = torch.where(spread > 0, (value - images) / spread.clamp(min=1e-6), red)
    return value * (1 - wanted * below)


def pixelate(images: Tensor, share: float, dice: Dice) -> Tensor:
    """Scale to this share of the sides, and back; eight-bit pixels after every pass, as in Pillow."""
    height, width = images.shape[2:]
    small = _scaled(images, max(int(height * share), 1), max(int(width * share), 1))
    return _scaled(small, height, width)


def _scaled(images: Tensor, height: int, width: int) -> Tensor:
    same_rows, columns = torch.eye(images.shape[2]).numpy(), box_matrix(images.shape[3], width)
    narrowed = rounded(along(images, same_rows, columns))
    return rounded(along(narrowed, box_matrix(images.shape[2], height), torch.eye(width).numpy()))


def elastic_transform(images: Tensor, level: tuple[float, float, float], dice: Dice) -> Tensor:
    """Distort the whole image, then each neighbourhood.

    The level is how far neighbourhoods move and how large they are, and how far three corners of a square in the
    middle move: as shares of the shorter side.
    """
    alpha, sigma, reach = (share * min(images.shape[2:]) for share in level)
    images = _affine(images, reach, dice)
    right_BHW, down_BHW = (
        alpha * blurred(dice.uniform(1, *images.shape[2:], low=-1, high=1), sigma, truncate=3, border="reflect")[:, 0]
        for _ in range(2)
    )
    y_HW, x_HW = _coordinates(images)
    return sampled(images, y_HW + down_BHW, x_HW + right_BHW, "reflect")


def _affine(images: Tensor, reach: float, dice: Dice) -> Tensor:
    """Move three corners of a square by up to `reach` pixels each way, and all else with them."""
    height, width = images.shape[2:]
    half = min(height, width) // 3
    first_B2, second_B2, third_B2 = dice.uniform(3, 2, low=-reach, high=reach).unbind(1)
    # The corners are (1, 1), (1, -1) and (-1, -1) around the middle, in units of half the side: so the place
    # (u, v) moves by shift + u along + v across, where that is first, second and third there.
    shift_B2, along_B2, across_B2 = (first_B2 + third_B2) / 2, (second_B2 - third_B2) / 2, (first_B2 - second_B2) / 2
    (a, c), (b, d) = ((move / half).T[..., None, None].unbind() for move in (along_B2, across_B2))
    a, d = 1 + a, 1 + d
    y_HW, x_HW = _coordinates(images)
    x_BHW = x_HW - width // 2 - shift_B2[:, 0, None, None]
    y_BHW = y_HW - height // 2 - shift_B2[:, 1, None, None]
    area = a * d - b * c
    source_x, source_y = (d * x_BHW - b * y_BHW) / area, (a * y_BHW - c * x_BHW) / area
    return sampled(images, source_y + height // 2, source_x + width // 2, "mirror")


def _coordinates(images: Tensor) -> tuple[Tensor, Tensor]:
    """Row and column of every pixel: (H,W) each."""
    sides = (torch.arange(side, dtype=images.dtype, device=images.device) for side in images.shape[2:])
    row_HW, column_HW = torch.meshgrid(*sides, indexing="ij")
    return row_HW, column_HW
