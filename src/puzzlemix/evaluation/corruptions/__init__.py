"""The 19 common corruptions of images at 5 severities, computed in batches on the images' device, at any size.

Each is as its authors defined it (Hendrycks and Dietterich, 2019), down to eight-bit pixels on the way, except `frost`,
for which they used photos: NOT_COMPARABLE. What befalls an image follows from (seed, corruption, severity, its sample
number) alone: not from its batch, and not from the device but for a rounding error here and there.

Shape suffixes: B batch, C channels, H height, W width.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor

from ...core.checks import require, span
from ..accuracy import numbered
from ..dice import Dice
from .blur import defocus_blur, gaussian_blur, glass_blur, motion_blur, zoom_blur
from .digital import contrast, elastic_transform, pixelate, saturate
from .jpeg import jpeg_compression
from .noise import gaussian_noise, impulse_noise, shot_noise, speckle_noise
from .operators import rounded, truncated
from .severities import DEFINITIONS, SEVERITIES, definition_for
from .spatter import spatter
from .weather import brightness, fog, frost, snow

__all__ = ["COMMON", "CORRUPTIONS", "DEFINITIONS", "LEVELS", "NOT_COMPARABLE", "corrupt", "corrupted"]

Corruption = Callable[[Tensor, Any, Dice], Tensor]

# in the order of the published lists: the first fifteen make up the benchmark, four were held out for validation
_FUNCTIONS: tuple[Corruption, ...] = (
    gaussian_noise, shot_noise, impulse_noise,
    defocus_blur, glass_blur, motion_blur, zoom_blur,
    snow, frost, fog, brightness,
    contrast, elastic_transform, pixelate, jpeg_compression,
    speckle_noise, gaussian_blur, spatter, saturate,
)  # fmt: skip
CORRUPTIONS: dict[str, Corruption] = {function.__name__: function for function in _FUNCTIONS}
COMMON = tuple(CORRUPTIONS)[:15]
NOT_COMPARABLE = ("frost",)
LEVELS = (1, 2, 3, 4, 5)
_CACHED = 2**17  # values that a CPU works on at a time: few enough to stay in its cache


def corrupt(
    images: Tensor,
    name: str,
    severity: int,
    *,
    seed: int = 0,
    samples: Tensor | None = None,
    definition: str | None = None,
) -> Tensor:
    """Corrupt images (B,C,H,W) in [0, 1] at a severity from 1 to 5; they are brought to whole 1/255 before and after.

    samples: the images' numbers (B,) in their data set, from 0 on if left out. definition: the size of images whose
    published parameters are used, a name in DEFINITIONS; if left out, the one nearest in size.
    """
    _check(images, name, severity, definition)
    if not len(images):
        return images.clone()
    samples = torch.arange(len(images), device=images.device) if samples is None else samples.to(images.device)
    level = SEVERITIES[definition or definition_for(*images.shape[2:])][name][severity - 1]
    at_once = max(1, _CACHED // images[0].numel()) if images.device.type == "cpu" else len(images)
    result = torch.empty_like(images)
    # not even under autocast: the results would differ
    with torch.no_grad(), torch.autocast(images.device.type, enabled=False):
        for part, numbers, place in zip(*(whole.split(at_once) for whole in (images, samples, result)), strict=True):
            dice = Dice.of_samples("corrupt", name, severity, seed, samples=numbers)
            place.copy_(truncated(CORRUPTIONS[name](rounded(part.float()), level, dice)))
    return result


def corrupted(
    batches: Iterable, name: str, severity: int, *, seed: int = 0, definition: str | None = None
) -> Iterator[tuple[Tensor, Tensor]]:
    """The batches, for `evaluate`, with their images corrupted.

    A batch is (images, labels, samples, ...) as `data.Loader` gives it, or (images, labels): these are numbered on.
    """
    for images, labels, samples in numbered(batches):
        yield corrupt(images, name, severity, seed=seed, samples=samples, definition=definition), labels


def _check(images: Tensor, name: str, severity: int, definition: str | None) -> None:
    if name not in CORRUPTIONS:
        raise ValueError(f"there is no corruption {name!r}: choose one of {', '.join(CORRUPTIONS)}")
    if severity not in LEVELS:
        raise ValueError(f"severity={severity!r}: choose one of 1, 2, 3, 4, 5")
    if definition is not None and definition not in DEFINITIONS:
        raise ValueError(f"definition={definition!r}: choose one of {', '.join(DEFINITIONS)}")
    if images.dim() != 4 or not images.is_floating_point():
        raise ValueError(f"images are {images.dtype} {tuple(images.shape)}: pass floats (B,C,H,W) in [0, 1]")
    require(
        (images >= -1e-3) & (images <= 1 + 1e-3),
        lambda: f"images {span(images)}: corruptions work in [0, 1], so pass them before they are normalised",
    )
