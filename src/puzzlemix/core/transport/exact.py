"""The cheapest plan: shortest augmenting paths on the grid, and a dense solver for images where those take too long."""

import numpy as np
import torch
from torch import Tensor

from ..operators import define
from . import gpu
from .board import solve_images
from .problem import TransportProblem, empty_plan

LANES_PER_WARP = 128  # a scan is mostly minima over all targets, which are quickest within one warp


def _on_cpu(gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    from .exact_kernel import GIVEN_UP, assign_images

    source_BN = solve_images(assign_images, gain_BN, level_BN, distance, rows, cols)
    for image in np.flatnonzero(source_BN.numpy()[:, 0] == GIVEN_UP).tolist():
        alone = TransportProblem(gain_BN[image, None], level_BN[image, None], distance, rows, cols)
        source_BN[image] = solve_dense(alone.cost()[0])
    return source_BN


def _on_cuda(gain_BN: Tensor, level_BN: Tensor, distance: int, rows: int, cols: int) -> Tensor:
    cells = rows * cols
    if cells > gpu.CELLS:
        return NotImplemented
    from .exact_gpu_kernel import assign_image

    lanes = gpu.lanes_for(cells)
    room_BN = empty_plan(gain_BN)
    scans = cells * cells  # never needed: a scan finds a path for its cell or closes one more target to it
    problem = gain_BN, level_BN, distance, rows, cols
    return gpu.plan_on_gpu(
        assign_image, problem, scans, room_BN, LANES=lanes, num_warps=gpu.warps_for(lanes, LANES_PER_WARP)
    )


def solve_dense(cost_NN: Tensor) -> Tensor:
    """The cheapest assignment of a full cost matrix: (N,), which row each column gets."""
    from scipy.optimize import linear_sum_assignment

    column_of_row = linear_sum_assignment(cost_NN.numpy())[1]  # in float64, which holds integers up to 2**53
    return torch.from_numpy(np.argsort(column_of_row))


transport_exact = define(
    "transport_exact(Tensor gain, Tensor level, SymInt distance, SymInt rows, SymInt cols) -> Tensor",
    _on_cpu,
    empty_plan,
    _on_cuda,
)
