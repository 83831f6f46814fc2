"""Hands a batch of transport problems to a GPU kernel, one program per image."""

from typing import Any

import torch
from torch import Tensor

from ..triton_support import launch, power_of_two, require_solved
from .problem import empty_plan

CELLS = 4096  # how many cells the kernels take: the CPU solves finer grids


def lanes_for(cells: int, most: int = CELLS) -> int:
    """How many numbers a program handles side by side: a warp's at least."""
    return min(most, max(32, power_of_two(cells)))


def warps_for(lanes: int, per_warp: int) -> int:
    """How many warps of 32 threads share a program's lanes."""
    return min(16, max(1, lanes // per_warp))


def plan_on_gpu(
    kernel: Any, problem: tuple[Tensor, Tensor, int, int, int], limit: int, *room: Tensor, **options: int
) -> Tensor:
    """The plans (B,N) that a kernel finds for (gain_BN, level_BN, distance, rows, cols) within `limit` turns.

    room: tensors it needs to work in. options: of the kernel.
    """
    gain_BN, level_BN, *geometry = problem
    source_BN = empty_plan(gain_BN)
    solved_B = torch.empty(len(gain_BN), dtype=torch.int32, device=gain_BN.device)
    given = gain_BN.contiguous(), level_BN.contiguous()
    launch(kernel, len(gain_BN), *given, source_BN, solved_B, *room, *geometry, limit, **options)
    require_solved(solved_B, "transport")
    return source_BN
