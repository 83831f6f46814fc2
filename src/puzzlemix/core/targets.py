"""Class indices as rows of shares.

Shape suffixes: B batch, N classes.
"""

import torch
from torch import Tensor

from .checks import require, span


def one_hot(index_B: Tensor, classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Class indices (B,) -> (B,N); an index out of range is an error, on an accelerator without waiting for it."""
    require(
        (index_B >= 0) & (index_B < classes),
        lambda: f"targets {span(index_B)} for {classes} classes: pass class indices from 0 to {classes - 1}",
    )
    rows_BN = torch.zeros(len(index_B), classes, dtype=dtype, device=index_B.device)
    return rows_BN.scatter_(1, index_B.long()[:, None], 1)
