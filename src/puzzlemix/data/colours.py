"""Changes of colour in training, as long ImageNet runs make them: drawn from (seed, epoch, sample), then made.

Shape suffixes: B batch, C channels, H height, W width, D the three kinds of jitter.
"""

from itertools import permutations
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from .draws import Streams, hashed

_LUMA = (0.299, 0.587, 0.114)
# the principal directions of the colours of ImageNet's pixels, and how far they spread along each
_SPREADS = (0.2175, 0.0188, 0.0045)
_DIRECTIONS = ((-0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))
_ORDERS = torch.tensor(list(permutations(range(3))))
_BRIGHTNESS, _CONTRAST, _SATURATION = range(3)


class Colours(NamedTuple):
    """Factors (B,D) of brightness, contrast and saturation, the order (B,D) they come in, and a shift (B,C)."""

    factors: Tensor
    order: Tensor
    shift: Tensor


def drawn_colours(seed: int, epoch: int, samples_B: np.ndarray, jitter: float, lighting: float) -> Colours:
    """Draw factors between 1 - jitter and 1 + jitter, and normal shifts along the principal directions."""
    streams = Streams(hashed("colours", seed, epoch, samples_B))
    factors_BD = torch.from_numpy(streams.uniform(3, low=1 - jitter, high=1 + jitter))
    order_BD = _ORDERS[torch.from_numpy(streams.integers(below=len(_ORDERS)))]
    along_BD = lighting * torch.from_numpy(_normal(streams)) * torch.tensor(_SPREADS)
    return Colours(factors_BD, order_BD, along_BD @ torch.tensor(_DIRECTIONS).T)


def _normal(streams: Streams) -> np.ndarray:
    """Three normal numbers for each row, by Box and Muller's rule: (B,3) float32."""
    radius = np.sqrt(-2 * np.log1p(-streams.uniform(3).astype(np.float64)))
    return (radius * np.cos(2 * np.pi * streams.uniform(3))).astype(np.float32)


def recoloured(images_BCHW: Tensor, colours: Colours) -> Tensor:
    """Change RGB images (B,3,H,W) in [0, 1]; what would leave that range is cut off at the end."""
    factors_BD, order_BD, shift_BC = (values.to(images_BCHW.device, non_blocking=True) for values in colours)
    for turn in range(order_BD.shape[1]):
        kind_B = order_BD[:, turn]
        factor_B = factors_BD.gather(1, kind_B[:, None])[:, :, None, None]
        images_BCHW = torch.lerp(_faded(images_BCHW, kind_B), images_BCHW, factor_B)
    return (images_BCHW + shift_BC[:, :, None, None]).clamp_(0, 1)


def _faded(images_BCHW: Tensor, kind_B: Tensor) -> Tensor:
    """What each image becomes with a factor of 0: black, of its mean grey, or grey."""
    kind_B = kind_B[:, None, None, None]
    grey_BHW = (images_BCHW * images_BCHW.new_tensor(_LUMA)[:, None, None]).sum(1, keepdim=True)
    plain_BHW = torch.where(kind_B == _CONTRAST, grey_BHW.mean((2, 3), keepdim=True), grey_BHW)
    return torch.where(kind_B == _BRIGHTNESS, 0, plain_BHW)
