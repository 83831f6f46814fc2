"""Hands a batch of mask problems to a CPU kernel that solves groups of images side by side."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..simd import LANES
from ..threads import run_over


def solve_in_groups(kernel: Callable, steps: Tensor, down: Tensor, across: Tensor) -> Tensor:
    """Run `kernel(start, stop, steps, down, across, labels)` over groups of LANES images -> labels (B,R,K) int32."""
    labels = torch.zeros(steps.shape[:-1], dtype=torch.int32)
    arrays = [tensor.detach().contiguous().numpy() for tensor in (steps, down, across)]
    groups = -(-len(labels) // LANES)
    cells_per_group = labels[0].numel() * LANES if groups else 1
    run_over(kernel, groups, *arrays, labels.numpy(), least=max(1, 2048 // cells_per_group))
    return labels
