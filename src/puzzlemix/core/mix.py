"""Puzzle Mix itself: energy, mask, transport, blend.

Shape suffixes: B batch, C channels, H height, W width, R rows and K columns of the mask's grid, N tiles.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from . import blocks
from .blend import blend
from .blocks import Layout, layout_for
from .inputs import Grid, MixInputs, read_inputs
from .mask import solve_mask
from .params import PuzzleMixConfig
from .pose import Pairs, pose_mask
from .shares import saliency_shares
from .transport import TransportProblem, solve_transport
from .visible import Shown, show_labels


class Moves(NamedTuple):
    """Which tile of the first and of the second image lands on tile j: (B,N) each, None where nothing moves."""

    first: Tensor | None = None
    second: Tensor | None = None


@dataclass(frozen=True)
class Mixed:
    """A mixed batch and how it came about.

    images: as the input; mask (B,R,K): the weight of the first image in each cell; ratio (B,): its share of the
    visible pixels, by which labels are weighed; index (B,): the partners; first_source, second_source (B,N): the tile
    that landed on tile j, None without transport; layout: how the images were cut.
    """

    images: Tensor
    mask: Tensor
    ratio: Tensor
    index: Tensor
    first_source: Tensor | None
    second_source: Tensor | None
    layout: Layout

    def apply(self, companion: Tensor, partner: Tensor | None = None) -> Tensor:
        """Mix any per-pixel companion of the batch by the same mask and moves, (B,..,H,W) or (B,..,T): depth, one-hots.

        `partner` is the tensor whose `index`-th entries are the second ones; by default the companion itself.
        """
        partner = companion if partner is None else partner
        size = (self.layout.height, self.layout.width)
        signal = self.images.dim() == 3
        space = companion.shape[-1:] if signal else companion.shape[-2:]
        if len(companion) != len(self.index) or tuple(space) != size[signal:] or partner.shape != companion.shape:
            raise ValueError(
                f"companion {tuple(companion.shape)} (partner {tuple(partner.shape)}) does not fit the mixed images "
                f"{tuple(self.images.shape)}: pass one entry per image with the same height and width"
            )
        if not companion.is_floating_point():
            raise ValueError(f"companion is {companion.dtype}, which cannot be blended: pass floats, e.g. one-hot maps")
        flat = (len(companion), math.prod(companion.shape[1 : -len(space)]), *size)
        moves = Moves(self.first_source, self.second_source)
        return show(companion.reshape(flat), partner.reshape(flat), self.index, self.mask, moves, self.layout).view_as(
            companion
        )


def puzzle_mix(
    images: Tensor,
    saliency: Tensor,
    *,
    index: Tensor,
    lam: float | Tensor,
    grid: Grid,
    config: PuzzleMixConfig | None = None,
    mean: Sequence[float] | Tensor | None = None,
    std: Sequence[float] | Tensor | None = None,
) -> Mixed:
    """Mix every image with `images[index]`: the paper's objective, minimised over mask and moves.

    images (B,C,H,W) or signals (B,C,T), saliency (B,H,W) or (B,T), index (B,) the partner of each image, lam the share
    of the FIRST image (one number, or one per image), grid the cells per side or (rows, cols). `mean`, `std`: what the
    images were normalised by, if they are not in [0, 1].
    """
    config = config or PuzzleMixConfig()
    inputs = read_inputs(images, saliency, index, lam, grid, mean, std)
    height, width = inputs.images.shape[2:]
    layout = layout_for(height, width, inputs.rows, inputs.cols, config.transport_block)
    shares = saliency_shares(inputs.saliency, layout)
    shown, moves = minimise(inputs, shares, Moves(), layout, config)
    for _ in range(config.cycles - 1):
        shown, moves = minimise(inputs, shares, moves, layout, config)
    mixed = show(inputs.images, inputs.images, inputs.index, shown.mask, moves, layout)
    return Mixed(mixed.view_as(images), shown.mask, shown.ratio, inputs.index, moves.first, moves.second, layout)


def minimise(
    inputs: MixInputs, shares_BRK: Tensor, moves: Moves, layout: Layout, config: PuzzleMixConfig
) -> tuple[Shown, Moves]:
    """One cycle of the alternating minimisation: the best labels for these moves, then the best moves for those."""
    posed = pose_mask(moved_pairs(inputs, shares_BRK, moves, layout), inputs.std, layout, config)
    labels = solve_mask(posed.problem(), config.mask_solver, check=False)
    shown, problem = show_labels(labels, shares_BRK, inputs.index, layout, config)
    return shown, best_moves(problem, config)


def moved_pairs(inputs: MixInputs, shares_BRK: Tensor, moves: Moves, layout: Layout) -> Pairs:
    """Pi^T x and Pi^T s: the first and the second images and their saliency after their moves."""
    images, index, lam = inputs.images, inputs.index, inputs.lam
    if moves.first is None or moves.second is None:
        return Pairs(images, images, shares_BRK, shares_BRK, index, lam)
    only_first = images.new_ones(len(images), layout.rows, layout.cols)
    first, second = (show(images, images, index, mask, moves, layout) for mask in (only_first, 1 - only_first))
    flat = shares_BRK.flatten(1)
    first_shares = flat.gather(1, moves.first).view_as(shares_BRK)
    second_shares = flat[index].gather(1, moves.second).view_as(shares_BRK)
    return Pairs(first, second, first_shares, second_shares, index, lam, moved=True)


def best_moves(problem: TransportProblem | None, config: PuzzleMixConfig) -> Moves:
    """Move salient tiles to where the mask shows them, each image on its own."""
    if problem is None or config.transport is None:
        return Moves()
    first, second = solve_transport(problem, config.transport, check=False).unflatten(0, (2, -1)).unbind()
    return Moves(first, second)


def show(first: Tensor, second: Tensor, index: Tensor, mask_BRK: Tensor, moves: Moves, layout: Layout) -> Tensor:
    """(1 - z) Pi_0^T x_0 + z Pi_1^T x_1 for images (B,C,H,W) of any kind."""
    first_source, second_source = moves
    if first_source is None or second_source is None:
        weight, tile = mask_BRK, layout.block
        first_source = second_source = torch.arange(layout.cells, device=first.device).expand(len(first), -1)
    else:
        weight, tile = blocks.repeat_to_tiles(mask_BRK, layout), layout.tile
    return blend(first, second, index, weight, first_source, second_source, tile)
