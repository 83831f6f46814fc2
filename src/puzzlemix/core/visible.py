"""What the labels of a mask show: weights, ratio, and the transport problems that follow from them.

Shape suffixes: B batch, R rows and K columns of the mask's grid, N tiles.
"""

from typing import NamedTuple

import torch
from torch import Tensor

from . import blocks, triton_support
from .blocks import Layout, layout_of
from .operators import define
from .params import PuzzleMixConfig
from .transport import TransportProblem, transport_problem
from .transport.problem import priced, unit_of

LANES = 256  # how many tiles a GPU program looks at side by side
WARPS = 4


class Shown(NamedTuple):
    """mask (B,R,K): the first image's weight in every cell; ratio (B,): its share of what is visible."""

    mask: Tensor
    ratio: Tensor


def show_labels(
    labels_BRK: Tensor, shares: Tensor, index: Tensor, layout: Layout, config: PuzzleMixConfig
) -> tuple[Shown, TransportProblem | None]:
    """Weigh both images by the labels; the transport problem of all 2B images, if they are to move.

    shares (B,..) are those of the images' tiles, index (B,) the partners.
    """
    if not triton_support.serves(labels_BRK):
        moving = config.transport is not None
        problem = transport_problems(labels_BRK, shares, index, layout, config) if moving else None
        return Shown(mask_of(labels_BRK, config.top), visible_ratio(labels_BRK, layout, config.top)), problem
    graded = config.transport_gain == "weight"
    mask, ratio, gain, level = _show(labels_BRK, shares, index, layout.numbers, config.top, config.xi, graded)
    rows, cols = layout.tile_grid
    return Shown(mask, ratio), priced(gain, level, rows, cols, config.xi, config.top if graded else 1)


def mask_of(labels_BRK: Tensor, top: int) -> Tensor:
    """The first image's weight in every cell."""
    return 1 - labels_BRK.float() / top


def visible_ratio(labels_BRK: Tensor, layout: Layout, top: int) -> Tensor:
    """The first image's share of the visible pixels: (B,) float32, from whole numbers, hence the same everywhere."""
    pixels = blocks.visible_pixels(layout, layout.block, labels_BRK.device)
    hidden = (labels_BRK * pixels).sum((1, 2))
    return 1 - hidden / (top * layout.height * layout.width)


def transport_problems(
    labels_BRK: Tensor, shares: Tensor, index: Tensor, layout: Layout, config: PuzzleMixConfig
) -> TransportProblem:
    """Move salient tiles to where the mask shows them: those of the first images, then those of the second ones."""
    second_weight = blocks.repeat_to_tiles(labels_BRK.long(), layout)
    weights = torch.stack([config.top - second_weight, second_weight])
    if layout.padding != (0, 0):
        weights = weights * (blocks.visible_pixels(layout, layout.tile, weights.device) > 0)
    both = torch.stack([shares, shares[index]])
    return transport_problem(both.flatten(0, 1), weights.flatten(0, 1), config.xi, config.transport_gain, config.top)


# ---- the operator ------------------------------------------------------------------------------------------------

_Show = tuple[Tensor, Tensor, Tensor, Tensor]


def _show_plain(
    labels: Tensor, shares: Tensor, index: Tensor, numbers: list[int], top: int, xi: float, graded: bool
) -> _Show:
    """Mask, ratio, gain and level."""
    layout = layout_of(numbers)
    config = PuzzleMixConfig(top + 1, xi=xi, transport_gain="weight" if graded else "visible")
    problem = transport_problems(labels, shares, index, layout, config)
    return mask_of(labels, top), visible_ratio(labels, layout, top), problem.gain_BN, problem.level_BN


def _show_on_cuda(
    labels: Tensor, shares: Tensor, index: Tensor, numbers: list[int], top: int, xi: float, graded: bool
) -> _Show:
    from .visible_gpu_kernel import show_image

    layout = layout_of(numbers)
    shown = _empty_show(labels, shares)
    given = labels.contiguous(), shares.contiguous(), index.contiguous()
    geometry = (len(labels), *numbers[:6], *layout.tiles_per_cell, top, unit_of(xi, top if graded else 1))
    options = {"GRADED": graded, "LANES": LANES, "num_warps": WARPS}
    triton_support.launch(show_image, len(labels), *given, *shown, *geometry, **options)
    return shown


def _empty_show(labels: Tensor, shares: Tensor, *_: object) -> _Show:
    mask = torch.empty_like(labels, dtype=torch.float32, memory_format=torch.contiguous_format)
    gain = labels.new_empty(2 * len(labels), shares.shape[1] * shares.shape[2], dtype=torch.int64)
    return mask, mask.new_empty(len(labels)), gain, torch.empty_like(gain)


_show = define(
    "show_labels(Tensor labels, Tensor shares, Tensor index, SymInt[] layout, int top, float xi, bool graded)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    _show_plain,
    _empty_show,
    _show_on_cuda,
)
