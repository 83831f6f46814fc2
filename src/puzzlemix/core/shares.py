"""How an image's saliency is shared out among its tiles: s(x) in the paper, summing to 1.

Shape suffixes: B batch, H height, W width, R rows and K columns of the tile grid.
"""

import functools
import warnings

import torch
from torch import Tensor

from .blocks import Layout, pad, pool, visible_pixels
from .checks import readable


def saliency_shares(saliency_BHW: Tensor, layout: Layout) -> Tensor:
    """Average the map over each tile and divide by the sum: (B,R,K) float32.

    A map that cannot guide anything (all zero, or with a negative, infinite or NaN value) becomes uniform.
    """
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
