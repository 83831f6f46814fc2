"""Class indices as rows of shares, and what mixing makes of them.

Shape suffixes: B batch, N classes.
"""

import torch
from torch import Tensor

from . import triton_support
from .checks import require, span
from .operators import define

LANES = 256  # how many classes a GPU program writes side by side
WARPS = 4


def one_hot(index_B: Tensor, classes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Class indices (B,) -> (B,N); an index out of range is an error, on an accelerator without waiting for it."""
    require((index_B >= 0) & (index_B < classes), lambda: _not_classes(index_B, classes))
    rows_BN = torch.zeros(len(index_B), classes, dtype=dtype, device=index_B.device)
    return rows_BN.scatter_(1, index_B.long()[:, None], 1)


def _not_classes(index_B: Tensor, classes: int) -> str:
    return f"targets {span(index_B)} for {classes} classes: pass class indices from 0 to {classes - 1}"


def smooth(rows_BN: Tensor, smoothing: float) -> Tensor:
    """Spread a share of every row evenly over all classes."""
    return rows_BN * (1 - smoothing) + smoothing / rows_BN.shape[1]


def mix_rows(rows_BN: Tensor, index: Tensor, ratio: Tensor) -> Tensor:
    """Each row and that of its partner, the first one weighed by its ratio (B,)."""
    ratio_B1 = ratio[:, None]
    return ratio_B1 * rows_BN + (1 - ratio_B1) * rows_BN[index]


def mix_classes(classes_B: Tensor, index: Tensor, ratio: Tensor, classes: int, smoothing: float) -> Tensor:
    """Class indices (B,), as smoothed rows mixed with those of their partners: (B,N) float32."""
    if not triton_support.serves(classes_B):
        return mix_rows(smooth(one_hot(classes_B, classes), smoothing), index, ratio)
    rows_BN, fine_B = _mix(classes_B.long(), index, ratio, classes, smoothing)
    require(fine_B, lambda: _not_classes(classes_B, classes))
    return rows_BN


_Mix = tuple[Tensor, Tensor]


def _mix_plain(targets: Tensor, index: Tensor, ratio: Tensor, classes: int, smoothing: float) -> _Mix:
    """Rows, and of each target whether it is a class."""
    rows_BN = one_hot(targets.clamp(0, classes - 1), classes)
    fine_B = ((targets >= 0) & (targets < classes)).int()
    return mix_rows(smooth(rows_BN, smoothing), index, ratio), fine_B


def _mix_on_cuda(targets: Tensor, index: Tensor, ratio: Tensor, classes: int, smoothing: float) -> _Mix:
    from .targets_gpu_kernel import mix_target

    mixed = _empty_mix(targets, index, ratio, classes)
    given = targets.contiguous(), index.contiguous(), ratio.contiguous()
    numbers = classes, 1 - smoothing, smoothing / classes
    triton_support.launch(mix_target, len(targets), *given, *mixed, *numbers, LANES=LANES, num_warps=WARPS)
    return mixed


def _empty_mix(targets: Tensor, index: Tensor, ratio: Tensor, classes: int, *_: object) -> _Mix:
    return ratio.new_empty(len(targets), classes), targets.new_empty(len(targets), dtype=torch.int32)


_mix = define(
    "mix_classes(Tensor targets, Tensor index, Tensor ratio, SymInt classes, float smoothing) -> (Tensor, Tensor)",
    _mix_plain,
    _empty_mix,
    _mix_on_cuda,
)
