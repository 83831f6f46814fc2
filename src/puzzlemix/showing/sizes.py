"""Images and maps in another size."""

import torch.nn.functional as F
from torch import Tensor


def brought_to(images_BCHW: Tensor, size: tuple[int, ...]) -> Tensor:
    """Scale images (B,C,H,W) to (height, width), smoothly; those that have it stay as they are."""
    if images_BCHW.shape[2:] == size:
        return images_BCHW
    return F.interpolate(images_BCHW, list(size), mode="bilinear", antialias=True)
