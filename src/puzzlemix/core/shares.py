"""How an image's saliency is shared out among its tiles: s(x) in the paper, summing to 1.

Shape suffixes: B batch, H height, W width, R rows and K columns of the tile grid.
"""

import functools
import warnings

import torch
from torch import Tensor

from . import triton_support
from .blocks import Layout, layout_of, pad, pool, visible_pixels
from .checks import readable
from .operators import define

LANES = 2048  # how many pixels a GPU program looks at side by side
WARPS = 8


def saliency_shares(saliency_BHW: Tensor, layout: Layout) -> Tensor:
    """Average the map over each tile and divide by the sum: (B,R,K) float32.

    A map that cannot guide anything (all zero, or with a negative, infinite or NaN value) becomes uniform.
    """
    if triton_support.serves(saliency_BHW):
        return _share(saliency_BHW.detach().float(), layout.numbers)
    return _shares_plain(saliency_BHW, layout)


def _shares_plain(saliency_BHW: Tensor, layout: Layout) -> Tensor:
    """On any device."""
    saliency = saliency_BHW.float()
    pooled_BRK = pool(pad(saliency[:, None], layout), layout.tile)[:, 0]
    total = pooled_BRK.sum((1, 2))
    usable = (saliency.flatten(1).amin(1) >= 0) & (total > 0) & total.isfinite()
    if readable(usable) and not bool(usable.all()):
        _warn_once()
    shown_BRK = torch.where(usable[:, None, None], pooled_BRK, 1)
    if layout.padding != (0, 0):  # tiles of nothing but padding must not move into view
        shown_BRK = shown_BRK * (visible_pixels(layout, layout.tile, saliency.device) > 0)
    return shown_BRK / shown_BRK.sum((1, 2), keepdim=True)


@functools.cache
def _warn_once() -> None:
    warnings.warn(
        "a saliency map is all zero or has a negative, infinite or NaN value: such images are mixed with a uniform map",
        RuntimeWarning,
        stacklevel=4,
    )


def tiles_for(tiles: int) -> int:
    """How many tiles a GPU program looks at side by side."""
    return min(256, max(16, triton_support.power_of_two(tiles)))


def _on_cpu(saliency: Tensor, numbers: list[int]) -> Tensor:
    return _shares_plain(saliency, layout_of(numbers))


def _on_cuda(saliency: Tensor, numbers: list[int]) -> Tensor:
    from .shares_gpu_kernel import share_image

    cut = layout_of(numbers)
    rows, cols = cut.tile_grid
    shares = _fake(saliency, numbers)
    lanes = tiles_for(rows * cols)
    geometry = (cut.height, cut.width, rows, cols, *cut.tile)
    options = {"TILES": lanes, "PIXELS": LANES // lanes, "num_warps": WARPS}
    triton_support.launch(share_image, len(saliency), saliency.contiguous(), shares, *geometry, **options)
    return shares


def _fake(saliency: Tensor, numbers: list[int]) -> Tensor:
    return saliency.new_empty(len(saliency), *layout_of(numbers).tile_grid)


_share = define("share_saliency(Tensor saliency, SymInt[] layout) -> Tensor", _on_cpu, _fake, _on_cuda)
