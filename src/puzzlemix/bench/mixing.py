"""Times of the mix alone.

Shape suffixes: B batch, C channels, H height, W width.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from ..core.inputs import Grid
from ..core.mix import puzzle_mix
from ..core.params import GRIDS
from ..data.synthetic import draw_scenes
from .timing import Effort, Times, side_by_side

PLAIN = "plain mixup"


class Scenery(NamedTuple):
    """What a mix is given: images (B,C,H,W), saliency (B,H,W), partner (B,)."""

    images: Tensor
    saliency: Tensor
    partner: Tensor


def scenes(count: int, side: int = 32) -> Scenery:
    """Generated pictures, and maps with the grain of input gradients that are stronger on the object."""
    drawn = draw_scenes(range(count), size=side)
    generator = torch.Generator().manual_seed(0)
    grain_BHW = torch.randn(count, 3, side, side, generator=generator).square().mean(1).sqrt()
    near_BHW = F.avg_pool2d(drawn.masks.float()[:, None], 5, stride=1, padding=2)[:, 0]
    images = (drawn.images / 255).contiguous()
    return Scenery(images, grain_BHW * (0.2 + near_BHW), torch.randperm(count, generator=generator))


def mix_times(
    effort: Effort,
    *,
    count: int = 100,
    side: int = 32,
    grids: Sequence[Grid] = GRIDS,
    device: torch.device | str = "cpu",
) -> dict[str, Times]:
    """Time Puzzle Mix of generated images at each grid, called "grid 4" or "grid 2x8", beside plain mixup (PLAIN)."""
    batch = Scenery(*(tensor.to(device) for tensor in scenes(count, side)))
    functions: dict[str, Callable[[], object]] = {PLAIN: partial(mixup, batch)}
    for grid in grids:
        functions[f"grid {name_of(grid)}"] = partial(mix, batch, grid)
    return side_by_side(effort, {name: finished(function, device) for name, function in functions.items()})


def mix(batch: Scenery, grid: Grid) -> Tensor:
    """Mix from saliency maps on: the mixed images."""
    return puzzle_mix(batch.images, batch.saliency, index=batch.partner, lam=0.5, grid=grid).images


def mixup(batch: Scenery) -> Tensor:
    """Mix plainly: the mixed images."""
    return 0.5 * batch.images + (1 - 0.5) * batch.images[batch.partner]


def name_of(grid: Grid) -> str:
    """A grid as the command line writes it."""
    return str(grid) if isinstance(grid, int) else "x".join(map(str, grid))


def finished(function: Callable[[], object], device: torch.device | str) -> Callable[[], object]:
    """Call a function, and wait until an accelerator has done what it was told."""
    if torch.device(device).type == "cpu":
        return function

    def call() -> None:
        function()
        torch.accelerator.synchronize(torch.device(device))

    return call
