"""Poses the mask problem of each pair of images: term by term with torch, or on CUDA all at once by a kernel.

Shape suffixes: B batch, R rows and K columns of the mask's grid.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from . import blocks, triton_support
from .blocks import Layout, largest_divisor, layout_of
from .checks import require
from .energy import Faces, MaskEnergy, cell_faces, data_seams, label_smoothness, mask_energy
from .mask import MaskProblem
from .mask import gpu as mask_gpu
from .mask.problem import BUDGET
from .operators import define
from .params import PuzzleMixConfig

LANES = 1024  # how many pixels a GPU program looks at side by side
WARPS = 8


class Pairs(NamedTuple):
    """What is mixed with what, as it has been moved so far.

    first, second: images (B,C,H,W); first_shares, second_shares: of their tiles; partner (B,): where the second ones
    are still to be looked up, unless they were `moved`; lam (B,): the share of the first image.
    """

    first: Tensor
    second: Tensor
    first_shares: Tensor
    second_shares: Tensor
    partner: Tensor
    lam: Tensor
    moved: bool = False


class Posed(NamedTuple):
    """The mask problem in integers, which the kernel gives at once, or the energy that they are to be made of."""

    energy: MaskEnergy | None
    integers: MaskProblem | None = None

    def problem(self) -> MaskProblem:
        """The integers whose minimum is the mask."""
        if self.integers is None:
            assert self.energy is not None
            return self.energy.problem()
        return self.integers


def pose_mask(pairs: Pairs, std: Tensor | None, layout: Layout, config: PuzzleMixConfig) -> Posed:
    """What the mask is to minimise. std (C,): what the images were divided by, if they were."""
    if not posed_by_kernel(pairs.first, layout.cells):
        return Posed(pair_energy(pairs, std, layout, config))
    coefficients = [config.beta, config.gamma, config.eta]
    settings = config.top, config.neighbours, config.data_smoothness != "paper", pairs.moved
    given = [tensor.detach() for tensor in pairs[:6]]
    *problem, fine_B = _pose(*given, std, layout.numbers, coefficients, *settings)
    require(fine_B, _out_of_range)
    return Posed(None, MaskProblem(*problem))


def _out_of_range() -> str:
    return "partners in index or values of lam are out of range: pass positions in the batch, and shares from 0 to 1"


def posed_by_kernel(images: Tensor, cells: int) -> bool:
    """Whether a GPU kernel poses the problem; it then also checks index and lam."""
    return triton_support.serves(images) and cells <= mask_gpu.CELLS


def pair_energy(pairs: Pairs, std: Tensor | None, layout: Layout, config: PuzzleMixConfig) -> MaskEnergy:
    """The objective of each pair, on any device."""
    shares = pair_shares(pairs, layout)
    seams = data_seams(*_pair_faces(pairs, layout, config.neighbours), std)
    alone = pairs.partner == torch.arange(len(pairs.partner), device=pairs.partner.device)
    return mask_energy(shares, seams, torch.where(alone, 1.0, pairs.lam), layout, config)


def pair_shares(pairs: Pairs, layout: Layout) -> tuple[Tensor, Tensor]:
    """The saliency in each cell of the first and of the second images: (B,R,K) each."""
    first = blocks.pool_to_cells(pairs.first_shares, layout)
    return first, blocks.pool_to_cells(pairs.second_shares, layout) if pairs.moved else first[pairs.partner]


def _pair_faces(pairs: Pairs, layout: Layout, neighbours: int) -> tuple[Faces, Faces]:
    first = cell_faces(blocks.pad(pairs.first, layout), layout, neighbours)
    if not pairs.moved:
        return first, first.of(pairs.partner)
    return first, cell_faces(blocks.pad(pairs.second, layout), layout, neighbours)


# ---- the operator ------------------------------------------------------------------------------------------------

_Pose = tuple[Tensor, Tensor, Tensor, Tensor]


def _pose_plain(
    first: Tensor,
    second: Tensor,
    first_shares: Tensor,
    second_shares: Tensor,
    index: Tensor,
    lam: Tensor,
    std: Tensor | None,
    layout: list[int],
    coefficients: list[float],
    top: int,
    neighbours: int,
    curved: bool,
    moved: bool,
) -> _Pose:
    """The same integers and notes as the kernel's, on any device."""
    fine_B = ((index >= 0) & (index < len(index)) & (lam >= 0) & (lam <= 1)).int()
    beta, gamma, eta = coefficients
    smoothness = "reference" if curved else "paper"
    config = PuzzleMixConfig(top + 1, beta, gamma, eta, neighbours=neighbours, data_smoothness=smoothness)
    pairs = Pairs(first, second, first_shares, second_shares, index.clamp(0, max(len(index) - 1, 0)), lam, moved)
    steps, down, across = pair_energy(pairs, std, layout_of(layout), config).problem()
    return steps, down, across, fine_B


def _pose_on_cuda(
    first: Tensor,
    second: Tensor,
    first_shares: Tensor,
    second_shares: Tensor,
    index: Tensor,
    lam: Tensor,
    std: Tensor | None,
    layout: list[int],
    coefficients: list[float],
    top: int,
    neighbours: int,
    curved: bool,
    moved: bool,
) -> _Pose:
    from .pose_gpu_kernel import pose_pair

    cut = layout_of(layout)
    if second.stride() != first.stride():
        first, second = first.contiguous(), second.contiguous()
    posed = _empty_pose(first, layout, top)
    given = first, second, first_shares.contiguous(), second_shares.contiguous(), index.contiguous(), lam
    size = [largest_divisor(side, neighbours) for side in cut.block]
    limit = BUDGET // (top + 1)
    beta, gamma, eta = coefficients
    numbers = (
        *(len(index), first.shape[1], *layout[:6], *cut.tiles_per_cell, *size, *first.stride(), lam.stride(0)),
        *(top, limit, limit // top**2, *label_smoothness(cut, beta), gamma, eta / cut.cells),
    )
    cells = mask_gpu.width_for(cut.cells)
    options = {"CURVED": curved, "SCALED": std is not None, "MOVED": moved, "CELLS": cells, "SAMPLES": LANES // cells}
    scaled_by = first_shares if std is None else std.contiguous()
    triton_support.launch(pose_pair, len(index), *given, scaled_by, *posed, *numbers, **options, num_warps=WARPS)
    return posed


def _empty_pose(images: Tensor, layout: list[int], top: int) -> _Pose:
    """Room for steps, down, across, and for whether index and lam are fine."""
    rows, cols = layout[2:4]
    shapes = (rows, cols, top), (rows - 1, cols), (rows, cols - 1), ()
    steps, down, across, fine = (images.new_empty(len(images), *shape, dtype=torch.int32) for shape in shapes)
    return steps, down, across, fine


def _fake(first: Tensor, *others: object) -> _Pose:
    layout, top = others[6], others[8]
    assert isinstance(layout, list)
    assert isinstance(top, int)
    return _empty_pose(first, layout, top)


_pose = define(
    "pose_mask(Tensor first, Tensor second, Tensor first_shares, Tensor second_shares, Tensor index, Tensor lam,"
    " Tensor? std, SymInt[] layout, float[] coefficients, int top, int neighbours, bool curved, bool moved)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    _pose_plain,
    _fake,
    _pose_on_cuda,
)
