"""The images of AugMix (Hendrycks et al., 2020): each is blended with a few chains of simple operations on itself.

The operations are the published ones, without those that resemble a test corruption. They follow their definitions on
8-bit images, but work on whole batches of floats in [0, 1], on the images' own device.

Shape suffixes: B batch, C channels, H height, W width, S chains side by side, D operations one after the other.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from .losses import check_counts, check_positive

_HARDEST = 10  # the severity at which an operation reaches its full range
_NONE = -1


@dataclass(frozen=True)
class Augment:
    """How strongly to augment; the defaults are the published ones for CIFAR (ImageNet: severity 1).

    width: how many chains. depth: each has 1 to this many operations. alpha: the weights of the chains are drawn from
    Dirichlet(alpha, ..), the share of all of them against the image itself from Beta(alpha, alpha). severity: each
    operation's strength is drawn from 0.1 to this, of 10.
    """

    width: int = 3
    depth: int = 3
    alpha: float = 1.0
    severity: float = 3.0

    def __post_init__(self):
        check_counts(width=self.width, depth=self.depth)
        check_positive(alpha=self.alpha)
        if not 0.1 <= self.severity <= _HARDEST:
            raise ValueError(f"severity={self.severity!r}: pass a number from 0.1 to {_HARDEST}")

    def draw(self, generator: torch.Generator, count: int) -> "AugmentDraw":
        """Draw for `count` images, each on its own."""
        shape = (count, self.width, self.depth)
        operations = torch.randint(len(OPERATIONS), shape, generator=generator)
        lengths = torch.randint(1, self.depth + 1, shape[:2], generator=generator)
        strength, side = torch.rand(2, *shape, generator=generator, dtype=torch.float64)
        levels = (0.1 + (self.severity - 0.1) * strength).copysign(side - 0.5).float()
        return AugmentDraw(
            operations.masked_fill(torch.arange(self.depth) >= lengths[..., None], _NONE),
            levels,
            self._dirichlet(generator, count, self.width),
            self._dirichlet(generator, count, 2)[:, 0],
        )

    def _dirichlet(self, generator: torch.Generator, count: int, parts: int) -> Tensor:
        """Random shares (count,parts) that sum to 1."""
        gamma = _gamma_quantile(torch.rand(count, parts, generator=generator, dtype=torch.float64), self.alpha)
        return (gamma / gamma.sum(1, keepdim=True)).float()


class AugmentDraw(NamedTuple):
    """All that is random about a batch, on the CPU.

    operations (B,S,D): numbers in OPERATIONS, -1 for none; levels (B,S,D): their strengths of 10, the sign says in
    which direction; weights (B,S) of the chains; share (B,) of all chains together.
    """

    operations: Tensor
    levels: Tensor
    weights: Tensor
    share: Tensor


def augment(images: Tensor, generator: torch.Generator, settings: Augment | None = None) -> Tensor:
    """Augment images (B,C,H,W) in [0, 1], each in its own way."""
    return apply(images, (settings or Augment()).draw(generator, len(images)))


def apply(images_BCHW: Tensor, drawn: AugmentDraw) -> Tensor:
    """Augment for a given draw: (1 - share) image + share (weighted sum of the chains)."""
    _check_images(images_BCHW)
    pixels = images_BCHW.float()
    weights_BS, share_B = (values.to(pixels.device, non_blocking=True) for values in (drawn.weights, drawn.share))
    mixture = torch.zeros_like(pixels)
    for chain in range(weights_BS.shape[1]):
        augmented = _run_chain(pixels, drawn.operations[:, chain], drawn.levels[:, chain])
        mixture += weights_BS[:, chain, None, None, None] * augmented
    mixed = torch.lerp(pixels, mixture, share_B[:, None, None, None])
    return mixed.clamp_(0, 1).to(images_BCHW.dtype)


def _run_chain(pixels: Tensor, operations_BD: Tensor, levels_BD: Tensor) -> Tensor:
    for operations, levels in zip(operations_BD.T, levels_BD.T, strict=True):
        pixels = operate(pixels, operations, levels)
    return pixels


def operate(pixels: Tensor, operations_B: Tensor, levels_B: Tensor) -> Tensor:
    """One operation on each image (B,C,H,W); operations and levels are an `AugmentDraw`'s."""
    groups = [(operations_B == number, tone, levels_B) for number, tone in enumerate(_TONES.values())]
    groups.append((operations_B >= len(_TONES), _warp, _affines(operations_B, levels_B, pixels.shape)))
    result = pixels.clone()
    for chosen_B, operation, strength in groups:
        where = chosen_B.nonzero()[:, 0]
        if len(where):
            place = where.to(pixels.device, non_blocking=True)
            result[place] = operation(pixels[place], strength[where].to(pixels.device, non_blocking=True))
    return result


def _gamma_quantile(uniform: Tensor, alpha: float) -> Tensor:
    """Turn uniform numbers into ones of Gamma(alpha), never quite zero."""
    tiny = np.finfo(np.float64).tiny
    if alpha == 1:
        return -torch.log1p(-uniform).clamp_max(-tiny)
    from scipy.special import gammaincinv

    return torch.from_numpy(gammaincinv(alpha, uniform.numpy())).clamp_min(tiny)


def _check_images(images: Tensor) -> None:
    if images.dim() != 4 or not images.is_floating_point():
        raise ValueError(
            f"images have shape {tuple(images.shape)} and dtype {images.dtype}: pass floats (B,C,H,W) in [0, 1]"
        )


# ---- operations on the values of pixels --------------------------------------------------------------------------


def _autocontrast(pixels: Tensor, levels_B: Tensor) -> Tensor:
    """Stretch each channel to the full range; one of a single value stays."""
    low, high = pixels.amin((2, 3), keepdim=True), pixels.amax((2, 3), keepdim=True)
    return torch.where(high > low, (pixels - low) / (high - low).clamp_min(1e-12), pixels)


def _equalize(pixels: Tensor, levels_B: Tensor) -> Tensor:
    """Spread each channel's 8-bit values so that all are about equally frequent."""
    values = _to_bytes(pixels).flatten(0, 1).flatten(1)
    ones = torch.ones_like(values, dtype=torch.int32)
    counts = ones.new_zeros(len(values), 256).scatter_add_(1, values, ones)
    step = (values.shape[1] - counts.gather(1, values.amax(1, keepdim=True))) // 255
    below = counts.cumsum(1, dtype=torch.int32) - counts
    table = ((below + step // 2) // step.clamp_min(1)).clamp_max(255)
    table = torch.where(step > 0, table, torch.arange(256, device=pixels.device))  # too few pixels to spread
    return (table.gather(1, values) / 255).view_as(pixels)


def _posterize(pixels: Tensor, levels_B: Tensor) -> Tensor:
    """Keep only the highest of the 8 bits: 4, or one less for every full 2.5 levels."""
    dropped = 4 + (levels_B.abs() * 4 / _HARDEST).long()
    step_B111 = (2**dropped)[:, None, None, None]
    return _to_bytes(pixels) // step_B111 * step_B111 / 255


def _solarize(pixels: Tensor, levels_B: Tensor) -> Tensor:
    """Invert the brightest values."""
    threshold = 256 - (levels_B.abs() * 256 / _HARDEST).long()
    return torch.where(_to_bytes(pixels) >= threshold[:, None, None, None], 1 - pixels, pixels)


def _to_bytes(pixels: Tensor) -> Tensor:
    return (pixels * 255).round().long()


# ---- operations on the places of pixels --------------------------------------------------------------------------


class _Affine(NamedTuple):
    """Where output pixel (x, y) looks, from the image's centre: (1 + xx) x + xy y + dx, yx x + (1 + yy) y + dy."""

    xx: float = 0.0
    xy: float = 0.0
    dx: float = 0.0
    yx: float = 0.0
    yy: float = 0.0
    dy: float = 0.0


def _rotate(level: float, height: int, width: int) -> _Affine:
    """Whole degrees, up to 30."""
    angle = math.radians(int(level * 30 / _HARDEST))
    return _Affine(math.cos(angle) - 1, math.sin(angle), 0.0, -math.sin(angle), math.cos(angle) - 1, 0.0)


def _shear_x(level: float, height: int, width: int) -> _Affine:
    """Slant columns by up to 0.3 pixels per row; the top row stays."""
    slope = level * 0.3 / _HARDEST
    return _Affine(xy=slope, dx=slope * height / 2)


def _shear_y(level: float, height: int, width: int) -> _Affine:
    """Slant rows by up to 0.3 pixels per column; the first column stays."""
    slope = level * 0.3 / _HARDEST
    return _Affine(yx=slope, dy=slope * width / 2)


def _translate_x(level: float, height: int, width: int) -> _Affine:
    """Whole pixels, up to a third of the width."""
    return _Affine(dx=int(level * (width / 3) / _HARDEST))


def _translate_y(level: float, height: int, width: int) -> _Affine:
    """Whole pixels, up to a third of the height."""
    return _Affine(dy=int(level * (height / 3) / _HARDEST))


_TONES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "autocontrast": _autocontrast,
    "equalize": _equalize,
    "posterize": _posterize,
    "solarize": _solarize,
}
_MOVES: dict[str, Callable[[float, int, int], _Affine]] = {
    "rotate": _rotate,
    "shear_x": _shear_x,
    "shear_y": _shear_y,
    "translate_x": _translate_x,
    "translate_y": _translate_y,
}
OPERATIONS = (*_TONES, *_MOVES)


def _affines(operations_B: Tensor, levels_B: Tensor, shape: torch.Size) -> Tensor:
    """The fields of each image's `_Affine`, (B,6); zeros where the operation moves nothing."""
    moves = dict(enumerate(_MOVES.values(), start=len(_TONES)))
    affines = [
        moves[operation](level, *shape[2:]) if operation in moves else _Affine()
        for operation, level in zip(operations_B.tolist(), levels_B.tolist(), strict=True)
    ]
    return torch.tensor(affines).view(-1, 6)


def _warp(pixels: Tensor, affines_B6: Tensor) -> Tensor:
    """Move pixels, bilinear between them and black outside the image."""
    height, width = pixels.shape[2:]
    xx, xy, dx, yx, yy, dy = affines_B6[:, :, None, None].unbind(1)
    x_W = torch.arange(width, device=pixels.device) + 0.5 - width / 2
    y_H1 = (torch.arange(height, device=pixels.device) + 0.5 - height / 2)[:, None]
    x_BHW = x_W + (xx * x_W + xy * y_H1 + dx)
    y_BHW = y_H1 + (yx * x_W + yy * y_H1 + dy)
    grid_BHW2 = torch.stack([x_BHW * (2 / width), y_BHW * (2 / height)], -1)
    return F.grid_sample(pixels, grid_BHW2, align_corners=False)
