"""How much of a mix changes after the first cycle of the alternating minimisation (Supplementary B.2).

With the exact plan next to nothing does. Where Algorithm 1's plan is dearer, the next mask still adapts to it.
"""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

import torch

from ..core.mix import puzzle_mix
from ..core.params import GRIDS, PuzzleMixConfig
from .lambda_curves import Pairs

COSTS = (0.0, 0.2, 0.5, 0.6, 0.7, 0.8, 1.0)
BEST_COSTS = (0.5, 0.8)  # between these, the paper says, next to nothing changes
PLANS = {"paper": "Algorithm 1", "exact": "exact plan"}  # solvers, and what they are called
CYCLES = 5


class Change(NamedTuple):
    """What further cycles change, with one solver of plans, cost of distance and grid: shares of images and pixels."""

    plan: str
    xi: float
    grid: int
    images: float
    pixels: float


def measure(
    batches: Iterable[Pairs],
    generator: torch.Generator,
    *,
    costs: Sequence[float] = COSTS,
    grids: Sequence[int] = GRIDS,
    plans: Iterable[str] = tuple(PLANS),
    config: PuzzleMixConfig | None = None,
) -> list[Change]:
    """Mix every batch by one cycle and by several, lambda drawn per batch; with the paper's gain s_i z_j."""
    config = replace(config or PuzzleMixConfig(), transport_gain="weight")
    ways = list(itertools.product(plans, costs, grids))
    sums: dict[tuple[str, float, int], list[torch.Tensor]] = {}
    for pairs in batches:
        lam = float(torch.rand((), generator=generator))
        for plan, xi, grid in ways:
            changed = _changed(pairs, lam, grid, replace(config, xi=xi, transport=plan))
            sums.setdefault((plan, xi, grid), []).append(changed)
    return [Change(*key, *torch.cat(values, 1).double().mean(1).tolist()) for key, values in sums.items()]


def _changed(pairs: Pairs, lam: float, grid: int, config: PuzzleMixConfig) -> torch.Tensor:
    """Whether each image changes, and which share of its pixels: (2,B)."""
    images, _, saliency, index = pairs
    once, more = (
        puzzle_mix(images, saliency, index=index, lam=lam, grid=grid, config=replace(config, cycles=cycles)).images
        for cycles in (1, CYCLES)
    )
    pixels = (once != more).any(1).flatten(1).float().mean(1)
    return torch.stack([(pixels > 0).float(), pixels])
