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
from .energy import Seams, cell_faces, data_seams, mask_energy
from .inputs import Grid, MixInputs, read_inputs
from .mask import solve_mask
from .params import PuzzleMixConfig
from .shares import saliency_shares
from .transport import solve_transport, transport_problem


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
    labels, moves = minimise(inputs, shares, Moves(), layout, config)
    for _ in range(config.cycles - 1):
        labels, moves = minimise(inputs, shares, moves, layout, config)
    mask = 1 - labels.float() / config.top
    mixed = show(inputs.images, inputs.images, inputs.index, mask, moves, layout)
    ratio = visible_ratio(labels, layout, config.top)
    return Mixed(mixed.view_as(images), mask, ratio, inputs.index, moves.first, moves.second, layout)


def minimise(
    inputs: MixInputs, shares_BRK: Tensor, moves: Moves, layout: Layout, config: PuzzleMixConfig
) -> tuple[Tensor, Moves]:
    """One cycle of the alternating minimisation: the best labels for these moves, then the best moves for those."""
    cell_shares = moved_cell_shares(shares_BRK, inputs.index, moves, layout)
    seams = moved_seams(inputs, moves, layout, config)
    energy = mask_energy(cell_shares, seams, inputs.lam, layout, config)
    labels = solve_mask(energy.problem(), config.mask_solver, check=False)
    return labels, best_moves(shares_BRK, inputs.index, labels, layout, config)


def moved_cell_shares(shares_BRK: Tensor, index: Tensor, moves: Moves, layout: Layout) -> tuple[Tensor, Tensor]:
    """Pi^T s: the saliency in each cell of the first and of the second images after their moves."""
    if moves.first is None or moves.second is None:
        cells = blocks.pool_to_cells(shares_BRK, layout)
        return cells, cells[index]
    flat = shares_BRK.flatten(1)
    moved = flat.gather(1, moves.first), flat[index].gather(1, moves.second)
    first, second = (blocks.pool_to_cells(share.view_as(shares_BRK), layout) for share in moved)
    return first, second


def moved_seams(inputs: MixInputs, moves: Moves, layout: Layout, config: PuzzleMixConfig) -> Seams:
    """Where the moved first and second images meet between cells."""
    if moves.first is None:
        faces = cell_faces(blocks.pad(inputs.images, layout), layout, config.neighbours)
        return data_seams(faces, faces.of(inputs.index), inputs.std)
    only_first = inputs.images.new_ones(len(inputs.images), layout.rows, layout.cols)
    first, second = (
        show(inputs.images, inputs.images, inputs.index, mask, moves, layout) for mask in (only_first, 1 - only_first)
    )
    first, second = (cell_faces(blocks.pad(moved, layout), layout, config.neighbours) for moved in (first, second))
    return data_seams(first, second, inputs.std)


def best_moves(shares_BRK: Tensor, index: Tensor, labels_BRK: Tensor, layout: Layout, config: PuzzleMixConfig) -> Moves:
    """Move salient tiles to where the mask shows them, each image on its own."""
    if config.transport is None:
        return Moves()
    second_weight = blocks.repeat_to_tiles(labels_BRK.long(), layout)
    weights = torch.stack([config.top - second_weight, second_weight])
    if layout.padding != (0, 0):
        weights = weights * (blocks.visible_pixels(layout, layout.tile, weights.device) > 0)
    both = torch.stack([shares_BRK, shares_BRK[index]])
    problem = transport_problem(both.flatten(0, 1), weights.flatten(0, 1), config.xi, config.transport_gain, config.top)
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


def visible_ratio(labels_BRK: Tensor, layout: Layout, top: int) -> Tensor:
    """The first image's share of the visible pixels: (B,) float32, from whole numbers, hence the same everywhere."""
    pixels = blocks.visible_pixels(layout, layout.block, labels_BRK.device)
    hidden = (labels_BRK * pixels).sum((1, 2))
    return 1 - hidden / (top * layout.height * layout.width)
