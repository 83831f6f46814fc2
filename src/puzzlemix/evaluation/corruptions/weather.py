"""Snow, frost, fog and light. Images are float32 (B,C,H,W) in [0, 1]; results may leave it.

Shape suffixes: B batch, C channels, H height, W width, S side of a map.
"""

import torch
from torch import Tensor

from ..dice import Dice
from .blur import smeared
from .operators import luminance, paint, rounded, truncated, zoomed


def snow(images: Tensor, level: tuple[float, float, float, float, int, float, float], dice: Dice) -> Tensor:
    """Let flakes fall both ways over a paler image.

    The level is mean and sigma of the noise that flakes are made of, its zoom, the value below which there is no flake,
    radius and sigma of the fall, and the share of the image that is not paled.
    """
    mean, sigma, zoom, least, radius, fall, kept = level
    flakes = zoomed(mean + sigma * dice.normal(1, *images.shape[2:]), zoom)
    flakes = truncated(torch.where(flakes < least, 0, flakes))
    flakes = rounded(smeared(flakes, radius, fall, dice.uniform(low=-135, high=-45)))
    pale = torch.maximum(images, luminance(images) * 1.5 + 0.5)
    return kept * images + (1 - kept) * pale + flakes + flakes.flip(2, 3)


def frost(images: Tensor, level: tuple[float, float], dice: Dice) -> Tensor:
    """Lay ice over the image; the level is the share of the image that is kept and that of the ice.

    The published images show photos of ice, which are not free to be passed on: here it is drawn, and errors are not
    comparable.
    """
    kept, added = level
    return kept * images + added * ice(images, dice)


def ice(images: Tensor, dice: Dice) -> Tensor:
    """Draw crystals, the creases of a fractal map, on pale blue ground of varied light: like images (B,C,H,W)."""
    ground, folds = (_plasma_for(images, decay, dice) for decay in (2.5, 1.7))
    creases = (1 - (2 * (3 * folds).frac() - 1).abs()) ** 3
    light = dice.uniform(1, 1, 1, low=0.25, high=0.7) + 0.3 * (ground - 0.5) + 0.25 * creases
    return (light * paint(0.84, 0.98, 1.06, images)).clamp(0, 1)


def fog(images: Tensor, level: tuple[float, float], dice: Dice) -> Tensor:
    """Add clouds; the level is how many, and by how much the finer ones are weaker."""
    strength, decay = level
    clouds = _plasma_for(images, decay, dice)
    brightest = images.amax((1, 2, 3), keepdim=True)
    return (images + strength * clouds) * brightest / (brightest + strength)


def _plasma_for(images: Tensor, decay: float, dice: Dice) -> Tensor:
    """A map (B,1,H,W) for every image."""
    height, width = images.shape[2:]
    side = 1 << (max(height, width) - 1).bit_length()
    return plasma(images.new_zeros(len(images), side, side), decay, dice)[:, None, :height, :width]


def plasma(field: Tensor, decay: float, dice: Dice) -> Tensor:
    """Fill zeros (B,S,S), S a power of 2, with fractal maps in [0, 1] by the diamond-square algorithm."""
    jitter, step = 100.0, field.shape[1]

    def jittered(four: Tensor) -> Tensor:
        return four / 4 + jitter * dice.uniform(*four.shape[1:], low=-jitter, high=jitter)

    while step >= 2:
        half = step // 2
        corners = field[:, ::step, ::step]
        pairs = corners + corners.roll(-1, 1)
        middles = field[:, half::step, half::step] = jittered(pairs + pairs.roll(-1, 2))
        field[:, ::step, half::step] = jittered(middles + middles.roll(1, 1) + corners + corners.roll(-1, 2))
        field[:, half::step, ::step] = jittered(middles + middles.roll(1, 2) + corners + corners.roll(-1, 1))
        step, jitter = half, jitter / decay
    low, high = field.amin((1, 2), keepdim=True), field.amax((1, 2), keepdim=True)
    return (field - low) / (high - low).clamp(min=1e-12)


def brightness(images: Tensor, more: float, dice: Dice) -> Tensor:
    """Raise the value of hue, saturation and value; black turns grey."""
    value = images.amax(1, keepdim=True)
    raised = (value + more).clamp(max=1)
    return torch.where(value > 0, images * (raised / value.clamp(min=1e-6)), raised)
